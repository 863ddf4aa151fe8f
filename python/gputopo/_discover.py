"""Measuring, and what there is to measure."""

import ctypes
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence

from . import _native
from ._native import check, encoded, lib, text
from ._report import Report


@dataclass(frozen=True)
class Device:
    """A device of this machine."""

    spec: str
    """What :func:`discover` takes: "cuda:0", "hip:0", "sim:h200"."""
    name: str
    pci_address: str
    """"0000:0f:00.0"; "" where there is none. Indices of other libraries may count otherwise: compare this."""
    detail: str
    """One short phrase: compute capability and memory, or why it cannot be used."""


@dataclass(frozen=True)
class Progress:
    step: str
    """"l1.size"; "" at the very end."""
    done: int
    """Steps, of ``total``."""
    total: int
    elapsed_seconds: float


def list_devices() -> List[Device]:
    """Every device of this machine, real ones first, then the simulated ones. Takes seconds where a driver has rested."""
    raw = ctypes.POINTER(ctypes.POINTER(_native.RawDevice))()
    check(lib.gputopo_list(byref(raw), None))
    try:
        devices = []
        while raw[len(devices)]:
            one = raw[len(devices)].contents
            devices.append(Device(text(one.spec), text(one.name), text(one.pci_address), text(one.detail)))
        return devices
    finally:
        lib.gputopo_devices_free(raw)


class _Callbacks:
    """What the library calls. ctypes would print what they raise: it is kept, and ends the discovery."""

    def __init__(
        self,
        progress: Optional[Callable[[Progress], None]],
        log: Optional[Callable[[str, str], None]],
        cancelled: Optional[Callable[[], bool]],
    ) -> None:
        self.raised: Optional[BaseException] = None
        self._progress, self._log, self._cancelled = progress, log, cancelled

    def set(self, options: _native.RawOptions) -> None:
        if self._progress is not None:
            options.progress = _native.ProgressCallback(self._on_progress)
        if self._log is not None:
            options.log = _native.LogCallback(self._on_log)
        # Always: it is where Ctrl-C arrives.
        options.cancelled = _native.CancelledCallback(self._on_cancelled)

    def _guarded(self, function: Callable[[], Any]) -> Any:
        if self.raised is not None:
            return None
        try:
            return function()
        except BaseException as raised:  # KeyboardInterrupt, too
            self.raised = raised
            return None

    def _on_progress(self, _user: Any, raw: Any) -> None:
        step = raw.contents
        told = Progress(text(step.step), step.done, step.total, step.elapsed_seconds)
        self._guarded(lambda: self._progress(told))  # type: ignore[misc]

    def _on_log(self, _user: Any, level: int, line: bytes) -> None:
        self._guarded(lambda: self._log("warning" if level else "info", text(line)))  # type: ignore[misc]

    def _on_cancelled(self, _user: Any) -> int:
        ends = self._guarded(lambda: self._cancelled is not None and self._cancelled())
        return 1 if ends or self.raised is not None else 0


def _names(names: Sequence[str]) -> "ctypes.Array[ctypes.c_char_p]":
    if isinstance(names, str):
        raise TypeError(f'a sequence of names is wanted, as in only=["{names}"]')
    return (ctypes.c_char_p * len(names))(*[encoded(name) for name in names])


def discover(
    device: str = "",
    *,
    only: Sequence[str] = (),
    attributes: Sequence[str] = (),
    full: bool = False,
    budget: float = 60,
    seed: int = 1,
    keep_samples: bool = False,
    wait: bool = True,
    use_cache: bool = False,
    max_age: Optional[float] = None,
    progress: Optional[Callable[[Progress], None]] = None,
    log: Optional[Callable[[str, str], None]] = None,
    cancelled: Optional[Callable[[], bool]] = None,
) -> Report:
    """Measures a device for some seconds.

    device: "cuda:0", "hip:0", "sim:h200", "replay:FILE"; "" is the first GPU, or a simulated one where there is none
        (``report["device.simulated"]`` says so).
    only: elements or single values: ["l2", "shared.size", "instructions"]; none: all. attributes: ["size"]; none: all.
    full: also what takes its time. budget: in seconds; what does not fit is unavailable, for the reason "timed_out".
    seed: of the noise of simulated devices. keep_samples: the evidence behind the plots of reports.
    wait: for another discovery of the same GPU; else Error with the status "busy".
    use_cache: answers from the cache of ``gputopo get``, where what is kept is not older than max_age seconds.
    progress, log, cancelled: called on this thread meanwhile; log with "info" or "warning" and a line. What they raise
        ends the discovery, and so does Ctrl-C. When ``cancelled`` returns True, what was found out until then is the
        report.

    Raises Error where the device cannot be measured, UnknownName for names, Forked in a fork of a process that has
    discovered.
    """
    options = _native.RawOptions()
    check(lib.gputopo_options_init(byref(options), ctypes.sizeof(options)))
    elements, chosen = _names(only), _names(attributes)
    options.elements, options.element_count = elements, len(elements)
    options.attributes, options.attribute_count = chosen, len(chosen)
    options.full, options.keep_samples = int(full), int(keep_samples)
    options.budget_seconds, options.seed = budget, seed
    options.wait, options.use_cache = int(wait), int(use_cache)
    options.max_age_seconds = 0 if max_age is None else max_age
    callbacks = _Callbacks(progress, log, cancelled)
    callbacks.set(options)
    handle = ctypes.c_void_p()
    status = lib.gputopo_discover(encoded(device), byref(options), byref(handle))
    report = Report(handle.value or 0) if status == _native.OK else None
    if callbacks.raised is not None:
        raise callbacks.raised
    check(status)
    assert report is not None
    return report
