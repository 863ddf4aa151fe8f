// The sets of a simulated cache that are narrow enough to search. The lines of a set lie side by side, so a load
// touches only one or two lines of the host's memory. narrow_sets_walk.cpp defines what takes whole walks.
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
  // Fast to search, and one word holds the tree of tree PLRU.
  static constexpr std::uint32_t kMaxWays = 64;

  explicit NarrowSets(const CacheGeometry& geometry);

  // Same as in Cache.
  void start_program(std::uint64_t seed);
  void checkpoint();
  void rollback(std::uint64_t seed);
  void end_checkpoint() { saving_ = false; }
  [[nodiscard]] bool is_at_checkpoint() const;
  [[nodiscard]] bool chose_at_random() const { return chose_at_random_; }

  // Loads a sector of each of up to kMaxLoadsAtOnce lines, in order. `sectors` and `hits` have as many elements.
  void access(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, bool* hits);
  [[nodiscard]] bool holds(std::uint64_t line, std::uint32_t sector);
  void invalidate(std::uint64_t line);

  // Same as in Cache.
  [[nodiscard]] bool can_fill_back(bool is_empty, bool lines_are_new) const;
  void start_fill_back();
  void fill_back(std::span<const std::uint64_t> lines, const std::uint32_t* sectors);
  [[nodiscard]] bool is_overfull() const { return back_.overfull_sets == sets_.size(); }
  void end_fill_back();
  // Takes a walk through new memory as a whole, if a set's contents can be computed when the set is used. Needs
  // can_fill_back() or can_replay(). Returns nothing if it cannot, otherwise what is_overfull() would return.
  [[nodiscard]] std::optional<bool> take_walk(const LineWalk& walk);
  // Whether it can take a walk of one load a line that cannot be built from its end. A set that is used then gets all
  // its lines, one after another.
  [[nodiscard]] bool can_replay(const LineWalk& walk) const;

 private:
  static constexpr std::uint64_t kNoLine = ~0ull;
  static constexpr std::uint32_t kNoWay = ~0u;

  struct Set {
    // LRU and FIFO: the newest way. Random: number of lines replaced. Segmented LRU: number of protected lines. Tree
    // PLRU: bit n is node n, 1 if the next victim lies to the right. SRRIP: two bits for each way.
    std::uint64_t state = 0;
    std::uint32_t program = 0;  // the set is empty if this is not the current program
    std::uint8_t used = 0;
    std::uint8_t ways = 0;
    bool saved = false;  // saved since the checkpoint
  };

  template <Replacement kPolicy>
  void access_each(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, const std::uint32_t* sets,
                   bool* hits);
  template <Replacement kPolicy>
  bool access_one(std::uint32_t set_index, std::uint64_t line, std::uint32_t sector);
  template <Replacement kPolicy>
  bool hit(Set& set, std::size_t first, std::uint32_t way, std::uint32_t sector);
  // Returns the way that then holds the line.
  template <Replacement kPolicy>
  std::uint32_t insert(Set& set, std::uint64_t line, std::uint32_t sector);
  template <Replacement kPolicy>
  std::uint32_t way_to_fill(Set& set, std::size_t first);
  // The set must have been started.
  template <Replacement kPolicy>
  std::uint32_t way_of(const Set& set, std::size_t first, std::uint64_t line);

  // Index of the set's first way in lines_ and sectors_.
  [[nodiscard]] std::size_t first_of(const Set& set) const {
    return static_cast<std::size_t>(&set - sets_.data()) * stride_;
  }
  // The first way in use. Under LRU the last ways of the set are in use, as a ring from the newest line to the oldest.
  [[nodiscard]] std::uint32_t first_way(const Set& set) const {
    return replacement_ == Replacement::kLru ? set.ways - set.used : 0u;
  }
  [[nodiscard]] std::optional<std::size_t> find(std::uint32_t set_index, std::uint64_t line);

  void start_set(Set& set);
  // Puts these lines into the set, newest first, and the set's old lines behind them.
  void take_newest(Set& set, std::span<const std::uint64_t> lines, const std::uint32_t* sectors);
  // Does the same with the walk's lines from the `done`-th on.
  void take_walked(Set& set, std::uint64_t done);
  // Whether a walk leaves other lines than its last ones.
  [[nodiscard]] bool replays() const {
    return !replaces_by_age(replacement_) && replacement_ != Replacement::kSegmentedLru;
  }
  void replay(Set& set, std::uint64_t done);
  // Whether it is the first walk that is taken as a whole, or a longer version of that walk.
  [[nodiscard]] bool goes_on(const LineWalk& walk) const;
  [[nodiscard]] std::uint32_t older_than(const Set& set, std::uint32_t way) const;
  // Must be called before any change that rollback() undoes.
  void save(Set& set) {
    if (saving_ && !set.saved) save_set(set);
  }
  void save_set(Set& set);
  // Whether the set is as it was, in any ways if ways do not matter to the policy. `first`: index in the saved lines.
  [[nodiscard]] bool is_as(const Set& was, const Set& set, std::size_t first) const;

  // LRU: the way of the oldest line, the end of the ring.
  static std::uint32_t oldest_of(const Set& set) {
    return set.state + set.used == set.ways ? set.ways - 1u : static_cast<std::uint32_t>(set.state) - 1u;
  }
  // LRU: the way of a line. Checks the newest line, then the oldest, which a cyclic walk loads next, then the others.
  static std::uint32_t way_in_ring(const Set& set, const std::uint64_t* lines, std::uint64_t line) {
    const auto newest = static_cast<std::uint32_t>(set.state);
    if (lines[newest] == line) return newest;
    if (const std::uint32_t oldest = oldest_of(set); lines[oldest] == line) return oldest;
    for (std::uint32_t way = set.ways - set.used; way < set.ways; ++way) {
      if (lines[way] == line) return way;
    }
    return kNoWay;
  }
  // LRU: turns the lines so that the ring begins with the newest one, and the way before it can be the newest.
  void straighten(Set& set, std::size_t first);
  void make_newest(Set& set, std::size_t first, std::uint32_t way);
  // Segmented LRU: the first `state` lines are protected; both parts go from the newest line to the oldest. Moves the
  // line at `way` to `front`, and the lines between by one way.
  void move_to_front(std::size_t first, std::uint32_t way, std::uint32_t front);
  [[nodiscard]] std::uint32_t protected_of(const Set& set) const { return std::min(protected_ways_, set.ways - 1u); }
  static void update_plru_tree(Set& set, std::uint32_t way);
  // SRRIP: sets the expected re-reference interval, 0 to 3.
  static void expect(Set& set, std::uint32_t way, std::uint64_t interval) {
    set.state = (set.state & ~(std::uint64_t{3} << (2 * way))) | interval << (2 * way);
  }
  static std::uint32_t way_expected_last(Set& set);

  CacheIndex index_;
  RandomVictim victim_;
  Replacement replacement_;
  std::uint32_t protected_ways_;  // 0 unless segmented LRU
  bool sectored_;
  std::uint32_t stride_;  // distance of sets in lines_ and sectors_: the ways of the widest set
  std::uint32_t least_ways_;
  std::uint32_t program_ = 0;
  std::uint64_t seed_ = 0;
  bool chose_at_random_ = false;
  // The line that was loaded last, if it is still present.
  struct Last {
    std::uint64_t line = kNoLine;
    std::uint32_t set_index = 0;
    std::uint32_t way = 0;
  };
  Last last_;
  std::uint64_t highest_line_ = 0;  // at least as high as every line that this program has loaded
  std::vector<Set> sets_;
  std::vector<std::uint64_t> lines_;
  std::vector<std::uint32_t> sectors_;  // present sectors of each line; empty if a line is one sector

  // A walk's result, built from the walk's end: each set from the newest line on.
  struct Back {
    Last last;
    std::size_t overfull_sets = 0;
    std::vector<std::uint8_t> used;  // by set; ways + 1 if a line found no room
    std::vector<std::uint64_t> lines;
    std::vector<std::uint32_t> sectors;
  };
  Back back_;

  // Walk that this program took as a whole: a set that the program has not used yet holds what this walk left.
  WalkedLines walked_;
  WalkedLines walked_at_checkpoint_;

  // The sets that changed since the checkpoint, as they were.
  struct Saved {
    std::uint32_t set_index = 0;
    Set set;
  };
  bool saving_ = false;
  std::vector<Saved> saved_;
  std::vector<std::uint64_t> saved_lines_;    // `used` lines of each saved set
  std::vector<std::uint32_t> saved_sectors_;  // as saved_lines_
};

}  // namespace gputopo::sim
