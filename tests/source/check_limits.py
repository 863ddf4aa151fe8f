#!/usr/bin/env python3
"""check_limits.py BUILD-FOLDER: which files and functions of src and include are longer or more tangled than they may be.

A file has at most 400 lines; a function at most 60, and a cognitive complexity of at most 20. Functions are judged by
clang-tidy (the figures are in .clang-tidy; BUILD-FOLDER has the compile_commands.json), which takes a second or two for
each file. So it sees only files that may hold such a function: from the text alone follows a bound that no function in
them can exceed (most_complex, longest). `./dev lint` asks clang-tidy about all files.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_COMPLEXITY = 20
GROUPS = 2  # of files; each group reads the common headers, which takes most of the time
CHECKS = "readability-function-cognitive-complexity,readability-function-size"

RAW_STRING = re.compile(r'R"(\w*)\((.*?)\)\1"', re.DOTALL)
NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# Nesting statements, which count one plus their nesting; lambdas, which only nest; and the rest, which counts one.
FLOW = re.compile(r"(?P<nests>\b(?:if|for|while|do|switch|catch|goto)\b|\?)|(?P<lambda>\][ ]*[({])|\belse\b|&&|\|\|")

# The start of a class, which may have member functions, and a line of its direct members.
CLASS = re.compile(r"(?:class|struct|union)\b[^;()]*\{$")
MEMBER = re.compile(r"  [^\s}]")

# The end of a line whose statement continues.
CONTINUES = re.compile(r"[,(+\-*/=|&<]$")


def only_newlines(match):
    return "\n" * match.group().count("\n")


def blocks(text):
    """The lines of code up to the end of each function, class or declaration, without empty lines before them. Each
    function is within one block, which may have several. A function ends with a brace in the first column, or in the
    column of class members; clang-format, which CI enforces, allows no other place."""
    text = RAW_STRING.sub(lambda match: only_newlines(match) + "\t", text)  # the code after it begins no line
    text = NOT_CODE.sub(only_newlines, text)
    text = DIRECTIVE.sub(only_newlines, text)
    block = []
    in_class = is_open = False
    for line in map(str.rstrip, text.split("\n")):
        if block or line:
            block.append(line)
        in_class = in_class or bool(CLASS.match(line))
        is_open = is_open or (line.endswith("{") and not line.startswith("namespace"))
        declares = line.endswith(";") and (MEMBER.match(line) if in_class else not is_open)
        if line.startswith("}") or (in_class and line.startswith("  }")) or declares:
            yield block
            block = []
            is_open = False
        if line.startswith("}"):
            in_class = False
    yield block


def complexity_bound(block):
    """An upper bound of the cognitive complexity of every function in the block. A nesting statement is indented by at
    least two columns for each enclosing one, unless they are parts of one statement. Then it counts as if within all of
    the statement before it."""
    total = depth = 0
    before = ""
    for line in block:
        code = line.strip()
        if not code:
            continue
        if not (CONTINUES.search(before) or code[0] in "?:"):
            indent = len(line) - len(line.lstrip())
            depth = max(indent // 2 - 1, 0)  # two columns mean directly in a function
        for match in FLOW.finditer(code):
            if not match["lambda"]:
                total += 1 + depth if match["nests"] else 1
            depth += 1 if match["nests"] or match["lambda"] else 0
        before = code
    return total


def most_complex(text):
    return max(complexity_bound(block) for block in blocks(text))


def longest(text):
    return max(len(block) for block in blocks(text))


def may_exceed(text):
    return most_complex(text) > MAX_COMPLEXITY or longest(text) > MAX_FUNCTION_LINES


def run_clang_tidy(build, file):
    """The findings of clang-tidy in a file and its includes, and whether it could read the file."""
    command = ["clang-tidy", "-p", build, "--quiet", f"--checks=-*,{CHECKS}", str(file)]
    result = subprocess.run(command, capture_output=True, text=True)
    found = re.findall(r"^.*\b(?:warning|error|note): .*$", result.stdout, re.MULTILINE)
    is_read = not any(re.search(r"\berror: .*\[clang-diagnostic-error\]", line) for line in found)
    if result.returncode != 0 and not found:
        return [f"{file}: clang-tidy failed: {result.stdout}{result.stderr}"], False
    return found, is_read


def clang_tidy(build, files):
    """The findings of clang-tidy in these files. Most of its time goes to common headers, so it reads the files as one, or
    separately if two of them conflict."""
    if len(files) > 1:
        entry = json.loads(pathlib.Path(build, "compile_commands.json").read_text())[0]
        with tempfile.TemporaryDirectory() as folder:
            together = pathlib.Path(folder, "together.cpp")
            together.write_text("".join(f'#include "{file.resolve()}"\n' for file in files))
            entry |= {"file": str(together), "command": entry["command"].replace(entry["file"], str(together))}
            pathlib.Path(folder, "compile_commands.json").write_text(json.dumps([entry]))
            shutil.copy(".clang-tidy", folder)
            found, is_read = run_clang_tidy(folder, together)
        if is_read:
            return found
    return [line for file in files for line in run_clang_tidy(build, file)[0]]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    os.chdir(root)
    files = sorted(file for folder in ("src", "include") for file in pathlib.Path(folder).rglob("*.[ch]*"))
    texts = {file: file.read_text() for file in files}
    found = []
    for file, text in texts.items():
        lines = text.count("\n")
        if lines > MAX_FILE_LINES:
            found.append(f"{file}: {lines} lines, {MAX_FILE_LINES} are allowed")
    candidates = [file for file, text in texts.items() if may_exceed(text)]
    # Adjacent files often define the same names, so they go to different groups.
    groups = [candidates[i::GROUPS] for i in range(min(GROUPS, len(candidates)))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda files: clang_tidy(sys.argv[1], files), groups):
            found += lines
    # A function in a header is found from every file that includes it.
    found = list(dict.fromkeys(line.replace(f"{root}/", "") for line in found))
    for line in found:
        print(line)
    over = sum("note:" not in line for line in found)
    print(f"limits: {len(files)} files, {len(candidates)} of them read by clang-tidy: {over} over a limit")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
