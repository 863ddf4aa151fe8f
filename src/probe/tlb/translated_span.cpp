#include "probe/tlb/translated_span.h"

#include <fmt/format.h>

#include "probe/bench/paired_histogram.h"
#include "probe/tlb/translated_span_decision.h"

namespace gputopo::probe {
namespace {

struct SpanParameters {
  // From the reach of the smallest TLBs to a span that has more banks and slices than any GPU.
  std::uint64_t smallest_bytes = 32 << 10;
  std::uint64_t largest_bytes = 512u << 20;
  std::uint64_t growth = 4;
  // Divisor of the free memory.
  std::uint64_t memory_divisor = 8;
  // Room for pages of other arrays, which have entries too, when a single span is tested.
  double room_for_others = 1.25;
  // Lines of a span, on as many pages: enough for a mean, but at most 1 / l2_divisor of L2, where they must stay.
  std::uint64_t lines = 1024;
  std::uint64_t l2_divisor = 16;
  std::uint64_t least_lines = 64;
  std::uint64_t line_bytes = 128;
  std::uint64_t pairs = 1024;
  // Lines within the smallest page of any GPU.
  std::uint64_t lines_of_one_page = 16;
  // Copies of each, whose median counts: neighbors disturb some.
  std::uint32_t copies = 3;
  // Part of the loads that counts, with the rest cut at both ends: the few lines that conflict in a set of L2 miss it.
  double kept_part = 0.85;
};
constexpr SpanParameters kSpanParameters;

ChaseProgram pairs_over(const Site& site, std::uint64_t bytes, std::uint64_t lines) {
  // An odd number of lines apart, so that they fall into all sets of a cache.
  const std::uint64_t apart = bytes / lines / kSpanParameters.line_bytes;
  const std::uint64_t stride =
      kSpanParameters.line_bytes * (apart % 2 == 0 && apart > 0 ? apart - 1 : std::max<std::uint64_t>(1, apart));
  ChaseArray array = make_array(site, std::min(lines * stride, bytes), stride);
  array.order = Order::kShuffled;
  return make_program(site, {array},
                      {{.kind = StepKind::kWarm, .loads = 2 * array.element_count()},
                       {.kind = StepKind::kPaired, .loads = std::max(kSpanParameters.pairs, array.element_count())}});
}

// The largest of these ascending sizes that loads can span.
std::uint64_t translated_of(ProbeRunner& runner, const Site& site, const std::vector<std::uint64_t>& sizes,
                            const TranslatedSpanParameters& parameters = {}) {
  const std::uint64_t room = runner.last_cache_bytes() / kSpanParameters.l2_divisor / kSpanParameters.line_bytes;
  const std::uint64_t most_lines = std::clamp(room, kSpanParameters.least_lines, kSpanParameters.lines);
  std::vector<SpanLoads> spans;
  std::vector<ChaseProgram> programs(kSpanParameters.copies,
                                     pairs_over(site, kSpanParameters.lines_of_one_page * kSpanParameters.line_bytes,
                                                kSpanParameters.lines_of_one_page));
  for (const std::uint64_t bytes : sizes) {
    spans.push_back({.bytes = bytes});
    const std::uint64_t lines = std::min(most_lines, bytes / kSpanParameters.line_bytes);
    programs.insert(programs.end(), kSpanParameters.copies, pairs_over(site, bytes, lines));
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  const auto added = [&](std::size_t first) {
    std::vector<double> cycles;
    for (std::size_t copy = 0; copy < kSpanParameters.copies; ++copy) {
      cycles.push_back(added_by_translation(results[first + copy].steps[1].histogram, 1e9,
                                            {.kept_part = kSpanParameters.kept_part}));
    }
    return stats::median(cycles);
  };
  for (std::size_t i = 0; i < spans.size(); ++i) spans[i].added_cycles = added((i + 1) * kSpanParameters.copies);
  const double of_one_page = added(0);
  const std::uint64_t bytes = translated_bytes(spans, of_one_page, parameters);
  runner.log(fmt::format("latency: loads spread over {} B do not wait for address translation", bytes));
  for (const SpanLoads& loads : spans) {
    runner.log(
        fmt::format("latency: loads spread over {} B wait {:.1f} cycles for address translation; loads within a page "
                    "wait {:.1f} cycles",
                    loads.bytes, loads.added_cycles, of_one_page));
  }
  return bytes;
}

}  // namespace

std::uint64_t find_translated_span(ProbeRunner& runner, const Site& site) {
  const std::uint64_t largest =
      std::min(kSpanParameters.largest_bytes, runner.info().max_array_bytes / kSpanParameters.memory_divisor);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = kSpanParameters.smallest_bytes; bytes <= largest; bytes *= kSpanParameters.growth) {
    sizes.push_back(bytes);
  }
  return translated_of(runner, site, sizes);
}

bool is_translated(ProbeRunner& runner, const Site& site, std::uint64_t bytes) {
  const auto more = static_cast<std::uint64_t>(kSpanParameters.room_for_others * static_cast<double>(bytes));
  if (bytes < kSpanParameters.smallest_bytes || more > runner.info().max_array_bytes / kSpanParameters.memory_divisor)
    return false;
  return translated_of(runner, site, {kSpanParameters.smallest_bytes, more},
                       {.used_part = 1 / kSpanParameters.room_for_others}) >= bytes;
}

}  // namespace gputopo::probe
