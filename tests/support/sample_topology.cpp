#include "sample_topology.h"

namespace gputopo::test {
namespace {

Attribute measured(Value value, std::string unit, double low, double high, std::string method) {
  Attribute attribute;
  attribute.value = std::move(value);
  attribute.unit = std::move(unit);
  attribute.low = low;
  attribute.high = high;
  attribute.source = Source::kMeasured;
  attribute.method = std::move(method);
  attribute.conditions = {{"sm_clock_mhz", 1980.0}, {"carve_out_bytes", std::int64_t{0}}};
  return attribute;
}

Attribute bytes(std::int64_t value) {
  return measured(value, "B", static_cast<double>(value), static_cast<double>(value), "level_clustering");
}

MemoryElement l1() {
  MemoryElement element{"l1", "L1 data cache", {}};
  Attribute size = measured(std::int64_t{196608}, "B", 192512, 200704, "two_edges");
  size.details = {{"first_miss_bytes", std::int64_t{192512}},
                  {"all_miss_bytes", std::int64_t{262144}},
                  {"carve_outs_bytes", std::vector<double>{0, 8192, 65536, 233472}},
                  {"size_by_carve_out_bytes", std::vector<double>{262144, 253952, 196608, 28672}}};
  size.samples = {{.name = "l1.size.sweep",
                   .plot = Plot::kLine,
                   .columns = {{"footprint_bytes", ColumnRole::kAxis, "footprint", "B"},
                               {"latency, mean", ColumnRole::kValue, "latency, mean", ""}},
                   .data = {{1024, 2048.5}, {34.25, 1e6}},
                   .marks = {"first_miss_bytes", "all_miss_bytes"}},
                  {.name = "l1.size.by_carve_out",
                   .plot = Plot::kLine,
                   .columns = {{"carve_out_bytes", ColumnRole::kAxis, "carve out", "B"},
                               {"size_bytes", ColumnRole::kValue, "size", "B"}},
                   .data = {{0, 8192, 65536, 233472}, {262144, 253952, 196608, 28672}}}};
  Attribute latency = measured(34.25, "cycles", 34.0, 34.5, "untimed_chain");
  latency.details = {{"p50", 34.0}, {"p99", 36.5}};
  Attribute bandwidth = measured(4.1e13, "B/s", 3.5e13, 4.2e13, "stream");
  bandwidth.flags = {"over_theoretical_peak"};
  element.attributes = {
      {"size", size},
      {"latency", latency},
      {"read_bandwidth", bandwidth},
      {"write_bandwidth", unavailable(Reason::kTimedOut, "the budget of 60 s ran out")},
      {"line_size", bytes(128)},
      {"fetch_granularity", bytes(32)},
      {"amount", measured(std::int64_t{1}, "", 1, 1, "eviction_between_warps")},
      {"shared_with", measured(std::vector<std::string>{"texture", "readonly"}, "", 0, 0, "eviction")},
      {"miss_penalty", unavailable(Reason::kTimedOut, "the budget of 60 s ran out")},
      {"partitions", unavailable(Reason::kNotApplicable, "")}};
  element.attributes[7].second.low.reset();
  element.attributes[7].second.high.reset();
  return element;
}

MemoryElement constant_l1() {
  MemoryElement element{"constant_l1", "Constant L1 cache", {}};
  element.attributes = {{"size", bytes(2112)},
                        {"latency", unavailable(Reason::kInconclusive, "the samples form no clear level")},
                        {"shared_with", measured(std::vector<std::string>{}, "", 0, 0, "eviction")}};
  element.attributes[1].second.details = {{"levels", std::vector<double>{28.0, 31.5}}};
  return element;
}

MemoryElement l2() {
  MemoryElement element{"l2", "L2 cache", {}};
  Attribute size = api_value(std::int64_t{62914560}, "B");
  size.details = {{"measured_bytes", std::int64_t{62910000}}, {"ramp", true}, {"unknown", std::monostate{}}};
  Attribute latency = measured(260.0, "cycles", 240.0, 280.0, "untimed_chain");
  latency.details = {{"near_cycles", 260.0}, {"far_cycles", 474.0}};
  element.attributes = {{"size", size},
                        {"latency", latency},
                        {"read_bandwidth", measured(9.6e12, "B/s", 9.5e12, 9.7e12, "stream")},
                        {"write_bandwidth", measured(9.0e11, "B/s", 8.9e11, 9.1e11, "stream")},
                        {"partitions", measured(std::int64_t{2}, "", 2, 2, "near_and_far")}};
  return element;
}

}  // namespace

Topology sample_topology() {
  Topology topology;
  topology.generator = "gputopo 0.1.0";
  topology.timestamp = "2025-01-02T03:04:05Z";
  topology.complete = false;
  topology.backend = "sim";
  topology.simulated = true;
  topology.vendor = "NVIDIA";
  topology.name = "NVIDIA H200";
  topology.architecture = "Hopper";
  topology.pci_address = "0000:0f:00.0";
  topology.device = {{"compute_capability", api_value(std::string("9.0"), "")},
                     {"sm_clock_max", api_value(1980.0, "MHz")},
                     {"memory_bandwidth_theoretical", inferred_value(4.81e12, "B/s", "2_x_clock_x_bus_width")},
                     {"driver_version", unavailable(Reason::kNotSupported, "not reported by the system")}};
  topology.compute = {{"sm_count", api_value(std::int64_t{132}, "")},
                      {"cores_per_sm", inferred_value(std::int64_t{128}, "", "table_by_compute_capability")}};
  topology.memory = {l1(), constant_l1(), l2()};
  topology.total_seconds = 2.75;
  topology.timing = {{"l1.size", 0.5, 132}, {"l2.latency", 1.25, 4}};
  topology.warnings = {"the SM clock fell by 12% while measuring: another program may be using this GPU"};
  return topology;
}

}  // namespace gputopo::test
