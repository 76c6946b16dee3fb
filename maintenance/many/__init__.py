"""The corpus ``many``: 331 services and their dialogues as text, and the release made from it.

A service is a file of ``services/{train,dev,test}``, in the notation that README.md
there describes.
"""
