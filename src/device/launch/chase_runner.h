// Runs chase programs: packs them into launches, one program a block and one block an SM.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/launch/chase_gpu.h"

namespace gputopo::launch {

// A launch may last this long; longer programs are refused.
inline constexpr double kMaxLaunchSeconds = 2.0;

// One program and where its result goes.
struct ChaseJob {
  const ChaseProgram* program;
  ProgramResult* result;
};

class ChaseRunner {
 public:
  explicit ChaseRunner(ChaseGpu& gpu) : gpu_(gpu) {}

  // Runs all of them; those that need not run alone side by side. Throws UsageError for a program that would take too
  // long, NotSupportedError for one that this GPU cannot hold or whose SM it does not have, and what ChaseGpu throws.
  void run(std::span<const ChaseJob> jobs);

 private:
  struct Plan;
  [[nodiscard]] Plan make_plan(const ChaseJob& job) const;
  [[nodiscard]] std::vector<Plan*> choose_batch(std::vector<Plan*>& waiting) const;
  // Throws for a block that never ran or that failed; `sm` is the one that was named.
  void check_block(const BlockRecord& block, std::optional<std::uint32_t> sm) const;
  // Runs a batch; returns the programs that shared an SM with another and must run again.
  [[nodiscard]] std::vector<Plan*> run_batch(const std::vector<Plan*>& plans);
  // The order of a shuffled chain; kept, because probes run the same arrays many times.
  // The element at a position of a chain.
  [[nodiscard]] std::uint64_t element_at(const ChaseArray& array, std::uint32_t chain, std::uint64_t position);
  [[nodiscard]] const std::vector<std::uint32_t>& shuffled_order(const ChaseArray& array, std::uint32_t chain);

  ChaseGpu& gpu_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint32_t>> orders_;
  std::uint64_t orders_bytes_ = 0;
};

}  // namespace gputopo::launch
