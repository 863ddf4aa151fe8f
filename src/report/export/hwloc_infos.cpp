#include "report/export/hwloc_infos.h"

#include <fmt/format.h>

#include <cctype>

#include "file/sanitize.h"
#include "report/words/csv_text.h"
#include "report/words/values.h"

namespace gputopo::report {
namespace {

// "fetch_granularity" becomes "FetchGranularity"; other characters than letters and digits are dropped.
std::string camel_case(std::string_view name) {
  std::string text;
  bool starts_word = true;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (letter < 0x80 && std::isalnum(letter) != 0)
      text += static_cast<char>(starts_word ? std::toupper(letter) : letter);
    starts_word = letter >= 0x80 || std::isalnum(letter) == 0;
  }
  return text;
}

std::string_view ending(std::string_view unit) {
  if (unit == "B") return "Bytes";
  if (unit == "cycles") return "Cycles";
  if (unit == "B/s") return "BytesPerSecond";
  return "";
}

}  // namespace

std::vector<HwlocInfo> hwloc_infos(const Topology& topology) {
  using enum AttributeId;
  constexpr AttributeId kSaid[] = {kSize,   kLatency,    kReadBandwidth, kWriteBandwidth, kLineSize, kFetchGranularity,
                                   kAmount, kSharedWith, kMissPenalty,   kPartitions,     kReach,    kWays};
  std::vector<HwlocInfo> infos;
  for (const MemoryElement& element : topology.memory) {
    for (const AttributeId id : kSaid) {
      const Attribute* attribute = find(element.attributes, id);
      if (attribute == nullptr || !attribute->available()) continue;
      const std::string value = sanitized_line(plain_value(attribute->value));
      if (value.empty()) continue;
      infos.emplace_back(
          fmt::format("Gputopo{}{}{}", camel_case(element.id), camel_case(to_string(id)), ending(attribute->unit)),
          value);
    }
  }
  return infos;
}

}  // namespace gputopo::report
