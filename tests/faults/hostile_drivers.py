#!/usr/bin/env python3
"""hostile_drivers.py LIBRARY BINARY FAKE_LIBCUDA FAKE_NVML FAKE_HIP [--all]: each call of a vendor's library in turn is hostile.

LIBRARY is cuda, nvml or hip; the fakes are the stand-ins of tests/support, and tests/support/hostile_call.h has the
modes: errors, results that are none, texts without an end, calls that never come back. `gputopo` and `gputopo list` must
not crash, must end soon after the budget, and must name the call that did not come back. Without --all, each call has some of the modes.
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
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {
    "cuda": ("fake_libcuda/fake_libcuda.cpp", "cuda:0", "shared", "GPUTOPO_FAKE_CUDA"),
    "nvml": ("fake_nvml/fake_nvml.cpp", "cuda:0", "shared", "GPUTOPO_FAKE_NVML"),
    "hip": ("fake_hip/fake_hip.cpp", "hip:0", "lds", "GPUTOPO_FAKE_HIP"),
}
MODES = ["error", "unknown", "zeros", "ones", "huge"]
MODES_AT_ONCE = {"cuda": 2, "nvml": 5, "hip": 2}  # besides "hang"; more if there are few calls
FEWEST_CASES = 45
CASES_AT_ONCE = 8
LEAST_PATIENCE_SECONDS = 0.3
MORE_PATIENCE = 8
# Besides the budget and the patience, for the delays of a busy host.
LONGEST_SECONDS = 5
# At least this many times the duration of an undisturbed list of GPUs, for sanitizers on a busy host.
LISTS_TO_WAIT_FOR = 20
# Calls that the fake itself cannot survive, because it works on tasks that were never copied.
NOT_FOR_THE_FAKE = {"hipMemcpyHtoD"}
# Only launches of seconds call it, and the fake runs none. CudaFaults tests it.
NOT_REACHED = {"nvmlDeviceGetTotalEnergyConsumption"}


class Reach(typing.NamedTuple):
    """The measurement that makes a call; by default the short one."""
    element: str
    attributes: str = "size,latency"
    behaviour: str = ""  # of the fake
    options: tuple = ()
    device: str = ""  # if not the library's first
    command: str = ""  # if not discover


# In seconds. If the call was not reached, the next one, because a loaded host takes longer, and sanitizers much longer.
BUDGETS = (0.1, 1, 4, 8, 16, 64, 192)
CONSTANTS = Reach("constant_l1", "size")
TEXTURES = Reach("texture", "size")
CODE = Reach("icache_l1", "size")
STREAMS = Reach("device", "read_bandwidth")
PROFILED = Reach("shared", options=("--profile",))
NODE = Reach("", behaviour="gpus=2", command="node")
NVLINKS = NODE._replace(behaviour="nvlinks=4")
INSTANCES = Reach("shared", behaviour="mig=1")
INSTANCE = "cuda:MIG-00000000-0000-0000-0000-000000000000"
NAMED_CUS = Reach("sl1d", "shared_between")
# Calls that the short measurement does not make. An OLD_GPU offers no carve-outs.
REACHED_BY = {
    "cuGetErrorName": Reach("shared", behaviour="bad_ptx"),
    "cuGetErrorString": Reach("shared", behaviour="bad_ptx"),
    "cuFuncSetCacheConfig": Reach("shared", behaviour="old_gpu"),
    "cuCtxSetLimit": Reach("l2", "min_fetch_granularity"),
    "cuFuncSetSharedMemConfig": Reach("shared", "bank_interleave", behaviour="kepler"),
    "cuEventCreate": PROFILED,
    "cuEventRecord": PROFILED,
    "cuEventElapsedTime": PROFILED,
    "cuEventDestroy_v2": PROFILED,
    **{call: NODE for call in (
        "cuDeviceCanAccessPeer", "cuDeviceGetP2PAttribute", "cuCtxEnablePeerAccess", "cuStreamCreate",
        "cuStreamSynchronize", "cuStreamDestroy_v2", "cuStreamWaitValue32_v2", "cuMemHostRegister_v2",
        "cuMemHostUnregister", "cuMemHostGetDevicePointer_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyPeerAsync")},
    **{call: NODE for call in (
        "hipDeviceCanAccessPeer", "hipDeviceGetP2PAttribute", "hipDeviceEnablePeerAccess", "hipStreamCreateWithFlags",
        "hipStreamWaitValue32", "hipExtMallocWithFlags", "hipEventCreateWithFlags", "hipEventRecord",
        "hipEventElapsedTime", "hipEventDestroy", "hipHostRegister", "hipHostUnregister", "hipHostGetDevicePointer",
        "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync", "hipMemcpyPeerAsync")},
    **{call: NVLINKS for call in (
        "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetNvLinkRemotePciInfo_v2",
        "nvmlDeviceGetFieldValues")},
    "nvmlDeviceGetNvLinkErrorCounter": Reach("shared", behaviour="nvlinks=4"),
    "nvmlDeviceGetRetiredPagesPendingStatus": Reach("shared", behaviour="old=1"),
    "cuDeviceGetUuid_v2": Reach("shared", device=INSTANCE),
    "cuMemcpyDtoH_v2": Reach("shared", behaviour="no_pinned_memory"),
    "cuMemsetD8_v2": Reach("shared", "atomic_latency"),
    **{call: Reach("clocks", "graph_launch_latency") for call in (
        "cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
        "cuGraphExecDestroy", "cuGraphDestroy")},
    **{call: Reach("clocks", "graph_launch_latency") for call in (
        "hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphInstantiate", "hipGraphLaunch",
        "hipGraphExecDestroy", "hipGraphDestroy")},
    "cuFuncGetAttribute": Reach("registers", "resident_warps"),
    "hipMemset": Reach("lds", "atomic_latency"),
    "cuMemcpyDtoD_v2": CONSTANTS,
    "cuModuleGetGlobal_v2": CONSTANTS,
    "cuTexObjectCreate": TEXTURES,
    "cuTexObjectDestroy": TEXTURES,
    "cuLinkCreate_v2": CODE,
    "cuLinkAddData_v2": CODE,
    "cuLinkComplete": CODE,
    "cuLinkDestroy": CODE,
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": STREAMS,
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor": STREAMS,
    "hipExtStreamCreateWithCUMask": NAMED_CUS,
    "hipStreamDestroy": NAMED_CUS,
    **{call: INSTANCES for call in (
        "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetName",
        "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetMemoryInfo")},
    **{call: INSTANCES._replace(device=INSTANCE) for call in (
        "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetPciInfo_v3")},
    "hiprtcGetProgramLogSize": Reach("lds", behaviour="bad_source"),
    "hiprtcGetProgramLog": Reach("lds", behaviour="bad_source"),
}


def calls_of(library):
    text = (ROOT / "tests" / "support" / SOURCES[library][0]).read_text()
    pattern = r"^(?:Status|CompileStatus|int) (\w+)\([^{]*\{\n  GPUTOPO_MAY_BE_HOSTILE"
    return re.findall(pattern, text, re.MULTILINE)


def modes_by_call(library, everything):
    calls = [call for call in calls_of(library) if call not in NOT_REACHED]
    count = len(MODES) if everything else MODES_AT_ONCE[library]
    for number, call in enumerate(calls):
        modes = [MODES[(number + 2 * step) % len(MODES)] for step in range(count)]
        yield call, ["hang"] + [mode for mode in modes if call not in NOT_FOR_THE_FAKE or mode in ("error", "unknown")]


def ended_badly(result):
    error = result.stderr.decode(errors="replace")
    if result.returncode not in (0, 1, 3):
        return f"ended with {result.returncode}: {error}"
    if result.returncode == 1 and not re.search("^gputopo: ", error, re.MULTILINE):  # --profile comes before
        return f"does not say why it failed: {error}"
    return None


def seconds_of_lists(binary, environment, at_once):
    begin = time.monotonic()
    lists = [subprocess.Popen([binary, "list"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
             for _ in range(at_once)]
    for one in lists:
        one.wait()
    return time.monotonic() - begin


def outcome_of_list(binary, environment):
    done = subprocess.run([binary, "list"], env=environment, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def problem_of(command, environment, mode, call, budget, longest):
    begin = time.monotonic()
    longest += float(environment["GPUTOPO_PATIENCE"])
    # If a call only pretends to free memory, the leak is not ours.
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    environment = dict(environment, GPUTOPO_FAKE_HOSTILE=f"{mode}:{call}", ASAN_OPTIONS=options)
    try:
        result = subprocess.run(command + ["--budget", str(budget)], env=environment, capture_output=True,
                                timeout=budget + longest)
    except subprocess.TimeoutExpired:
        return f"has not ended {longest:.1f} s after its budget of {budget} s"
    if problem := ended_badly(result):
        return problem
    error = result.stderr.decode(errors="replace")
    if mode == "hang":
        if f"{call} has not returned" not in error and f"{call.removesuffix('_v2')} has not returned" not in error:
            return f"does not name the call after {time.monotonic() - begin:.1f} s: {error}"
        if result.returncode != 1:
            return f"ended with {result.returncode} although the call hung"
    return None


def problem_of_list(binary, environment, mode, call, longest, other):
    """The list of GPUs ends whatever a driver does, and includes the GPU of the OTHER vendor and the simulated ones."""
    longest += float(environment["GPUTOPO_PATIENCE"])
    environment = dict(environment, GPUTOPO_FAKE_HOSTILE=f"{mode}:{call}")
    try:
        result = subprocess.run([binary, "list"], env=environment, capture_output=True, timeout=longest)
    except subprocess.TimeoutExpired:
        return f"list has not ended after {longest:.1f} s"
    if problem := ended_badly(result):
        return "list " + problem
    lines = result.stdout.decode(errors="replace").splitlines()
    error = result.stderr.decode(errors="replace")
    for spec in (other, "sim:h200"):
        if not any(line.split()[:1] == [spec] for line in lines):
            if re.search(rf"\b{spec.split(':')[0]}: [^;]* has not returned", error):
                return f"list has not ended its query of {spec}, which is not hostile: {error}"
            return f"list does not show {spec}: {result.stdout} {error}"
    # The backend chooses the calls of a list, but it must name what it leaves out.
    if mode == "hang" and "has not returned" in error and f" {call} has not" not in error:
        return f"list does not name the call: {error}"
    return None


def once_more_if_late(problem_of_attempt, environment, late):
    """A busy host may delay a case for longer than it may take, so a late case gets a second attempt, with more patience.

    LATE collects the problems of first attempts. If a call causes the delay, both attempts are late.
    """
    problem = problem_of_attempt(environment)
    if problem and "has not ended" in problem:
        late.append(problem)
        patience = MORE_PATIENCE * float(environment["GPUTOPO_PATIENCE"])
        problem = problem_of_attempt(dict(environment, GPUTOPO_PATIENCE=f"{patience:.1f}"))
    return problem


def main(library, binary, libcuda, nvml, hip, everything=False):
    _, device, element, behaviour = SOURCES[library]
    other = "cuda:0" if library == "hip" else "hip:0"
    cases = list(modes_by_call(library, everything))
    failures = []
    late = []
    with tempfile.TemporaryDirectory() as locks:
        environment = dict(os.environ, GPUTOPO_LIBCUDA=libcuda, GPUTOPO_LIBNVML=nvml, GPUTOPO_LIBAMDHIP64=hip,
                           GPUTOPO_LIBHIPRTC=hip, GPUTOPO_SYSFS=str(ROOT / "tests" / "fixtures" / "sysfs" / "mi210"))
        alone = dict(environment, GPUTOPO_LOCK_DIR=tempfile.mkdtemp(dir=locks))
        longest = max(LONGEST_SECONDS, LISTS_TO_WAIT_FOR * seconds_of_lists(binary, alone, 1))
        # With sanitizers, even a call that returns may exceed the least patience.
        patience = max(LEAST_PATIENCE_SECONDS, seconds_of_lists(binary, alone, CASES_AT_ONCE))
        environment["GPUTOPO_PATIENCE"] = f"{patience:.1f}"


        def run(call, modes):
            reach = REACHED_BY.get(call, Reach(element))
            command = [binary, "--device", reach.device or device, "--quiet", "--only", reach.element, "--attribute", reach.attributes,
                       *reach.options]
            if reach.command:
                command = [binary, reach.command, "--links-only", "--quiet", "--node", "hip" if library == "hip" else "cuda"]
            # All have the same address, so each gets its own locks.
            own = dict(environment, GPUTOPO_LOCK_DIR=tempfile.mkdtemp(dir=locks))
            if reach.command:
                own["GPUTOPO_FAKE_CUDA"] = NODE.behaviour
            if reach.behaviour:
                own[behaviour] = reach.behaviour
            # A list does not make the call if ending the process there changes nothing.
            aborted = dict(own, GPUTOPO_FAKE_HOSTILE=f"abort:{call}")
            is_listed = outcome_of_list(binary, aborted) != outcome_of_list(binary, own)
            for mode in (["abort"] + modes if is_listed else []):
                if problem := once_more_if_late(
                        lambda own, mode=mode: problem_of_list(binary, own, mode, call, longest, other), own, late):
                    yield mode, problem
            for mode in modes:
                for budget in BUDGETS:
                    problem = once_more_if_late(
                        lambda own, mode=mode, budget=budget: problem_of(command, own, mode, call, budget, longest),
                        own, late)
                    if not problem or "does not name the call" not in problem:
                        break
                if problem:
                    yield mode, problem

        with concurrent.futures.ThreadPoolExecutor(CASES_AT_ONCE) as several:
            for call, problems in several.map(lambda case: (case[0], list(run(*case))), cases):
                failures += [f"{mode}:{call}: {problem}" for mode, problem in problems]
    count = sum(len(modes) for _, modes in cases)
    if count < FEWEST_CASES:
        failures.append(f"{count} cases are less than {FEWEST_CASES}")
    for failure in failures:
        print(failure)
    print(f"{library}: {count} cases, {len(failures)} failures, {len(late)} late at first")
    return 1 if failures else 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--all"]
    if len(arguments) != 5 or arguments[0] not in SOURCES:
        sys.exit(__doc__)
    sys.exit(main(*arguments, everything="--all" in sys.argv))
