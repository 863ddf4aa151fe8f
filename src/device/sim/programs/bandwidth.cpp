#include "device/sim/programs/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/sim/memory/hierarchy.h"

namespace gputopo::sim {
namespace {

enum class Direction { kRead, kWrite };

std::uint32_t sms_of(const MachineSpec& spec, const StreamProgram& program) {
  return program.sms == 0 ? spec.info.sm_count : std::min(program.sms, spec.info.sm_count);
}

// The streaming SMs' share of a level's bandwidth; all of it if all SMs share the level.
double part_of(const MachineSpec& spec, const StreamProgram& program, const std::string& level) {
  return is_of_all(spec, level) ? 1 : static_cast<double>(sms_of(spec, program)) / spec.info.sm_count;
}

double peak_of(const BandwidthSpec& bandwidth, Direction direction) {
  return direction == Direction::kRead ? bandwidth.read_bytes_per_second : bandwidth.write_bytes_per_second;
}

// 0 if the level takes none or the machine file does not say.
double peak_of(const MachineSpec& spec, const std::string& level, Direction direction) {
  const auto found = spec.bandwidths.find(level);
  return found == spec.bandwidths.end() ? 0 : peak_of(found->second, direction);
}

// Every block reads the same bank of constants, but its own shared memory.
bool has_one_copy(const StreamProgram& program) { return !program.per_block || program.space == Space::kConstant; }

std::uint64_t arrays_of(const StreamProgram& program) { return program.op == StreamOp::kCopy ? 2 : 1; }

bool holds_footprint(const MachineSpec& spec, const CacheSpec& cache, const StreamProgram& program,
                     std::uint64_t carve_out_bytes) {
  if (program.evict_bytes >= cache.size_bytes) return false;
  if (is_behind_sms(cache.scope)) return stream_footprint_bytes(program, sms_of(spec, program)) <= cache.size_bytes;
  const std::uint64_t bytes_per_sm =
      program.bytes * arrays_of(program) * (has_one_copy(program) ? 1 : program.blocks_per_sm);
  return bytes_per_sm <= usable_bytes(cache, carve_out_bytes) * cache.instances;
}

// The levels that the stream passes, nearest first. The last one serves it.
std::vector<std::string> levels_of(const MachineSpec& spec, const StreamProgram& program, Direction direction,
                                   std::uint64_t carve_out_bytes) {
  if (program.space == Space::kShared) return {kSharedLevel};
  std::vector<std::string> levels;
  for (const PathStop& stop : spec.spaces.at(program.space).path) {
    levels.push_back(stop.cache);
    const auto cache = std::find_if(spec.caches.begin(), spec.caches.end(),
                                    [&](const CacheSpec& candidate) { return candidate.id == stop.cache; });
    const bool serves = direction == Direction::kRead || peak_of(spec, stop.cache, direction) > 0;
    if (serves && holds_footprint(spec, *cache, program, carve_out_bytes)) return levels;
  }
  levels.emplace_back(kMemoryLevel);
  return levels;
}

double bytes_in_flight(const MachineSpec& spec, const StreamProgram& program) {
  std::uint64_t threads_per_sm = std::uint64_t{program.blocks_per_sm} * program.threads_per_block;
  if (spec.info.max_threads_per_sm) threads_per_sm = std::min(threads_per_sm, *spec.info.max_threads_per_sm);
  return static_cast<double>(sms_of(spec, program) * threads_per_sm * program.vector_bytes * program.loads_in_flight);
}

double achieved_bytes_per_second(const MachineSpec& spec, const StreamProgram& program, Direction direction,
                                 std::uint64_t carve_out_bytes) {
  std::vector<std::string> levels = levels_of(spec, program, direction, carve_out_bytes);
  const std::string serving = levels.back();
  levels.pop_back();
  const double part = part_of(spec, program, serving);
  const double peak = part * peak_of(spec, serving, direction);
  if (peak == 0) {
    throw NotSupportedError(fmt::format("the machine file of {} has no {} bandwidth for '{}'; add it under bandwidths",
                                        spec.info.name, direction == Direction::kRead ? "read" : "write", serving));
  }
  const double in_flight = bytes_in_flight(spec, program);
  double achieved = peak * in_flight / (in_flight + part * spec.bandwidths.at(serving).half_bytes_in_flight);
  for (const std::string& level : levels) {
    const double limit = part_of(spec, program, level) * peak_of(spec, level, direction);
    if (limit > 0) achieved = std::min(achieved, limit);
  }
  const double of_sm = spec.bandwidths.at(serving).sm_read_bytes_per_second;
  if (direction == Direction::kRead && of_sm > 0) achieved = std::min(achieved, sms_of(spec, program) * of_sm);
  const double port = direction == Direction::kRead && is_of_all(spec, serving) ? sm_bytes_per_second(spec) : 0;
  return port > 0 ? std::min(achieved, sms_of(spec, program) * port) : achieved;
}

std::uint64_t bytes_per_direction(const MachineSpec& spec, const StreamProgram& program) {
  const std::uint64_t whole_vectors = program.bytes - program.bytes % program.vector_bytes;
  const std::uint64_t blocks = std::uint64_t{sms_of(spec, program)} * program.blocks_per_sm;
  return whole_vectors * program.repeats * (program.per_block ? blocks : 1);
}

// Writes to the same few bytes overlap with reads from elsewhere if a write-back cache keeps them. Otherwise they go on
// to where the reads come from, and the times add up.
StreamResult spanned_copy(const MachineSpec& spec, const StreamProgram& program, std::uint64_t carve_out_bytes) {
  StreamProgram reading = program;
  reading.op = StreamOp::kRead;
  StreamProgram writing = program;
  writing.op = StreamOp::kWrite;
  writing.bytes = program.write_span_bytes;
  const std::string keeper = levels_of(spec, writing, Direction::kWrite, carve_out_bytes).back();
  const auto cache = std::find_if(spec.caches.begin(), spec.caches.end(),
                                  [&](const CacheSpec& candidate) { return candidate.id == keeper; });
  const bool keeps = cache != spec.caches.end() && writes_back(*cache);
  if (!keeps) writing.bytes = program.bytes;  // then the short span makes no difference
  const auto bytes = static_cast<double>(bytes_per_direction(spec, program));
  const double read_seconds = bytes / achieved_bytes_per_second(spec, reading, Direction::kRead, carve_out_bytes);
  const double write_seconds = bytes / achieved_bytes_per_second(spec, writing, Direction::kWrite, carve_out_bytes);
  return {.bytes_moved = 2 * bytes_per_direction(spec, program),
          .seconds = keeps ? std::max(read_seconds, write_seconds) : read_seconds + write_seconds};
}

}  // namespace

bool is_of_all(const MachineSpec& spec, const std::string& level) {
  const auto cache = std::ranges::find(spec.caches, level, &CacheSpec::id);
  return level == kMemoryLevel || (cache != spec.caches.end() && is_behind_sms(cache->scope));
}

double sm_bytes_per_second(const MachineSpec& spec) {
  if (spec.sm_bytes_per_second > 0) return spec.sm_bytes_per_second;
  const auto global = spec.spaces.find(Space::kGlobal);
  if (global == spec.spaces.end() || global->second.path.empty()) return 0;
  const std::string& first = global->second.path.front().cache;
  return is_of_all(spec, first) ? 0 : peak_of(spec, first, Direction::kRead) / spec.info.sm_count;
}

std::uint64_t stream_footprint_bytes(const StreamProgram& program, std::uint32_t sm_count) {
  const std::uint64_t copies = has_one_copy(program) ? 1 : std::uint64_t{sm_count} * program.blocks_per_sm;
  return program.bytes * arrays_of(program) * copies;
}

void check_stream_levels(const MachineSpec& spec, const StreamProgram& program, std::uint64_t carve_out_bytes) {
  static_cast<void>(simulate_stream(spec, program, carve_out_bytes));
}

StreamResult simulate_stream(const MachineSpec& spec, const StreamProgram& program, std::uint64_t carve_out_bytes) {
  if (program.write_span_bytes != 0) return spanned_copy(spec, program, carve_out_bytes);
  const auto bytes = static_cast<double>(bytes_per_direction(spec, program));
  StreamResult result;
  if (program.op != StreamOp::kWrite) {
    result.seconds += bytes / achieved_bytes_per_second(spec, program, Direction::kRead, carve_out_bytes);
  }
  if (program.op != StreamOp::kRead) {
    result.seconds += bytes / achieved_bytes_per_second(spec, program, Direction::kWrite, carve_out_bytes);
  }
  result.bytes_moved = bytes_per_direction(spec, program) * arrays_of(program);
  return result;
}

}  // namespace gputopo::sim
