"""The command line: what reads files, asks the dataset for references, writes and prints."""
