// Runs chase programs: packs them into launches, one program a block and one block an SM.
#pragma once

#include <future>
#include <memory>
#include <optional>
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
  // A batch, and where its parts lie.
  struct Batch {
    std::vector<ChasePlan*> plans;
    BatchLayout layout;
    std::uint64_t bytes = 0;            // of the device's memory, at most
    std::vector<TextureView> textures;  // live until the launch has ended
    BatchPlace place;
  };
  // With what the device is to be told of it, which may still be written while another batch runs: by one at a time,
  // for all share the orders of chains.
  struct Prepared {
    std::unique_ptr<Batch> batch;
    std::future<EncodedBatch> encoded;
  };

  [[nodiscard]] ChasePlan plan_of(const ChaseJob& job) const;
  [[nodiscard]] static std::unique_ptr<Batch> lay_out_batch(std::vector<ChasePlan*> plans);
  // To be written when it is asked for, in memory that the device gives.
  [[nodiscard]] Prepared prepare(std::vector<ChasePlan*> plans);
  // The batch that comes behind one that will run now, if it is worth a thread and fits into the same memory; else they
  // wait on.
  [[nodiscard]] std::optional<Prepared> prepare_next(std::vector<ChasePlan*>& waiting, const Batch& before);
  [[nodiscard]] EncodedBatch write(const Batch& batch);
  // Runs a batch; returns the programs that shared an SM with another and must run again.
  [[nodiscard]] std::vector<ChasePlan*> run_batch(const Batch& batch, const EncodedBatch& encoded);
  void place_at(Batch& batch, Address base);
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
  std::vector<std::byte> records_;
};

}  // namespace gputopo::launch
