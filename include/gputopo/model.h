// The model: what is known of a GPU, as plain values. Reports read only this; nothing here measures, prints or knows a
// vendor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gputopo {

inline constexpr int kSchemaVersion = 2;
inline constexpr int kOldestSchemaVersion = 1;  // that is still read

// Where a value comes from.
enum class Source : std::uint8_t {
  kMeasured,     // by a probe
  kApi,          // the vendor's interface said so
  kInferred,     // a table or arithmetic over other values
  kUnavailable,  // there is no value; Attribute::reason says why
};

enum class Reason : std::uint8_t {
  kNone,           // there is a value
  kNotApplicable,  // this element has no such attribute
  kNotSupported,   // this device cannot tell or cannot run the experiment
  kNotPresent,     // the element does not exist here (global loads that L1 does not cache)
  kInconclusive,   // measured, and the samples do not decide
  kTimedOut,       // the time budget ran out first
  kInterrupted,    // the user stopped the discovery first
  kDeviceError,    // the device failed while it was measured
  kDependency,     // something it needs is itself unavailable
  kNotSelected,    // left out by --only or --attribute (needed by nothing)
};

// "measured", "api", "inferred", "unavailable"; "not_applicable", ... The parse functions throw FormatError.
[[nodiscard]] std::string_view to_string(Source source);
[[nodiscard]] std::string_view to_string(Reason reason);
[[nodiscard]] Source parse_source(std::string_view text);
[[nodiscard]] Reason parse_reason(std::string_view text);

// A value of an attribute or of one of its conditions and details. Lists hold numbers or strings.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>,
                           std::vector<std::string>>;

// Named values in the order they were added.
using NamedValues = std::vector<std::pair<std::string, Value>>;

// Measured samples behind a value: a table whose columns have equal length. The evidence that reports draw, and --raw.
struct SampleTable {
  std::string name;                       // unique within the report, a valid file name: "l1.size.sweep"
  std::vector<std::string> columns;       // with units: "footprint_bytes", "latency_cycles", "count"
  std::vector<std::vector<double>> data;  // data[c] is columns[c]
  std::uint64_t measured_rows = 0;        // where a report kept some rows only: how many there were; else 0
  [[nodiscard]] std::size_t row_count() const { return data.empty() ? 0 : data.front().size(); }
  friend bool operator==(const SampleTable&, const SampleTable&) = default;
};

struct Attribute {
  Value value;
  std::string unit;           // "B", "cycles", "B/s", "MHz", "" for counts and names
  std::optional<double> low;  // 95% interval, where measured
  std::optional<double> high;
  Source source = Source::kUnavailable;
  Reason reason = Reason::kNone;  // with kUnavailable
  std::string detail;             // with kUnavailable: one line for a person
  std::string method;             // id of the method in docs/attributes.md, one short phrase
  NamedValues conditions;         // what held while measuring: sm_clock_mhz, carve_out_bytes, page_bytes
  NamedValues details;  // further figures of the same attribute: both edges of a size, percentiles of a latency
  std::vector<std::string> flags;  // raised by the consistency check
  std::vector<SampleTable> samples;

  [[nodiscard]] bool available() const { return source != Source::kUnavailable; }
  // The value as a number (int64 or double), if it is one.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] const Value* find_detail(std::string_view name) const;
  void add_detail(std::string name, Value figure);
  void add_condition(std::string name, Value figure);
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

[[nodiscard]] Attribute api_value(Value value, std::string unit);
[[nodiscard]] Attribute inferred_value(Value value, std::string unit, std::string method);
[[nodiscard]] Attribute unavailable(Reason reason, std::string detail);

// Attributes by id, in the order of the element table.
using AttributeMap = std::vector<std::pair<std::string, Attribute>>;
[[nodiscard]] const Attribute* find(const AttributeMap& map, std::string_view id);
[[nodiscard]] Attribute& get_or_add(AttributeMap& map, std::string_view id);

struct MemoryElement {
  std::string id;     // "l1"
  std::string title;  // "L1 data cache"
  AttributeMap attributes;
  friend bool operator==(const MemoryElement&, const MemoryElement&) = default;
};

struct ProbeTime {
  std::string probe;  // "l1.size"
  double seconds = 0;
  std::uint64_t programs = 0;  // how many programs it ran
  friend bool operator==(const ProbeTime&, const ProbeTime&) = default;
};

// One report: everything that is known of one device.
struct Topology {
  int schema_version = kSchemaVersion;
  std::string generator;  // "gputopo 0.1.0"
  std::string timestamp;  // ISO 8601, UTC
  bool complete = true;   // false: interrupted, over budget or the device failed
  // device: identity, plain
  std::string backend;
  bool simulated = false;
  std::string vendor;
  std::string name;
  std::string architecture;
  std::string pci_address;  // empty when unknown
  AttributeMap device;      // compute_capability, driver_version, clocks, memory bus, host_cpu, os, ...
  AttributeMap compute;     // sm_count, cores_per_sm, warp_size, ...
  std::vector<MemoryElement> memory;
  double total_seconds = 0;
  std::vector<ProbeTime> timing;
  std::vector<std::string> warnings;

  [[nodiscard]] const MemoryElement* find_memory(std::string_view id) const;
  [[nodiscard]] const Attribute* find_attribute(std::string_view element, std::string_view attribute) const;
  friend bool operator==(const Topology&, const Topology&) = default;
};

// What a vendor calls the unit that the caches of an SM serve: "CU" on AMD, "SM" elsewhere.
[[nodiscard]] std::string unit_name(std::string_view vendor);

// ---- The element table: what there is to know of each memory element, per vendor. Data, not code. ----

// kMeasuredInFull: measured where --full or the attribute's name asks for it, because it takes its time.
enum class Coverage : std::uint8_t { kMeasured, kApi, kApiAndMeasured, kMeasuredInFull, kNotApplicable, kPlanned };
[[nodiscard]] std::string_view to_string(Coverage coverage);

// Ids of the memory attributes in the order that reports show them:
// size, latency, read_bandwidth, write_bandwidth, line_size, fetch_granularity, amount, shared_with, miss_penalty,
// partitions, reach, entries, entry_bytes, ways, cycles_per_instruction, scope, sets, index, replacement,
// shared_between, near_sms, slices, latency_patterns, banks, bank_width, conflict_cost, store_latency, atomic_latency,
// atomic_throughput, loaded_latency, max_cluster_size, gpc_sms, write_policy, write_allocate
[[nodiscard]] const std::vector<std::string>& memory_attribute_ids();

struct ElementRow {
  std::string id;      // "l1"
  std::string vendor;  // "NVIDIA"
  std::string title;   // "L1 data cache"
  std::vector<std::pair<std::string, Coverage>>
      coverage;  // by attribute id; every id of memory_attribute_ids() is there
  [[nodiscard]] Coverage of(std::string_view attribute) const;
};

// Of every vendor.
[[nodiscard]] const std::vector<ElementRow>& element_table();
// Those of one vendor; where the table does not know it, those of its first.
[[nodiscard]] std::vector<ElementRow> elements_of(std::string_view vendor);

}  // namespace gputopo
