"""Reports and their values."""

import ctypes
import csv
import io
import json
import math
import os
from ctypes import byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from . import _native
from ._errors import Unavailable
from ._native import check, encoded, lib, text

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Value:
    """A value with its properties."""

    path: str
    """The path that was requested: "l2.latency"."""
    value: Union[bool, int, float, str, List[int], List[float], List[str], List[List[int]]]
    """The value in ``unit``. A whole number is an int. A map of SM groups is a list of lists of SM numbers."""
    unit: str
    """"B", "cycles", "B/s", "MHz"; "" for counts and names."""
    low: Optional[float]
    """Lower end of the 95% interval; None for a value without an interval."""
    high: Optional[float]
    source: str
    """"measured", "api" (from the vendor's interface) or "inferred"."""
    method: str
    """Id of the method, which docs/methods explains; "" if the value was not measured."""
    text: str
    """The value as ``gputopo get`` prints it."""

    def __float__(self) -> float:
        return float(self.value)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.text} {self.unit}".rstrip()


def _number(number: float) -> Union[int, float]:
    return int(number) if number.is_integer() else number


def _interval_end(number: float) -> Optional[float]:
    return None if math.isnan(number) else number


def _held(raw: _native.RawValue) -> Any:
    if raw.type == _native.TYPE_NUMBER:
        return _number(raw.number)
    if raw.type == _native.TYPE_BOOLEAN:
        return raw.number != 0
    if raw.type == _native.TYPE_NUMBERS:
        return [_number(number) for number in raw.numbers[: raw.count]]
    if raw.type == _native.TYPE_TEXTS:
        return [text(one) for one in raw.texts[: raw.count]]
    if raw.type == _native.TYPE_GROUPS:
        ends = raw.group_ends[: raw.group_count]
        return [[int(sm) for sm in raw.numbers[begin:end]] for begin, end in zip([0, *ends], ends)]
    return text(raw.text)


class Report:
    """All values of one device. It is immutable, and threads may share it."""

    def __init__(self, handle: int) -> None:
        """Do not call this: use :meth:`load`, :meth:`parse` or :func:`gputopo.discover`."""
        self._handle = handle

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None and lib is not None:
            lib.gputopo_report_free(handle)

    @classmethod
    def load(cls, path: "Union[str, os.PathLike[str]]") -> "Report":
        """Loads a report saved by ``gputopo --json``. Raises Error if the file cannot be read or is not a report."""
        handle = ctypes.c_void_p()
        check(lib.gputopo_load(encoded(os.fspath(path)), byref(handle)))
        return cls(handle.value or 0)

    @classmethod
    def parse(cls, document: Union[str, bytes]) -> "Report":
        """Parses the text of a report. Raises Error if it is not a report."""
        raw = document.encode() if isinstance(document, str) else document
        handle = ctypes.c_void_p()
        check(lib.gputopo_parse(raw, len(raw), byref(handle)))
        return cls(handle.value or 0)

    def __getitem__(self, path: str) -> Value:
        """A value by its path: "l2.latency", "compute.sm_count", "instructions.fma.f32.latency", "device.name".

        Raises Unavailable, with the reason, if this GPU has no such value, and UnknownName, with the closest names, for
        an unknown path.
        """
        raw = _native.RawValue(size=ctypes.sizeof(_native.RawValue))
        status = lib.gputopo_get(self._handle, encoded(path), byref(raw))
        try:
            if status == _native.UNAVAILABLE:
                raise Unavailable(text(lib.gputopo_last_error()), text(lib.gputopo_reason_name(raw.reason)))
            check(status)
            return Value(
                path=path,
                value=_held(raw),
                unit=text(raw.unit),
                low=_interval_end(raw.low),
                high=_interval_end(raw.high),
                source=text(lib.gputopo_source_name(raw.source)),
                method=text(raw.method),
                text=text(raw.text),
            )
        finally:
            lib.gputopo_value_free(byref(raw))

    def get(self, path: str, default: Optional[Value] = None) -> Optional[Value]:
        """Like ``report[path]``, but returns ``default`` if this GPU has no such value. Raises UnknownName
        for an unknown path."""
        try:
            return self[path]
        except Unavailable:
            return default

    @property
    def complete(self) -> bool:
        """False if the discovery ended early: it was cancelled, its budget was used up, or the device failed."""
        complete = ctypes.c_int32()
        check(lib.gputopo_complete(self._handle, byref(complete)))
        return complete.value != 0

    def render(self, format: str) -> str:
        """Renders the report as "json", "html", "csv", "markdown", "svg", "mt4g-json", ..., "table" or "tree".

        The formats are named like the options of the program. Raises UnknownName for other names, and Error if the
        report lacks values that the format needs.
        """
        raw, length = ctypes.c_void_p(), ctypes.c_size_t()
        check(lib.gputopo_render(self._handle, encoded(format), byref(raw), byref(length)))
        return _native.take_string(raw, length.value)

    def to_dict(self) -> Dict[str, Any]:
        """The JSON document, as docs/schema.json describes it."""
        return json.loads(self.render("json"))

    def to_pandas(self) -> "pandas.DataFrame":
        """One row per value: element, attribute, value, low, high, unit, source. Raises ImportError without pandas.

        low and high are numbers, NaN without an interval; value is a number where possible, else a text.
        """
        import pandas

        rows = list(csv.DictReader(io.StringIO(self.render("csv"))))
        frame = pandas.DataFrame(rows, columns=["element", "attribute", "value", "low", "high", "unit", "source"])
        for name in ("low", "high"):
            frame[name] = pandas.to_numeric(frame[name], errors="coerce")
        frame["value"] = [_plain(value) for value in frame["value"]]
        return frame

    def __repr__(self) -> str:
        return f"<gputopo.Report of {self['device.name'].text}>"


def _plain(field: str) -> Union[int, float, str]:
    try:
        return _number(float(field))
    except (ValueError, OverflowError):
        return field
