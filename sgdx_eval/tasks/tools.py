"""What is measured of calls of tools, and of a search for them; `sgdx_tools` scores them."""

from functools import partial

from sgdx_metric.figures import FULL
from sgdx_metric.result import METRIC_NAMES, Metric

RIGHT, CALL, NO_CALL, TASK_SUCCESS = "right", "call", "no_call", "task"
_metric = partial(Metric, figures=FULL, paper=False)
TOOL_METRICS = (
    _metric(
        name=RIGHT,
        meaning="right: the calls are right, or none is made where none is right.",
        headline=True,
    ),
    _metric(name=CALL, meaning="call: the right tools are called with the right arguments."),
    _metric(
        name="call_fuzzy",
        meaning="call_fuzzy: the same, in which free text scores its similarity.",
    ),
    _metric(name="tool", meaning="tool: the right tools are called."),
    _metric(name="arguments", meaning="arguments: all are right, where the tools are."),
    _metric(name=NO_CALL, meaning="no_call: none is made where none is right."),
    _metric(name=TASK_SUCCESS, meaning="task: all calls of a dialogue are right."),
)
# Of so many tools a client loads the first; the one that a gate is about.
DEPTHS, RANK = (1, 3, 5, 10), "reciprocal_rank"
SEARCH_METRICS = (
    *(
        _metric(
            name=f"recall@{depth}",
            meaning=f"recall@{depth}: the share of a case's tools among the first {depth}.",
            headline=depth in (1, 5),
        )
        for depth in (5, 1, 3, 10)
    ),
    _metric(name=RANK, meaning="reciprocal_rank: 1 / rank."),
)
METRIC_NAMES |= {
    task: [metric.name for metric in of]
    for task, of in (("tools", TOOL_METRICS), ("search", SEARCH_METRICS))
}
