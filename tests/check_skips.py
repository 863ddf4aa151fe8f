#!/usr/bin/env python3
"""check_skips.py SKIPS EXPECTED: prints every skipped test with its reason, and fails if one is not expected.

SKIPS has a line "TEST<tab>REASON" for each skipped test; a run without skips has no such file. EXPECTED has lines
"TEST | REASON | WHY", where TEST is a shell pattern, REASON is part of the reason, and WHY says what is missing.
"""
import collections
import fnmatch
import pathlib
import sys


def read_expected(path):
    expected = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields):
            sys.exit(f"{path}:{number}: '{line}' is not 'TEST | REASON | WHY'")
        expected.append(fields)
    return expected


def main():
    skips, expected_path = (pathlib.Path(argument) for argument in sys.argv[1:])
    lines = sorted(set(skips.read_text().splitlines())) if skips.exists() else []
    expected = read_expected(expected_path)
    tests_of = collections.defaultdict(list)
    unexpected = 0
    for line in lines:
        test, _, reason = line.partition("\t")
        is_expected = any(fnmatch.fnmatchcase(test, pattern) and part in reason for pattern, part, _ in expected)
        unexpected += not is_expected
        tests_of[("skipped" if is_expected else "SKIPPED, NOT EXPECTED", reason)].append(test)
    print(f"{len(lines)} tests were skipped, {unexpected} of them unexpectedly")
    for (verdict, reason), tests in sorted(tests_of.items()):
        print(f"  {verdict}: {reason}")
        for test in tests:
            print(f"    {test}")
    if unexpected:
        print(f"Install what is missing, or list the skip in {expected_path}.")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
