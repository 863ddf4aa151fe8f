// The programs that a simulated machine supports, by its features and its sizes.
#pragma once

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

class Limits {
 public:
  // `spec` and `info` must outlive this object.
  Limits(const MachineSpec& spec, const DeviceInfo& info) : spec_(spec), info_(info) {}

  // Each throws NotSupportedError that names what the machine lacks for the program.
  void check(const ChaseProgram& program) const;
  void check(const StreamProgram& program) const;
  void check(const InstructionProgram& program) const;
  void check(const AccessProgram& program) const;
  void check(const ClusterProgram& program) const;
  void check(const OperationProgram& program) const;
  void check(const OccupancyProgram& program) const;
  void check(const LaunchProgram& program) const;

  // Return the carve-out that a program runs with.
  [[nodiscard]] std::uint64_t carve_out_for(const ChaseProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const StreamProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const InstructionProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const AccessProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const ClusterProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const OperationProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const OccupancyProgram& program) const;
  [[nodiscard]] std::uint64_t carve_out_for(const LaunchProgram& program) const;

 private:
  void check_space(Space space) const;
  void check_atomics(Space space) const;
  void check_sm(std::optional<std::uint32_t> sm) const;
  void check_shared(std::uint64_t bytes) const;
  void check_shared_per_sm(std::uint64_t bytes) const;
  void check_working_set(std::uint64_t bytes) const;
  // Returns the smallest carve-out of at least `wanted` bytes, or the largest one if all are smaller.
  [[nodiscard]] std::uint64_t carve_out_with(std::uint64_t wanted) const;

  const MachineSpec& spec_;
  const DeviceInfo& info_;
};

}  // namespace gputopo::sim
