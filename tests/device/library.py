#!/usr/bin/env python3
"""library.py LIBRARY: the library in a process that computes on an NVIDIA GPU itself; says what is wrong there.

Of what the stand-ins of drivers cannot show: the real driver's contexts, a fork of it, PyTorch in the same process where
it is there. Takes a minute. Exits with 1 if something is not as it should be.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
failures = []


def expect(is_so: bool, what: str) -> None:
    print(("ok      " if is_so else "FAILED  ") + what, flush=True)
    if not is_so:
        failures.append(what)


class Driver:
    """The use of libcuda by the calling program itself."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device = ctypes.c_int()
        for call in (self.cuda.cuInit(0), self.cuda.cuDeviceGet(ctypes.byref(device), 0)):
            assert call == 0, call
        self.own = ctypes.c_void_p()
        assert self.cuda.cuCtxCreate_v2(ctypes.byref(self.own), 0, device) == 0

    def current(self) -> "int | None":
        context = ctypes.c_void_p()
        assert self.cuda.cuCtxGetCurrent(ctypes.byref(context)) == 0
        return context.value


def check_contexts(gputopo, driver: Driver) -> None:
    seen = set()
    report = gputopo.discover("cuda:0", progress=lambda _: seen.add(driver.current()))
    expect(report.complete and report["l2.latency"].value > 50, f"a whole report: L2 {report['l2.latency']}")
    expect(driver.current() == driver.own.value, "the context that was current is current")
    expect(seen == {driver.own.value}, "and was so in callbacks")
    driver.cuda.cuCtxSetCurrent(None)
    gputopo.discover("cuda:0", only=["l2.latency"])
    expect(driver.current() is None, "where there was none, there is none")
    driver.cuda.cuCtxSetCurrent(driver.own)


def status_of(gputopo, **options) -> str:
    try:
        gputopo.discover(**options)
    except gputopo.Error as error:
        return error.status
    return "ok"


def check_turns(gputopo) -> None:
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(status_of(gputopo, device="cuda:0", only=["shared.latency"])))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(found == ["ok"] * 3, "three threads take turns")
    begun = threading.Event()
    holder = threading.Thread(
        target=lambda: gputopo.discover("cuda:0", only=["l1"], progress=lambda _: begun.set())
    )
    holder.start()
    begun.wait(60)
    expect(status_of(gputopo, device="cuda:0", only=["l1"], wait=False) == "busy", "the second one is told that it is busy")
    holder.join()
    expect(status_of(gputopo, device="cuda:99") == "device", "a GPU that is not there is an error of the device")


def check_end(gputopo) -> None:
    begin = time.monotonic()
    report = gputopo.discover("cuda:0", full=True, cancelled=lambda: time.monotonic() > begin + 1)
    spent = time.monotonic() - begin
    expect(not report.complete and spent < 6, f"cancelled after 1 s, it ends after {spent:.1f} s")
    report = gputopo.discover("cuda:0", only=["l2.size"])
    child = os.fork()
    if child == 0:
        os._exit(0 if status_of(gputopo, device="cuda:0", only=["l2.latency"]) == "forked" and report["l2.size"] else 1)
    expect(os.waitpid(child, 0)[1] == 0, "a fork reads reports and refuses the driver")


def check_cache(gputopo) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        spent = []
        for _ in range(2):
            begin = time.monotonic()
            gputopo.discover(only=["l2.latency"], use_cache=True)
            spent.append(time.monotonic() - begin)
        expect(spent[1] < 0.2, f"the second answer takes {spent[1] * 1000:.0f} ms")


def check_torch(gputopo, driver: Driver) -> None:
    try:
        import torch
    except ImportError:
        print("left out: PyTorch is not there")
        return
    driver.cuda.cuCtxSetCurrent(None)
    values = torch.ones(1 << 20, device="cuda")
    before = driver.current()
    gputopo.discover("cuda:0", only=["l2.latency", "l2.read_bandwidth"])
    expect(driver.current() == before and float((values * 2).sum()) == 2 << 20, "PyTorch goes on")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.environ["GPUTOPO_LIBRARY"] = str(pathlib.Path(sys.argv[1]).resolve())
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    sys.path.insert(0, str(ROOT / "python"))
    import gputopo

    driver = Driver()
    check_contexts(gputopo, driver)
    check_turns(gputopo)
    check_end(gputopo)
    check_cache(gputopo)
    check_torch(gputopo, driver)
    script = "import gputopo; gputopo.discover('cuda:0', only=['l2.latency'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True)
    expect((done.returncode, done.stdout, done.stderr) == (0, b"", b""), "it prints nothing")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
