#!/usr/bin/env python3
"""Faults that are planted in copies of the sources, and the tests that have to catch them. README.md explains how.

  planted.py run [FAULT...]      build with all faults, and expect the test of each fault to fail when it is switched on
  planted.py search FAULT [TEST-FOLDER...]
                                 run all tests of these folders (unit and golden) with a fault, and list those that fail
  planted.py tree FOLDER         write the copy of the sources alone
  planted.py check               expect each fault to fit the sources, and README.md to list it
  planted.py list                rewrite the list in README.md
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib

sys.dont_write_bytecode = True
import copied_tree
from copied_tree import ROOT

HERE = pathlib.Path(__file__).resolve().parent
BUILD = ROOT / "build" / "faults"
README = HERE / "README.md"
BEGIN, END = "<!-- begin of the list -->\n", "<!-- end of the list -->\n"
SWITCH = "GPUTOPO_PLANTED_FAULT"
# No listed test takes a tenth of this, but a fault may cause an endless loop.
TIMEOUT_SECONDS = 900


class TableError(Exception):
    pass


class Fault:
    def __init__(self, entry):
        keys = {"name", "what", "file", "original", "faulty", "caught_by", "within", "machines"}
        for key in entry.keys() - keys:
            raise TableError(f"{entry.get('name')}: no key is called {key}")
        for key in keys - {"within", "machines"} - entry.keys():
            raise TableError(f"{entry.get('name')}: {key} is missing")
        self.name, self.what, self.file = entry["name"], entry["what"], entry["file"]
        self.original, self.faulty = entry["original"].strip(), entry["faulty"].strip()
        self.within = entry.get("within", self.original).strip()
        self.folder, self.filter = (part.strip() for part in entry["caught_by"].split(":", 1))
        # If a test compares each machine with a list, a failure on some of CI's machines is one on all of them.
        self.machines = entry.get("machines")
        if len(places(self.original, self.within)) != 1:
            raise TableError(f"{self.name}: 'within' does not hold the original exactly once")

    def planted(self):
        switch = f'gputopo_planted("{self.name}")'
        if self.original[-1] in ";}":
            return f"if ({switch}) {{ {self.faulty} }} else {{ {self.original} }}"
        parts = zip(split_arguments(self.original), split_arguments(self.faulty), strict=True)
        return ", ".join(one if one == other else f"({switch} ? ({other}) : ({one}))" for one, other in parts)

    def plant(self, text):
        found = places(self.within, text)
        if len(found) != 1:
            raise TableError(f"{self.name}: {self.file} holds this {len(found)} times, not once:\n{self.within}")
        begin, end = found[0].span()
        original = places(self.original, found[0].group())[0]
        return text[:begin + original.start()] + self.planted() + text[begin + original.end():]


def places(part, text):
    """The matches of the part in the text, regardless of line breaks and indents."""
    return list(re.finditer(r"\s+".join(map(re.escape, part.split())), text))


def split_arguments(text):
    """Splits 'a, f(b, c)' into ['a', 'f(b, c)']."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def read_faults():
    entries = tomllib.loads((HERE / "faults.toml").read_text())["fault"]
    faults = [Fault(entry) for entry in entries]
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"two faults are called {name}")
    return faults


def planted_sources(faults):
    """The text of each source with faults, including all of its faults."""
    sources = {}
    problems = []
    for fault in faults:
        try:
            if fault.file not in sources:
                sources[fault.file] = (ROOT / fault.file).read_text()
            sources[fault.file] = fault.plant(sources[fault.file])
        except FileNotFoundError:
            problems.append(f"{fault.name}: there is no {fault.file}")
        except TableError as error:
            problems.append(str(error))
    if problems:
        raise TableError("\n".join(problems) + "\nAdapt tests/planted/faults.toml to the sources.")
    return sources


# ---- The build ----


def write_tree(faults, tree):
    copied_tree.write_tree(tree, planted_sources(faults), [HERE / "planted.h"])


def build(faults, folders):
    write_tree(faults, BUILD / "source")
    copied_tree.build(BUILD / "source", BUILD / "build", ["gputopo", *(f"{folder}_tests" for folder in sorted(folders))])


# ---- Running tests ----


class Outcome:
    def __init__(self, failed, ran, problem, seconds):
        self.failed, self.ran, self.problem, self.seconds = failed, ran, problem, seconds


def run_tests(folder, test_filter, fault=None, machines=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUTOPO_TRUTH")}
    environment.pop(SWITCH, None)
    if fault:
        environment[SWITCH] = fault
    if machines:
        environment["GPUTOPO_TRUTH_MACHINES"] = str(machines)
    begin = time.monotonic()
    problem = ""
    try:
        result = subprocess.run([BUILD / "build" / "tests" / f"{folder}_tests", f"--gtest_filter={test_filter}"],
                                env=environment, capture_output=True, timeout=TIMEOUT_SECONDS)
        output = result.stdout.decode(errors="replace")
        if result.returncode < 0:
            problem = f"ended by signal {-result.returncode}"
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace")
        problem = f"still ran after {TIMEOUT_SECONDS} s"
    # Matches the line with the time, because the list at the end repeats the test without it.
    failed = re.findall(r"^\[  FAILED  \] (\S+)(?:, where .*)? \(\d+ ms\)$", output, re.MULTILINE)
    ran = len(re.findall(r"^\[ RUN      \]", output, re.MULTILINE))
    return Outcome(failed, ran, problem, time.monotonic() - begin)


def shortened(names):
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "") if names else ""


def run_faults(faults):
    """Prints a line for each fault. Returns the number of uncaught faults and of tests that fail without a fault."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        catchers = sorted({(fault.folder, fault.filter, fault.machines) for fault in faults}, key=str)
        clean = [pool.submit(run_tests, folder, tests, None, machines) for folder, tests, machines in catchers]
        planted = [pool.submit(run_tests, fault.folder, fault.filter, fault.name, fault.machines) for fault in faults]
        bad = 0
        for (folder, tests, _), future in zip(catchers, clean):
            outcome = future.result()
            if outcome.failed or outcome.problem or not outcome.ran:
                why = outcome.problem or shortened(outcome.failed) or "there is no such test"
                print(f"WITHOUT A FAULT {folder}: {tests} does not pass: {why}")
                bad += 1
        escaped = 0
        for fault, future in zip(faults, planted):
            outcome = future.result()
            caught = bool(outcome.failed)
            escaped += not caught
            by = shortened(outcome.failed) or outcome.problem or f"{outcome.ran} tests of {fault.filter} passed"
            verdict = "caught" if caught else "NOT CAUGHT"
            print(f"{verdict:10}  {fault.name:32} {outcome.seconds:6.1f} s  {by}", flush=True)
    return escaped, bad


def run(arguments):
    faults = chosen(read_faults(), arguments.names)
    begin = time.monotonic()
    build(read_faults(), {fault.folder for fault in faults})
    built = time.monotonic()
    escaped, bad = run_faults(faults)
    print(f"{len(faults) - escaped} of {len(faults)} faults are caught; the build took {built - begin:.0f} s, "
          f"the tests {time.monotonic() - built:.0f} s")
    if bad:
        print(f"{bad} of the tests do not pass without a fault: what they catch says nothing")
    return 1 if escaped or bad else 0


def search(arguments):
    name, *folders = arguments.names
    folders = folders or ["unit", "golden"]
    chosen(read_faults(), [name])
    build(read_faults(), set(folders))
    for folder in folders:
        without = set(run_tests(folder, "*").failed)
        outcome = run_tests(folder, "*", name)
        for test in outcome.failed:
            if test not in without:
                print(f"{folder}: {test}")
        if outcome.problem:
            print(f"{folder}: {outcome.problem}")
    return 0


def chosen(faults, names):
    for name in names:
        if name not in [fault.name for fault in faults]:
            raise TableError(f"no fault is called {name}; tests/planted/faults.toml has them")
    return [fault for fault in faults if not names or fault.name in names]


# ---- The list ----


def list_text(faults):
    rows = "".join(f"| {fault.name} | {fault.what} | {fault.file} | {fault.folder}: `{fault.filter}` |\n"
                   for fault in faults)
    head = "| fault | what is wrong | planted in | caught by |\n|---|---|---|---|\n"
    return f"{BEGIN}\n{len(faults)} faults:\n\n{head}{rows}\n{END}"


def split_readme():
    text = README.read_text()
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    return text[:begin], text[begin:end], text[end:]


def missing_tests(fault):
    """The parts of the filter that match no test in the sources of the folder."""
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / fault.folder).glob("*_test.cpp")))
    known = set(re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", sources))
    missing = []
    for part in fault.filter.split(":"):
        # The part of "Reports/Numbers.AreTheSame/h200" that is in the source.
        pieces = part.split("/")
        plain = next((piece for piece in pieces if "." in piece), pieces[0])
        pattern = re.compile(re.escape(plain).replace(r"\*", ".*"))
        if not any(pattern.fullmatch(f"{suite}.{name}") for suite, name in known):
            missing.append(part)
    return missing


def check():
    faults = read_faults()
    planted_sources(faults)
    problems = [f"{fault.name}: tests/{fault.folder} has no test {part}" for fault in faults
                for part in missing_tests(fault)]
    if split_readme()[1] != list_text(faults):
        problems.append("tests/planted/README.md does not have this list; run tests/planted/planted.py list")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "search", "tree", "check", "list"])
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    try:
        if arguments.command == "run":
            return run(arguments)
        if arguments.command == "search" and arguments.names:
            return search(arguments)
        if arguments.command == "tree" and arguments.names:
            write_tree(read_faults(), pathlib.Path(arguments.names[0]))
            return 0
        if arguments.command == "check":
            return check()
        if arguments.command == "list":
            before, _, after = split_readme()
            README.write_text(before + list_text(read_faults()) + after)
            return 0
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"planted.py: '{error.cmd[0]} {error.cmd[1]} ...' failed; what it printed says why", file=sys.stderr)
        return 1
    parser.error("name a fault" if arguments.command == "search" else "name a folder")


if __name__ == "__main__":
    sys.exit(main())
