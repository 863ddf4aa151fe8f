// The reports of a node's GPUs, from separate processes, so that a failure or a hung driver call affects only one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "gputopo/node.h"

namespace gputopo::cli {

class GpuProcesses {
 public:
  // `likely_specs`: the probable GPUs of the node. They start at once, because opening a node takes a driver seconds.
  GpuProcesses(const Options& options, std::vector<std::string> likely_specs, const std::atomic<bool>& interrupted);
  GpuProcesses(const GpuProcesses&) = delete;
  GpuProcesses& operator=(const GpuProcesses&) = delete;
  // Kills the remaining processes.
  ~GpuProcesses();

  // Returns when each process has opened its GPU or has ended, or after `longest`.
  void wait_until_open(std::chrono::milliseconds longest) const;
  // Returns one report per GPU of the node, in order. If the GPUs differ from the probable ones, all start again.
  // `on_over` is called for each GPU whose process has ended.
  using OnOver = std::function<void(std::size_t gpu)>;
  [[nodiscard]] std::vector<NodeGpuReport> finish(const NodeInfo& info, const OnOver& on_over);

 private:
  class Running;

  const Options& options_;
  const std::atomic<bool>& interrupted_;
  std::unique_ptr<Running> running_;
};

}  // namespace gputopo::cli
