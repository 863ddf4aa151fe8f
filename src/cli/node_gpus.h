// The reports of a node's GPUs, each made by a process of its own: what one GPU does to its process, or a driver's call
// that does not come back, costs no other.
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
  // `likely_specs`: what the node's GPUs most likely are, which begin at once: to open a node takes a driver seconds.
  GpuProcesses(const Options& options, std::vector<std::string> likely_specs, const std::atomic<bool>& interrupted);
  GpuProcesses(const GpuProcesses&) = delete;
  GpuProcesses& operator=(const GpuProcesses&) = delete;
  // Those that still run are ended.
  ~GpuProcesses();

  // Returns once each process has opened its GPU or has ended, or after so long.
  void wait_until_open(std::chrono::milliseconds longest) const;
  // One report for each GPU of the node, in order. Where others are there than were likely, all begin again. `on_over`
  // is told of each GPU whose process has ended.
  using OnOver = std::function<void(std::size_t gpu)>;
  [[nodiscard]] std::vector<NodeGpuReport> finish(const NodeInfo& info, const OnOver& on_over);

 private:
  class Running;

  const Options& options_;
  const std::atomic<bool>& interrupted_;
  std::unique_ptr<Running> running_;
};

}  // namespace gputopo::cli
