"""What every room needs of files and terminals: errors, JSON, whole-or-nothing writes, progress."""
