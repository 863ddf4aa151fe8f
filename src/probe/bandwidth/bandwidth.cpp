#include "probe/bandwidth/bandwidth.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/bandwidth/best_shape_decision.h"
#include "probe/bandwidth/streams.h"
#include "probe/bench/intervals.h"

namespace gputopo::probe {
namespace {

struct BandwidthParameters {
  // Runs of each of the best shapes; the median counts, or chance would choose the shape. Odd.
  int runs = 3;
  // Number of these shapes. Larger values keep a shape whose first run was disturbed, but take longer.
  std::size_t contenders = 3;
  // Streams that choose the shape are this much shorter. Larger values let the start and end of launches decide too.
  std::uint32_t shorter = 3;
  // Runs of the best shape for its value: at least, and at most until its interval is as narrow as clock drift allows.
  int least_repeats = 5;
  int most_repeats = 9;
};
constexpr BandwidthParameters kBandwidthParameters;

double bandwidth(ProbeRunner& runner, const StreamProgram& program) {
  const StreamResult result = runner.stream(program);
  return result.seconds > 0 ? static_cast<double>(result.bytes_moved) / result.seconds : 0;
}

// Adds runs to the earlier `rates` up to the number that gives the median.
double median_of_runs(ProbeRunner& runner, const StreamProgram& program, std::vector<double> rates) {
  while (std::ssize(rates) < kBandwidthParameters.runs) rates.push_back(bandwidth(runner, program));
  return stats::median(rates);
}

// Short versions, which only choose the best shape.
std::vector<StreamProgram> shortened(std::vector<StreamProgram> shapes) {
  for (StreamProgram& shape : shapes) shape.repeats = std::max(1u, shape.repeats / kBandwidthParameters.shorter);
  return shapes;
}

std::vector<double> rates_by_shape(ProbeRunner& runner, const std::vector<StreamProgram>& shapes) {
  std::vector<double> rates;
  for (const StreamProgram& shape : shapes) rates.push_back(bandwidth(runner, shape));
  for (const std::size_t place : best_shapes(rates, kBandwidthParameters.contenders)) {
    rates[place] = median_of_runs(runner, shapes[place], {rates[place]});
  }
  return rates;
}

std::vector<double> rates_of_runs(ProbeRunner& runner, const StreamProgram& program) {
  std::vector<double> rates;
  while (std::ssize(rates) < kBandwidthParameters.least_repeats ||
         (std::ssize(rates) < kBandwidthParameters.most_repeats && !is_settled(rates))) {
    rates.push_back(bandwidth(runner, program));
  }
  return rates;
}

Column bandwidth_column() { return values("bytes_per_second", "bandwidth", "B/s"); }

SampleTable table_of_shapes(const std::vector<StreamProgram>& candidates, const std::vector<double>& rates) {
  SampleTable table =
      make_table("shapes", Plot::kLine,
                 {axis("blocks_per_sm", "blocks per sm"), series("threads_per_block", "threads per block"),
                  series("loads_in_flight", "loads in flight"), bandwidth_column()});
  table.marks = {"theoretical_bytes_per_second"};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    table.data[0].push_back(candidates[i].blocks_per_sm);
    table.data[1].push_back(candidates[i].threads_per_block);
    table.data[2].push_back(candidates[i].loads_in_flight);
    table.data[3].push_back(std::round(rates[i]));
  }
  return table;
}

SampleTable table_of_repeats(const std::vector<double>& rates) {
  SampleTable table = make_table("repeats", Plot::kLine, {axis("repeat", "repeat"), bandwidth_column()});
  table.marks = {"theoretical_bytes_per_second"};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    table.data[0].push_back(static_cast<double>(i) + 1);
    table.data[1].push_back(std::round(rates[i]));
  }
  return table;
}

// One rate per stream, by its footprint.
SampleTable rates_of(ProbeRunner& runner, const std::vector<StreamProgram>& streams, std::string name,
                     Column footprint) {
  runner.expect(std::vector<Program>(streams.begin(), streams.end()));
  SampleTable table =
      make_table(std::move(name), Plot::kLine, {std::move(footprint), series("sms", "sms"), bandwidth_column()});
  for (const StreamProgram& stream : streams) {
    // The faster of two runs, because disturbances only slow a stream.
    const double rate = std::max(bandwidth(runner, stream), bandwidth(runner, stream));
    table.data[0].push_back(static_cast<double>(stream.bytes));
    table.data[1].push_back(stream.sms == 0 ? runner.info().sm_count : stream.sms);
    table.data[2].push_back(std::round(rate));
  }
  return table;
}

}  // namespace

double median_bandwidth(ProbeRunner& runner, const StreamProgram& program) {
  return median_of_runs(runner, program, {});
}

Attribute measure_bandwidth(ProbeRunner& runner, const std::vector<StreamProgram>& candidates, std::string method) {
  runner.expect(std::vector<Program>(candidates.begin(), candidates.end()));
  const std::vector<double> by_shape = rates_by_shape(runner, shortened(candidates));
  const std::optional<std::size_t> best = best_shape(by_shape);
  if (!best) throw Inconclusive("no stream ran long enough for the timer to resolve its time");
  const StreamProgram& shape = candidates[*best];
  ProbeRunner of_best = runner.another();  // the conditions of the value are those of these runs only
  const std::vector<double> rates = rates_of_runs(of_best, shape);
  const Rate rate = rate_of_runs(rates);
  Attribute attribute =
      measured(of_best.conditions(), std::round(rate.bytes_per_second), "B/s", rate.interval, std::move(method));
  attribute.add_detail("footprint_bytes", static_cast<std::int64_t>(shape.bytes));
  attribute.add_detail("blocks_per_sm", static_cast<std::int64_t>(shape.blocks_per_sm));
  attribute.add_detail("threads_per_block", static_cast<std::int64_t>(shape.threads_per_block));
  attribute.add_detail("loads_in_flight", static_cast<std::int64_t>(shape.loads_in_flight));
  // All threads of a warp read the same address, which moves once.
  const bool is_broadcast = shape.space == Space::kConstant || shape.space == Space::kScalar;
  if (is_broadcast) attribute.add_detail("counted", std::string("once_per_warp"));
  if (of_best.conditions().sm_clock_mhz() > 0) {
    const double clocks_per_second = of_best.conditions().sm_clock_mhz() * 1e6;
    const std::uint32_t sms = shape.sms == 0 ? runner.info().sm_count : shape.sms;
    attribute.add_detail("bytes_per_clock_per_sm", rounded(rate.bytes_per_second / clocks_per_second / sms));
  }
  if (runner.keep_samples()) attribute.samples = {table_of_shapes(candidates, by_shape), table_of_repeats(rates)};
  return attribute;
}

SampleTable measure_by_footprint(ProbeRunner& runner) {
  return rates_of(runner, footprint_streams(runner), "by_footprint", axis("footprint_bytes", "footprint", "B"));
}

SampleTable measure_by_cold_footprint(ProbeRunner& runner) {
  return rates_of(runner, cold_footprint_streams(runner), "by_cold_footprint",
                  axis("cold_footprint_bytes", "uncached footprint", "B"));
}

}  // namespace gputopo::probe
