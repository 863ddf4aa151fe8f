#!/usr/bin/env python3
"""Tests of the checks of the source tree, on literals."""
import contextlib
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_environment
import check_includes
import check_limits
import check_names
import check_throwing_calls
import texts


class Includes(unittest.TestCase):
    def violations(self, **files):
        """The violations of a project with these files; src_probe_size_cpp="..." is src/probe/size.cpp."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                file = root / name.replace("_h", ".h").replace("_cpp", ".cpp").replace("_", "/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check_includes.violations(root)

    def test_arrows_of_the_table(self):
        self.assertEqual(self.violations(
            src_cli_a_cpp='#include "gputopo/discover.h"\n#include "report/b.h"\n',
            src_report_b_h='#include <vector>\n#include "gputopo/model.h"\n',
            src_probe_c_cpp='#include "gputopo/device.h"\n#include "gputopo/program/chase.h"\n#include "stats/d.h"\n',
            src_stats_d_h='// #include "probe/bench/probe_runner.h"\n',
            include_gputopo_discover_h='#include "gputopo/device.h"\n',
            include_gputopo_device_h='#include "gputopo/program.h"\n',
            include_gputopo_program_h='#include "gputopo/program/chase.h"\n',
            include_gputopo_program_chase_h="", include_gputopo_model_h=""), [])

    def test_arrows_back(self):
        found = self.violations(
            src_probe_a_cpp='#include "gputopo/discover.h"\n #  include "device/sim/b.h"\n', src_device_sim_b_h="",
            src_report_c_cpp='#include "gputopo/device.h"\n', src_model_d_h='#include "stats/e.h"\n', src_stats_e_h="",
            include_gputopo_discover_h="", include_gputopo_device_h='#include "model/d.h"\n')
        self.assertEqual([line.split(": ")[1] for line in found], [
            "model may not include stats/e.h", "probe may not include gputopo/discover.h",
            "probe may not include device/sim/b.h", "report may not include gputopo/device.h",
            "device may not include model/d.h"])

    def test_folders_of_a_layer(self):
        self.assertEqual(self.violations(
            src_probe_capacity_a_cpp='#include "probe/survey/b.h"\n#include "probe/capacity/c.h"\n',
            src_probe_survey_b_h='#include "probe/bench/d.h"\n', src_probe_capacity_c_h="", src_probe_bench_d_h="",
            src_report_e_cpp='#include "report/json/f.h"\n', src_report_json_f_h=""), [])
        found = self.violations(
            src_probe_survey_a_cpp='#include "probe/capacity/b.h"\n', src_probe_capacity_b_h="",
            src_report_words_c_cpp='#include "report/d.h"\n', src_report_d_h="",
            src_probe_colour_e_cpp='#include "probe/capacity/b.h"\n')
        self.assertEqual([line.split(": ")[1] for line in found], [
            "probe/colour may not include probe/capacity/b.h", "probe/survey may not include probe/capacity/b.h",
            "report/words may not include report/d.h"])

    def test_what_the_table_does_not_know(self):
        found = self.violations(src_colour_a_cpp="", src_model_b_cpp='#include "c.h"\n')
        self.assertEqual(len(found), 2)
        self.assertIn("no layer colour", found[0])
        self.assertIn("c.h is neither", found[1])


class Texts(unittest.TestCase):
    def texts(self, name, source):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.write_text(source)
            return [(line, text) for line, text in texts.texts_of(path) if texts.is_text(text)]

    def test_adjacent_literals_are_one_text(self):
        self.assertEqual(self.texts("a.cpp", 'f("l2.size");  // "no text"\nf("one text "\n  "on two lines", \'"\');\n'),
                         [(2, "one text on two lines")])
        self.assertEqual(self.texts("a.py", 'print(f"one {text}")  # "no text"\n'), [(1, "one {text}")])

    def test_device_code_is_none(self):
        self.assertEqual(self.texts("a.cpp", 'f("mov.u32 %a, %b;\\n", R"(  ld.global.u32 %r, [%a];\n)");'), [])

    def test_rules(self):
        self.assertEqual(len(texts.violations("failed: Of a name that there is not the error is not told")), 3)
        self.assertEqual(texts.violations("the driver does not report it. Most of the cache is used"), [])


class Names(unittest.TestCase):
    def collisions(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for index, text in enumerate(texts):
                paths.append(pathlib.Path(folder, f"{index}.cpp"))
                paths[-1].write_text("namespace gputopo {\nnamespace {\n" + text + "\n}  // namespace\n}  // namespace gputopo\n")
            return [line.split(": ")[1].split(" ")[0] for line in check_names.collisions(paths)]

    def test_one_name_in_two_files(self):
        self.assertEqual(self.collisions("constexpr int kA = 1;", "constexpr double kA = 2;"), ["kA"])
        self.assertEqual(self.collisions("struct A {\n};", "enum class A : int { kB };"), ["A"])
        self.assertEqual(self.collisions("int f(const B& b) { return 1; }", "int f(const B& other) {\n  return 2;\n}"), ["f"])
        self.assertEqual(self.collisions("int f(int a,\n      int b) {\n  return 1;\n}", "int f(int a, int b) { return 2; }"), ["f"])
        self.assertEqual(self.collisions("using A = B;", "using A = C;"), ["A"])
        self.assertEqual(self.collisions("int f() { return 1; }", "constexpr int f = 1;"), ["f"])

    def test_what_goes_together(self):
        self.assertEqual(self.collisions("int f(int a) { return 1; }", "int f(double a) { return 1; }"), [])
        self.assertEqual(self.collisions("using Json = nlohmann::json;", "using Json = nlohmann::json;"), [])
        self.assertEqual(self.collisions('constexpr auto kA = R"x(\nint f() {\n)x";', "int f() {\n  return 1;\n}"), [])
        self.assertEqual(self.collisions("struct A;", "struct A;"), [])


class ThrowingCalls(unittest.TestCase):
    def found(self, text):
        return [call for _, call in check_throwing_calls.throwing_calls(text)]

    def test_an_error_code_is_asked_for(self):
        self.assertEqual(self.found("if (fs::exists(path)) fs::remove_all(path_ / name(3));"),
                         ["fs::exists(path)", "fs::remove_all(path_ / name(3))"])
        self.assertEqual(self.found("fs::exists(path, ignored); fs::is_directory(status);"), [])

    def test_a_range_over_a_folder_throws_in_any_case(self):
        self.assertEqual(len(self.found("for (const auto& entry : fs::directory_iterator(folder, ignored)) {")), 1)
        self.assertEqual(self.found("for (fs::directory_iterator i(folder, error), end; i != end; i.increment(error)) {"), [])

    def test_texts_that_are_no_numbers(self):
        self.assertEqual(self.found("int a = std::stoi(text);"), ["std::stoi("])


class Environment(unittest.TestCase):
    def test_one_file_alone_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/file").mkdir(parents=True)
            (root / "src/file/environment.h").write_text('return ::secure_getenv(name);\n')
            (root / "src/file/a.cpp").write_text(
                '// getenv() is unsafe.\n#include <cstdlib>\nauto a = std::getenv("A");\nauto b = "getenv";\n'
                'auto c = ::secure_getenv("C"), d = fs::temp_directory_path();\nauto e = environment_variable("E");\n')
            self.assertEqual([line.split(" is ")[0] for line in check_environment.violations(root)], [
                "src/file/a.cpp:3: getenv", "src/file/a.cpp:5: secure_getenv", "src/file/a.cpp:5: temp_directory_path"])


class Limits(unittest.TestCase):
    def test_what_nests_counts_by_its_depth(self):
        text = """int f(int a) {
  if (a > 0 && a < 9) {
    for (;;) {
      while (a) ++a;
    }
  } else {
    return a ? 1 : 2;
  }
}
"""
        self.assertEqual(check_limits.most_complex(text), (1 + 1) + 2 + 3 + 1 + 2)

    def test_nesting_within_a_line(self):
        self.assertEqual(check_limits.most_complex("void f() {\n  if (a) for (;;) b ? c : d;\n}\n"), 1 + 2 + 3)
        self.assertEqual(check_limits.most_complex("void f() {\n  g([&](int i) { return i ? 1 : 2; });\n}\n"), 2)
        self.assertEqual(check_limits.most_complex("void f() {\n  g([] { if (a) b(); });\n}\n"), 2)

    def test_statements_of_several_lines(self):
        aligned = """void f() {
  if (a) {
    g(a,
                    b ? 1 : 2,
                    [&] {
                      return c ? 1 : 2;
                    });
    h = a   ? 1
        : b ? 2
            : 3;
  }
}
"""
        lambdas = 1 + (22 // 2 - 1)  # by its indentation, which is deeper than necessary
        self.assertEqual(check_limits.most_complex(aligned), 1 + 2 + lambdas + 2 + 3)

    def test_what_is_not_code_does_not_count(self):
        text = """// if this, for that
#define WHEN(a) \\
  if (a) b()
void f() {
  g("if (a) \\" while", '?');  /* goto
  if */
  h(R"X(
}
if (a) while (b)
)X");
}
"""
        self.assertEqual(check_limits.most_complex(text), 0)
        self.assertEqual(check_limits.longest(text), 8)

    def test_functions_count_each_for_itself(self):
        function = "void f() {\n" + "  if (a) b();\n" * 20 + "}\n"
        self.assertEqual(check_limits.most_complex(3 * function), 20)
        self.assertEqual(check_limits.longest(3 * function), 22)
        self.assertFalse(check_limits.may_exceed(3 * function))

    def test_members_count_each_for_itself(self):
        member = "  void f() {  // of it\n" + "    if (a) b();\n" * 10 + "  }\n"
        text = "class C : public B {\n public:\n" + 3 * member + "  int x;\n};\n"
        self.assertEqual(check_limits.most_complex(text), 10 * (1 + 1))  # counted one level too deep
        self.assertEqual(check_limits.longest(text), 2 + 12)
        raw = "class C {\n  void f() {\n    g(R\"(\nx\n)\" + y;\n" + "    if (a) b();\n" * 10 + "  }\n};\n"
        self.assertEqual(check_limits.longest(raw), 16)  # code after a raw string is no member
        local = "void f() {\n" + "  struct C {\n    int x;\n  };\n" + "  if (a) b();\n" * 20 + "}\n"
        self.assertEqual(check_limits.longest(local), 25)
        self.assertEqual(check_limits.most_complex(local), 20)

    def test_declarations_are_no_lines_of_functions(self):
        text = "namespace n {\n\nconstexpr char kText[] = R\"(\n" + "if (a)\n" * 50 + ")\";\n\n" + \
               "int f() {\n  return g(R\"(\n" + "}\nx;\n" * 20 + ")\");\n}\n\n}\n"
        self.assertEqual(check_limits.longest(text), 2 + 52)
        self.assertEqual(check_limits.longest(text[text.index("int f"):]), 2 + 40 + 2)

    def test_what_clang_tidy_has_to_read(self):
        self.assertTrue(check_limits.may_exceed("void f() {\n" + "  if (a) b();\n" * 26 + "}\n"))
        self.assertTrue(check_limits.may_exceed("void f() {\n" + "  b();\n" * 81 + "}\n"))


if __name__ == "__main__":
    unittest.main()
