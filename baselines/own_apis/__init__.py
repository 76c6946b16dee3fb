"""How a tracker does on somebody's own API: twelve schemas and sixty dialogues in no corpus.

Both were written by hand for this project, as text alone, and no model is trained or tuned on them.
``sgdx own-apis --help``.
"""
