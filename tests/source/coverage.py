#!/usr/bin/env python3
"""coverage.py BUILD: which lines of what reads the files of strangers, and command lines, the tests run.

BUILD is a build folder of the preset cov. Runs the unit tests, the tests of faults and the corpus of the fuzzers there,
and prints a table of the readers' files. Exits with 1 if they run less than 90% of the lines.
"""
import glob
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_PERCENT = 90
# Sources that read, check or repeat the contents of files or command lines.
READERS = [
    "src/file/*", "src/cli/options.cpp", "src/cli/command_options.cpp",
    "src/device/driver/info_check.cpp", "src/device/driver/info_fields.h", "src/device/registry.cpp", "src/device/replay/*",
    "src/device/sim/machine_*", "src/device/sim/cache_check.*", "src/device/sim/limits.*",
    "src/model/catalogue.cpp", "src/model/likeness.*", "src/program/*",
    "src/report/compare/check.cpp", "src/report/words/csv_text.*", "src/report/json/json.cpp", "src/report/drawing/markup.*",
    "src/report/compare/prometheus_text.*", "src/report/json/value.h", "src/report/words/visible_report.*",
]
# Excludes tests that read nothing, which take long.
TESTS = {
    "unit_tests": "*MachineFile*:Report*:*UpgradeOfReports*:Catalogue*:DiscoverSelection*:Hostile*:VisibleText*:CsvField*:"
                  "Prometheus*:LargeReport*:Likeness*:Program*:*Validate*:*Programs:ChainOrder*:Replay*:RecordingOf*:"
                  "WriteFile*:CheckWritable*:ReadFile*:Samples*:Formats*:Check*:Diff*:Compare*",
    "faults_tests": "*",
}


def run_tests(build, profiles):
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(profiles / "%4m.profraw"))
    for name, tests in TESTS.items():
        result = subprocess.run([build / "tests" / name, f"--gtest_filter={tests}", "--gtest_brief=1"],
                                env=environment, capture_output=True, text=True)
        print(f"{name}: {result.stdout.strip().splitlines()[-1]}")


def lines_of(build, profiles):
    """(run, all) lines of each reader's file."""
    merged = profiles / "merged.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", "-o", merged, *glob.glob(str(profiles / "*.profraw"))],
                   check=True)
    files = sorted({path for pattern in READERS for path in ROOT.glob(pattern) if path.suffix in (".h", ".cpp")})
    objects = [build / "gputopo", "-object", build / "tests" / "unit_tests", "-object", build / "tests" / "faults_tests"]
    report = subprocess.run(["llvm-cov-19", "export", "-summary-only", "-instr-profile", merged, *objects, *files],
                            check=True, capture_output=True, text=True)
    table = {}
    for file in json.loads(report.stdout)["data"][0]["files"]:
        summary = file["summary"]["lines"]
        table[pathlib.Path(file["filename"]).relative_to(ROOT)] = (summary["covered"], summary["count"])
    return table


def main(build):
    profiles = build / "profiles"
    profiles.mkdir(exist_ok=True)
    for old in profiles.iterdir():
        old.unlink()
    run_tests(build, profiles)
    table = lines_of(build, profiles)
    for file, (covered, count) in table.items():
        print(f"{100 * covered / count:6.1f}%  {covered:5} of {count:5}  {file}")
    covered, count = (sum(column) for column in zip(*table.values()))
    percent = 100 * covered / count
    print(f"{percent:6.1f}%  {covered:5} of {count:5}  in all")
    return 0 if percent >= LEAST_PERCENT else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
