// The lines of a simulated cache whose sets are narrow enough to look through: a set's lines lie side by side, so that
// a load touches one or two lines of the host's memory. narrow_sets_walk.cpp defines what replays whole walks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/sim/cache/index.h"
#include "device/sim/cache/walked_lines.h"

namespace gputopo::sim {

class NarrowSets {
 public:
  // What is still quick to look through, and what one word holds the tree of.
  static constexpr std::uint32_t kMaxWays = 64;

  explicit NarrowSets(const CacheGeometry& geometry);

  // As Cache's.
  void start_program(std::uint64_t seed);
  void checkpoint();
  void rollback(std::uint64_t seed);
  void end_checkpoint() { saving_ = false; }
  [[nodiscard]] bool is_at_checkpoint() const;
  [[nodiscard]] bool chose_at_random() const { return chose_at_random_; }

  // Loads a sector of each of up to kMaxLoadsAtOnce lines, one after another; `sectors` and `hits` are as long.
  void access(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, bool* hits);
  [[nodiscard]] bool holds(std::uint64_t line, std::uint32_t sector);
  void invalidate(std::uint64_t line);

  // As Cache's.
  [[nodiscard]] bool can_fill_back(bool is_empty, bool lines_are_new) const;
  void start_fill_back();
  void fill_back(std::span<const std::uint64_t> lines, const std::uint32_t* sectors);
  [[nodiscard]] bool is_overfull() const { return back_.overfull_sets == sets_.size(); }
  void end_fill_back();
  // Takes a walk through new memory whole, if it can tell of each set what that left when the set is asked. To be asked
  // for only where can_fill_back() or can_replay() say so. Returns nothing where it cannot, else what is_overfull()
  // would be.
  [[nodiscard]] std::optional<bool> take_walk(const LineWalk& walk);
  // Whether it takes a walk of one load a line that cannot be told from its end: a set that is asked gets all its lines
  // then, one after another.
  [[nodiscard]] bool can_replay(const LineWalk& walk) const;

 private:
  static constexpr std::uint64_t kNoLine = ~0ull;
  static constexpr std::uint32_t kNoWay = ~0u;

  struct Set {
    // LRU: the newest way. FIFO: likewise. Random: how many lines it has replaced. Segmented LRU: how many lines are
    // protected. Tree PLRU: bit n is node n, 1 where the next victim lies to the right. SRRIP: two bits of each way.
    std::uint64_t state = 0;
    std::uint32_t program = 0;  // what it holds is of this program; otherwise it is empty
    std::uint8_t used = 0;
    std::uint8_t ways = 0;
    bool saved = false;  // since the checkpoint
  };

  template <Replacement kPolicy>
  void access_each(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, const std::uint32_t* sets,
                   bool* hits);
  template <Replacement kPolicy>
  bool access_one(std::uint32_t set_index, std::uint64_t line, std::uint32_t sector);
  template <Replacement kPolicy>
  bool hit(Set& set, std::size_t first, std::uint32_t way, std::uint32_t sector);
  // Returns the way that the line is in then.
  template <Replacement kPolicy>
  std::uint32_t insert(Set& set, std::uint64_t line, std::uint32_t sector);
  template <Replacement kPolicy>
  std::uint32_t way_to_fill(Set& set, std::size_t first);
  // Of a set that has been started.
  template <Replacement kPolicy>
  std::uint32_t way_of(const Set& set, std::size_t first, std::uint64_t line);

  // In lines_ and sectors_.
  [[nodiscard]] std::size_t first_of(const Set& set) const {
    return static_cast<std::size_t>(&set - sets_.data()) * stride_;
  }
  // The ways in use begin there. Under LRU they are the last of the set, and a ring: from the newest on to the oldest.
  [[nodiscard]] std::uint32_t first_way(const Set& set) const {
    return replacement_ == Replacement::kLru ? set.ways - set.used : 0u;
  }
  [[nodiscard]] std::optional<std::size_t> find(std::uint32_t set_index, std::uint64_t line);

  void start_set(Set& set);
  // These lines are in the set, the newest first, with what it had before behind them.
  void take_newest(Set& set, std::span<const std::uint64_t> lines, const std::uint32_t* sectors);
  // The lines of the walk from the `done`-th on are in the set, likewise.
  void take_walked(Set& set, std::uint64_t done);
  // What a walk leaves is not the last lines.
  [[nodiscard]] bool replays() const {
    return !replaces_by_age(replacement_) && replacement_ != Replacement::kSegmentedLru;
  }
  void replay(Set& set, std::uint64_t done);
  // Whether it is the first that is taken whole, or that one and farther.
  [[nodiscard]] bool goes_on(const LineWalk& walk) const;
  // The way of the next older line.
  [[nodiscard]] std::uint32_t older_than(const Set& set, std::uint32_t way) const;
  // To be called before anything changes that rollback() must restore.
  void save(Set& set) {
    if (saving_ && !set.saved) save_set(set);
  }
  void save_set(Set& set);
  // Whether the set is as it was, whichever ways its lines are in where that decides nothing. `first`: in what is
  // saved.
  [[nodiscard]] bool is_as(const Set& was, const Set& set, std::size_t first) const;

  // LRU: the way behind which the ring ends.
  static std::uint32_t oldest_of(const Set& set) {
    return set.state + set.used == set.ways ? set.ways - 1u : static_cast<std::uint32_t>(set.state) - 1u;
  }
  // LRU: the way of a line. Looks at the newest, then at the oldest, where a cyclic walk comes next, then at the
  // others.
  static std::uint32_t way_in_ring(const Set& set, const std::uint64_t* lines, std::uint64_t line) {
    const auto newest = static_cast<std::uint32_t>(set.state);
    if (lines[newest] == line) return newest;
    if (const std::uint32_t oldest = oldest_of(set); lines[oldest] == line) return oldest;
    for (std::uint32_t way = set.ways - set.used; way < set.ways; ++way) {
      if (lines[way] == line) return way;
    }
    return kNoWay;
  }
  // LRU: the ring begins with the newest again, so that a way before it can be the newest.
  void straighten(Set& set, std::size_t first);
  void make_newest(Set& set, std::size_t first, std::uint32_t way);
  // Segmented LRU: the first `state` lines are protected, each part from the newest to the oldest. The line at `way`
  // comes to `front`, and those between move one on.
  void move_to_front(std::size_t first, std::uint32_t way, std::uint32_t front);
  [[nodiscard]] std::uint32_t protected_of(const Set& set) const { return std::min(protected_ways_, set.ways - 1u); }
  static void point_away(Set& set, std::uint32_t way);
  // SRRIP: in how long it is expected again, from 0 to 3.
  static void expect(Set& set, std::uint32_t way, std::uint64_t interval) {
    set.state = (set.state & ~(std::uint64_t{3} << (2 * way))) | interval << (2 * way);
  }
  static std::uint32_t way_expected_last(Set& set);

  CacheIndex index_;
  RandomVictim victim_;
  Replacement replacement_;
  std::uint32_t protected_ways_;  // 0 but for segmented LRU
  bool sectored_;
  std::uint32_t stride_;  // between the sets in lines_ and sectors_: the ways of the widest
  std::uint32_t least_ways_;
  std::uint32_t program_ = 0;
  std::uint64_t seed_ = 0;
  bool chose_at_random_ = false;
  // What was loaded last, where it is still there.
  struct Last {
    std::uint64_t line = kNoLine;
    std::uint32_t set_index = 0;
    std::uint32_t way = 0;
  };
  Last last_;
  std::uint64_t highest_line_ = 0;  // that this program has loaded, or one above it
  std::vector<Set> sets_;
  std::vector<std::uint64_t> lines_;
  std::vector<std::uint32_t> sectors_;  // those that are there of each line; empty where a line is one sector

  // What a walk leaves that is told from its end: each set from the newest line on.
  struct Back {
    Last last;
    std::size_t overfull_sets = 0;
    std::vector<std::uint8_t> used;  // of each set; one more than its ways where a line found no room
    std::vector<std::uint64_t> lines;
    std::vector<std::uint32_t> sectors;
  };
  Back back_;

  // That this program has taken whole: a set that it has not asked for holds what this left.
  WalkedLines walked_;
  WalkedLines walked_at_checkpoint_;

  // What the sets were that changed since the checkpoint.
  struct Saved {
    std::uint32_t set_index = 0;
    Set set;
  };
  bool saving_ = false;
  std::vector<Saved> saved_;
  std::vector<std::uint64_t> saved_lines_;    // `used` of each
  std::vector<std::uint32_t> saved_sectors_;  // likewise
};

}  // namespace gputopo::sim
