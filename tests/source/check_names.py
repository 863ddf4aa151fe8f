#!/usr/bin/env python3
"""check_names.py [ROOT]: the sources of a folder are compiled as one, so names in their unnamed namespaces can clash.

Prints each name that two files of one unit define in an unnamed namespace, unless both are functions with different
parameters. It recognizes declarations by their layout, which clang-format determines.
"""
import collections
import pathlib
import re
import sys

# Folders that are compiled as one. A file belongs to the longest matching prefix.
UNITS = "cmake/compile_units.txt"

FUNCTION = re.compile(r"^(?:template <.*> )?(?:[\w:\[\]<>,&*\"() ]+[ &*>])?(\w+)\((.*)$")
VARIABLE = re.compile(r"^(?:inline |static |thread_local )*const(?:expr|init)? .*?(\w+)(?:\[\w*\])*(?: = .*| ?\{.*|;)$")
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)(?: |$|;)")
ALIAS = re.compile(r"^using (\w+) = ")


def parameters(text):
    """The types of the parameters in `text`, which begins after the opening parenthesis."""
    depth, part, parts = 0, "", []
    for character in text:
        if character in "(<[{":
            depth += 1
        elif character in ")>]}":
            if depth == 0:
                break
            depth -= 1
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    parts.append(part)
    types = []
    for one in parts:
        one = re.sub(r" = .*", "", one.strip())
        types.append(re.sub(r"(?<=[ &*>])\w+$", "", one).strip() if re.search(r"[ &*>]\w+$", one) else one)
    return tuple(types)


def names_of(path):
    """(namespace, name, what may differ, line) of each definition of `path` in unnamed namespaces."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda raw: '""' + "\n" * raw[0].count("\n"), text, flags=re.DOTALL)
    lines = text.splitlines()
    namespaces, unnamed, joined = [], False, ""
    for number, line in enumerate(lines, 1):
        if match := re.match(r"^namespace ([\w:]+) \{$", line):
            namespaces.append(match[1])
        elif line == "namespace {":
            unnamed = True
        elif line.startswith("}  // namespace"):
            if line.strip() == "}  // namespace" and unnamed:
                unnamed = False
            elif namespaces:
                namespaces.pop()
        elif unnamed and line and not line[0].isspace() and line[0] not in "}#/":
            joined = line
            for following in lines[number:number + 12]:
                if joined.rstrip().endswith(("{", ";", "}")) or joined.count("(") <= joined.count(")") and "(" in joined:
                    break
                joined += " " + following.strip()
            space = "::".join(namespaces)
            if match := TYPE.match(joined):
                if not joined.rstrip().endswith(";") or "{" in joined:
                    yield space, match[1], None, number
            elif match := ALIAS.match(joined):
                yield space, match[1], joined, number  # may occur twice if both are equal
            elif match := VARIABLE.match(joined):
                yield space, match[1], None, number
            elif (match := FUNCTION.match(joined)) and not re.match(r"TEST|INSTANTIATE|MATCHER|BENCHMARK|using |return", joined):
                yield space, match[1], parameters(match[2]), number


def units(root):
    """The sources of each folder that is compiled as one."""
    lines = (root / UNITS).read_text(encoding="utf-8").splitlines()
    folders = sorted((line.split()[0] for line in lines if line and not line.startswith("#")), key=len, reverse=True)
    found = collections.defaultdict(list)
    for path in sorted([*root.glob("src/**/*.cpp"), *root.glob("tests/**/*.cpp")]):
        name = path.relative_to(root).as_posix()
        folder = next((one for one in folders if name.startswith(one)), None)
        if folder:
            found[folder].append(path)
    return found


def collisions(paths):
    seen = collections.defaultdict(list)
    for path in paths:
        for space, name, types, line in names_of(path):
            seen[name].append((space, types, path, line))
    for name, places in sorted(seen.items()):
        for index, (space, types, path, line) in enumerate(places):
            for other_space, other_types, other_path, other_line in places[:index]:
                if other_path == path:
                    continue
                nested = space.startswith(other_space) or other_space.startswith(space)
                both_functions = isinstance(types, tuple) and isinstance(other_types, tuple)
                same_alias = isinstance(types, str) and types == other_types
                if nested and not same_alias and (not both_functions or types == other_types):
                    yield f"{path}:{line}: {name} is defined in {other_path}:{other_line} too"
                    break


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = [text for paths in units(root).values() for text in collisions(paths)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
