#!/usr/bin/env python3
"""Makes the wheel: the package with the shared library in it, for every Python 3 of a platform.

    python/wheel_backend.py LIBRARY FOLDER      writes FOLDER/gputopo-...whl with a library that is already built

It is also the backend of pyproject.toml (PEP 517), which builds the library first.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "gputopo"


def version() -> str:
    return re.search(r"project\(gputopo VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def platform_tag(library: bytes) -> str:
    """The tag of the oldest glibc with all required symbols (PEP 600), if the library needs nothing else."""
    machine = platform.machine()
    if b"libstdc++.so" in library:
        return f"linux_{machine}"
    newest = max(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library))
    return f"manylinux_2_{newest}_{machine}"


def metadata() -> str:
    return "\n".join(
        [
            "Metadata-Version: 2.1",
            f"Name: {NAME}",
            f"Version: {version()}",
            "Summary: Measures the memory hierarchy of a GPU",
            "License: Apache-2.0",
            "Requires-Python: >=3.9",
            "Description-Content-Type: text/markdown",
            "",
            (ROOT / "docs/library.md").read_text(),
        ]
    )


def write_wheel(library: pathlib.Path, folder: pathlib.Path) -> str:
    """Returns the name of the wheel. Equal inputs give equal bytes."""
    held = library.read_bytes()
    tag = f"py3-none-{platform_tag(held)}"
    info = f"{NAME}-{version()}.dist-info"
    package = ROOT / "python/gputopo"
    files = {f"gputopo/{path.name}": path.read_bytes() for path in [*sorted(package.glob("*.py")), package / "py.typed"]}
    files["gputopo/_lib/libgputopo.so.0"] = held
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: gputopo\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = ("".join(record) + f"{info}/RECORD,,\n").encode()
    name = f"{NAME}-{version()}-{tag}.whl"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # dated 1980, so that builds are reproducible
            entry.external_attr = (0o755 if path.endswith(".so.0") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


# ---- PEP 517 ----


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without this, pip would build a wheel only to read its metadata, and then build another one."""
    info = pathlib.Path(metadata_directory) / f"{NAME}-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata())
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as build:
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DGPUTOPO_TESTS=OFF", "-DGPUTOPO_BENCHMARKS=OFF"]
        options += ["-DGPUTOPO_FOLDERS_AT_ONCE=ON", *(["-GNinja"] if shutil.which("ninja") else [])]
        subprocess.run(["cmake", "-S", str(ROOT), "-B", build, *options], check=True)
        jobs = str(os.cpu_count() or 1)
        subprocess.run(["cmake", "--build", build, "--target", "gputopo_library", "-j", jobs], check=True)
        return write_wheel(pathlib.Path(build) / "libgputopo.so", pathlib.Path(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    """The files that git tracks, and PKG-INFO."""
    base = f"{NAME}-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        info = pathlib.Path(folder) / "PKG-INFO"
        info.write_text(metadata())
        with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
            archive.add(info, f"{base}/PKG-INFO")
            for path in filter(None, listed.decode().split("\0")):
                archive.add(ROOT / path, f"{base}/{path}", recursive=False)
    return f"{base}.tar.gz"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(write_wheel(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))


if __name__ == "__main__":
    main()
