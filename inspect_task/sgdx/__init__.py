"""The tasks of inspect_ai: ``inspect eval sgdx/state`` and ``inspect eval sgdx/calls``.

Inspect names a task after the top package that it is in, so that this package has the name of the
distribution. It lies in a folder of its own because a folder ``sgdx`` beside the others would be
taken for the dataset by ``load_dataset("sgdx")``.
"""
