#include "probe/structure/replacement_policies.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <list>
#include <optional>

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kStaleLine = ~0u;

// Lines by age: LRU, FIFO and, with protected ways, segmented LRU.
class AgedSet : public PolicySet {
 public:
  AgedSet(const Policy& policy, std::size_t ways, std::size_t lines, Beginning beginning)
      : ways_(ways),
        protected_ways_(policy.protected_ways),
        hits_count_(policy.kind != Policy::Kind::kFifo),
        places_(lines) {
    if (beginning == Beginning::kStale) {
      protected_.assign(protected_ways_, kStaleLine);
      others_.assign(ways_ - protected_ways_, kStaleLine);
    }
  }

  bool load(std::uint32_t line) override {
    Place& place = places_[line];
    if (!place.where) {
      insert(line);
      return false;
    }
    if (!hits_count_) return true;
    std::list<std::uint32_t>& to = protected_ways_ > 0 ? protected_ : others_;
    to.splice(to.begin(), place.is_protected ? protected_ : others_, *place.where);
    place.is_protected = protected_ways_ > 0;
    if (protected_.size() > protected_ways_) {
      const std::uint32_t oldest = protected_.back();
      others_.splice(others_.begin(), protected_, std::prev(protected_.end()));
      if (oldest != kStaleLine) places_[oldest].is_protected = false;
    }
    return true;
  }

 private:
  struct Place {
    std::optional<std::list<std::uint32_t>::iterator> where;
    bool is_protected = false;
  };

  void insert(std::uint32_t line) {
    if (protected_.size() + others_.size() == ways_) {
      if (others_.back() != kStaleLine) places_[others_.back()].where.reset();
      others_.pop_back();
    }
    others_.push_front(line);
    places_[line] = {.where = others_.begin()};
  }

  std::size_t ways_;
  std::size_t protected_ways_;
  bool hits_count_;
  std::list<std::uint32_t> protected_;  // newest first
  std::list<std::uint32_t> others_;
  std::vector<Place> places_;  // of each line
};

class SetOfWays : public PolicySet {
 public:
  SetOfWays(std::size_t ways, std::size_t lines, Beginning beginning)
      : lines_(ways, kStaleLine), way_of_(lines, kNoWay), used_(beginning == Beginning::kStale ? ways : 0) {}

  bool load(std::uint32_t line) final {
    const bool hit = way_of_[line] != kNoWay;
    if (!hit) {
      const std::size_t way = used_ < lines_.size() ? used_++ : victim();
      if (lines_[way] != kStaleLine) way_of_[lines_[way]] = kNoWay;
      lines_[way] = line;
      way_of_[line] = way;
    }
    used(way_of_[line], hit);
    return hit;
  }

 protected:
  [[nodiscard]] std::size_t ways() const { return lines_.size(); }
  virtual std::size_t victim() = 0;
  virtual void used(std::size_t way, bool hit) = 0;

 private:
  static constexpr std::size_t kNoWay = ~std::size_t{0};

  std::vector<std::uint32_t> lines_;  // of each way
  std::vector<std::size_t> way_of_;   // of each line
  std::size_t used_;
};

class TreeSet : public SetOfWays {
 public:
  TreeSet(std::size_t ways, std::size_t lines, Beginning beginning)
      : SetOfWays(ways, lines, beginning), right_(ways, false) {}

 private:
  std::size_t victim() override {
    std::size_t node = 1;
    while (node < ways()) node = 2 * node + (right_[node] ? 1 : 0);
    return node - ways();
  }
  void used(std::size_t way, bool /*hit*/) override {
    for (std::size_t node = ways() + way; node > 1; node /= 2) right_[node / 2] = node % 2 == 0;
  }

  std::vector<bool> right_;  // of each node: whether the next victim lies to the right
};

class SrripSet : public SetOfWays {
 public:
  SrripSet(std::size_t ways, std::size_t lines, Beginning beginning)
      : SetOfWays(ways, lines, beginning), intervals_(ways, kLongest) {}

 private:
  static constexpr unsigned kLongest = 3;

  std::size_t victim() override {
    const unsigned older = kLongest - *std::ranges::max_element(intervals_);
    for (unsigned& interval : intervals_) interval += older;
    return static_cast<std::size_t>(std::ranges::find(intervals_, kLongest) - intervals_.begin());
  }
  void used(std::size_t way, bool hit) override { intervals_[way] = hit ? 0 : kLongest - 1; }

  std::vector<unsigned> intervals_;  // of each way
};

}  // namespace

std::string to_string(const Policy& policy, std::size_t ways) {
  switch (policy.kind) {
    case Policy::Kind::kLru:
      return "lru";
    case Policy::Kind::kFifo:
      return "fifo";
    case Policy::Kind::kPseudoLru:
      return "pseudo_lru";
    case Policy::Kind::kSegmentedLru:
      return fmt::format("segmented_lru {}/{}", policy.protected_ways, ways);
    case Policy::Kind::kSrrip:
      break;
  }
  return "srrip";
}

std::vector<Policy> policies_of(std::size_t ways) {
  // Most numbers of protected ways to try: each model takes its time, and neighbors hardly differ.
  constexpr std::size_t kMaxSegmented = 64;
  std::vector<Policy> policies{{.kind = Policy::Kind::kLru}, {.kind = Policy::Kind::kFifo}};
  // With two ways the tree is LRU.
  if (ways > 2 && std::has_single_bit(ways)) policies.push_back({.kind = Policy::Kind::kPseudoLru});
  const std::size_t step = (ways + kMaxSegmented - 1) / kMaxSegmented;
  for (std::size_t protected_ways = step; protected_ways < ways; protected_ways += step) {
    policies.push_back({.kind = Policy::Kind::kSegmentedLru, .protected_ways = protected_ways});
  }
  if (ways <= kMaxSegmented) policies.push_back({.kind = Policy::Kind::kSrrip});
  return policies;
}

std::unique_ptr<PolicySet> make_set(const Policy& policy, std::size_t ways, std::size_t lines, Beginning beginning) {
  if (policy.kind == Policy::Kind::kPseudoLru) return std::make_unique<TreeSet>(ways, lines, beginning);
  if (policy.kind == Policy::Kind::kSrrip) return std::make_unique<SrripSet>(ways, lines, beginning);
  return std::make_unique<AgedSet>(policy, ways, lines, beginning);
}

}  // namespace gputopo::probe
