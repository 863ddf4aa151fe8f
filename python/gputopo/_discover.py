"""Measuring, and what there is to measure."""

import ctypes
import queue
import threading
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


class _Discovery:
    """A call of gputopo_discover on a thread of its own, so that Python goes on here meanwhile: Ctrl-C arrives as it does
    anywhere, where within a callback of ctypes it would be printed and forgotten."""

    _BETWEEN_QUESTIONS_SECONDS = 0.05

    def __init__(self, device: bytes, options: _native.RawOptions) -> None:
        self._news: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._ends = threading.Event()
        self._device, self._options = device, options
        options.progress = _native.ProgressCallback(self._on_progress)
        options.log = _native.LogCallback(self._on_log)
        options.cancelled = _native.CancelledCallback(lambda _user: int(self._ends.is_set()))
        self._thread = threading.Thread(target=self._run, name="gputopo.discover", daemon=True)

    def _on_progress(self, _user: Any, raw: Any) -> None:
        step = raw.contents
        self._news.put(Progress(text(step.step), step.done, step.total, step.elapsed_seconds))

    def _on_log(self, _user: Any, level: int, line: bytes) -> None:
        self._news.put(("warning" if level else "info", text(line)))

    def _run(self) -> None:
        handle = ctypes.c_void_p()
        try:
            # The text of a failure is of this thread.
            check(lib.gputopo_discover(self._device, byref(self._options), byref(handle)))
            self._news.put(Report(handle.value or 0))
        except BaseException as failure:
            self._news.put(failure)

    def result(
        self,
        progress: Optional[Callable[[Progress], None]],
        log: Optional[Callable[[str, str], None]],
        cancelled: Optional[Callable[[], bool]],
    ) -> Report:
        """Waits, and calls back from here. Whatever is raised meanwhile ends the discovery."""
        try:
            while True:
                if cancelled is not None and cancelled():
                    self._ends.set()
                if self._thread.ident is None:
                    self._thread.start()
                try:
                    news = self._news.get(timeout=self._BETWEEN_QUESTIONS_SECONDS)
                except queue.Empty:
                    continue
                if isinstance(news, Report):
                    return news
                if isinstance(news, BaseException):
                    raise news
                if isinstance(news, Progress):
                    if progress is not None:
                        progress(news)
                elif log is not None:
                    log(*news)
        finally:
            self._ends.set()
            if self._thread.ident is not None:
                self._thread.join()


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
    max_wait: float = 600,
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
    wait: for another discovery of the same GPU, for max_wait seconds at most; else Error with the status "busy".
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
    options.max_wait_seconds = max_wait
    options.max_age_seconds = 0 if max_age is None else max_age
    return _Discovery(encoded(device), options).result(progress, log, cancelled)
