#include "support/truths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "device/sim/programs/bandwidth.h"
#include "gputopo/catalogue.h"
#include "support/random_machine.h"

namespace gputopo::truth {
namespace {

using sim::CacheSpec;
using sim::MachineSpec;

class Truths {
 public:
  explicit Truths(const MachineSpec& machine) : machine_(machine), vendor_(vendor_of(machine.info.vendor)) {
    for (const ElementInfo* element : elements_of(vendor_)) {
      if (element->kind == ElementKind::kDataCache) data_cache(*element);
      if (element->kind == ElementKind::kTlb) tlb(*element);
      if (element->kind == ElementKind::kCodeCache) code(*element);
      if (element->kind == ElementKind::kNearCodeCache) nearest_code(*element);
      if (element->kind == ElementKind::kOperandCache) operands(*element);
      if (element->kind == ElementKind::kScratchpad) scratchpad(*element);
      if (element->kind == ElementKind::kMemory) memory(*element);
    }
    stores();
  }

  std::vector<Truth> take() { return std::move(truths_); }

 private:
  void add(const ElementInfo& element, AttributeId attribute, std::optional<Value> value, double tolerance,
           bool promised) {
    const Coverage coverage = coverage_of(vendor_, element.id, attribute);
    if (coverage == Coverage::kNotApplicable || coverage == Coverage::kApi) return;
    truths_.push_back(
        {std::string(element.name), std::string(to_string(attribute)), std::move(value), tolerance, promised});
  }
  void number(const ElementInfo& element, AttributeId attribute, double value, double tolerance, bool promised) {
    add(element, attribute, value, tolerance, promised);
  }
  void absent(const ElementInfo& element, AttributeId attribute) { add(element, attribute, std::nullopt, 0, false); }

  static double cycles_tolerance(double cycles) { return std::max(1.0, 0.02 * cycles); }

  // Whether loads of one latency can be told from those of the other.
  [[nodiscard]] bool apart(double one, double other) const {
    return std::abs(one - other) >= std::max(4 * machine_.noise.jitter_cycles + 2, 0.1 * std::min(one, other));
  }

  // Whether the latency of a level can be told from those of the nearer and the farther level.
  [[nodiscard]] bool stands_apart(const sim::SpaceSpec& space, std::size_t depth) const {
    const sim::PathStop& stop = space.path[depth];
    const double farthest = std::max(stop.latency_cycles, stop.far_latency_cycles);
    const bool last = depth + 1 == space.path.size();
    const double next = last ? space.memory_latency_cycles : space.path[depth + 1].latency_cycles;
    const bool behind = apart(farthest, next);
    if (depth == 0) return behind;
    const sim::PathStop& nearer = space.path[depth - 1];
    return behind && apart(stop.latency_cycles, std::max(nearer.latency_cycles, nearer.far_latency_cycles));
  }

  // Size of the largest arrays in bytes.
  [[nodiscard]] double limit_of(Space space) const {
    if (space == Space::kConstant) return static_cast<double>(machine_.info.constant_bytes.value_or(0));
    return space == Space::kLocal ? static_cast<double>(kMaxLocalBytes) : HUGE_VAL;
  }

  void data_cache(const ElementInfo& element) {
    const std::optional<sim::SpaceSpec> space = space_of(machine_, *element.space);
    if (!space) return;
    const CacheSpec* cache = cache_at(machine_, *element.space, element.depth);
    const bool of_sm = element.id != ElementId::kL2 && element.id != ElementId::kL3;
    if (cache == nullptr || (of_sm && (cache->id == "l2" || cache->id == "behind"))) {
      // If there is no constant L1.5, a probe may report a constant L2 in its place.
      if (element.id != ElementId::kConstantL15) absent(element, AttributeId::kSize);
      return;
    }
    const sim::PathStop& stop = space->path[element.depth];
    const bool apart = stands_apart(*space, element.depth);
    const auto bytes = static_cast<double>(cache->size_bytes);
    // An array must reach twice the cache size, or 1.5 times the cache size if the space ends there.
    const bool exceeded = bytes <= 0.6 * limit_of(*element.space);
    // Local loads touch one word in every 128 bytes, so they show nothing of smaller lines.
    const bool reached = element.space != Space::kLocal || cache->line_bytes >= kLocalStrideBytes;
    const bool shows = apart && exceeded && reached && cache->set_interleave_bytes == 0;
    const double line = cache->line_bytes;
    const bool lru = cache->replacement == sim::Replacement::kLru;
    number(element, AttributeId::kSize, bytes, lru ? line : std::max(line, 0.01 * bytes), shows);
    number(element, AttributeId::kLineSize, line, 0, shows);
    number(element, AttributeId::kFetchGranularity, cache->sector_bytes, 0, shows);
    if (!cache->fetch_limits_bytes.empty()) {
      number(element, AttributeId::kMinFetchGranularity, cache->fetch_limits_bytes.front(), 0, shows);
    }
    number(element, AttributeId::kLatency, stop.latency_cycles, cycles_tolerance(stop.latency_cycles), apart);
    const double address = space->address_cycles;
    if (address > 0) number(element, AttributeId::kAddressCost, address, 0.1 + 0.02 * address, apart);
    if (machine_.info.sm_count > 1 && cache->instances == 1) {
      add(element, AttributeId::kScope, scope_text(cache->scope), 0, shows);
    }
    miss_penalty(element, *space, shows);
    if (of_sm) {
      if (cache->scope == sim::Scope::kSm) number(element, AttributeId::kAmount, cache->instances, 0, shows);
      shared_with(element, *cache, shows);
      if (cache->scope == sim::Scope::kGroup) {
        add(element, AttributeId::kSharedBetween, UnitGroups{machine_.sm_groups}, 0, shows);
      }
      structure(element, *cache, shows);
    }
    const double far = std::max(stop.far_latency_cycles, stop.latency_cycles);
    number(element, AttributeId::kPartitions, cache->partitions, 0,
           shows && (cache->partitions == 1 || this->apart(stop.latency_cycles, far)));
    bandwidth(element, cache->id);
  }

  // For SM 0.
  [[nodiscard]] std::string scope_text(sim::Scope scope) const {
    const std::uint32_t sms = machine_.info.sm_count;
    const std::uint32_t together = scope == sim::Scope::kTpc   ? std::min(machine_.sms_per_tpc, sms)
                                   : scope == sim::Scope::kGpu ? sms
                                                               : 1;
    return together == sms ? "GPU" : together == 1 ? "SM" : fmt::format("{} SMs", together);
  }

  // The mean over lines with near and far homes.
  [[nodiscard]] double memory_cycles(const sim::SpaceSpec& space) const {
    const double near = space.memory_latency_cycles;
    if (space.far_memory_latency_cycles == 0) return near;
    const double partitions = cache_of(machine_, "l2").partitions;
    return near + (space.far_memory_latency_cycles - near) * (partitions - 1) / partitions;
  }

  void miss_penalty(const ElementInfo& element, const sim::SpaceSpec& space, bool shows) {
    const std::size_t next = element.depth + 1;
    const bool last = next == space.path.size();
    if (!last && space.path[next].far_latency_cycles > 0) return;  // depends on the home of each line
    const double behind = last ? memory_cycles(space) : space.path[next].latency_cycles;
    const double penalty = behind - space.path[element.depth].latency_cycles;
    number(element, AttributeId::kMissPenalty, penalty, std::max(2.0, 0.03 * behind), shows);
  }

  void shared_with(const ElementInfo& element, const CacheSpec& cache, bool shows) {
    std::vector<std::string> partners;
    for (const ElementInfo* other : elements_of(vendor_)) {
      if (other->kind != ElementKind::kDataCache || other->depth != 0 || other->id == element.id) continue;
      if (other->space == Space::kGlobalBypassL1) continue;
      if (coverage_of(vendor_, other->id, AttributeId::kSharedWith) != Coverage::kMeasured) continue;
      const CacheSpec* nearest = cache_at(machine_, *other->space, 0);
      if (nearest != nullptr && nearest->id == cache.id) partners.emplace_back(other->name);
    }
    add(element, AttributeId::kSharedWith, partners, 0, shows);
  }

  void structure(const ElementInfo& element, const CacheSpec& cache, bool shows) {
    const std::uint64_t lines = cache.size_bytes / cache.line_bytes;
    const std::uint64_t ways = cache.ways == 0 ? lines : cache.ways;
    number(element, AttributeId::kWays, static_cast<double>(ways), 0, shows);
    number(element, AttributeId::kSets, static_cast<double>(lines / ways), 0, shows);
    const bool modulo = cache.index == sim::IndexHash::kModulo && cache.set_interleave_bytes == 0;
    if (cache.set_interleave_bytes == 0) {
      add(element, AttributeId::kIndex, std::string(lines == ways ? "none" : modulo ? "modulo" : "hashed"), 0, shows);
    }
    replacement(element, cache, ways, shows);
  }

  void replacement(const ElementInfo& element, const CacheSpec& cache, std::uint64_t ways, bool shows) {
    if (!cache.victim_weights.empty()) return;  // random by uneven choice, which may be reported by another name
    // A nearer cache that is neither direct-mapped nor LRU hides the order.
    bool hidden = false;
    if (element.depth > 0) {
      const CacheSpec& nearer = *cache_at(machine_, *element.space, 0);
      hidden = hidden || (nearer.ways != 1 && nearer.replacement != sim::Replacement::kLru);
    }
    std::string name = "random";
    if (cache.replacement == sim::Replacement::kLru) name = "lru";
    if (cache.replacement == sim::Replacement::kFifo) name = "fifo";
    // With two ways, the tree knows which is older.
    if (cache.replacement == sim::Replacement::kTreePlru) name = ways == 2 ? "lru" : "pseudo_lru";
    if (cache.replacement == sim::Replacement::kSegmentedLru) name = "segmented_lru";
    if (cache.replacement == sim::Replacement::kSrrip) name = "srrip";
    if (ways == 1) name = "none";
    add(element, AttributeId::kReplacement, name, 0, shows && !hidden);
  }

  // The most that a stream can reach. The tolerance covers the percent that limited concurrency costs.
  void bandwidth(const ElementInfo& element, const std::string& level) {
    const auto found = machine_.bandwidths.find(level);
    if (found == machine_.bandwidths.end() || level == "texture" || level == "readonly") return;
    const bool own_path =
        element.space == Space::kGlobal || element.space == Space::kGlobalBypassL1 || element.space == Space::kShared;
    if (!own_path) return;
    double read = found->second.read_bytes_per_second;
    const double port = sim::is_of_all(machine_, level) ? sim::sm_bytes_per_second(machine_) : 0;
    if (port > 0) read = std::min(read, machine_.info.sm_count * port);
    number(element, AttributeId::kReadBandwidth, read, 0.05 * read, true);
  }

  void tlb(const ElementInfo& element) {
    const bool of_textures = element.space == Space::kTexture;
    if (of_textures && !machine_.spaces.contains(Space::kTexture)) return;
    const bool of_their_own = of_textures && !machine_.texture_tlbs.empty();
    const std::vector<sim::TlbSpec>& tlbs = of_their_own ? machine_.texture_tlbs : machine_.tlbs;
    if (element.depth >= tlbs.size()) {
      absent(element, AttributeId::kReach);
      return;
    }
    const sim::TlbSpec& tlb = tlbs[element.depth];
    const double page = static_cast<double>(tlb.page_bytes);
    const double reach = page * tlb.entries;
    const CacheSpec& l2 = cache_of(machine_, "l2");
    // L2 holds lines of twice as many pages as the TLB has entries; memory is large enough; misses stand out.
    const bool fits = 8.0 * tlb.entries * l2.line_bytes <= static_cast<double>(l2.size_bytes) / l2.partitions;
    bool shows = fits && reach <= 0.3 * static_cast<double>(*machine_.info.memory_bytes) &&
                 tlb.miss_cycles >= std::max(6.0, 4 * machine_.noise.jitter_cycles) && l2.ways >= 4;
    // The SM's own cache hides the misses of some textures.
    shows = shows && !of_textures;
    if (element.depth > 0) {
      const sim::TlbSpec& nearer = tlbs[element.depth - 1];
      shows = shows && reach >= 4.0 * static_cast<double>(nearer.page_bytes) * nearer.entries;
    }
    const bool regular = tlb.index == sim::IndexHash::kModulo && tlb.set_ways.empty();
    number(element, AttributeId::kReach, reach, 0, shows && regular);
    number(element, AttributeId::kEntryBytes, page, 0, shows && regular);
    number(element, AttributeId::kEntries, tlb.entries, 0, shows && regular);
    constexpr std::uint32_t kMaxEntries = 512;
    const bool walked = tlb.entries <= kMaxEntries && regular;
    number(element, AttributeId::kWays, tlb.ways == 0 ? tlb.entries : tlb.ways, 0, shows && walked);
    number(element, AttributeId::kMissPenalty, tlb.miss_cycles, std::max(2.0, 0.03 * tlb.miss_cycles), shows);
  }

  // Straight-line code cannot show this cache, so it comes before all levels that such code shows.
  [[nodiscard]] bool has_nearest_code() const {
    return !machine_.code->path.empty() && machine_.code->path.front().cache == "icache_l0";
  }

  void nearest_code(const ElementInfo& element) {
    if (!machine_.code) return;
    if (!has_nearest_code()) return absent(element, AttributeId::kSize);
    const auto bytes = static_cast<double>(cache_of(machine_, "icache_l0").size_bytes);
    number(element, AttributeId::kSize, bytes, 0, false);
    const double cycles = machine_.code->path.front().jump_cycles;
    number(element, AttributeId::kLatency, cycles, cycles_tolerance(cycles), false);
    fetches(element);
  }

  void fetches(const ElementInfo& element) {
    const std::uint32_t bytes = machine_.code->fetch_bytes;
    if (bytes != 0) number(element, AttributeId::kFetchSize, bytes, 0, false);
  }

  void code(const ElementInfo& element) {
    if (!machine_.code) return;
    std::vector<sim::CodeStop> path = machine_.code->path;
    if (has_nearest_code()) path.erase(path.begin());
    if (element.depth >= path.size()) {
      absent(element, AttributeId::kSize);
      return;
    }
    const double jump_cycles = path[element.depth].jump_cycles;
    if (jump_cycles > 0) number(element, AttributeId::kLatency, jump_cycles, cycles_tolerance(jump_cycles), false);
    if (element.depth == 0 && !has_nearest_code()) fetches(element);
    const CacheSpec& cache = cache_of(machine_, path[element.depth].cache);
    const auto bytes = static_cast<double>(cache.size_bytes);
    const double cycles = path[element.depth].cycles_per_instruction;
    const double block = 32.0 * machine_.code->bytes_per_instruction;
    const bool lru = cache.replacement == sim::Replacement::kLru;
    const bool plain = lru && cache.index == sim::IndexHash::kModulo && cache.ways > 1 && bytes >= 8 * block;
    const bool one_line = element.depth == 0 || cache.line_bytes == cache_of(machine_, path[0].cache).line_bytes;
    number(element, AttributeId::kSize, bytes, std::max(block, 0.01 * bytes), plain);
    number(element, AttributeId::kCyclesPerInstruction, cycles, std::max(0.03 * cycles, 0.05), plain && one_line);
    const bool sets = bytes > static_cast<double>(cache.ways) * cache.line_bytes;
    number(element, AttributeId::kWays, cache.ways, 0, plain && sets && one_line);
    number(element, AttributeId::kLineSize, cache.line_bytes, 0, false);
    const auto& constants = machine_.spaces.contains(Space::kConstant) ? machine_.spaces.at(Space::kConstant).path
                                                                       : std::vector<sim::PathStop>{};
    const bool shared =
        std::ranges::any_of(constants, [&](const sim::PathStop& stop) { return stop.cache == cache.id; });
    add(element, AttributeId::kSharedWith, std::vector<std::string>(shared ? 1 : 0, "constants"), 0, false);
  }

  void operands(const ElementInfo& element) {
    if (!machine_.code || machine_.code->operand_path.empty()) return;
    const std::vector<sim::OperandStop>& path = machine_.code->operand_path;
    const CacheSpec& cache = cache_of(machine_, path.front().cache);
    number(element, AttributeId::kSize, static_cast<double>(cache.size_bytes), cache.line_bytes, false);
    // The next level must be larger.
    const auto next = std::ranges::find_if(path.begin() + 1, path.end(), [&](const sim::OperandStop& stop) {
      return cache_of(machine_, stop.cache).size_bytes > 5 * cache.size_bytes / 4;
    });
    const double behind = next == path.end() ? machine_.code->memory_operand_cycles : next->cycles;
    const double penalty = behind - path.front().cycles;
    number(element, AttributeId::kMissPenalty, penalty, std::max(1.0, 0.03 * penalty), false);
    number(element, AttributeId::kWays, cache.ways, 0, false);
    const auto space = machine_.spaces.find(Space::kConstant);
    const bool shared =
        space != machine_.spaces.end() &&
        std::ranges::any_of(space->second.path, [&](const auto& stop) { return stop.cache == cache.id; });
    const std::string_view partner = cache.id == "constant_l15" ? "constant_l15" : "constant_l1";
    add(element, AttributeId::kSharedWith, std::vector<std::string>(shared ? 1 : 0, std::string(partner)), 0, false);
  }

  void scratchpad(const ElementInfo& element) {
    const auto space = machine_.spaces.find(*element.space);
    if (space == machine_.spaces.end()) return;
    const double latency = space->second.memory_latency_cycles;
    number(element, AttributeId::kLatency, latency, cycles_tolerance(latency), true);
    bandwidth(element, sim::kSharedLevel);
    if (!machine_.banks) return;
    const sim::BankSpec& banks = *machine_.banks;
    number(element, AttributeId::kBanks, banks.banks, 0, true);
    number(element, AttributeId::kBankWidth, banks.bank_bytes, 0, true);
    number(element, AttributeId::kBankInterleave,
           banks.modes_bytes.empty() ? banks.bank_bytes : banks.modes_bytes.front(), 0, true);
    number(element, AttributeId::kLanesPerRequest, banks.lanes_at_once, 0, true);
    const double cost = banks.conflict_cycles;
    number(element, AttributeId::kConflictCost, cost, 0.1 + 0.02 * cost, true);
    const double store = banks.store_latency_cycles;
    number(element, AttributeId::kStoreLatency, store, 1.5 + 0.02 * store, true);
  }

  void memory(const ElementInfo& element) {
    const sim::SpaceSpec& space = machine_.spaces.at(*element.space);
    const double latency = memory_cycles(space);
    number(element, AttributeId::kLatency, latency, cycles_tolerance(latency), true);
    bandwidth(element, sim::kMemoryLevel);
  }

  void stores() {
    const CacheSpec& first = *cache_at(machine_, Space::kGlobal, 0);
    const CacheSpec& l2 = cache_of(machine_, "l2");
    // If L2 does not keep stored lines, nothing shows whether L1 passes stores on.
    if (first.id != "l2") writes(first, allocates_on_store(l2), allocates_on_store(l2));
    // Streams over fewer bytes do not stay in an L2. A write-through L2 takes stores no faster than the level behind
    // it, and neither does a write-back L2 of the same bandwidth.
    constexpr std::uint64_t kLeastStreamBytes = 512 << 10;
    constexpr double kClearlyFaster = 1.25;
    const CacheSpec* l3 = cache_at(machine_, Space::kGlobalBypassL1, 1);
    const double behind = write_bandwidth(l3 != nullptr ? l3->id : std::string(sim::kMemoryLevel));
    const bool is_faster = write_bandwidth("l2") > kClearlyFaster * behind;
    const bool shows = (writes_back(l2) || l3 == nullptr) && l2.size_bytes >= kLeastStreamBytes;
    writes(l2, shows, shows && is_faster);
  }

  [[nodiscard]] double write_bandwidth(const std::string& level) const {
    const auto found = machine_.bandwidths.find(level);
    return found == machine_.bandwidths.end() ? 0 : found->second.write_bytes_per_second;
  }

  void writes(const CacheSpec& cache, bool allocation_shows, bool policy_shows) {
    const ElementInfo* element = find_element(cache.id);
    if (element == nullptr) return;
    add(*element, AttributeId::kWriteAllocate, allocates_on_store(cache), 0, allocation_shows);
    add(*element, AttributeId::kWritePolicy, std::string(writes_back(cache) ? "write_back" : "write_through"), 0,
        policy_shows);
  }

  const MachineSpec& machine_;
  Vendor vendor_;
  std::vector<Truth> truths_;
};

std::string text_of(const Value& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{:.6g}", number); }
    std::string operator()(const std::string& name) const { return name; }
    std::string operator()(const std::vector<double>& list) const { return fmt::format("{}", list); }
    std::string operator()(const std::vector<std::string>& list) const { return fmt::format("{}", list); }
    std::string operator()(const UnitGroups& groups) const { return fmt::format("{}", groups.groups); }
  };
  return std::visit(Text{}, value);
}

bool is_number(const Value& value) { return std::holds_alternative<double>(value); }

Verdict verdict_of_value(const Truth& truth, const Attribute& found) {
  const Verdict wrong = found.flags.empty() ? Verdict::kConfidentlyWrong : Verdict::kFlagged;
  if (!truth.value) return wrong;
  if (!is_number(*truth.value)) return found.value == *truth.value ? Verdict::kRight : wrong;
  const double expected = std::get<double>(*truth.value);
  const double value = found.number().value_or(NAN);
  constexpr double kRounding = 1e-6;
  const double slack = kRounding * std::max(1.0, std::abs(expected));
  if (found.low.value_or(value) - slack <= expected && expected <= found.high.value_or(value) + slack) {
    return Verdict::kRight;
  }
  return std::abs(value - expected) <= truth.tolerance ? Verdict::kClose : wrong;
}

}  // namespace

Attribute measured_part(const Attribute& attribute) {
  const Value* measured = attribute.find_detail("measured_bytes");
  if (measured == nullptr) return attribute;
  Attribute part = attribute;
  part.value = *measured;
  part.low = std::get<double>(*attribute.find_detail("measured_low_bytes"));
  part.high = std::get<double>(*attribute.find_detail("measured_high_bytes"));
  return part;
}

std::vector<Truth> truths_of(const sim::MachineSpec& machine) { return Truths(machine).take(); }

std::vector<std::string> names_of(const std::vector<Truth>& truths) {
  std::vector<std::string> names;
  for (const Truth& truth : truths) names.push_back(truth.element + "." + truth.attribute);
  return names;
}

Judged judge(const Truth& truth, const Topology& topology) {
  Judged judged{.truth = truth};
  const std::string name = truth.element + "." + truth.attribute;
  const std::string expected = truth.value ? text_of(*truth.value) : "that it is not there";
  const Attribute* attribute = topology.find_attribute(truth.element, truth.attribute);
  if (attribute == nullptr || !attribute->available()) {
    // An absent element counts as one claim, although each of its attributes says so.
    const bool tells =
        truth.attribute == to_string(AttributeId::kSize) || truth.attribute == to_string(AttributeId::kReach);
    const bool denied = tells && attribute != nullptr && attribute->reason == Reason::kNotPresent && truth.value;
    judged.verdict = denied ? Verdict::kConfidentlyWrong : truth.promised ? Verdict::kSilent : Verdict::kRightlySilent;
    judged.text = fmt::format("{}: no value, {}: {}; truth {}", name,
                              to_string(attribute == nullptr ? Reason::kNotSelected : attribute->reason),
                              attribute == nullptr ? "" : attribute->detail, expected);
    return judged;
  }
  const Attribute found = measured_part(*attribute);
  judged.verdict = verdict_of_value(truth, found);
  if (truth.value && is_number(*truth.value) && found.number()) {
    judged.relative_error = *found.number() / std::get<double>(*truth.value) - 1;
  }
  judged.is_flagged = !found.flags.empty();
  judged.has_interval = truth.value && is_number(*truth.value) && found.low.has_value();
  judged.text =
      fmt::format("{}: {} [{}, {}] by {}{}; truth {}", name, text_of(found.value), found.low.value_or(NAN),
                  found.high.value_or(NAN), found.method,
                  found.flags.empty() ? "" : fmt::format(", flagged {}", fmt::join(found.flags, "; ")), expected);
  return judged;
}

}  // namespace gputopo::truth
