"""Making many objects at once without the garbage collector, which looks for what is not there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def many_objects() -> Iterator[None]:
    """Suspend the garbage collector while many objects are made that form no circles.

    It would search all of them again and again, which takes as long as making them. Objects that
    nothing refers to any more are freed as before.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
