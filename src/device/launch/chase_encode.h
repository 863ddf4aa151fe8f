// Encodes the tasks of a batch of chase programs, and the tables that they point to, as bytes. Needs no GPU.
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

// Host memory that is copied to the device in one piece.
class Staging {
 public:
  static constexpr std::uint64_t kAlignment = alignof(std::max_align_t);

  // Returns the offset of the values from the start.
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

// The tables of orders. They are staged first, because tasks point at them.
struct ChaseTables {
  Staging staging;
  std::map<std::pair<const ChaseArray*, std::uint32_t>, std::uint64_t> offsets;  // by array and chain
};
[[nodiscard]] ChaseTables stage_tables(const std::vector<ChasePlan*>& batch, ChainOrders& orders);

// Upper bounds of the bytes that the tables and the tasks of a batch take.
[[nodiscard]] std::uint64_t table_bytes(const std::vector<ChasePlan*>& batch);
[[nodiscard]] std::uint64_t task_bytes(const std::vector<ChasePlan*>& batch);

// The device's handles and ids for a program of the batch.
struct ChasePlace {
  std::vector<std::uint64_t> textures;    // texture object by array; 0 for other spaces
  std::vector<std::uint32_t> wanted_sms;  // by slot: hardware id of the SM that must run it, or kAnySm
};

// The address of a batch, and what its tasks must know of the GPU.
struct BatchPlace {
  Address base = 0;  // address of its memory
  std::uint32_t warp_size = 32;
  std::uint32_t patience_cycles = 0;
  std::vector<ChasePlace> programs;
};

struct EncodedBatch {
  std::vector<std::byte> bytes;  // to be copied to BatchLayout::staged
  Address fills = 0;
  std::uint32_t fill_count = 0;
  std::uint64_t most_elements = 0;  // length of the longest chain whose links are written
  Address tasks = 0;
  std::uint32_t task_count = 0;
  std::set<std::uint32_t> wanted_sms;  // hardware ids that tasks want
  std::optional<Address> constants;    // address of the image of the constant bank, if any
  std::uint64_t shared_bytes = 0;      // shared memory per block
  std::uint64_t local_bytes = 0;       // local memory per warp
  std::uint32_t threads = 0;
};
[[nodiscard]] EncodedBatch encode(const std::vector<ChasePlan*>& batch, const BatchLayout& layout,
                                  const BatchPlace& place, ChaseTables tables, ChainOrders& orders);

}  // namespace gputopo::launch
