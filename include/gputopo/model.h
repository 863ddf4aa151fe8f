// The model: what is known of a GPU, as plain values. Reports read only this. It neither measures nor prints.
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

inline constexpr int kSchemaVersion = 4;

// The source of a value.
enum class Source : std::uint8_t {
  kMeasured,     // by a probe
  kApi,          // reported by the vendor's interface
  kInferred,     // from a table, or computed from other values
  kUnavailable,  // there is no value; Attribute::reason says why
};

enum class Reason : std::uint8_t {
  kNone,           // there is a value
  kNotApplicable,  // this element has no such attribute
  kNotSupported,   // this device cannot report it or cannot run the experiment
  kNotPresent,     // the element does not exist on this GPU (L1 that does not cache global loads)
  kInconclusive,   // measured, but the samples do not decide
  kTimedOut,       // the time budget ran out before
  kInterrupted,    // the user stopped the discovery before
  kDeviceError,    // the device failed during the measurement
  kDependency,     // a value that it needs is unavailable
  kNotSelected,    // left out by --only or --attribute, and nothing needed it
  kDisturbed,      // other programs used the GPU at every attempt
};

// "measured", "api", "inferred", "unavailable"; "not_applicable", ... The parse functions throw FormatError.
[[nodiscard]] std::string_view to_string(Source source);
[[nodiscard]] std::string_view to_string(Reason reason);
[[nodiscard]] Source parse_source(std::string_view text);
[[nodiscard]] Reason parse_reason(std::string_view text);

// Groups of SMs (CUs) that belong together, such as those near one partition or behind one cache, by SM number.
struct UnitGroups {
  std::vector<std::vector<std::uint32_t>> groups;
  friend bool operator==(const UnitGroups&, const UnitGroups&) = default;
};

// The value of an attribute, or of one of its conditions or details. Lists hold numbers or strings.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>,
                           std::vector<std::string>, UnitGroups>;

// Named values in the order they were added.
using NamedValues = std::vector<std::pair<std::string, Value>>;

// ---- Evidence ----

// How a table of samples is plotted.
enum class Plot : std::uint8_t {
  kNone,     // not at all
  kLine,     // values over the first axis, one curve for each combination of the series
  kPoints,   // the same without lines, for axes without order: SM numbers
  kBars,     // a count at each place of the axis
  kDensity,  // a count for each pair of the two axes: the frequency of each latency at each footprint
  kMap,      // a value for each pair of the two axes
};
[[nodiscard]] std::string_view to_string(Plot plot);
[[nodiscard]] Plot parse_plot(std::string_view text);

enum class ColumnRole : std::uint8_t {
  kAxis,    // the varied quantity
  kSeries,  // rows with equal values in these columns form one curve
  kValue,   // the measured quantity
  kLow,     // lower end of the interval of the preceding value
  kHigh,
};
[[nodiscard]] std::string_view to_string(ColumnRole role);
[[nodiscard]] ColumnRole parse_column_role(std::string_view text);

struct Column {
  std::string name;  // with its unit, unique in the table: "footprint_bytes"; the header in CSV files
  ColumnRole role = ColumnRole::kValue;
  std::string quantity;  // in words: "footprint", "latency"
  std::string unit;      // "B", "cycles"; "" for counts and names
  friend bool operator==(const Column&, const Column&) = default;
};

// Measured samples behind a value. All columns have the same length.
struct SampleTable {
  std::string name;  // unique in the report and valid as a file name: "l1.size.sweep"
  Plot plot = Plot::kNone;
  std::vector<Column> columns;
  std::vector<std::vector<double>> data = {};  // data[c] is columns[c]
  std::uint64_t measured_rows = 0;             // number of rows before the report was thinned; 0 if all rows are kept
  double timer_cycles = 0;                     // timer cost in the (raw) latencies; the value excludes it
  std::vector<std::string> marks = {};         // names of details to mark on an axis: edges, levels

  [[nodiscard]] std::size_t row_count() const { return data.empty() ? 0 : data.front().size(); }
  friend bool operator==(const SampleTable&, const SampleTable&) = default;
};

struct Attribute {
  Value value;
  std::string unit;           // "B", "cycles", "B/s", "MHz", "" for counts and names
  std::optional<double> low;  // 95% confidence interval; unset if not measured
  std::optional<double> high;
  Source source = Source::kUnavailable;
  Reason reason = Reason::kNone;   // with kUnavailable
  std::string detail;              // with kUnavailable: one line for the user
  std::string method;              // id of the method, a short phrase that a page of docs/methods explains
  NamedValues conditions;          // conditions of the programs behind the value: sm_clock_mhz, carve_out_bytes, ...
  NamedValues details;             // further figures: both edges of a size, percentiles of a latency
  std::vector<std::string> flags;  // from the consistency check
  std::vector<SampleTable> samples;

  [[nodiscard]] bool available() const { return source != Source::kUnavailable; }
  // The value as a number (int64 or double); nothing for other types.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] const Value* find_detail(std::string_view name) const;
  void add_detail(std::string name, Value figure);
  void add_condition(std::string name, Value figure);
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

[[nodiscard]] Attribute api_value(Value value, std::string unit);
[[nodiscard]] Attribute inferred_value(Value value, std::string unit, std::string method);
[[nodiscard]] Attribute unavailable(Reason reason, std::string detail);

// Attributes by name, in the order of the catalogue. A report of a later version may have other names.
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
  std::optional<DeviceTimes> device = {};  // with --profile; the remaining seconds are computation on the host
  friend bool operator==(const ProbeTime&, const ProbeTime&) = default;
};

// Driver times of a run with --profile.
struct Profile {
  DeviceTimes opening;                // before the first step, while the device was opened
  DeviceTimes total;                  // includes `opening`
  std::vector<NamedCallTimes> calls;  // every driver call that was made
  friend bool operator==(const Profile&, const Profile&) = default;
};

// One report: everything known about one device.
struct Topology {
  std::string generator;  // "gputopo 0.1.0"
  std::string timestamp;  // ISO 8601, UTC
  bool complete = true;   // false: interrupted, over budget, or the device failed
  // The identity of the device.
  std::string backend;
  bool simulated = false;
  std::string vendor;
  std::string name;
  std::string architecture;
  std::string pci_address;  // empty when unknown
  AttributeMap device;      // compute_capability, driver_version, clocks, memory bus, host_cpu, os, ...
  AttributeMap compute;     // sm_count, cores_per_sm, warp_size, ...
  std::vector<Instruction> instructions = {};  // the requested ones
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
