// roofline.csv of rocprof-compute: one row of roofline ceilings per device, each with its interval, in decimal GB/s and
// GFLOP/s. Its reader finds columns by name and skips cells that are not numbers.
#include <fmt/format.h>

#include <map>

#include "gputopo/export.h"
#include "gputopo/operation.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

constexpr std::string_view kRooflineFormat = "A roofline";
constexpr double kGiga = 1e9;

struct Ceiling {
  double value = 0;
  double low = 0;
  double high = 0;
};

std::optional<Ceiling> bandwidth_of(const Topology& topology, ElementId element) {
  const auto value = report::number_of(topology, element, AttributeId::kReadBandwidth);
  if (!value) return std::nullopt;
  const Attribute& attribute = *topology.find_attribute(element, AttributeId::kReadBandwidth);
  return Ceiling{*value, attribute.low.value_or(*value), attribute.high.value_or(*value)};
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// The benchmark's column for an operation's peak. Empty for operations that are not arithmetic there. In these names,
// matrix units are AMD's MFMA. Sparse matrix operations have no column, because they count skipped operations.
std::string_view column_of(const OperationInfo& operation) {
  static const std::map<std::string_view, std::string_view> kVector = {
      {"f16", "FP16Flops"}, {"f16x2", "FP16Flops"}, {"bf16x2", "BF16Flops"}, {"f32", "FP32Flops"}, {"f64", "FP64Flops"},
      {"s32", "I32Ops"},    {"u32", "I32Ops"},      {"s64", "I64Ops"},       {"u64", "I64Ops"}};
  static const std::map<std::string_view, std::string_view> kMatrix = {
      {"e4m3", "MFMAF8Flops"}, {"f16", "MFMAF16Flops"}, {"bf16", "MFMABF16Flops"},
      {"f32", "MFMAF32Flops"}, {"f64", "MFMAF64Flops"}, {"s8", "MFMAI8Ops"}};
  const bool is_matrix = operation.of == OperationClass::kMatrix;
  if (!is_matrix && operation.of != OperationClass::kArithmetic) return "";
  if (operation.name.find(".sp.") != std::string_view::npos) return "";
  if (operation.name.starts_with("dp4a.")) return "I8Ops";
  if (operation.name.starts_with("dp2a.")) return "";
  const auto& columns = is_matrix ? kMatrix : kVector;
  const auto found = columns.find(last_part(operation.name));
  return found == columns.end() ? std::string_view{} : found->second;
}

std::map<std::string_view, Ceiling> peaks_of(const Topology& topology) {
  std::map<std::string_view, Ceiling> peaks;
  for (const Instruction& instruction : topology.instructions) {
    const OperationInfo* operation = find_operation(instruction.id);
    const Attribute* throughput = find(instruction.attributes, AttributeId::kThroughput);
    if (operation == nullptr || throughput == nullptr || !throughput->available()) continue;
    const auto peak = report::detail_of(throughput, "peak_ops_per_second");
    const std::string_view column = column_of(*operation);
    if (!peak || column.empty()) continue;
    Ceiling& known = peaks[column];
    if (*peak <= known.value) continue;
    // Scales the interval of operations per clock to the same clock.
    const double per_clock = throughput->number().value_or(0);
    const double scale = per_clock > 0 ? *peak / per_clock : 0;
    known = {*peak, scale > 0 ? scale * throughput->low.value_or(per_clock) : *peak,
             scale > 0 ? scale * throughput->high.value_or(per_clock) : *peak};
  }
  return peaks;
}

}  // namespace

std::string to_roofline_csv(const Topology& topology) {
  struct Level {
    std::string_view column;
    ElementId element;
  };
  const Level levels[] = {{"HBMBw", ElementId::kDevice},
                          {"MALLBw", ElementId::kL3},
                          {"L2Bw", ElementId::kL2},
                          {"L1Bw", report::first_level(topology)},
                          {"LDSBw", report::scratchpad(topology)}};
  constexpr std::string_view kPeaks[] = {"FP8Flops",      "FP16Flops",    "BF16Flops",    "FP32Flops",
                                         "FP64Flops",     "I8Ops",        "I32Ops",       "I64Ops",
                                         "MFMAF4Flops",   "MFMAF6Flops",  "MFMAF8Flops",  "MFMAF16Flops",
                                         "MFMABF16Flops", "MFMAF32Flops", "MFMAF64Flops", "MFMAI8Ops"};
  static_cast<void>(report::needed(topology, kRooflineFormat, ElementId::kDevice, AttributeId::kReadBandwidth));
  std::string header = "device";
  std::string row = "0";
  const auto add = [&](std::string_view column, const Ceiling* ceiling) {
    // The benchmark itself writes this one name in lower case.
    const std::string_view high = column == "HBMBw" ? "hbmBw" : column;
    header += fmt::format(",{0},{0}Low,{1}High", column, high);
    row += ceiling == nullptr ? ",,,"
                              : fmt::format(",{:.6g},{:.6g},{:.6g}", ceiling->value / kGiga, ceiling->low / kGiga,
                                            ceiling->high / kGiga);
  };
  for (const Level& level : levels) {
    const auto ceiling = bandwidth_of(topology, level.element);
    add(level.column, ceiling ? &*ceiling : nullptr);
  }
  const auto peaks = peaks_of(topology);
  for (const std::string_view column : kPeaks) {
    const auto found = peaks.find(column);
    add(column, found == peaks.end() ? nullptr : &found->second);
  }
  return header + "\n" + row + "\n";
}

}  // namespace gputopo
