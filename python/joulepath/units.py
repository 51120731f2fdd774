"""Units for computed scenarios: ``40 * units.Mbps`` is ``"40 Mbit/s"``.

Joulepath takes a quantity as a text with its unit; units write it without rounding::

    from joulepath import units

    for loss in numpy.geomspace(0.1, 5, 8):
        scenario.with_({"path.wifi.loss": loss * units.percent})
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import SupportsFloat, SupportsIndex

from joulepath._errors import UsageError


@dataclass(frozen=True)
class Unit:
    """A unit; a number times a unit is the text of a quantity in a scenario.

    Raises:
        UsageError: if the number is not finite.
    """

    name: str

    # NumPy's numbers leave the product to this class.
    __array_ufunc__ = None

    def __rmul__(self, number: SupportsFloat) -> str:
        """Return the exact number and the unit."""
        if not math.isfinite(float(number)):
            raise UsageError(f"{number} {self.name} is no quantity", "a quantity is a finite number")
        exact = str(operator.index(number)) if isinstance(number, SupportsIndex) else repr(float(number))
        return f"{exact} {self.name}"

    __mul__ = __rmul__

    def __str__(self) -> str:
        return self.name


ns = Unit("ns")
us = Unit("us")
ms = Unit("ms")
s = Unit("s")
minutes = Unit("min")
hours = Unit("h")

bps = Unit("bit/s")
kbps = Unit("kbit/s")
Mbps = Unit("Mbit/s")
Gbps = Unit("Gbit/s")

B = Unit("B")
kB = Unit("kB")
MB = Unit("MB")
GB = Unit("GB")
KiB = Unit("KiB")
MiB = Unit("MiB")
GiB = Unit("GiB")
packets = Unit("packets")

percent = Unit("%")
permille = Unit("permille")
ppm = Unit("ppm")

W = Unit("W")
mW = Unit("mW")
uW = Unit("uW")
mW_per_Mbps = Unit("mW/Mbps")
nJ_per_bit = Unit("nJ/bit")
