// The interface of a GPU for the runner of chase programs: the vendor's kernels "fill" and "chase".
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

struct ChaseLaunch {
  Address tasks = 0;  // address of ChaseTasks
  std::uint32_t task_count = 1;
  bool by_block = true;  // block b runs task b; otherwise the first block on the SM that a task wants
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;           // dynamic shared memory
  std::uint64_t local_bytes = 0;            // upper bound per warp
  std::uint64_t carve_out_bytes = 0;        // ignored if carve-outs are fixed
  std::uint32_t l2_fetch_bytes = 0;         // as in ChaseProgram
  std::set<std::uint32_t> wanted_sms = {};  // hardware ids that tasks want; empty with by_block
};

// A texture over device memory. It is valid while `owner` lives.
struct TextureView {
  std::uint64_t handle = 0;
  std::shared_ptr<void> owner;
};

class ChaseGpu : public LaunchGpu {
 public:
  // Must be called before reserve() for programs with so many bytes of local memory for each warp. Throws
  // NotSupportedError if there is no room for them.
  virtual void prepare_local(std::uint64_t) {}
  // `tasks`: address of `arrays` FillTasks. May return early; the next kernel then runs behind it and may report a
  // failure.
  virtual void launch_fill(Address tasks, std::uint32_t arrays, std::uint64_t most_elements) = 0;
  // Returns when the kernel has ended. Throws if it failed.
  virtual void launch_chase(const ChaseLaunch& launch) = 0;

  // Not every vendor has these; programs that need them are refused earlier. A texel has `channels` words.
  [[nodiscard]] virtual TextureView make_texture(Address address, std::uint64_t bytes, std::uint32_t channels);
  // Copies kConstantBankBytes, for a launch with so many bytes of local memory.
  virtual void set_constants(Address image, std::uint64_t local_bytes);

  // Throws NotSupportedError for a program that this GPU's kernels cannot run.
  virtual void check(const ChaseProgram& program) const = 0;
  // Whether a program that is not exclusive may run beside programs on other SMs.
  [[nodiscard]] virtual bool may_run_beside_others(const ChaseProgram&) const { return true; }
};

}  // namespace gputopo::launch
