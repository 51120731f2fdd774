"""A study on a Dask cluster: this process hands out batches of runs, workers write them to the dataset."""

from __future__ import annotations

import math
import time
from concurrent.futures import CancelledError
from functools import lru_cache
from pathlib import Path
from typing import Any

from distributed import Client, Future, as_completed
from distributed.scheduler import KilledWorker

from joulepath import _joulepath
from joulepath._errors import Interrupted, JoulepathError
from joulepath._progress import Progress
from joulepath._study import _parts

_LEAST_S = 0.1
"""Minimum length of a task: a shorter one would cost more than its runs."""
_BATCH_S = (1.0, 60.0)
_BATCH_PART = 0.02
"""Length of a batch: a part of the time so far, within bounds. A kill loses no more than on the command
line, and a long study does not have thousands of files."""
_AHEAD = 2
"""Batches handed out per thread: no thread waits while the next batch is prepared."""
_LOOK_S = 1.0
"""Interval between queries of the cluster's threads."""

_Texts = tuple[str, str, str, str | None, Path | None]


def run(
    raw: _joulepath.Study,
    client: Client,
    folder: Path,
    shard: str | None,
    tell: Progress | None,
    call: str,
) -> tuple[int, str | None]:
    """Return the number of failed runs, and the first failure's reason."""
    batches = _joulepath.Batches(raw, folder, shard, tell, call)
    try:
        return _Run(raw, client, folder, shard, tell, call, batches).all()
    except KeyboardInterrupt as stop:
        raise Interrupted(_joulepath.Dataset.open(folder)) from stop
    finally:
        # A traceback keeps the object alive, but must not keep the lock.
        batches.close()


class _Run:
    """One call of ``Study.run`` with a client."""

    def __init__(
        self,
        raw: _joulepath.Study,
        client: Client,
        folder: Path,
        shard: str | None,
        tell: Progress | None,
        call: str,
        batches: _joulepath.Batches,
    ) -> None:
        self.client: Any = client
        self.task = (_parts(raw), folder, shard, call)
        self.tell = tell
        self.batches = batches
        self.missing = batches.missing()
        self.done = 0
        self.failed = 0
        self.why: str | None = None
        self.began = time.monotonic()
        self.each_s = math.inf
        self.threads = 1
        self.looked = -math.inf

    def all(self) -> tuple[int, str | None]:
        self._heard(0, 0, None)
        # The first runs are done here, to measure the time of a run and to check the study.
        _, _, done, failed, why = self.batches.probe(_LEAST_S, None)
        if done:
            self.each_s = (time.monotonic() - self.began) / done
        self._heard(done, failed, why)
        out: set[Future[Any]] = set()
        untyped: Any = as_completed
        finished = untyped(loop=self.client.loop)
        try:
            self._give(out, finished)
            for future in finished:
                out.discard(future)
                runs, took_s, failed, why = self._result(future)
                if runs:
                    self.each_s += (took_s / runs - self.each_s) / 2
                self._heard(runs, failed, why)
                self._give(out, finished)
        finally:
            # Batches that a worker has started finish there, and their files are complete.
            if out:
                self.client.cancel(list(out), asynchronous=False)
        return self.failed, self.why

    def _give(self, out: set[Future[Any]], finished: Any) -> None:
        """Hands out batches until each thread of the cluster has enough."""
        now = time.monotonic()
        if now - self.looked >= _LOOK_S:
            self.looked = now
            self.threads = max(1, sum(self.client.nthreads().values()))
        while len(out) < _AHEAD * self.threads:
            runs = self.batches.next(self._batch())
            if runs is None:
                return
            future = self.client.submit(_batch, *self.task, runs, pure=False)
            out.add(future)
            finished.add(future)

    def _batch(self) -> int:
        """Number of runs: equal parts for all threads at the end, but never too few."""
        least, most = _BATCH_S
        target_s = min(max(_BATCH_PART * (time.monotonic() - self.began), least), most)
        fair = math.ceil(self.batches.missing() / self.threads)
        return max(1, math.ceil(_LEAST_S / self.each_s), min(int(target_s / self.each_s), fair))

    def _result(self, future: Future[Any]) -> tuple[int, float, int, str | None]:
        try:
            result: tuple[int, float, int, str | None] = future.result()
        except KilledWorker as error:
            help = "more memory for the workers may help; the same call resumes"
            raise JoulepathError(f"every worker with this batch has died: {error}", help) from error
        except CancelledError as error:
            raise JoulepathError("the cluster has dropped a batch", "the same call resumes") from error
        return result

    def _heard(self, runs: int, failed: int, why: str | None) -> None:
        self.done += runs
        self.failed += failed
        self.why = self.why or why
        if self.tell is not None:
            self.tell(self.done, self.missing, None)


@lru_cache(maxsize=4)
def _study(texts: _Texts) -> _joulepath.Study:
    return _joulepath.Study.restore(*texts)


def _batch(
    texts: _Texts, folder: Path, shard: str | None, call: str, runs: str
) -> tuple[int, float, int, str | None]:
    """Run a batch in a worker; return runs, seconds, failed runs, and the first failure's reason."""
    began = time.monotonic()
    count, _, _, failed, why = _study(texts).batch(folder, shard, runs, call)
    return count, time.monotonic() - began, failed, why
