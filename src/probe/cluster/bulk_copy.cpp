#include "probe/cluster/bulk_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "probe/bandwidth/best_shape_decision.h"
#include "probe/bench/access_trial.h"
#include "probe/cluster/copies.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

struct BulkCopyParameters {
  std::uint32_t least_copy_bytes = 16;
  std::array<std::uint32_t, 6> latency_copy_bytes = {16, 128, 512, 2048, 8192, 32768};
  // Copies from memory are so long that no sector serves two of them.
  std::uint32_t memory_copy_bytes = 512;
  std::array<std::uint32_t, 4> bandwidth_copy_bytes = {512, 2048, 8192, 32768};
  std::array<std::uint32_t, 6> in_flight = {1, 2, 4, 8, 16, 32};
  std::uint32_t accesses = 64;
  // Bytes of each SM in a launch: some hundred microseconds, so that the start hardly counts.
  std::uint64_t bytes_per_sm = 4 << 20;
  // Divisor of L2: a working set takes at most this part of it, clear of its edge.
  std::uint64_t l2_parts = 4;
  std::uint64_t small_l2_bytes = 64 << 10;
  // A working set in device memory is this many times the last cache, so that almost none of it is cached before. It
  // takes at most the largest array over `memory_parts`.
  std::uint64_t beyond_caches = 32;
  std::uint64_t memory_parts = 4;
  // No copy from L2 is faster. Larger values would call a fast GPU broken.
  double least_copy_cycles = 30;
  // Shared memory of a block that the barriers of the copies and the driver need.
  std::uint64_t reserved_bytes = 2048;
  std::uint64_t shared_guess_bytes = 48 << 10;
  // Bytes of a launch of plain loads, for comparison.
  double plain_stream_bytes = 4e9;
  std::array<std::uint32_t, 2> plain_loads_in_flight = {4, 8};
};
constexpr BulkCopyParameters kBulkCopyParameters;

std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) { return std::max(bytes / unit, std::uint64_t{1}) * unit; }

std::uint64_t l2_bytes(const ProbeRunner& runner) {
  return std::max(runner.info().l2_bytes.value_or(0) / kBulkCopyParameters.l2_parts,
                  kBulkCopyParameters.small_l2_bytes);
}

std::uint64_t memory_bytes(const ProbeRunner& runner) {
  return std::min(kBulkCopyParameters.beyond_caches * runner.last_cache_bytes(),
                  runner.info().max_array_bytes / kBulkCopyParameters.memory_parts);
}

ClusterProgram copies(std::uint32_t copy_bytes, std::uint32_t in_flight, std::uint64_t bytes, bool every_sm) {
  return {.op = ClusterOp::kBulkCopy,
          .every_sm = every_sm,
          .bytes = whole(bytes, copy_bytes),
          .copy_bytes = copy_bytes,
          .in_flight = in_flight,
          .warm_accesses = kBulkCopyParameters.accesses,
          .accesses = kBulkCopyParameters.accesses};
}

// The mean over the blocks, for each copy of each program.
std::vector<std::vector<double>> run_latencies(ProbeRunner& runner, const std::vector<ClusterProgram>& programs) {
  std::vector<std::vector<double>> cycles(programs.size());
  for (std::uint32_t copy = 0; copy < kCluster.copies; ++copy) {
    const std::vector<ClusterResult> results = runner.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i) cycles[i].push_back(stats::mean(results[i].cycles));
  }
  return cycles;
}

struct Shape {
  ClusterProgram program;
  std::vector<double> bytes_per_second;

  [[nodiscard]] double median() const { return stats::median(bytes_per_second); }
};

// Every copy in flight has its own place in shared memory.
std::vector<Shape> bandwidth_shapes(const ProbeRunner& runner, std::uint64_t bytes) {
  const DeviceInfo& info = runner.info();
  const std::uint64_t shared = info.max_shared_bytes_per_block().value_or(kBulkCopyParameters.shared_guess_bytes);
  std::vector<Shape> shapes;
  for (const std::uint32_t copy_bytes : kBulkCopyParameters.bandwidth_copy_bytes) {
    for (const std::uint32_t in_flight : kBulkCopyParameters.in_flight) {
      if (std::uint64_t{copy_bytes} * in_flight + kBulkCopyParameters.reserved_bytes > shared) continue;
      ClusterProgram program = copies(copy_bytes, in_flight, bytes, true);
      program.accesses =
          static_cast<std::uint32_t>(whole(kBulkCopyParameters.bytes_per_sm / copy_bytes, kMaxCopiesInFlight));
      shapes.push_back({program, {}});
    }
  }
  return shapes;
}

std::uint64_t bytes_in_flight(const ClusterProgram& program) {
  return std::uint64_t{program.copy_bytes} * program.in_flight;
}

// Copies that find nothing in L2, because each block passes over its share once.
Shape from_memory(const ProbeRunner& runner, const Shape& like) {
  Shape shape{like.program, {}};
  const std::uint32_t copy_bytes = shape.program.copy_bytes;
  shape.program.bytes = whole(memory_bytes(runner), copy_bytes);
  const std::uint64_t share = shape.program.bytes / copy_bytes / runner.info().sm_count;
  const std::uint64_t timed = share > kBulkCopyParameters.accesses ? share - kBulkCopyParameters.accesses : 0;
  shape.program.accesses = static_cast<std::uint32_t>(
      whole(std::min(timed, kBulkCopyParameters.bytes_per_sm / copy_bytes), kMaxCopiesInFlight));
  return shape;
}

double plain_rate(ProbeRunner& runner, std::uint64_t bytes, std::uint32_t passes) {
  double best = 0;
  for (const std::uint32_t in_flight : kBulkCopyParameters.plain_loads_in_flight) {
    const StreamProgram program{
        .space = Space::kGlobalBypassL1, .bytes = whole(bytes, 512), .loads_in_flight = in_flight, .repeats = passes};
    std::vector<double> rates;
    for (std::uint32_t copy = 0; copy < kCluster.copies; ++copy) {
      const StreamResult result = runner.stream(program);
      if (result.seconds > 0) rates.push_back(static_cast<double>(result.bytes_moved) / result.seconds);
    }
    if (!rates.empty()) best = std::max(best, stats::median(rates));
  }
  return best;
}

// From L2 and from memory by every SM, because the distances differ; then larger copies by one SM, because those of
// several would wait for each other.
std::vector<ClusterProgram> latency_programs(const ProbeRunner& runner) {
  std::vector<ClusterProgram> programs = {copies(kBulkCopyParameters.least_copy_bytes, 1, l2_bytes(runner), true),
                                          copies(kBulkCopyParameters.least_copy_bytes, 1, memory_bytes(runner), true)};
  programs[1].copy_bytes = kBulkCopyParameters.memory_copy_bytes;
  programs[1].bytes = whole(programs[1].bytes, programs[1].copy_bytes);
  for (const std::uint32_t copy_bytes : kBulkCopyParameters.latency_copy_bytes) {
    programs.push_back(copies(copy_bytes, 1, l2_bytes(runner), false));
  }
  return programs;
}

// A plain load of as many bytes as the smallest copy, by every SM.
double plain_load_cycles(ProbeRunner& runner) {
  return run_trials(runner, {{.space = Space::kGlobalBypassL1,
                              .bytes = whole(l2_bytes(runner), kMinimumStrideBytes),
                              .hop_bytes = kBulkCopyParameters.least_copy_bytes,
                              .warps = 1,
                              .every_sm = true,
                              .warm_accesses = kAccessTrial.warm_accesses,
                              .accesses = kAccessTrial.timed_accesses}})
      .front()
      .cycles();
}

void run_shapes(ProbeRunner& runner, std::vector<Shape>& shapes) {
  std::vector<ClusterProgram> programs;
  for (const Shape& shape : shapes) programs.push_back(shape.program);
  for (std::uint32_t copy = 0; copy < kCluster.copies_of_shape; ++copy) {
    const std::vector<ClusterResult> results = runner.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i)
      shapes[i].bytes_per_second.push_back(results[i].bytes_per_second());
  }
}

// New runs of the shape that is best in L2, because chance helped to choose it; and copies from memory.
struct BestRates {
  std::vector<double> from_l2;
  double from_memory = 0;
  std::uint64_t memory_bytes = 0;
  Conditions conditions;
};

BestRates run_best(ProbeRunner runner, const std::vector<Shape>& shapes, const Shape& best) {
  // Memory is farther than L2 and may need more bytes in flight.
  const auto deepest =
      std::ranges::max_element(shapes, {}, [](const Shape& shape) { return bytes_in_flight(shape.program); });
  Shape memory[] = {from_memory(runner, best), from_memory(runner, *deepest)};
  BestRates rates{.memory_bytes = memory[0].program.bytes};
  for (std::uint32_t repeat = 0; repeat < kCluster.repeats; ++repeat) {
    const std::vector<ClusterResult> results = runner.cluster({best.program, memory[0].program, memory[1].program});
    rates.from_l2.push_back(results[0].bytes_per_second());
    for (std::size_t i = 0; i < 2; ++i) memory[i].bytes_per_second.push_back(results[i + 1].bytes_per_second());
  }
  rates.from_memory = std::max(memory[0].median(), memory[1].median());
  rates.conditions = runner.conditions();
  return rates;
}

SampleTable table_of(const std::vector<Shape>& shapes) {
  SampleTable table = make_table("copies", Plot::kLine,
                                 {axis("copies_in_flight", "copies in flight"), series("copy_bytes", "copy", "B"),
                                  values("read_bytes_per_second", "read", "B/s")});
  table.marks = {"plain_loads_bytes_per_second", "from_memory_bytes_per_second",
                 "plain_loads_from_memory_bytes_per_second"};
  for (const Shape& shape : shapes) {
    table.data[0].push_back(shape.program.in_flight);
    table.data[1].push_back(shape.program.copy_bytes);
    table.data[2].push_back(std::round(shape.median()));
  }
  return table;
}

}  // namespace

Attribute measure_bulk_copy_latency(ProbeRunner& runner) {
  const std::vector<ClusterProgram> programs = latency_programs(runner);
  const std::vector<std::vector<double>> cycles = run_latencies(runner, programs);
  const double value = stats::median(cycles[0]);
  if (value < kBulkCopyParameters.least_copy_cycles) {
    throw Inconclusive(
        fmt::format("a bulk copy took {:.1f} cycles, which is impossible: the program did not run as written", value));
  }
  ProbeRunner of_plain_loads = runner.another();
  const double plain_cycles = plain_load_cycles(of_plain_loads);
  Attribute attribute = measured(runner.conditions(), rounded(value), "cycles", timing_interval(cycles[0], value),
                                 "dependent_bulk_copies");
  if (runner.conditions().sm_clock_mhz() > 0) {
    attribute.add_detail("mean_ns", rounded(1e3 * value / runner.conditions().sm_clock_mhz()));
  }
  attribute.add_detail("least_copy_bytes", static_cast<std::int64_t>(kBulkCopyParameters.least_copy_bytes));
  attribute.add_detail("plain_load_cycles", rounded(plain_cycles));
  attribute.add_detail("added_cycles", rounded(value - plain_cycles));
  attribute.add_detail("from_memory_cycles", rounded(stats::median(cycles[1])));
  std::vector<double> by_size;
  for (std::size_t i = 2; i < programs.size(); ++i) by_size.push_back(rounded(stats::median(cycles[i])));
  attribute.add_detail("copies_bytes", std::vector<double>(kBulkCopyParameters.latency_copy_bytes.begin(),
                                                           kBulkCopyParameters.latency_copy_bytes.end()));
  attribute.add_detail("latency_by_copy_cycles", by_size);
  if (!runner.keep_samples()) return attribute;
  SampleTable table = make_table("by_copy", Plot::kLine,
                                 {axis("copy_bytes", "copy", "B"), values("latency_cycles", "latency", "cycles")});
  table.data = {{kBulkCopyParameters.latency_copy_bytes.begin(), kBulkCopyParameters.latency_copy_bytes.end()},
                std::move(by_size)};
  attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute measure_bulk_copy_bandwidth(ProbeRunner& runner) {
  std::vector<Shape> shapes = bandwidth_shapes(runner, l2_bytes(runner));
  run_shapes(runner, shapes);
  std::vector<double> medians;
  for (const Shape& shape : shapes) medians.push_back(shape.median());
  const std::optional<std::size_t> place = best_shape(medians);
  if (!place) throw Inconclusive("no bulk copies ran long enough for the timer to resolve their time");
  const Shape& best = shapes[*place];
  const BestRates rates = run_best(runner.another(), shapes, best);
  const std::uint64_t footprint = best.program.bytes;
  const double passes = std::max(1.0, kBulkCopyParameters.plain_stream_bytes / static_cast<double>(footprint));
  const double plain = plain_rate(runner, footprint, static_cast<std::uint32_t>(passes));
  const double plain_memory = plain_rate(runner, rates.memory_bytes, 1);
  const double value = stats::median(rates.from_l2);
  Attribute attribute = measured(rates.conditions, std::round(value), "B/s", interval_around(rates.from_l2, value),
                                 "best_copies_in_flight");
  attribute.add_detail("copy_bytes", static_cast<std::int64_t>(best.program.copy_bytes));
  attribute.add_detail("copies_in_flight", static_cast<std::int64_t>(best.program.in_flight));
  attribute.add_detail("footprint_bytes", static_cast<std::int64_t>(footprint));
  attribute.add_detail("plain_loads_bytes_per_second", std::round(plain));
  attribute.add_detail("from_memory_bytes_per_second", std::round(rates.from_memory));
  attribute.add_detail("plain_loads_from_memory_bytes_per_second", std::round(plain_memory));
  if (runner.keep_samples()) attribute.samples.push_back(table_of(shapes));
  return attribute;
}

}  // namespace gputopo::probe
