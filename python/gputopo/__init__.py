"""Measures the components of a GPU: sizes, latencies and bandwidths of its caches and memories, and more.

    import gputopo

    report = gputopo.discover()                     # takes seconds; or Report.load("report.json")
    l2 = report["l2.latency"]
    print(l2.value, l2.low, l2.high, l2.unit)       # 281.19 280.9 281.5 cycles

On failure, every function raises :class:`Error`, whose message says in one line what failed and what to do. The package
prints nothing and keeps the current CUDA context. Use it before or after ``os.fork``, but not on both sides: see
:class:`Forked`.
"""

from ._errors import Error, Forked, Unavailable, UnknownName
from ._native import version
from ._report import Report, Value
from ._discover import Device, Progress, discover, list_devices

__version__ = version()

__all__ = [
    "Device",
    "Error",
    "Forked",
    "Progress",
    "Report",
    "Unavailable",
    "UnknownName",
    "Value",
    "discover",
    "list_devices",
    "version",
]
