"""A page in the browser; each of its tabs is a file, and ``pages`` puts them together."""

import os

# Gradio reads this when it is imported; set to False, it reports nothing to its makers.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
