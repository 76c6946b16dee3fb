"""Tool-calling models, and any other system, as dialogue state trackers.

A model gets one request for each frame: the dialogue so far, and the service's schema as a function
that it has to call with the dialogue state. ``functions.py`` says what the function is,
``requests.py`` what is sent, ``providers.py`` what each provider's server wants of it,
``sending.py`` how all are sent, and ``answers.py`` how an answer is read.
"""
