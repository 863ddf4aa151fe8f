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
  std::vector<std::string> elements;    // elements ("l2") or single attributes of them ("l2.ways"); empty: all
  std::vector<std::string> attributes;  // attribute names; empty: all
  bool full = false;                    // also measures what takes long (Coverage::kMeasuredInFull)
  std::vector<std::string> methods;     // alternative methods to run in addition (method_catalogue())
  double budget_seconds = 60;           // values that do not fit are reported as timed_out
  std::uint64_t seed = 1;
  // Shared-memory carve-out for programs that need no more, on GPUs where L1 gets the rest. 0: the smallest one.
  std::uint64_t carve_out_bytes = 0;
  bool keep_samples = true;                 // keeps SampleTables, the evidence in reports, in the model
  const std::atomic<bool>* stop = nullptr;  // set to true to stop after the running launch
  bool profile = false;                     // records driver time in Topology::profile and for each step
  std::function<void(const Progress&)> on_progress;
  std::function<void(const Program&)> on_program;  // called for each program before it runs (--dump-program)
  std::function<void(const std::string&)> on_log;  // --verbose: one line on what a probe decided and why
  // Called before the first program, with a function that returns the results so far, with `why` in place of missing
  // values. For callers that end the process when a device call hangs; call it only while discover() is blocked there.
  std::function<void(std::function<Topology(const std::string& why)> known_so_far)> on_begin;
};

// Never throws because of device failures: a failure makes the attribute unavailable. A lost device also adds a
// warning and sets Topology::complete to false. Throws UsageError for unknown names and lists the valid ones.
[[nodiscard]] Topology discover(Device& device, const DiscoverOptions& options);

}  // namespace gputopo
