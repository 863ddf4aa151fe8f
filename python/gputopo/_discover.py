"""Measuring devices, and listing them."""

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
    """Argument of :func:`discover`: "cuda:0", "hip:0", "sim:h200"."""
    name: str
    pci_address: str
    """"0000:0f:00.0"; "" if the device has none. Compare devices by this address: other libraries may number devices
    differently."""
    detail: str
    """A short phrase: compute capability and memory, or why the device cannot be used."""


@dataclass(frozen=True)
class Progress:
    step: str
    """The running step: "l1.size"; "" after the last one."""
    done: int
    """The number of finished steps, out of ``total``."""
    total: int
    elapsed_seconds: float


def list_devices() -> List[Device]:
    """Lists every device of this machine, real ones first, then simulated ones. Takes seconds if a driver was idle."""
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
    """Calls gputopo_discover on a separate thread, so that Python continues here and Ctrl-C works as usual. In a ctypes
    callback, KeyboardInterrupt would be printed and ignored."""

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
            # The error text belongs to this thread.
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
        """Waits for the result and calls the callbacks on this thread. An exception in them ends the discovery."""
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
        raise TypeError(f'expected a sequence of names, as in only=["{names}"]')
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
    """Measures a device, which takes seconds.

    device: "cuda:0", "hip:0", "sim:h200", "replay:FILE"; "" is the first GPU. If there is no GPU, ""
        raises Error ("device"): a device is simulated only if it is named.
    only: elements or single values: ["l2", "shared.size", "instructions"]; empty: all.
    attributes: ["size"]; empty: all.
    full: also measures values that take longer.
    budget: maximum duration in seconds; the remaining values are unavailable ("timed_out").
    seed: seed of the noise of simulated devices.
    keep_samples: keeps the tables of samples that the plots of reports show.
    wait: waits at most max_wait seconds for another discovery of the same GPU, then raises Error ("busy"); if False,
        raises it at once.
    use_cache: answers from the cache of ``gputopo get`` if the entry is at most max_age seconds old.
    progress, log, cancelled: callbacks on this thread; log gets "info" or "warning" and a line. An exception in a
        callback ends the discovery, and so does Ctrl-C. If ``cancelled`` returns True, the report has the values found
        so far.

    Raises Error if the device cannot be measured, UnknownName for unknown names, and Forked in a fork of a process that
    has used a GPU's driver.
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
