#!/usr/bin/env python3
"""mutants.py BINARY [COUNT]: files of all kinds that are nearly right, through every command that reads them.

Whatever a file says, a command ends by itself with a documented exit code, within its time and memory, says what is wrong in
lines of its own, and writes nothing that a terminal, a browser, a spreadsheet or a shell would obey. What fails is made small
and kept in build/mutants, with the command that shows it. Exits with 1 if anything fails.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import fcntl
import multiprocessing
import os
import pathlib
import pty
import random
import re
import resource
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty

sys.dont_write_bytecode = True
from mutation import checks, documents, kinds

KEPT = kinds.ROOT / "build" / "mutants"
MOST_KEPT = 40
ADDRESS_SPACE = 3 << 30
PEAK_BYTES = 1536 << 20
PROCESSOR_SECONDS = 10
WALL_SECONDS = 60
STARVED_SECONDS = 900  # for a command that could run while other processes use the processors
OUTPUT_BYTES = 256 << 20
REDUCTION_SECONDS = 30


@dataclasses.dataclass
class Outcome:
    index: int
    kind: str
    problems: list
    codes: list  # of its commands


class Harness:
    def __init__(self, binary, top, seed, address_space):
        self.binary = binary
        self.top = top
        self.seed = seed
        self.address_space = address_space
        (top / "seeds").mkdir()
        self.pages = kinds.make_seeds(binary, top / "seeds")
        self.kinds = kinds.all_kinds(self.pages, top / "seeds")
        self.donors = [documents.parsed((top / "seeds" / name).read_bytes())
                       for name in ("sample.json", "node_whole.json", "tiny_machine.json", "kernel_stencil.json", "sim_node_h200x2.json")]

    # ---- One mutant, determined by the seed and its index ----

    def kind_of(self, index):
        return self._chance(index).choices(self.kinds, [kind.weight for kind in self.kinds])[0]

    def _chance(self, *what):
        return random.Random(":".join(map(str, (self.seed, *what))))

    def mutation_count(self, index):
        return self._chance(index, "count").choice([1, 1, 1, 2, 2, 3, 5])

    def mutant(self, index, mutations):
        """The bytes after these mutations."""
        kind = self.kind_of(index)
        seed = self._chance(index, "seed").choice(kind.seeds)
        chances = [self._chance(index, "mutation", number) for number in mutations]
        data = (self.top / "seeds" / seed).read_bytes()
        return kind.mutate(data, chances, self.donors)[0] if chances else data

    def steps(self, index):
        kind = self.kind_of(index)
        return kind.steps(self._chance(index, "steps"), kind.place)

    def put(self, index, data, folder):
        place = folder / self.kind_of(index).place
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(data)
        place.chmod(0o600)

    def problems_of(self, index, data, codes=None):
        """The problems of the commands with these bytes."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mutant", dir=self.top))
        try:
            self.put(index, data, folder)
            for step in self.steps(index):
                code, problems = self._run(step, folder)
                if codes is not None:
                    codes.append(code)
                if problems:
                    return [f"{problem}  [{shlex.join(['gputopo', *step.arguments])}]" for problem in problems]
            return []
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def outcome(self, index):
        codes = []
        problems = self.problems_of(index, self.mutant(index, range(self.mutation_count(index))), codes)
        return Outcome(index, self.kind_of(index).name, problems, codes)

    # ---- One command ----

    def _run(self, step, folder):
        error = folder / "tmp_stderr"
        environment = kinds.environment(folder) | ({"TERM": "xterm-256color"} if step.terminal else {})
        seconds = WALL_SECONDS + step.seconds
        output = _Terminal() if step.terminal else _File(folder / "tmp_stdout")
        with open(folder / step.input if step.input else os.devnull, "rb") as given, open(error, "wb") as errors:
            process = subprocess.Popen([self.binary, *map(str, step.arguments)], cwd=folder, env=environment, stdin=given,
                                       stdout=output.end, stderr=errors, start_new_session=True)
        output.started()
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(PROCESSOR_SECONDS + step.seconds),) * 2)
        descriptor = os.pidfd_open(process.pid)
        begin = time.monotonic()
        ended = output.wait(descriptor, begin + seconds)
        while not ended and time.monotonic() < begin + STARVED_SECONDS and is_running(process.pid):
            ended = output.wait(descriptor, time.monotonic() + seconds)
        os.close(descriptor)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        written = output.content()
        if not ended:
            return code, [f"hang: no end after {seconds} s"]
        if code < 0:
            name = signal.Signals(-code).name
            return code, [f"hang: {PROCESSOR_SECONDS + step.seconds} s of computing" if name in ("SIGXCPU", "SIGKILL") else f"crash: {name}"]
        return code, list(self._problems(step, folder, code, usage, written, error.read_bytes()))

    @staticmethod
    def _problems(step, folder, code, usage, output, error):
        if code not in step.codes:
            yield f"exit code {code}: {error[:300]!r}"
        if code == 1 and step.says_why and not error.strip():
            yield "exit code 1 and no message"
        if usage.ru_maxrss << 10 > PEAK_BYTES:
            yield f"memory: {usage.ru_maxrss >> 10} MiB"
        if b"out of memory" in error:
            yield f"memory: out of it: {error[:300]!r}"
        yield from checks.messages(error)
        if len(output) > OUTPUT_BYTES:
            yield f"standard output: {len(output)} bytes"
        yield from step.output(output, "standard output") if output else ()
        for name, check in step.files.items():
            path = folder / name
            if path.exists() and path.stat().st_size < OUTPUT_BYTES:
                yield from check(path.read_bytes(), name.removeprefix("o"))
            elif path.exists():
                yield f"{name}: {path.stat().st_size} bytes"

    # ---- Reducing failures ----

    def smallest(self, outcome):
        signature = signature_of(outcome.problems[0])
        end = time.monotonic() + REDUCTION_SECONDS

        def fails(data):
            return any(signature_of(problem) == signature for problem in self.problems_of(outcome.index, data))
        mutations = list(range(self.mutation_count(outcome.index)))
        for mutation in list(mutations):
            fewer = [one for one in mutations if one != mutation]
            if fewer and fails(self.mutant(outcome.index, fewer)):
                mutations = fewer
        data = self.mutant(outcome.index, mutations)
        kind = self.kind_of(outcome.index)
        return reduced(data, fails, end) if kind.is_json and len(data) < 4 << 20 else data

    def keep(self, outcome):
        folder = KEPT / f"{outcome.index}-{outcome.kind}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if not (KEPT / "seeds").exists():
            shutil.copytree(self.top / "seeds", KEPT / "seeds")
        data = self.smallest(outcome)
        self.put(outcome.index, data, folder)
        lines = ["#!/bin/sh", *(f"# {problem}" for problem in outcome.problems), 'cd "$(dirname "$0")"', "ulimit -v 3145728",
                 "export XDG_CACHE_HOME=$PWD/cache HOME=$PWD COLUMNS=100 LC_ALL=C.UTF-8"]
        for step in self.steps(outcome.index):
            lines.append(shlex.join([str(self.binary), *map(str, step.arguments)]) + (f" < {step.input}" if step.input else ""))
        script = folder / "command"
        script.write_text("\n".join(line.encode("utf-8", "backslashreplace").decode() for line in lines) + "\n")
        script.chmod(0o755)
        return script


def is_running(process):
    """Whether a thread of the process has work to do, instead of waiting for an event that may never come."""
    states = []
    for status in pathlib.Path(f"/proc/{process}/task").glob("*/stat"):
        try:
            states.append(status.read_text().rpartition(")")[2].split()[0])
        except OSError:
            pass
    return "R" in states or "D" in states


class _File:
    """Standard output to a file."""

    def __init__(self, path):
        self.path = path
        self.end = open(path, "wb")

    def started(self):
        self.end.close()

    @staticmethod
    def wait(process, end):
        return bool(select.select([process], [], [], max(0, end - time.monotonic()))[0])

    def content(self):
        return self.path.read_bytes()


class _Terminal:
    """Standard output to a terminal with colors and 80 columns."""
    COLOURS = re.compile(rb"\x1b\[[0-9;]*m")  # gputopo's own; payloads have none alone

    def __init__(self):
        self.reader, self.end = pty.openpty()
        tty.setraw(self.end)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("4H", 48, 80, 0, 0))
        self.parts = []

    def started(self):
        os.close(self.end)

    def wait(self, process, end):
        while time.monotonic() < end:
            ready = select.select([process, self.reader], [], [], max(0, end - time.monotonic()))[0]
            if self.reader in ready:
                try:
                    self.parts.append(os.read(self.reader, 1 << 16))
                except OSError:  # every process that had it open has ended
                    select.select([process], [], [], max(0, end - time.monotonic()))
                    return True
            elif process in ready:
                return True
        return False

    def content(self):
        os.close(self.reader)
        return self.COLOURS.sub(b"", b"".join(self.parts))


def signature_of(problem):
    """The part of a problem that a smaller file preserves."""
    return re.sub(r"[0-9]+", "0", problem.partition("  [")[0])[:60]


def reduced(data, fails, end):
    """Reduces JSON to the parts that the failure needs."""
    try:
        tree = documents.parsed(data)
    except (ValueError, RecursionError):
        return data
    if not documents.is_container(tree) or not fails(documents.written(tree)):
        return data
    pending = [tree]
    while pending and time.monotonic() < end:
        container = pending.pop(0)
        size = max(1, len(container) // 2)
        at = 0
        while time.monotonic() < end:
            if at >= len(container):
                if size == 1:
                    break
                size, at = size // 2, 0
                continue
            kept = container[at:at + size]
            del container[at:at + size]
            if not fails(documents.written(tree)):
                container[at:at] = kept
                at += size
        pending += [slot[0][slot[1]] for slot in documents.slots_within(container) if documents.is_container(slot[0][slot[1]])]
    return documents.written(tree)


# ---- All mutants ----

HARNESS = None  # of this process; workers are forked after it is set


def begin_worker(address_space):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * OUTPUT_BYTES, 4 * OUTPUT_BYTES))
    if address_space:
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))


def run_one(index):
    return HARNESS.outcome(index)


def main():
    global HARNESS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("count", type=int, nargs="?", default=5000)
    parser.add_argument("--seed", type=int, default=69)
    parser.add_argument("--only", type=int, nargs="+", help="these mutants alone, by their numbers")
    parser.add_argument("--jobs", type=int, default=min(4, len(os.sched_getaffinity(0))))
    parser.add_argument("--no-limit", action="store_true", help="of memory: sanitizers take far more addresses than they use")
    options = parser.parse_args()
    begin = time.monotonic()
    address_space = 0 if options.no_limit else ADDRESS_SPACE
    indices = options.only or range(options.count)
    with tempfile.TemporaryDirectory() as folder:
        HARNESS = Harness(options.binary.resolve(), pathlib.Path(folder), options.seed, address_space)
        fork = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(options.jobs, fork, begin_worker, (address_space,)) as pool:
            outcomes = []
            for outcome in pool.map(run_one, indices, chunksize=4):
                outcomes.append(outcome)
                if outcome.problems:
                    print(f"{outcome.index} ({outcome.kind}): {outcome.problems[0]}", flush=True)
        begin_worker(address_space)
        failed = [outcome for outcome in outcomes if outcome.problems]
        kept = {(outcome.kind, signature_of(outcome.problems[0])): outcome for outcome in reversed(failed)}
        for outcome in list(kept.values())[:MOST_KEPT]:
            print(f"kept: {HARNESS.keep(outcome)}", flush=True)
    say_what_was_read(outcomes)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(outcomes)} mutants, {len(failed)} failures, {time.monotonic() - begin:.0f} s, "
          f"{used.ru_utime + used.ru_stime:.0f} s of computing")
    return 1 if failed else 0


def say_what_was_read(outcomes):
    """Prints how many were refused, because a refused file tests nothing behind the reader."""
    for kind in sorted({outcome.kind for outcome in outcomes}):
        codes = collections.Counter(code for outcome in outcomes if outcome.kind == kind for code in outcome.codes)
        print(f"{kind}: " + ", ".join(f"{count} times {code}" for code, count in sorted(codes.items())))


if __name__ == "__main__":
    sys.exit(main())
