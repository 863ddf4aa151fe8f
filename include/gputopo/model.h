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

#include "gputopo/catalogue.h"
#include "gputopo/times.h"

namespace gputopo {

inline constexpr int kSchemaVersion = 3;

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
  kDisturbed,      // other programs had the GPU whenever it was tried
};

// "measured", "api", "inferred", "unavailable"; "not_applicable", ... The parse functions throw FormatError.
[[nodiscard]] std::string_view to_string(Source source);
[[nodiscard]] std::string_view to_string(Reason reason);
[[nodiscard]] Source parse_source(std::string_view text);
[[nodiscard]] Reason parse_reason(std::string_view text);

// Which SMs (CUs) belong together, as near one partition or behind one cache: the numbers of the members of each group.
struct UnitGroups {
  std::vector<std::vector<std::uint32_t>> groups;
  friend bool operator==(const UnitGroups&, const UnitGroups&) = default;
};

// A value of an attribute or of one of its conditions and details. Lists hold numbers or strings.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>,
                           std::vector<std::string>, UnitGroups>;

// Named values in the order they were added.
using NamedValues = std::vector<std::pair<std::string, Value>>;

// ---- Evidence ----

// How a table of samples is drawn.
enum class Plot : std::uint8_t {
  kNone,     // it is not
  kLine,     // values over the first axis, a curve for each combination of the series
  kPoints,   // the same where nothing lies between two places of the axis: SMs have numbers and no order
  kBars,     // a count at each place of the axis
  kDensity,  // a count for each pair of the two axes: how often which latency came at which footprint
  kMap,      // a value for each pair of the two axes
};
[[nodiscard]] std::string_view to_string(Plot plot);
[[nodiscard]] Plot parse_plot(std::string_view text);

enum class ColumnRole : std::uint8_t {
  kAxis,    // what was varied
  kSeries,  // rows that are alike in these columns are one curve
  kValue,   // what was measured
  kLow,     // of the interval of the value before it
  kHigh,
};
[[nodiscard]] std::string_view to_string(ColumnRole role);
[[nodiscard]] ColumnRole parse_column_role(std::string_view text);

struct Column {
  std::string name;  // with its unit, unique in the table: "footprint_bytes"; the header of a CSV file
  ColumnRole role = ColumnRole::kValue;
  std::string quantity;  // in words: "footprint", "latency"
  std::string unit;      // "B", "cycles"; "" for counts and names
  friend bool operator==(const Column&, const Column&) = default;
};

// Measured samples behind a value: a table whose columns have equal length.
struct SampleTable {
  std::string name;  // unique within the report, a valid file name: "l1.size.sweep"
  Plot plot = Plot::kNone;
  std::vector<Column> columns;
  std::vector<std::vector<double>> data = {};  // data[c] is columns[c]
  std::uint64_t measured_rows = 0;             // where a report kept some rows only: how many there were; else 0
  double timer_cycles = 0;                     // that the latencies hold (they are raw) and the value does not
  std::vector<std::string> marks = {};         // names of details that are places on an axis: edges, levels

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
  std::string method;             // id of the method, which a page of docs/methods explains: one short phrase
  NamedValues conditions;         // what held while the programs behind it ran: sm_clock_mhz, carve_out_bytes, ...
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

// Attributes by name, in the order of the catalogue. Names, because a report of a later version may have others.
using AttributeMap = std::vector<std::pair<std::string, Attribute>>;
[[nodiscard]] const Attribute* find(const AttributeMap& map, std::string_view name);
[[nodiscard]] const Attribute* find(const AttributeMap& map, AttributeId id);
[[nodiscard]] Attribute& get_or_add(AttributeMap& map, std::string_view name);
[[nodiscard]] Attribute& get_or_add(AttributeMap& map, AttributeId id);

struct MemoryElement {
  std::string id;     // "l1"
  std::string title;  // "L1 data cache"
  AttributeMap attributes;
  friend bool operator==(const MemoryElement&, const MemoryElement&) = default;
};

// An operation of the compute units (operation.h).
struct Instruction {
  std::string id;     // "fma.f32"
  std::string title;  // "Fused multiply-add"
  AttributeMap attributes;
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct ProbeTime {
  std::string probe;  // "l1.size"
  double seconds = 0;
  std::uint64_t programs = 0;              // how many programs it ran
  std::optional<DeviceTimes> device = {};  // with --profile; the rest of its seconds is what the host computes
  friend bool operator==(const ProbeTime&, const ProbeTime&) = default;
};

// Of a run with --profile.
struct Profile {
  DeviceTimes opening;                // before the first step: the device was opened
  DeviceTimes total;                  // with the opening
  std::vector<NamedCallTimes> calls;  // of the driver, all that there were
  friend bool operator==(const Profile&, const Profile&) = default;
};

// One report: everything that is known of one device.
struct Topology {
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
  std::vector<Instruction> instructions = {};  // that were asked for
  std::vector<MemoryElement> memory;
  double total_seconds = 0;
  std::vector<ProbeTime> timing;
  std::optional<Profile> profile;
  std::vector<std::string> warnings;

  [[nodiscard]] const MemoryElement* find_memory(std::string_view id) const;
  [[nodiscard]] const Attribute* find_attribute(std::string_view element, std::string_view attribute) const;
  [[nodiscard]] const MemoryElement* find_memory(ElementId id) const;
  [[nodiscard]] const Attribute* find_attribute(ElementId element, AttributeId attribute) const;
  [[nodiscard]] const Instruction* find_instruction(std::string_view id) const;
  friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace gputopo
