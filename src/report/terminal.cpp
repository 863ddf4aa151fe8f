// The report as a table for a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "gputopo/report.h"
#include "report/text_table.h"
#include "report/units.h"

namespace gputopo {
namespace {

using report::Align;
using report::Cell;
using report::TextTable;
using report::Tone;

// Wider than this, an interval deserves a mark: the continuous values of a good run repeat within 2%.
constexpr double kWideInterval = 0.05;

std::string readable(std::string_view id) {
  std::string text(id);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// ---- Footnotes: each reason for an absent value once, with the values that it explains. ----

class Footnotes {
 public:
  // The mark of this reason, as in "[2]".
  std::string mark(const Attribute& attribute, const std::string& element, const std::string& what) {
    const std::string text = attribute.detail.empty()
                                 ? readable(to_string(attribute.reason))
                                 : fmt::format("{}: {}", readable(to_string(attribute.reason)), attribute.detail);
    auto note = std::find_if(notes_.begin(), notes_.end(), [&](const Note& n) { return n.text == text; });
    if (note == notes_.end()) note = notes_.insert(notes_.end(), Note{text, {}});
    auto subject = std::find_if(note->subjects.begin(), note->subjects.end(),
                                [&](const Subject& s) { return s.element == element; });
    if (subject == note->subjects.end()) subject = note->subjects.insert(note->subjects.end(), Subject{element, {}});
    subject->attributes.push_back(readable(what));
    return fmt::format("[{}]", note - notes_.begin() + 1);
  }

  [[nodiscard]] std::string text(int width) const {
    std::string result;
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      std::vector<std::string> subjects;
      for (const Subject& subject : notes_[i].subjects) {
        subjects.push_back(fmt::format("{}{}{}", subject.element, subject.element.empty() ? "" : " ",
                                       fmt::join(subject.attributes, ", ")));
      }
      const std::string note = fmt::format("{} ({})", notes_[i].text, fmt::join(subjects, "; "));
      result += report::wrap(fmt::format("[{}] ", i + 1), note, width);
    }
    return result;
  }

 private:
  struct Subject {
    std::string element;
    std::vector<std::string> attributes;
  };
  struct Note {
    std::string text;
    std::vector<Subject> subjects;
  };
  std::vector<Note> notes_;
};

// ---- Cells ----

bool interval_is_wide(const Attribute& attribute) {
  const std::optional<double> value = attribute.number();
  if (!value || *value == 0 || !attribute.low || !attribute.high) return false;
  return (*attribute.high - *attribute.low) > kWideInterval * std::abs(*value);
}

// What a reader must know of a value beyond the number: where it is from, if not measured, and doubts.
struct Mark {
  char sign;
  bool (*applies)(const Attribute&);
  std::string_view meaning;
};

constexpr Mark kMarks[] = {
    {'~', interval_is_wide, "the 95% interval is wider than 5%"},
    {'a', [](const Attribute& attribute) { return attribute.source == Source::kApi; },
     "the vendor's interface says so"},
    {'i', [](const Attribute& attribute) { return attribute.source == Source::kInferred; }, "inferred"},
    {'!', [](const Attribute& attribute) { return !attribute.flags.empty(); }, "see the flags below"},
};

std::string marks(const Attribute& attribute) {
  std::string text;
  for (const Mark& mark : kMarks) {
    if (mark.applies(attribute)) text += mark.sign;
  }
  return text.empty() ? text : " " + text;
}

using Formatter = std::function<std::string(const Attribute&)>;

// One column of the hierarchy table: an attribute and how it is written.
struct ReportColumn {
  std::string heading;
  Align align;
  std::string attribute;
  Formatter format;
};

std::string in_own_unit(const Attribute& attribute) { return report::human_value(attribute.value, attribute.unit); }

std::string as_cycles(const Attribute& attribute) {
  return attribute.number() ? report::significant(*attribute.number(), 4) : in_own_unit(attribute);
}

std::string as_list(const Attribute& attribute) {
  const std::string text = in_own_unit(attribute);
  return text.empty() ? "none" : text;
}

// At the clock that it was measured at, which is not the clock of the data sheet.
std::string as_nanoseconds(const Attribute& attribute) {
  for (const auto& [name, value] : attribute.conditions) {
    const double* mhz = std::get_if<double>(&value);
    if (name == "sm_clock_mhz" && mhz != nullptr && *mhz > 0 && attribute.number()) {
      return report::significant(*attribute.number() * 1000 / *mhz, 3);
    }
  }
  return "";
}

const std::vector<ReportColumn>& report_columns() {
  static const std::vector<ReportColumn> kColumns = {
      {"size", Align::kRight, "size", in_own_unit},
      {"line", Align::kRight, "line_size", in_own_unit},
      {"fetch", Align::kRight, "fetch_granularity", in_own_unit},
      {"cycles", Align::kRight, "latency", as_cycles},
      {"ns", Align::kRight, "latency", as_nanoseconds},
      {"read", Align::kRight, "read_bandwidth", in_own_unit},
      {"write", Align::kRight, "write_bandwidth", in_own_unit},
      {"amount", Align::kRight, "amount", in_own_unit},
      {"parts", Align::kRight, "partitions", in_own_unit},
      {"penalty", Align::kRight, "miss_penalty", as_cycles},
      {"shared with", Align::kLeft, "shared_with", as_list},
  };
  return kColumns;
}

bool is_silent(const Attribute& attribute) {
  return attribute.reason == Reason::kNotApplicable || attribute.reason == Reason::kNotSelected;
}

Cell cell_of(const MemoryElement& element, const ReportColumn& column, Footnotes& footnotes) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return {};
  if (attribute->reason == Reason::kNotApplicable) return {"n/a", Tone::kFaint};
  const bool repeats = column.heading == "ns";  // the same attribute once more: its marks stand beside the cycles
  if (!attribute->available()) {
    if (repeats) return {"-", Tone::kFaint};
    return {"- " + footnotes.mark(*attribute, element.id, column.attribute), Tone::kAlert};
  }
  const Tone tone = attribute->flags.empty() ? Tone::kPlain : Tone::kAlert;
  return {column.format(*attribute) + (repeats ? "" : marks(*attribute)), tone};
}

bool says_something(const MemoryElement& element) {
  return std::any_of(element.attributes.begin(), element.attributes.end(),
                     [](const auto& entry) { return entry.second.available() || !is_silent(entry.second); });
}

std::string hierarchy(const std::vector<const MemoryElement*>& elements, const report::TextStyle& style,
                      Footnotes& footnotes) {
  const std::vector<ReportColumn>& columns = report_columns();
  std::vector<std::vector<Cell>> cells;  // by element, then column: footnotes are numbered as one reads
  for (const MemoryElement* element : elements) {
    std::vector<Cell>& row = cells.emplace_back();
    for (const ReportColumn& column : columns) row.push_back(cell_of(*element, column, footnotes));
  }
  TextTable table;
  table.columns.push_back({"memory", Align::kLeft});
  for (const MemoryElement* element : elements) table.rows.push_back({{element->title, Tone::kStrong}});
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool is_empty = std::all_of(cells.begin(), cells.end(), [c](const auto& row) { return row[c].text.empty(); });
    if (is_empty) continue;
    table.columns.push_back({columns[c].heading, columns[c].align});
    for (std::size_t r = 0; r < cells.size(); ++r) table.rows[r].push_back(cells[r][c]);
  }
  return report::render(table, style);
}

std::string legend(const std::vector<const MemoryElement*>& elements, int width) {
  std::string used;
  for (const MemoryElement* element : elements) {
    for (const auto& [id, attribute] : element->attributes) used += marks(attribute);
  }
  std::vector<std::string> meanings = {"measured, unless marked"};
  for (const Mark& mark : kMarks) {
    if (used.find(mark.sign) != std::string::npos) meanings.push_back(fmt::format("{}: {}", mark.sign, mark.meaning));
  }
  return report::wrap("", fmt::format("{}", fmt::join(meanings, "; ")), width);
}

// ---- The lines about the device ----

struct DeviceFact {
  std::string id;
  std::string pattern;  // with {} for the value in its unit
};

// The facts a reader looks for first. Everything else is in the JSON.
const std::vector<DeviceFact>& device_facts() {
  static const std::vector<DeviceFact> kFacts = {
      {"compute_capability", "compute capability {}"},
      {"sm_count", "{} SMs"},
      {"cores_per_sm", "{} cores per SM"},
      {"sm_clock_max", "{}"},
      {"memory_bandwidth_theoretical", "memory {} in theory"},
      {"driver_version", "driver {}"},
  };
  return kFacts;
}

// The name on its own, then what a reader looks for first.
std::string device_lines(const Topology& topology, const report::TextStyle& style) {
  std::string text = report::paint(topology.name, Tone::kStrong, style.colour);
  if (topology.simulated) text += "  " + report::paint("SIMULATED", Tone::kAlert, style.colour);
  text += "\n";

  std::vector<std::string> facts;
  if (!topology.architecture.empty()) facts.push_back(topology.architecture);
  if (!topology.pci_address.empty()) facts.push_back(topology.pci_address);
  if (topology.backend == "replay") facts.emplace_back("from a recording");
  for (const DeviceFact& fact : device_facts()) {
    const Attribute* attribute = find(topology.compute, fact.id);
    if (attribute == nullptr) attribute = find(topology.device, fact.id);
    if (attribute != nullptr && attribute->available()) {
      facts.push_back(fmt::format(fmt::runtime(fact.pattern), in_own_unit(*attribute)));
    }
  }
  if (!facts.empty()) text += report::wrap("", fmt::format("{}", fmt::join(facts, ", ")), style.width);
  return text;
}

// ---- What follows the table ----

// Details of an attribute that its one cell cannot hold and a reader should not have to open the JSON for.
struct DetailPhrase {
  std::string attribute;
  std::string detail;
  std::string unit;
  std::string pattern;  // with {} for the value
};

const std::vector<DetailPhrase>& detail_phrases() {
  static const std::vector<DetailPhrase> kPhrases = {
      {"size", "at_least_bytes", "B", "holds at least {}"},
      {"size", "measured_bytes", "B", "measured size {}"},
      {"size", "first_miss_bytes", "B", "first misses at {}"},
      {"size", "all_miss_bytes", "B", "nothing hits at {}"},
      {"size", "carve_outs_bytes", "B", "with {} carved out"},
      {"size", "size_by_carve_out_bytes", "B", "the size is {}"},
      {"latency", "near_cycles", "cycles", "near {}"},
      {"latency", "far_cycles", "cycles", "far {}"},
      {"latency", "tlb_cold_cycles", "cycles", "{} when the TLB misses"},
      {"partitions", "near_bytes", "B", "near part {}"},
  };
  return kPhrases;
}

// Long lists, a value for every carve-out, are for the JSON: here they are their ends.
std::string brief_value(const Value& value, std::string_view unit) {
  constexpr std::size_t kLongest = 3;
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  if (numbers == nullptr || numbers->size() <= kLongest) return report::human_value(value, unit);
  return fmt::format("{} to {}", report::human_value(numbers->front(), unit),
                     report::human_value(numbers->back(), unit));
}

std::string details_text(const std::vector<const MemoryElement*>& elements, int width) {
  std::string text;
  for (const MemoryElement* element : elements) {
    std::vector<std::string> phrases;
    for (const DetailPhrase& phrase : detail_phrases()) {
      const Attribute* attribute = find(element->attributes, phrase.attribute);
      const Value* value = attribute == nullptr ? nullptr : attribute->find_detail(phrase.detail);
      if (value == nullptr) continue;
      phrases.push_back(fmt::format(fmt::runtime(phrase.pattern), brief_value(*value, phrase.unit)));
    }
    if (phrases.empty()) continue;
    text += report::wrap(element->title + ": ", fmt::format("{}", fmt::join(phrases, ", ")), width);
  }
  return text;
}

std::string flags_text(const std::vector<const MemoryElement*>& elements, int width) {
  std::string text;
  for (const MemoryElement* element : elements) {
    for (const auto& [id, attribute] : element->attributes) {
      for (const std::string& flag : attribute.flags) {
        text += report::wrap("! ", fmt::format("{} {}: {}", element->id, readable(id), readable(flag)), width);
      }
    }
  }
  return text;
}

// Absent facts about the device and its compute units; those of the memories have their mark in the table.
void add_device_footnotes(const AttributeMap& attributes, const std::string& group, Footnotes& footnotes) {
  for (const auto& [id, attribute] : attributes) {
    if (!attribute.available() && !is_silent(attribute)) (void)footnotes.mark(attribute, group, id);
  }
}

}  // namespace

std::string to_terminal(const Topology& topology, const TerminalStyle& style) {
  const report::TextStyle text_style{style.width, style.colour, style.unicode};
  std::vector<const MemoryElement*> elements;
  for (const MemoryElement& element : topology.memory) {
    if (says_something(element)) elements.push_back(&element);
  }
  Footnotes footnotes;
  std::string table;
  if (!elements.empty()) {
    table = hierarchy(elements, text_style, footnotes);
    table += report::paint(legend(elements, style.width), Tone::kFaint, style.colour);
  }
  add_device_footnotes(topology.device, "device", footnotes);
  add_device_footnotes(topology.compute, "compute", footnotes);
  std::string notes = footnotes.text(style.width);
  if (!notes.empty()) notes.insert(0, "Unavailable:\n");
  std::string warnings;
  for (const std::string& warning : topology.warnings) warnings += report::wrap("Warning: ", warning, style.width);
  std::string ending;
  if (!topology.complete) {
    ending = report::paint("INCOMPLETE: this discovery ended early.", Tone::kAlert, style.colour) + "\n";
  }

  std::string text = device_lines(topology, text_style);
  for (const std::string& part :
       {table, details_text(elements, style.width), flags_text(elements, style.width), notes, warnings, ending}) {
    if (!part.empty()) text.append("\n").append(part);
  }
  return text;
}

}  // namespace gputopo
