// The memory of GPUs and of the host that transfers use, and the chains in it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/node/host_memory.h"
#include "device/node/link_driver.h"
#include "gputopo/links.h"

namespace gputopo::node {

// The GPUs of a node; null if one could not be opened.
using LinkGpus = std::vector<std::unique_ptr<LinkGpu>>;

// Calls for the host's memory need a current GPU, whichever it is. At least one must be open.
void make_any_current(const LinkGpus& gpus);

// The two ends of a transfer.
struct Slot {
  LinkAddress from = 0;
  LinkAddress to = 0;
};

// Page-locked host memory that the GPUs reach.
class LockedMemory {
 public:
  LockedMemory(LinkDriver& driver, std::uint64_t bytes, std::optional<std::uint32_t> numa_node)
      : driver_(driver), memory_(bytes, numa_node), address_(driver.lock(memory_.data(), bytes)) {}
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;
  ~LockedMemory() { driver_.unlock(memory_.data()); }
  [[nodiscard]] std::byte* at(LinkAddress address) const { return memory_.data() + (address - address_); }
  [[nodiscard]] LinkAddress address() const { return address_; }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }

 private:
  LinkDriver& driver_;
  HostMemory memory_;
  LinkAddress address_;
};

class LinkMemory {
 public:
  // All three must outlive this object.
  LinkMemory(LinkDriver& driver, const NodeInfo& info, const LinkGpus& gpus)
      : driver_(driver), info_(info), gpus_(gpus), hosts_(info.numa_nodes.size()) {}

  // Returns an address with at least so many bytes behind it. The content is lost if the memory grows.
  LinkAddress reserve(const Endpoint& place, std::uint64_t bytes);
  // Reserves memory for all transfers of a program. Each has memory of its own at both ends.
  std::vector<Slot> slots_of(const TransferProgram& program);
  // Host memory that is not page-locked.
  HostMemory& pageable(std::uint32_t numa_node, std::uint64_t bytes);

  // Returns when the data has arrived, because work of other GPUs does not wait for it.
  void put(const Endpoint& place, LinkAddress address, const void* data, std::uint64_t bytes);
  std::uint64_t word_at(const Endpoint& place, LinkAddress address);
  [[nodiscard]] LinkEnd end_at(const Endpoint& place, LinkAddress address) const;

  // Writes a random cycle of links through all of the memory.
  void build_chain(const Endpoint& place, LinkAddress base, std::uint64_t bytes);
  // Must be called after something else was written there.
  void forget_chain(const Endpoint& place) { chains_.erase(place); }
  void forget_chains() { chains_.clear(); }

 private:
  struct Host {
    std::unique_ptr<LockedMemory> locked;
    HostMemory pageable;
    std::uint64_t refused_bytes = std::numeric_limits<std::uint64_t>::max();  // smallest size that could not be locked
    std::string refusal;
  };

  // A chain as it lies in memory. It is kept because shuffling a million links takes longer than copying them.
  class ChainImage {
   public:
    // Addresses count from `base`.
    const std::vector<std::uint64_t>& at(LinkAddress base, std::uint64_t bytes);

   private:
    std::vector<std::uint64_t> words_;
    LinkAddress base_ = 0;
  };

  [[nodiscard]] std::optional<std::uint32_t> numa_id(std::uint32_t index) const;
  // Returns at least so many bytes. A size that failed is not tried again: touching and locking memory take long.
  LockedMemory& locked_memory(std::uint32_t index, std::uint64_t bytes);

  LinkDriver& driver_;
  const NodeInfo& info_;
  const LinkGpus& gpus_;
  std::vector<Host> hosts_;
  std::map<Endpoint, std::pair<LinkAddress, std::uint64_t>> chains_;  // chains present at places
  std::map<std::uint64_t, ChainImage> images_;                        // by size in bytes
};

}  // namespace gputopo::node
