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

// A walk through new memory: loads with a fixed stride, in ascending order.
struct NewWalk {
  std::uint64_t first_address = 0;
  std::uint64_t stride_bytes = 0;
  std::uint64_t loads = 0;
  std::uint64_t done = 0;  // leading loads that were done before
};

class Cache {
 public:
  explicit Cache(const CacheGeometry& geometry);

  // Empties the cache in constant time. Must be called before the first access too. `seed` drives random replacement.
  void start_program(std::uint64_t seed);

  // Lets rollback() undo the effects of later accesses, until start_program() is called.
  void checkpoint();
  // Restores the state of the checkpoint for another program, whose random replacement has another seed.
  void rollback(std::uint64_t seed);
  // Ends the checkpoint: later effects can no longer be undone.
  void end_checkpoint();
  // True only if every later access would be as right after the checkpoint. May be false if that is hard to tell.
  [[nodiscard]] bool is_at_checkpoint();

  // True if a line was chosen at random since start_program(): another seed would have led to other contents.
  [[nodiscard]] bool chose_at_random() const;

  // Loads `address`. Returns true if the line and the sector were present; otherwise they are now.
  bool access(std::uint64_t address) {
    bool hit = false;
    access({&address, 1}, &hit);
    return hit;
  }
  // The same for up to kMaxLoadsAtOnce addresses, in order.
  void access(std::span<const std::uint64_t> addresses, bool* hits);

  // Returns whether a load of `address` would hit, without the effects of the load.
  [[nodiscard]] bool holds(std::uint64_t address) {
    const std::uint64_t line = address >> line_shift_;
    const std::uint32_t sector = 1u << ((address >> sector_shift_) & sector_mask_);
    return std::visit([&](auto& sets) { return sets.holds(line, sector); }, sets_);
  }

  // Drops the line of `address`. Its way stays unused until replacement chooses it.
  void invalidate(std::uint64_t address) {
    std::visit([line = address >> line_shift_](auto& sets) { sets.invalidate(line); }, sets_);
  }

  // Whether the result of a walk through new memory can be built from the walk's end, because the last lines stay. The
  // walk must not load a sector again after it has loaded another one. `stride_bytes`: from one load to the next.
  [[nodiscard]] bool can_fill_back(bool is_empty, std::uint64_t stride_bytes) const;
  void start_fill_back();
  // Takes up to kMaxLoadsAtOnce loads of the walk, from later to earlier ones, all before those taken so far.
  void fill_back(std::span<const std::uint64_t> addresses);
  // True if what the cache held before the loads taken so far does not matter: nothing of it stays, and the walk finds
  // nothing of itself when it begins again.
  [[nodiscard]] bool is_overfull() const { return std::get<NarrowSets>(sets_).is_overfull(); }
  // The cache then holds what the walk leaves.
  void end_fill_back();
  // Does all of this at once, if the contents of each set can be computed when the set is used. `home`: only lines with
  // their home in this partition come here. Returns nothing if it cannot, otherwise what is_overfull() would return.
  [[nodiscard]] std::optional<bool> take_walk(const NewWalk& walk, const HomeMap& homes,
                                              std::optional<std::uint32_t> home);
  // Whether take_walk() can take a walk that cannot be built from its end.
  [[nodiscard]] bool can_take_walk(const NewWalk& walk, const HomeMap& homes, std::optional<std::uint32_t> home) const;

  [[nodiscard]] std::uint32_t sector_bytes() const { return 1u << sector_shift_; }

 private:
  struct Places {
    std::array<std::uint64_t, kMaxLoadsAtOnce> lines;
    std::array<std::uint32_t, kMaxLoadsAtOnce> sectors;
  };
  void find_places(std::span<const std::uint64_t> addresses, Places& places) const;
  // Converts to whole lines. Nothing if the walk begins or continues within a line, or its stride divides no line.
  [[nodiscard]] std::optional<LineWalk> lines_of(const NewWalk& walk, const HomeMap& homes,
                                                 std::optional<std::uint32_t> home) const;

  std::uint32_t line_shift_;
  std::uint32_t sector_shift_;
  std::uint32_t sector_mask_;
  std::variant<NarrowSets, WideSets> sets_;
};

}  // namespace gputopo::sim
