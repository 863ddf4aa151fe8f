// The lines of a simulated cache whose sets are narrow enough to look through: a set's lines lie side by side, so that
// a load touches one or two lines of the host's memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/sim/cache_index.h"

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
  [[nodiscard]] bool chose_at_random() const { return chose_at_random_; }

  bool access(std::uint64_t line, std::uint32_t sector) {
    if (line == last_.line) {  // the next sector of a walk
      const bool present = hit(last_.set_index, last_.way, sector);
      if (orders_by_hits_) last_.way = 0;
      return present;
    }
    const std::uint32_t set_index = index_.set_of(line);
    if (sets_[set_index].program != program_) start_set(set_index);
    const std::uint32_t way = way_of(set_index, line);
    const bool found = way != kNoWay;
    last_ = {line, set_index, found ? way : insert(set_index, line, sector)};
    if (!found) return false;
    const bool present = hit(set_index, way, sector);
    if (orders_by_hits_) last_.way = 0;
    return present;
  }

  [[nodiscard]] bool holds(std::uint64_t line, std::uint32_t sector) const {
    const std::uint32_t set_index = index_.set_of(line);
    const std::optional<std::size_t> place = find(set_index, line);
    return place && (!sectored_ || (sectors_[*place] & sector) != 0);
  }

  void invalidate(std::uint64_t line) {
    const std::uint32_t set_index = index_.set_of(line);
    const std::optional<std::size_t> place = find(set_index, line);
    if (!place) return;
    save(set_index);
    lines_[*place] = kNoLine;
    last_ = {};
  }

  void prefetch(std::uint64_t line) const {
    const std::size_t set_index = index_.set_of(line);
    __builtin_prefetch(&sets_[set_index]);
    __builtin_prefetch(&lines_[set_index * stride_]);
    __builtin_prefetch(&lines_[set_index * stride_ + stride_ - 1]);
  }

  // Neighbouring lines lie in neighbouring sets, and so in neighbouring places of the host's memory.
  [[nodiscard]] bool walks_in_order() const { return index_.hash() == IndexHash::kModulo; }
  [[nodiscard]] std::size_t line_count() const { return lines_.size(); }

 private:
  static constexpr std::uint64_t kNoLine = ~0ull;
  static constexpr std::uint32_t kNoWay = ~0u;

  struct Set {
    std::uint32_t program = 0;  // what it holds is of this program; otherwise it is empty
    std::uint32_t saved_at = 0;
    std::uint16_t used = 0;
    std::uint16_t ways = 0;
    // FIFO: the newest way. Random: how many lines it has replaced. Segmented LRU: how many lines are protected.
    std::uint32_t turn = 0;
    // Tree PLRU: bit n is node n, 1 where the next victim lies to the right. SRRIP: two bits of each way.
    std::uint64_t state = 0;
  };

  // Of a set that has been started.
  std::uint32_t way_of(std::uint32_t set_index, std::uint64_t line) {
    if (line > highest_line_) {  // a walk through memory that nobody has walked through: in no way
      highest_line_ = line;
      return kNoWay;
    }
    // The newest first, then from the end: under LRU, where the oldest lies and a cyclic walk comes next.
    const std::uint64_t* lines = lines_.data() + std::size_t{set_index} * stride_;
    const std::uint32_t used = sets_[set_index].used;
    if (used != 0 && lines[0] == line) return 0;
    for (std::uint32_t way = used; way-- > 1;) {
      if (lines[way] == line) return way;
    }
    return kNoWay;
  }

  // In lines_.
  [[nodiscard]] std::optional<std::size_t> find(std::uint32_t set_index, std::uint64_t line) const {
    const Set& set = sets_[set_index];
    if (set.program != program_) return std::nullopt;
    const std::size_t first = std::size_t{set_index} * stride_;
    for (std::size_t place = first; place < first + set.used; ++place) {
      if (lines_[place] == line) return place;
    }
    return std::nullopt;
  }

  void start_set(std::uint32_t set_index) {
    save(set_index);
    Set& set = sets_[set_index];
    set.program = program_;
    set.used = 0;
    set.turn = 0;
    set.state = 0;
  }

  bool hit(std::uint32_t set_index, std::uint32_t way, std::uint32_t sector) {
    const bool moves = orders_by_hits_ && (way != 0 || sets_[set_index].turn < protected_of(sets_[set_index]));
    const bool present = !sectored_ || (sectors_[std::size_t{set_index} * stride_ + way] & sector) != 0;
    if (!moves && present && !has_state_) return true;
    save(set_index);
    if (!present) sectors_[std::size_t{set_index} * stride_ + way] |= sector;
    if (moves) move_to_front(set_index, way);
    if (moves && replacement_ == Replacement::kSegmentedLru) protect_front(sets_[set_index], way);
    if (replacement_ == Replacement::kTreePlru) point_away(sets_[set_index], way);
    if (replacement_ == Replacement::kSrrip) expect(sets_[set_index], way, 0);
    return present;
  }

  // To be called before anything changes that rollback() must restore.
  void save(std::uint32_t set_index) {
    if (saving_ && sets_[set_index].saved_at != checkpoint_) save_set(set_index);
  }

  void save_set(std::uint32_t set_index);
  // Returns the way that the line is in then.
  std::uint32_t insert(std::uint32_t set_index, std::uint64_t line, std::uint32_t sector);
  [[nodiscard]] std::uint32_t way_to_replace(std::uint32_t set_index);
  // The line at `way` comes to `front`, and those between move one on.
  void move_to_front(std::uint32_t set_index, std::uint32_t way, std::uint32_t front = 0);
  static void point_away(Set& set, std::uint32_t way);
  // Segmented LRU: the first `turn` lines are protected, each part from the newest to the oldest.
  [[nodiscard]] std::uint32_t protected_of(const Set& set) const { return std::min(protected_ways_, set.ways - 1u); }
  // A line that was at `way` has become the first.
  void protect_front(Set& set, std::uint32_t way) const {
    if (way >= set.turn) set.turn = std::min(set.turn + 1, protected_of(set));
  }
  // SRRIP: in how long it is expected again, from 0 to 3.
  static void expect(Set& set, std::uint32_t way, std::uint64_t interval) {
    set.state = (set.state & ~(std::uint64_t{3} << (2 * way))) | interval << (2 * way);
  }
  static std::uint32_t way_expected_last(Set& set);

  CacheIndex index_;
  RandomVictim victim_;
  Replacement replacement_;
  std::uint32_t protected_ways_;  // 0 but for segmented LRU
  bool orders_by_hits_;           // what is hit comes to the front
  bool has_state_;                // a hit changes a set's state
  bool sectored_;
  std::uint32_t stride_;  // between the sets in lines_ and sectors_: the ways of the widest
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
  std::vector<std::uint64_t> lines_;    // under LRU from the newest to the oldest, segmented or not
  std::vector<std::uint32_t> sectors_;  // those that are there of each line; empty where a line is one sector

  // What the sets were that changed since the checkpoint.
  struct Saved {
    std::uint32_t set_index = 0;
    Set set;
  };
  bool saving_ = false;
  std::uint32_t checkpoint_ = 0;
  std::vector<Saved> saved_;
  std::vector<std::uint64_t> saved_lines_;    // `used` of each
  std::vector<std::uint32_t> saved_sectors_;  // likewise
};

}  // namespace gputopo::sim
