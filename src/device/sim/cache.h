// One simulated cache: sets of lines with sectors.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "device/sim/cache_index.h"
#include "device/sim/narrow_sets.h"
#include "device/sim/wide_sets.h"

namespace gputopo::sim {

class Cache {
 public:
  explicit Cache(const CacheGeometry& geometry);

  // Empties the cache, in constant time. To be called before the first access too. `seed` is of random replacement.
  void start_program(std::uint64_t seed);

  // From here on rollback() can undo what accesses change, until start_program() is called.
  void checkpoint();
  // What was at the checkpoint is there again, for another program whose random replacement has another seed.
  void rollback(std::uint64_t seed);
  // What changes from here on stays.
  void end_checkpoint();

  // A line was chosen at random since start_program(): another seed would have led to other contents.
  [[nodiscard]] bool chose_at_random() const;

  // Loads what holds `address`: true if the line and the sector were there; otherwise they are now.
  bool access(std::uint64_t address) {
    bool hit = false;
    access({&address, 1}, &hit);
    return hit;
  }
  // The same of up to kMaxLoadsAtOnce addresses, one after another.
  void access(std::span<const std::uint64_t> addresses, bool* hits);

  // Whether a load of `address` would hit, without its effects.
  [[nodiscard]] bool holds(std::uint64_t address) const {
    const std::uint64_t line = address >> line_shift_;
    const std::uint32_t sector = 1u << ((address >> sector_shift_) & sector_mask_);
    return std::visit([&](const auto& sets) { return sets.holds(line, sector); }, sets_);
  }

  // The line of `address` is there no more; its way is free when its turn to be replaced has come.
  void invalidate(std::uint64_t address) {
    std::visit([line = address >> line_shift_](auto& sets) { sets.invalidate(line); }, sets_);
  }

  [[nodiscard]] std::uint32_t sector_bytes() const { return 1u << sector_shift_; }

 private:
  std::uint32_t line_shift_;
  std::uint32_t sector_shift_;
  std::uint32_t sector_mask_;
  std::variant<NarrowSets, WideSets> sets_;
};

}  // namespace gputopo::sim
