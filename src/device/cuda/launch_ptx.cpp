#include "device/cuda/launch_ptx.h"

#include <utility>

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

// Argument bytes of a kernel on any GPU, and from compute capability 7.0 on with a driver for CUDA 12.1 (PTX 8.1).
constexpr std::uint32_t kFewArgumentBytes = 4096;
constexpr std::uint32_t kManyArgumentBytes = 32'760;

}  // namespace

LaunchTarget launch_target(const PtxTarget& target, int driver_version) {
  constexpr int kFirstSm = 70;
  constexpr int kFirstDriver = 12010;
  if (target.sm < kFirstSm || driver_version < kFirstDriver) return {target, kFewArgumentBytes};
  PtxTarget with_many = target;
  if (std::pair(target.ptx_major, target.ptx_minor) < std::pair(8, 1)) {
    with_many.ptx_major = 8;
    with_many.ptx_minor = 1;
  }
  return {with_many, kManyArgumentBytes};
}

std::string generate_empty_ptx(const PtxTarget& target, std::uint32_t argument_bytes) {
  PtxText text(target);
  text.add(R"(
.visible .entry {name}(.param .align 8 .b8 parameters[{bytes}])
{
ret;
})",
           {{"name", kEmptyKernel}, {"bytes", argument_bytes}});
  return text.take();
}

}  // namespace gputopo::cuda
