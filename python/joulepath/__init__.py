"""Multipath TCP that spends fewer joules per bit: compare policies on a scenario.

    import joulepath as jp

    result = jp.compare("home-wifi-lte", ["mptcp", "mptcp[cc=olia]", "single:wifi"], seeds=10)
    result                                   # the table of the command line
    result["bits_per_joule_mean"]            # a list
    result.to_pandas()                       # or polars, pyarrow, DuckDB: Arrow, zero-copy

docs/python.md is the guide.
"""

from joulepath import _joulepath, units
from joulepath._calls import (
    advise,
    benchmark,
    bill,
    compare,
    experiments,
    explain,
    map,
    references,
    reproduce,
    run,
)
from joulepath._controller import Controller, Finding, HeaderController, Loss, Reads
from joulepath._errors import (
    Defect,
    FileError,
    Interrupted,
    JoulepathError,
    JoulepathWarning,
    Problem,
    RunError,
    ScenarioError,
    UnsupportedError,
    UsageError,
)
from joulepath._joulepath import Ack, Backlog, PathView, Subflow
from joulepath._parts import (
    Allocator,
    AllocatorPath,
    Demand,
    Part,
    PathSnapshot,
    PathState,
    Scheduler,
    Selector,
    Use,
)
from joulepath._results import (
    Advice,
    Axis,
    Benchmark,
    Comparison,
    Explanation,
    FailedRun,
    Map,
    PythonCost,
    Reproduction,
    Run,
)
from joulepath._scenario import Scenario, controllers, policies, scenarios, schema
from joulepath._study import Dataset, Range, Study, open
from joulepath._table import Table

__version__ = _joulepath.VERSION
__commit__ = _joulepath.COMMIT

__all__ = [
    "Ack",
    "Advice",
    "Allocator",
    "AllocatorPath",
    "Axis",
    "Backlog",
    "Benchmark",
    "Comparison",
    "Controller",
    "Dataset",
    "Defect",
    "Demand",
    "Explanation",
    "FailedRun",
    "FileError",
    "Finding",
    "HeaderController",
    "Interrupted",
    "JoulepathError",
    "JoulepathWarning",
    "Loss",
    "Map",
    "Part",
    "PathSnapshot",
    "PathState",
    "PathView",
    "Problem",
    "PythonCost",
    "Range",
    "Reads",
    "Reproduction",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Selector",
    "Study",
    "Subflow",
    "Table",
    "UnsupportedError",
    "UsageError",
    "Use",
    "__commit__",
    "__version__",
    "advise",
    "benchmark",
    "bill",
    "compare",
    "controllers",
    "experiments",
    "explain",
    "map",
    "open",
    "policies",
    "references",
    "reproduce",
    "run",
    "scenarios",
    "schema",
    "units",
]
