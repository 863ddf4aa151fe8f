// The memory that transfers run over, of GPUs and of the host, and the chains that lie in it.
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

// The GPUs of a node; null where one could not be opened.
using LinkGpus = std::vector<std::unique_ptr<LinkGpu>>;

// Calls about the host's memory need a current GPU, whichever it is. There must be one.
void make_any_current(const LinkGpus& gpus);

// The two ends of a transfer.
struct Slot {
  LinkAddress from = 0;
  LinkAddress to = 0;
};

// Page-locked host memory, which the GPUs reach.
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
  // All three outlive it.
  LinkMemory(LinkDriver& driver, const NodeInfo& info, const LinkGpus& gpus)
      : driver_(driver), info_(info), gpus_(gpus), hosts_(info.numa_nodes.size()) {}

  // An address with at least so many bytes behind it; what was there is lost where it has to grow.
  LinkAddress reserve(const Place& place, std::uint64_t bytes);
  // Reserves memory for all transfers of a program: each has memory of its own at both ends.
  std::vector<Slot> slots_of(const TransferProgram& program);
  // Host memory that is not page-locked.
  HostMemory& pageable(std::uint32_t numa_node, std::uint64_t bytes);

  // Returns once the data is there: what other GPUs do does not wait for it.
  void put(const Place& place, LinkAddress address, const void* data, std::uint64_t bytes);
  std::uint64_t word_at(const Place& place, LinkAddress address);
  [[nodiscard]] LinkEnd end_at(const Place& place, LinkAddress address) const;

  // Writes links, each to the next of a random cycle through all of them.
  void build_chain(const Place& place, LinkAddress base, std::uint64_t bytes);
  // After something else was written there.
  void forget_chain(const Place& place) { chains_.erase(place); }
  void forget_chains() { chains_.clear(); }

 private:
  struct Host {
    std::unique_ptr<LockedMemory> locked;
    HostMemory pageable;
    std::uint64_t refused_bytes = std::numeric_limits<std::uint64_t>::max();  // as many could not be locked
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
  // At least so many bytes. A size that could not be had is not asked for again, because it takes long to touch and to
  // lock memory.
  LockedMemory& locked_memory(std::uint32_t index, std::uint64_t bytes);

  LinkDriver& driver_;
  const NodeInfo& info_;
  const LinkGpus& gpus_;
  std::vector<Host> hosts_;
  std::map<Place, std::pair<LinkAddress, std::uint64_t>> chains_;  // that lie at places
  std::map<std::uint64_t, ChainImage> images_;                     // by their bytes
};

}  // namespace gputopo::node
