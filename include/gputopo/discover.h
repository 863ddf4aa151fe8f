// Discovery: plans the probes that apply to a device, runs them and returns the model.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

struct Progress {
  std::string probe;  // "l1.size"; empty at the very end
  std::size_t done = 0;
  std::size_t total = 0;
  double elapsed_seconds = 0;
};

struct DiscoverOptions {
  std::vector<std::string> elements;    // ids to discover, or single attributes of them ("l2.ways"); empty: all
  std::vector<std::string> attributes;  // ids to discover; empty: all
  bool full = false;                    // also what takes its time (Coverage::kMeasuredInFull)
  std::vector<std::string> methods;     // others than this project's own to run beside them (method_catalogue())
  double budget_seconds = 60;           // what does not fit is reported as timed_out
  std::uint64_t seed = 1;
  // Of shared memory, for all programs that need no more: of GPUs whose L1 is what is left of both. 0: the smallest.
  std::uint64_t carve_out_bytes = 0;
  bool keep_samples = true;                 // SampleTables in the model: the evidence in reports
  const std::atomic<bool>* stop = nullptr;  // set it to end after the running launch
  bool profile = false;  // where the time of the device's driver goes: Topology::profile, and of each step
  std::function<void(const Progress&)> on_progress;
  std::function<void(const Program&)> on_program;  // sees every program before it runs (--dump-program)
  std::function<void(const std::string&)> on_log;  // --verbose: one line of what a probe decided and why
  // Called before the first program, with a function that gives what is known so far; `why` stands where a value would.
  // For who ends the process because a call to the device does not come back: only while the discovery is held there.
  std::function<void(std::function<Topology(const std::string& why)> known_so_far)> on_begin;
};

// Never throws for what a device does: a failure becomes an unavailable attribute and, if the device is lost, a warning
// and Topology::complete == false. Throws UsageError for ids that do not exist, listing the valid ones.
[[nodiscard]] Topology discover(Device& device, const DiscoverOptions& options);

}  // namespace gputopo
