"""The published checker of BFCL as a program: a line in for each answer, a line out, true or false.

It runs in the environment of ``bfcl-eval``, of which it needs the checker alone. The package's list
of models would import the clients of all providers: one entry stands in for it, whose model keeps
the dots in names. ``null`` comes out where the checker itself ends in an error.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

MODEL = "any"


def main() -> None:
    """Read ``{"functions", "calls", "answer"}`` and print the verdict, for each line."""
    models: Any = ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {MODEL: SimpleNamespace(underscore_to_dot=False)}
    sys.modules[models.__name__] = models
    checker: Any = import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
    python = import_module("bfcl_eval.constants.enums").Language.PYTHON

    for line in sys.stdin:
        case = json.loads(line)
        try:
            inputs = (case["functions"], case["calls"], case["answer"])
            verdict = checker.ast_checker(*inputs, python, "multiple", MODEL)["valid"]
        except (TypeError, KeyError, AttributeError):
            verdict = None
        print(json.dumps(verdict))


if __name__ == "__main__":
    main()
