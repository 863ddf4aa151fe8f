"""Copies of the project whose sources differ from it, and their builds."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_if_changed(path, content):
    """Keeps the time of an unchanged file, so that it is not compiled again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_tree(tree, sources, headers):
    """Writes a copy of all files that git knows or would add, and `headers` to src. `sources`: the texts of files that
    differ, each of which also includes the first header."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    files = [file for file in listed.split("\0") if file and (ROOT / file).is_file()]
    for file in files:
        if file in sources:
            content = f'#include "{headers[0].name}"\n{sources[file]}'.encode()
        else:
            content = (ROOT / file).read_bytes()
        write_if_changed(tree / file, content)
        os.chmod(tree / file, os.stat(ROOT / file).st_mode)
    for header in headers:
        write_if_changed(tree / "src" / header.name, header.read_bytes())
    kept = {tree / file for file in files} | {tree / "src" / header.name for header in headers}
    for path in tree.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def build(tree, folder, targets):
    """Builds targets of a copy. Its sources may cause warnings."""
    subprocess.run(["cmake", "--preset", "test", "-B", folder, "-DGPUTOPO_WERROR=OFF", "-DGPUTOPO_WARNINGS=OFF",
                    "-DGPUTOPO_BENCHMARKS=OFF", "--log-level=WARNING"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", *targets], check=True, stdout=sys.stderr)
