#!/usr/bin/env python3
"""signals.py BINARY [COUNT [SEED]]: commands that write files end by signals at random moments.

Each time, every file that was asked for is either the old one or a whole new one, and no other file is left behind.
The processes that a node's GPUs are measured by end with the command, however it ends.
Exits with 1 and says what is wrong if not.
"""
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
OLD = b"old"
MAGIC = b"gputopo recording\n"
ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = ROOT / "tests" / "reports"
LONGEST_SECONDS = 20
LEAST_ENDED = 0.25  # of all runs; the others had finished before the signal
ORPHANS_SECONDS = 5  # the running launch finishes; the whole measurement takes longer


def is_recording(content):
    """Whether it has the magic, eight bytes with the inflated size, and one zlib stream."""
    inflate = zlib.decompressobj()
    length = int.from_bytes(content[len(MAGIC):len(MAGIC) + 8], "little")
    try:
        inflated = inflate.decompress(content[len(MAGIC) + 8:])
    except zlib.error:
        return False
    return content.startswith(MAGIC) and inflate.eof and len(inflated) == length


def is_json(content):
    try:
        return isinstance(json.loads(content), dict)
    except ValueError:
        return False


WHOLE = {
    "json": is_json,
    "rec": is_recording,
    "html": lambda content: content.rstrip().endswith(b"</html>"),
    "svg": lambda content: content.rstrip().endswith(b"</svg>"),
    "csv": lambda content: content.endswith(b"\n"),
    "txt": lambda content: content.endswith(b"\n"),
}


def commands(binary, recording):
    """Commands, and the files that each may write."""
    measured = ["--only", "shared,constant_l1", "--attribute", "size,latency"]
    files = ["--json", "a.json", "--html", "a.html", "--svg", "a.svg"]
    kept = ["--record", "a.rec", "--raw", "raw"]
    yield [binary, "--device", "sim:h200", *measured, *files, *kept], ["a.json", "a.html", "a.svg", "a.rec"]
    yield [binary, "replay", recording, *measured, *files, *kept], ["a.json", "a.html", "a.svg", "a.rec"]
    yield [binary, "show", REPORTS / "h200.json", *files, "--csv", "a.csv"], ["a.json", "a.html", "a.svg", "a.csv"]
    yield [binary, "diff", REPORTS / "h200.json", REPORTS / "mi300x.json", "--html", "a.html"], ["a.html"]


def run(command, folder, end_after=None, ending=None):
    """Returns the exit code and the duration in seconds."""
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if end_after is not None:
        time.sleep(end_after)
        process.send_signal(ending)
    return process.wait(LONGEST_SECONDS), time.monotonic() - begin


def wrong_files(folder, expected):
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            if name != "raw":
                yield f"the folder {name} is left behind"
            continue
        if name not in expected and not (name.startswith("raw/") and path.suffix in (".csv", ".txt")):
            yield f"{name} is left behind"
            continue
        content = path.read_bytes()
        if content != OLD and not WHOLE[path.suffix[1:]](content):
            yield f"{name} is neither the old file nor a whole one"


def unwritten(folder, expected, code):
    """What a run without a signal fails to write. If it wrote nothing, the other runs would prove nothing."""
    if code not in (0, 1):  # 1: reports that differ
        yield f"ended with {code} although no signal was sent"
    for name in expected:
        if (folder / name).read_bytes() == OLD:
            yield f"{name} was not written although no signal was sent"


def children_of(process):
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may have spaces; after it come the state and the parent.
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == process and state != "Z":
            found.append(int(status.parent.name))
    return found


def wait_until(what, seconds):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def problem_of_node(binary, endings):
    """The problem if these signals end a long measurement of a node."""
    command = [binary, "node", "--node", "sim:h200x2", "--full", "--quiet", "--no-wait"]
    node = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = [ending.name for ending in endings]
    if not wait_until(lambda: len(children_of(node.pid)) == 2, LONGEST_SECONDS):
        return "gputopo node: no two processes measure its GPUs"
    children = children_of(node.pid)
    for ending in endings:
        node.send_signal(ending)
        time.sleep(0.05)
    node.wait(LONGEST_SECONDS)
    gone = lambda: not any(pathlib.Path(f"/proc/{child}").exists() for child in children)
    return None if wait_until(gone, ORPHANS_SECONDS) else f"gputopo node, ended by {names}: its processes go on"


def main(binary, count=200, seed=1):
    chance = random.Random(int(seed))
    failures = []
    ended = 0
    with tempfile.TemporaryDirectory() as top:
        recording = pathlib.Path(top) / "made.rec"
        run([binary, "--device", "sim:h200", "--only", "shared,constant_l1", "--attribute", "size,latency", "--quiet",
             "--record", recording], top)
        takes = {}
        for number in range(int(count)):
            choices = list(commands(binary, recording))
            kind = number % len(choices)
            command, files = choices[kind]
            folder = pathlib.Path(top) / str(number)
            folder.mkdir()
            for name in files:
                (folder / name).write_bytes(OLD)
            if kind not in takes:
                code, takes[kind] = run(command, folder)
                failures += [f"{' '.join(map(str, command))}: {problem}" for problem in unwritten(folder, files, code)]
            else:
                ending = chance.choice(SIGNALS)
                code, seconds = run(command, folder, chance.random() * takes[kind], ending)
                if code in (-ending, 130):
                    ended += 1
                else:
                    takes[kind] = min(takes[kind], seconds)  # the first run was slowed down by other processes
            failures += [f"{' '.join(map(str, command))}: {problem}" for problem in wrong_files(folder, files)]
    for endings in ([signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGKILL]):
        failures += filter(None, [problem_of_node(binary, endings)])
    if ended < int(count) * LEAST_ENDED:
        failures.append(f"{ended} of {count} runs were ended by their signal, which are too few to prove anything")
    for failure in failures:
        print(failure)
    print(f"{count} runs, {ended} of them ended by the signal, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:]))
