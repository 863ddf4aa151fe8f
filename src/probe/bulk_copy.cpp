// Asynchronous bulk copies (TMA) from device memory to shared memory, beside plain loads of the same bytes.
// Latency: a thread issues a copy, waits until its barrier in shared memory says that it has arrived, issues the next.
// Bandwidth: a thread of each SM keeps so many copies of so many bytes under way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/access_trial.h"
#include "probe/cluster.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kLeastCopyBytes = 16;
constexpr std::uint32_t kLatencyCopyBytes[] = {16, 128, 512, 2048, 8192, 32768};
constexpr std::uint32_t kBandwidthCopyBytes[] = {512, 2048, 8192, 32768};
constexpr std::uint32_t kInFlight[] = {1, 2, 4, 8, 16, 32};
constexpr std::uint32_t kAccesses = 64;
// Of each SM in a launch: some hundred microseconds, so that the start hardly counts.
constexpr std::uint64_t kBytesPerSm = 4 << 20;
// A working set in L2 takes this part of it at most: clear of its edge.
constexpr std::uint64_t kL2Parts = 4;
constexpr std::uint64_t kSmallL2Bytes = 64 << 10;
// One in device memory is so many times the last cache, so that next to nothing of it is there beforehand.
constexpr std::uint64_t kBeyond = 32;
// Nothing comes from L2 sooner.
constexpr double kLeastCopyCycles = 30;
// Of a block's shared memory, for the copies' barriers and what the driver takes.
constexpr std::uint64_t kReservedBytes = 2048;
constexpr std::uint64_t kSharedGuessBytes = 48 << 10;

std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) { return std::max(bytes / unit, std::uint64_t{1}) * unit; }

std::uint64_t l2_bytes(const Lab& lab) { return std::max(lab.info().l2_bytes.value_or(0) / kL2Parts, kSmallL2Bytes); }

std::uint64_t memory_bytes(const Lab& lab) {
  return std::min(kBeyond * lab.last_cache_bytes(), lab.info().max_array_bytes / 4);
}

ClusterProgram copies(std::uint32_t copy_bytes, std::uint32_t in_flight, std::uint64_t bytes, bool every_sm) {
  return {.op = ClusterOp::kBulkCopy,
          .every_sm = every_sm,
          .bytes = whole(bytes, copy_bytes),
          .copy_bytes = copy_bytes,
          .in_flight = in_flight,
          .warm_accesses = kAccesses,
          .accesses = kAccesses};
}

// Of each program and each of its copies, the mean over the blocks.
std::vector<std::vector<double>> run_latencies(Lab& lab, const std::vector<ClusterProgram>& programs) {
  std::vector<std::vector<double>> cycles(programs.size());
  for (std::uint32_t copy = 0; copy < kClusterCopies; ++copy) {
    const std::vector<ClusterResult> results = lab.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i) cycles[i].push_back(stats::mean(results[i].cycles));
  }
  return cycles;
}

struct Shape {
  ClusterProgram program;
  std::vector<double> bytes_per_second;
};

// Every copy in flight has a place of its own in shared memory.
std::vector<Shape> bandwidth_shapes(const Lab& lab, std::uint64_t bytes) {
  const DeviceInfo& info = lab.info();
  const std::uint64_t shared =
      info.shared_bytes_per_block_opt_in.value_or(info.shared_bytes_per_block.value_or(kSharedGuessBytes));
  std::vector<Shape> shapes;
  for (const std::uint32_t copy_bytes : kBandwidthCopyBytes) {
    for (const std::uint32_t in_flight : kInFlight) {
      if (std::uint64_t{copy_bytes} * in_flight + kReservedBytes > shared) continue;
      ClusterProgram program = copies(copy_bytes, in_flight, bytes, true);
      program.accesses = static_cast<std::uint32_t>(whole(kBytesPerSm / copy_bytes, kMostCopiesInFlight));
      shapes.push_back({program, {}});
    }
  }
  return shapes;
}

std::uint64_t bytes_in_flight(const ClusterProgram& program) {
  return std::uint64_t{program.copy_bytes} * program.in_flight;
}

double rate_of(const ClusterResult& result) { return static_cast<double>(result.bytes_moved) / result.seconds; }

// Of copies that find nothing in L2: each block goes over its own share once.
Shape from_memory(const Lab& lab, const Shape& like) {
  Shape shape{like.program, {}};
  const std::uint32_t copy_bytes = shape.program.copy_bytes;
  shape.program.bytes = whole(memory_bytes(lab), copy_bytes);
  const std::uint64_t share = shape.program.bytes / copy_bytes / lab.info().sm_count;
  const std::uint64_t timed = share > kAccesses ? share - kAccesses : 0;
  shape.program.accesses =
      static_cast<std::uint32_t>(whole(std::min(timed, kBytesPerSm / copy_bytes), kMostCopiesInFlight));
  return shape;
}

double plain_rate(Lab& lab, std::uint64_t bytes, std::uint32_t passes) {
  double best = 0;
  for (const std::uint32_t in_flight : {4u, 8u}) {
    const StreamProgram program{
        .space = Space::kGlobalBypassL1, .bytes = whole(bytes, 512), .loads_in_flight = in_flight, .repeats = passes};
    std::vector<double> rates;
    for (std::uint32_t copy = 0; copy < kClusterCopies; ++copy) {
      const StreamResult result = lab.stream(program);
      if (result.seconds > 0) rates.push_back(static_cast<double>(result.bytes_moved) / result.seconds);
    }
    if (!rates.empty()) best = std::max(best, stats::median(rates));
  }
  return best;
}

}  // namespace

Attribute measure_bulk_copy_latency(Lab& lab) {
  // The smallest copy on every SM, because L2 is nearer to some; then on one, or larger ones would wait for each other.
  std::vector<ClusterProgram> programs = {copies(kLeastCopyBytes, 1, l2_bytes(lab), true),
                                          copies(kLeastCopyBytes, 1, memory_bytes(lab), true)};
  // From memory no byte is copied twice, and no sector serves two copies.
  programs[1].copy_bytes = kLatencyCopyBytes[2];
  programs[1].bytes = whole(programs[1].bytes, programs[1].copy_bytes);
  const std::size_t first = programs.size();
  for (const std::uint32_t copy_bytes : kLatencyCopyBytes) {
    programs.push_back(copies(copy_bytes, 1, l2_bytes(lab), false));
  }
  const std::vector<std::vector<double>> cycles = run_latencies(lab, programs);
  const double value = stats::median(cycles[0]);
  if (value < kLeastCopyCycles) {
    throw Inconclusive(
        fmt::format("a bulk copy took {:.1f} cycles, which none can: the program did not run as written", value));
  }
  const std::uint64_t load_bytes = whole(l2_bytes(lab), kMinimumStrideBytes);
  const std::vector<AccessTrial> loads = run_trials(lab, {{.space = Space::kGlobalBypassL1,
                                                           .bytes = load_bytes,
                                                           .hop_bytes = kLeastCopyBytes,
                                                           .warps = 1,
                                                           .every_sm = true,
                                                           .warm_accesses = kWarmAccesses,
                                                           .accesses = kTimedAccesses}});
  Attribute attribute = measured(lab.conditions(), rounded(value), "cycles", timing_interval(cycles[0], value),
                                 "copies_one_behind_another");
  if (lab.conditions().sm_clock_mhz() > 0)
    attribute.add_detail("mean_ns", rounded(1e3 * value / lab.conditions().sm_clock_mhz()));
  attribute.add_detail("least_copy_bytes", static_cast<std::int64_t>(kLeastCopyBytes));
  attribute.add_detail("plain_load_cycles", rounded(loads[0].cycles()));
  attribute.add_detail("added_cycles", rounded(value - loads[0].cycles()));
  attribute.add_detail("from_memory_cycles", rounded(stats::median(cycles[1])));
  std::vector<double> sizes;
  std::vector<double> by_size;
  for (std::size_t i = first; i < programs.size(); ++i) {
    sizes.push_back(programs[i].copy_bytes);
    by_size.push_back(rounded(stats::median(cycles[i])));
  }
  attribute.add_detail("copies_bytes", std::move(sizes));
  attribute.add_detail("latency_by_copy_cycles", std::move(by_size));
  return attribute;
}

Attribute measure_bulk_copy_bandwidth(Lab& lab) {
  std::vector<Shape> shapes = bandwidth_shapes(lab, l2_bytes(lab));
  std::vector<ClusterProgram> programs;
  for (const Shape& shape : shapes) programs.push_back(shape.program);
  for (std::uint32_t copy = 0; copy < kClusterCopies; ++copy) {
    const std::vector<ClusterResult> results = lab.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i) shapes[i].bytes_per_second.push_back(rate_of(results[i]));
  }
  const auto best = std::max_element(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return stats::median(a.bytes_per_second) < stats::median(b.bytes_per_second);
  });
  // Once more, or chance would have picked the value. Memory is farther than L2: it may take more bytes in flight.
  const auto deepest = std::max_element(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return bytes_in_flight(a.program) < bytes_in_flight(b.program);
  });
  Shape memory[] = {from_memory(lab, *best), from_memory(lab, *deepest)};
  std::vector<double> rates;
  for (std::uint32_t repeat = 0; repeat < kClusterRepeats; ++repeat) {
    const std::vector<ClusterResult> results = lab.cluster({best->program, memory[0].program, memory[1].program});
    rates.push_back(rate_of(results[0]));
    for (std::size_t i = 0; i < 2; ++i) memory[i].bytes_per_second.push_back(rate_of(results[i + 1]));
  }
  const double memory_rate =
      std::max(stats::median(memory[0].bytes_per_second), stats::median(memory[1].bytes_per_second));
  constexpr double kStreamBytes = 4e9;
  const std::uint64_t footprint = best->program.bytes;
  const double plain = plain_rate(
      lab, footprint, static_cast<std::uint32_t>(std::max(1.0, kStreamBytes / static_cast<double>(footprint))));
  const double plain_memory = plain_rate(lab, memory[0].program.bytes, 1);
  const double value = stats::median(rates);
  Attribute attribute =
      measured(lab.conditions(), std::round(value), "B/s", interval_around(rates, value), "best_copies_in_flight");
  attribute.add_detail("copy_bytes", static_cast<std::int64_t>(best->program.copy_bytes));
  attribute.add_detail("copies_in_flight", static_cast<std::int64_t>(best->program.in_flight));
  attribute.add_detail("footprint_bytes", static_cast<std::int64_t>(footprint));
  attribute.add_detail("plain_loads_bytes_per_second", std::round(plain));
  attribute.add_detail("from_memory_bytes_per_second", std::round(memory_rate));
  attribute.add_detail("plain_loads_from_memory_bytes_per_second", std::round(plain_memory));
  if (!lab.keep_samples()) return attribute;
  SampleTable table = make_table("copies", Plot::kLine,
                                 {axis("copies_in_flight", "copies in flight"), series("copy_bytes", "copy", "B"),
                                  values("read_bytes_per_second", "read", "B/s")});
  table.marks = {"plain_loads_bytes_per_second"};
  for (const Shape& shape : shapes) {
    table.data[0].push_back(shape.program.in_flight);
    table.data[1].push_back(shape.program.copy_bytes);
    table.data[2].push_back(std::round(stats::median(shape.bytes_per_second)));
  }
  attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
