#include "device/hip/stream_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/launch/stream_span.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

using launch::BlockRecord;
using launch::StreamSpan;

// Launches are split to stay well under the two seconds that one may last.
constexpr double kWantedLaunchSeconds = 1.0;

}  // namespace

StreamShape shape_of(const StreamProgram& program) {
  return {.op = program.op,
          .space = program.space,
          .vector_bytes = program.vector_bytes,
          .loads_in_flight = std::min(program.loads_in_flight, kMostBytesInFlight / program.vector_bytes)};
}

const Module& StreamRunner::module_of(const StreamShape& shape) {
  const auto found = modules_.find(shape);
  if (found != modules_.end()) return found->second;
  const std::string code = gpu_.runtime()->compile(generate_stream_source(gpu_.target(), shape), gpu_.target().name);
  return modules_.emplace(shape, Module(gpu_.runtime(), code)).first->second;
}

ProgramResult StreamRunner::run(const StreamProgram& program) {
  if (std::find(std::begin(kHipSpaces), std::end(kHipSpaces), program.space) == std::end(kHipSpaces))
    throw NotSupportedError(fmt::format("AMD GPUs have no {} space", to_string(program.space)));
  const StreamShape shape = shape_of(program);
  const bool shared = program.space == Space::kShared;
  const std::uint64_t arrays = program.op == StreamOp::kCopy ? 2 : 1;
  const std::uint64_t bytes = program.bytes / program.vector_bytes * program.vector_bytes;
  const std::uint32_t threads = std::max(program.threads_per_block / kWavefront, 1u) * kWavefront;
  // What one statement of a thread, or of a wavefront in the scalar space, moves; of the block that is a tile.
  const std::uint64_t at_once = std::uint64_t{shape.vector_bytes} * shape.loads_in_flight;
  const std::uint64_t tile_bytes = at_once * (program.space == Space::kScalar ? threads / kWavefront : threads);
  const std::uint64_t granule = program.space == Space::kScalar ? at_once : shape.vector_bytes;
  if (bytes < granule)
    throw NotSupportedError(fmt::format("a stream over {} bytes is less than the {} of one statement", bytes, granule));

  const FunctionHandle function = module_of(shape).function("stream");
  Launch launch{.threads = threads, .shared_bytes = shared ? arrays * bytes : 0};
  static_cast<void>(gpu_.carve_out_for(0, launch.shared_bytes, 1));
  launch.blocks = gpu_.info().sm_count * gpu_.resident_blocks(function, launch, program.blocks_per_sm);

  StreamParameters parameters;
  parameters.slice_bytes = program.per_block ? bytes : 0;
  parameters.tiles = std::max<std::uint64_t>(1, bytes / tile_bytes);
  parameters.wrap = static_cast<std::uint32_t>(std::min(tile_bytes, bytes / granule * granule));
  parameters.target_tiles = launch::target_tiles_of(program, tile_bytes, parameters.tiles);
  parameters.threads = threads;
  parameters.shift = static_cast<std::uint32_t>((gpu_.info().sm_count / 2 + 1) % parameters.tiles);
  if (!program.per_block) {
    launch.blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(launch.blocks, parameters.tiles));
  }
  parameters.blocks = launch.blocks;

  constexpr std::uint64_t kPage = 2ull << 20;
  const std::uint64_t array_bytes =
      shared ? 0 : (bytes * (program.per_block ? launch.blocks : 1) + kPage - 1) / kPage * kPage;
  const launch::Address base = gpu_.reserve(arrays * array_bytes + launch.blocks * sizeof(BlockRecord));
  parameters.source = base;
  parameters.target = base + (arrays - 1) * array_bytes;
  parameters.records = base + arrays * array_bytes;

  std::vector<BlockRecord> records(launch.blocks);
  const auto measure = [&](std::uint64_t passes) {
    parameters.passes = static_cast<std::uint32_t>(passes);
    StreamParameters& p = parameters;
    gpu_.run(function, "stream", launch,
             {&p.source, &p.target, &p.records, &p.slice_bytes, &p.tiles, &p.passes, &p.threads, &p.blocks, &p.shift,
              &p.never, &p.wrap, &p.target_tiles});
    gpu_.download(records.data(), parameters.records, records.size() * sizeof(BlockRecord));
    const double mhz = gpu_.clock_mhz(records.front());
    std::vector<BlockRecord> in_nanoseconds = records;
    for (BlockRecord& record : in_nanoseconds) {
      record.start_ns = gpu_.nanoseconds(record.start_ns);
      record.end_ns = gpu_.nanoseconds(record.end_ns);
    }
    return launch::span_of(in_nanoseconds, mhz);
  };

  // A pass moves whole tiles; a small array is moved several times by one tile.
  const std::uint64_t copies = program.per_block ? launch.blocks : 1;
  const double pass_bytes = static_cast<double>(parameters.tiles * tile_bytes * arrays * copies);
  const std::uint64_t wanted_bytes = bytes * arrays * copies * program.repeats;
  auto left = static_cast<std::uint64_t>(std::max(1.0, std::round(static_cast<double>(wanted_bytes) / pass_bytes)));
  const StreamSpan first = measure(1);  // loads the code and warms what is shared
  const auto launch_passes =
      static_cast<std::uint64_t>(std::clamp(kWantedLaunchSeconds / std::max(first.seconds, 1e-7), 1.0, 1e9));
  double moved = 0;
  StreamResult result;
  while (left > 0) {
    const std::uint64_t passes = std::min(left, launch_passes);
    const StreamSpan span = measure(passes);
    moved += static_cast<double>(passes) * pass_bytes;
    result.seconds += span.seconds;
    result.cycles += span.cycles;
    left -= passes;
  }
  // The time that what was asked for takes at the rate of what was moved.
  const double scale = static_cast<double>(wanted_bytes) / moved;
  result.bytes_moved = wanted_bytes;
  result.seconds *= scale;
  result.cycles *= scale;
  return {.data = result, .sm_clock_mhz = gpu_.clock_mhz(records.front()), .shared_carve_out_bytes = 0};
}

}  // namespace gputopo::hip
