"""Eight tools, forty cases and five variants of the project's own, and a program for them."""
