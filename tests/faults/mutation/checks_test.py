#!/usr/bin/env python3
"""Tests on literals that the checks of hostile outputs detect problems."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from mutation import checks
from mutation.payloads import MARKER


class Checks(unittest.TestCase):
    def finds(self, check, *hostile, harmless=()):
        for data in hostile:
            self.assertTrue(list(check(data, "output")), data)
        for data in harmless:
            self.assertEqual(list(check(data, "output")), [], data)

    def test_visible(self):
        self.finds(checks.visible, b"\x1b[31m", b"a\rb", b"\x7f", "\x9b".encode(), "\u202e".encode(), b"\xff", b"\x9b", b"a\0b",
                   harmless=[b"plain\n\ttext", "\u00b5s \u2265 \U0001f600".encode()])

    def test_messages(self):
        self.finds(lambda data, _: checks.messages(data), b"terminate called after throwing an instance of 'std::bad_alloc'\n",
                   b"gputopo: error: [json.exception.type_error.302] type must be number\n", b"gputopo: error: map::at\n",
                   b"gputopo: error: \x1b[2J\n", b"gputopo: error: two\nlines\n", b"gputopo: warning: x\n" * 100,
                   b"gputopo: error: stoi\n", b"gputopo: error: filesystem error: cannot get status\n",
                   b"gputopo: " + b"x" * 10000, harmless=[b"", b"gputopo: error: the file is none of gputopo's; give a store\n"])

    def test_pages(self):
        pages = checks.Pages()
        pages.learn(b'<!DOCTYPE html><meta charset=utf-8><p class="a">x</p><a href="#x">y</a><script>own()</script>'
                    b'<script type="application/json">{"a":1}</script><style>p{}</style><svg><title>t</title></svg>')
        harmless = (f'<p class="a" title="onerror={MARKER}">&lt;script&gt;{MARKER}()</p><script>own()</script>'
                    f'<script type="application/json">["{MARKER}"]</script>').encode()
        hostile = [f"<script>{MARKER}()</script>", f"<p onclick={MARKER}()>", f"<img src=x onerror={MARKER}()>", f"<{MARKER}-tag>",
                   f'<a href="java\nscript:{MARKER}()">', "<a href=javascript:x>", "<script>other()</script>", f"<!--{MARKER}-->",
                   f"<style>{MARKER}</style>", f'<script type="application/json">{{</script>', f'<p style="{MARKER}">', "<iframe>", "\x1b"]
        self.finds(pages.check, *[text.encode() for text in hostile], harmless=[harmless])
        self.finds(pages.check_xml, b"<p>", b"<p>&nbsp;</p>", harmless=[b"<p>x</p>"])

    def test_json(self):
        self.finds(checks.is_json, b"{", b"[NaN]", b"[Infinity]", b'"\xff"', b"[" * 100000, harmless=[b"[1e300, null]"])

    def test_csv(self):
        self.finds(checks.is_csv, b"a,b\n=1,2\n", b"a,b\n@x,2\n", b'a,b\n"\t=1",2\n', f"a\n+{MARKER}\n".encode(), b"a,b\n1\n", b"a\n\x1b\n",
                   harmless=[b"a,b\r\n-1,+2\r\n'=1,\"x\"\"y\"\n"])

    def test_prometheus(self):
        self.finds(checks.is_prometheus, b"a 1", b"a{b=\"c\nd\"} 1\n", b"a{b=\"\"c\"} 1\n", b"a 1\na 2\n", b"1a 1\n", b"a x\n", b"a-b 1\n",
                   b"# TYPE a\n", harmless=[b'# note: any\n# HELP a b\n# TYPE a gauge\na{b="c\\n\\"\\\\",d=""} 1e-5\na{b="x"} NaN\n'])

    def test_markdown(self):
        self.finds(checks.is_markdown, f"<b {MARKER}>".encode(), f"[x](javascript:{MARKER})".encode(), f"x\n|{MARKER}|\n".encode(),
                   harmless=[f"## {MARKER}\n| {MARKER} |\n&lt;{MARKER}&gt; \\[x\\](y:{MARKER}) \\# {MARKER}".encode()])

    def test_shell(self):
        self.finds(checks.is_shell, f"a '{MARKER}\n".encode(), f"a ''; {MARKER}; ''\n".encode(), f'a "$({MARKER})"\n'.encode(),
                   harmless=[f"# {MARKER}\na '; {MARKER}' '$({MARKER})' ''\\''; {MARKER}'\n".encode()])

    def test_latex(self):
        self.finds(checks.is_latex, f"\\{MARKER}{{}}".encode(), b"\\input{/etc/passwd}", f"\\\\\\{MARKER}".encode(),
                   harmless=[f"\\textbackslash{{}}{MARKER} {MARKER}\\\\".encode()])

    def test_lines(self):
        self.finds(checks.is_lines, f"-a 1\n{MARKER}\n".encode(), harmless=[f"# {MARKER}\n-a 1\n".encode()])


if __name__ == "__main__":
    unittest.main()
