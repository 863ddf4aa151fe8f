#include "device/launch/chase_gpu.h"

#include "gputopo/error.h"

namespace gputopo::launch {

TextureView ChaseGpu::make_texture(Address, std::uint64_t, std::uint32_t) {
  throw NotSupportedError("the kernels for this GPU cannot read textures");
}

void ChaseGpu::set_constants(Address, std::uint64_t) {
  throw NotSupportedError("the kernels for this GPU have no constant bank");
}

}  // namespace gputopo::launch
