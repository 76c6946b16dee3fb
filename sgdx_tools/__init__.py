"""SGD-X for your own tools: what does it cost when somebody words them differently?

``sgdx tools`` has the commands. ``score`` is the same from Python::

    from sgdx_tools import score

    scores = score("my_api", "runs/m")
    scores["right_drop"]  # reworded less original, in [-1, 1]
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scoring import score

__all__ = ["score"]


def __getattr__(name: str) -> Any:
    """The function ``score``, which is imported when it is first asked for."""
    if name != "score":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .scoring import score

    return score
