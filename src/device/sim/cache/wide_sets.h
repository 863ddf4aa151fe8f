// The sets of a simulated cache with many ways. A lookup, a hit and a replacement take constant time for any number of
// ways: a hash table finds the lines, and each set keeps its lines in a list by age.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "device/sim/cache/index.h"

namespace gputopo::sim {

class WideSets {
 public:
  explicit WideSets(const CacheGeometry& geometry);

  // Same as in Cache.
  void start_program(std::uint64_t seed);
  void checkpoint();
  void rollback(std::uint64_t seed);
  void end_checkpoint() { noting_ = false; }
  [[nodiscard]] bool is_at_checkpoint();
  [[nodiscard]] bool chose_at_random() const { return chose_at_random_; }

  // Loads a sector of each of up to kMaxLoadsAtOnce lines, in order. `sectors` and `hits` have as many elements.
  void access(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, bool* hits);

  [[nodiscard]] bool holds(std::uint64_t line, std::uint32_t sector) const {
    const std::uint32_t s = find(line);
    return s != kNone && (slots_[s].sectors & sector) != 0;
  }

  void invalidate(std::uint64_t line) {
    const std::uint32_t s = find(line);
    if (s == kNone) return;
    note(slots_[s]);
    slots_[s].sectors = 0;
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint64_t kLineMask = (1ull << 48) - 1;

  // Way 0 of every set comes first, then way 1, so the lines of a contiguous array are neighbors here too.
  struct Slot {
    std::uint64_t line : 48;
    std::uint64_t way : 16;
    std::uint32_t sectors;
    std::uint32_t next_in_bucket;
  };

  // A bucket of an earlier program is empty.
  struct Bucket {
    std::uint32_t program = 0;
    std::uint32_t first_slot = kNone;
  };

  // A ring of a set's ways by age, from the newest to the oldest and round. It is apart from the slots, so that a set's
  // ring lies in one or two lines of the host's cache.
  struct Age {
    std::uint16_t older = 0;
    std::uint16_t younger = 0;
  };

  struct Set {
    std::uint32_t first_way = 0;  // index of the set's first way in ages_ and tree_
    std::uint32_t ways = 0;
    std::uint32_t used = 0;
    std::uint32_t newest = 0;   // newest way, if any is used; random replacement: number of lines replaced
    std::uint32_t program = 0;  // the set is empty if this is not the current program
  };

  struct Change {
    void* where = nullptr;
    std::size_t bytes = 0;
    std::array<std::byte, 24> old;
  };

  bool access_one(std::uint64_t line, std::uint32_t set_index, std::uint32_t sector) {
    const std::uint32_t s = find(line);
    if (s == kNone) {
      insert(line, set_index, sector);
      return false;
    }
    Slot& slot = slots_[s];
    touch(set_index, slot.way);
    if ((slot.sectors & sector) != 0) return true;
    note(slot);
    slot.sectors |= sector;
    return false;
  }

  // Prefetches the host's memory for the next accesses.
  void prefetch(std::span<const std::uint64_t> lines, const std::uint32_t* sets) const;

  // Neighboring lines get neighboring buckets; lines a power of two apart, however many, spread too.
  [[nodiscard]] std::uint32_t bucket_of(std::uint64_t line) const {
    return static_cast<std::uint32_t>(line + (line >> bucket_bits_) * 0x9E3779B1u) & bucket_mask_;
  }

  [[nodiscard]] std::uint32_t first_in_bucket(std::uint64_t line) const {
    const Bucket& bucket = buckets_[bucket_of(line)];
    return bucket.program == program_ ? bucket.first_slot : kNone;
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t line) const {
    std::uint32_t s = first_in_bucket(line);
    while (s != kNone && slots_[s].line != line) s = slots_[s].next_in_bucket;
    return s;
  }

  [[nodiscard]] std::uint32_t slot_at(std::uint32_t set, std::uint32_t way) const {
    return way * static_cast<std::uint32_t>(sets_.size()) + set;
  }

  void touch(std::uint32_t set_index, std::uint32_t way) {
    if (replacement_ == Replacement::kLru) {
      make_newest(sets_[set_index], way);
    } else if (replacement_ == Replacement::kTreePlru) {
      update_plru_tree(sets_[set_index], way);
    }
  }

  void make_newest(Set& set, std::uint32_t way) {
    if (set.newest == way) return;
    note(set);
    const Age* ages = &ages_[set.first_way];
    // Turning the ring makes the oldest line the newest: the common case of a cyclic chase.
    if (ages[set.newest].younger != way) {
      unlink(set, way);
      link_before_newest(set, way);
    }
    set.newest = way;
  }

  // The way that a miss in a full set replaces; only a guess for tree PLRU.
  [[nodiscard]] std::uint32_t likely_victim(std::uint32_t set_index) const {
    const Set& set = sets_[set_index];
    if (replacement_ == Replacement::kRandom) return victim_.way(seed_, set_index, set.newest, set.ways);
    if (replacement_ == Replacement::kTreePlru) return 0;
    return ages_[set.first_way + set.newest].younger;
  }

  // Must be called before any change that rollback() undoes.
  template <typename T>
  void note(T& object) {
    if (!noting_) return;
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Change::old));
    Change& change = changes_.emplace_back();
    change.where = &object;
    change.bytes = sizeof(T);
    std::memcpy(change.old.data(), &object, sizeof(T));
  }

  // Undoes a change, or redoes it.
  static void swap(Change& change);
  // The sets that changed since the checkpoint, ascending. Only for replacement by age.
  [[nodiscard]] std::vector<std::uint32_t> changed_sets() const;
  // The lines of these sets and their sectors, newest first. Only for replacement by age.
  [[nodiscard]] std::vector<std::uint64_t> lines_by_age(const std::vector<std::uint32_t>& sets) const;

  void insert(std::uint64_t line, std::uint32_t set_index, std::uint32_t sector);
  std::uint32_t fill_way(Set& set);
  std::uint32_t replace_way(std::uint32_t set_index);
  void forget(std::uint32_t s);
  void unlink(const Set& set, std::uint32_t way);
  void link_before_newest(const Set& set, std::uint32_t way);
  void update_plru_tree(const Set& set, std::uint32_t way);

  CacheIndex index_;
  RandomVictim victim_;
  Replacement replacement_;
  std::uint32_t bucket_bits_ = 0;
  std::uint32_t bucket_mask_ = 0;
  std::uint32_t program_ = 0;
  std::uint64_t seed_ = 0;
  bool chose_at_random_ = false;
  bool noting_ = false;
  std::vector<Change> changes_;  // changes since the checkpoint
  std::vector<Set> sets_;
  std::vector<Slot> slots_;
  std::vector<Age> ages_;           // by way, set after set
  std::vector<Bucket> buckets_;     // hash table of lines
  std::vector<std::uint8_t> tree_;  // tree PLRU: a node for each way, 1 if the next victim lies to the right
};

}  // namespace gputopo::sim
