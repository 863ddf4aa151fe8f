#!/usr/bin/env python3
"""Tests of the search for tunables, of the rewriting and of the comparison of results, on literals."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import runs
import sources
import tunables

HEAD = "namespace gputopo::probe {\nnamespace {\n\n"
TAIL = "\n}  // namespace\n}  // namespace gputopo::probe\n"


class Finding(unittest.TestCase):
    def found(self, body, path="src/probe/tlb/a.cpp"):
        return sources.rewrite({path: HEAD + body + TAIL})[0]

    def names(self, body, path="src/probe/tlb/a.cpp"):
        return [tunable.name.partition(":")[2] for tunable in self.found(body, path) if not tunable.unvaried]

    def reasons(self, body):
        return {tunable.name.partition(":")[2]: tunable.unvaried for tunable in self.found(body) if tunable.unvaried}

    def test_members_of_parameter_structs(self):
        body = """struct AParameters {
  // Larger values = more; "text".
  double part = 0.5;  // a comment; with = signs
  std::uint64_t bytes = 16u << 20;
  std::array<double, 2> parts = {1.5, 2};
  int rounds{7};
  std::vector<B> no_number;
};
struct B {
  double not_a_tunable = 1;
};
"""
        self.assertEqual(self.names(body, "src/fleet/a.h"),
                         ["AParameters.part", "AParameters.bytes", "AParameters.parts", "AParameters.rounds"])

    def test_structs_with_a_constant_are_tunables_too(self):
        self.assertEqual(self.names("struct Sweep {\n  double a = 2;\n};\nconstexpr Sweep kSweep;"), ["Sweep.a"])

    def test_constants_of_the_analysis(self):
        body = "constexpr double kPart = 0.25;\nint f() {\n  constexpr int kFew = 3;\n  return kFew * kPart;\n}"
        self.assertEqual(self.names(body), ["kPart", "kFew"])
        self.assertEqual(self.names(body, "src/report/a.cpp"), [])

    def test_constants_of_one_name(self):
        self.assertEqual(self.names("int f() {\n  constexpr int kA = 3;\n  return kA;\n}\n"
                                    "int g() {\n  constexpr int kA = 4;\n  return kA;\n}"), ["kA", "kA#2"])

    def test_what_is_not_varied(self):
        self.assertEqual(self.reasons("struct AParameters {\n  bool on = true;\n  int none = 0;\n"
                                      "  // A power of two.\n  std::uint32_t stride = 64;\n"
                                      "  std::uint32_t never = ~0u;\n  BParameters inner = {};\n};"),
                         {"AParameters.on": "no number", "AParameters.none": "zero",
                          "AParameters.stride": "its comment asks for a power of two", "AParameters.never": "a mark",
                          "AParameters.inner": "no number but BParameters"})

    def test_constants_that_the_compiler_needs(self):
        self.assertEqual(self.reasons("constexpr int kA = 4;\nint f() {\n  double values[kA];\n  return values[0];\n}\n"
                                      "constexpr std::size_t kB = 5;\nstd::array<int, kB> g();\n"
                                      "constexpr int kC = 6;\nconstexpr Step kSteps[] = {{kC, 1}};\n"
                                      "constexpr int kD = 7;\nvoid h(int d) {\n  switch (d) {\n    case kD:\n      i();\n  }\n}\n"
                                      "constexpr int kE = 8;\nint j(int* e, int n) { return n < kE ? e[kE] : 0; }\n"
                                      "constexpr int kF = 9;\nconstexpr int k(int n) {\n  return kF + n;\n}"),
                         {"kA": "an array bound", "kB": "a template argument",
                          "kC": "another constant has to be known to the compiler", "kD": "a label",
                          "kF": "a function that is known to the compiler uses it"})

    def test_arguments_of_kernels_are_none(self):
        self.assertEqual(self.names("struct StreamParameters {\n  int never = 7;\n};", "src/device/cuda/a.h"), [])


class Rewriting(unittest.TestCase):
    def copy(self, body, path="src/probe/a.cpp", **others):
        texts = {path: HEAD + body + TAIL} | {f"src/probe/{name}.cpp": text for name, text in others.items()}
        copies = sources.rewrite(texts)[1]
        self.assertTrue(copies[path].startswith(HEAD) and copies[path].endswith(TAIL))
        self.others = copies
        return copies[path][len(HEAD):-len(TAIL)]

    def test_members(self):
        self.assertEqual(self.copy("struct AParameters {\n  double a = 1.0 / 3;  // why\n  std::array<int, 2> b{1, 2};\n};"),
                         'struct AParameters {\n  double a = gputopo_tuned::tuned<"src/probe/a.cpp:AParameters.a", double>(1.0 / 3);'
                         '  // why\n  std::array<int, 2> b= gputopo_tuned::tuned<"src/probe/a.cpp:AParameters.b", '
                         'std::array<int, 2>>({1, 2});\n};')

    def test_constants_are_initialized_at_run_time_and_their_uses_noted(self):
        self.assertEqual(self.copy("constexpr double kA = 2;\nint f() { return kA; }  // kA"),
                         'const double kA = gputopo_tuned::at_run_time([]() -> double { return '
                         'gputopo_tuned::tuned<"src/probe/a.cpp:kA", double>(2); });\n'
                         'int f() { return gputopo_tuned::used<"src/probe/a.cpp:kA">(kA); }  // kA')

    def test_structs_of_other_files(self):
        copy = self.copy("constexpr stats::BParameters kB{.b = 3};\nint f() { return kB.b + other.kB; }",
                         b="struct BParameters {\n  int b = 2;\n};\n")
        self.assertEqual(copy, "const stats::BParameters kB = gputopo_tuned::at_run_time([]() -> stats::BParameters "
                               "{ return stats::BParameters{.b = 3}; });\n"
                               'int f() { return gputopo_tuned::used<"src/probe/b.cpp:BParameters">(kB).b + other.kB; }')

    def test_a_constant_ends_with_its_block(self):
        copy = self.copy("int f() {\n  constexpr int kA = 3;\n  return kA;\n}\nint g(int kA) { return kA; }")
        self.assertIn("  static const int kA = ", copy)
        self.assertIn("int g(int kA) { return kA; }", copy)

    def test_constants_of_headers(self):
        header = "#pragma once\nnamespace gputopo {\ninline constexpr int kFar = 3;\n}\n"
        copies = sources.rewrite({"src/probe/a.h": header, "src/probe/b.cpp": "int f() { return probe::kFar; }\n",
                                  "src/probe/c.cpp": "constexpr int kFar = 4;\nint f() { return kFar; }\n"})[1]
        self.assertIn("inline const int kFar = ", copies["src/probe/a.h"])
        self.assertEqual(copies["src/probe/b.cpp"], 'int f() { return gputopo_tuned::used<"src/probe/a.h:kFar">(probe::kFar); }\n')
        self.assertNotIn("a.h", copies["src/probe/c.cpp"])

    def test_constants_of_headers_that_another_file_needs_at_compile_time(self):
        found, copies = sources.rewrite({"src/probe/a.h": "inline constexpr int kFar = 3;\n",
                                         "src/probe/b.cpp": "constexpr Step kSteps[] = {{1, kFar}};\n"})
        self.assertEqual([tunable.unvaried for tunable in found], ["another constant has to be known to the compiler"])
        self.assertEqual(copies, {})

    def test_constants_of_constants(self):
        copy = self.copy("constexpr double kA = 2;\nconstexpr double kB = kA / 8;\nconstexpr double kC = kB;\n"
                         "static_assert(kB < 1);\nint f() { return kB + kC; }")
        self.assertEqual(copy.count("constexpr"), 0)
        self.assertNotIn("static_assert", copy)
        self.assertIn('double>(gputopo_tuned::used<"src/probe/a.cpp:kA">(kA) / 8)', copy)

    def test_a_struct_that_stays_known_to_the_compiler_is_an_error(self):
        with self.assertRaises(sources.SourceError):
            self.copy("struct AParameters {\n  int a = 2;\n};\nconstexpr AParameters kA[] = {{}, {}};")

    def test_results_follow_the_text_of_the_source_and_its_header(self):
        texts = {"src/probe/a.h": "1", "src/probe/a.cpp": "2", "src/probe/b.cpp": "3"}
        digest = sources.digest_of(texts, "src/probe/a.h:AParameters.x")
        self.assertEqual(sources.digest_of(texts | {"src/probe/b.cpp": "4"}, "src/probe/a.h:AParameters.x"), digest)
        self.assertNotEqual(sources.digest_of(texts | {"src/probe/a.cpp": "4"}, "src/probe/a.h:AParameters.x"), digest)


def report(value, low=1.0, programs=3):
    return json.dumps({"timestamp": programs, "memory": {"l1": {"size": {"value": value, "low": low, "detail": "d"}}},
                       "links": [{"id": "x", "timing": programs, "rate": value}]})


class Comparing(unittest.TestCase):
    def outcome(self, *notes):
        return runs.Outcome(*runs.read_notes("".join("\x1e" + note for note in notes)))

    def test_order_and_evidence_do_not_matter(self):
        a = self.outcome("report\tone\n" + report(4), "verdict\tx\nright", "part\tsrc/a.h:kA\nl1.size")
        b = self.outcome("verdict\tx\nright", "report\tone\n" + report(4, programs=9))
        self.assertIsNone(runs.changes(a, b))
        self.assertEqual(a.parts, {"src/a.h:kA": "l1.size"})

    def test_the_strongest_change_comes_first(self):
        before = self.outcome("report\tone\n" + report(4), "verdict\tx\nright")
        found = runs.changes(before, self.outcome("report\tone\n" + report(5, low=2.0), "verdict\tx\nwrong"))
        self.assertEqual((found["kind"], found["count"], found["largest"]), ("verdict", 4, 0.25))
        self.assertEqual(found["examples"][0], "x.verdict: right -> wrong")
        self.assertEqual(runs.changes(before, self.outcome("report\tone\n" + report(4, low=2.0), "verdict\tx\nright"))["kind"],
                         "interval")

    def test_small_changes_of_numbers_are_none(self):
        def is_change(before, after):
            return runs.changes(runs.Outcome({"a.value": before}), runs.Outcome({"a.value": after})) is not None
        self.assertFalse(is_change(1000, 1000.9))
        self.assertTrue(is_change(1000, 1001))
        self.assertTrue(is_change(0, 0.1))
        self.assertTrue(is_change(4, None))
        self.assertFalse(is_change([1000, "a"], [1000.9, "a"]))
        self.assertTrue(is_change([1000, "a"], [1000, "b"]))
        self.assertTrue(is_change([1], [1, 2]))

    def test_a_replay_may_lack_the_answers(self):
        before, lacking = runs.Outcome({"a.detail": "x"}), runs.Outcome({"a.detail": f"{runs.NOT_RECORDED} that"})
        self.assertTrue(runs.is_unanswered(before, lacking))
        self.assertFalse(runs.is_unanswered(lacking, lacking))

    def test_a_crash_is_a_change(self):
        self.assertEqual(runs.changes(runs.Outcome({}), runs.Outcome({}, {}, "ended by signal 6"))["kind"], "failure")


class Searching(unittest.TestCase):
    """The search over a model of runs: in each case, certain variants have an effect."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "results.jsonl")
        self.tunables = [sources.Tunable(f"t{i}", "1", 1, "", f"t{i}") for i in range(40)]
        self.ran = []
        self.addCleanup(setattr, runs, "run_case", runs.run_case)

    def search(self, effects, parts, end=float("inf")):
        def run_case(case, _, variants=(), timeout=0):
            self.ran.append(variants)
            values = {"v": sorted(variant for variant in variants if variant in effects)}
            return runs.Outcome(values, parts)
        runs.run_case = run_case
        self.results = tunables.Results(self.path, {tunable.name: "text" for tunable in self.tunables})
        baselines = runs.Baselines(pathlib.Path(self.folder.name, "baselines"), None, "sources")
        return tunables.Search(self.results, baselines, end, 1)

    def test_groups_find_what_single_runs_find(self):
        parts = {tunable.name: "" for tunable in self.tunables if tunable.name != "t7"}
        search = self.search({"-t3", "+t20"}, parts)
        search.recent = [False] * 100
        search.run("wide:1", self.tunables)
        self.assertEqual(set(self.results.effects), {"t3", "t20"})
        self.assertEqual(self.results.effects["t3"]["change"], "-")
        self.assertEqual(self.results.cases_without_effect("t5"), {"wide:1"})
        self.assertLess(len(self.ran), 40)
        self.assertFalse(any("+t7" in variants for variants in self.ran))  # takes no part
        self.assertEqual(self.results.cases_without_effect("t7"), {"wide:1"})

    def test_an_interrupted_search_goes_on(self):
        parts = {tunable.name: "" for tunable in self.tunables}
        self.search({"+t3"}, parts).run("wide:1", self.tunables[:10])
        first = len(self.ran)
        with open(self.path, "a") as file:
            file.write('{"case": "wide:1", "on')
        self.search({"+t3"}, parts).run("wide:1", self.tunables[:10])
        self.assertEqual(len(self.ran), first)
        self.results = tunables.Results(self.path, {tunable.name: "text" for tunable in self.tunables} | {"t3": "new"})
        self.assertNotIn("t3", self.results.effects)
        self.assertEqual(self.results.cases_without_effect("t4"), {"wide:1"})

    def test_no_run_begins_after_the_end(self):
        self.search({}, {tunable.name: "" for tunable in self.tunables}, time.monotonic() - 1).run("wide:1", self.tunables)
        self.assertEqual(self.ran, [()])  # the baseline

    def test_a_machine_that_differs_from_run_to_run_shows_no_effect(self):
        search = self.search({"+t3"}, {tunable.name: "" for tunable in self.tunables})
        numbers = iter(range(1000))
        runs.run_case = lambda *_: runs.Outcome({"v": next(numbers)}, {tunable.name: "" for tunable in self.tunables})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            search.run("wide:1", self.tunables[:5])
        self.assertEqual(said.getvalue().count("differs from run to run"), 1)
        self.assertEqual((self.results.effects, self.results.tried), ({}, {}))

    def test_without_variants_only_those_that_take_no_part_are_known(self):
        search = self.search({"+t3"}, {tunable.name: "" for tunable in self.tunables[1:]})
        search.without_variants = True
        search.run("wide:1", self.tunables)
        self.assertEqual(self.ran, [()])
        self.assertEqual([tunable.name for tunable in self.tunables if self.results.cases_without_effect(tunable.name)],
                         ["t0"])

    def test_the_report_counts(self):
        parts = {tunable.name: "" for tunable in self.tunables[1:]}
        self.search({"+t3"}, parts).run("wide:1", self.tunables[:10])
        text = tunables.report_text(self.tunables, self.results)
        self.assertIn("40 tunables: 1 have an effect, 8 had none so far, 1 took part in none of 1 machines and tests, "
                      "30 were not yet varied where they take part", text)
        self.assertIn("     1    0  t1 = 1\n", text)
        self.assertIn("Took part nowhere:\n\n  t0 = 1\n", text)


if __name__ == "__main__":
    unittest.main()
