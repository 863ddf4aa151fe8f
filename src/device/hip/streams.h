// The AMD part of launch::StreamRunner.
#pragma once

#include <vector>

#include "device/hip/gfx_target.h"
#include "device/hip/gpu.h"
#include "device/hip/stream_source.h"
#include "device/launch/stream_layout.h"

namespace gputopo::hip {

struct Streams {
  using Gpu = hip::Gpu;
  using Module = hip::Module;
  using Shape = StreamShape;
  using Parameters = StreamParameters;

  struct Layout : launch::StreamLayout {
    std::uint64_t slice_bytes = 0;  // of each block's own slice; 0: all share one array
    std::uint64_t tiles = 1;
    std::uint64_t target_tiles = 1;
    std::uint32_t threads = kWavefront;
    std::uint32_t wrap = 0;
    std::uint32_t shift = 0;
  };

  [[nodiscard]] static Shape shape_of(const StreamProgram& program);
  static void check(const StreamProgram& program, const Shape& shape);
  [[nodiscard]] static Module compile(const Gpu& gpu, const Shape& shape);
  [[nodiscard]] static launch::KernelLaunch launch_of(const StreamProgram& program, const Shape& shape);
  [[nodiscard]] static Layout lay_out(const StreamProgram& program, const Shape& shape, std::uint32_t blocks,
                                      std::uint32_t sm_count);
  [[nodiscard]] static Parameters encode(const Layout& layout, launch::Address base, std::uint64_t texture,
                                         std::uint64_t passes);
  [[nodiscard]] static std::vector<void*> arguments(Parameters& parameters);
};

}  // namespace gputopo::hip
