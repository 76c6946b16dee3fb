"""Tools and cases from the files of others: a module for each form."""
