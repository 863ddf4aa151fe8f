// One simulated cache: sets of lines with sectors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "device/sim/cache/homes.h"
#include "device/sim/cache/index.h"
#include "device/sim/cache/narrow_sets.h"
#include "device/sim/cache/wide_sets.h"

namespace gputopo::sim {

// A walk through new memory: loads at one distance, in ascending order.
struct NewWalk {
  std::uint64_t first_address = 0;
  std::uint64_t stride_bytes = 0;
  std::uint64_t loads = 0;
  std::uint64_t done = 0;  // the first of them that have been loaded before
};

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
  // Whether each access from here on would be as if there had been none since the checkpoint. False where that is hard
  // to say.
  [[nodiscard]] bool is_at_checkpoint();

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
  [[nodiscard]] bool holds(std::uint64_t address) {
    const std::uint64_t line = address >> line_shift_;
    const std::uint32_t sector = 1u << ((address >> sector_shift_) & sector_mask_);
    return std::visit([&](auto& sets) { return sets.holds(line, sector); }, sets_);
  }

  // The line of `address` is there no more; its way is free when its turn to be replaced has come.
  void invalidate(std::uint64_t address) {
    std::visit([line = address >> line_shift_](auto& sets) { sets.invalidate(line); }, sets_);
  }

  // Whether a walk through new memory can be told from its end, because the last lines stay: a walk that loads no
  // sector again after it has loaded another one. `stride_bytes` are between two loads.
  [[nodiscard]] bool can_fill_back(bool is_empty, std::uint64_t stride_bytes) const;
  void start_fill_back();
  // Up to kMaxLoadsAtOnce loads of the walk, from the later to the earlier and all before those that were told before.
  void fill_back(std::span<const std::uint64_t> addresses);
  // What was before the loads that have been told does not matter: nothing of it stays, nor is anything of the walk
  // there any more when it begins again.
  [[nodiscard]] bool is_overfull() const { return std::get<NarrowSets>(sets_).is_overfull(); }
  // From here on the cache is what the walk leaves.
  void end_fill_back();
  // All of this at once, where what is left in a set can be told when it is asked. `home`: only what is at home in this
  // partition comes here. Returns nothing where it cannot, else what is_overfull() would be.
  [[nodiscard]] std::optional<bool> take_walk(const NewWalk& walk, const HomeMap& homes,
                                              std::optional<std::uint32_t> home);
  // Whether it does although the walk cannot be told from its end.
  [[nodiscard]] bool can_take_walk(const NewWalk& walk, const HomeMap& homes, std::optional<std::uint32_t> home) const;

  [[nodiscard]] std::uint32_t sector_bytes() const { return 1u << sector_shift_; }

 private:
  struct Places {
    std::array<std::uint64_t, kMaxLoadsAtOnce> lines;
    std::array<std::uint32_t, kMaxLoadsAtOnce> sectors;
  };
  void find_places(std::span<const std::uint64_t> addresses, Places& places) const;
  // Line by line; nothing where it begins or goes on within one.
  [[nodiscard]] std::optional<LineWalk> lines_of(const NewWalk& walk, const HomeMap& homes,
                                                 std::optional<std::uint32_t> home) const;

  std::uint32_t line_shift_;
  std::uint32_t sector_shift_;
  std::uint32_t sector_mask_;
  std::variant<NarrowSets, WideSets> sets_;
};

}  // namespace gputopo::sim
