#!/usr/bin/env python3
"""CPU time and programs of a default run over the L2, the memory and the SMs of a simulated GPU.

    bench/growth.py build/release/gputopo
"""
import copy
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

GIB = 1 << 30
MIB = 1 << 20


def with_value(section, key, value):
    """Sets a field of a machine file, which may have a source beside its value."""
    field = section[key]
    section[key] = dict(field, value=value) if isinstance(field, dict) else value


def with_l2(machine, mib):
    with_value(next(cache for cache in machine["caches"] if cache["id"] == "l2"), "size_bytes", mib * MIB)
    with_value(machine["info"], "l2_bytes", mib * MIB)


def with_memory(machine, gib):
    with_value(machine["info"], "memory_bytes", gib * GIB)


def with_sms(machine, sms):
    with_value(machine["info"], "sm_count", sms)
    with_value(machine, "sm_groups", [list(range(first, min(first + 16, sms))) for first in range(0, sms, 16)])


def measure(gputopo, machine, folder):
    """Seconds of CPU and programs of a run."""
    path = pathlib.Path(folder) / "machine.json"
    report = pathlib.Path(folder) / "report.json"
    path.write_text(json.dumps(machine))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = subprocess.run([gputopo, "--device", f"sim:{path}", "--quiet", "--json", report],
                            stdout=subprocess.DEVNULL, check=False)
    if result.returncode not in (0, 3):  # 3: some values were not told
        sys.exit(f"growth.py: gputopo ended with {result.returncode}")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return seconds, sum(probe["programs"] for probe in json.loads(report.read_text())["timing"]["probes"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = json.loads((pathlib.Path(__file__).parent.parent / "machines" / "h200.json").read_text())
    print(f"{'varied':10} {'value':>8} {'CPU':>8} {'programs':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, unit, change, values in (("L2", "MiB", with_l2, (32, 64, 128, 256, 512)),
                                           ("memory", "GiB", with_memory, (16, 32, 64, 128, 256, 512)),
                                           ("SMs", "", with_sms, (16, 32, 64, 132, 208, 304))):
            for value in values:
                machine = copy.deepcopy(source)
                change(machine, value)
                seconds, programs = measure(sys.argv[1], machine, folder)
                print(f"{name:10} {value:4} {unit:3} {seconds:6.2f} s {programs:9}", flush=True)


if __name__ == "__main__":
    main()
