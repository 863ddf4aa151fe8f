#include "device/sim/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/sim/programs/bandwidth.h"

namespace gputopo::sim {
namespace {

std::uint64_t shared_bytes_of(const ChaseProgram& program) {
  std::uint64_t bytes = 0;
  for (const ChaseArray& array : program.arrays) {
    if (array.space == Space::kShared) bytes += array.bytes;
  }
  return bytes;
}

std::uint64_t shared_bytes_of(const ClusterProgram& program) {
  const bool bulk = program.op == ClusterOp::kBulkCopy;
  return bulk ? std::uint64_t{program.in_flight} * program.copy_bytes : program.bytes;
}

}  // namespace

void Limits::check(const ChaseProgram& program) const {
  for (const ChaseArray& array : program.arrays) {
    check_space(array.space);
    if (array.space != Space::kShared && array.bytes > info_.max_array_bytes) {
      throw NotSupportedError(fmt::format("an array of {} bytes exceeds the {} bytes that {} allows; use a smaller one",
                                          array.bytes, info_.max_array_bytes, info_.name));
    }
  }
  for (const ChaseStep& step : program.steps) {
    if (step.kind == StepKind::kAtomic) check_atomics(program.arrays[step.array].space);
  }
  const auto has_limits = [](const CacheSpec& cache) { return !cache.fetch_limits_bytes.empty(); };
  if (program.l2_fetch_bytes != 0 && std::ranges::none_of(spec_.caches, has_limits)) {
    refuse_silent(spec_, "caches.fetch_limits_bytes", "L2 fetch limits");
  }
  check_shared(shared_bytes_of(program));
  check_sm(program.sm);
  for (const ChaseActor& actor : program.actors) check_sm(actor.sm);
}

void Limits::check(const StreamProgram& program) const {
  check_space(program.space);
  if (program.space == Space::kShared) {
    check_shared(program.bytes);
    check_shared_per_sm(program.bytes * program.blocks_per_sm);
  } else if (stream_footprint_bytes(program, info_.sm_count) + program.evict_bytes > info_.max_array_bytes) {
    throw NotSupportedError(fmt::format(
        "a stream with a footprint of {} bytes exceeds the {} bytes that {} allows; use a smaller footprint",
        stream_footprint_bytes(program, info_.sm_count), info_.max_array_bytes, info_.name));
  }
  check_stream_levels(spec_, program, carve_out_for(program));
}

void Limits::check(const InstructionProgram& program) const {
  if (!spec_.code) refuse_silent(spec_, "code", "instruction fetch");
  for (const CodeStep& step : program.steps) {
    if (step.kind == CodeStepKind::kConstants) check_space(Space::kConstant);
  }
  for (const CodeActor& actor : program.actors) check_sm(actor.sm);
}

void Limits::check(const AccessProgram& program) const {
  check_space(program.space);
  if (program.space == Space::kShared) {
    check_shared(program.bytes);
  } else {
    check_working_set(program.bytes);
  }
}

void Limits::check(const ClusterProgram& program) const {
  check_space(Space::kShared);
  check_shared(shared_bytes_of(program));
  if (program.op != ClusterOp::kBulkCopy) return;
  check_space(Space::kGlobalBypassL1);
  check_working_set(program.bytes);
}

void Limits::check(const OperationProgram& program) const {
  if (!spec_.compute) refuse_silent(spec_, "compute", "the execution resources of an SM");
  const std::uint64_t threads = std::uint64_t{program.warps} * info_.warp_size;
  if (threads > info_.max_threads_per_block.value_or(threads)) {
    throw NotSupportedError(fmt::format("{} warps of {} threads exceed the {} threads that a block may have",
                                        program.warps, info_.warp_size, *info_.max_threads_per_block));
  }
}

void Limits::check(const OccupancyProgram& program) const {
  if (!info_.max_threads_per_sm || !info_.max_blocks_per_sm) {
    refuse_silent(spec_, "info.max_threads_per_sm and info.max_blocks_per_sm",
                  "how many threads and blocks an SM holds");
  }
  if (!spec_.compute) refuse_silent(spec_, "compute", "the execution resources of an SM");
  const bool has_registers = spec_.compute->register_count > 0 || info_.registers_per_sm;
  if (program.registers > 0 && (spec_.compute->register_unit == 0 || !has_registers)) {
    refuse_silent(spec_, "compute.register_unit", "the allocation granularity of registers");
  }
  if (program.shared_bytes > 0 && spec_.compute->shared_unit == 0) {
    refuse_silent(spec_, "compute.shared_unit", "the allocation granularity of shared memory");
  }
  if (program.clocks && spec_.compute->timer_step_ns <= 0) {
    refuse_silent(spec_, "compute.timer_step_ns", "the resolution of the global timer");
  }
  check_shared(program.shared_bytes);
}

void Limits::check(const LaunchProgram&) const {
  if (!spec_.launches) refuse_silent(spec_, "launches", "launch times");
}

std::uint64_t Limits::carve_out_for(const ChaseProgram& program) const {
  return carve_out_with(std::max(program.shared_carve_out_bytes, shared_bytes_of(program)));
}

std::uint64_t Limits::carve_out_for(const StreamProgram& program) const {
  const std::uint64_t used = program.space == Space::kShared ? program.bytes * program.blocks_per_sm : 0;
  return carve_out_with(std::max(program.shared_carve_out_bytes, used));
}

std::uint64_t Limits::carve_out_for(const InstructionProgram&) const { return carve_out_with(0); }

std::uint64_t Limits::carve_out_for(const AccessProgram& program) const {
  const std::uint64_t used = program.space == Space::kShared ? program.bytes : 0;
  return carve_out_with(std::max(program.shared_carve_out_bytes, used));
}

// The largest carve-out, so that no SM has room for a second block.
std::uint64_t Limits::carve_out_for(const ClusterProgram&) const { return carve_out_with(UINT64_MAX); }

std::uint64_t Limits::carve_out_for(const OccupancyProgram&) const { return carve_out_with(UINT64_MAX); }
std::uint64_t Limits::carve_out_for(const LaunchProgram&) const { return carve_out_with(0); }
std::uint64_t Limits::carve_out_for(const OperationProgram&) const { return carve_out_with(0); }

void Limits::check_space(Space space) const {
  if (!spec_.spaces.contains(space)) {
    throw NotSupportedError(
        fmt::format("{} has no memory space '{}'; omit the measurements that need it", info_.name, to_string(space)));
  }
}

void Limits::check_atomics(Space space) const {
  const std::vector<PathStop>& path = spec_.spaces.at(space).path;
  const bool there =
      std::ranges::any_of(path, [&](const PathStop& stop) { return spec_.atomics.contains(stop.cache); });
  if (!there) refuse_silent(spec_, "atomics", "the cost of atomics");
}

void Limits::check_sm(std::optional<std::uint32_t> sm) const {
  if (sm && *sm >= info_.sm_count) {
    throw NotSupportedError(
        fmt::format("{} has no SM {}; it has {} SMs, numbered from 0", info_.name, *sm, info_.sm_count));
  }
}

void Limits::check_shared(std::uint64_t bytes) const {
  const std::optional<std::uint64_t> limit = info_.max_shared_bytes_per_block();
  if (limit && bytes > *limit) {
    throw NotSupportedError(fmt::format("{} bytes of shared memory exceed the {} bytes that a block may have on {}",
                                        bytes, *limit, info_.name));
  }
  check_shared_per_sm(bytes);
}

void Limits::check_shared_per_sm(std::uint64_t bytes) const {
  std::optional<std::uint64_t> limit = info_.shared_bytes_per_sm;
  if (!limit && !info_.carve_outs_bytes.empty()) limit = info_.carve_outs_bytes.back();
  if (limit && bytes > *limit) {
    throw NotSupportedError(
        fmt::format("{} bytes of shared memory exceed the {} bytes that an SM of {} has", bytes, *limit, info_.name));
  }
}

void Limits::check_working_set(std::uint64_t bytes) const {
  if (bytes > info_.max_array_bytes) {
    throw NotSupportedError(
        fmt::format("a working set of {} bytes exceeds the {} bytes that {} allows; use a smaller one", bytes,
                    info_.max_array_bytes, info_.name));
  }
}

std::uint64_t Limits::carve_out_with(std::uint64_t wanted) const {
  const auto& choices = info_.carve_outs_bytes;
  if (choices.empty()) return 0;
  const auto fits = std::lower_bound(choices.begin(), choices.end(), wanted);
  return fits == choices.end() ? choices.back() : *fits;
}

}  // namespace gputopo::sim
