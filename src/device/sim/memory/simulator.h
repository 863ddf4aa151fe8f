// Runs chase programs load by load on the memory of a simulated machine. Most programs of a discovery are copies of the
// one before or begin as it did, so what those have in common is simulated once.
#pragma once

#include <optional>
#include <vector>

#include "device/sim/memory/behaviour.h"
#include "device/sim/memory/chain.h"
#include "device/sim/memory/hierarchy.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// Where the arrays of a program lie.
[[nodiscard]] std::vector<std::uint64_t> place_arrays(const ChaseProgram& program);

class Simulator {
 public:
  explicit Simulator(const MachineSpec& spec) : spec_(spec), hierarchy_(spec) {}

  // `seed` is of random replacement; `noise` has started the program, and says when a neighbour disturbs it. The answer
  // depends on the arguments only, not on what ran before.
  [[nodiscard]] const Behaviour& run(const ChaseProgram& program, std::uint64_t carve_out_bytes, std::uint64_t seed,
                                     Noise& noise);

 private:
  void begin(const ChaseProgram& program, std::uint64_t carve_out_bytes, std::uint64_t seed);
  void write_local_links(const ChaseProgram& program);
  void take_steps(const ChaseProgram& program, std::size_t first, std::size_t last, Noise& noise);
  [[nodiscard]] StepBehaviour store(const ChaseStep& step, const Path& path, const ChainAddresses& elements,
                                    Noise& noise);
  void touch(const ChaseProgram& program, const ChaseStep& step, std::uint64_t done, Noise& noise,
             StepBehaviour& behaviour);
  [[nodiscard]] bool finds_nothing(const ChaseProgram& program, const ChaseStep& step) const;
  // A touch that finds nothing of its array but for the `done` elements that it has touched: what all its loads take
  // and leave is known without one after another. False where that cannot be said; nothing has changed then.
  bool touch_new(const ChaseProgram& program, const ChaseStep& step, const Path& path, bool is_empty,
                 const ChainAddresses& elements, std::uint64_t& done, StepBehaviour& behaviour);
  template <Order kOrder>
  void touch_in_order(const ChaseProgram& program, const ChaseStep& step, const ChainAddresses& elements,
                      std::uint64_t done, Noise& noise, StepBehaviour& behaviour);

  const MachineSpec& spec_;
  Hierarchy hierarchy_;
  ElementOrders orders_;

  struct Done {
    ChaseProgram program;
    std::uint64_t carve_out_bytes = 0;
    std::optional<ChaseStep> overfull;  // overfull_ at its end
  };
  // The program that `behaviour_` is of; empty where another seed or a neighbour would have led elsewhere.
  std::optional<Done> last_;
  // The steps and arrays that led to the checkpoint of `hierarchy_`; `behaviour_` begins with what they did. Nothing
  // while the hierarchy's checkpoints are free for others.
  std::optional<Done> checkpoint_;
  Behaviour behaviour_;
  // A touch of this program that leaves nothing in any cache that the same touch would find.
  std::optional<ChaseStep> overfull_;
};

}  // namespace gputopo::sim
