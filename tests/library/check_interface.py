#!/usr/bin/env python3
"""check_interface.py LIBRARY SYMBOLS.txt [CC]: checks the interface of the shared library.

It must export exactly the symbols of SYMBOLS.txt and gputopo.h, with the version GPUTOPO_0. Its soname must be
libgputopo.so.0. It may need only glibc, of at most 2.34. Its note must name the drivers that it opens at run time. If abidiff is installed, compares the types of gputopo.h with interface.abi beside SYMBOLS.txt;
GPUTOPO_UPDATE_ABI=1 rewrites that file. Exits with 1 and names violations.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/gputopo/gputopo.h"
GLIBC = re.compile(r"(libc|libm|libdl|libpthread|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+")
NEWEST_GLIBC = 34  # 2.34, of RHEL 9


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    names = [line.split()[-1] for line in output_of("nm", "-D", "--defined-only", library).splitlines()]
    return sorted(name for name in names if name != "GPUTOPO_0")


def dlopen_note(library):
    """The parts of the note .note.dlopen, which begins with three sizes and a name."""
    dump = output_of("readelf", "--hex-dump=.note.dlopen", library)
    held = bytes.fromhex("".join("".join(line.split()[1:-1][:4]) for line in dump.splitlines() if line.startswith("  0x")))
    name_bytes, text_bytes, kind = struct.unpack_from("<III", held)
    begin = 12 + (name_bytes + 3) // 4 * 4
    return kind, held[12 : 12 + name_bytes].rstrip(b"\0"), json.loads(held[begin : begin + text_bytes].rstrip(b"\0"))


def problems(library, expected):
    found = exported(library)
    listed = [line for line in expected.read_text().splitlines() if line and not line.startswith("#")]
    for name in sorted(set(found) ^ {f"{name}@@GPUTOPO_0" for name in listed}):
        yield f"{name}: {'not in ' + expected.name if name in found else 'not exported'}"
    declared = set(re.findall(r"^GPUTOPO_API .*?\b(gputopo_\w+)\(", HEADER.read_text(), re.MULTILINE))
    for name in sorted(declared ^ set(listed)):
        yield f"{name}: {'not in ' + expected.name if name in declared else 'not declared in gputopo.h'}"
    dynamic = output_of("objdump", "-p", library)
    if "SONAME               libgputopo.so.0\n" not in dynamic:
        yield "its soname is not libgputopo.so.0"
    for needed in re.findall(r"NEEDED\s+(\S+)", dynamic):
        if not GLIBC.fullmatch(needed):
            yield f"it needs {needed}"
    for minor in {int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", output_of("objdump", "-T", library))}:
        if minor > NEWEST_GLIBC:
            yield f"it needs glibc 2.{minor}"
    kind, vendor, entries = dlopen_note(library)
    if (kind, vendor) != (0x407C0C0A, b"FDO"):
        yield f".note.dlopen is of type {kind:#x} and of {vendor}"
    sonames = {soname for entry in entries for soname in entry["soname"]}
    for soname in {"libcuda.so.1", "libamdhip64.so.6", "libnvidia-ml.so.1"} - sonames:
        yield f".note.dlopen has no {soname}"


def compare_types(expected, compiler):
    """Compares with a library compiled from the header alone, which has a pointer to each function and, unlike the real
    library, debug information."""
    if shutil.which("abidiff") is None:
        if skips := os.environ.get("GPUTOPO_SKIPS"):
            with open(skips, "a") as file:
                file.write("library.interface.types\tabidiff is not installed (Debian: abigail-tools)\n")
        return
    baseline = expected.parent / "interface.abi"
    names = [line for line in expected.read_text().splitlines() if line and not line.startswith("#")]
    pointers = "".join(f"__typeof__({name})* type_of_{name};\n" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        library, found = f"{folder}/interface.so", f"{folder}/interface.abi"
        command = [compiler, "-x", "c", "-", "-g", "-shared", "-fPIC", f"-I{HEADER.parents[1]}", "-o", library]
        subprocess.run(command, check=True, text=True, input=f"#include <gputopo/gputopo.h>\n{pointers}")
        plain = ["--no-comp-dir-path", "--no-corpus-path", "--no-show-locs", "--no-architecture", "--no-elf-needed"]
        subprocess.run(["abidw", *plain, library, "--out-file", found], check=True)
        if os.environ.get("GPUTOPO_UPDATE_ABI") == "1":
            shutil.copy(found, baseline)
        done = subprocess.run(["abidiff", "--no-added-syms", str(baseline), found], capture_output=True, text=True)
    if done.returncode != 0:
        yield f"abidiff: {done.stdout}{done.stderr}"


def main():
    library, expected = sys.argv[1], pathlib.Path(sys.argv[2])
    found = [*problems(library, expected), *compare_types(expected, sys.argv[3] if len(sys.argv) > 3 else "cc")]
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
