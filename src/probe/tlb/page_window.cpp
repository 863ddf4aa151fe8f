#include "probe/tlb/page_window.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "probe/bench/paired_histogram.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// Pages at both ends of an array.
struct Places {
  std::vector<std::uint32_t> in_turns;
  std::vector<std::uint32_t> one_by_one;
};

Places both_ends(std::uint32_t pages, std::uint32_t of_each) {
  Places places;
  for (std::uint32_t i = 0; i < of_each; ++i) {
    places.in_turns.push_back(i);
    places.in_turns.push_back(pages - of_each + i);
  }
  places.one_by_one = places.in_turns;
  std::ranges::sort(places.one_by_one);
  return places;
}

// The latency of a load of each page right after one of the page before.
std::vector<double> timed_one_by_one(const PageChaser& page_chaser, ChaseArray array) {
  const PageWindowParameters parameters;
  const std::uint64_t pages = std::min<std::uint64_t>(array.element_count(), parameters.timed_pages);
  array.bytes = pages * array.stride_bytes;
  ChaseProgram program =
      make_program(page_chaser.site(), {std::move(array)}, {{.kind = StepKind::kWarm, .loads = pages}});
  program.timed_cap = parameters.timed_pages;
  program.steps.insert(program.steps.end(), parameters.passes, {.kind = StepKind::kTimed, .loads = pages});
  const ChaseResult result = page_chaser.runner().chase({program}).front();
  std::vector<double> cycles;
  for (std::size_t page = 0; page < pages; ++page) {
    std::vector<double> passes;
    for (std::size_t step = 1; step < result.steps.size(); ++step) {
      passes.push_back(result.steps[step].latencies.at(page));
    }
    cycles.push_back(stats::median(passes));
  }
  return cycles;
}

}  // namespace

std::uint64_t window_pages(const std::vector<double>& cycles, double limit_cycles) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 1; i < cycles.size(); ++i) {
    if (cycles[i] >= limit_cycles) begins.push_back(i);
  }
  if (begins.size() < 2) return 0;
  const std::size_t apart = begins[1] - begins[0];
  for (std::size_t i = 1; i < begins.size(); ++i) {
    if (begins[i] - begins[i - 1] != apart) return 0;
  }
  // A boundary farther before or behind would have shown too.
  return begins.front() <= apart && cycles.size() - begins.back() <= apart ? apart : 0;
}

std::optional<PageWindow> find_page_window(const PageChaser& page_chaser, const NearerTlb& nearer, double miss_cycles) {
  const PageWindowParameters parameters;
  if (nearer.entry_bytes == 0) return std::nullopt;
  const auto of_each = static_cast<std::uint32_t>(
      std::ceil(parameters.of_entries * nearer.reach_bytes / static_cast<double>(nearer.entry_bytes)));
  const auto pages = static_cast<std::uint32_t>(page_chaser.largest_bytes() / nearer.entry_bytes);
  if (2 * of_each > std::min<std::uint64_t>(pages, page_chaser.max_pages())) return std::nullopt;
  const Places places = both_ends(pages, of_each);
  ChaseArray in_turns = page_chaser.pages_apart(pages, nearer.entry_bytes);
  in_turns.order = Order::kSequential;
  in_turns.elements = places.in_turns;
  ChaseArray one_by_one = in_turns;
  one_by_one.elements = places.one_by_one;
  const std::uint64_t loads = page_chaser.parameters().max_loads;
  const std::vector<stats::Histogram> paired =
      page_chaser.run({page_chaser.program_over(in_turns, loads, nearer.entry_bytes),
                       page_chaser.program_over(one_by_one, loads, nearer.entry_bytes)});
  const double adds = added_by_translation(paired[0]) - added_by_translation(paired[1]);
  const double limit = std::max(parameters.least_cycles, parameters.of_miss * miss_cycles);
  if (adds < limit) return std::nullopt;
  in_turns.elements.clear();
  const std::vector<double> cycles = timed_one_by_one(page_chaser, std::move(in_turns));
  return PageWindow{window_pages(cycles, stats::median(cycles) + limit) * nearer.entry_bytes, adds};
}

}  // namespace gputopo::probe
