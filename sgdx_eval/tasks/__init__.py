"""The tasks, by what signatures call them."""

from ..task import Task
from .calls import Calls
from .states import States
from .tools import Tools
from .turns import Turns

__all__ = ["TASKS", "Calls", "States", "Tools", "Turns"]

TASKS: dict[str, Task] = {task.name: task for task in (States(), Calls(), Turns(), Tools())}
