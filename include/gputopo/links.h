// The links of a node: between its GPUs, and between the GPUs and host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gputopo/device.h"
#include "gputopo/program/transfer.h"

namespace gputopo {

// ---- What the system reports ----

struct NodeGpu {
  std::string spec;  // opens the GPU: "cuda:0"
  std::string name;
  std::string id;                          // anonymous, always the same; empty if nothing identifies the GPU
  std::string pci_address;                 // empty if unknown
  std::optional<std::uint32_t> numa_node;  // of near memory: an index in NodeInfo::numa_nodes
  std::string cpus;                        // near CPUs: "0-31"; empty if unknown
  PciLink pci_link;
  std::optional<std::uint32_t> nvlinks;      // that are up
  std::optional<std::uint32_t> nvlinks_max;  // that the board has
  friend bool operator==(const NodeGpu&, const NodeGpu&) = default;
};

struct NumaNode {
  std::uint32_t id = 0;  // the system's number
  std::string cpus;      // "0-31"; empty for a node with memory only
  std::optional<std::uint64_t> memory_bytes;
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

// The link from one GPU to another.
struct PeerLink {
  std::uint32_t from = 0;  // indices in NodeInfo::gpus
  std::uint32_t to = 0;
  std::string kind;                             // "nvlink", "nvswitch", "xgmi", "pcie"; empty if unknown
  std::optional<std::uint32_t> lanes;           // parallel links
  std::optional<double> lane_bytes_per_second;  // of each lane, in one direction
  bool is_reachable = false;                    // peer access: `to` can load from the memory of `from`
  std::optional<bool> has_atomics;              // whether the link carries atomic operations
  friend bool operator==(const PeerLink&, const PeerLink&) = default;
};

struct NodeInfo {
  std::string backend;  // "cuda", "sim", "replay"
  bool simulated = false;
  std::string name;  // for a simulated node: "h200x2"
  std::string driver_version;
  std::vector<NodeGpu> gpus;
  std::vector<NumaNode> numa_nodes;  // at least one
  std::vector<PeerLink> peers;       // for each ordered pair of GPUs
  [[nodiscard]] const PeerLink* peer(std::uint32_t from, std::uint32_t to) const;
  // Throws UsageError for a place that does not exist, NotSupportedError if the SMs have no access to the other place.
  void check(const TransferProgram& program) const;
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

// Runs transfers on the node. Not thread safe. It holds memory on all GPUs from the first run() until its destruction
// only, so that the GPUs can be measured before.
class Links {
 public:
  Links() = default;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  virtual ~Links() = default;
  [[nodiscard]] virtual const NodeInfo& info() const = 0;
  // Throws the exceptions of Device::run(), and NotSupportedError for what two places cannot do.
  [[nodiscard]] virtual TransferResult run(const TransferProgram& program) = 0;
  // Opens a GPU of info() as the first run() would. That takes a driver long and disturbs measurements on that GPU. A
  // failure here recurs in run(), which reports it.
  virtual void prepare(std::size_t /*gpu*/) noexcept {}
  // Waits `seconds`, so that other work on the links can end. Does nothing on nodes without real time.
  virtual void rest(double /*seconds*/) {}
  // Possible disturbances of the results so far, one line each.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

// Opens "cuda", "sim:NAME", "sim:FILE.json" or "replay:FOLDER"; empty: the GPUs of this host, or a simulated node if
// there are none. Throws the exceptions of open_device().
[[nodiscard]] std::unique_ptr<Links> open_links(const std::string& spec, std::uint64_t seed);

// The specs of the GPUs that open_links(spec) will probably show, without its seconds of delay: NVIDIA's GPUs, by
// their management library. Empty if unknown.
[[nodiscard]] std::vector<std::string> likely_gpus(const std::string& spec);

// The answers of a node, in order.
using LinkAnswers = std::vector<std::pair<TransferProgram, TransferResult>>;
// Writes FOLDER/links.json, without addresses and ids, beside the GPUs' recordings gpu0.gputopo, ... Throws FileError.
void save_links(const std::string& folder, const NodeInfo& info, const LinkAnswers& answers);

// Keeps the answers of a node.
class LinksRecorder : public Links {
 public:
  explicit LinksRecorder(std::unique_ptr<Links> links) : links_(std::move(links)) {}
  [[nodiscard]] const NodeInfo& info() const override { return links_->info(); }
  [[nodiscard]] TransferResult run(const TransferProgram& program) override;
  void prepare(std::size_t gpu) noexcept override { links_->prepare(gpu); }
  void rest(double seconds) override { links_->rest(seconds); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return links_->warnings(); }
  // The answers outlive the recorder.
  [[nodiscard]] std::shared_ptr<LinkAnswers> answers() const { return answers_; }

 private:
  std::unique_ptr<Links> links_;
  std::shared_ptr<LinkAnswers> answers_ = std::make_shared<LinkAnswers>();
};

}  // namespace gputopo
