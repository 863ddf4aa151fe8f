// Runs chase programs: packs them into launches with one block for each program and one block on each SM.
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

struct ChaseJob {
  const ChaseProgram* program;
  ProgramResult* result;
};

class ChaseRunner {
 public:
  explicit ChaseRunner(ChaseGpu& gpu) : gpu_(gpu) {}

  // Runs all jobs; those that need not run alone run side by side. Throws UsageError for a program that would take too
  // long, NotSupportedError for one that this GPU cannot hold or whose SM it does not have, and what ChaseGpu throws.
  void run(std::span<const ChaseJob> jobs);

 private:
  struct Batch {
    std::vector<ChasePlan*> plans;
    BatchLayout layout;
    std::uint64_t bytes = 0;            // upper bound of the device memory
    std::vector<TextureView> textures;  // live until the launch has ended
    BatchPlace place;
  };
  // A batch and its encoding, which may still be written while another batch runs. Only one is written at a time,
  // because all share the orders of chains.
  struct Prepared {
    std::unique_ptr<Batch> batch;
    std::future<EncodedBatch> encoded;
  };

  [[nodiscard]] ChasePlan plan_of(const ChaseJob& job) const;
  [[nodiscard]] static std::unique_ptr<Batch> lay_out_batch(std::vector<ChasePlan*> plans);
  // The encoding is written when it is needed. Reserves device memory.
  [[nodiscard]] Prepared prepare(std::vector<ChasePlan*> plans);
  // Prepares the batch after the current one, if it is worth a thread and fits the same memory.
  [[nodiscard]] std::optional<Prepared> prepare_next(std::vector<ChasePlan*>& waiting, const Batch& before);
  [[nodiscard]] EncodedBatch write(const Batch& batch);
  // Runs a batch. Returns the programs that shared an SM with another one and must run again.
  [[nodiscard]] std::vector<ChasePlan*> run_batch(const Batch& batch, const EncodedBatch& encoded);
  void place_at(Batch& batch, Address base);
  // Clears the records and copies the staged bytes.
  void upload(Address base, const BatchLayout& layout, std::span<const std::byte> staged);
  struct Records {
    Address begin;
    std::uint64_t bytes;
  };
  // Returns the start time, as LaunchGpu::seconds_open().
  [[nodiscard]] double launch(const ChasePlan& first, std::size_t programs, const EncodedBatch& encoded,
                              Records records);

  ChaseGpu& gpu_;
  ChainOrders orders_;
  std::vector<std::byte> records_;
};

}  // namespace gputopo::launch
