#include "gputopo/discover.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "discover/access_attributes.h"
#include "discover/cluster_elements.h"
#include "discover/code_elements.h"
#include "discover/consistency.h"
#include "discover/general.h"
#include "discover/host.h"
#include "model/likeness.h"
#include "probe/lab.h"
#include "probe/site.h"
#include "probe/size.h"
#include "probe/structure.h"
#include "probe/tlb.h"
#include "probe/write_policy.h"

namespace gputopo {
namespace {

using probe::Cache;
using probe::Site;
using probe::Survey;

// How an element is reached: the space whose loads pass it, and which of the levels they show it is.
struct ElementProbe {
  const char* element;
  Space space;
  std::size_t depth;
};

constexpr ElementProbe kCaches[] = {
    {"l1", Space::kGlobal, 0},         {"vl1", Space::kGlobal, 0},           {"texture", Space::kTexture, 0},
    {"readonly", Space::kReadOnly, 0}, {"constant_l1", Space::kConstant, 0}, {"constant_l15", Space::kConstant, 1},
    {"sl1d", Space::kScalar, 0},       {"l2", Space::kGlobalBypassL1, 0},    {"l3", Space::kGlobalBypassL1, 1},
};

const ElementProbe& cache_row(const std::string& element) {
  const auto* row =
      std::find_if(std::begin(kCaches), std::end(kCaches), [&](const ElementProbe& r) { return element == r.element; });
  if (row == std::end(kCaches)) throw UsageError(fmt::format("'{}' is not a cache", element));
  return *row;
}

// On-chip memory that programs address.
bool is_scratchpad(const std::string& element) { return element == "shared" || element == "lds"; }

// "tlb_l1" is the nearest level.
bool is_tlb(const std::string& element) { return element.starts_with("tlb_l"); }
std::size_t tlb_depth(const std::string& element) { return static_cast<std::size_t>(element.back() - '1'); }

// Caches that may share their physical cache with one another: those at the first level of their space.
constexpr const char* kFirstLevelCaches[] = {"l1", "texture", "readonly", "constant_l1"};

class Discovery {
 public:
  Discovery(Device& device, const DiscoverOptions& options)
      : options_(options), lab_(device, options), code_(lab_), clusters_(lab_), accesses_(lab_) {}

  Topology run();

 private:
  [[nodiscard]] bool has_row(std::string_view element) const;
  // What the vendor's interface says of the size of a cache that SMs share.
  [[nodiscard]] std::optional<std::uint64_t> api_size(const std::string& element) const;

  using Measure = Attribute (Discovery::*)(const std::string& element);
  struct PlanRow {
    const char* attribute;
    Measure measure;
  };
  static const std::vector<PlanRow>& plan();

  // Results, each probed at most once and only when asked for.
  const Attribute& ensure(const std::string& element, const std::string& attribute);
  const Survey& survey(Space space) { return survey_as_far_as(site(space), true); }
  Survey& survey_as_far_as(const Site& site, bool complete);  // complete: else only begun, if it was not yet
  Cache& cache(const std::string& element);
  Cache find_cache(const std::string& element);
  std::optional<Cache> l2_of_textures();
  const Cache& near_part(const std::string& element);
  Site site(Space space) const;

  Attribute guarded(const std::string& element, const PlanRow& row);
  Attribute failure(Reason reason, const std::string& detail);

  Attribute size(const std::string& element);
  Attribute latency(const std::string& element);
  Attribute line_size(const std::string& element);
  std::string code_element_of_constants();  // "" where there is none
  Attribute line_size_of_code(const std::string& element);
  std::optional<Attribute> constants_beside_code(
      const std::string& element, const std::function<Attribute(const probe::CodeSurvey&, Cache&)>& measure);
  Attribute fetch_granularity(const std::string& element);
  Attribute amount(const std::string& element);
  Attribute shared_with(const std::string& element);
  Attribute miss_penalty(const std::string& element);
  Attribute partitions(const std::string& element);
  Attribute shared_between(const std::string& element);
  Attribute near_sms(const std::string& element);
  Attribute slices(const std::string& element);
  Attribute latency_patterns(const std::string& element);
  // Of the TLB level that the element names.
  const probe::TlbSurvey& tlbs();
  [[nodiscard]] Site site_of_tlbs() const;
  Attribute reach(const std::string& element) { return probe::tlb_reach(lab_, tlbs(), tlb_depth(element)); }
  Attribute entries(const std::string& element) { return probe::tlb_entries(lab_, tlbs(), tlb_depth(element)); }
  Attribute entry_bytes(const std::string& element) { return probe::tlb_entry_bytes(lab_, tlbs(), tlb_depth(element)); }
  Attribute scope(const std::string& element);
  Attribute ways(const std::string& element);
  // Of the cache that the element names.
  const probe::Structure& structure(const std::string& element);
  Attribute sets(const std::string& element);
  Attribute index(const std::string& element) { return probe::structure_index(lab_, structure(element)); }
  Attribute replacement(const std::string& element);
  Attribute read_bandwidth(const std::string& element) { return bandwidth(element, StreamOp::kRead); }
  Attribute write_bandwidth(const std::string& element) { return bandwidth(element, StreamOp::kWrite); }
  Attribute bandwidth(const std::string& element, StreamOp op);
  Attribute write_allocate(const std::string& element);
  Attribute write_policy(const std::string& element);
  [[nodiscard]] std::uint64_t memory_stream_bytes() const;
  [[nodiscard]] double theoretical_memory_bytes_per_second() const;
  Attribute l2_write_policy();

  void size_by_carve_out(const std::string& element, const Cache& found, Attribute& size);
  void require_l1_caching();
  void require_l2_of_globals();
  bool shares(const std::string& victim, const std::string& evictor);
  void report_progress(const std::string& probe);

  const DiscoverOptions& options_;
  probe::Lab lab_;
  CodeElements code_;
  ClusterElements clusters_;
  AccessAttributes accesses_;
  const std::vector<ElementRow> table_ = elements_of(lab_.info().vendor);
  Topology topology_;
  // By what a site is: its space, and whether programs run alone.
  std::map<std::pair<Space, bool>, Survey> surveys_;
  std::map<std::pair<Space, bool>, std::string> absent_;  // why
  std::map<std::string, Cache> caches_;
  std::map<std::string, Cache> near_parts_;
  std::optional<probe::TlbSurvey> tlbs_;
  std::optional<std::string> without_tlbs_;  // why
  std::map<std::string, probe::Structure> structures_;
  std::map<std::string, std::string> without_structure_;  // why
  std::map<std::pair<std::string, std::string>, Attribute> results_;
  std::map<std::pair<std::string, std::string>, bool> sharing_;
  std::optional<std::pair<Reason, std::string>> ended_;  // set: no more programs; why
  double nested_seconds_ = 0;                            // spent in probes that the running one asked for
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

// One row per attribute: how it is measured. The order is that of the measurement; what needs another's result asks for
// it.
const std::vector<Discovery::PlanRow>& Discovery::plan() {
  static const std::vector<PlanRow> kPlan = {
      {"fetch_granularity", &Discovery::fetch_granularity},
      {"line_size", &Discovery::line_size},
      {"size", &Discovery::size},
      {"latency", &Discovery::latency},
      {"miss_penalty", &Discovery::miss_penalty},
      {"amount", &Discovery::amount},
      {"shared_with", &Discovery::shared_with},
      {"partitions", &Discovery::partitions},
      {"shared_between", &Discovery::shared_between},
      {"near_sms", &Discovery::near_sms},
      {"slices", &Discovery::slices},
      {"latency_patterns", &Discovery::latency_patterns},
      {"reach", &Discovery::reach},
      {"entry_bytes", &Discovery::entry_bytes},
      {"entries", &Discovery::entries},
      {"ways", &Discovery::ways},
      {"sets", &Discovery::sets},
      {"index", &Discovery::index},
      {"replacement", &Discovery::replacement},
      {"read_bandwidth", &Discovery::read_bandwidth},
      {"write_bandwidth", &Discovery::write_bandwidth},
      {"write_allocate", &Discovery::write_allocate},
      {"write_policy", &Discovery::write_policy},
      {"scope", &Discovery::scope},
      // Of instruction caches only (code_elements.h).
      {"cycles_per_instruction", nullptr},
      // By accesses of whole warps (access_attributes.h).
      {"banks", nullptr},
      {"bank_width", nullptr},
      {"conflict_cost", nullptr},
      {"store_latency", nullptr},
      {"atomic_latency", nullptr},
      {"atomic_throughput", nullptr},
      {"loaded_latency", nullptr},
      // Of clusters only (cluster_elements.h).
      {"max_cluster_size", nullptr},
      {"gpc_sms", nullptr},
  };
  return kPlan;
}

Site Discovery::site(Space space) const {
  Site result;
  result.space = space;
  result.exclusive = space == Space::kGlobalBypassL1;
  if (space == Space::kConstant) result.limit_bytes = lab_.info().constant_bytes.value_or(64 * 1024);
  return result;
}

// Asked for once only: of a space that is not there, the reason is kept.
Survey& Discovery::survey_as_far_as(const Site& site, bool complete) {
  const Space space = site.space;
  const auto key = std::pair(space, site.exclusive);
  if (const auto absent = absent_.find(key); absent != absent_.end()) throw NotSupportedError(absent->second);
  const std::vector<Space>& spaces = lab_.info().spaces;
  if (std::find(spaces.begin(), spaces.end(), space) == spaces.end()) {
    throw NotSupportedError(fmt::format("this device runs no programs in the {} space", to_string(space)));
  }
  try {
    const auto found = surveys_.find(key);
    Survey& survey = found != surveys_.end() ? found->second : surveys_[key] = probe::begin_survey(lab_, site);
    if (complete && !survey.is_complete()) survey = probe::complete_survey(lab_, survey);
    return survey;
  } catch (const NotSupportedError& error) {
    absent_[key] = error.what();
    throw;
  }
}

Cache& Discovery::cache(const std::string& element) {
  if (const auto found = caches_.find(element); found != caches_.end()) return found->second;
  return caches_.emplace(element, find_cache(element)).first->second;
}

Cache Discovery::find_cache(const std::string& element) {
  const ElementProbe& row = cache_row(element);
  const Survey& found = survey(row.space);
  if (row.space == Space::kGlobal) require_l1_caching();
  if (!found.site.exclusive) return probe::find_cache(found, row.depth, false);
  // All levels but memory are near and far parts of one cache, unless the table has another behind it.
  const bool merge_rest = !has_row("l3");
  // What SMs share was surveyed until memory shows, so the last level is that.
  if (row.depth + 1 < found.levels.size()) return probe::find_cache(found, row.depth, merge_rest);
  // Where global loads are not cached at all (compute capability 1) the cache that SMs share may be that of textures,
  // behind the one of the SM.
  if (const std::optional<Cache> of_textures = element == "l2" ? l2_of_textures() : std::nullopt) return *of_textures;
  throw probe::NotPresent(
      fmt::format("loads that bypass L1 show {} level(s), the last of which is memory", found.levels.size()));
}

std::optional<Cache> Discovery::l2_of_textures() {
  Site textures = site(Space::kTexture);
  textures.exclusive = true;
  try {
    const Survey& found = survey_as_far_as(textures, true);
    if (found.levels.size() < 3) return std::nullopt;
    return probe::find_cache(found, 1, false);
  } catch (const NotSupportedError&) {  // no textures
    return std::nullopt;
  } catch (const probe::Inconclusive&) {
    return std::nullopt;
  }
}

bool Discovery::has_row(std::string_view element) const {
  return std::any_of(table_.begin(), table_.end(), [&](const ElementRow& row) { return row.id == element; });
}

std::optional<std::uint64_t> Discovery::api_size(const std::string& element) const {
  if (element == "l2") return lab_.info().l2_bytes;
  if (element == "l3") return lab_.info().l3_bytes;
  return std::nullopt;
}

// GPUs that do not cache global loads in L1 (Groessler 2022, section 4.2.1): loads that may use L1 take as long as
// loads that bypass it.
void Discovery::require_l1_caching() {
  const std::vector<Space>& spaces = lab_.info().spaces;
  if (std::find(spaces.begin(), spaces.end(), Space::kGlobalBypassL1) == spaces.end()) return;
  const double with_l1 = stats::median(survey_as_far_as(site(Space::kGlobal), false).tiny_latencies_cycles);
  const double without = stats::median(survey_as_far_as(site(Space::kGlobalBypassL1), false).tiny_latencies_cycles);
  constexpr double kSame = 0.1;  // an L1 hit takes less than half of an L2 hit on every GPU that has one
  if (with_l1 > (1 - kSame) * without) {
    throw probe::NotPresent(fmt::format(
        "global loads take {:.0f} cycles and those that bypass L1 {:.0f}: this GPU does not cache global loads in L1",
        with_l1, without));
  }
}

// Without an L2, or with one of textures, what is asked of it would be asked of memory. Whether its edge was found does
// not matter here.
void Discovery::require_l2_of_globals() {
  const Attribute& size = ensure("l2", "size");
  if (size.reason == Reason::kNotPresent) throw probe::NotPresent(size.detail);
  if (cache("l2").site().space == Space::kTexture) {
    throw probe::NotPresent("only textures pass this L2: global loads, stores and atomics go to memory");
  }
}

// Of a cache that holds all the constants there may be: what `measure` finds where constants and code share it.
std::optional<Attribute> Discovery::constants_beside_code(
    const std::string& element, const std::function<Attribute(const probe::CodeSurvey&, Cache&)>& measure) {
  Cache& found = cache(element);
  if (found.site().space != Space::kConstant || found.was_exceeded()) return std::nullopt;
  try {
    return measure(code_.survey(), found);
  } catch (const NotSupportedError& error) {
    lab_.log(fmt::format("{} beside code: {}", element, error.what()));
    return std::nullopt;
  }
}

Attribute Discovery::fetch_granularity(const std::string& element) {
  return probe::measure_fetch_granularity(lab_, cache(element));
}

Attribute Discovery::line_size(const std::string& element) {
  if (CodeElements::has(element)) return line_size_of_code(element);
  ensure(element, "fetch_granularity");
  const auto beside_code = constants_beside_code(element, [&](const probe::CodeSurvey& code, Cache& constants) {
    return probe::measure_constant_line_beside_code(lab_, code, constants);
  });
  return beside_code ? *beside_code : probe::measure_line_size(lab_, cache(element));
}

// The nearest cache where code meets constants is the constant L1.5.
std::string Discovery::code_element_of_constants() {
  const Value with_constants{std::vector<std::string>{"constants"}};
  const auto first = std::find_if(table_.begin(), table_.end(), [&](const ElementRow& row) {
    return CodeElements::has(row.id) && row.of("shared_with") != Coverage::kNotApplicable &&
           ensure(row.id, "shared_with").value == with_constants;
  });
  return first == table_.end() ? "" : first->id;
}

// What is known of one and the same cache by another path.
Attribute inferred(Attribute of_other_path, const char* method) {
  if (!of_other_path.available()) return of_other_path;
  of_other_path.source = Source::kInferred;
  of_other_path.method = method;
  of_other_path.samples.clear();
  return of_other_path;
}

// Where the code does not tell, constants may, where they meet.
Attribute Discovery::line_size_of_code(const std::string& element) {
  const auto meets_constants = [&] { return code_element_of_constants() == element; };
  try {
    return code_.measure(element, "line_size");
  } catch (const probe::Inconclusive&) {
    if (!meets_constants()) throw;
  } catch (const NotSupportedError&) {
    if (!meets_constants()) throw;
  }
  return inferred(ensure("constant_l15", "line_size"), "line_of_constants_beside_code");
}

Attribute Discovery::size(const std::string& element) {
  if (is_scratchpad(element)) {
    if (!lab_.info().shared_bytes_per_sm) return unavailable(Reason::kNotSupported, "the driver does not tell");
    return api_value(static_cast<std::int64_t>(*lab_.info().shared_bytes_per_sm), "B");
  }
  if (element == "device") {
    if (!lab_.info().memory_bytes) return unavailable(Reason::kNotSupported, "the driver does not tell");
    return api_value(static_cast<std::int64_t>(*lab_.info().memory_bytes), "B");
  }
  ensure(element, "line_size");
  Cache& found = cache(element);
  const auto beside_code = constants_beside_code(element, [&](const probe::CodeSurvey& code, Cache& constants) {
    return probe::measure_constant_size_beside_code(lab_, code, constants);
  });
  if (beside_code) return *beside_code;
  Attribute measured = probe::measure_size(lab_, found);
  if (!found.site().exclusive) {
    if (measured.available() && found.site().space != Space::kConstant) size_by_carve_out(element, found, measured);
    return measured;
  }
  const std::optional<std::uint64_t> vendors = api_size(element);
  if (!vendors) return measured;
  // The vendor's figure is the value; what was measured stands beside it.
  Attribute api = api_value(static_cast<std::int64_t>(*vendors), "B");
  if (measured.available()) {
    api.details = measured.details;
    api.details.insert(api.details.begin(), {{"measured_bytes", *measured.number()},
                                             {"measured_low_bytes", *measured.low},
                                             {"measured_high_bytes", *measured.high}});
    api.method = measured.method;
    api.conditions = measured.conditions;
    api.samples = measured.samples;
  } else {
    api.add_detail("not_measured", measured.detail);
  }
  return api;
}

// At every carve-out; once for each physical cache.
void Discovery::size_by_carve_out(const std::string& element, const Cache& found, Attribute& size) {
  if (element != "l1" && !lab_.info().carve_outs_bytes.empty()) {
    const Attribute& l1 = ensure("l1", "size");
    if (l1.available() && shares(element, "l1") && shares("l1", element)) {
      for (const auto& [name, value] : l1.details) {
        if (name.find("carve_out") != std::string::npos) size.add_detail(name, value);
      }
      size.add_condition("carve_outs_measured_as", std::string("l1"));
      return;
    }
  }
  probe::measure_size_by_carve_out(lab_, found, size);
}

Attribute Discovery::latency(const std::string& element) {
  if (is_scratchpad(element)) return probe::measure_shared_latency(lab_, site(Space::kShared));
  if (element == "device")
    return probe::measure_device_latency(lab_, survey(Space::kGlobalBypassL1), lab_.last_cache_bytes());
  if (element == "l2" && !has_row("l3")) return probe::measure_far_latency(lab_, cache(element));
  return probe::measure_latency(lab_, cache(element));
}

Attribute Discovery::amount(const std::string& element) {
  if (element == "l2" || element == "l3") {
    static_cast<void>(cache(element));  // throws where there is none
    if (element == "l3") return inferred_value(std::int64_t{1}, "per GPU", "all_dies_reach_it");
    if (!lab_.info().xcd_count) return unavailable(Reason::kNotSupported, "the driver does not tell");
    return api_value(static_cast<std::int64_t>(*lab_.info().xcd_count), "per GPU");
  }
  ensure(element, "size");
  return probe::measure_amount(lab_, cache(element));
}

bool Discovery::shares(const std::string& victim, const std::string& evictor) {
  const auto key = std::pair(victim, evictor);
  if (const auto found = sharing_.find(key); found != sharing_.end()) return found->second;
  return sharing_[key] = probe::shares_cache(lab_, cache(victim), cache(evictor));
}

Attribute Discovery::shared_with(const std::string& element) {
  static_cast<void>(cache(element));  // throws where there is none
  if (!ensure(element, "size").available()) return unavailable(Reason::kDependency, "needs its size");
  std::vector<std::string> partners;
  for (const char* other : kFirstLevelCaches) {
    if (element == other) continue;
    const Attribute& size = ensure(other, "size");
    if (size.reason == Reason::kNotPresent || size.reason == Reason::kNotSupported) continue;
    if (!size.available()) return unavailable(Reason::kDependency, fmt::format("needs the size of {}", other));
    if (shares(element, other) && shares(other, element)) partners.emplace_back(other);
  }
  return probe::measured(lab_, partners, "", std::nullopt, "eviction_between_spaces");
}

Attribute Discovery::shared_between(const std::string& element) {
  ensure(element, "size");
  return probe::measure_shared_between(lab_, cache(element));
}

Attribute Discovery::slices(const std::string& element) {
  require_l2_of_globals();
  ensure(element, "size");
  return probe::measure_slices(lab_, cache(element));
}

Attribute Discovery::near_sms(const std::string& element) {
  const Attribute& partitions = ensure(element, "partitions");
  if (partitions.reason == Reason::kNotPresent) throw probe::NotPresent(partitions.detail);
  if (!partitions.available()) return unavailable(Reason::kDependency, "needs the number of partitions");
  const double count = *partitions.number();
  if (count < 2) throw probe::NotPresent("there is one partition, which all SMs are near");
  return probe::measure_near_sms(lab_, cache(element), static_cast<std::size_t>(count));
}

// Where a load is served from by how its address is translated (Mei et al. 2014, Table 3): what was measured of each,
// and sums where a pattern adds one to the other.
Attribute Discovery::latency_patterns(const std::string& /*element*/) {
  std::vector<std::pair<std::string, double>> patterns;
  const Attribute& l1 = ensure("l1", "latency");
  if (l1.available()) patterns.emplace_back("l1_hit", *l1.number());
  require_l2_of_globals();
  const Attribute& l2 = ensure("l2", "latency");
  const Attribute& memory = ensure("device", "latency");
  if (!l2.available() || !memory.available()) {
    return unavailable(Reason::kDependency, "needs the latencies of L2 and of device memory");
  }
  patterns.emplace_back("l2_hit_tlb_hit", *l2.number());
  std::vector<std::pair<std::string, double>> from_memory;
  double translated = *l2.number();
  for (const char* level : {"tlb_l1", "tlb_l2", "tlb_l3"}) {
    const Attribute& penalty = ensure(level, "miss_penalty");
    if (!penalty.available()) break;
    translated += *penalty.number();
    patterns.emplace_back(fmt::format("l2_hit_{}_miss", level), translated);
    const auto cycles = probe::memory_cycles_after_tlb_misses(lab_, site_of_tlbs(), tlbs(), tlb_depth(level),
                                                              survey(Space::kGlobalBypassL1).timer_cycles);
    if (cycles) from_memory.emplace_back(fmt::format("memory_{}_miss", level), *cycles);
  }
  patterns.emplace_back("memory_tlb_hit", *memory.number());
  patterns.insert(patterns.end(), from_memory.begin(), from_memory.end());
  if (const Value* cold = memory.find_detail("tlb_cold_cycles")) {
    patterns.emplace_back("memory_tlb_cold", std::get<double>(*cold));
  }
  std::vector<double> cycles;
  for (const auto& [name, value] : patterns) cycles.push_back(std::round(10 * value) / 10);
  Attribute attribute = probe::measured(lab_, cycles, "cycles", std::nullopt, "latencies_and_miss_penalties");
  attribute.source = Source::kInferred;
  for (std::size_t i = 0; i < patterns.size(); ++i) attribute.add_detail(patterns[i].first, cycles[i]);
  return attribute;
}

// Loads that miss L1, which may be looked up before the translation.
Site Discovery::site_of_tlbs() const {
  const std::vector<Space>& spaces = lab_.info().spaces;
  const bool bypass = std::find(spaces.begin(), spaces.end(), Space::kGlobalBypassL1) != spaces.end();
  Site pages = site(bypass ? Space::kGlobalBypassL1 : Space::kGlobal);
  pages.exclusive = true;  // the last level may be shared by SMs
  return pages;
}

const probe::TlbSurvey& Discovery::tlbs() {
  if (without_tlbs_) throw probe::Inconclusive(*without_tlbs_);
  if (!tlbs_) {
    try {
      tlbs_ = probe::survey_tlbs(lab_, site_of_tlbs());
    } catch (const probe::Inconclusive& error) {
      without_tlbs_ = error.what();  // not swept again for each attribute of each level
      throw;
    }
  }
  return *tlbs_;
}

Attribute Discovery::scope(const std::string& element) {
  return probe::tlb_scope(lab_, site_of_tlbs(), tlbs(), tlb_depth(element));
}

// Once for each physical cache: what shares L1 has the structure of L1.
const probe::Structure& Discovery::structure(const std::string& element) {
  if (const auto found = structures_.find(element); found != structures_.end()) return found->second;
  if (const auto found = without_structure_.find(element); found != without_structure_.end()) {
    throw probe::Inconclusive(found->second);
  }
  ensure(element, "size");
  if (element != "l1" && !cache(element).site().exclusive && has_row("l1") && ensure("l1", "size").available() &&
      cache(element).line_bytes == cache("l1").line_bytes && shares(element, "l1") && shares("l1", element)) {
    return structure("l1");
  }
  try {
    return structures_.emplace(element, probe::survey_structure(lab_, near_part(element))).first->second;
  } catch (const probe::Inconclusive& error) {
    without_structure_[element] = error.what();
    throw;
  }
}

// What one SM reaches first of a cache: of an L2 with partitions the one near it.
const Cache& Discovery::near_part(const std::string& element) {
  Cache& whole = cache(element);
  if (whole.first_level == whole.last_level) return whole;
  if (const auto found = near_parts_.find(element); found != near_parts_.end()) return found->second;
  const Attribute& size = ensure(element, "size");
  const Attribute& partitions = ensure(element, "partitions");
  if (!size.available() || !partitions.available()) {
    throw probe::Inconclusive("how much of it is near an SM is not known");
  }
  Cache near = whole;
  near.last_level = near.first_level;
  near.size_bytes = *size.number() / *partitions.number();
  probe::read_survey(near);
  return near_parts_.emplace(element, near).first->second;
}

Attribute Discovery::sets(const std::string& element) {
  Attribute sets = probe::structure_sets(lab_, structure(element));
  if (&near_part(element) != &cache(element)) sets.add_detail("partitions", ensure(element, "partitions").value);
  return sets;
}

Attribute Discovery::ways(const std::string& element) {
  if (is_tlb(element)) return probe::tlb_ways(lab_, tlbs(), tlb_depth(element));
  if (element == "constant_l15" && !cache(element).was_exceeded()) {
    const std::string code = code_element_of_constants();
    if (!code.empty()) return inferred(ensure(code, "ways"), "ways_of_code_beside_constants");
  }
  return probe::structure_ways(lab_, structure(element));
}

Attribute Discovery::replacement(const std::string& element) {
  // What a cache before it holds on to is not loaded from this one: only where that is the newest does this one see the
  // order.
  if (element == "constant_l15") {
    const Attribute& nearer = ensure("constant_l1", "replacement");
    if (!nearer.available()) return unavailable(Reason::kDependency, "needs the replacement of the cache before it");
    const auto& name = std::get<std::string>(nearer.value);
    if (name == "random" || name == "other") {
      throw probe::Inconclusive("the cache before it keeps lines at random, so that this one does not see the order");
    }
  }
  const probe::Structure& found = structure(element);
  return probe::structure_replacement(lab_, near_part(element), found);
}

Attribute Discovery::miss_penalty(const std::string& element) {
  if (is_tlb(element)) return probe::tlb_miss_penalty(lab_, tlbs(), tlb_depth(element));
  ensure(element, "line_size");
  const Cache& found = cache(element);
  // As global loads reach it, which is how the latency of memory is measured.
  const bool memory_is_next =
      found.site().space == Space::kGlobalBypassL1 && found.last_level + 2 >= found.survey->levels.size();
  if (!memory_is_next) {
    const auto beside_code = constants_beside_code(element, [&](const probe::CodeSurvey&, const Cache& constants) {
      return probe::measure_constant_penalty_beside_code(lab_, constants);
    });
    return beside_code ? *beside_code : probe::measure_miss_penalty(lab_, found);
  }
  // The latency of memory is measured with all caches evicted.
  const Attribute& hit = ensure(element, "latency");
  const Attribute& miss = ensure("device", "latency");
  if (!hit.available() || !miss.available()) {
    return unavailable(Reason::kDependency, fmt::format("needs the latencies of {} and of device memory", element));
  }
  return probe::measured(lab_, std::round((*miss.number() - *hit.number()) * 10) / 10, "cycles",
                         stats::Interval{*miss.low - *hit.high, *miss.high - *hit.low},
                         "device_latency_minus_near_hit");
}

Attribute Discovery::partitions(const std::string& element) {
  require_l2_of_globals();
  const Attribute& size = ensure(element, "size");
  Cache& l2 = cache(element);
  return probe::measure_partitions(lab_, l2, l2.size_bytes > 0 ? l2.size_bytes : size.number().value_or(0));
}

std::uint64_t Discovery::memory_stream_bytes() const {
  constexpr std::uint64_t kFactor = 32;  // of L2, so that a pass finds next to nothing of the one before
  return std::min<std::uint64_t>(kFactor * lab_.last_cache_bytes(), lab_.info().max_array_bytes / 4);
}

Attribute Discovery::bandwidth(const std::string& element, StreamOp op) {
  if (element == "l2" && op == StreamOp::kWrite) require_l2_of_globals();
  StreamProgram stream;
  stream.op = op;
  stream.per_block = true;
  double bytes_per_launch = 0;             // of one block where per_block, of all otherwise
  constexpr double kPerBlockBytes = 64e6;  // about a millisecond at 64 B per clock
  std::uint64_t footprint = 0;             // of one SM where per_block
  if (is_scratchpad(element)) {
    stream.space = Space::kShared;
    footprint = 16 << 10;
    bytes_per_launch = kPerBlockBytes;
  } else if (element == "device") {
    stream.space = Space::kGlobal;
    stream.per_block = false;
    footprint = memory_stream_bytes();
    constexpr double kPasses = 6;  // what the last blocks of a launch take longer then hardly counts
    bytes_per_launch = kPasses * static_cast<double>(footprint);
  } else {
    const Cache& found = cache(element);
    stream.space = found.site().space;
    // At most half of what fits; a power of two, so that every run streams over the same.
    const std::uint64_t half = std::bit_floor(found.fits_bytes / 2);
    if (found.site().exclusive) {
      stream.per_block = false;
      // And clearly more than the caches before it hold, which would serve it.
      footprint = std::max({half, std::uint64_t{256 << 10}, std::bit_ceil(2 * found.nearer_bytes)});
      constexpr double kL2Bytes = 4e9;
      bytes_per_launch = kL2Bytes;
    } else {
      footprint = half;
      bytes_per_launch = stream.space == Space::kConstant ? kPerBlockBytes / 8 : kPerBlockBytes;
    }
  }
  std::vector<StreamProgram> candidates;
  struct Shape {
    std::uint32_t blocks_per_sm;
    std::uint32_t threads;
    std::vector<std::uint32_t> loads_in_flight;
  };
  std::vector<Shape> shapes = {{1, 1024, {4, 8}}, {2, 1024, {4, 8}}, {4, 512, {4, 8}}};
  // Behind another cache one warp: several would follow close behind each other, and more or less by chance find in the
  // nearer cache what the first has fetched.
  const bool behind = stream.per_block && stream.space != Space::kShared && cache(element).nearer_bytes > 0;
  if (behind) shapes = {{1, 32, {4, 8, 16}}};
  for (const Shape& shape : shapes) {
    for (const std::uint32_t in_flight : shape.loads_in_flight) {
      const std::uint32_t blocks = shape.blocks_per_sm;
      StreamProgram candidate = stream;
      candidate.blocks_per_sm = blocks;
      candidate.threads_per_block = shape.threads;
      candidate.loads_in_flight = in_flight;
      candidate.bytes = footprint;
      if (stream.per_block && stream.space != Space::kConstant) candidate.bytes = footprint / blocks;
      const std::uint64_t granule = candidate.vector_bytes * (stream.space == Space::kConstant ? 1 : 32);
      candidate.bytes = std::max(candidate.bytes / granule, std::uint64_t{1}) * granule;
      candidate.repeats =
          static_cast<std::uint32_t>(std::clamp(bytes_per_launch / static_cast<double>(candidate.bytes), 1.0, 1e6));
      candidates.push_back(candidate);
    }
  }
  if (op == StreamOp::kWrite && stream.per_block && stream.space != Space::kShared) {
    // Most caches of an SM pass on what is written, and the next takes that best from neighbouring lines: apart, the
    // SMs meet at some of its slices more than at others, by chance of where their arrays lie.
    StreamProgram together = candidates.front();
    together.per_block = false;
    together.bytes = std::min(footprint * lab_.info().sm_count, std::bit_floor(lab_.last_cache_bytes() / 4));
    together.repeats =
        static_cast<std::uint32_t>(lab_.info().sm_count * bytes_per_launch / static_cast<double>(together.bytes));
    for (const std::uint32_t in_flight : shapes.front().loads_in_flight) {
      together.loads_in_flight = in_flight;
      candidates.push_back(together);
    }
  }
  return probe::measure_bandwidth(lab_, candidates, "best_stream");
}

Attribute Discovery::write_allocate(const std::string& element) {
  if (element == "l2") {
    require_l2_of_globals();  // and so its size is known: it is evicted first
  } else {
    ensure(element, "line_size");
  }
  return probe::measure_write_allocate(lab_, cache(element));
}

Attribute Discovery::write_policy(const std::string& element) {
  if (element == "l2") return l2_write_policy();
  const Cache& l1 = cache(element);  // throws where there is none
  ensure(element, "line_size");
  const Attribute& allocates = ensure("l2", "write_allocate");
  if (!allocates.available()) return unavailable(Reason::kDependency, "needs whether L2 allocates what is stored");
  if (allocates.value != Value(true)) {
    throw probe::Inconclusive("L2 does not allocate what is stored, so loads do not tell whether stores reach it");
  }
  return probe::measure_write_policy(lab_, l1, cache("l2"));
}

double Discovery::theoretical_memory_bytes_per_second() const {
  const Attribute* peak = find(topology_.device, "memory_bandwidth_theoretical");
  return peak == nullptr ? 0 : peak->number().value_or(0);
}

// Behind an L3: more than that can take, as it was measured or at most could be, stays in L2.
Attribute Discovery::l2_write_policy() {
  require_l2_of_globals();
  if (!has_row("l3")) {
    const Attribute& size = ensure("l2", "size");
    if (!size.available()) return unavailable(Reason::kDependency, "needs the size of L2");
    return probe::measure_write_policy_beside_reads(lab_, cache("l2").site().space,
                                                    static_cast<std::uint64_t>(*size.number()), memory_stream_bytes(),
                                                    theoretical_memory_bytes_per_second());
  }
  const Attribute& own = ensure("l2", "write_bandwidth");
  const Attribute& memory = ensure("device", "write_bandwidth");
  if (!own.available() || !memory.available()) {
    return unavailable(Reason::kDependency, "needs the write bandwidths of L2 and of device memory");
  }
  double next = std::max(*memory.number(), theoretical_memory_bytes_per_second());
  next = std::max(next, ensure("l3", "write_bandwidth").number().value_or(0));
  return probe::write_policy_by_bandwidth(lab_, *own.number(), next);
}

void Discovery::report_progress(const std::string& probe) {
  if (options_.on_progress && !ended_)
    options_.on_progress({.probe = probe, .done = done_, .total = total_, .elapsed_seconds = lab_.elapsed_seconds()});
}

Attribute Discovery::failure(Reason reason, const std::string& detail) {
  // These end the discovery; the others end only this attribute.
  if (reason == Reason::kInterrupted || reason == Reason::kTimedOut) {
    ended_ = {reason, detail};
    topology_.complete = false;
  }
  return unavailable(reason, detail);
}

Attribute Discovery::guarded(const std::string& element, const PlanRow& row) {
  if (ended_) return unavailable(ended_->first, ended_->second);
  try {
    if (CodeElements::has(element) && std::string_view(row.attribute) != "line_size") {
      return code_.measure(element, row.attribute);
    }
    if (ClusterElements::has(element)) return clusters_.measure(element, row.attribute);
    if (AccessAttributes::has(row.attribute)) {
      if (element == "l1") require_l1_caching();
      if (element == "l2") require_l2_of_globals();
      return accesses_.measure(element, row.attribute);
    }
    return (this->*row.measure)(element);
  } catch (const probe::Stopped& error) {
    return failure(Reason::kInterrupted, error.what());
  } catch (const probe::OverBudget& error) {
    return failure(Reason::kTimedOut, error.what());
  } catch (const probe::Inconclusive& error) {
    return failure(Reason::kInconclusive, error.what());
  } catch (const probe::NotPresent& error) {
    return failure(Reason::kNotPresent, error.what());
  } catch (const NotSupportedError& error) {
    return failure(Reason::kNotSupported, error.what());
  } catch (const DeviceLostError& error) {
    ended_ = {Reason::kDeviceError, error.what()};
    topology_.complete = false;
    topology_.warnings.push_back(fmt::format("the device failed: {}", error.what()));
    return unavailable(Reason::kDeviceError, error.what());
  } catch (const Error& error) {
    return failure(Reason::kDeviceError, error.what());
  }
}

const Attribute& Discovery::ensure(const std::string& element, const std::string& attribute) {
  const auto key = std::pair(element, attribute);
  if (const auto found = results_.find(key); found != results_.end()) return found->second;
  const auto row =
      std::find_if(plan().begin(), plan().end(), [&](const PlanRow& r) { return attribute == r.attribute; });
  const std::string name = fmt::format("{}.{}", element, attribute);
  report_progress(name);
  const double begin = lab_.elapsed_seconds();
  const std::uint64_t programs_before = lab_.programs_run();
  const double outer_nested = nested_seconds_;
  nested_seconds_ = 0;
  Attribute result = guarded(element, *row);
  // What it needed may have met the end: that is why there is no value.
  if (!result.available() && ended_) result = unavailable(ended_->first, ended_->second);
  const double spent = lab_.elapsed_seconds() - begin;
  topology_.timing.push_back(
      {.probe = name, .seconds = spent - nested_seconds_, .programs = lab_.programs_run() - programs_before});
  nested_seconds_ = outer_nested + spent;
  if (!result.available()) lab_.log(fmt::format("{}: {}: {}", name, to_string(result.reason), result.detail));
  for (SampleTable& table : result.samples) table.name = name + "." + table.name;
  return results_.emplace(key, std::move(result)).first->second;
}

void require_known(const std::vector<std::string>& given, const std::vector<std::string>& valid, const char* what) {
  for (const std::string& name : given) {
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) {
      throw UsageError(fmt::format("unknown {} '{}'; {}the {}s are {}", what, name, did_you_mean(name, valid), what,
                                   fmt::join(valid, ", ")));
    }
  }
}

// Where "device" is the GPU, in CSV, its memory is "memory.device", and in JSON all elements lie within "memory".
std::string without_memory(const std::string& name) {
  constexpr std::string_view kMemory = "memory.";
  return name.starts_with(kMemory) ? name.substr(kMemory.size()) : name;
}

// An id chooses its element, and the start of several before an underscore all of them: "icache".
std::vector<std::string> expand_groups(const std::vector<std::string>& chosen, const std::vector<std::string>& ids) {
  std::vector<std::string> expanded;
  for (const std::string& name : chosen) {
    const std::size_t before = expanded.size();
    for (const std::string& id : ids) {
      if (id == name || id.rfind(name + "_", 0) == 0) expanded.push_back(id);
    }
    if (expanded.size() == before) expanded.push_back(name);
  }
  return expanded;
}

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What is to be discovered, of all that there is to know.
class Selection {
 public:
  // Throws UsageError for ids that do not exist.
  Selection(const DiscoverOptions& options, const std::vector<ElementRow>& table) : options_(options) {
    std::vector<std::string> ids;
    for (const ElementRow& row : table) ids.push_back(row.id);
    std::vector<std::string> chosen;
    for (const std::string& given : options.elements) {
      const std::string name = without_memory(given);
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos) {
        chosen.push_back(name);
        continue;
      }
      cells_.push_back(name);
      require_known({name.substr(0, dot)}, ids, "element");
      require_known({name.substr(dot + 1)}, memory_attribute_ids(), "attribute");
    }
    elements_ = options.elements.empty() ? ids : expand_groups(chosen, ids);
    require_known(elements_, ids, "element");
    require_known(options.attributes, memory_attribute_ids(), "attribute");
  }

  [[nodiscard]] bool has(const ElementRow& row, const std::string& attribute) const {
    const Coverage coverage = row.of(attribute);
    if (coverage == Coverage::kNotApplicable || coverage == Coverage::kPlanned) return false;
    if (contains(cells_, row.id + "." + attribute)) return true;
    if (!contains(elements_, row.id)) return false;
    if (!options_.attributes.empty()) return contains(options_.attributes, attribute);
    return options_.full || coverage != Coverage::kMeasuredInFull;
  }

  // Of what it has not, although it exists.
  [[nodiscard]] std::string reason(const ElementRow& row, const std::string& attribute) const {
    const bool only_full = row.of(attribute) == Coverage::kMeasuredInFull && contains(elements_, row.id);
    return only_full ? "takes its time; --full measures it" : "left out by --only or --attribute";
  }

 private:
  const DiscoverOptions& options_;
  std::vector<std::string> elements_;
  std::vector<std::string> cells_;  // "l2.ways"
};

Topology Discovery::run() {
  const Selection selection(options_, table_);
  topology_.generator = "gputopo " GPUTOPO_VERSION;
  topology_.timestamp = utc_timestamp();
  fill_general(lab_.info(), topology_);

  for (const ElementRow& row : table_) {
    for (const std::string& attribute : memory_attribute_ids()) total_ += selection.has(row, attribute) ? 1 : 0;
  }
  if (total_ == 0) {
    throw UsageError("none of these attributes is one of these elements; 'gputopo coverage' lists what each has");
  }
  // Attribute by attribute within an element, in the order of the plan.
  for (const ElementRow& row : table_) {
    for (const PlanRow& step : plan()) {
      if (!selection.has(row, step.attribute)) continue;
      ensure(row.id, step.attribute);
      ++done_;
    }
  }
  report_progress("");
  for (const ElementRow& row : table_) {
    MemoryElement element{row.id, row.title, {}};
    for (const std::string& attribute : memory_attribute_ids()) {
      Attribute& slot = get_or_add(element.attributes, attribute);
      if (selection.has(row, attribute)) {
        slot = results_.at({row.id, attribute});
      } else if (row.of(attribute) == Coverage::kNotApplicable || row.of(attribute) == Coverage::kPlanned) {
        slot = unavailable(Reason::kNotApplicable, "");
      } else {
        slot = unavailable(Reason::kNotSelected, selection.reason(row, attribute));
      }
    }
    topology_.memory.push_back(std::move(element));
  }
  if (lab_.sm_clock_mhz() > 0) {
    Attribute clock = probe::measured(lab_, std::round(lab_.sm_clock_mhz() * 10) / 10, "MHz", std::nullopt,
                                      "clock64_against_globaltimer");
    clock.conditions.clear();
    get_or_add(topology_.device, "sm_clock") = clock;
  }
  for (std::string& line : lab_.device_warnings()) topology_.warnings.push_back(std::move(line));
  add_theoretical_bandwidths(topology_);
  check_consistency(topology_);
  topology_.total_seconds = lab_.elapsed_seconds();
  return std::move(topology_);
}

}  // namespace

Topology discover(Device& device, const DiscoverOptions& options) { return Discovery(device, options).run(); }

}  // namespace gputopo
