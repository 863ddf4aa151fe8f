#!/usr/bin/env python3
"""neighbours.py GPUTOPO GPU_HOG RESULTS [--runs N] [--idle N] [--only SCENARIO,...] [-- OPTIONS OF GPUTOPO]

Runs gputopo on cuda:0 alone and beside neighbours, and says which values beside them are neither what the idle GPU gave
nor said to be disturbed. GPU_HOG: what tests/device/gpu_hog.cpp builds (the target gpu_hog). The neighbours: `stream`
(a streaming kernel on all SMs), `few` (on 2 blocks), `burst` (200 ms at work, 200 ms at rest), `second` (another
gputopo, which has its own turn), `memory` (all but 3 GiB taken).

A number beside a neighbour may be 3% outside what the idle runs gave, least to greatest; what is counted or named must
be what one of them gave. A value that is flagged or unavailable counts as said. Idle runs must have no flag and nothing
disturbed. Exit code 0: all of that holds. Leaves RESULTS/SCENARIO_N.json and RESULTS/summary.txt.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

TOLERANCE = 0.03
# Counts, of which a different number is another value, even if only 3% off.
DISCRETE = {"line_size", "fetch_granularity", "amount", "partitions", "ways", "sets", "entries", "entry_bytes", "banks",
            "bank_width", "slices"}
# Reasons that admit an unknown value.
HONEST = {"disturbed", "inconclusive", "timed_out", "device_error", "dependency"}

SCENARIOS = {"stream": ["stream"], "few": ["stream", "2"], "burst": ["burst", "200"], "second": None, "memory": ["hold", "3"]}


def attributes(report):
    """All measured values of a report, and the reasons for missing ones: name -> attribute."""
    return {f"{element}.{name}": attribute for element, found in report["memory"].items()
            for name, attribute in found.items() if isinstance(attribute, dict) and "source" in attribute}


def fits(name, value, idle):
    if name.split(".")[-1] in DISCRETE or not isinstance(value, (int, float)) or isinstance(value, bool):
        return value in idle
    numbers = [v for v in idle if isinstance(v, (int, float))]
    return bool(numbers) and min(numbers) * (1 - TOLERANCE) <= value <= max(numbers) * (1 + TOLERANCE)


class Session:
    def __init__(self, options):
        self.options = options
        self.results = pathlib.Path(options.results)
        self.results.mkdir(parents=True, exist_ok=True)
        self.lines = []
        self.idle = []
        self.bad = 0

    def say(self, line):
        print(line, flush=True)
        self.lines.append(line)
        (self.results / "summary.txt").write_text("\n".join(self.lines) + "\n")

    def discover(self, name):
        path = self.results / f"{name}.json"
        command = [self.options.gputopo, "--device", "cuda:0", "--quiet", "--json", str(path), *self.options.rest]
        begin = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.monotonic() - begin
        report = json.loads(path.read_text())
        found = attributes(report)
        disturbed = sum(a.get("reason") == "disturbed" for a in found.values())
        values = sum("value" in a for a in found.values())
        self.say(f"{name}: {seconds:.1f} s, exit {done.returncode}, {values} values, {disturbed} disturbed; "
                 + "; ".join([*report["warnings"], *done.stderr.strip().splitlines()]))
        return found

    def run_idle(self, runs):
        for run in range(runs):
            found = self.discover(f"idle_{run}")
            self.idle.append(found)
            for name, attribute in found.items():
                if attribute.get("flags") or attribute.get("reason") == "disturbed":
                    self.bad += 1
                    self.say(f"  WRONG {name}: flagged on an idle GPU: {attribute.get('flags') or attribute.get('detail')}")

    def judge(self, found):
        right = said = 0
        for name, attribute in found.items():
            idle = [a[name] for a in self.idle if name in a]
            before = [a["value"] for a in idle if "value" in a]
            if "value" not in attribute:
                reason = attribute.get("reason", "")
                if not before or reason in HONEST or any(a.get("reason") == reason for a in idle):
                    said += bool(before)
                    continue
                self.bad += 1
                self.say(f"  WRONG {name}: {reason} ({attribute.get('detail')}), idle {before[0]}")
            elif not before:
                if attribute.get("flags"):
                    continue
                self.bad += any(a.get("reason") == "not_present" for a in idle)
                self.say(f"  {name}: {attribute['value']}, idle {idle[0].get('reason') if idle else 'nothing'}")
            elif fits(name, attribute["value"], before):
                right += 1
            elif attribute.get("flags"):
                said += 1
            else:
                self.bad += 1
                self.say(f"  WRONG {name}: {attribute['value']}, idle {before}")
        self.say(f"  {right} as when idle, {said} said not to be known")

    def run_beside(self, scenario):
        for run in range(self.options.runs):
            if SCENARIOS[scenario] is None:
                command = [self.options.gputopo, "--device", "cuda:0", "--quiet"]
            else:
                command = [self.options.gpu_hog, *SCENARIOS[scenario]]
            neighbour = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            if SCENARIOS[scenario] is None:
                time.sleep(0.7)  # until it has the GPU
            else:
                neighbour.stdout.readline()
            try:
                self.judge(self.discover(f"{scenario}_{run}"))
            finally:
                neighbour.terminate()
                try:
                    neighbour.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    neighbour.kill()
                neighbour.stdout.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gputopo")
    parser.add_argument("gpu_hog")
    parser.add_argument("results")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--idle", type=int, default=10)
    parser.add_argument("--only", default=",".join(SCENARIOS))
    argv = sys.argv[1:]
    rest = argv[argv.index("--") + 1:] if "--" in argv else []
    options = parser.parse_args(argv[:argv.index("--")] if "--" in argv else argv)
    options.rest = rest
    listed = subprocess.run([options.gputopo, "list"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not any(line.startswith("cuda:0") for line in listed.stdout.splitlines()):
        print("skipped: no CUDA device here")
        return 0
    session = Session(options)
    session.run_idle(options.idle)
    for scenario in options.only.split(","):
        session.run_beside(scenario)
    session.say(f"{session.bad} wrong")
    return 1 if session.bad else 0


if __name__ == "__main__":
    sys.exit(main())
