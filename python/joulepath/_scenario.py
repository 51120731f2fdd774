"""Scenarios: paths, radios, traffic."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joulepath import _joulepath
from joulepath._errors import Problem, ScenarioError, UsageError
from joulepath._table import Table

_LISTS = {
    "paths": "path",
    "links": "link",
    "channels": "channel",
    "connections": "connection",
    "competitors": "competitor",
    "variants": "variant",
}
"""Tables that a scenario may repeat, by their Python names."""


class Scenario:
    """A valid, loaded scenario; it never changes.

    ``Scenario("home-wifi-lte")`` opens a file or a shipped scenario; a file has priority. :meth:`from_toml`
    takes a text, :meth:`build` takes Python dicts. Quantities are texts with a unit: ``"40 Mbit/s"``,
    ``"10 ms"``, ``"0.5 %"``; docs/scenario.md has every key.

    Raises:
        UsageError: if the scenario does not exist.
        ScenarioError: if it has errors, with all of them.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self._raw = _joulepath.Scenario.open(os.fspath(source))

    @classmethod
    def _of(cls, raw: _joulepath.Scenario) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._raw = raw
        return scenario

    @classmethod
    def from_toml(
        cls, text: str, *, name: str = "scenario", folder: str | os.PathLike[str] | None = None
    ) -> Scenario:
        """Return the scenario of a TOML ``text``; its traces are in ``folder``."""
        return cls._of(_joulepath.Scenario.text(text, name, None if folder is None else Path(folder)))

    @classmethod
    def build(
        cls,
        *,
        name: str = "scenario",
        folder: str | os.PathLike[str] | None = None,
        **tables: Any,
    ) -> Scenario:
        """Return the scenario with these tables and values, named as in the file.

        ``paths``, ``links``, ``competitors``, ``connections``, ``channels`` and ``variants`` are dicts by
        name, or lists of dicts.

            jp.Scenario.build(
                title="Two radios",
                duration="30 s",
                paths={
                    "wifi": dict(rate="40 Mbit/s", delay="10 ms", queue="150 packets", energy="…"),
                    "lte": dict(rate="20 Mbit/s", delay="25 ms", queue="300 packets", energy="…"),
                },
                workload={"kind": "bulk"},
            )
        """
        document = {_LISTS.get(key, key): _listed(key, value) for key, value in tables.items()}
        return cls._of(
            _joulepath.Scenario.build(_json(document), name, None if folder is None else Path(folder))
        )

    @staticmethod
    def problems(text: str, *, folder: str | os.PathLike[str] | None = None) -> tuple[Problem, ...]:
        """Return the errors of a TOML text: empty if it is a scenario."""
        try:
            Scenario.from_toml(text, folder=folder)
        except ScenarioError as error:
            return error.problems
        return ()

    def with_(self, keys: Mapping[str, Any] | None = None, /, **more: Any) -> Scenario:
        """Return a copy with keys set: dotted keys in a dict, top-level keys by name.

        ``s.with_({"path.wifi.loss": "2 %", "workload.size": "1 MB"}, duration="20 s")``
        """
        both = {**(keys or {}), **more}
        return self._of(self._raw.with_set([(key, _json(value)) for key, value in both.items()]))

    def with_variant(self, name: str | None) -> Scenario:
        """Return a variant of it; None is the base scenario. Keys that were set stay set."""
        return self._of(self._raw.with_variant(name))

    @property
    def variants(self) -> list[str]:
        """Names of its variants."""
        return self._raw.variants()

    @property
    def variant(self) -> str | None:
        """Name of this variant; None for the base scenario."""
        return self._raw.variant

    @property
    def name(self) -> str:
        """The file as given, or the name of a shipped scenario."""
        return self._raw.name

    @property
    def title(self) -> str:
        """Title for display."""
        return self._raw.title

    @property
    def duration_s(self) -> float:
        """Simulated time, s."""
        return self._raw.duration_s

    @property
    def paths(self) -> list[str]:
        """Names of its paths, in the file's order."""
        return self._raw.paths

    @property
    def policies(self) -> list[str]:
        """The policies that it compares by default."""
        return self._raw.policies

    @property
    def seeds(self) -> int:
        """Seeds of each policy by default."""
        return self._raw.seeds

    @property
    def sha256(self) -> str:
        """SHA-256 of the text and of its traces."""
        return self._raw.sha256

    def to_toml(self) -> str:
        """Return the scenario with every default filled in, as TOML that loads again."""
        return self._raw.show()

    def to_dict(self) -> dict[str, Any]:
        """Return the output of ``joulepath show --json``: quantities are texts with units."""
        understood: dict[str, Any] = json.loads(self._raw.json())
        return understood

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __repr__(self) -> str:
        variant = f" · {self.variant}" if self.variant else ""
        paths = " + ".join(self.paths)
        return _joulepath.visible(
            f"<Scenario {self.name}{variant}: {self.title}, {paths}, {self.duration_s:g} s>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raw = self._raw
        content = None if raw.is_shipped else raw.content
        folder = None if raw.folder is None else Path(raw.folder).absolute()
        return _restored, (raw.name, content, folder, raw.variant, raw.overrides)


def _restored(
    name: str,
    content: str | None,
    folder: Path | None,
    variant: str | None,
    overrides: list[tuple[str, str]],
) -> Scenario:
    return Scenario._of(_joulepath.Scenario.restore(name, content, folder, variant, overrides))


def scenario(source: str | os.PathLike[str] | Scenario) -> Scenario:
    """Return a scenario unchanged, or open the scenario of this name."""
    return source if isinstance(source, Scenario) else Scenario(source)


def _listed(key: str, value: Any) -> Any:
    """Convert a dict by name to the file's list of tables."""
    is_list = key in _LISTS or key in _LISTS.values()
    if not is_list or not isinstance(value, Mapping):
        return value
    if not all(isinstance(table, Mapping) for table in value.values()):
        raise UsageError(f"{key} is a dict of dicts, by name", f'write {key}={{"wifi": {{…}}}}')
    return [{"name": name, **table} for name, table in value.items()]


def _json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"no value of a scenario: {error}",
            "valid values are texts, numbers, True, False, lists and dicts",
        ) from None


def _plain(value: Any) -> Any:
    """Convert numbers of NumPy, and other sequences and mappings, to Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def scenarios() -> list[str]:
    """Return the names of the shipped scenarios."""
    return _joulepath.shipped()


def policies() -> Table:
    """Return the named policies, with their parts."""
    return Table(_joulepath.policies())


def controllers() -> Table:
    """Return the congestion controllers; each name is also a policy."""
    return Table(_joulepath.controllers())


def schema() -> dict[str, Any]:
    """Return the JSON schema of the scenario file."""
    text: dict[str, Any] = json.loads(_joulepath.schema())
    return text
