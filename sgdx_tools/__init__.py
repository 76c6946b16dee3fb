"""SGD-X for your own tools: what does it cost when somebody words them differently?

``python -m sgdx_tools`` has the commands. ``score`` is the same from Python::

    from sgdx_tools import score

    scores = score("my_api", "runs/m")
    scores["calls"]["call_accuracy"]["drop"]  # reworded less original, in [-1, 1]
"""

from .scoring import score

__all__ = ["score"]
