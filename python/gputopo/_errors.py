"""Exceptions. Each has the name of a library status: "file", "device", ... (gputopo_status in gputopo.h)."""

import builtins


class Error(Exception):
    """Base of all exceptions. Its message says in one line what failed and what to do."""

    def __init__(self, text: str, status: str) -> None:
        super().__init__(text)
        self.status = status


class Unavailable(Error):
    """This GPU has no such value. ``reason`` is as in the JSON: "not_applicable", "timed_out", ..."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text, "unavailable")
        self.reason = reason


class UnknownName(Error, KeyError):
    """No value, element, attribute, format or device has this name. The message lists the closest names."""

    __str__ = builtins.Exception.__str__  # KeyError's would put it in quotes


class Forked(Error):
    """The process was forked from one that has used the GPU's driver, and the driver does not survive a fork.

    Reports can still be read. With multiprocessing, use the start method "spawn", or discover before the fork and pass
    the report on.
    """
