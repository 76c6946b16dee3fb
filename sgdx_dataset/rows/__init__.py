"""What is loaded: dialogue rows and frame rows, as Arrow tables."""
