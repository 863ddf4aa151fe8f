#!/usr/bin/env python3
"""node_check.py BASELINE.json [DEVICE]: warns where this node's GPU is slower than its baseline. Exit code 1: it is.

A latency is worse where it is higher, and a bandwidth where it is lower, by more than 5% and beyond both 95% intervals.
"""
import sys

import gputopo

TOLERANCE = 0.05
VALUES = ["l2.latency", "device.latency", "l2.read_bandwidth", "device.read_bandwidth"]


def is_worse(now: gputopo.Value, before: gputopo.Value) -> bool:
    low, high = now.low or float(now), now.high or float(now)
    if now.path.endswith("bandwidth"):
        return float(now) < float(before) * (1 - TOLERANCE) and high < (before.low or float(before))
    return float(now) > float(before) * (1 + TOLERANCE) and low > (before.high or float(before))


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        baseline = gputopo.Report.load(sys.argv[1])
        report = gputopo.discover(sys.argv[2] if len(sys.argv) > 2 else "", only=VALUES)
        known = [value for value in map(baseline.get, VALUES) if value is not None]
        worse = [before for before in known if is_worse(report[before.path], before)]
    except gputopo.Error as error:
        print(f"node_check.py: {error}", file=sys.stderr)
        return 2
    for before in worse:
        print(f"warning: {before.path} is {report[before.path]}, and {before} in the baseline")
    print(f"{len(known)} values compared, {len(worse)} worse")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
