#!/usr/bin/env python3
"""Tests of the installed Python package: values, errors, callbacks, threads, and its effects on the process."""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import typing
import unittest
import unittest.mock

import gputopo

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "tests/reports/h200.json"
QUICK = {"device": "sim:gt200", "only": ["texture.latency"]}


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        self.report = gputopo.Report.load(REPORT)

    def test_values_have_their_type(self) -> None:
        latency = self.report["l2.latency"]
        self.assertAlmostEqual(latency.value, 281.19, places=2)
        self.assertLess(latency.low, latency.value)
        self.assertGreater(latency.high, latency.value)
        self.assertEqual((latency.unit, latency.source), ("cycles", "measured"))
        self.assertEqual(str(latency), "281.19 cycles")
        size = self.report["l2.size"]
        self.assertIs(type(size.value), int)
        self.assertEqual((size.value, size.low, size.source), (62914560, None, "api"))
        self.assertIs(self.report["device.simulated"].value, False)
        self.assertEqual(self.report["device.name"].value, "NVIDIA H200")
        self.assertEqual(self.report["l1.shared_with"].value, ["texture", "readonly"])
        groups = self.report["l2.near_sms"].value
        self.assertEqual(sorted(sm for group in groups for sm in group), list(range(132)))

    def test_what_is_missing_says_why(self) -> None:
        with self.assertRaises(gputopo.Unavailable) as caught:
            self.report["shared.miss_penalty"]
        self.assertEqual(caught.exception.reason, "not_applicable")
        self.assertIsNone(self.report.get("shared.miss_penalty"))
        with self.assertRaises(gputopo.UnknownName) as unknown:
            self.report.get("l2.latncy")
        self.assertIn("the closest names are l2.latency", str(unknown.exception))
        self.assertIsInstance(unknown.exception, KeyError)
        with self.assertRaises(gputopo.UnknownName):
            self.report["l2.size\0"]

    def test_formats(self) -> None:
        self.assertEqual(self.report.to_dict(), json.loads(self.report.render("json")))
        self.assertEqual(gputopo.Report.parse(self.report.render("json")).to_dict(), self.report.to_dict())
        self.assertIn("</html>", self.report.render("html"))
        with self.assertRaises(gputopo.UnknownName):
            self.report.render("nonsense")
        self.assertTrue(self.report.complete)
        self.assertIn("NVIDIA H200", repr(self.report))

    def test_files_that_are_none(self) -> None:
        with self.assertRaises(gputopo.Error) as caught:
            gputopo.Report.load("/no/such/file")
        self.assertEqual(caught.exception.status, "file")
        for document in ("", "{}", b"\xff"):
            with self.assertRaises(gputopo.Error):
                gputopo.Report.parse(document)

    def test_without_pandas(self) -> None:
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaises(ImportError):
            self.report.to_pandas()

    def test_pandas(self) -> None:
        if importlib.util.find_spec("pandas") is None:
            if skips := os.environ.get("GPUTOPO_SKIPS"):
                with open(skips, "a", encoding="utf-8") as file:
                    file.write("library.consumers.pandas\tpandas is not installed (Debian: python3-pandas)\n")
            self.skipTest("pandas is not installed")
        frame = self.report.to_pandas()
        row = frame[(frame.element == "l2") & (frame.attribute == "latency")].iloc[0]
        self.assertAlmostEqual(row.value, 281.19, places=2)
        self.assertLess(row.low, row.value)

    def test_threads_share_a_report(self) -> None:
        found = []
        threads = [threading.Thread(target=lambda: found.append(self.report["l2.size"].value)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [62914560] * 8)


class Discoveries(unittest.TestCase):
    def test_measures_and_tells_its_progress(self) -> None:
        steps, lines, threads = [], [], set()

        def progress(step: gputopo.Progress) -> None:
            steps.append(step.step)
            threads.add(threading.get_ident())

        report = gputopo.discover(**QUICK, progress=progress, log=lambda level, line: lines.append((level, line)))
        self.assertGreater(report["texture.latency"].value, 100)
        self.assertEqual(steps[-1], "")
        self.assertTrue(lines)
        self.assertEqual(threads, {threading.get_ident()})

    def test_is_cancelled(self) -> None:
        with self.assertRaises(gputopo.Error) as caught:
            gputopo.discover(**QUICK, cancelled=lambda: True)
        self.assertEqual(caught.exception.status, "cancelled")
        answers = iter([False])
        report = gputopo.discover("sim:h200", cancelled=lambda: next(answers, True))
        self.assertFalse(report.complete)

    def test_what_a_callback_raises_comes_out(self) -> None:
        def fail(_: gputopo.Progress) -> None:
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            gputopo.discover(**QUICK, progress=fail)

    def test_control_c(self) -> None:
        script = "import gputopo; print('begun', flush=True); gputopo.discover('sim:mi300x', full=True)"
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdout.readline()
        threading.Event().wait(0.3)
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
        self.assertIn(b"KeyboardInterrupt", error)
        self.assertNotIn(b"ignored", error)

    def test_arguments_that_are_wrong(self) -> None:
        for arguments, status in (
            ({"device": "nonsense"}, "name"),
            ({"device": "sim:gt200", "only": ["l2.latncy"]}, "name"),
            ({"device": "sim:gt200", "budget": -1}, "argument"),
            ({"device": "sim:gt200", "max_age": float("nan")}, "argument"),
        ):
            with self.assertRaises(gputopo.Error) as caught:
                gputopo.discover(**arguments)
            self.assertEqual(caught.exception.status, status, arguments)
        with self.assertRaises(TypeError):
            gputopo.discover("sim:gt200", only="l2.latency")

    def test_answers_from_the_cache(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = os.environ.get("XDG_CACHE_HOME")
            os.environ["XDG_CACHE_HOME"] = folder
            try:
                first = gputopo.discover(**QUICK, use_cache=True)["texture.latency"]
                steps: typing.List[gputopo.Progress] = []
                self.assertEqual(gputopo.discover(**QUICK, use_cache=True, progress=steps.append)["texture.latency"], first)
                self.assertEqual(steps, [])
            finally:
                os.environ.pop("XDG_CACHE_HOME")
                if before is not None:
                    os.environ["XDG_CACHE_HOME"] = before

    def test_lists_devices(self) -> None:
        self.assertIn("sim:h200", [device.spec for device in gputopo.list_devices()])

    def test_prints_nothing(self) -> None:
        script = "import gputopo; gputopo.discover('sim:gt200', only=['texture.latency']); gputopo.list_devices()"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
        self.assertEqual((done.stdout, done.stderr), (b"", b""))


class Package(unittest.TestCase):
    def test_is_typed_and_of_one_version(self) -> None:
        self.assertTrue((pathlib.Path(gputopo.__file__).parent / "py.typed").exists())
        self.assertEqual(gputopo.__version__, gputopo.version())
        for function in (gputopo.discover, gputopo.list_devices, gputopo.Report.__getitem__):
            self.assertIn("return", typing.get_type_hints(function))
        for name in gputopo.__all__:
            self.assertTrue(getattr(gputopo, name).__doc__, name)

    def test_says_which_library_is_missing(self) -> None:
        environment = {**os.environ, "GPUTOPO_LIBRARY": "/no/such/library"}
        done = subprocess.run([sys.executable, "-c", "import gputopo"], capture_output=True, env=environment)
        self.assertIn(b"ImportError: libgputopo.so.0 cannot be loaded; install it, or set GPUTOPO_LIBRARY to its path", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
