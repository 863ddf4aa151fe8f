#!/usr/bin/env python3
"""model.py GPUTOPO RUN_PROGRAMS [--device DEVICE] [--report REPORT]: predictions of `gputopo model` beside what programs take.

RUN_PROGRAMS is what the target of that name builds. Discovers the device (cuda:0) or takes a REPORT of it, describes
programs as kernels, predicts their times and runs them: copies and reads of device memory, tiles that L1 gives and L2
takes, chases of one thread, chains of fused multiply-adds by 4, 16 and 32 warps of each SM. Prints a line for each. Each
is bound by one thing: a prediction may be 15% off. Exit code 0: all of them hold, or there is no GPU here; 1: some do
not.

`--device sim:h200` tries the test itself: the simulator's streams know bandwidths and no latency, so that few warps copy
as fast as many.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

TOLERANCE = 0.15
RUNS = 5
ELEMENTS = "l1,l2,shared,device,registers,peaks.f32,instructions.fma.f32"
OPERATIONS_PER_ROUND = 512  # in a chain of fused multiply-adds, see docs/methods/operations.md
MIB = 1 << 20


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gputopo")
    parser.add_argument("run_programs")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--report")
    return parser.parse_args()


def is_there(gputopo, device):
    listed = subprocess.run([gputopo, "list"], capture_output=True, text=True, check=False).stdout
    return any(line.split(maxsplit=1)[0] == device for line in listed.splitlines() if line.strip())


def stream(sms, op, blocks_per_sm, threads, in_flight, repeats):
    size = 1024 * MIB
    program = (f"stream op={op} space=global bytes={size} per_block=0 blocks_per_sm={blocks_per_sm} threads={threads} "
               f"vector=16 in_flight={in_flight} repeats={repeats} carve_out=0")
    blocks = sms * blocks_per_sm
    count = size * repeats / (blocks * threads * 16)
    access = {"level": "device", "count": count, "bytes": 16, "in_flight": in_flight}
    kinds = ["load", "store"] if op == "copy" else ["load"]
    kernel = {"grid_blocks": blocks, "block_threads": threads, "memory": [{**access, "access": kind} for kind in kinds]}
    return f"{op}, {blocks_per_sm} x {threads} threads", program, kernel


def tile(sms, threads, repeats):
    """Each block repeatedly reads its own tile from L1 and stores it to the next level, like a stencil."""
    size = 32 << 10
    program = (f"stream op=copy space=global bytes={size} per_block=1 blocks_per_sm=1 threads={threads} vector=16 "
               f"in_flight=4 repeats={repeats} carve_out=0")
    count = size * repeats / (threads * 16)
    kernel = {"grid_blocks": sms, "block_threads": threads,
              "memory": [{"level": "l1", "count": count, "bytes": 16, "in_flight": 2},
                         {"level": "l2", "access": "store", "count": count, "bytes": 16, "in_flight": 2}]}
    return "stencil's levels, 1 x 1024 threads", program, kernel


def chase(level, space, size, loads):
    """One thread with dependent loads. The array was loaded once before, to fill caches and TLBs."""
    stride = 128
    program = (f"chase exclusive=1 carve_out=0 timed_cap=1 array={space}:{size}:{stride}:shuffled:reversed:1:0 "
               f"actor=0:0 step=warm:0:0:{size // stride}:0:0 step=warm:0:0:{loads}:0:0")
    kernel = {"grid_blocks": 1, "block_threads": 1, "memory": [{"level": level, "count": loads, "bytes": 8}]}
    return f"chase in {level}", program, kernel


def chain(sms, warps):
    rounds = 64
    program = f"operation operation=fma.f32 streams=1 warps={warps} every_sm=1 rounds={rounds}"
    kernel = {"grid_blocks": sms, "block_threads": 32 * warps, "instructions": {"fma.f32": rounds * OPERATIONS_PER_ROUND}}
    return f"fma chains, {warps} warps", program, kernel


def cases(report):
    sms = report["compute"]["sm_count"]["value"]
    return [
        stream(sms, "read", 2, 1024, 4, 2),
        stream(sms, "copy", 2, 1024, 4, 2),
        stream(sms, "copy", 1, 64, 1, 1),  # too few loads in flight to saturate the bandwidth
        tile(sms, 1024, 64),
        chase("l1", "global", 16 << 10, 4096),
        chase("l2", "global_bypass_l1", 4 * MIB, 4096),
        chase("shared", "shared", 16 << 10, 4096),
        chain(sms, 4),
        chain(sms, 16),
        chain(sms, 32),
    ]


def measure(options, program):
    """The median time in seconds of a few runs, after one that compiles."""
    text = "\n".join([program] * (RUNS + 1)) + "\n"
    result = subprocess.run([options.run_programs, options.device], input=text, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"model.py: {result.stderr.strip()} ({program})")
    times = []
    for line in result.stdout.splitlines()[1:]:
        values = {key: float(value) for key, value in (word.split("=") for word in line.split())}
        times.append(values["seconds"] if "seconds" in values else values["cycles"] / (values["clock_mhz"] * 1e6))
    return statistics.median(times)


def predict(options, report, kernel):
    result = subprocess.run([options.gputopo, "model", str(report), "--kernel", "-", "--json"], input=json.dumps(kernel),
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"model.py: {result.stderr.strip()}")
    return json.loads(result.stdout)


def main():
    options = parse_arguments()
    if not is_there(options.gputopo, options.device):
        print(f"skipped: no {options.device} here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(options.report or pathlib.Path(folder) / "report.json")
        if not options.report:
            subprocess.run([options.gputopo, "--device", options.device, "--quiet", "--only", ELEMENTS, "--json", str(report)],
                           stdout=subprocess.DEVNULL, check=True)
        bad = 0
        print(f"{'program':34} {'predicted':>12} {'measured':>12} {'error':>7}  bound")
        for name, program, kernel in cases(json.loads(report.read_text())):
            prediction = predict(options, report, kernel)
            predicted, measured = prediction["predicted_seconds"], measure(options, program)
            error = predicted / measured - 1
            bad += abs(error) > TOLERANCE
            mark = "" if abs(error) <= TOLERANCE else "  BAD"
            print(f"{name:34} {predicted * 1e6:9.2f} us {measured * 1e6:9.2f} us {error:+7.1%}  "
                  f"{prediction['bounds'][0]['name']}{mark}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
