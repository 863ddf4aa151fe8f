// Random machines with clear levels: nearly every value must exist and be right; wide_test.cpp only forbids wrong
// ones. GPUTOPO_TRUTH_MACHINES sets the number of machines (40, of which a quarter), GPUTOPO_TRUTH_SEED the first
// seed. GPUTOPO_TRUTH_SHOW prints the results, GPUTOPO_TRUTH_VERBOSE what each probe decides and why.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/random_machine.h"
#include "support/seeds.h"
#include "support/truths.h"

namespace gputopo::truth {
namespace {

struct Tally {
  std::uint64_t right = 0;
  std::uint64_t total = 0;
  std::uint64_t covered = 0;  // the interval holds the truth
  std::uint64_t intervals = 0;
  std::uint64_t silent = 0;  // without a value
};

struct Outcome {
  std::map<std::string, Tally> lru;  // by attribute
  std::map<std::string, Tally> other;
  std::vector<std::string> misses;
};

struct CacheElement {
  std::string id;
  Space space;
  std::size_t depth;
};

// All data caches in the catalogue.
const std::vector<CacheElement>& cache_elements() {
  static const std::vector<CacheElement> kElements = [] {
    std::vector<CacheElement> elements;
    for (const ElementInfo& info : element_catalogue()) {
      if (info.kind == ElementKind::kDataCache) elements.push_back({std::string(info.name), *info.space, info.depth});
    }
    return elements;
  }();
  return kElements;
}

// Goals and floors, in percent of the caches. The floors are what the probes reach now and must not get worse. The
// two differ where work remains.
struct Bar {
  const char* attribute;
  double lru_goal;
  double lru_floor;
  double other_goal;
  double other_floor;
};
constexpr Bar kBars[] = {
    {"fetch_granularity", 100, 100, 99, 99},
    {"line_size", 100, 100, 99, 99},
    {"amount", 100, 100, 99, 99},
    {"shared_with", 100, 100, 99, 99},
    {"partitions", 100, 100, 99, 99},
    {"size", 100, 100, 100, 99},
    {"latency", 100, 100, 100, 99},
    {"shared_between", 100, 100, 99, 99},
    {"no_l1", 100, 100, 100, 100},
    {"local", 100, 100, 99, 99},
    {"write_allocate", 100, 100, 100, 100},
    {"write_policy", 100, 99, 100, 99},
    {"ways", 100, 99, 99, 97},
    {"sets", 100, 99, 99, 97},
    {"index", 100, 99, 99, 97},
    {"replacement", 100, 100, 99, 97},
};

// Longer than any run, so the result does not depend on host speed.
constexpr double kMachineBudgetSeconds = 1e5;

class Judge {
 public:
  Judge(std::uint64_t seed, sim::MachineSpec machine, Outcome& outcome)
      : seed_(seed), machine_(std::move(machine)), outcome_(outcome) {
    // One thread each: the machines already run in parallel.
    const std::unique_ptr<Device> device = sim::make_sim_device(machine_, seed, 1);
    DiscoverOptions options;
    options.seed = seed;
    options.budget_seconds = kMachineBudgetSeconds;
    truth::log_if_asked(seed, options);
    options.keep_samples = false;
    for (const std::string& element : judged_elements(machine_.info.vendor)) {
      for (const Bar& bar : kBars) {
        if (is_judged(element, bar.attribute)) options.elements.push_back(fmt::format("{}.{}", element, bar.attribute));
      }
    }
    if (vendor_of(machine_.info.vendor) == Vendor::kNvidia) options.elements.emplace_back("local.miss_penalty");
    topology_ = discover(*device, options);
  }

  void judge() {
    for (const CacheElement& element : cache_elements()) {
      const sim::CacheSpec* cache = cache_at(machine_, element.space, element.depth);
      // A third of the machines has no constant L1.5. The next level there is L2 and is reported as such.
      if (element.space == Space::kLocal) continue;  // judged by expect_local()
      const bool may_be_l2 = element.space == Space::kConstant && element.depth > 0;
      if (cache == nullptr || (may_be_l2 && cache->id != element.id)) continue;
      if (topology_.find_memory(element.id) == nullptr) continue;  // belongs to the other vendor
      if (element.id == "l1" && cache->id == "l2") {
        expect_no_l1();
        continue;
      }
      const bool lru = cache->replacement == sim::Replacement::kLru;
      std::map<std::string, Tally>& tallies = lru ? outcome_.lru : outcome_.other;
      const double line = cache->line_bytes;
      const auto size = static_cast<double>(cache->size_bytes);
      expect(tallies, element.id, "size", size, lru ? line : 0.01 * size);
      expect(tallies, element.id, "line_size", line, 0);
      expect(tallies, element.id, "fetch_granularity", cache->sector_bytes, 0);
      expect_latency(tallies, element);
      const auto is_asked = [&](const char* attribute) {
        return topology_.find_attribute(element.id, attribute)->reason != Reason::kNotApplicable;
      };
      if (element.space != Space::kGlobalBypassL1) {
        if (is_asked("amount")) expect(tallies, element.id, "amount", cache->instances, 0);
        if (is_asked("shared_with")) expect_sharing(tallies, element, *cache);
        if (is_asked("shared_between")) expect_groups(tallies, element);
      }
      if (is_asked("partitions")) expect(tallies, element.id, "partitions", cache->partitions, 0);
      if (cache->id != "l2" && is_asked("ways")) expect_structure(tallies, element.id, *cache);
    }
    expect_write_policies();
    expect_local();
  }

 private:
  static bool is_judged(const std::string& element, const std::string& attribute) {
    // Walking all lines of an L2 takes the simulator too long.
    const bool is_structure =
        attribute == "ways" || attribute == "sets" || attribute == "index" || attribute == "replacement";
    if (is_structure && element == "l2") return false;
    return find_attribute(attribute) != nullptr;
  }

  // The data caches that GPUs of this vendor have.
  static std::vector<std::string> judged_elements(const std::string& vendor) {
    std::vector<std::string> ids;
    for (const ElementInfo* element : elements_of(vendor_of(vendor))) {
      if (element->kind == ElementKind::kDataCache) ids.emplace_back(element->name);
    }
    return ids;
  }

  void expect(std::map<std::string, Tally>& tallies, const std::string& element, const std::string& id, double truth,
              double tolerance) {
    const Attribute* attribute = topology_.find_attribute(element, id);
    Tally& tally = tallies[id];
    ++tally.total;
    if (attribute == nullptr || !attribute->available()) {
      ++tally.silent;
      miss(element, id, fmt::format("no value ({}), truth {}", attribute == nullptr ? "" : attribute->detail, truth));
      return;
    }
    // Uses the measured value where the report shows the vendor's figure.
    const Attribute found = measured_part(*attribute);
    attribute = &found;
    const double value = *attribute->number();
    if (std::abs(value - truth) <= tolerance) {
      ++tally.right;
    } else {
      miss(element, id,
           fmt::format("{} [{}, {}] by {}, truth {}", value, attribute->low.value_or(value),
                       attribute->high.value_or(value), attribute->method, truth));
    }
    ++tally.intervals;
    tally.covered += *attribute->low <= truth && truth <= *attribute->high ? 1 : 0;
  }

  void expect_structure(std::map<std::string, Tally>& tallies, const std::string& element,
                        const sim::CacheSpec& cache) {
    const std::uint64_t lines = cache.size_bytes / cache.line_bytes;
    const std::uint64_t ways = cache.ways == 0 ? lines : cache.ways;
    expect(tallies, element, "ways", static_cast<double>(ways), 0);
    expect(tallies, element, "sets", static_cast<double>(lines / ways), 0);
    const bool modulo = cache.index == sim::IndexHash::kModulo;
    expect_name(tallies, element, "index", lines == ways ? "none" : modulo ? "modulo" : "hashed");
    // A nearer cache with random replacement hides the order, so no answer is right.
    const bool hidden = element == "constant_l15" &&
                        cache_at(machine_, Space::kConstant, 0)->replacement == sim::Replacement::kRandom &&
                        cache_at(machine_, Space::kConstant, 0)->ways != 1;
    if (hidden) {
      EXPECT_FALSE(topology_.find_attribute(element, "replacement")->available()) << seed_;
    } else {
      expect_name(tallies, element, "replacement", replacement_of(cache, ways));
    }
  }

  static std::string replacement_of(const sim::CacheSpec& cache, std::uint64_t ways) {
    if (ways == 1) return "none";
    switch (cache.replacement) {
      case sim::Replacement::kLru:
        return "lru";
      case sim::Replacement::kTreePlru:
        return ways == 2 ? "lru" : "pseudo_lru";  // with two ways, the tree knows which is older
      case sim::Replacement::kFifo:
        return "fifo";
      case sim::Replacement::kSegmentedLru:
        return "segmented_lru";
      case sim::Replacement::kSrrip:
        return "srrip";
      case sim::Replacement::kRandom:
        break;
    }
    return "random";
  }

  void expect_name(std::map<std::string, Tally>& tallies, const std::string& element, const std::string& id,
                   const std::string& truth) {
    const Attribute& attribute = *topology_.find_attribute(element, id);
    const bool right = attribute.value == Value(truth);
    Tally& tally = tallies[id];
    ++tally.total;
    tally.right += right ? 1 : 0;
    tally.silent += attribute.available() ? 0 : 1;
    if (right) return;
    const auto* text = std::get_if<std::string>(&attribute.value);
    miss(element, id, fmt::format("{} {}, truth {}", text != nullptr ? *text : "no value", attribute.detail, truth));
  }

  void expect_write_policies() {
    const sim::CacheSpec& l1 = *cache_at(machine_, Space::kGlobal, 0);
    const sim::CacheSpec& l2 = cache_of(machine_, "l2");
    // If L2 does not keep stored lines, nothing shows whether L1 passes stores on.
    if (l1.id != "l2") expect_writes(l1, policy_of(l1), allocates_on_store(l2));
    // Streams over fewer bytes do not stay in an L2. A write-through L2 takes stores no faster than memory.
    constexpr std::uint64_t kLeastStreamBytes = 512 << 10;
    const bool has_l3 = topology_.find_memory("l3") != nullptr;
    expect_writes(l2, policy_of(l2), writes_back(l2) || !has_l3, l2.size_bytes >= kLeastStreamBytes);
  }

  static std::string policy_of(const sim::CacheSpec& cache) {
    return writes_back(cache) ? "write_back" : "write_through";
  }

  // If the machine does not show its policy, only a missing value is right.
  void expect_writes(const sim::CacheSpec& cache, const std::string& policy, bool shows, bool is_asked = true) {
    std::map<std::string, Tally>& tallies = cache.replacement == sim::Replacement::kLru ? outcome_.lru : outcome_.other;
    const auto tell = [&](const char* id, const Attribute& attribute, bool right) {
      ++tallies[id].total;
      tallies[id].right += right ? 1 : 0;
      tallies[id].silent += right || attribute.available() ? 0 : 1;
      if (!right) miss(cache.id, id, fmt::format("{} {}", to_string(attribute.source), attribute.detail));
    };
    const Attribute& allocates = *topology_.find_attribute(cache.id, "write_allocate");
    const Value* hit = allocates.find_detail("store_hit");
    const bool evicts = cache.store_hit == sim::StoreHit::kInvalidate;
    tell("write_allocate", allocates,
         allocates.value == Value(allocates_on_store(cache)) && hit != nullptr &&
             *hit == Value(std::string(evicts ? "evicted" : "kept")));
    if (!is_asked) return;
    const Attribute& found = *topology_.find_attribute(cache.id, "write_policy");
    tell("write_policy", found, shows ? found.value == Value(policy) : !found.available());
  }

  // Local loads see L1 only in steps of 128 bytes, and no size if they do not reach all of its lines.
  void expect_local() {
    if (topology_.find_memory("local") == nullptr) return;  // belongs to the other vendor
    for (const Truth& expected : truths_of(machine_)) {
      if (expected.element != "local") continue;
      const Judged judged = truth::judge(expected, topology_);
      Tally& tally = outcome_.lru["local"];
      ++tally.total;
      if (judged.verdict == Verdict::kConfidentlyWrong || judged.verdict == Verdict::kSilent) {
        miss("local", expected.attribute, judged.text);
      } else {
        ++tally.right;
      }
    }
  }

  // Global loads bypass L1: the report must say that there is none, and not take L2 for it.
  void expect_no_l1() {
    const Attribute* attribute = topology_.find_attribute("l1", "size");
    Tally& tally = outcome_.lru["no_l1"];
    ++tally.total;
    if (attribute->reason == Reason::kNotPresent) {
      ++tally.right;
    } else {
      miss("l1", "no_l1", fmt::format("{} {}", to_string(attribute->source), attribute->detail));
    }
  }

  void expect_groups(std::map<std::string, Tally>& tallies, const CacheElement& element) {
    const UnitGroups truth{machine_.sm_groups};
    const Attribute* attribute = topology_.find_attribute(element.id, "shared_between");
    Tally& tally = tallies["shared_between"];
    ++tally.total;
    if (attribute->available() && attribute->value == Value(truth) && attribute->flags.empty()) {
      ++tally.right;
    } else {
      tally.silent += attribute->available() ? 0 : 1;
      miss(element.id, "shared_between", fmt::format("truth {}; {}", truth.groups, attribute->detail));
    }
  }

  // Within 2% or one cycle of the hit latency in the machine file.
  void expect_latency(std::map<std::string, Tally>& tallies, const CacheElement& element) {
    const double truth = machine_.spaces.at(element.space).path[element.depth].latency_cycles;
    expect(tallies, element.id, "latency", truth, std::max(1.0, 0.02 * truth));
  }

  void expect_sharing(std::map<std::string, Tally>& tallies, const CacheElement& element, const sim::CacheSpec& cache) {
    std::vector<std::string> truth;
    for (const CacheElement& other : cache_elements()) {
      if (other.depth != 0 || other.space == Space::kGlobalBypassL1 || other.id == element.id) continue;
      if (topology_.find_memory(other.id) == nullptr) continue;  // belongs to the other vendor
      if (other.space == Space::kLocal) continue;  // only --full measures it, so it names the others, not they it
      const sim::CacheSpec* nearest = cache_at(machine_, other.space, 0);
      if (nearest != nullptr && nearest->id == cache.id) truth.emplace_back(other.id);
    }
    const Attribute* attribute = topology_.find_attribute(element.id, "shared_with");
    Tally& tally = tallies["shared_with"];
    ++tally.total;
    if (attribute->available() && std::get<std::vector<std::string>>(attribute->value) == truth) {
      ++tally.right;
    } else {
      tally.silent += attribute->available() ? 0 : 1;
      miss(element.id, "shared_with", fmt::format("truth {} others; {}", truth.size(), attribute->detail));
    }
  }

  void miss(const std::string& element, const std::string& id, const std::string& text) {
    const char* space_names[] = {"modulo", "xor_fold", "mixed"};
    const char* policy_names[] = {"lru", "tree_plru", "random", "fifo", "segmented_lru", "srrip"};
    std::string shape;
    for (const CacheElement& row : cache_elements()) {
      if (element != row.id) continue;
      const sim::CacheSpec& cache = *cache_at(machine_, row.space, row.depth);
      shape = fmt::format("{} B, {} B lines, {} B sectors, {} ways, {}, {}, {} instances, {} partitions",
                          cache.size_bytes, cache.line_bytes, cache.sector_bytes, cache.ways,
                          policy_names[static_cast<int>(cache.replacement)], space_names[static_cast<int>(cache.index)],
                          cache.instances, cache.partitions);
    }
    outcome_.misses.push_back(fmt::format("seed {} {}.{}: {} ({})", seed_, element, id, text, shape));
  }

  std::uint64_t seed_;
  sim::MachineSpec machine_;
  Outcome& outcome_;
  Topology topology_;
};

void add(std::map<std::string, Tally>& sum, const std::map<std::string, Tally>& part) {
  for (const auto& [id, tally] : part) {
    Tally& target = sum[id];
    target.right += tally.right;
    target.total += tally.total;
    target.covered += tally.covered;
    target.intervals += tally.intervals;
    target.silent += tally.silent;
  }
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// The table, the goals that are not reached yet, and every miss.
std::string text_of(const Outcome& outcome) {
  std::string text =
      "| attribute | replacement | caches | right | no value | interval holds the truth |\n|---|---|---|---|---|---|\n";
  for (const auto& [name, tallies] : {std::pair("LRU", &outcome.lru), std::pair("other", &outcome.other)}) {
    for (const auto& [id, tally] : *tallies) {
      text += fmt::format("| {} | {} | {} | {:.2f}% | {} | {} |\n", id, name, tally.total,
                          percent(tally.right, tally.total), tally.silent,
                          tally.intervals == 0 ? "-" : fmt::format("{:.2f}%", percent(tally.covered, tally.intervals)));
    }
  }
  for (const Bar& bar : kBars) {
    const auto say = [&](const char* replacement, const std::map<std::string, Tally>& tallies, double goal) {
      const auto found = tallies.find(bar.attribute);
      if (found == tallies.end() || percent(found->second.right, found->second.total) >= goal) return;
      text += fmt::format("- not reached: {} under {}: {:.2f}% of {:.0f}%\n", bar.attribute, replacement,
                          percent(found->second.right, found->second.total), goal);
    };
    say("LRU", outcome.lru, bar.lru_goal);
    say("other replacements", outcome.other, bar.other_goal);
  }
  for (const std::string& line : outcome.misses) text += "- " + line + "\n";
  return text;
}

Outcome judge_machines(sim::MachineSpec (*make)(std::uint64_t), std::uint64_t first_seed, std::uint64_t machines) {
  Outcome outcome;
  const auto judge = [&](std::uint64_t seed) {
    Outcome own;
    Judge(seed, make(seed), own).judge();
    return own;
  };
  judge_seeds(first_seed, machines, judge, [&](const Outcome& own) {
    add(outcome.lru, own.lru);
    add(outcome.other, own.other);
    outcome.misses.insert(outcome.misses.end(), own.misses.begin(), own.misses.end());
  });
  std::sort(outcome.misses.begin(), outcome.misses.end());
  return outcome;
}

void expect_calibrated(const Outcome& outcome) {
  for (const auto& [id, least] : {std::pair("size", 95.0), {"latency", 95.0}, {"ways", 99.0}, {"sets", 99.0}}) {
    const Tally& lru = outcome.lru.at(id);
    const Tally& other = outcome.other.at(id);
    EXPECT_GE(percent(lru.covered + other.covered, lru.intervals + other.intervals), least) << "intervals of " << id;
  }
}

// A share of no values must not pass: each attribute needs a cache, except for those in `without`.
void expect_all_judged(Outcome& outcome, const std::vector<std::string>& without) {
  for (const Bar& bar : kBars) {
    if (std::ranges::find(without, bar.attribute) != without.end()) continue;
    EXPECT_GT(outcome.lru[bar.attribute].total + outcome.other[bar.attribute].total, 0u) << bar.attribute;
  }
}

// Uses a quarter as many machines as the wide prior, which asks for more.
TEST(Truth, RandomMachines) {
  const std::uint64_t machines = (machines_wanted() + 3) / 4;
  const std::uint64_t first_seed = truth::first_seed();
  Outcome outcome = judge_machines(random_machine, first_seed, machines);
  const std::string report = text_of(outcome);
  if (std::getenv("GPUTOPO_TRUTH_SHOW") != nullptr) fmt::print("{}", report);
  SCOPED_TRACE(report);

  for (const Bar& bar : kBars) {
    const Tally& lru = outcome.lru[bar.attribute];
    const Tally& other = outcome.other[bar.attribute];
    EXPECT_GE(percent(lru.right, lru.total), bar.lru_floor) << bar.attribute << " under LRU";
    EXPECT_GE(percent(other.right, other.total), bar.other_floor) << bar.attribute << " under other replacements";
  }
  expect_all_judged(outcome, {"no_l1", "shared_between"});  // on one machine in ten; on GPUs of the other vendor
  expect_calibrated(outcome);
}

// Searches the seeds for such machines: they are a tenth.
TEST(Truth, MachinesWithoutAnL1SaySo) {
  constexpr int kMachines = 4;
  int judged = 0;
  for (std::uint64_t seed = truth::first_seed(); judged < kMachines; ++seed) {
    const sim::MachineSpec machine = random_machine(seed);
    if (cache_at(machine, Space::kGlobal, 0)->id != "l2") continue;
    ++judged;
    DiscoverOptions options;
    options.elements = {"l1.size"};
    options.budget_seconds = kMachineBudgetSeconds;
    options.seed = seed;
    const Topology topology = discover(*sim::make_sim_device(machine, seed, 0), options);
    const Attribute& size = *topology.find_attribute("l1", "size");
    EXPECT_EQ(size.reason, Reason::kNotPresent) << seed << ": " << to_string(size.source) << " " << size.detail;
  }
}

// A quarter as many machines with the memory of AMD GPUs, with the same floors and one more miss per hundred caches.
TEST(Truth, RandomAmdMachines) {
  const std::uint64_t machines = (machines_wanted() + 3) / 4;
  const std::uint64_t first_seed = truth::first_seed();
  Outcome outcome = judge_machines(random_amd_machine, first_seed, machines);
  const std::string report = text_of(outcome);
  if (std::getenv("GPUTOPO_TRUTH_SHOW") != nullptr) fmt::print("{}", report);
  SCOPED_TRACE(report);
  for (const Bar& bar : kBars) {
    for (const auto& [tallies, floor] : {std::pair(&outcome.lru, bar.lru_floor), {&outcome.other, bar.other_floor}}) {
      const Tally& tally = (*tallies)[bar.attribute];
      EXPECT_GE(static_cast<double>(tally.right + tally.total / 100), floor / 100 * static_cast<double>(tally.total))
          << bar.attribute;
    }
  }
  expect_all_judged(outcome, {"no_l1", "local", "partitions", "shared_with"});  // these GPUs have none of them
  expect_calibrated(outcome);
  EXPECT_GT(outcome.lru["shared_between"].total + outcome.other["shared_between"].total, machines - 1);
}

}  // namespace
}  // namespace gputopo::truth
