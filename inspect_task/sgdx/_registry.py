"""What the entry point ``inspect_ai`` names: the tasks that Inspect finds in any directory."""

from .tasks import state

__all__ = ["state"]
