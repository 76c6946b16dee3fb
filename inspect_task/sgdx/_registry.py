"""What the entry point ``inspect_ai`` names: the tasks that Inspect finds in any directory."""

from .tasks import calls, state

__all__ = ["calls", "state"]
