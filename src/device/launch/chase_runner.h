// Runs chase programs: packs them into launches, one program a block and one block an SM.
#pragma once

#include <span>
#include <vector>

#include "device/launch/chain_orders.h"
#include "device/launch/chase_encode.h"
#include "device/launch/chase_gpu.h"
#include "device/launch/chase_layout.h"

namespace gputopo::launch {

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
  [[nodiscard]] ChasePlan plan_of(const ChaseJob& job) const;
  // Runs a batch; returns the programs that shared an SM with another and must run again.
  [[nodiscard]] std::vector<ChasePlan*> run_batch(const std::vector<ChasePlan*>& batch);
  [[nodiscard]] BatchPlace place_of(const std::vector<ChasePlan*>& batch, const BatchLayout& layout, Address base,
                                    std::vector<TextureView>& textures);
  // Clears the records, and puts what is staged where it belongs.
  void upload(Address base, const BatchLayout& layout, std::span<const std::byte> staged);
  struct Records {
    Address begin;
    std::uint64_t bytes;
  };
  // Returns when it began, in LaunchGpu::seconds_open().
  [[nodiscard]] double launch(const ChasePlan& first, std::size_t programs, const EncodedBatch& encoded,
                              Records records);

  ChaseGpu& gpu_;
  ChainOrders orders_;
};

}  // namespace gputopo::launch
