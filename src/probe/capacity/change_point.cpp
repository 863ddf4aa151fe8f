#include "probe/capacity/change_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/value_or_throw.h"
#include "stats/change_point.h"

namespace gputopo::probe {
namespace {

constexpr ChangePointParameters kChangePoint;

// Walks the array once, then times its first loads. A cache that SMs share is visited in random order, as in the
// authors' tool, and touched by the whole block, because one thread takes minutes.
ChaseProgram program_of(const Site& site, std::uint64_t bytes, std::uint64_t stride_bytes) {
  const Order order = site.exclusive ? Order::kShuffled : Order::kSequential;
  ChaseArray array = make_array(site, bytes, stride_bytes, order);
  array.order = order;
  const std::uint64_t loads = std::min(kChangePoint.timed_loads, array.element_count());
  return make_program(site, {array}, {warm_step(site, array), {.kind = StepKind::kTimed, .loads = loads}});
}

class Chases {
 public:
  Chases(ProbeRunner& runner, const Site& site, std::uint64_t stride_bytes)
      : runner_(runner), site_(site), stride_bytes_(stride_bytes) {}

  std::vector<SizedLatencies> of(const std::vector<std::uint64_t>& sizes) {
    std::vector<ChaseProgram> programs;
    for (const std::uint64_t bytes : sizes) programs.push_back(program_of(site_, bytes, stride_bytes_));
    const std::vector<ChaseResult> results = runner_.chase(programs);
    std::vector<SizedLatencies> rows;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<std::uint32_t>& cycles = results[i].steps.back().latencies;
      rows.push_back({programs[i].arrays.front().bytes, {cycles.begin(), cycles.end()}});
    }
    return rows;
  }

 private:
  ProbeRunner& runner_;
  Site site_;
  std::uint64_t stride_bytes_;
};

// Doubles the size until an array takes longer, then halves the interval. Returns the whole range if none does.
ByteRange narrow(Chases& chases, const ByteRange& range, const ChangePointQuestion& question) {
  const std::vector<SizedLatencies> ends = chases.of({range.low, range.high});
  const std::uint64_t resolution = narrow_enough(range, question, kChangePoint);
  const auto bracket = stats::bracket_size(range.low, range.high, resolution, [&](std::uint64_t bytes) {
    return takes_longer(chases.of({bytes}).front().latencies_cycles, ends[0].latencies_cycles, ends[1].latencies_cycles,
                        kChangePoint);
  });
  if (!bracket) return range;
  const std::uint64_t low = std::max(bracket->fits, range.low);
  return {low, std::min(std::max(bracket->exceeds, low + resolution), range.high)};
}

struct Swept {
  ByteRange interval;
  std::vector<SizedLatencies> rows;
  std::uint64_t times_widened = 0;
};

// Measures all sizes of the interval, and again those of a wider one while there are outliers.
Swept sweep(Chases& chases, const ByteRange& narrowed, const ByteRange& range, const ChangePointQuestion& question) {
  Swept swept{.interval = narrowed, .rows = chases.of(sizes_of(narrowed, question, kChangePoint))};
  while (swept.times_widened < kChangePoint.most_widened && has_outliers(reduced(swept.rows), kChangePoint)) {
    swept.interval = widened(swept.interval, range, kChangePoint);
    swept.rows = chases.of(sizes_of(swept.interval, question, kChangePoint));
    ++swept.times_widened;
  }
  return swept;
}

SampleTable table_of(std::span<const SizedLatencies> rows) {
  SampleTable table = make_table("change_point", Plot::kLine,
                                 {footprint_axis(), values("reduced_latency_cycles", "reduced latency", "cycles")});
  table.marks = {"change_point_bytes"};
  table.data[1] = reduced(rows);
  for (const SizedLatencies& row : rows) table.data[0].push_back(static_cast<double>(row.bytes));
  return table;
}

// Rounds to a millionth; finer digits of the test's formula mean nothing.
double to_a_millionth(double probability) {
  constexpr double kMillion = 1e6;
  return std::round(probability * kMillion) / kMillion;
}

// If the vendor tells the size of L2, the value is a fraction of it, exact or wrong, and has no interval.
Attribute to_attribute(const ProbeRunner& runner, const ChangePointSize& found, const Swept& swept,
                       const ChangePointQuestion& question) {
  const auto bytes = static_cast<std::int64_t>(found.bytes);
  const stats::Interval interval{static_cast<double>(found.bytes), static_cast<double>(found.next_bytes)};
  Attribute attribute = measured(runner.conditions(), bytes, "B", interval, "change_point");
  double confidence = 1 - found.p_value;
  if (question.is_shared && question.reported_bytes > 0) {
    const Segments segments = segments_of(question.reported_bytes, found.bytes);
    attribute =
        measured(runner.conditions(), static_cast<std::int64_t>(segments.bytes), "B", std::nullopt, "change_point");
    attribute.add_detail("segments", static_cast<std::int64_t>(segments.count));
    confidence *= segments.proximity;
  }
  attribute.add_detail("change_point_bytes", bytes);
  attribute.add_detail("confidence", to_a_millionth(confidence));
  attribute.add_detail("p_value", to_a_millionth(found.p_value));
  attribute.add_detail("interval_low_bytes", static_cast<std::int64_t>(swept.interval.low));
  attribute.add_detail("interval_high_bytes", static_cast<std::int64_t>(swept.interval.high));
  attribute.add_detail("times_widened", static_cast<std::int64_t>(swept.times_widened));
  if (runner.keep_samples()) attribute.samples.push_back(table_of(swept.rows));
  return attribute;
}

}  // namespace

Attribute measure_change_point_size(ProbeRunner& runner, const Site& site, const ChangePointQuestion& question) {
  const ByteRange range = range_to_search(question);
  Chases chases(runner, site, question.fetch_bytes);
  Swept swept;
  Decision<ChangePointSize> decision;
  for (std::uint64_t search = 0; search < kChangePoint.most_searches && !decision.value; ++search) {
    swept = sweep(chases, narrow(chases, range, question), range, question);
    decision = decide_change_point(swept.rows, kChangePoint);
  }
  return to_attribute(runner, value_or_throw(runner, "change point", decision), swept, question);
}

}  // namespace gputopo::probe
