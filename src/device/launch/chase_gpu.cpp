#include "device/launch/chase_gpu.h"

#include "gputopo/error.h"

namespace gputopo::launch {

TextureView ChaseGpu::make_texture(Address, std::uint64_t, std::uint32_t) {
  throw NotSupportedError("this GPU's kernels read no textures");
}

void ChaseGpu::set_constants(Address, std::uint64_t) {
  throw NotSupportedError("this GPU's kernels have no bank of constants");
}

}  // namespace gputopo::launch
