"""The pages of the metrics' Spaces: drop prediction files for the sample corpus, see their scores.

`tracking` and `generation` each fill a tab, and `pages` puts tabs together. The `app.py` of each
metric's folder is the entry point of its Space and starts one of the pages.
"""

import os

# Gradio reads this when it is imported; set to False, it reports nothing to its makers.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
