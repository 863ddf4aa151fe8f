#include "probe/bandwidth/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace gputopo::probe {
namespace {

// Bytes that a launch moves. Larger values reduce the weight of its start and end; smaller ones allow more launches.
constexpr double kBytesOfBlock = 64e6;  // about a millisecond at 64 B per clock
constexpr double kConstantBytesOfBlock = kBytesOfBlock / 8;
constexpr double kOneWarpPart = 1.0 / 8;  // of these bytes, for a block of one warp: at least 8 times slower
constexpr double kBytesOfSharedCache = 4e9;
constexpr double kBytesOfOneSm = 8e6;  // about a tenth of a millisecond
// Footprint in memory of one SM, in sizes of the last cache. Larger: slower; smaller: the cache serves part.
constexpr std::uint64_t kOneSmMemoryFactor = 4;
constexpr double kPassesOverMemory = 6;  // so that the last blocks of a launch hardly count

constexpr std::uint64_t kScratchpadBytes = 16 << 10;    // of an SM; every GPU has this much
constexpr std::uint64_t kLeastSharedBytes = 256 << 10;  // of all SMs, in a cache that they share
constexpr std::uint64_t kMemoryFactor = 32;             // in sizes of the last cache
// Least footprint in device memory, whatever size of the last cache is reported: an L3 that the interface does not
// report may lie behind it. Four times the largest L3 ever built.
constexpr std::uint64_t kLeastMemoryBytes = 1ull << 30;

constexpr std::uint32_t kLeastVectorBytes = 4;

struct StreamTrialShape {
  std::uint32_t blocks_per_sm;
  std::uint32_t threads_per_block;
  std::uint32_t loads_in_flight;
};
constexpr StreamTrialShape kFullSm[] = {{1, 1024, 4}, {1, 1024, 8}, {2, 1024, 4},
                                        {2, 1024, 8}, {4, 512, 4},  {4, 512, 8}};
// A block of one SM.
constexpr StreamTrialShape kOneBlock[] = {{1, 1024, 4}, {1, 1024, 8}, {1, 512, 8}, {1, 512, 16}};
// One warp for a cache behind another: several would follow each other closely and, more or less by chance, hit in the
// nearer cache what the first has fetched.
constexpr StreamTrialShape kOneWarp[] = {{1, 32, 4}, {1, 32, 8}, {1, 32, 16}};

std::uint32_t repeats_for(double bytes_per_launch, std::uint64_t footprint_bytes) {
  return static_cast<std::uint32_t>(std::clamp(bytes_per_launch / static_cast<double>(footprint_bytes), 1.0, 1e6));
}

// `stream` in each of the shapes. Its bytes and `bytes_per_launch` count for each block if `stream.per_block`, which
// gives each block its own bytes; otherwise they count for all blocks together.
std::vector<StreamProgram> in_shapes(const StreamProgram& stream, std::span<const StreamTrialShape> shapes,
                                     double bytes_per_launch) {
  const bool constant = stream.space == Space::kConstant;
  // Lanes of a warp load neighboring vectors, but all the same constant.
  const auto granule_of = [&](std::uint32_t vector_bytes) { return std::uint64_t{vector_bytes} * (constant ? 1 : 32); };
  std::vector<StreamProgram> programs;
  for (const StreamTrialShape& shape : shapes) {
    StreamProgram program = stream;
    program.blocks_per_sm = shape.blocks_per_sm;
    program.threads_per_block = shape.threads_per_block;
    program.loads_in_flight = shape.loads_in_flight;
    // All constants are one array, which every block reads completely.
    if (stream.per_block && !constant) program.bytes /= shape.blocks_per_sm;
    while (program.vector_bytes > kLeastVectorBytes && granule_of(program.vector_bytes) > program.bytes) {
      program.vector_bytes /= 2;
    }
    const std::uint64_t granule = granule_of(program.vector_bytes);
    program.bytes = std::max(program.bytes / granule, std::uint64_t{1}) * granule;
    program.repeats = repeats_for(bytes_per_launch, program.bytes);
    programs.push_back(program);
  }
  return programs;
}

// Most L1 caches pass writes on, and L2 takes neighboring lines best. With an array per SM, the SMs meet at some
// slices more than at others, depending on where their arrays lie. So all SMs also write to one array, in shapes that
// differ from the first only in the accesses under way.
std::vector<StreamProgram> writes_together(const ProbeRunner& runner, std::span<const StreamProgram> apart,
                                           std::uint64_t footprint_bytes) {
  StreamProgram together = apart.front();
  together.per_block = false;
  together.bytes = std::min(footprint_bytes * runner.info().sm_count, std::bit_floor(runner.last_cache_bytes() / 4));
  together.repeats =
      static_cast<std::uint32_t>(runner.info().sm_count * kBytesOfBlock / static_cast<double>(together.bytes));
  std::vector<StreamProgram> programs;
  for (const StreamProgram& one : apart) {
    if (one.blocks_per_sm != together.blocks_per_sm || one.threads_per_block != together.threads_per_block) continue;
    together.loads_in_flight = one.loads_in_flight;
    programs.push_back(together);
  }
  return programs;
}

// A power of two, so that every run has the same footprint: half of what fits, but more than nearer caches hold.
std::uint64_t shared_cache_bytes(const Cache& cache) {
  const std::uint64_t half = std::bit_floor(cache.fits_bytes / 2);
  const std::uint64_t bytes = std::max(half, std::bit_ceil(2 * cache.nearer_bytes));
  if (bytes > cache.fits_bytes) {
    throw Inconclusive(fmt::format(
        "only {} B are certain to fit in this cache, which is not clearly more than the {} B that nearer caches hold",
        cache.fits_bytes, cache.nearer_bytes));
  }
  return std::max(bytes, std::min(kLeastSharedBytes, std::bit_floor(cache.fits_bytes)));
}

// For a cache of one SM: half of what fits, but more than nearer caches hold.
std::uint64_t own_cache_bytes(const Cache& cache) {
  return std::max(std::bit_floor(cache.fits_bytes / 2), std::min(cache.fits_bytes, 2 * cache.nearer_bytes));
}

// Leaves out the streams of an SM that a tiny cache does not hold, because the next cache would serve them.
std::vector<StreamProgram> that_fit(std::vector<StreamProgram> programs, const Cache& cache) {
  std::erase_if(programs, [&](const StreamProgram& program) {
    const std::uint64_t blocks = program.space == Space::kConstant ? 1 : program.blocks_per_sm;
    return program.bytes * blocks > cache.fits_bytes;
  });
  if (programs.empty()) {
    throw Inconclusive(
        fmt::format("only {} B are certain to fit in this cache, and every stream takes more", cache.fits_bytes));
  }
  return programs;
}

std::uint64_t one_sm_memory_bytes(const ProbeRunner& runner) {
  return std::min(kOneSmMemoryFactor * std::bit_ceil(runner.last_cache_bytes()), runner.info().max_array_bytes / 4);
}

}  // namespace

std::vector<StreamProgram> cache_streams(const ProbeRunner& runner, const Cache& cache, StreamOp op) {
  StreamProgram stream{.op = op, .space = cache.site().space};
  if (cache.site().exclusive) {
    stream.bytes = shared_cache_bytes(cache);
    return in_shapes(stream, kFullSm, kBytesOfSharedCache);
  }
  stream.per_block = true;
  stream.bytes = own_cache_bytes(cache);
  const std::span<const StreamTrialShape> shapes =
      cache.nearer_bytes > 0 ? std::span<const StreamTrialShape>(kOneWarp) : kFullSm;
  const bool constant = stream.space == Space::kConstant;
  const double full = constant ? kConstantBytesOfBlock : kBytesOfBlock;
  std::vector<StreamProgram> programs =
      that_fit(in_shapes(stream, shapes, cache.nearer_bytes > 0 ? kOneWarpPart * full : full), cache);
  if (op == StreamOp::kWrite) {
    const std::vector<StreamProgram> together = writes_together(runner, programs, stream.bytes);
    programs.insert(programs.end(), together.begin(), together.end());
  }
  return programs;
}

std::vector<StreamProgram> one_sm_cache_streams(const Cache& cache) {
  // One warp, as for every cache that is local to an SM and behind another one.
  if (!cache.site().exclusive) {
    return that_fit(
        in_shapes({.space = cache.site().space, .bytes = own_cache_bytes(cache), .per_block = true, .sms = 1}, kOneWarp,
                  kOneWarpPart * kBytesOfOneSm),
        cache);
  }
  return in_shapes({.space = cache.site().space, .bytes = shared_cache_bytes(cache), .sms = 1}, kOneBlock,
                   kBytesOfOneSm);
}

std::vector<StreamProgram> one_sm_memory_streams(const ProbeRunner& runner) {
  return in_shapes({.space = Space::kGlobal, .bytes = one_sm_memory_bytes(runner), .sms = 1}, kOneBlock, kBytesOfOneSm);
}

std::vector<StreamProgram> footprint_streams(const ProbeRunner& runner) {
  constexpr double kPerOctave = 2;
  constexpr std::uint64_t kFirstBytes = 64 << 10;       // one pass of a block: 1024 threads, 4 loads of 16 B
  constexpr std::uint64_t kFirstBytesOfSm = 128 << 10;  // so that each SM has work
  constexpr double kBytesOfAll = kBytesOfSharedCache / 4;
  std::vector<StreamProgram> programs;
  const auto add = [&](double first, std::uint32_t sms, double bytes_of_launch) {
    const auto last = static_cast<double>(one_sm_memory_bytes(runner));
    for (double bytes = first; bytes <= last * 1.001; bytes *= std::exp2(1 / kPerOctave)) {
      const StreamProgram stream{.space = Space::kGlobal, .bytes = static_cast<std::uint64_t>(bytes), .sms = sms};
      const std::vector<StreamProgram> shaped = in_shapes(stream, std::span(kFullSm).first(1), bytes_of_launch);
      programs.insert(programs.end(), shaped.begin(), shaped.end());
    }
  };
  add(kFirstBytes, 1, kBytesOfOneSm);
  add(static_cast<double>(std::bit_ceil(runner.info().sm_count * kFirstBytesOfSm)), 0, kBytesOfAll);
  return programs;
}

std::vector<StreamProgram> cold_footprint_streams(const ProbeRunner& runner) {
  constexpr std::uint32_t kPasses = 3;
  const std::uint64_t evictor = runner.last_cache_evictor_bytes();
  std::vector<StreamProgram> programs = footprint_streams(runner);
  for (StreamProgram& program : programs) {
    program.repeats = kPasses;
    program.evict_bytes = runner.is_last_cache_reported() ? evictor : std::max(evictor, kLeastMemoryBytes);
  }
  // Loads beyond the last whole round of a block wait once more for memory, which is much of a short pass.
  std::erase_if(programs, [&](const StreamProgram& program) {
    const std::uint64_t round = program.threads_per_block * program.vector_bytes * program.loads_in_flight;
    return program.bytes % round != 0 || program.bytes + program.evict_bytes > runner.info().max_array_bytes;
  });
  return programs;
}

std::vector<StreamProgram> scratchpad_streams(StreamOp op) {
  return in_shapes({.op = op, .space = Space::kShared, .bytes = kScratchpadBytes, .per_block = true}, kFullSm,
                   kBytesOfBlock);
}

std::vector<StreamProgram> memory_streams(const ProbeRunner& runner, StreamOp op) {
  const std::uint64_t bytes = memory_stream_bytes(runner);
  return in_shapes({.op = op, .space = Space::kGlobal, .bytes = bytes}, kFullSm,
                   kPassesOverMemory * static_cast<double>(bytes));
}

std::uint64_t memory_stream_bytes(const ProbeRunner& runner) {
  return std::min(std::max(kMemoryFactor * runner.last_cache_bytes(), kLeastMemoryBytes),
                  runner.info().max_array_bytes / 4);
}

}  // namespace gputopo::probe
