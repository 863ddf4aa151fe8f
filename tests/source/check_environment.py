#!/usr/bin/env python3
"""check_environment.py [ROOT]: checks that src and include read the environment only through environment_variable().

If a program has more rights than its user, getenv() trusts that user, but environment_variable()
(src/file/environment.h) does not. Names each other call under ROOT (by default this project), and calls of functions
that use getenv() themselves. Exits with 1 if there are any.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from check_limits import NOT_CODE, only_newlines

OWN_FILE = "src/file/environment.h"
CALL = re.compile(r"\b(?:getenv|secure_getenv|__secure_getenv|temp_directory_path)\b")


def violations(root):
    found = []
    for folder in ("src", "include"):
        for file in sorted((root / folder).rglob("*.[ch]*")):
            name = file.relative_to(root).as_posix()
            code = NOT_CODE.sub(only_newlines, file.read_text())
            for match in CALL.finditer(code):
                if name != OWN_FILE:
                    line = code.count("\n", 0, match.start()) + 1
                    found.append(f"{name}:{line}: {match[0]} is not used here; use environment_variable() of {OWN_FILE}")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    found = violations(root if root.is_dir() else root.parents[2])
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
