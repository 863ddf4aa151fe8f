"""What a GPU is made of, measured: sizes, latencies and bandwidths of its caches and memories, and more.

    import gputopo

    report = gputopo.discover()                     # some seconds; or Report.load("report.json")
    l2 = report["l2.latency"]
    print(l2.value, l2.low, l2.high, l2.unit)       # 281.19 280.9 281.5 cycles

Every function raises :class:`Error` in one line that says what failed and what to do. The package prints nothing and
leaves the current CUDA context as it is. Use it before ``os.fork`` or after it, not on both sides: see
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
