// The NVIDIA part of launch::StreamRunner.
#pragma once

#include <vector>

#include "device/cuda/gpu.h"
#include "device/cuda/stream_ptx.h"
#include "device/launch/stream_layout.h"

namespace gputopo::cuda {

struct Streams {
  using Gpu = cuda::Gpu;
  using Module = cuda::Module;
  using Shape = StreamShape;
  using Parameters = StreamParameters;

  struct Layout : launch::StreamLayout {
    StreamShape shape;
    std::uint64_t tiles = 0;         // of the array that all blocks share
    std::uint64_t target_tiles = 0;  // copy
    std::uint32_t sm_count = 1;
  };

  [[nodiscard]] static Shape shape_of(const StreamProgram& program);
  static void check(const StreamProgram& program, const Shape& shape);
  [[nodiscard]] static Module compile(Gpu& gpu, const Shape& shape);
  [[nodiscard]] static launch::KernelLaunch launch_of(const StreamProgram& program, const Shape& shape);
  [[nodiscard]] static Layout lay_out(const StreamProgram& program, const Shape& shape, std::uint32_t blocks,
                                      std::uint32_t sm_count);
  [[nodiscard]] static Parameters encode(const Layout& layout, launch::Address base, std::uint64_t texture,
                                         std::uint64_t passes);
  [[nodiscard]] static std::vector<void*> arguments(Parameters& parameters) { return {&parameters}; }
};

}  // namespace gputopo::cuda
