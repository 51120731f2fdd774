"""Studies: many points of a scenario into a dataset, and its evaluation."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from joulepath import _joulepath, _progress
from joulepath._calls import Engine, Source, _seeds
from joulepath._errors import Interrupted, JoulepathWarning, UsageError
from joulepath._parts import Part
from joulepath._progress import Progress
from joulepath._scenario import _json, scenario
from joulepath._table import Table

if TYPE_CHECKING:
    from distributed import Client

Design = Literal["grid", "random", "latin-hypercube", "sobol"]


@dataclass(frozen=True)
class Range:
    """Values of a key from ``low`` to ``high``, in one unit: ``Range("0.1 %", "10 %", log=True)``.

    ``points`` is the number of values in a grid, 8 if None; other designs draw from the whole range. ``log``
    divides it into equal ratios.
    """

    low: str | float
    high: str | float
    points: int | None = None
    log: bool = False

    def _table(self) -> dict[str, Any]:
        scale = "log" if self.log else None
        return {"from": self.low, "to": self.high, "points": self.points, "scale": scale}


Vary = Mapping[Any, Any]
"""Keys with their values: a list or a :class:`Range`. The keys of a tuple get equal values.

The type is loose because texts and tuples in one dict have no common type."""


class Study:
    """A study ready to run: points × engines × seeds × policies. It never changes.

    ``Study("sweep.toml")`` opens a file of ``joulepath study``; :meth:`build` creates a study in Python.

    Raises:
        ScenarioError: if the file has errors, with all of them.
        UsageError: if no point of it can run.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self._raw = _joulepath.Study.open(Path(source))

    @classmethod
    def _of(cls, raw: _joulepath.Study) -> Study:
        study = cls.__new__(cls)
        study._raw = raw
        return study

    @classmethod
    def build(
        cls,
        source: Source,
        vary: Vary,
        policies: str | Sequence[str] | None = None,
        seeds: int | range | None = None,
        *,
        engines: Engine | Sequence[Engine] = ("packet",),
        design: Design = "grid",
        points: int | None = None,
        design_seed: int | None = None,
        title: str | None = None,
        name: str = "study",
    ) -> Study:
        """Return a study of a scenario with varying keys.

            jp.Study.build(
                "quick",
                {"path.wifi.loss": jp.Range("0.1 %", "10 %", log=True), "path.lte.rate": ["5 Mbit/s"]},
                ["mptcp", "single:wifi"],
                seeds=3,
            )

        Args:
            source: as for :func:`joulepath.compare`; keys set in a :class:`Scenario` are equal at all points.
            vary: a list of values or a :class:`Range` for each dotted key, or for a tuple of keys.
            policies: as for :func:`joulepath.compare`. If None, the scenario's policies that all engines can
                run.
            seeds: as for :func:`joulepath.compare`.
            engines: the engines that run each point.
            design: ``"grid"`` combines all values, the other designs draw ``points``.
            points: number of drawn points.
            design_seed: seed of the drawn points.
            title: title for reports.
            name: name in errors, and default name of the folder.
        """
        if not isinstance(vary, Mapping):
            help = 'write a dict: {"path.wifi.loss": ["1 %", "2 %"]}'
            raise UsageError(f"{vary!r} are no keys with values", help)
        chosen = scenario(source)
        first, count = _seeds(seeds)
        split = _joulepath.split_policies(policies) if isinstance(policies, str) else policies
        for policy in split or []:
            if isinstance(policy, Part):
                what = f"{policy!r} is an object, and a study knows policies by their names"
                raise UsageError(what, "compare runs it, in a loop over points; or write a C header")
        document = {
            "title": title,
            "policies": None if split is None else list(split),
            "engines": _names(engines),
            "seeds": count,
            "first_seed": first,
            "design": design,
            "points": points,
            "design_seed": design_seed,
            "vary": [_axis(key, values) for key, values in vary.items()],
        }
        return cls._of(_joulepath.Study.build(_json(_known(document)), name, chosen._raw))

    def run(
        self,
        client: Client | None = None,
        out: str | os.PathLike[str] | None = None,
        *,
        shard: tuple[int, int] | None = None,
        jobs: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Dataset:
        """Run all runs that the dataset lacks; after a kill the same call resumes.

        Args:
            client: client of a Dask cluster, whose workers run the runs; None uses this process.
            out: the dataset's folder. If None: the study's name without ``.toml``, in the current folder.
                Workers of a cluster must see the same folder.
            shard: ``(i, n)`` runs only the i-th of n parts, counted from 1.
            jobs: as for :func:`joulepath.compare`; a cluster uses the threads of its workers.
            progress: as for :func:`joulepath.compare`.

        Raises:
            FileError: if the folder holds another study or other files, or a part is in use.
            Interrupted: after Ctrl-C; its ``result`` is the dataset with the finished runs.
        """
        folder = Path(Path(self.name).stem if out is None else out)
        if shard is not None and (not isinstance(shard, tuple | list) or len(shard) != 2):
            raise UsageError(f"{shard!r} is no part of a study", "write (1, 2): the first of two parts")
        if isinstance(client, str | os.PathLike):
            raise UsageError(f"{os.fspath(client)!r} is not a cluster's client", 'name a folder by out="…"')
        part = None if shard is None else f"{shard[0]}/{shard[1]}"
        call = f"joulepath.Study({self.name!r}).run(out={str(folder)!r}, shard={shard!r})"
        tell = _progress.chosen(progress)
        try:
            if client is None:
                *_, failed, why = self._raw.run(folder, part, jobs, tell, call)
            else:
                if jobs is not None:
                    raise UsageError("`jobs` is only for runs in this process", "leave it out with a client")
                try:
                    from joulepath import _dask
                except ImportError as error:
                    raise ImportError("a cluster needs Dask: pip install 'joulepath[dask]'") from error

                failed, why = _dask.run(self._raw, client, folder.absolute(), part, tell, call)
        except Interrupted as stop:
            if stop.result is not None:
                stop.result = Dataset._of(stop.result)
            raise
        finally:
            _progress.finish(tell)
        if failed:
            what = f"{failed} runs failed; the first: {why}; their rows have it in `error`"
            warnings.warn(what, JoulepathWarning, stacklevel=2)
        return open(folder)

    def point(self, index: int) -> dict[str, str]:
        """Return the value of each key at a point, as texts of a scenario.

        Raises:
            IndexError: if the point does not exist.
        """
        levels = self._raw.point(index) if index >= 0 else None
        if levels is None:
            raise IndexError(f"there are {self.points} points, counted from 0")
        return dict(levels)

    @property
    def name(self) -> str:
        """The file as given, or the name given to :meth:`build`."""
        return self._raw.name

    @property
    def title(self) -> str:
        """Title for display."""
        return self._raw.title

    @property
    def points(self) -> int:
        """Number of points."""
        return self._raw.points

    @property
    def total(self) -> int:
        """Number of runs."""
        return self._raw.runs

    @property
    def policies(self) -> list[str]:
        """Names of the policies."""
        return self._raw.policies

    @property
    def engines(self) -> list[str]:
        """Names of the engines."""
        return self._raw.engines

    @property
    def seeds(self) -> int:
        """Seeds of each policy at each point."""
        return self._raw.seeds

    @property
    def columns(self) -> list[str]:
        """Columns of the dataset."""
        return self._raw.columns

    def to_toml(self) -> str:
        """Return the study's file as TOML."""
        return self._raw.toml

    def __repr__(self) -> str:
        return _joulepath.visible(
            f"<Study {self.name}: {self.title}, {self.points} points, {self.total} runs>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, _parts(self._raw)


def _parts(raw: _joulepath.Study) -> tuple[str, str, str, str | None, Path | None]:
    """The study's parts for another process: texts, and the folder of the scenario's traces."""
    name, text, source, content, folder = raw.parts()
    return name, text, source, content, None if folder is None else Path(folder).absolute()


def _restored(name: str, text: str, source: str, content: str | None, folder: Path | None) -> Study:
    return Study._of(_joulepath.Study.restore(name, text, source, content, folder))


def _axis(key: str | tuple[str, ...], values: Sequence[Any] | Range) -> dict[str, Any]:
    named = key if isinstance(key, str) else list(key)
    if isinstance(values, Range):
        return _known({"key": named, **values._table()})
    if isinstance(values, str):
        raise UsageError(f"the values of {named} are one text", 'write a list: ["1 %", "2 %"], or a Range')
    return {"key": named, "values": list(values)}


def _known(document: dict[str, Any]) -> dict[str, Any]:
    """Remove None values: TOML has no word for them."""
    return {key: value for key, value in document.items() if value is not None}


class Dataset:
    """The runs of a study that existed when it was opened. Files are read on demand.

    :meth:`summary` has means with intervals; :meth:`arrow` and :meth:`polars` are lazy tables of all runs.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._raw = _joulepath.Dataset.open(Path(folder))

    @classmethod
    def _of(cls, raw: _joulepath.Dataset) -> Dataset:
        dataset = cls.__new__(cls)
        dataset._raw = raw
        return dataset

    @property
    def folder(self) -> Path:
        """Folder of the dataset."""
        return self._raw.folder

    @property
    def files(self) -> list[Path]:
        """The Parquet files."""
        return self._raw.files

    @property
    def title(self) -> str:
        """Title of the study."""
        return self._raw.title

    @property
    def points(self) -> int:
        """Number of the study's points."""
        return self._raw.points

    @property
    def total(self) -> int:
        """Number of the study's runs, including missing ones."""
        return self._raw.runs

    @property
    def done(self) -> int:
        """Number of stored runs."""
        return self._raw.done

    @property
    def partial(self) -> bool:
        """Whether runs are missing."""
        return self.done < self.total

    @property
    def varied(self) -> list[str]:
        """Columns of the varied keys."""
        return self._raw.varied

    @property
    def policies(self) -> list[str]:
        """The study's policies; ratios are relative to the first."""
        return self._raw.policies

    @property
    def engines(self) -> list[str]:
        """The study's engines."""
        return self._raw.engines

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self._raw.columns

    @property
    def study_toml(self) -> str:
        """Text of the study's file."""
        return self._raw.texts()[0]

    @property
    def scenario_toml(self) -> str:
        """Text of the scenario behind the points."""
        return self._raw.texts()[2]

    def arrow(self) -> Any:
        """Return a :class:`pyarrow.dataset.Dataset` of all runs; it reads columns and rows on demand."""
        import pyarrow.dataset

        return pyarrow.dataset.dataset(self._some_files(), format="parquet")

    def polars(self) -> Any:
        """Return a :class:`polars.LazyFrame` of all runs."""
        import polars as pl

        return pl.scan_parquet(self._some_files())

    def _some_files(self) -> list[str]:
        if not self.files:
            raise UsageError(
                f"no run has been stored in {self.folder} yet", "run the study, then open it again"
            )
        return [str(file) for file in self.files]

    def summary(self, by: str | Sequence[str] | None = None, of: str | Sequence[str] | None = None) -> Table:
        """Return means with 95 % intervals over groups of runs, in the order of their first runs.

        Args:
            by: columns that define a group; the varied keys, engine and policy if None.
            of: columns to estimate; goodput, power, energy, efficiency, completion time and retransmissions
                if None.

        Each column has ``_mean``, ``_lo`` and ``_hi``, as in :func:`joulepath.compare`: the percentile
        bootstrap over the group's runs, Student's interval from 10,000 runs on. ``n`` runs succeeded,
        ``failed`` ones did not. For groups of a single policy, ``ratio`` is bits per joule relative to the
        first policy at the same points and seeds.

        Raises:
            UsageError: if a column does not exist or has no numbers.
        """
        return Table(self._raw.summary(_names(by), _names(of)))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page of ``joulepath study report``.

        Raises:
            OSError: if it cannot be written.
        """
        page = self._raw.html(f"joulepath.open({str(self.folder)!r}).report({os.fspath(path)!r})")
        Path(path).write_text(page, encoding="utf-8")

    def __len__(self) -> int:
        return self.done

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens the folder: the runs stay in their files.
        return type(self), (self.folder.absolute(),)

    def __repr__(self) -> str:
        return _joulepath.visible(f"<Dataset {self.folder}: {self.title}, {self.done} of {self.total} runs>")


def _names(names: str | Sequence[str] | None) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


def open(folder: str | os.PathLike[str]) -> Dataset:
    """Open the dataset of a study, without reading its runs.

    Raises:
        UsageError: if the folder has no study.
        FileError: if a file is broken.
    """
    return Dataset(folder)
