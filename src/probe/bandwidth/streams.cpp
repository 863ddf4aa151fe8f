#include "probe/bandwidth/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace gputopo::probe {
namespace {

// Bytes that a launch moves. More: its start and its end count for less; fewer: more launches in the same time.
constexpr double kBytesOfBlock = 64e6;  // about a millisecond at 64 B per clock
constexpr double kConstantBytesOfBlock = kBytesOfBlock / 8;
constexpr double kOneWarpPart =
    1.0 / 8;  // of these, of a block of one warp, which takes at least so many times as long
constexpr double kBytesOfSharedCache = 4e9;
constexpr double kBytesOfOneSm = 8e6;  // about a tenth of a millisecond
// Of the last cache: what one SM reads of memory. More: it takes longer; fewer: the cache serves some of it.
constexpr std::uint64_t kOneSmMemoryFactor = 4;
constexpr double kPassesOverMemory = 6;  // what the last blocks of a launch take longer then hardly counts

constexpr std::uint64_t kScratchpadBytes = 16 << 10;    // of an SM: what every GPU has
constexpr std::uint64_t kLeastSharedBytes = 256 << 10;  // of all SMs, in a cache that they share
constexpr std::uint64_t kMemoryFactor = 32;             // of the last cache
// Of device memory, whatever the last cache is said to be: an L3 that the vendor's interface does not tell may stand
// behind the one that it tells. Four times the largest that has been built.
constexpr std::uint64_t kLeastMemoryBytes = 1ull << 30;

struct StreamTrialShape {
  std::uint32_t blocks_per_sm;
  std::uint32_t threads_per_block;
  std::uint32_t loads_in_flight;
};
constexpr StreamTrialShape kFullSm[] = {{1, 1024, 4}, {1, 1024, 8}, {2, 1024, 4},
                                        {2, 1024, 8}, {4, 512, 4},  {4, 512, 8}};
// Behind another cache one warp: several would follow close behind each other, and more or less by chance find in the
// nearer cache what the first has fetched.
// Of one SM, a block.
constexpr StreamTrialShape kOneBlock[] = {{1, 1024, 4}, {1, 1024, 8}, {1, 512, 8}, {1, 512, 16}};
constexpr StreamTrialShape kOneWarp[] = {{1, 32, 4}, {1, 32, 8}, {1, 32, 16}};

std::uint32_t repeats_for(double bytes_per_launch, std::uint64_t footprint_bytes) {
  return static_cast<std::uint32_t>(std::clamp(bytes_per_launch / static_cast<double>(footprint_bytes), 1.0, 1e6));
}

// `stream` in each of the shapes. Its bytes are those of an SM where every block has its own, else those of all SMs; so
// are the bytes of a launch, of one block.
std::vector<StreamProgram> in_shapes(const StreamProgram& stream, std::span<const StreamTrialShape> shapes,
                                     double bytes_per_launch) {
  const bool constant = stream.space == Space::kConstant;
  // Lanes of a warp load neighbouring vectors, of constants all the same one.
  const std::uint64_t granule = std::uint64_t{stream.vector_bytes} * (constant ? 1 : 32);
  std::vector<StreamProgram> programs;
  for (const StreamTrialShape& shape : shapes) {
    StreamProgram program = stream;
    program.blocks_per_sm = shape.blocks_per_sm;
    program.threads_per_block = shape.threads_per_block;
    program.loads_in_flight = shape.loads_in_flight;
    // All constants are one array, of which each block reads all.
    if (stream.per_block && !constant) program.bytes /= shape.blocks_per_sm;
    program.bytes = std::max(program.bytes / granule, std::uint64_t{1}) * granule;
    program.repeats = repeats_for(bytes_per_launch, program.bytes);
    programs.push_back(program);
  }
  return programs;
}

// Most caches of an SM pass on what is written, and the next takes that best from neighbouring lines: apart, the SMs
// meet at some of its slices more than at others, by chance of where their arrays lie. So all SMs write to one array
// too, in the shapes that are like the first but for what is under way.
std::vector<StreamProgram> writes_together(const Lab& lab, std::span<const StreamProgram> apart,
                                           std::uint64_t footprint_bytes) {
  StreamProgram together = apart.front();
  together.per_block = false;
  together.bytes = std::min(footprint_bytes * lab.info().sm_count, std::bit_floor(lab.last_cache_bytes() / 4));
  together.repeats =
      static_cast<std::uint32_t>(lab.info().sm_count * kBytesOfBlock / static_cast<double>(together.bytes));
  std::vector<StreamProgram> programs;
  for (const StreamProgram& one : apart) {
    if (one.blocks_per_sm != together.blocks_per_sm || one.threads_per_block != together.threads_per_block) continue;
    together.loads_in_flight = one.loads_in_flight;
    programs.push_back(together);
  }
  return programs;
}

// A power of two, so that every run streams over the same: half of what fits, but more than the caches before it hold.
std::uint64_t shared_cache_bytes(const Cache& cache) {
  const std::uint64_t half = std::bit_floor(cache.fits_bytes / 2);
  const std::uint64_t bytes = std::max(half, std::bit_ceil(2 * cache.nearer_bytes));
  if (bytes > cache.fits_bytes) {
    throw Inconclusive(fmt::format("{} B are sure to fit, hardly more than the {} B that the caches before it hold",
                                   cache.fits_bytes, cache.nearer_bytes));
  }
  return std::max(bytes, std::min(kLeastSharedBytes, std::bit_floor(cache.fits_bytes)));
}

// Of an SM's own: half of what fits, but more than the caches before it hold.
std::uint64_t own_cache_bytes(const Cache& cache) {
  return std::max(std::bit_floor(cache.fits_bytes / 2), std::min(cache.fits_bytes, 2 * cache.nearer_bytes));
}

std::uint64_t one_sm_memory_bytes(const Lab& lab) {
  return std::min(kOneSmMemoryFactor * std::bit_ceil(lab.last_cache_bytes()), lab.info().max_array_bytes / 4);
}

}  // namespace

std::vector<StreamProgram> cache_streams(const Lab& lab, const Cache& cache, StreamOp op) {
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
  std::vector<StreamProgram> programs = in_shapes(stream, shapes, cache.nearer_bytes > 0 ? kOneWarpPart * full : full);
  if (op == StreamOp::kWrite) {
    const std::vector<StreamProgram> together = writes_together(lab, programs, stream.bytes);
    programs.insert(programs.end(), together.begin(), together.end());
  }
  return programs;
}

std::vector<StreamProgram> one_sm_cache_streams(const Cache& cache) {
  // By one warp, as all caches behind another one that programs reach beside others.
  if (!cache.site().exclusive) {
    return in_shapes({.space = cache.site().space, .bytes = own_cache_bytes(cache), .per_block = true, .sms = 1},
                     kOneWarp, kOneWarpPart * kBytesOfOneSm);
  }
  return in_shapes({.space = cache.site().space, .bytes = shared_cache_bytes(cache), .sms = 1}, kOneBlock,
                   kBytesOfOneSm);
}

std::vector<StreamProgram> one_sm_memory_streams(const Lab& lab) {
  return in_shapes({.space = Space::kGlobal, .bytes = one_sm_memory_bytes(lab), .sms = 1}, kOneBlock, kBytesOfOneSm);
}

std::vector<StreamProgram> footprint_streams(const Lab& lab) {
  constexpr double kPerOctave = 2;
  constexpr std::uint64_t kFirstBytes = 64 << 10;       // that a block of an SM reads at a time
  constexpr std::uint64_t kFirstBytesOfSm = 128 << 10;  // so that each has its share
  constexpr double kBytesOfAll = kBytesOfSharedCache / 4;
  std::vector<StreamProgram> programs;
  const auto add = [&](double first, std::uint32_t sms, double bytes_of_launch) {
    const auto last = static_cast<double>(one_sm_memory_bytes(lab));
    for (double bytes = first; bytes <= last * 1.001; bytes *= std::exp2(1 / kPerOctave)) {
      const StreamProgram stream{.space = Space::kGlobal, .bytes = static_cast<std::uint64_t>(bytes), .sms = sms};
      const std::vector<StreamProgram> shaped = in_shapes(stream, std::span(kFullSm).first(1), bytes_of_launch);
      programs.insert(programs.end(), shaped.begin(), shaped.end());
    }
  };
  add(kFirstBytes, 1, kBytesOfOneSm);
  add(static_cast<double>(std::bit_ceil(lab.info().sm_count * kFirstBytesOfSm)), 0, kBytesOfAll);
  return programs;
}

std::vector<StreamProgram> cold_footprint_streams(const Lab& lab) {
  constexpr std::uint32_t kPasses = 3;
  const std::uint64_t evictor = lab.last_cache_evictor_bytes();
  std::vector<StreamProgram> programs = footprint_streams(lab);
  for (StreamProgram& program : programs) {
    program.repeats = kPasses;
    program.evict_bytes = lab.tells_last_cache() ? evictor : std::max(evictor, kLeastMemoryBytes);
  }
  // What is left over of a round of all a block's loads waits once more for memory, which is much of a short pass.
  std::erase_if(programs, [&](const StreamProgram& program) {
    const std::uint64_t round = program.threads_per_block * program.vector_bytes * program.loads_in_flight;
    return program.bytes % round != 0 || program.bytes + program.evict_bytes > lab.info().max_array_bytes;
  });
  return programs;
}

std::vector<StreamProgram> scratchpad_streams(StreamOp op) {
  return in_shapes({.op = op, .space = Space::kShared, .bytes = kScratchpadBytes, .per_block = true}, kFullSm,
                   kBytesOfBlock);
}

std::vector<StreamProgram> memory_streams(const Lab& lab, StreamOp op) {
  const std::uint64_t bytes = memory_stream_bytes(lab);
  return in_shapes({.op = op, .space = Space::kGlobal, .bytes = bytes}, kFullSm,
                   kPassesOverMemory * static_cast<double>(bytes));
}

std::uint64_t memory_stream_bytes(const Lab& lab) {
  return std::min(std::max(kMemoryFactor * lab.last_cache_bytes(), kLeastMemoryBytes), lab.info().max_array_bytes / 4);
}

}  // namespace gputopo::probe
