#include "support/method_comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "device/sim/machine_file.h"
#include "gputopo/catalogue.h"
#include "probe/capacity/change_point_decision.h"
#include "support/random_machine.h"
#include "support/seeds.h"
#include "support/trial.h"

namespace gputopo::truth {
namespace {

constexpr double kClose = 0.1;

bool has_value(Verdict verdict) { return verdict != Verdict::kSilent && verdict != Verdict::kRightlySilent; }

// The sizes that both methods should find: those that the machine shows and MT4G measures.
std::vector<Truth> sizes_to_compare(const sim::MachineSpec& machine) {
  std::vector<Truth> truths = truths_of(machine);
  const Vendor vendor = vendor_of(machine.info.vendor);
  std::erase_if(truths, [&](const Truth& truth) {
    return truth.attribute != to_string(AttributeId::kSize) || !truth.value || !truth.promised ||
           coverage_of(vendor, find_element(truth.element)->id, AttributeId::kChangePointSize) ==
               Coverage::kNotApplicable;
  });
  return truths;
}

// The same truth for the change-point method, which finds one partition of L2.
Truth of_change_point(Truth truth, const sim::MachineSpec& machine) {
  truth.attribute = to_string(AttributeId::kChangePointSize);
  if (truth.element == to_string(ElementId::kL2)) {
    truth.value = std::get<double>(*truth.value) / cache_of(machine, "l2").partitions;
  }
  return truth;
}

// Whether the cache is well inside the range that the change-point method searches, and the next cache beyond it.
bool is_in_range(const sim::MachineSpec& machine, const ElementInfo& element, const sim::CacheSpec& cache) {
  const bool is_shared = element.scope == Scope::kGpu;
  const probe::ByteRange range = probe::range_to_search(
      {.space = *element.space,
       .depth = element.depth,
       .is_shared = is_shared,
       .limit_bytes = element.space == Space::kConstant ? machine.info.constant_bytes.value_or(64 << 10) : 0,
       .reported_bytes = is_shared ? machine.info.l2_bytes.value_or(0) : 0});
  const std::uint64_t bytes = cache.size_bytes / cache.partitions;
  const sim::CacheSpec* next = cache_at(machine, *element.space, element.depth + 1);
  const bool is_alone = next == nullptr || next->size_bytes / next->partitions > range.high;
  return bytes >= 2 * range.low && bytes <= range.high / 2 && is_alone;
}

constexpr std::string_view kSteps = "all, in range, one set under LRU";
constexpr std::string_view kRamps = "all, in range, others";
constexpr std::string_view kBeyond = "all, not in range";

std::string_view suitability_of(const sim::MachineSpec& machine, const Truth& truth) {
  const ElementInfo& element = *find_element(truth.element);
  const sim::CacheSpec& cache = *cache_at(machine, *element.space, element.depth);
  if (!is_in_range(machine, element, cache)) return kBeyond;
  const bool one_set = cache.ways == 0 || cache.ways == cache.size_bytes / cache.line_bytes;
  return one_set && cache.replacement == sim::Replacement::kLru ? kSteps : kRamps;
}

void show(const std::string& name, const std::vector<ComparedSize>& sizes) {
  if (std::getenv("GPUTOPO_TRUTH_SHOW") == nullptr) return;
  for (const ComparedSize& size : sizes) {
    fmt::print("{}: {}\n  {} ({})\n", name, size.ours.text, size.theirs.text, size.suits);
  }
}

std::string row_of(const std::string& name, const SizesTally& tally) {
  const auto part = [&](std::uint64_t count) {
    return fmt::format("{:.1f}%",
                       tally.sizes() == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(tally.sizes()));
  };
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, tally.sizes(), part(tally.ours.right),
                     part(tally.ours.wrong), part(tally.ours.none), part(tally.theirs.right), part(tally.theirs.wrong),
                     part(tally.theirs.none), part(tally.theirs_close));
}

constexpr const char* kText = R"(
`./dev truth` also measures {} of these machines (seeds {} to {}) by the [change-point
method](methods/change_point.md) of MT4G (`--method change-point`), and compares the sizes of those
caches that MT4G measures.

- *Right*: in the interval, or off by a line or 1%, as above. *Wrong*: any other value, flagged or
  not. *None*: no value. *Within 10%*: the change-point value is off by 10% or less. Only sizes that
  the machine shows count.
- For a partitioned L2, our right answer is the whole L2, and the change-point method's is one
  partition, since it finds segments; the whole L2 counts as wrong for it.
- The random machines are harder for the change-point method than real GPUs are. *In range*: the
  cache is at least twice as large as the smallest size that is searched and at most half of the
  largest, and the cache behind it is larger than the largest. A cache of one set under LRU ends in
  a step, which that method looks for. The last row is of the models of real GPUs (machines/), whose
  sizes are the vendors' or were measured by others.

| cache | sizes | ours: right | wrong | none | change-point: right | wrong | none | within 10% |
|---|---|---|---|---|---|---|---|---|
)";

}  // namespace

std::vector<ComparedSize> compare_sizes(const sim::MachineSpec& machine, std::uint64_t seed) {
  const std::vector<Truth> ours = sizes_to_compare(machine);
  std::vector<Truth> all = ours;
  for (const Truth& truth : ours) all.push_back(of_change_point(truth, machine));
  if (all.empty()) return {};
  const Trial trial = try_machine(machine, seed, all);
  std::vector<ComparedSize> sizes;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    sizes.push_back(
        {ours[i].element, trial.values[i], trial.values[ours.size() + i], suitability_of(machine, ours[i])});
  }
  return sizes;
}

void MethodTally::add(const Judged& judged) {
  const bool is_right = judged.verdict == Verdict::kRight || judged.verdict == Verdict::kClose;
  ++(!has_value(judged.verdict) ? none : is_right ? right : wrong);
}

void SizesTally::add(const ComparedSize& size) {
  ours.add(size.ours);
  theirs.add(size.theirs);
  theirs_close += std::abs(size.theirs.relative_error.value_or(1)) <= kClose ? 1 : 0;
}

MethodComparison compare_methods(std::uint64_t first_seed, std::uint64_t machines) {
  MethodComparison comparison{.first_seed = first_seed, .machines = machines};
  const auto try_seed = [](std::uint64_t seed) { return std::pair(seed, compare_sizes(wide_machine(seed), seed)); };
  judge_seeds(first_seed, machines, try_seed, [&](const auto& found) {
    show(fmt::format("seed {}", found.first), found.second);
    for (const ComparedSize& size : found.second) {
      comparison.by_element[size.element].add(size);
      comparison.by_tier[tier_of(found.first)].add(size);
      comparison.by_suitability[size.suits].add(size);
      comparison.all.add(size);
    }
  });
  return comparison;
}

SizesTally compare_on_models() {
  std::vector<sim::MachineSpec> models;
  for (const std::string& name : sim::builtin_machine_names()) {
    sim::MachineSpec model = sim::parse_machine(*sim::builtin_machine(name));
    if (cache_at(model, Space::kGlobal, 0) == nullptr) continue;  // truths_of() needs a cache for global loads
    model.info.carve_outs_bytes.clear();                          // keeps the cache sizes of the file
    models.push_back(std::move(model));
  }
  SizesTally tally;
  const auto try_model = [&](std::uint64_t i) { return std::pair(i, compare_sizes(models[i], 1)); };
  judge_seeds(0, models.size(), try_model, [&](const auto& found) {
    show(models[found.first].info.name, found.second);
    for (const ComparedSize& size : found.second) tally.add(size);
  });
  return tally;
}

std::string section_of(const MethodComparison& comparison) {
  std::string text(kComparisonHeading);
  text +=
      fmt::format(kText, comparison.machines, comparison.first_seed, comparison.first_seed + comparison.machines - 1);
  for (const auto& [element, tally] : comparison.by_element) text += row_of(element, tally);
  for (const auto& [tier, tally] : comparison.by_tier) text += row_of(fmt::format("all, {}", to_string(tier)), tally);
  for (const auto& [suits, tally] : comparison.by_suitability) text += row_of(std::string(suits), tally);
  text += row_of("all", comparison.all);
  return text + (comparison.real.sizes() > 0 ? row_of("models of real GPUs", comparison.real) : "");
}

std::string comparison_section(std::string_view report) {
  const std::size_t begin = report.find(kComparisonHeading);
  if (begin == std::string_view::npos) return "";
  const std::size_t end = report.find("\n## ", begin);
  return std::string(report.substr(begin, end == std::string_view::npos ? end : end + 1 - begin));
}

}  // namespace gputopo::truth
