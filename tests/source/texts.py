#!/usr/bin/env python3
"""texts.py [--check] [ROOT]: the texts that gputopo shows to its users, as "FILE:LINE: TEXT" lines.

A text is a string literal of two or more words in src, include, web/src, python or packaging that is not device code
or a shell script. Adjacent literals are one text. With --check, it prints only the texts that break a rule of "Plain
English" in HACKING.md that a program can recognize, and fails if there are any.
"""
import pathlib
import re
import sys

SOURCES = ["src/**/*.cpp", "src/**/*.h", "include/**/*.h", "include/**/*.def", "web/src/*.js"]
SCRIPTS = ["python/gputopo/*.py", "packaging/**/*.sh", "packaging/**/*.sbatch"]

# Comments, raw strings, strings and characters, in the order in which a lexer looks for them.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"
    |'(?P<single>(?:[^'\\\n]|\\.)*)'|`(?P<template>(?:[^`\\]|\\.)*)`""",
    re.DOTALL | re.VERBOSE,
)
SCRIPT_TEXT = re.compile(r'(?P<comment>(?<!\S)#[^\n]*)|"""(?P<raw>.*?)"""|f?"(?P<text>(?:[^"\\\n]|\\.)*)"', re.DOTALL)
CODE = re.compile(
    r";\s*(?:\\n|\n|$)|__\w+|\basm\b|^\s*#|^\s*(?:if|for) \(|[{}]\s*\\n|\$\{|%\w|\\t|^\s*\.\w+ |^[@.$]|compgen|=\"|</|:: "
)

# Openings and phrases that "Plain English" forbids.
FORBIDDEN = [
    (re.compile(r"(?:^|[.:;!?] )(?:Of|Else) [a-z]"), "begins with a preposition that belongs to a later noun"),
    (re.compile(r"\b(?:is|are|was|were|be|been) (?:not )?told\b(?! apart)|\bnobody (?:said|says)\b"), "use: reported, known"),
    (re.compile(r"\b(?:that|which) there (?:is|are) (?:not|no)\b|\bthere is none\b"), "say what is missing"),
    (re.compile(r"\bforetell"), "use: predict"),
]


def texts_of(path):
    """(line, text) of each text in `path`."""
    source = path.read_text(encoding="utf-8")
    pattern = TOKEN if path.suffix in (".cpp", ".h", ".def", ".js") else SCRIPT_TEXT
    joined, start, end = None, 0, 0
    for match in pattern.finditer(source):
        if match["comment"] is not None:
            continue
        text = next((found for name, found in match.groupdict().items() if name not in ("comment", "mark") and found), "")
        if joined is not None and source[end:match.start()].strip() == "" and path.suffix != ".js":
            joined += text
        else:
            if joined is not None:
                yield start, joined
            joined, start = text, source.count("\n", 0, match.start()) + 1
        end = match.end()
    if joined is not None:
        yield start, joined


def is_text(text):
    words = re.findall(r"[A-Za-z]{2,}", text)
    return len(words) >= 2 and " " in text.strip() and not CODE.search(text)


def violations(text):
    """What is wrong with `text`."""
    return [advice for forbidden, advice in FORBIDDEN if forbidden.search(text)]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2])
    checks, failed = "--check" in sys.argv, False
    paths = [path for pattern in SOURCES + SCRIPTS for path in sorted(root.glob(pattern)) if path.name != "echarts.js"]
    for path in paths:
        for line, text in texts_of(path):
            if not is_text(text):
                continue
            found = violations(text) if checks else [""]
            for advice in found:
                print(f"{path.relative_to(root)}:{line}: {advice}{': ' if advice else ''}" + text.replace("\n", "\\n"))
            failed = failed or (checks and bool(found))
    return failed


if __name__ == "__main__":
    sys.exit(main())
