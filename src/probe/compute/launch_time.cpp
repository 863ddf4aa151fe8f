// An empty kernel is launched and awaited many times; the median counts, because the host is late now and then. The
// interval is many launches minus few launches, which contains neither the first call nor the wait.
//
// What fools it: a host with busy or sleeping cores (the reported interval is the interquartile range of all runs); a
// first launch that loads code (one runs untimed before); another process on the GPU (its samples are discarded).
#include "probe/compute/launch_time.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kLaunches = 31;
constexpr std::uint32_t kFewLaunches = 32;
constexpr std::uint32_t kManyLaunches = 288;
constexpr std::uint32_t kLeastArgumentBytes = 8;

struct Times {
  std::vector<double> whole_ns;
  std::vector<double> submit_ns;
};

Times times_of(ProbeRunner& runner, const LaunchProgram& program) {
  Times times;
  for (const LaunchResult& result : runner.launch(std::vector(kLaunches, program))) {
    times.whole_ns.push_back(result.seconds * 1e9);
    times.submit_ns.push_back(result.submit_seconds * 1e9);
  }
  return times;
}

double nanoseconds(double value) { return std::round(value); }

// The median and the interquartile range.
Attribute half_of(ProbeRunner& runner, std::vector<double> values, const char* method) {
  std::ranges::sort(values);
  const double value = nanoseconds(stats::median(values));
  if (value <= 0) throw Inconclusive("a longer sequence of launches took no longer than a shorter one");
  return measured(runner.conditions(), value, "ns",
                  stats::Interval{std::min(value, nanoseconds(values[values.size() / 4])),
                                  std::max(value, nanoseconds(values[values.size() - 1 - values.size() / 4]))},
                  method);
}

Attribute latency_by(ProbeRunner& runner, LaunchMethod way, const char* method) {
  const Times times = times_of(runner, {.way = way, .argument_bytes = kLeastArgumentBytes});
  Attribute attribute = half_of(runner, times.whole_ns, method);
  attribute.add_detail("call_ns", nanoseconds(stats::median(times.submit_ns)));
  attribute.add_detail("least_ns", nanoseconds(std::ranges::min(times.whole_ns)));
  return attribute;
}

}  // namespace

Attribute measure_launch_latency(ProbeRunner& runner) {
  Attribute attribute = latency_by(runner, LaunchMethod::kCalls, "empty_kernel_launches");
  std::vector<double> bytes = {kLeastArgumentBytes};
  std::vector<double> whole_ns = {attribute.number().value_or(0)};
  // Up to the argument limit of the largest kernels, or of this device.
  for (const std::uint32_t more : {1024u, 4096u, 32'760u, 65'536u}) {
    try {
      whole_ns.push_back(nanoseconds(stats::median(times_of(runner, {.argument_bytes = more}).whole_ns)));
      bytes.push_back(more);
    } catch (const NotSupportedError&) {
      break;
    }
  }
  attribute.add_detail("argument_bytes", bytes);
  attribute.add_detail("latencies_ns", whole_ns);
  return attribute;
}

Attribute measure_graph_launch_latency(ProbeRunner& runner) {
  return latency_by(runner, LaunchMethod::kGraph, "empty_kernel_launches");
}

Attribute measure_launch_interval(ProbeRunner& runner, LaunchMethod way) {
  const Times few = times_of(runner, {.way = way, .launches = kFewLaunches});
  const Times many = times_of(runner, {.way = way, .launches = kManyLaunches});
  std::vector<double> intervals;
  const double few_ns = stats::median(few.whole_ns);
  for (const double many_ns : many.whole_ns) intervals.push_back((many_ns - few_ns) / (kManyLaunches - kFewLaunches));
  return half_of(runner, std::move(intervals), "launches_in_a_row");
}

}  // namespace gputopo::probe
