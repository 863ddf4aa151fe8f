// Runs chase programs load by load on the memory of a simulated machine. Most programs of a discovery are copies of the
// previous one or begin as it did, so the common part is simulated only once.
#pragma once

#include <optional>
#include <vector>

#include "device/sim/memory/behaviour.h"
#include "device/sim/memory/chain.h"
#include "device/sim/memory/hierarchy.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// The base addresses of a program's arrays.
[[nodiscard]] std::vector<std::uint64_t> place_arrays(const ChaseProgram& program);

class Simulator {
 public:
  explicit Simulator(const MachineSpec& spec) : spec_(spec), hierarchy_(spec) {}

  // `seed` drives random replacement. `noise` must already be set to this program; it tells when a neighbor disturbs
  // it. The answer depends only on the arguments, not on earlier programs.
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
  // Takes a touch without simulating each load, if it finds nothing of its array in the caches but the `done` elements
  // that it has touched itself. Returns false and changes nothing if that is not certain.
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
  // The program of `behaviour_`. Unset if another seed or a neighbor would have changed the result.
  std::optional<Done> last_;
  // The steps and arrays that led to the checkpoint of `hierarchy_`; `behaviour_` begins with their behaviors. While
  // it is unset, repeated walks (walk.cpp) may use the hierarchy's checkpoint themselves.
  std::optional<Done> checkpoint_;
  Behaviour behaviour_;
  // A touch of this program after which no cache holds anything that the same touch would find.
  std::optional<ChaseStep> overfull_;
};

}  // namespace gputopo::sim
