"""Where rows go: the Hugging Face cache, a Hub repository, and the release's own JSON."""
