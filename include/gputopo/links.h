// The links of a node: between its GPUs, and between them and the memories of the host.
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

// ---- What the system says ----

struct NodeGpu {
  std::string spec;  // that opens it: "cuda:0"
  std::string name;
  std::string id;                          // anonymous, the same every time; empty where nothing tells it from others
  std::string pci_address;                 // empty when unknown
  std::optional<std::uint32_t> numa_node;  // whose memory is near: a place in NodeInfo::numa_nodes
  std::string cpus;                        // that are near: "0-31"; empty when unknown
  PciLink pci_link;
  friend bool operator==(const NodeGpu&, const NodeGpu&) = default;
};

struct NumaNode {
  std::uint32_t id = 0;  // that the system gives it
  std::string cpus;      // "0-31"; empty: it has memory alone
  std::optional<std::uint64_t> memory_bytes;
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

// What joins a GPU to another.
struct PeerLink {
  std::uint32_t from = 0;  // places in NodeInfo::gpus
  std::uint32_t to = 0;
  std::string kind;                             // "nvlink", "nvswitch", "xgmi", "pcie"; empty: unknown
  std::optional<std::uint32_t> lanes;           // links side by side
  std::optional<double> lane_bytes_per_second;  // of each, in one direction
  bool is_reachable = false;                    // one loads from the other's memory
  std::optional<bool> has_atomics;              // that the link carries them
  friend bool operator==(const PeerLink&, const PeerLink&) = default;
};

struct NodeInfo {
  std::string backend;  // "cuda", "sim", "replay"
  bool simulated = false;
  std::string name;  // of a simulated node: "h200x2"
  std::string driver_version;
  std::vector<NodeGpu> gpus;
  std::vector<NumaNode> numa_nodes;  // at least one
  std::vector<PeerLink> peers;       // for each ordered pair of GPUs
  [[nodiscard]] const PeerLink* peer(std::uint32_t from, std::uint32_t to) const;
  // Throws UsageError for a place that is not there, NotSupportedError where SMs do not reach the other's memory.
  void check(const TransferProgram& program) const;
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

// What runs transfers on the node. Not thread safe. It has memory on all of its GPUs only between the first run() and
// its end, so that the GPUs can be measured before.
class Links {
 public:
  Links() = default;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  virtual ~Links() = default;
  [[nodiscard]] virtual const NodeInfo& info() const = 0;
  // Throws as Device::run(); NotSupportedError for what two places cannot do.
  [[nodiscard]] virtual TransferResult run(const TransferProgram& program) = 0;
  // Opens a GPU of info() as the first run() would, which takes a driver long and disturbs who measures that GPU. What
  // fails here fails again in run(), which says why.
  virtual void prepare(std::size_t /*gpu*/) noexcept {}
  // Lets so much time pass, for what others do on the links to end. Nothing where time means nothing.
  virtual void rest(double /*seconds*/) {}
  // What may have disturbed its answers so far, a line each.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

// "cuda", "sim:NAME", "sim:FILE.json" or "replay:FOLDER"; empty: the GPUs that are here, else a simulated node. Throws
// as open_device().
[[nodiscard]] std::unique_ptr<Links> open_links(const std::string& spec, std::uint64_t seed);

// Specs of the GPUs that open_links(spec) will most likely show, told at once where it takes seconds to open: those of
// NVIDIA, by their management library. Empty: not known.
[[nodiscard]] std::vector<std::string> likely_gpus(const std::string& spec);

// What a node answered, in order.
using LinkAnswers = std::vector<std::pair<TransferProgram, TransferResult>>;
// Writes FOLDER/links.json, without addresses and ids. The GPUs' own recordings lie beside it: gpu0.gputopo, ... Throws
// FileError.
void save_links(const std::string& folder, const NodeInfo& info, const LinkAnswers& answers);

// Keeps what a node answers.
class LinksRecorder : public Links {
 public:
  explicit LinksRecorder(std::unique_ptr<Links> links) : links_(std::move(links)) {}
  [[nodiscard]] const NodeInfo& info() const override { return links_->info(); }
  [[nodiscard]] TransferResult run(const TransferProgram& program) override;
  void prepare(std::size_t gpu) noexcept override { links_->prepare(gpu); }
  void rest(double seconds) override { links_->rest(seconds); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return links_->warnings(); }
  // They outlive the recorder.
  [[nodiscard]] std::shared_ptr<LinkAnswers> answers() const { return answers_; }

 private:
  std::unique_ptr<Links> links_;
  std::shared_ptr<LinkAnswers> answers_ = std::make_shared<LinkAnswers>();
};

}  // namespace gputopo
