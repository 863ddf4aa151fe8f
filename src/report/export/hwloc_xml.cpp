// hwloc's XML 2.0, which hwloc 2 and 3 read: the GPU as a machine of its own. A core is an SM with one PU. Device
// memory is a NUMA node, which every machine must have. Caches and groups surround the SMs that share something.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "file/limits.h"
#include "file/sanitize.h"
#include "gputopo/error.h"
#include "gputopo/export.h"
#include "report/drawing/markup.h"
#include "report/export/hwloc_infos.h"
#include "report/words/unit_map.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using report::count_of;
using report::Markup;
using report::markup;
using report::UnitLevel;
using report::Units;

constexpr std::string_view kHwlocFormat = "hwloc's XML";

// Formats a set as hwloc does: 32-bit words, highest first.
std::string bitmap(const Units& units) {
  constexpr std::uint32_t kBits = 32;
  const std::uint32_t highest = units.empty() ? 0 : *std::ranges::max_element(units);
  std::vector<std::uint32_t> words(highest / kBits + 1);
  for (const std::uint32_t unit : units) words[unit / kBits] |= 1u << (unit % kBits);
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    text += words[i] == 0 ? "0x0" : fmt::format("0x{:08x}", words[i]);
    if (i > 0) text += ',';
  }
  return text;
}

struct CacheFacts {
  std::int64_t bytes = 0;
  std::int64_t line_bytes = 0;  // 0: unknown
  std::int64_t ways = 0;        // 0: unknown
};

std::optional<CacheFacts> facts_of(const Topology& topology, ElementId element, std::int64_t parts) {
  const auto bytes = count_of(topology, element, AttributeId::kSize);
  if (!bytes || *bytes == 0) return std::nullopt;
  return CacheFacts{.bytes = *bytes / parts,
                    .line_bytes = count_of(topology, element, AttributeId::kLineSize).value_or(0),
                    .ways = count_of(topology, element, AttributeId::kWays).value_or(0)};
}

class Writer {
 public:
  explicit Writer(const Topology& topology) : topology_(topology) {}

  std::string document() {
    units_ = units_of();
    levels_ = report::unit_levels(topology_);
    keep_known_units();
    find_l2();
    text_ = report::kXmlOpening;
    text_ += "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
    machine();
    text_ += "</topology>\n";
    return text_.text();
  }

 private:
  // Uses the numbers in groups of SMs, which are the hardware's own if these have gaps.
  [[nodiscard]] Units units_of() const {
    const std::int64_t count = report::needed(topology_, kHwlocFormat, AttributeId::kSmCount);
    if (count < 1 || count > limits::kMaxSms) {
      throw FormatError(fmt::format("{} needs compute.sm_count from 1 to {}, but the report has {}", kHwlocFormat,
                                    limits::kMaxSms, count));
    }
    std::set<std::uint32_t> units;
    const Attribute* physical = find(topology_.compute, AttributeId::kPhysicalSmIds);
    const auto* ids = physical == nullptr ? nullptr : std::get_if<std::vector<double>>(&physical->value);
    for (std::size_t i = 0; ids != nullptr && i < ids->size(); ++i) {
      const double id = (*ids)[i];
      if (id >= 0 && id < limits::kMaxSms) units.insert(static_cast<std::uint32_t>(id));
    }
    if (static_cast<std::int64_t>(units.size()) == count) return {units.begin(), units.end()};
    Units numbered(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i] = static_cast<std::uint32_t>(i);
    return numbered;
  }

  // A report may name SMs that the device lacks, and may have any number of levels.
  void keep_known_units() {
    constexpr std::size_t kMostLevels = 8;
    if (levels_.size() > kMostLevels) levels_.resize(kMostLevels);
    const std::set<std::uint32_t> known(units_.begin(), units_.end());
    for (UnitLevel& level : levels_) {
      for (Units& group : level.groups) std::erase_if(group, [&](std::uint32_t unit) { return !known.contains(unit); });
      std::erase_if(level.groups, [](const Units& group) { return group.empty(); });
    }
  }

  // Finds the level whose groups have one L2 each: dies, or parts of one L2. Otherwise one L2 surrounds everything.
  void find_l2() {
    const auto instances = count_of(topology_, ElementId::kL2, AttributeId::kAmount);
    const auto parts = count_of(topology_, ElementId::kL2, AttributeId::kPartitions);
    for (std::size_t i = 0; i < levels_.size() && !l2_level_; ++i) {
      const auto groups = static_cast<std::int64_t>(levels_[i].groups.size());
      const bool is_numbered = levels_[i].numbered;
      if (is_numbered && instances && *instances == groups) {
        l2_level_ = i;
      } else if (is_numbered && parts && *parts == groups) {
        l2_level_ = i;
        l2_parts_ = groups;
      }
    }
  }

  void machine() {
    open("Machine", units_, {{"os_index", "0"}, {"allowed_cpuset", bitmap(units_)}, {"allowed_nodeset", "0x00000001"}});
    info("GPUVendor", topology_.vendor);
    info("GPUModel", topology_.name);
    info("GputopoReport", report::origin(topology_));
    for (const std::string& notice : report::notices(topology_)) info("GputopoNotice", notice);
    open("NUMANode", units_,
         {{"os_index", "0"},
          {"subtype", "GPUMemory"},
          {"local_memory", std::to_string(count_of(topology_, ElementId::kDevice, AttributeId::kSize).value_or(0))}});
    close();
    open("Package", units_, {{"os_index", "0"}});
    for (const auto& [name, value] : report::hwloc_infos(topology_)) info(name, value);
    const bool has_l3 = cache("L3Cache", 3, ElementId::kL3, 1, units_);
    const bool has_l2 = !l2_level_ && cache("L2Cache", 2, ElementId::kL2, 1, units_);
    within(units_, 0);
    if (has_l2) close();
    if (has_l3) close();
    close();
    // lstopo draws these as boxes, so that "SIMULATED" is visible.
    for (const std::string& notice : report::notices(topology_)) {
      text_ += markup("{}<object type=\"Misc\" gp_index=\"{}\" name=\"{}\"/>\n", indent(), ++last_index_, notice);
    }
    close();
  }

  // Writes the SMs `units` in the groups of the levels from `level` on.
  void within(const Units& units, std::size_t level) {
    if (level == levels_.size()) {
      for (const std::uint32_t unit : units) sm(unit);
      return;
    }
    const std::vector<Units>& known = levels_[level].groups;
    for (const Units& members : report::groups_within(known, units)) {
      const bool is_group = std::ranges::find(known, members) != known.end();
      if (is_group) {
        group(members, level);
      } else {
        within(members, level + 1);  // in no group of this level
      }
    }
  }

  void group(const Units& members, std::size_t level) {
    const bool is_cache = level == l2_level_ && l2_parts_ > 1;  // the cache object itself represents an L2 part
    if (!is_cache) {
      open("Group", members,
           {{"subtype", levels_[level].name}, {"kind", "0"}, {"subkind", std::to_string(level)}, {"dont_merge", "1"}});
      info("GputopoShared", levels_[level].shared);
    }
    const bool has_l2 = level == l2_level_ && cache("L2Cache", 2, ElementId::kL2, l2_parts_, members);
    within(members, level + 1);
    if (has_l2) close();
    if (!is_cache) close();
  }

  void sm(std::uint32_t unit) {
    const Units self = {unit};
    const bool has_l1 = cache("L1Cache", 1, report::first_level(topology_), 1, self);
    open("Core", self, {{"os_index", std::to_string(unit)}, {"subtype", std::string(unit_name(topology_.vendor))}});
    open("PU", self, {{"os_index", std::to_string(unit)}});
    close();
    close();
    if (has_l1) close();
  }

  // Returns false and opens nothing if the size is unknown.
  bool cache(std::string_view type, int depth, ElementId element, std::int64_t parts, const Units& units) {
    const auto facts = facts_of(topology_, element, parts);
    if (!facts) return false;
    open(type, units,
         {{"cache_size", std::to_string(facts->bytes)},
          {"depth", std::to_string(depth)},
          {"cache_linesize", std::to_string(facts->line_bytes)},
          {"cache_associativity", std::to_string(facts->ways)},
          {"cache_type", depth == 1 ? "1" : "0"}});
    return true;
  }

  [[nodiscard]] std::string indent() const { return std::string(2 * (open_types_ + 1), ' '); }

  void open(std::string_view type, const Units& units, const std::vector<report::MarkupAttribute>& more) {
    const std::string set = bitmap(units);
    std::vector<report::MarkupAttribute> attributes = {
        {"type", std::string(type)},        {"cpuset", set},
        {"complete_cpuset", set},           {"nodeset", "0x00000001"},
        {"complete_nodeset", "0x00000001"}, {"gp_index", std::to_string(++last_index_)}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    text_ += markup("{}{}\n", indent(), report::opening_tag("object", attributes));
    ++open_types_;
  }
  void close() {
    --open_types_;
    text_ += markup("{}</object>\n", indent());
  }
  void info(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += markup("{}<info name=\"{}\" value=\"{}\"/>\n", indent(), name, value);
  }

  const Topology& topology_;
  Units units_;
  std::vector<UnitLevel> levels_;
  std::optional<std::size_t> l2_level_;
  std::int64_t l2_parts_ = 1;
  Markup text_;
  std::size_t open_types_ = 0;
  std::uint64_t last_index_ = 0;
};

}  // namespace

std::string to_hwloc_xml(const Topology& topology) { return Writer(topology).document(); }

}  // namespace gputopo
