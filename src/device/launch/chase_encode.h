// The tasks of a batch of chase programs, and the tables that they point to, as bytes for the GPU. No GPU is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "device/launch/chain_orders.h"
#include "device/launch/chase_layout.h"
#include "device/launch/launch_gpu.h"
#include "model/round_up.h"

namespace gputopo::launch {

// Host memory that is to be copied to the device in one piece.
class Staging {
 public:
  static constexpr std::uint64_t kAlignment = alignof(std::max_align_t);

  // Returns how far from the start the values lie.
  template <typename T>
  std::uint64_t add(std::span<const T> values) {
    bytes_.resize(round_up(bytes_.size(), kAlignment));
    const std::uint64_t offset = bytes_.size();
    bytes_.resize(offset + values.size_bytes());
    if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
    return offset;
  }
  template <typename T>
  std::uint64_t add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// The orders of the chains that must be told, which lie first of what is staged: tasks point at them.
struct ChaseTables {
  Staging staging;
  std::map<std::pair<const ChaseArray*, std::uint32_t>, std::uint64_t> offsets;  // by array and chain
};
[[nodiscard]] ChaseTables stage_tables(const std::vector<ChasePlan*>& batch, ChainOrders& orders);

// Bytes that the tables of a batch take at most, and all its tasks.
[[nodiscard]] std::uint64_t table_bytes(const std::vector<ChasePlan*>& batch);
[[nodiscard]] std::uint64_t task_bytes(const std::vector<ChasePlan*>& batch);

// What the device says of a program of the batch.
struct ChasePlace {
  std::vector<std::uint64_t> textures;    // by array: its texture object, 0 for other spaces
  std::vector<std::uint32_t> wanted_sms;  // by slot: hardware id of the only SM that may run it; kAnySm: any
};

// Where the batch lies, and what its tasks must know of the GPU.
struct BatchPlace {
  Address base = 0;  // of its memory
  std::uint32_t warp_size = 32;
  std::uint32_t patience_cycles = 0;
  std::vector<ChasePlace> programs;
};

struct EncodedBatch {
  std::vector<std::byte> bytes;  // for BatchLayout::staged
  Address fills = 0;
  std::uint32_t fill_count = 0;
  std::uint64_t most_elements = 0;  // of a chain, that links are written to
  Address tasks = 0;
  std::uint32_t task_count = 0;
  std::set<std::uint32_t> wanted_sms;  // hardware ids of all that tasks want
  std::optional<Address> constants;    // where the image of the constant bank lies, if there is one
  std::uint64_t shared_bytes = 0;      // of a block
  std::uint64_t local_bytes = 0;       // of a warp
  std::uint32_t threads = 0;
};
[[nodiscard]] EncodedBatch encode(const std::vector<ChasePlan*>& batch, const BatchLayout& layout,
                                  const BatchPlace& place, ChaseTables tables, ChainOrders& orders);

}  // namespace gputopo::launch
