# Of this checkout: spack repo add packaging/spack/spack_repo/gputopo && spack install gputopo
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Gputopo(CMakePackage):
    """Measures the memory hierarchy of a GPU: caches, memories and TLBs, their latencies and bandwidths. Needs the GPU's
    driver at run time, and neither CUDA nor ROCm."""

    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    variant("python", default=False, description="Also install the Python package")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("fmt", type="build")
    depends_on("spdlog", type="build")
    depends_on("boost", type="build")
    depends_on("flatbuffers@2.0.6:", type="build")
    depends_on("sqlite@3.34:")
    depends_on("zlib-api")
    extends("python@3.9:", when="+python")

    conflicts("%gcc@:11", msg="gputopo needs C++20")

    generator("ninja")

    def cmake_args(self):
        off = ["GPUTOPO_STATIC", "GPUTOPO_TESTS", "GPUTOPO_BENCHMARKS"]
        return [self.define(option, False) for option in off]

    @run_after("install", when="+python")
    def install_python_package(self):
        install_tree("python/gputopo", join_path(python_purelib, "gputopo"))

    def test_simulated_gpu(self):
        """measures a simulated GPU"""
        gputopo = which(self.prefix.bin.gputopo)
        gputopo("--quiet", "--device", "sim:a100", "--only", "l2.size")
