"""What the report shows of generators: faithfulness and wording of what the system says."""
