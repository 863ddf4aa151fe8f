#include "probe/capacity/line_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "probe/capacity/line_size_decision.h"
#include "probe/capacity/packing.h"

namespace gputopo::probe {
namespace {

constexpr LineSizeParameters kLineSizeParameters;

// One random half of each block of the array.
std::vector<PackingPlace> random_halves(const ChaseArray& array, std::uint32_t half, std::mt19937_64& random) {
  std::vector<PackingPlace> places;
  for (std::uint32_t i = 0; i + 2 * half <= array.element_count(); i += 2 * half) {
    PackingPlace& place = places.emplace_back(half);
    std::iota(place.begin(), place.end(), i + half * static_cast<std::uint32_t>(random() >> 63));
  }
  return places;
}

// Halves that are whole lines fill the whole cache. Halves of a line leave the other half of each line empty.
Line line_by_packing(ProbeRunner& runner, const Cache& cache, double all_bytes) {
  const std::uint64_t element = cache.nearest_fetch_bytes();
  const auto wanted = static_cast<std::uint64_t>(kLineSizeParameters.packed_capacities * all_bytes);
  NamedValues packed;
  std::uint64_t line = cache.fetch_bytes;
  std::mt19937_64 random(runner.seed());
  for (std::uint64_t block = 2 * line; block <= 2 * runner.parameters().line_limit_bytes; block *= 2) {
    const std::uint64_t half = block / 2;
    const ChaseArray array = make_array(cache.site(), wanted / block * block, element, Order::kShuffled);
    const std::vector<PackingPlace> places = random_halves(array, static_cast<std::uint32_t>(half / element), random);
    const auto first = static_cast<std::size_t>(0.5 * all_bytes / static_cast<double>(half));
    const Packed halves = pack(runner, cache, array, places, first);
    const auto bytes = static_cast<double>(halves.places.size() * half);
    const double nearer_bytes = halves.nearer_elements * static_cast<double>(element);
    packed.emplace_back(fmt::format("packed_bytes_halves_of_{}", block), bytes);
    runner.log(fmt::format(
        "line: if one random half of each {} B block is loaded, {:.0f} B stay resident together, {:.1f} B of them "
        "in a nearer cache; if whole lines are loaded, {:.0f} B stay resident together",
        block, bytes, nearer_bytes, all_bytes));
    const auto possible = static_cast<double>(places.size() * half);
    const std::optional<bool> lines =
        are_halves_separate_lines({bytes - nearer_bytes, bytes}, all_bytes, possible, kLineSizeParameters);
    if (!lines)
      throw Inconclusive(
          "loads of one random half of each memory block do not show whether that half is a whole line or half a line: "
          "the number of resident bytes fits neither");
    if (*lines) break;
    line = block;
  }
  Line found = make_line(runner, line, "packed_halves", std::move(packed));
  found.packed_bytes = all_bytes;
  return found;
}

// An array of `bytes` of which each `stride` is touched once. A nearer cache with shorter lines could hold most of
// these elements; then one half of each `stride` is touched completely, or all of it if one fetch covers it. `skew`:
// shift of the upper half of the array.
ChaseArray sparse_array(const ProbeRunner& runner, const Cache& cache, std::uint64_t bytes, std::uint64_t stride,
                        std::uint64_t skew) {
  const Site& site = cache.site();
  const Order second_order = site.exclusive ? counted_order(*cache.survey) : Order::kReversed;
  ChaseArray array = make_array(site, bytes, stride, second_order);
  array.skew_bytes = skew;
  const std::uint64_t fetch = cache.nearest_fetch_bytes();
  if (array.element_count() > kLineSizeParameters.past_nearer * cache.nearer_bytes / fetch) return array;
  if (stride <= cache.fetch_bytes) return make_array(site, array.bytes, fetch, second_order);
  ChaseArray halves = make_array(site, array.bytes, fetch, second_order);
  const auto in_half = static_cast<std::uint32_t>(stride / 2 / fetch);
  for (std::uint64_t i = 0; i < array.element_count(); ++i) {
    const auto first = static_cast<std::uint32_t>(array.element_offset(i) / fetch);
    for (std::uint32_t element = first; element < first + in_half; ++element) halves.elements.push_back(element);
  }
  const double cycles = static_cast<double>(halves.elements.size()) * cache.survey->levels.back().mode_cycles;
  if (cycles > runner.parameters().launch_cycles_limit) {
    throw Inconclusive(
        "the nearer cache may hold all loaded lines, and loading enough bytes to exceed that cache takes too long");
  }
  return halves;
}

struct SparseFootprint {
  std::uint64_t bytes = 0;
  std::uint64_t stride = 0;
  std::uint64_t skew = 0;
};

ChaseProgram walk_of(const ProbeRunner& runner, const Cache& cache, const SparseFootprint& footprint) {
  const Site& site = cache.site();
  const ChaseArray array = sparse_array(runner, cache, footprint.bytes, footprint.stride, footprint.skew);
  const std::uint64_t n = array.chain_length();
  const ChaseStep warm =
      array.elements.empty() ? warm_step(site, array) : ChaseStep{.kind = StepKind::kWarm, .loads = n};
  ChaseProgram program = make_program(site, {array}, {warm});
  if (site.exclusive) {
    add_counted_steps(program, *cache.survey,
                      std::min(std::max(n / kLineSizeParameters.elements_of_load, kLineSizeParameters.min_loads),
                               runner.parameters().exclusive_loads));
  } else {
    program.steps.push_back({.kind = StepKind::kCounted, .loads = std::min(n, runner.parameters().survey_loads)});
  }
  return program;
}

// Miss ratios among loads that pass the nearer caches, which hold more of a sparse footprint than of a dense one.
std::vector<double> miss_ratios(ProbeRunner& runner, const Cache& cache,
                                const std::vector<SparseFootprint>& footprints) {
  const std::uint32_t copies = cache.site().exclusive ? 1 : runner.parameters().copies;
  std::vector<ChaseProgram> programs;
  for (const SparseFootprint& footprint : footprints) {
    programs.insert(programs.end(), copies, walk_of(runner, cache, footprint));
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  std::vector<double> medians;
  for (std::size_t first = 0; first < results.size(); first += copies) {
    std::vector<double> ratios;
    for (std::size_t i = first; i < first + copies; ++i) {
      const stats::Histogram counted = counted_loads(results[i]);
      const double passed = 1 - stats::fraction_below(counted, cache.hit_floor_cycles());
      const double missed = 1 - stats::fraction_below(counted, cache.hit_limit_cycles());
      ratios.push_back(passed > 0 ? missed / passed : 0);
    }
    medians.push_back(stats::median(ratios));
  }
  return medians;
}

// Walks sparse footprints, and pairs of dense ones to compare them with.
class SparseFootprints {
 public:
  SparseFootprints(ProbeRunner& runner, const Cache& cache)
      : runner_(runner),
        cache_(cache),
        references_(cache.held_bytes(), cache.fetch_bytes, cache.site().limit_bytes, kLineSizeParameters) {
    while (!references_.is_clear() && add_reference()) {
    }
    if (!references_.tells()) {
      throw Inconclusive(
          fmt::format("doubling the footprint raises the miss ratio by only {:.2f}: too little to show the line size",
                      references_.best_contrast()));
    }
  }

  // Whether touching once per `stride` fills the cache as touching everything does, so that a line is at least that
  // long. Tries another footprint if the answer is not sure.
  [[nodiscard]] bool is_within_line(std::uint64_t stride, NamedValues& ratios) {
    SparseAnswer answer(kLineSizeParameters);
    for (std::size_t i = 0; !answer.is_sure() && (i < references_.size() || add_reference()); ++i) {
      if (!references_.tells(i)) continue;
      const LineReference& reference = references_.at(i);
      const double ratio = sparse_ratio(reference.bytes, stride);
      if (i == 0) ratios.emplace_back(fmt::format("miss_ratio_stride_{}", stride), std::round(ratio * 1000) / 1000);
      runner_.log(
          fmt::format("line: footprint {} B, stride {} B: miss ratio {:.3f} ({:.3f} if the footprint fits, {:.3f} if "
                      "it exceeds the cache)",
                      reference.bytes, stride, ratio, reference.fitting, reference.exceeding));
      answer.add(reference, ratio);
    }
    if (cache_.nearer_bytes > 0 && answer.is_between()) {
      throw Inconclusive(
          fmt::format("the miss ratio at a stride of {} B is about midway between those of footprints that fit in the "
                      "cache and of footprints that exceed it, so the line size is ambiguous",
                      stride));
    }
    return answer.fills();
  }

 private:
  [[nodiscard]] double sparse_ratio(std::uint64_t bytes, std::uint64_t stride) {
    std::vector<SparseFootprint> footprints = {{bytes, stride, 0}};
    if (stride / 2 >= kMinimumStrideBytes) footprints.push_back({bytes, stride, stride / 2});
    return std::ranges::min(miss_ratios(runner_, cache_, footprints));
  }

  bool add_reference() {
    const std::optional<std::uint64_t> base = references_.next_base();
    if (!base) return false;
    const std::uint64_t fetch = cache_.fetch_bytes;
    const std::vector<double> ratios = miss_ratios(runner_, cache_, {{*base, fetch, 0}, {2 * *base, fetch, 0}});
    references_.add({.bytes = 2 * *base, .fitting = ratios[0], .exceeding = ratios[1]});
    return true;
  }

  ProbeRunner& runner_;
  const Cache& cache_;
  LineReferences references_;
};

}  // namespace

Line make_line(const ProbeRunner& runner, std::uint64_t bytes, std::string method, NamedValues details) {
  if (bytes > runner.parameters().line_limit_bytes) {
    throw Inconclusive(
        fmt::format("loads of only part of each {} B block fill the cache as much as loads of whole blocks, so the "
                    "line size cannot be found",
                    bytes));
  }
  return {
      .bytes = bytes, .method = std::move(method), .details = std::move(details), .conditions = runner.conditions()};
}

Attribute to_attribute(const Line& line) {
  Attribute attribute = measured_exactly(line.conditions, static_cast<std::int64_t>(line.bytes), "B", line.method);
  attribute.details = line.details;
  return attribute;
}

Line find_line(ProbeRunner& runner, const Cache& cache) {
  require_exceeded(cache, "so its lines are never evicted");
  if (const double packed = packed_bytes(runner, cache); packed > 0) return line_by_packing(runner, cache, packed);
  SparseFootprints footprints(runner, cache);
  std::uint64_t line = cache.fetch_bytes;
  NamedValues ratios;
  for (std::uint64_t stride = 2 * line; stride <= 2 * runner.parameters().line_limit_bytes; stride *= 2) {
    if (!footprints.is_within_line(stride, ratios)) break;
    line = stride;
  }
  return make_line(runner, line, "sparse_footprint", std::move(ratios));
}

}  // namespace gputopo::probe
