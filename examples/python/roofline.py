#!/usr/bin/env python3
"""roofline.py FLOP BYTES [DEVICE]: what bounds a kernel that computes so much on so many bytes, at each level of memory.

A profiler counts both. DEVICE is as `gputopo list` calls it. The values are kept in gputopo's cache.
"""
import sys

import gputopo


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    flop, size = float(sys.argv[1]), float(sys.argv[2])
    try:
        levels = ["shared", "l2", "device"]
        wanted = ["peaks.f32", *[f"{level}.read_bandwidth" for level in levels]]
        report = gputopo.discover(sys.argv[3] if len(sys.argv) > 3 else "", only=wanted, use_cache=True)
        peak = float(report["peaks.f32"])
        print(f"{report['device.name']}: {flop / size:.3g} FLOP/B")
        for level in levels:
            bandwidth = report.get(f"{level}.read_bandwidth")
            if bandwidth is None:
                continue
            attainable = min(peak, flop / size * float(bandwidth))
            bound = "arithmetic" if attainable == peak else level
            print(f"from {level:6}: at most {attainable / 1e12:.3g} TFLOP/s, bound by {bound}")
    except gputopo.Error as error:
        print(f"roofline.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
