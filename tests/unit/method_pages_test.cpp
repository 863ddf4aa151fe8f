// Compares docs/methods with the catalog, the source and saved reports: the pages explain each attribute once. Also
// checks the file names in all documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "report/words/method_glossary.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = GPUTOPO_SOURCE_DIR "/";

// Names of the kinds of elements in the tables, and the groups of attributes without elements.
struct Kind {
  std::string name;
  std::optional<ElementKind> element;
  AttributeGroup group = AttributeGroup::kMemory;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {{"data caches", ElementKind::kDataCache},
                                           {"scratchpads", ElementKind::kScratchpad},
                                           {"memory", ElementKind::kMemory},
                                           {"TLBs", ElementKind::kTlb},
                                           {"instruction caches", ElementKind::kCodeCache},
                                           {"nearest instruction caches", ElementKind::kNearCodeCache},
                                           {"operand caches", ElementKind::kOperandCache},
                                           {"clusters", ElementKind::kClusterPath},
                                           {"bulk copies", ElementKind::kCopyPath},
                                           {"registers", ElementKind::kRegisters},
                                           {"clocks", ElementKind::kClocks},
                                           {"control", ElementKind::kControl},
                                           {"peaks", ElementKind::kPeaks},
                                           {"device", std::nullopt, AttributeGroup::kDevice},
                                           {"compute units", std::nullopt, AttributeGroup::kCompute},
                                           {"operations", std::nullopt, AttributeGroup::kOperation}};
  return kKinds;
}

std::string name_of(ElementKind kind) {
  const auto found = std::ranges::find(kinds(), std::optional(kind), &Kind::element);
  return found == kinds().end() ? "a kind of element that this test does not know" : found->name;
}
std::string name_of(AttributeGroup group) {
  return std::ranges::find_if(kinds(), [&](const Kind& kind) { return !kind.element && kind.group == group; })->name;
}

// An attribute of a kind: {"latency", "data caches"}.
using Cell = std::pair<std::string, std::string>;

std::set<Cell> cells_of_catalogue() {
  std::set<Cell> cells;
  for (const AttributeId id : kOperationAttributes) {
    cells.emplace(std::string(to_string(id)), name_of(AttributeGroup::kOperation));
  }
  for (const AttributeInfo& attribute : attribute_catalogue()) {
    const std::string name(attribute.name);
    if (attribute.group < AttributeGroup::kMemory) cells.emplace(name, name_of(attribute.group));
    for (const ElementInfo& element : element_catalogue()) {
      const bool covered = std::ranges::any_of(std::vector{Vendor::kNvidia, Vendor::kAmd}, [&](Vendor vendor) {
        return coverage_of(vendor, element.id, attribute.id) != Coverage::kNotApplicable;
      });
      if (covered) cells.emplace(name, name_of(element.kind));
    }
  }
  return cells;
}

// ---- The pages ----

struct Page {
  std::string name;  // such as "latency.md"
  std::string text;
};

const std::vector<Page>& pages() {
  static const std::vector<Page> kPages = [] {
    std::vector<Page> pages;
    for (const auto& entry : fs::directory_iterator(kRoot + "docs/methods")) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".md" && name != "README.md") {
        pages.push_back({name, read_file(entry.path().string())});
      }
    }
    return pages;
  }();
  return kPages;
}

// All matches of the first group of `pattern`.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex); at != std::sregex_iterator(); ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

// Texts between backticks.
std::vector<std::string> code_spans(const std::string& text) { return matches(text, "`([^`\n]+)`"); }

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// A row of the table at the top of a page.
struct Row {
  std::string page;
  Cell cell;
  std::set<std::string> methods;
};

constexpr const char* kTableHead = "| attribute | of | methods |";

void add_rows(const Page& page, std::vector<Row>& rows) {
  const std::vector<std::string> lines = split(page.text, "\n");
  auto line = std::ranges::find(lines, kTableHead);
  if (line == lines.end()) return;
  for (line += 2; line != lines.end() && line->starts_with("|"); ++line) {
    const std::vector<std::string> columns = split(*line, "|");
    ASSERT_EQ(columns.size(), 5u) << page.name << ": " << *line;
    const std::vector<std::string> attribute = code_spans(columns[1]);
    ASSERT_EQ(attribute.size(), 1u) << page.name << ": " << *line;
    const std::vector<std::string> methods = code_spans(columns[3]);
    for (const std::string& kind : split(columns[2].substr(1, columns[2].size() - 2), ", ")) {
      rows.push_back({page.name, {attribute.front(), kind}, {methods.begin(), methods.end()}});
    }
  }
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (const Page& page : pages()) add_rows(page, rows);
    return rows;
  }();
  return kRows;
}

// ---- The source ----

// Quoted names of several words: methods, details, conditions, flags (possibly followed by text) and columns.
const std::map<std::string, std::string>& names_in_source() {
  static const std::map<std::string, std::string> kNames = [] {
    std::map<std::string, std::string> names;
    for (const char* folder : {"src/probe", "src/discover"}) {
      for (const auto& entry : fs::recursive_directory_iterator(kRoot + folder)) {
        if (!entry.is_regular_file()) continue;
        for (const std::string& name :
             matches(read_file(entry.path().string()), "\"([a-z0-9]+(?:_[a-z0-9]+)+)(?:\"|: )")) {
          names.emplace(name, entry.path().string());
        }
      }
    }
    return names;
  }();
  return kNames;
}

TEST(MethodPages, HaveTheSameHeadings) {
  ASSERT_GT(pages().size(), 10u);
  for (const Page& page : pages()) {
    EXPECT_THAT(matches(page.text, "\n## ([^\n]+)"),
                testing::ElementsAre("Definition", "Method", "Interval", "When it fails", "Source"))
        << page.name;
  }
}

TEST(MethodPages, AreAllInTheIndex) {
  const std::string index = read_file(kRoot + "docs/methods/README.md");
  for (const Page& page : pages()) EXPECT_THAT(index, testing::HasSubstr("(" + page.name + ")"));
}

TEST(MethodPages, ExplainEveryAttributeOnce) {
  std::map<Cell, std::vector<std::string>> explained;
  for (const Row& row : rows()) explained[row.cell].push_back(row.page);
  for (const Cell& cell : cells_of_catalogue()) {
    EXPECT_EQ(explained[cell].size(), 1u)
        << cell.first << " of " << cell.second << " is explained on " << testing::PrintToString(explained[cell]);
  }
}

TEST(MethodPages, ExplainNothingThatIsNot) {
  const std::set<Cell> cells = cells_of_catalogue();
  for (const Row& row : rows()) {
    EXPECT_TRUE(cells.contains(row.cell)) << row.page << ": " << row.cell.first << " of " << row.cell.second;
    for (const std::string& method : row.methods) {
      EXPECT_TRUE(names_in_source().contains(method)) << row.page << ": no method is called " << method;
    }
  }
}

// Reports may show any of these names, including methods, so each needs a line on a page.
TEST(MethodPages, ExplainEveryNameOfTheSource) {
  ASSERT_GT(names_in_source().size(), 100u);
  std::set<std::string> explained;
  for (const Page& page : pages()) {
    for (std::string& name : code_spans(page.text)) explained.insert(std::move(name));
  }
  for (const auto& [name, file] : names_in_source()) {
    EXPECT_TRUE(explained.contains(name)) << file << ": no page of docs/methods has `" << name << "`";
  }
}

// For each method, the glossary of reports names the page with the full description.
TEST(MethodPages, AreWhatTheGlossaryOfReportsNames) {
  std::map<std::string, std::set<std::string>> pages_of;
  for (const Row& row : rows()) {
    for (const std::string& method : row.methods) pages_of[method].insert(row.page);
  }
  ASSERT_GT(pages_of.size(), 50u);
  for (const auto& [method, named] : pages_of) {
    const report::MethodWords* words = report::find_method(method);
    ASSERT_NE(words, nullptr) << "src/report/words/method_glossary.cpp has no " << method;
    EXPECT_TRUE(named.contains(std::string(words->page) + ".md")) << method;
    EXPECT_TRUE(words->text.ends_with('.') || words->text.ends_with('?')) << method;
  }
  EXPECT_EQ(report::find_method("sorcery"), nullptr);
}

TEST(MethodPages, NameTheMethodsOfSavedReports) {
  std::map<Cell, std::set<std::string>> methods;
  for (const Row& row : rows()) methods[row.cell] = row.methods;
  std::size_t found = 0;
  const auto expect_named = [&](const AttributeMap& attributes, const std::string& kind) {
    for (const auto& [name, attribute] : attributes) {
      if (attribute.method.empty()) continue;
      ++found;
      EXPECT_TRUE(methods[Cell(name, kind)].contains(attribute.method))
          << "no page names " << attribute.method << " for " << name << " of " << kind;
    }
  };
  for (const char* report : {"h200", "gt200", "mi300x"}) {
    const Topology topology = read_json(read_file(kRoot + "tests/reports/" + report + ".json"));
    expect_named(topology.device, name_of(AttributeGroup::kDevice));
    expect_named(topology.compute, name_of(AttributeGroup::kCompute));
    for (const MemoryElement& element : topology.memory) {
      const ElementInfo* info = find_element(element.id);
      ASSERT_NE(info, nullptr) << element.id;
      expect_named(element.attributes, name_of(info->kind));
    }
  }
  EXPECT_GT(found, 100u);
}

// ---- All documents ----

// All but the changelog, which describes the past.
std::vector<std::string> documents() {
  std::vector<std::string> files = {"README.md", "HACKING.md", "recordings/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot + "docs")) {
    if (entry.path().extension() == ".md") files.push_back(entry.path().string().substr(kRoot.size()));
  }
  return files;
}

TEST(Documents, NameFilesThatAreThere) {
  // Only lower case, because src/probe/NAME.cpp stands for any file.
  const std::string file = "((?:src|include|tests|docs|machines|recordings|web)/[a-z0-9_/]+\\.[a-z0-9]+)";
  int names = 0;
  for (const std::string& document : documents()) {
    for (const std::string& named : matches(read_file(kRoot + document), "(?:^|[ `(,\n])" + file)) {
      ++names;
      EXPECT_TRUE(fs::exists(kRoot + named)) << document << " names " << named;
    }
  }
  EXPECT_GE(names, 50);
}

TEST(Documents, LinkToFilesThatAreThere) {
  int links = 0;
  for (const std::string& document : documents()) {
    for (const std::string& link : matches(read_file(kRoot + document), "\\]\\(([^)#]+)\\)")) {
      if (link.starts_with("http")) continue;
      ++links;
      EXPECT_TRUE(fs::exists(fs::path(kRoot + document).parent_path() / link)) << document << " links to " << link;
    }
  }
  EXPECT_GE(links, 100);
}

}  // namespace
}  // namespace gputopo
