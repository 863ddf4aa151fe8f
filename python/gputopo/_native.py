"""The shared library through ctypes, declared as in gputopo.h. Users of the package do not need this module."""

import ctypes
import os
import pathlib
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

from ._errors import Error, Forked, UnknownName

API_VERSION = 0x000100  # the version that this package needs
OK, UNAVAILABLE = 0, 1

TYPE_NONE, TYPE_NUMBER, TYPE_BOOLEAN, TYPE_TEXT, TYPE_NUMBERS, TYPE_TEXTS, TYPE_GROUPS = range(7)


class RawDevice(Structure):
    _fields_ = [("spec", c_char_p), ("name", c_char_p), ("pci_address", c_char_p), ("detail", c_char_p)]


class RawProgress(Structure):
    _fields_ = [("step", c_char_p), ("done", c_size_t), ("total", c_size_t), ("elapsed_seconds", c_double)]


ProgressCallback = CFUNCTYPE(None, c_void_p, POINTER(RawProgress))
LogCallback = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
CancelledCallback = CFUNCTYPE(c_int32, c_void_p)


class RawOptions(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("full", c_int32),
        ("elements", POINTER(c_char_p)),
        ("element_count", c_size_t),
        ("attributes", POINTER(c_char_p)),
        ("attribute_count", c_size_t),
        ("budget_seconds", c_double),
        ("seed", c_uint64),
        ("keep_samples", c_int32),
        ("wait", c_int32),
        ("use_cache", c_int32),
        ("max_age_seconds", c_double),
        ("progress", ProgressCallback),
        ("log", LogCallback),
        ("cancelled", CancelledCallback),
        ("user", c_void_p),
        ("max_wait_seconds", c_double),
    ]


class RawValue(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("type", c_int32),
        ("source", c_int32),
        ("reason", c_int32),
        ("number", c_double),
        ("low", c_double),
        ("high", c_double),
        ("text", c_char_p),
        ("unit", c_char_p),
        ("detail", c_char_p),
        ("method", c_char_p),
        ("numbers", POINTER(c_double)),
        ("texts", POINTER(c_char_p)),
        ("count", c_size_t),
        ("group_ends", POINTER(c_size_t)),
        ("group_count", c_size_t),
    ]


# By name: result and arguments. A text that the caller frees is a pointer, because ctypes would copy and lose it.
_FUNCTIONS = {
    "gputopo_status_name": (c_char_p, c_int),
    "gputopo_last_error": (c_char_p,),
    "gputopo_version": (c_char_p,),
    "gputopo_api_version": (c_uint32,),
    "gputopo_list": (c_int, POINTER(POINTER(POINTER(RawDevice))), POINTER(c_void_p)),
    "gputopo_devices_free": (None, POINTER(POINTER(RawDevice))),
    "gputopo_options_init": (c_int, POINTER(RawOptions), c_size_t),
    "gputopo_discover": (c_int, c_char_p, POINTER(RawOptions), POINTER(c_void_p)),
    "gputopo_load": (c_int, c_char_p, POINTER(c_void_p)),
    "gputopo_parse": (c_int, c_char_p, c_size_t, POINTER(c_void_p)),
    "gputopo_report_free": (None, c_void_p),
    "gputopo_complete": (c_int, c_void_p, POINTER(c_int32)),
    "gputopo_render": (c_int, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_size_t)),
    "gputopo_string_free": (None, c_void_p),
    "gputopo_get": (c_int, c_void_p, c_char_p, POINTER(RawValue)),
    "gputopo_value_free": (None, POINTER(RawValue)),
    "gputopo_source_name": (c_char_p, c_int32),
    "gputopo_reason_name": (c_char_p, c_int32),
}


def _candidates() -> "list[str]":
    """Paths to try: only GPUTOPO_LIBRARY if it is set; otherwise the wheel's library, then the system's."""
    named = os.environ.get("GPUTOPO_LIBRARY")
    if named:
        return [named]
    within = pathlib.Path(__file__).parent / "_lib" / "libgputopo.so.0"
    return ([str(within)] if within.exists() else []) + ["libgputopo.so.0"]


def _load() -> ctypes.CDLL:
    problems = []
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
        except OSError as problem:
            problems.append(str(problem))
            continue
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        found = library.gputopo_api_version()
        if found >> 8 != API_VERSION >> 8:
            raise ImportError(
                f"{candidate} is gputopo {library.gputopo_version().decode()}, but this package needs "
                f"{API_VERSION >> 16}.{API_VERSION >> 8 & 255}: install the same version of both"
            )
        return library
    raise ImportError(
        f"libgputopo.so.0 cannot be loaded; install it, or set GPUTOPO_LIBRARY to its path: {'; '.join(problems)}"
    )


lib = _load()


def text(raw: "bytes | None") -> str:
    return (raw or b"").decode("utf-8", "replace")


def version() -> str:
    """The version of the library in use: "0.1.0"."""
    return text(lib.gputopo_version())


def check(status: int) -> None:
    """Raises the exception for a status, with the error text."""
    if status == OK:
        return
    name = text(lib.gputopo_status_name(status))
    message = text(lib.gputopo_last_error())
    if name == "memory":
        raise MemoryError(message)
    raise {"name": UnknownName, "forked": Forked}.get(name, Error)(message, name)


def encoded(name: str) -> bytes:
    """Encodes a name as a C string, which ends at a NUL."""
    if "\0" in name:
        raise UnknownName(f"a name cannot contain a NUL character: {name!r}", "name")
    return os.fsencode(name)


def take_string(raw: c_void_p, length: "int | None" = None) -> str:
    """Returns the text and frees it."""
    try:
        return text(ctypes.string_at(raw) if length is None else ctypes.string_at(raw, length))
    finally:
        lib.gputopo_string_free(raw)
