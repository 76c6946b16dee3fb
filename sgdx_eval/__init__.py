"""Everything around a score, for all tasks: files, references, comparisons, tables, reports."""
