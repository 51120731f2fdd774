"""A trained network as a C header that the packet engine and the kernel run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from math import log2
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joulepath import _joulepath
from joulepath._errors import UsageError

_MOST_PATHS = 4
_MOST_UNITS = 64
_MOST_WEIGHT = 1024.0
_UNSEEN = {"power": 8, "left": 1, "time": 2}
"""Features unknown to congestion controllers, by index in each path's row or among the last three inputs."""

_STEERED: dict[str, tuple[str, float, float, float]] = {
    # Kernel units: packets, or bytes/s. Initial value, minimum, maximum.
    "joulepath/Windows-v0": ("WINDOWS", 10.0, 1.0, 16_384.0),
    "joulepath/Rates-v0": ("RATES", 125e3, 8e3, 125e6),
}


def export(
    header: str | os.PathLike[str],
    layers: Sequence[tuple[ArrayLike, ArrayLike]],
    environment: str,
    *,
    paths: int,
    action: Literal["relative", "absolute"] = "relative",
    activation: Literal["tanh", "relu"] = "tanh",
    fixed: Mapping[str, float] | None = None,
) -> Path:
    """Write a network with one hidden layer as your own congestion controller: a C header, in integers.

    ``joulepath compare --cc``, :meth:`joulepath.Controller.from_c` and ``joulepath cc load`` accept it;
    docs/gym.md describes its inputs and their limits.

    Args:
        header: the file, such as ``"mine.h"``; its name is the controller's name. An existing file is
            replaced.
        layers: weights and biases of the hidden layer and of the output layer, as in ``torch.nn.Linear``:
            ``(units, inputs)`` and ``(paths, units)``; at most 64 units, no weight beyond ±1024.
        environment: ``"joulepath/Windows-v0"`` or ``"joulepath/Rates-v0"``.
        paths: number of paths that it was trained for, at most 4: there are ``9 · paths + 3`` inputs.
        action: meaning of its outputs, as of the environment. They are clamped to ±1.
        activation: activation of the hidden layer.
        fixed: values for ``power``, ``left`` and ``time``, 0 to 1, which no congestion controller knows. A
            missing one must have no weight.

    Returns:
        The file.

    Raises:
        UsageError: if shapes or names do not match, or the network uses a feature that no controller knows.
    """
    file = Path(header)
    name = file.stem
    _joulepath.controller_template(name)  # refuses what no controller can be called
    steered = _STEERED.get(environment)
    if steered is None:
        raise UsageError(f"policies of {environment!r} cannot be exported", f"use {' or '.join(_STEERED)}")
    if not 1 <= paths <= _MOST_PATHS:
        raise UsageError(f"a policy for {paths} paths cannot be exported", f"use 1 to {_MOST_PATHS} paths")
    if action not in ("relative", "absolute") or activation not in ("tanh", "relu"):
        raise UsageError(
            f"action={action!r}, activation={activation!r}",
            "an action is 'relative' or 'absolute', an activation 'tanh' or 'relu'",
        )
    (w1, b1), (w2, b2) = _shaped(layers, paths)
    told = _told(w1, paths, dict(fixed or {}))
    units = 1 << (len(b1) - 1).bit_length()
    kind, first, least, most = steered
    numbers = {
        "PATHS": paths,
        "UNITS": units,
        kind: 1,
        action.upper(): 1,
        activation.upper(): 1,
        **{key.upper(): round(value * (1 << 14)) for key, value in told.items()},
        "FIRST": f"{round(first * 65536)}ULL",
        "LEAST": f"{round(least * 65536)}ULL",
        "MOST": f"{round(most * 65536)}ULL",
        "LOG2_LEAST": f"{round(log2(least) * 65536)}U",
        "LOG2_RATIO": f"{round(log2(most / least) * 65536)}ULL",
    }
    several = "path" if paths == 1 else "paths"
    shown = f"{environment}, {paths} {several}, {action}, {len(b1)} units of {activation}"
    head = _HEAD.format(name=name, upper=name.upper(), shown=shown)
    defines = "".join(f"#define {name.upper()}_{key} {value}\n" for key, value in numbers.items())
    tables = (
        _table(name, "w1", "Q16", "s32", _fixed(w1, (units, w1.shape[1])))
        + _table(name, "b1", "Q16", "s32", _fixed(b1, (units,)))
        + _table(name, "w2", "Q16", "s32", _fixed(w2, (8, units)))
        + _table(name, "b2", "Q16", "s32", _fixed(b2, (8,)))
        + _table(name, "tanh_table", "Q15, every 1/32", "u32", np.tanh(np.arange(257) / 32) * (1 << 15))
        * (activation == "tanh")
        + _table(name, "log2_table", "Q16, of 1 to 2", "u32", np.log2(1 + np.arange(65) / 64) * (1 << 16))
        + _table(name, "exp2_table", "Q30, of 0 to 1", "u32", np.exp2(np.arange(65) / 64) * (1 << 30))
    )
    file.write_text(f"{head}\n{defines}\n{tables}\n{_body(name)}", encoding="utf-8")
    return file


def _body(name: str) -> str:
    """The common code of all exported policies."""
    body = resources.files("joulepath").joinpath("policy_template.h").read_text(encoding="utf-8")
    return body.replace("NAME", name.upper()).replace("name_", name)


def _shaped(
    layers: Sequence[tuple[ArrayLike, ArrayLike]], paths: int
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Both layers as numbers, with matching shapes and within the fixed-point range."""
    if len(layers) != 2:
        raise UsageError(
            f"{len(layers)} layers", "a network with one hidden layer has two: (w1, b1), (w2, b2)"
        )
    (w1, b1), (w2, b2) = (
        (np.asarray(weights, np.float64), np.asarray(biases, np.float64)) for weights, biases in layers
    )
    units = b1.size
    wanted = {"w1": (units, 9 * paths + 3), "b1": (units,), "w2": (paths, units), "b2": (paths,)}
    if not 1 <= units <= _MOST_UNITS:
        raise UsageError(f"{units} hidden units", f"there are 1 to {_MOST_UNITS}")
    for (what, shape), found in zip(wanted.items(), (w1, b1, w2, b2), strict=True):
        if found.shape != shape:
            raise UsageError(f"{what} has the shape {found.shape}", f"for {paths} paths it has {shape}")
        if not np.all(np.abs(found) <= _MOST_WEIGHT):
            raise UsageError(f"{what} has numbers beyond ±{_MOST_WEIGHT:g}", "scale the network down")
    return [(w1, b1), (w2, b2)]


def _told(w1: NDArray[np.float64], paths: int, fixed: dict[str, float]) -> dict[str, float]:
    """Values for the features that a controller does not know."""
    for key, value in fixed.items():
        if key not in _UNSEEN or not 0 <= value <= 1:
            raise UsageError(f"fixed[{key!r}] = {value!r}", f"{', '.join(_UNSEEN)} are fixed, from 0 to 1")
    for key, place in _UNSEEN.items():
        columns = range(place, 9 * paths, 9) if key == "power" else [9 * paths + place]
        if key not in fixed and np.any(w1[:, list(columns)]):
            raise UsageError(
                f"the network uses {key!r}, which no congestion controller knows",
                f"train it without, or give a constant: fixed={{{key!r}: 0.5}}",
            )
    return {key: fixed.get(key, 0.0) for key in _UNSEEN}


def _fixed(numbers: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[Any]:
    """Q16, padded with zeros to the shape."""
    padded = np.zeros(shape)
    padded[tuple(slice(0, length) for length in numbers.shape)] = numbers * (1 << 16)
    return padded


def _table(name: str, what: str, unit: str, kind: str, numbers: NDArray[Any]) -> str:
    """A C array constant."""
    whole = np.rint(numbers).astype(np.int64)
    size = "".join(f"[{length}]" for length in whole.shape)
    rows = whole if whole.ndim == 2 else [whole]
    lines = []
    for row in rows:
        texts = [f"{number}," for number in row]
        cells = [" ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
        text = "\n\t".join(cells)
        lines.append(f"\t{{ {text} }}," if whole.ndim == 2 else f"\t{text}")
    inside = "\n".join(lines)
    return f"static const {kind} {name}_{what}{size} = {{ /* {unit} */\n{inside}\n}};\n"


_HEAD = """\
/* clang-format off */
/*
 * {name}.h - a network trained in joulepath.gym, in integers.
 *
 * {shown}.
 *
 * Once per round trip each subflow feeds the features of all subflows (docs/gym.md) to the network, which
 * steers its window or rate. Written by joulepath.gym.export(): train and export again instead of editing.
 */
#ifndef MPCC_{upper}_H
#define MPCC_{upper}_H

#include "mpcc_run.h"

#define {upper}_PARAMS(X)
"""
