"""Runs the machines of the truth tests and the replays with varied tunables, and compares what they report."""
import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

SWITCH, ONLY, NOTES = "GPUTOPO_TUNABLE", "GPUTOPO_TUNABLE_ONLY", "GPUTOPO_TUNABLE_NOTES"
WIDE_TEST = "WidePrior.FewValuesAreConfidentlyWrong"
RANDOM_MACHINES = 2  # in a truth test that draws them
LEAST_CHANGE = 1e-3  # of a number, as a part of it: less is the noise of drifting clocks, and rounding
SLOWER = 20  # a run that takes this many times as long as without a change is ended
# What differs between equal runs, and the evidence behind values.
IGNORED = {"timestamp", "timing", "total_seconds", "gpu_seconds", "link_seconds", "conditions", "samples", "profile",
           "generator", "now"}
NOT_RECORDED = "the recording does not contain a program"
KINDS = ["verdict", "value", "availability", "flag", "interval", "details", "text"]  # most important first


class KilledError(Exception):
    """The result of a run is not known."""


@dataclass(frozen=True)
class Case:
    """A machine or a test. `only`: the one attribute that is measured."""
    name: str  # "wide:17", "truth:TlbTruth.RandomMachines", "replay:RecordedH200.*"
    only: str = ""

    def command(self, folder):
        kind, _, what = self.name.partition(":")
        tests = {"wide": "truth"}.get(kind, kind)
        return [folder / "tests" / f"{tests}_tests", f"--gtest_filter={WIDE_TEST if kind == 'wide' else what}"]

    def environment(self):
        kind, _, what = self.name.partition(":")
        own = {"GPUTOPO_TRUTH_MACHINES": "1", "GPUTOPO_TRUTH_SEED": what} if kind == "wide" else \
            {"GPUTOPO_TRUTH_MACHINES": str(RANDOM_MACHINES)}
        return own | ({ONLY: self.only} if self.only else {})

    def file_name(self):
        return re.sub(r"\W+", "_", f"{self.name} {self.only}").strip("_")


@dataclass
class Outcome:
    values: dict  # by path
    parts: dict = field(default_factory=dict)  # the tunables and structs that took part: the attribute at first
    failure: str = ""
    seconds: float = 0


def flattened(path, value, found):
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in IGNORED:
                flattened(f"{path}.{key}", part, found)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, part in enumerate(value):
            flattened(f"{path}.{part.get('id', part.get('name', index))}", part, found)
    else:
        found[path] = value


def read_notes(text):
    """The values, and what took part. Machines that run at the same time may come in any order."""
    values, parts, reports = {}, {}, []
    for one in text.split("\x1e")[1:]:
        head, _, body = one.partition("\n")
        kind, _, key = head.partition("\t")
        if kind == "part":
            parts.setdefault(key, body)
        else:
            reports.append((kind, key, body))
    for index, (kind, key, body) in enumerate(sorted(reports)):
        if kind == "report":
            flattened(f"{index}:{key}", json.loads(body), values)
        else:
            values[f"{index}:{key}.verdict"] = body
    return values, parts


def run_case(case, folder, variants=(), timeout=1800):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUTOPO_")}
    environment |= case.environment() | {SWITCH: ",".join(variants)}
    begin = time.monotonic()
    with tempfile.NamedTemporaryFile(prefix="gputopo_notes") as notes:
        environment[NOTES] = notes.name
        failure, output = "", ""
        try:
            # In a session of its own, so that Ctrl-C does not reach it.
            result = subprocess.run(case.command(folder), env=environment, capture_output=True, timeout=timeout,
                                    start_new_session=True)
            output = result.stdout.decode(errors="replace")
            if -result.returncode in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                raise KilledError(f"{case.name}: somebody ended its process")
            if result.returncode < 0:
                failure = f"ended by signal {-result.returncode}"
        except subprocess.TimeoutExpired:
            failure = f"ran on after {SLOWER} times the usual time"
        values, parts = read_notes(notes.read().decode(errors="replace"))
    if not case.name.startswith("wide:"):  # its one machine tells more than the test
        for test in re.findall(r"^\[  FAILED  \] (\S+)(?:, where .*)? \(\d+ ms\)$", output, re.MULTILINE):
            values[f"test.{test}.verdict"] = "failed"
    return Outcome(values, parts, failure, time.monotonic() - begin)


def kind_of(path):
    last = path.rpartition(".")[2]
    if ".details." in path:
        return "details"
    return {"verdict": "verdict", "low": "interval", "high": "interval", "flags": "flag", "reason": "availability",
            "source": "availability", "method": "availability", "detail": "text", "warnings": "text",
            "notes": "text"}.get(last, "value")


def differ(before, after):
    if isinstance(before, list) and isinstance(after, list):
        return len(before) != len(after) or any(map(differ, before, after))
    part = relative(before, after)
    return before != after if part is None else part >= LEAST_CHANGE


def relative(before, after):
    """How far two numbers differ, as a part of the first."""
    if isinstance(before, bool) or not isinstance(before, (int, float)) or not isinstance(after, (int, float)):
        return None
    return abs(after - before) / abs(before) if before else None


def is_unanswered(before, after):
    """Whether a replay lacks the answers to other programs, which says nothing about the tunable."""
    def lacking(outcome):
        return {path for path, value in outcome.values.items() if NOT_RECORDED in str(value)}
    return bool(lacking(after) - lacking(before))


def changes(before, after):
    """What differs between two outcomes, or None."""
    if after.failure:
        return {"kind": "failure", "count": 1, "examples": [after.failure]}
    differing = [path for path in before.values.keys() | after.values.keys()
                 if differ(before.values.get(path), after.values.get(path))]
    if not differing:
        return None
    differing.sort(key=lambda path: (KINDS.index(kind_of(path)), path))
    parts = (relative(before.values.get(path), after.values.get(path)) for path in differing
             if kind_of(path) == "value")
    known = [part for part in parts if part is not None]
    shown = [f"{path.partition(':')[2] or path}: {before.values.get(path)} -> {after.values.get(path)}"[:160]
             for path in differing[:4]]
    found = {"kind": kind_of(differing[0]), "count": len(differing), "examples": shown}
    if known:
        found["largest"] = round(max(known), 4)
    return found


class Baselines:
    """Outcomes without a change, kept in files as long as `digest` (of all sources) is the same."""

    def __init__(self, folder, build_folder, digest):
        self.folder, self.build, self.digest, self.known, self.steady = folder, build_folder, digest, {}, {}
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, case):
        if case in self.known:
            return self.known[case]
        path = self.folder / f"{case.file_name()}.json"
        try:
            stored = json.loads(path.read_text())
        except (OSError, ValueError):
            stored = {}
        if stored.get("digest") == self.digest:
            outcome = Outcome(stored["values"], stored["parts"], stored["failure"], stored["seconds"])
        else:
            outcome = run_case(case, self.build)
            path.write_text(json.dumps({"digest": self.digest, **outcome.__dict__}))
        if len(self.known) > 200:
            self.known.clear()
        self.known[case] = outcome
        return outcome

    def is_steady(self, case):
        """Whether a second run without a change is the same. Without that, changes say nothing."""
        if case not in self.steady:
            self.steady[case] = changes(self.of(case), run_case(case, self.build)) is None
        return self.steady[case]

    def timeout(self, case):
        return 10 + SLOWER * self.of(case).seconds


def digest_of_tree(texts):
    everything = "\0".join(f"{path}\0{text}" for path, text in sorted(texts.items()))
    return hashlib.sha256(everything.encode()).hexdigest()[:12]
