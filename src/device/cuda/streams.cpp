#include "device/cuda/streams.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/stream_ptx.h"
#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::cuda {
namespace {

// Lower bounds of the bandwidth of all GPUs that we run on, to bound the time of a launch beforehand.
constexpr double kMinMemoryBytesPerSecond = 20e9;
constexpr double kMinBytesPerSecondAndSm = 4e9;
// GPUs with at least kManySms SMs have memories that are kManySmsFactor times as fast.
constexpr std::uint32_t kManySms = 16;
constexpr double kManySmsFactor = 5;

bool in_memory(Space space) { return space != Space::kShared && space != Space::kConstant; }

double pass_seconds(const StreamProgram& program, const Streams::Layout& layout) {
  const bool memory_bound = in_memory(program.space) && layout.shape.slice_bytes == 0;
  const double least_rate = memory_bound ? kMinMemoryBytesPerSecond * (layout.sm_count >= kManySms ? kManySmsFactor : 1)
                                         : kMinBytesPerSecondAndSm * layout.sm_count;
  return static_cast<double>(layout.pass_bytes) / least_rate;
}

}  // namespace

StreamShape Streams::shape_of(const StreamProgram& program) {
  // All blocks share one constant bank, so each goes over all of it.
  const bool by_itself = program.per_block || program.space == Space::kConstant;
  return {.op = program.op,
          .space = program.space,
          .vector_bytes = program.vector_bytes,
          .loads_in_flight = program.loads_in_flight,
          .threads_per_block = program.threads_per_block,
          .slice_bytes = by_itself ? program.bytes / program.vector_bytes * program.vector_bytes : 0};
}

void Streams::check(const StreamProgram&, const StreamShape& shape) {
  if (shape.slice_bytes > UINT32_MAX / 2)
    throw UsageError("program: the array of each block must be smaller than 2 GiB");
}

Module Streams::compile(Gpu& gpu, const StreamShape& shape) {
  return gpu.compiler().module_of(generate_stream_ptx(gpu.target(), shape));
}

launch::KernelLaunch Streams::launch_of(const StreamProgram& program, const StreamShape& shape) {
  return {.threads = program.threads_per_block,
          .shared_bytes = program.space == Space::kShared ? launch::arrays_of(program) * shape.slice_bytes : 0};
}

Streams::Layout Streams::lay_out(const StreamProgram& program, const StreamShape& shape, std::uint32_t blocks,
                                 std::uint32_t sm_count) {
  Layout layout;
  layout.blocks = blocks;
  layout.shape = shape;
  layout.sm_count = sm_count;
  layout.arrays = launch::arrays_of(program);
  const std::uint64_t tile = stream_tile_bytes(shape);
  const std::uint64_t granule = program.write_span_bytes != 0 ? tile : program.vector_bytes;
  layout.footprint = shape.slice_bytes != 0 ? shape.slice_bytes * blocks : program.bytes / granule * granule;
  layout.array_bytes = in_memory(program.space) ? round_up(layout.footprint, launch::kStreamPageBytes) : 0;
  layout.tiles = layout.footprint / tile;
  layout.target_tiles = launch::target_tiles_of(program, tile, layout.tiles);
  layout.pass_bytes = layout.footprint * layout.arrays;
  layout.passes = program.repeats;
  layout.wanted_bytes = layout.passes * layout.pass_bytes;
  const double seconds = pass_seconds(program, layout);
  if (seconds > launch::kMaxLaunchSeconds) {
    throw UsageError(
        fmt::format("program: a pass over {} bytes could take {:.1f} s, but a launch is limited to {:.0f} s; "
                    "use fewer bytes",
                    layout.pass_bytes, seconds, launch::kMaxLaunchSeconds));
  }
  const std::uint64_t body_passes = shape.slice_bytes != 0 ? stream_body_passes(shape) : 1;
  layout.warm_passes = std::min<std::uint64_t>(program.repeats, body_passes);
  layout.launch_passes = std::max(body_passes, launch::launch_passes_for(seconds));
  return layout;
}

StreamParameters Streams::encode(const Layout& layout, launch::Address base, std::uint64_t texture,
                                 std::uint64_t passes) {
  const StreamShape& shape = layout.shape;
  StreamParameters parameters{
      .source = base,
      .target_delta = in_memory(shape.space) ? layout.array_bytes : shape.slice_bytes,
      .records = base + layout.records(),
      .texture = texture,
      .zero = 0,
      .never = kNever,
  };
  if (shape.slice_bytes != 0) {
    const std::uint32_t body_passes = stream_body_passes(shape);
    parameters.rounds = static_cast<std::uint32_t>(passes / body_passes);
    parameters.singles = static_cast<std::uint32_t>(passes % body_passes);
    return parameters;
  }
  const std::uint64_t tiles = layout.tiles;
  parameters.rounds = static_cast<std::uint32_t>(passes);
  parameters.tiles = static_cast<std::uint32_t>(tiles);
  parameters.visits = static_cast<std::uint32_t>(tiles * passes);
  parameters.rest_vectors =
      static_cast<std::uint32_t>(layout.footprint % stream_tile_bytes(shape) / shape.vector_bytes);
  parameters.target_tiles = static_cast<std::uint32_t>(layout.target_tiles);
  if (tiles == 0) return parameters;
  // Each time round, blocks move on to another tile. Otherwise a block would find its own tile in L1 again.
  parameters.step = static_cast<std::uint32_t>(layout.blocks % tiles);
  parameters.shift = static_cast<std::uint32_t>((layout.sm_count / 2 + 1) % tiles);
  parameters.step_shift = static_cast<std::uint32_t>(std::uint64_t{parameters.shift} * (layout.blocks / tiles) % tiles);
  return parameters;
}

}  // namespace gputopo::cuda
