from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import joulepath as jp
from joulepath import _joulepath


@pytest.mark.parametrize(
    ("asked", "what", "help"),
    [
        ({"policies": "mtpcp"}, "there is no policy `mtpcp`", "did you mean `mptcp`"),
        ({"policies": "mptcp[cc=oila]"}, "`oila`", "`olia`"),
        ({"policies": "mptcp["}, "mptcp[", None),
        ({"policies": []}, "the list of policies is empty", "uncoupled,mptcp"),
        ({"policies": "mptcp,mptcp"}, "occurs twice", None),
        ({"policies": "single:wfi"}, "wfi", "wifi"),
        ({"seeds": 0}, "seeds is 0", "from 1 to"),
        ({"seeds": -3}, "seeds is -3", "from 1 to"),
        ({"seeds": 2**40}, "seeds is", "to 4294967295"),
        ({"seeds": range(0)}, "no range of seeds", "range(1, 31)"),
        ({"seeds": range(1, 9, 2)}, "no range of seeds", "range(1, 31)"),
        ({"seeds": range(-1, 5)}, "no range of seeds", "range(1, 31)"),
        ({"jobs": 0}, "jobs is 0", "all cores"),
        ({"engine": "magic"}, "there is no engine `magic`", "packet and fluid"),
    ],
)
def test_wrong_requests_are_reported_with_the_fix(asked: dict[str, Any], what: str, help: str | None) -> None:
    with pytest.raises(jp.UsageError) as caught:
        jp.compare("quick", **asked)
    error = caught.value
    assert what in error.message
    assert help is None or help in (error.help or ""), error.help
    assert isinstance(error, ValueError)
    assert error.message in str(error)


# Those of the scenario object, and the range of seeds.
ELSEWHERE = {"set", "variant", "all_variants", "seed"}


@pytest.mark.parametrize(("name", "options"), _joulepath.options().items())
def test_every_option_of_a_request_is_an_argument_with_its_sentence(name: str, options: list[str]) -> None:
    call = getattr(jp, name)
    arguments = inspect.signature(call).parameters
    for option in set(options) - ELSEWHERE:
        assert option in arguments, f"{name} lacks {option}"
        assert f" {option}: " in call.__doc__, f"{name} does not describe {option}"


def test_numbers_that_do_not_fit_are_reported_with_the_limits() -> None:
    with pytest.raises(jp.UsageError, match="seed is -1"):
        jp.run("quick", "mptcp", seed=-1)
    with pytest.raises(jp.UsageError, match="from 0 to 18446744073709551615"):
        jp.run("quick", "mptcp", seed=2**64)
    with pytest.raises(jp.UsageError, match="exceed"):
        jp.run("quick", "mptcp", seed=2**64 - 1)
    with pytest.raises(TypeError):
        jp.compare("quick", seeds="many")  # type: ignore[arg-type]


def test_an_unsupported_engine_names_one_that_works() -> None:
    with pytest.raises(jp.UnsupportedError) as caught:
        jp.compare("quick", engine="kernel")  # type: ignore[arg-type]
    assert "sudo joulepath compare … --engine kernel" in str(caught.value)
    web = "papers/004-two-paths"
    if web in jp.scenarios():
        jp.Scenario(web)


def test_files_that_cannot_be_read_are_os_errors(tmp_path: Path) -> None:
    text = (
        'title = "x"\nduration = "1 s"\n[[path]]\nname = "a"\nrate = { trace = "none.trace" }\n'
        'delay = "1 ms"\nqueue = "9 packets"\nenergy = "wifi-huang2012"\n[workload]\nkind = "bulk"\n'
    )
    with pytest.raises(jp.ScenarioError) as caught:
        jp.Scenario.from_toml(text, folder=tmp_path)
    assert "none.trace" in str(caught.value)
    with pytest.raises(jp.FileError) as refused:
        jp.benchmark(["bulk"], quick=True, runs=tmp_path)
    assert isinstance(refused.value, OSError)


@pytest.mark.parametrize(
    "axis", ["", "path.wifi.loss", "x=1..2:1", "path.wifi.loss=5 %..1 %", "path.none.loss=1 %..2 %"]
)
def test_an_invalid_axis_is_reported(axis: str) -> None:
    with pytest.raises(jp.UsageError):
        jp.map("quick", axis, "path.lte.delay=5 ms..50 ms:2")


def test_maps_of_unknown_metrics_and_engines_are_refused() -> None:
    axes = ("path.wifi.loss=0.1 %..10 %:2log", "path.lte.delay=5 ms..50 ms:2")
    with pytest.raises(jp.UsageError, match="no metric `speed`"):
        jp.map("quick", *axes, metric="speed")
    with pytest.raises(jp.UsageError, match="hundreds of points"):
        jp.map("quick", *axes, engine="kernel")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("paths", "size"),
    [
        ([], "1 MB"),
        (["wifi"], "1 MB"),
        ({"wifi": {"rate": "1 fish", "rtt": "1 ms", "energy": "wifi-huang2012"}}, "1 MB"),
        ({"wifi": {"rate": "1 Mbit/s", "rtt": "1 ms", "energy": "wifi"}}, "1 MB"),
        ({"wifi": {"rate": "1 Mbit/s", "rtt": "1 ms", "energy": "wifi-huang2012"}}, ""),
        ({"wifi": {"rate": "1 Mbit/s", "rtt": "1 ms", "energy": "wifi-huang2012"}}, "0 B"),
    ],
)
def test_a_question_without_an_answer_is_reported(paths: Any, size: str) -> None:
    with pytest.raises(jp.UsageError):
        jp.advise(paths, size)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": "30 s"}, "a period and a tolerance"),
        ({"tolerance": "2 min"}, "a period and a tolerance"),
        ({"every": "30 s", "tolerance": "2 min", "deadline": "5 s"}, "neither a deadline nor a rate"),
        ({"every": "30 s", "tolerance": "2 min", "rate": "1 Mbit/s"}, "neither a deadline nor a rate"),
        ({"every": "30", "tolerance": "2 min"}, "`30` has no unit"),
        ({"every": "1 ms", "tolerance": "1 s"}, "no path alone carries 1 MB every 1 ms"),
    ],
)
def test_a_wrong_question_about_waiting_is_reported(options: dict[str, str], message: str) -> None:
    path = "wifi:rate=20Mbit/s,rtt=30ms,energy=wifi-huang2012"
    with pytest.raises(jp.UsageError, match=message):
        jp.advise([path], "1 MB", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("controller", "subflows", "params"),
    [
        ("lai", [{"cwnd": 1, "srtt_us": 1}], {}),
        ("lia", [], {}),
        ("lia", [{"cwnd": 0, "srtt_us": 1}], {}),
        ("lia", [{"cwnd": 1.5, "srtt_us": 1}], {}),
        ("lia", [{"cwnd": 1, "srtt_us": 1, "speed": 1}], {}),
        ("lia", [{"cwnd": 1, "srtt_us": 1}] * 9, {}),
        ("lia", [{"cwnd": 1, "srtt_us": 1}], {"a": 1}),
        ("ewtcp", [{"cwnd": 1, "srtt_us": 1}], {"a": "lots"}),
    ],
)
def test_a_state_that_cannot_be_explained_is_refused(controller: str, subflows: Any, params: Any) -> None:
    with pytest.raises(jp.UsageError):
        jp.explain(controller, subflows, **params)


def test_a_controller_that_owns_its_window_names_its_page() -> None:
    with pytest.raises(jp.UnsupportedError, match=r"docs/models/bbr3.md"):
        jp.explain("bbr3", [{"cwnd": 10, "srtt_us": 50_000}])


def test_unknown_families_and_experiments_are_refused() -> None:
    with pytest.raises(jp.UsageError, match="there is no family"):
        jp.benchmark(["none"])
    with pytest.raises(jp.UsageError, match="there is no experiment"):
        jp.reproduce(["999"])


def test_a_class_instead_of_an_object_is_refused() -> None:
    class Mine(jp.Controller):
        pass

    for policies in (Mine, ["mptcp", Mine]):
        with pytest.raises(jp.UsageError, match=r"write `Mine\(\)`: an object of it"):
            jp.compare("quick", policies)  # type: ignore[arg-type]
    with pytest.raises(jp.UsageError, match="7 is no policy"):
        jp.compare("quick", ["mptcp", 7])  # type: ignore[list-item]


def test_all_errors_have_a_common_base_class() -> None:
    for kind in [jp.UsageError, jp.ScenarioError, jp.FileError, jp.UnsupportedError, jp.RunError, jp.Defect]:
        assert issubclass(kind, jp.JoulepathError)
    assert not issubclass(jp.Interrupted, Exception)


def test_a_single_name_works_as_a_list_of_names() -> None:
    one = jp.experiments(["000-fig4"])
    assert jp.experiments("000-fig4").rows() == one.rows()
    with pytest.raises(jp.UsageError, match="no family `bulkk`"):
        jp.benchmark("bulkk")
    with pytest.raises(jp.UsageError, match="no family `f2-fil`"):
        jp.benchmark("f2-fil")
    with pytest.raises(jp.UsageError, match="no experiment `007-fig1`"):
        jp.reproduce("007-fig1")
    assert jp.Study.build("quick", {"path.wifi.loss": ["1 %"]}, engines="fluid").engines == ["fluid"]


def test_arguments_of_a_wrong_type_are_reported_with_the_fix() -> None:
    class Half(jp.Controller):
        def increase(self, subflow: jp.Subflow) -> float:
            return 0.5 / subflow.cwnd_packets

    untyped: Any = jp
    study: Any = jp.Study.build("quick", {"path.wifi.loss": ["1 %"]}, "mptcp", seeds=1)
    vary = {"path.wifi.loss": ["1 %"]}
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: untyped.run("quick", None), "write one"),
        (lambda: untyped.Study.build("quick", ["path.wifi.loss"]), "write a dict"),
        (lambda: untyped.Study.build("quick", vary, [Half()]), "compare runs it"),
        (lambda: study.run(shard=2), "first of two parts"),
        (lambda: study.run("folder"), "out="),
    ]
    for call, mend in wrong:
        with pytest.raises(jp.UsageError) as caught:
            call()
        assert mend in (caught.value.help or "")
    for seeds in ([1, 5], 2.5):
        with pytest.raises(TypeError, match="write how many"):
            untyped.compare("quick", seeds=seeds)
