// Bandwidth: the best of a few shapes of stream, then that shape again for its spread.
#include <fmt/format.h>

#include <cmath>

#include "probe/site.h"

namespace gputopo::probe {
namespace {

std::vector<double> bandwidths(Lab& lab, const StreamProgram& program, int runs) {
  std::vector<double> rates;
  for (int i = 0; i < runs; ++i) {
    const StreamResult result = lab.stream(program);
    rates.push_back(result.seconds > 0 ? static_cast<double>(result.bytes_moved) / result.seconds : 0);
  }
  return rates;
}

}  // namespace

double median_bandwidth(Lab& lab, const StreamProgram& program) {
  constexpr int kRuns = 3;
  return stats::median(bandwidths(lab, program, kRuns));
}

Attribute measure_bandwidth(Lab& lab, const std::vector<StreamProgram>& candidates, std::string method) {
  SampleTable shapes =
      make_table("shapes", Plot::kLine,
                 {axis("blocks_per_sm", "blocks per sm"), series("threads_per_block", "threads per block"),
                  series("loads_in_flight", "loads in flight"), values("bytes_per_second", "bandwidth", "B/s")});
  shapes.marks = {"theoretical_bytes_per_second"};
  double best = 0;
  const StreamProgram* shape = nullptr;
  for (const StreamProgram& candidate : candidates) {
    const double bytes_per_second = median_bandwidth(lab, candidate);  // or chance would pick the shape
    shapes.data[0].push_back(candidate.blocks_per_sm);
    shapes.data[1].push_back(candidate.threads_per_block);
    shapes.data[2].push_back(candidate.loads_in_flight);
    shapes.data[3].push_back(std::round(bytes_per_second));
    if (bytes_per_second > best) {
      best = bytes_per_second;
      shape = &candidate;
    }
  }
  if (shape == nullptr) throw Inconclusive("no stream finished with a time above the timer's resolution");
  constexpr int kRepeats = 9;
  const std::vector<double> rates = bandwidths(lab, *shape, kRepeats);
  const double median = stats::median(rates);
  const stats::Interval interval = stats::mean_interval(rates);
  Attribute attribute =
      measured(lab.conditions(), std::round(median), "B/s",
               stats::Interval{std::min(interval.low, median), std::max(interval.high, median)}, std::move(method));
  attribute.add_detail("footprint_bytes", static_cast<std::int64_t>(shape->bytes));
  attribute.add_detail("blocks_per_sm", static_cast<std::int64_t>(shape->blocks_per_sm));
  attribute.add_detail("threads_per_block", static_cast<std::int64_t>(shape->threads_per_block));
  attribute.add_detail("loads_in_flight", static_cast<std::int64_t>(shape->loads_in_flight));
  if (lab.conditions().sm_clock_mhz() > 0) {
    const double per_clock = median / (lab.conditions().sm_clock_mhz() * 1e6) / lab.info().sm_count;
    attribute.add_detail("bytes_per_clock_per_sm", std::round(per_clock * 100) / 100);
  }
  if (!lab.keep_samples()) return attribute;
  SampleTable repeats =
      make_table("repeats", Plot::kLine, {axis("repeat", "repeat"), values("bytes_per_second", "bandwidth", "B/s")});
  repeats.marks = {"theoretical_bytes_per_second"};
  for (const double one : rates) {
    repeats.data[0].push_back(static_cast<double>(repeats.data[0].size()) + 1);
    repeats.data[1].push_back(std::round(one));
  }
  attribute.samples = {std::move(shapes), std::move(repeats)};
  return attribute;
}

}  // namespace gputopo::probe
