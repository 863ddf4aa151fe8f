#include "device/hip/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/hip/gfx_target.h"
#include "device/hip/stream_source.h"
#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::hip {
namespace {

// The bytes of whole vectors in a program's array.
std::uint64_t bytes_of(const StreamProgram& program) {
  return program.bytes / program.vector_bytes * program.vector_bytes;
}

std::uint32_t threads_of(const StreamProgram& program) {
  return std::max(program.threads_per_block / kWavefront, 1u) * kWavefront;
}

// Bytes that one statement of a thread (of a wavefront in the scalar space) moves. Those of a block are a tile.
std::uint64_t statement_bytes(const StreamShape& shape) {
  return std::uint64_t{shape.vector_bytes} * shape.loads_in_flight;
}

// Bytes that an array must hold at least.
std::uint64_t granule_of(const StreamShape& shape) {
  return shape.space == Space::kScalar ? statement_bytes(shape) : shape.vector_bytes;
}

}  // namespace

StreamShape Streams::shape_of(const StreamProgram& program) {
  return {.op = program.op,
          .space = program.space,
          .vector_bytes = program.vector_bytes,
          .loads_in_flight = std::min(program.loads_in_flight, kMaxBytesInFlight / program.vector_bytes)};
}

void Streams::check(const StreamProgram& program, const StreamShape& shape) {
  check_space(program.space);
  const std::uint64_t bytes = bytes_of(program);
  if (bytes < granule_of(shape)) {
    throw NotSupportedError(fmt::format("a stream over {} bytes is too small: its array must have at least {} bytes",
                                        bytes, granule_of(shape)));
  }
}

Module Streams::compile(const Gpu& gpu, const StreamShape& shape) {
  return {gpu.runtime(), gpu.runtime()->compile(generate_stream_source(gpu.target(), shape), gpu.target().name)};
}

launch::KernelLaunch Streams::launch_of(const StreamProgram& program, const StreamShape& shape) {
  return {.threads = threads_of(program),
          .shared_bytes = shape.space == Space::kShared ? launch::arrays_of(program) * bytes_of(program) : 0};
}

Streams::Layout Streams::lay_out(const StreamProgram& program, const StreamShape& shape, std::uint32_t blocks,
                                 std::uint32_t sm_count) {
  Layout layout;
  const std::uint64_t bytes = bytes_of(program);
  layout.threads = threads_of(program);
  const std::uint64_t tile_bytes =
      statement_bytes(shape) * (shape.space == Space::kScalar ? layout.threads / kWavefront : layout.threads);
  layout.tiles = std::max<std::uint64_t>(1, bytes / tile_bytes);
  layout.target_tiles = launch::target_tiles_of(program, tile_bytes, layout.tiles);
  layout.wrap = static_cast<std::uint32_t>(std::min(tile_bytes, bytes / granule_of(shape) * granule_of(shape)));
  layout.shift = static_cast<std::uint32_t>((sm_count / 2 + 1) % layout.tiles);
  layout.slice_bytes = program.per_block ? bytes : 0;
  layout.blocks =
      program.per_block ? blocks : static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, layout.tiles));
  layout.arrays = launch::arrays_of(program);
  const std::uint64_t copies = program.per_block ? layout.blocks : 1;
  layout.footprint = bytes * copies;
  layout.array_bytes = shape.space == Space::kShared ? 0 : round_up(layout.footprint, launch::kStreamPageBytes);
  // A pass moves whole tiles. One tile moves a small array several times.
  layout.pass_bytes = layout.tiles * tile_bytes * layout.arrays * copies;
  layout.wanted_bytes = layout.footprint * layout.arrays * program.repeats;
  const double passes = static_cast<double>(layout.wanted_bytes) / static_cast<double>(layout.pass_bytes);
  layout.passes = static_cast<std::uint64_t>(std::max(1.0, std::round(passes)));
  return layout;
}

StreamParameters Streams::encode(const Layout& layout, launch::Address base, std::uint64_t, std::uint64_t passes) {
  return {.source = base,
          .target = base + (layout.arrays - 1) * layout.array_bytes,
          .records = base + layout.records(),
          .slice_bytes = layout.slice_bytes,
          .tiles = layout.tiles,
          .passes = static_cast<std::uint32_t>(passes),
          .threads = layout.threads,
          .blocks = layout.blocks,
          .shift = layout.shift,
          .wrap = layout.wrap,
          .target_tiles = layout.target_tiles};
}

std::vector<void*> Streams::arguments(StreamParameters& parameters) {
  StreamParameters& p = parameters;
  return {&p.source,  &p.target, &p.records, &p.slice_bytes, &p.tiles, &p.passes,
          &p.threads, &p.blocks, &p.shift,   &p.never,       &p.wrap,  &p.target_tiles};
}

}  // namespace gputopo::hip
