"""Eight tools, forty cases and five wordings of the project's own, and a program for them."""
