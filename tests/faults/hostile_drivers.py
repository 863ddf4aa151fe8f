#!/usr/bin/env python3
"""hostile_drivers.py LIBRARY BINARY FAKE_LIBCUDA FAKE_NVML FAKE_HIP [--all]: each call of a vendor's library in turn is hostile.

LIBRARY is cuda, nvml or hip; the fakes are the stand-ins of tests/support, and tests/support/hostile_call.h has the
modes: errors, results that are none, texts without an end, calls that never come back. gputopo must not crash, must end
soon after its budget, and must name the call that did not come back. Without --all, each call has some of the modes.
Exits with 1 and says what is wrong if not.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {
    "cuda": ("fake_libcuda/fake_libcuda.cpp", "cuda:0", "shared"),
    "nvml": ("fake_nvml/fake_nvml.cpp", "cuda:0", "shared"),
    "hip": ("fake_hip/fake_hip.cpp", "hip:0", "lds"),
}
MODES = ["error", "unknown", "zeros", "ones", "huge"]
MODES_AT_ONCE = {"cuda": 2, "nvml": 5, "hip": 2}  # besides "hang": of few calls more
FEWEST_CASES = 45
BUDGET_SECONDS = 0.1
PATIENCE_SECONDS = 0.3
# Budget, patience and what a loaded machine adds: with the patience that users have it is the budget and 5 s.
LONGEST_SECONDS = 5
# What the stand-in itself does not bear: it works on tasks that were never copied.
NOT_FOR_THE_FAKE = {"hipMemcpyHtoD"}
# Not called by so short a measurement.
NOT_CALLED = {
    "cuGetErrorName", "cuGetErrorString", "cuMemcpyDtoD_v2", "cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete",
    "cuLinkDestroy", "cuModuleGetGlobal_v2", "cuFuncSetCacheConfig", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuTexObjectCreate", "cuTexObjectDestroy", "hipExtStreamCreateWithCUMask", "hipStreamDestroy",
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", "hiprtcGetProgramLogSize", "hiprtcGetProgramLog",
}


def calls_of(library):
    text = (ROOT / "tests" / "support" / SOURCES[library][0]).read_text()
    pattern = r"^(?:Status|CompileStatus|int) (\w+)\([^{]*\{\n  GPUTOPO_MAY_BE_HOSTILE"
    return re.findall(pattern, text, re.MULTILINE)


def cases_of(library, everything):
    for number, call in enumerate(calls_of(library)):
        yield "hang", call
        for step in range(len(MODES) if everything else MODES_AT_ONCE[library]):
            mode = MODES[(number + 2 * step) % len(MODES)]
            if call not in NOT_FOR_THE_FAKE or mode in ("error", "unknown"):
                yield mode, call


def problem_of(command, environment, mode, call):
    begin = time.monotonic()
    # What a call keeps that only says it has freed something is no leak of ours.
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    environment = dict(environment, GPUTOPO_FAKE_HOSTILE=f"{mode}:{call}", ASAN_OPTIONS=options)
    try:
        result = subprocess.run(command, env=environment, capture_output=True, timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"has not ended after {LONGEST_SECONDS} s"
    error = result.stderr.decode(errors="replace")
    if result.returncode not in (0, 1, 3):
        return f"ended with {result.returncode}: {error}"
    if result.returncode == 1 and not error.startswith("gputopo: "):
        return f"does not say why it failed: {error}"
    if mode == "hang" and call not in NOT_CALLED:
        if f"{call} has not come back" not in error and f"{call.removesuffix('_v2')} has not come back" not in error:
            return f"does not name the call after {time.monotonic() - begin:.1f} s: {error}"
        if result.returncode != 1:
            return f"ended with {result.returncode} although the call hung"
    return None


def main(library, binary, libcuda, nvml, hip, everything=False):
    _, device, element = SOURCES[library]
    cases = list(cases_of(library, everything))
    failures = []
    with tempfile.TemporaryDirectory() as locks:
        command = [binary, "--device", device, "--quiet", "--only", element, "--attribute", "size,latency", "--budget",
                   str(BUDGET_SECONDS)]
        environment = dict(os.environ, GPUTOPO_PATIENCE=str(PATIENCE_SECONDS), GPUTOPO_LIBCUDA=libcuda,
                           GPUTOPO_LIBNVML=nvml, GPUTOPO_LIBAMDHIP64=hip, GPUTOPO_LIBHIPRTC=hip,
                           GPUTOPO_SYSFS=str(ROOT / "tests" / "fixtures" / "sysfs" / "mi210"))

        def run(case):
            # They all have one address: each gets locks of its own.
            own = tempfile.mkdtemp(dir=locks)
            return case, problem_of(command, dict(environment, GPUTOPO_LOCK_DIR=own), *case)

        with concurrent.futures.ThreadPoolExecutor(8) as several:
            for (mode, call), problem in several.map(run, cases):
                if problem:
                    failures.append(f"{mode}:{call}: {problem}")
    if len(cases) < FEWEST_CASES:
        failures.append(f"{len(cases)} cases are less than {FEWEST_CASES}")
    for failure in failures:
        print(failure)
    print(f"{library}: {len(cases)} cases, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--all"]
    if len(arguments) != 5 or arguments[0] not in SOURCES:
        sys.exit(__doc__)
    sys.exit(main(*arguments, everything="--all" in sys.argv))
