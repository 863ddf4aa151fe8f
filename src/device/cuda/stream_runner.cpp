#include "device/cuda/stream_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "device/launch/stream_span.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

// Bandwidths that no GPU we run on stays below, to bound the time of a launch beforehand.
constexpr double kLeastMemoryBytesPerSecond = 20e9;
constexpr double kLeastBytesPerSecondAndSm = 4e9;
// Launches are split to stay well under the two seconds that one may last.
constexpr double kWantedLaunchSeconds = 1.0;
constexpr double kMaxLaunchSeconds = 2.0;

std::uint64_t align(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

StreamShape shape_of(const StreamProgram& program) {
  // The constant bank is one for all blocks, so each goes over the whole of it by itself.
  const bool by_itself = program.per_block || program.space == Space::kConstant;
  return {.op = program.op,
          .space = program.space,
          .vector_bytes = program.vector_bytes,
          .loads_in_flight = program.loads_in_flight,
          .threads_per_block = program.threads_per_block,
          .slice_bytes = by_itself ? program.bytes / program.vector_bytes * program.vector_bytes : 0};
}

const Module& StreamRunner::module_of(const StreamShape& shape) {
  const auto found = modules_.find(shape);
  if (found != modules_.end()) return found->second;
  return modules_.emplace(shape, Module(gpu_.driver(), generate_stream_ptx(gpu_.target(), shape))).first->second;
}

ProgramResult StreamRunner::run(const StreamProgram& program) {
  const StreamShape shape = shape_of(program);
  const std::uint64_t arrays = program.op == StreamOp::kCopy ? 2 : 1;
  const bool in_memory = program.space != Space::kShared && program.space != Space::kConstant;
  if (shape.slice_bytes > UINT32_MAX / 2) throw UsageError("program: bytes of each block must be under 2 GiB");

  const FunctionHandle function = module_of(shape).function("stream");
  Launch launch{.threads = program.threads_per_block,
                .shared_bytes = program.space == Space::kShared ? arrays * shape.slice_bytes : 0};
  launch.carve_out_bytes =
      gpu_.carve_out_for(program.shared_carve_out_bytes, launch.shared_bytes, program.blocks_per_sm);
  launch.blocks = gpu_.info().sm_count * gpu_.resident_blocks(function, launch, program.blocks_per_sm);

  // What one pass moves, and how many passes a launch makes.
  const std::uint64_t tile = stream_tile_bytes(shape);
  const std::uint64_t granule = program.write_span_bytes != 0 ? tile : program.vector_bytes;
  const std::uint64_t footprint =
      shape.slice_bytes != 0 ? shape.slice_bytes * launch.blocks : program.bytes / granule * granule;
  const std::uint64_t tiles = footprint / tile;  // of an array that all blocks share
  const std::uint64_t target_tiles = launch::target_tiles_of(program, tile, tiles);
  const std::uint64_t pass_bytes = footprint * arrays;
  const double least_rate = in_memory && shape.slice_bytes == 0
                                ? kLeastMemoryBytesPerSecond * (gpu_.info().sm_count >= 16 ? 5 : 1)
                                : kLeastBytesPerSecondAndSm * gpu_.info().sm_count;
  const double pass_seconds = static_cast<double>(pass_bytes) / least_rate;
  if (pass_seconds > kMaxLaunchSeconds) {
    throw UsageError(
        fmt::format("program: a pass over {} bytes may take {:.1f} s, and a launch may last {:.0f} s; use fewer bytes",
                    pass_bytes, pass_seconds, kMaxLaunchSeconds));
  }
  const std::uint64_t body_passes = shape.slice_bytes != 0 ? stream_body_passes(shape) : 1;
  const auto launch_passes = static_cast<std::uint64_t>(std::max(1.0, kWantedLaunchSeconds / pass_seconds));

  StreamParameters parameters{.zero = 0, .never = kNever};
  const std::uint64_t array_bytes = in_memory ? align(footprint, 1ull << 21) : 0;
  const DevicePointer base = gpu_.reserve(arrays * array_bytes + launch.blocks * sizeof(BlockRecord));
  parameters.source = base;
  parameters.target_delta = in_memory ? array_bytes : shape.slice_bytes;
  parameters.records = base + arrays * array_bytes;
  std::optional<Texture> texture;
  if (program.space == Space::kTexture) {
    if (footprint / program.vector_bytes > gpu_.max_linear_texels()) {
      throw NotSupportedError(
          fmt::format("a texture of {} texels is larger than this GPU's linear textures may be ({})",
                      footprint / program.vector_bytes, gpu_.max_linear_texels()));
    }
    texture.emplace(gpu_.driver(), base, footprint, program.vector_bytes / 4);
    parameters.texture = texture->handle();
  }

  const auto set_passes = [&](std::uint64_t passes) {
    if (shape.slice_bytes != 0) {
      parameters.rounds = static_cast<std::uint32_t>(passes / body_passes);
      parameters.singles = static_cast<std::uint32_t>(passes % body_passes);
      return;
    }
    parameters.target_tiles = static_cast<std::uint32_t>(target_tiles);
    parameters.rounds = static_cast<std::uint32_t>(passes);
    parameters.tiles = static_cast<std::uint32_t>(tiles);
    parameters.visits = static_cast<std::uint32_t>(tiles * passes);
    parameters.rest_vectors = static_cast<std::uint32_t>(footprint % tile / program.vector_bytes);
    if (tiles == 0) return;
    // Each time round, blocks move on to another tile, or a block would find its own in L1 again.
    parameters.step = static_cast<std::uint32_t>(launch.blocks % tiles);
    parameters.shift = static_cast<std::uint32_t>((gpu_.info().sm_count / 2 + 1) % tiles);
    parameters.step_shift =
        static_cast<std::uint32_t>(std::uint64_t{parameters.shift} * (launch.blocks / tiles) % tiles);
  };
  std::vector<BlockRecord> records(launch.blocks);
  const auto measure = [&](std::uint64_t passes) {
    set_passes(passes);
    gpu_.run(function, "stream", launch, {&parameters});
    gpu_.download(records.data(), parameters.records, records.size() * sizeof(BlockRecord));
    return launch::span_of(records, gpu_.clock_mhz(records.front()));
  };

  measure(std::min<std::uint64_t>(program.repeats, body_passes));  // untimed: loads the code and warms what is shared
  StreamResult result;
  ProgramResult answer;
  std::uint64_t left = program.repeats;
  while (left > 0) {
    const std::uint64_t passes = std::min(left, std::max(body_passes, launch_passes));
    const launch::StreamSpan span = measure(passes);
    result.bytes_moved += passes * pass_bytes;
    result.seconds += span.seconds;
    result.cycles += span.cycles;
    left -= passes;
  }
  answer.sm_clock_mhz = gpu_.clock_mhz(records.front());
  answer.shared_carve_out_bytes = launch.carve_out_bytes;
  answer.data = result;
  return answer;
}

}  // namespace gputopo::cuda
