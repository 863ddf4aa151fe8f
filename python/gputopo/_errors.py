"""Exceptions. Each holds the name of the library's status: "file", "device", ... (gputopo_status of gputopo.h)."""

import builtins


class Error(Exception):
    """Base of all. Its text is one line that says what failed and what to do."""

    def __init__(self, text: str, status: str) -> None:
        super().__init__(text)
        self.status = status


class Unavailable(Error):
    """There is no such value of this GPU. ``reason`` is as in the JSON: "not_applicable", "timed_out", ..."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text, "unavailable")
        self.reason = reason


class UnknownName(Error, KeyError):
    """No value, element, attribute, format or device is called so. The text has the nearest names."""

    __str__ = builtins.Exception.__str__  # that of KeyError puts it in quotes


class Forked(Error):
    """The process is a fork of one that has used the GPU's driver, which does not outlive that.

    Reports can still be read. With multiprocessing use the start method "spawn", or discover before the fork and hand
    the report on.
    """
