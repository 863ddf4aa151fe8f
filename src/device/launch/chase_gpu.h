// What the runner of chase programs needs of a GPU: the kernels "fill" and "chase" of its vendor.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// A launch of the kernel "chase".
struct ChaseLaunch {
  Address tasks = 0;  // ChaseTasks
  std::uint32_t task_count = 1;
  bool by_block = true;  // block b runs task b; otherwise the first block on the SM that a task wants runs it
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;           // dynamic
  std::uint64_t local_bytes = 0;            // of a warp, at most
  std::uint64_t carve_out_bytes = 0;        // ignored where carve-outs are fixed
  std::uint32_t l2_fetch_bytes = 0;         // as ChaseProgram's
  std::set<std::uint32_t> wanted_sms = {};  // hardware ids of all that tasks want; empty with by_block
};

// A texture over device memory, for as long as `owner` lives.
struct TextureView {
  std::uint64_t handle = 0;
  std::shared_ptr<void> owner;
};

class ChaseGpu : public LaunchGpu {
 public:
  // Before reserve() for programs with so many bytes of local memory for each warp. Throws NotSupportedError where
  // there is no room for that.
  virtual void prepare_local(std::uint64_t) {}
  // `arrays` FillTasks lie at `tasks`. May return before the kernel has ended: the next one runs behind it, and a
  // failure may be told then.
  virtual void launch_fill(Address tasks, std::uint32_t arrays, std::uint64_t most_elements) = 0;
  // Returns once the kernel has ended; throws when it failed.
  virtual void launch_chase(const ChaseLaunch& launch) = 0;

  // What not every vendor has; the programs that need it are refused before it is called. A texel has `channels` words.
  [[nodiscard]] virtual TextureView make_texture(Address address, std::uint64_t bytes, std::uint32_t channels);
  // Of kConstantBankBytes, for a launch with so many bytes of local memory.
  virtual void set_constants(Address image, std::uint64_t local_bytes);

  // Throws NotSupportedError for a program that this GPU's kernels cannot run.
  virtual void check(const ChaseProgram& program) const = 0;
  // Whether programs on other SMs may run at the same time, though the program is not exclusive.
  [[nodiscard]] virtual bool may_run_beside_others(const ChaseProgram&) const { return true; }
};

}  // namespace gputopo::launch
