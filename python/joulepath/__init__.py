"""Multipath TCP that spends fewer joules per bit: compare policies on a scenario.

    import joulepath as jp

    result = jp.compare("home-wifi-lte", ["mptcp", "mptcp[cc=olia]", "single:wifi"], seeds=10)
    result                                   # the table of the command line
    result["bits_per_joule_mean"]            # a list
    result.to_pandas()                       # or polars, pyarrow, DuckDB: Arrow without a copy

docs/python.md is the guide.
"""

from joulepath import _joulepath, units
from joulepath._calls import (
    advise,
    compare,
    experiments,
    explain,
    league,
    limits,
    map,
    reproduce,
    run,
)
from joulepath._controller import Controller, Finding
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
from joulepath._results import (
    Advice,
    Axis,
    Comparison,
    Explanation,
    FailedRun,
    League,
    Map,
    Reproduction,
    Run,
)
from joulepath._scenario import Scenario, controllers, policies, scenarios, schema
from joulepath._study import Dataset, Range, Study, open
from joulepath._table import Table

__version__ = _joulepath.VERSION
__commit__ = _joulepath.COMMIT

__all__ = [
    "Advice",
    "Axis",
    "Comparison",
    "Controller",
    "Dataset",
    "Defect",
    "Explanation",
    "FailedRun",
    "FileError",
    "Finding",
    "Interrupted",
    "JoulepathError",
    "JoulepathWarning",
    "League",
    "Map",
    "Problem",
    "Range",
    "Reproduction",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Study",
    "Table",
    "UnsupportedError",
    "UsageError",
    "__commit__",
    "__version__",
    "advise",
    "compare",
    "controllers",
    "experiments",
    "explain",
    "league",
    "limits",
    "map",
    "open",
    "policies",
    "reproduce",
    "run",
    "scenarios",
    "schema",
    "units",
]
