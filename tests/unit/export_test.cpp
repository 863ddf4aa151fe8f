// The formats of other tools: rules for all of them, and details of hwloc.
#include "gputopo/export.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/formats.h"
#include "report/words/values.h"
#include "support/command.h"
#include "support/message_of.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Topology report_of(const std::string& name) {
  return read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/" + name + ".json"));
}

Attribute& value_of(Topology& topology, ElementId element, const char* attribute) {
  for (MemoryElement& candidate : topology.memory) {
    if (candidate.id == to_string(element)) return get_or_add(candidate.attributes, attribute);
  }
  throw std::logic_error("no such element");
}

bool has_program(const std::string& name) { return test::run_command("command -v " + name).exit_code == 0; }

// ---- All formats ----

using Render = std::string (*)(const Topology&);

std::vector<report::Format> exports() {
  std::vector<report::Format> found;
  for (const report::Format& format : report::formats()) {
    const Render others[] = {to_json, to_html, to_markdown, to_svg, to_curve_svg, to_csv};
    if (std::ranges::find(others, format.render) == std::end(others)) found.push_back(format);
  }
  return found;
}

// The text, or the error line that says what is missing.
std::string rendered(const report::Format& format, const Topology& topology) {
  try {
    const std::string text = format.render(topology);
    EXPECT_FALSE(text.empty()) << format.option;
    return text;
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n"))) << format.option;
    return "";
  }
}

const std::string kEvil = "</x>]]>-->\"';$(touch evil)`touch evil`\n\\end{document}%&_#{}~^\x1b[2J\xff, =1+1";

Topology evil(Topology topology) {
  topology.name = topology.generator = topology.timestamp = topology.pci_address = kEvil;
  topology.warnings = {kEvil};
  topology.memory.back().id = topology.memory.back().title = kEvil;
  for (MemoryElement& element : topology.memory) {
    get_or_add(element.attributes, "shared_with") = api_value(std::vector<std::string>{kEvil}, kEvil);
    get_or_add(element.attributes, "index") = api_value(kEvil, "");
  }
  for (const char* name : {"driver_version", "host_cpu", "os"}) {
    get_or_add(topology.device, name) = api_value(kEvil, "");
  }
  return topology;
}

TEST(Exports, RenderOrSayWhyNot) {
  Topology nothing;
  nothing.generator = "gputopo 0.1.0";
  ASSERT_GE(exports().size(), 8u);
  for (const report::Format& format : exports()) {
    static_cast<void>(rendered(format, nothing));
    static_cast<void>(rendered(format, test::sample_topology()));
    EXPECT_NE(rendered(format, report_of("h200")), "") << format.option << " lacks nothing in a full report";
    for (const char* report : {"mi300x", "gt200"}) {
      static_cast<void>(rendered(format, report_of(report)));
    }
  }
}

// No number in a report may make a format loop, overflow or divide by zero.
TEST(Exports, SurviveStrangeNumbers) {
  for (const double number : std::vector<double>{0, 1, -1, 0.5, 7, 1e9, 1e18, 1e300, NAN, INFINITY}) {
    for (const char* report : {"h200", "mi300x"}) {
      Topology topology = report_of(report);
      const auto make_strange = [&](AttributeMap& map) {
        for (auto& [name, attribute] : map) {
          if (attribute.number() && name != "sm_count") attribute.value = number;
          for (auto& [detail, value] : attribute.details) {
            if (std::holds_alternative<double>(value)) value = number;
          }
        }
      };
      for (MemoryElement& element : topology.memory) make_strange(element.attributes);
      make_strange(topology.device);
      make_strange(topology.compute);
      for (const report::Format& format : exports()) static_cast<void>(rendered(format, topology));
      get_or_add(topology.compute, "sm_count").value = number;
      for (const report::Format& format : exports()) static_cast<void>(rendered(format, topology));
    }
  }
}

TEST(Exports, ControlCharactersAreNotWritten) {
  std::size_t written = 0;
  for (const char* report : {"h200", "mi300x"}) {
    for (const report::Format& format : exports()) {
      const std::string text = rendered(format, evil(report_of(report)));
      EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << format.option;
      written += text.empty() ? 0 : 1;
    }
  }
  EXPECT_GE(written, exports().size()) << "the formats refuse these reports instead";
}

TEST(Exports, SayWhatIsSimulatedAndIncomplete) {
  std::set<std::string> said;
  for (const char* report : {"h200", "mi300x"}) {
    Topology topology = report_of(report);
    for (const report::Format& format : exports()) {
      // A CSV of fixed rows has no place for a comment.
      if (std::string_view(format.option).ends_with("-csv")) continue;
      topology.simulated = false;
      topology.complete = true;
      EXPECT_THAT(rendered(format, topology), Not(HasSubstr("SIMULATED"))) << format.option;
      topology.simulated = true;
      topology.complete = false;
      topology.warnings = {"the clock fell"};
      const std::string text = rendered(format, topology);
      if (text.empty()) continue;
      for (const char* notice : {"SIMULATED", "INCOMPLETE", "the clock fell"}) {
        EXPECT_THAT(text, HasSubstr(notice)) << format.option;
      }
      said.insert(format.option);
    }
  }
  constexpr std::size_t kWithComments = 6;
  EXPECT_GE(said.size(), kWithComments);
}

// A failed export leaves the old file and writes no partial one.
TEST(Exports, WhatIsMissingLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  write_file(folder.file("sample.json"), to_json(test::sample_topology()));
  write_file(folder.file("old"), "old");
  const test::CommandResult result =
      test::run_command(GPUTOPO_BINARY " show " + folder.file("sample.json") + " --mt4g-json " + folder.file("old"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("MT4G's JSON needs"));
  EXPECT_EQ(read_file(folder.file("old")), "old");
}

// All commands render a report alike, and a recording yields one, too.
TEST(Exports, DiscoverShowAndReplayMakeThem) {
  const test::TemporaryFolder folder;
  const auto options = [&](const std::string& by) {
    std::string text;
    for (const report::Format& format : exports()) {
      text += fmt::format(" {0} {1}", format.option, folder.file(by + format.option));
    }
    return text;
  };
  const auto run = [&](const std::string& command) {
    const test::CommandResult result = test::run_command(GPUTOPO_BINARY " " + command);
    EXPECT_EQ(result.exit_code, 0) << command << result.err;
  };
  run("discover --quiet --device sim:p6000 --json " + folder.file("a.json") + " --record " + folder.file("a.rec") +
      options("discover"));
  run("show " + folder.file("a.json") + options("show"));
  run("replay --quiet " + folder.file("a.rec") + options("replay"));
  for (const report::Format& format : exports()) {
    const std::string discovered = read_file(folder.file(std::string("discover") + format.option));
    EXPECT_EQ(read_file(folder.file(std::string("show") + format.option)), discovered) << format.option;
    EXPECT_FALSE(read_file(folder.file(std::string("replay") + format.option)).empty()) << format.option;
  }
}

TEST(ExportValues, CapabilityOfVendors) {
  Topology topology;
  const auto of = [&](const std::string& architecture) {
    topology.architecture = architecture;
    return report::capability_of(topology);
  };
  EXPECT_EQ(of("CDNA3 (gfx942)"), std::pair(9, 4));
  EXPECT_EQ(of("CDNA2 (gfx90a)"), std::pair(9, 0));
  EXPECT_EQ(of("gfx1100"), std::pair(11, 0));
  for (const char* none : {"", "Hopper", "gfx", "gfx9", "gfxabc"}) EXPECT_EQ(of(none), std::nullopt) << none;
  get_or_add(topology.device, "compute_capability") = api_value(std::string("12.0"), "");
  EXPECT_EQ(of(""), std::pair(12, 0));
  get_or_add(topology.device, "compute_capability") = api_value(std::string("9.x"), "");
  EXPECT_EQ(of(""), std::nullopt);
}

// ---- Single formats ----

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The tuner takes lines that begin with '-', by their first word.
TEST(AccelSim, LinesAreKeysOrComments) {
  for (const char* report : {"h200", "gt200"}) {
    std::set<std::string> keys;
    for (const std::string& line : lines_of(to_accel_sim(evil(report_of(report))))) {
      if (line.starts_with("# ")) continue;
      ASSERT_TRUE(line.starts_with("-")) << line;
      EXPECT_TRUE(keys.insert(line.substr(0, line.find(' '))).second) << line;
    }
    EXPECT_GT(keys.size(), 15u);
  }
}

TEST(AccelSim, SaysWhatItLacks) {
  Topology topology = report_of("h200");
  value_of(topology, ElementId::kL1, "latency") = unavailable(Reason::kTimedOut, "no time");
  const std::string text = to_accel_sim(topology);
  EXPECT_THAT(text, HasSubstr("# -gpgpu_l1_latency: l1.latency is unavailable (timed out: no time)"));
  EXPECT_THAT(text, HasSubstr("# -gpgpu_l2_rop_latency: l1.latency"));
  EXPECT_THAT(text, HasSubstr("-dram_latency 403"));
  EXPECT_THROW(to_accel_sim(report_of("mi300x")), FormatError);
}

// GPUscout's GUI reads rows and fields by position.
TEST(Mt4gCsv, RowsAndFieldsHaveTheirPlaces) {
  for (const Topology& topology : {report_of("h200"), evil(report_of("h200"))}) {
    const std::vector<std::string> rows = lines_of(to_mt4g_csv(topology));
    ASSERT_EQ(rows.size(), 12u);
    const auto field = [&](std::size_t row, std::size_t place) {
      std::string rest = rows[row];
      for (; place > 0; --place) rest.erase(0, rest.find("; ") + 2);
      return rest.substr(0, rest.find("; "));
    };
    EXPECT_EQ(field(1, 4), "132");
    EXPECT_EQ(field(4, 0), "L1_DATA_CACHE");
    EXPECT_EQ(field(4, 2), "240.500000");
    EXPECT_EQ(field(4, 3), "KiB");
    EXPECT_EQ(field(5, 2), "30.000");
    EXPECT_EQ(field(10, 2), "139.800720");
    EXPECT_EQ(field(10, 3), "GiB");
    EXPECT_EQ(field(11, 0), "SHARED_MEMORY");
  }
  EXPECT_THROW(to_mt4g_csv(report_of("mi300x")), FormatError);
}

// An absent cache keeps its row. If a cache was not measured, there is no file.
TEST(Mt4gCsv, WhatIsNotThereIsNothing) {
  EXPECT_THAT(to_mt4g_csv(report_of("gt200")), HasSubstr("L1_DATA_CACHE; Size; 0.000000; KiB; \"=\"; "));
  Topology topology = report_of("h200");
  value_of(topology, ElementId::kConstantL15, "size") = unavailable(Reason::kNotSupported, "at least 64 KiB");
  value_of(topology, ElementId::kConstantL15, "line_size") = unavailable(Reason::kNotSupported, "never evicted");
  EXPECT_THAT(to_mt4g_csv(topology), HasSubstr("CONST_L1_5_CACHE; Size; 64.000000; KiB; \">=\"; Cache_Line_Size; 0; "));
  value_of(topology, ElementId::kL1, "latency") = unavailable(Reason::kTimedOut, "no time");
  EXPECT_THAT(test::message_of<FormatError>("not measured", [&] { (void)to_mt4g_csv(topology); }),
              HasSubstr("measure it: gputopo --only l1.latency"));
}

Instruction with_peak(const char* id, double per_clock, double peak) {
  Attribute throughput;
  throughput.value = per_clock;
  throughput.unit = "ops/clk";
  throughput.low = 0.9 * per_clock;
  throughput.high = 1.1 * per_clock;
  throughput.source = Source::kMeasured;
  throughput.details = {{"peak_ops_per_second", peak}};
  return {id, id, {{"throughput", throughput}}};
}

TEST(RooflineCsv, PeaksAreTheBestOfTheirType) {
  Topology topology = report_of("h200");
  topology.instructions = {with_peak("add.f32", 128, 3e13),
                           with_peak("fma.f32", 128, 6e13),
                           with_peak("mma.m16n8k16.f32.f16", 4096, 9e14),
                           with_peak("mma.sp.m16n8k32.f32.f16", 8192, 2e15),
                           with_peak("mma.m16n8k8.f32.tf32", 2048, 4e14),
                           with_peak("wgmma.sp.m64n256k32.f32.f16", 8192, 3e15),
                           with_peak("popc.b32", 16, 5e15)};
  const std::vector<std::string> lines = lines_of(to_roofline_csv(topology));
  ASSERT_EQ(lines.size(), 2u);
  std::map<std::string, std::string> cells;
  std::istringstream header(lines[0]);
  std::istringstream row(lines[1]);
  for (std::string name, value; std::getline(header, name, ',');) {
    value.clear();
    std::getline(row, value, ',');
    cells[name] = value;
  }
  EXPECT_EQ(cells.at("FP32Flops"), "60000");
  EXPECT_EQ(cells.at("FP32FlopsLow"), "54000");
  EXPECT_EQ(cells.at("FP32FlopsHigh"), "66000");
  EXPECT_EQ(cells.at("MFMAF16Flops"), "900000");
  for (const char* empty : {"FP64Flops", "MFMAF32Flops", "I32Ops", "MALLBw"}) EXPECT_EQ(cells.at(empty), "") << empty;
  EXPECT_EQ(cells.at("HBMBw"), "4696.64");
  EXPECT_EQ(std::ranges::count(lines[0], ','), std::ranges::count(lines[1], ','));
}

TEST(RooflineCsv, NeedsTheBandwidthOfMemory) {
  EXPECT_THAT(test::message_of<FormatError>("none", [] { (void)to_roofline_csv(test::sample_topology()); }),
              HasSubstr("measure it: gputopo --only device.read_bandwidth"));
}

// Every string of the text ends where it should.
TEST(Xla, TextIsQuoted) {
  for (const std::string& line : lines_of(to_xla(evil(report_of("h200"))))) {
    if (line.find('#') == line.find_first_not_of(' ')) continue;
    std::size_t quotes = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        ++quotes;
      }
    }
    EXPECT_EQ(quotes % 2, 0u) << line;
  }
}

TEST(Xla, FieldsHaveXlasUnits) {
  const std::string text = to_xla(report_of("h200"));
  for (const char* field : {"core_count: 132", "l2_cache_size: 62914560", "clock_rate_ghz: 1.98", "major: 9"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
  EXPECT_THAT(to_xla(report_of("mi300x")), HasSubstr("gcn_arch_name: \"gfx942\""));
}

// Braces balance, no text is a command, and BibTeX sees one entry.
TEST(Latex, TextOfReportsIsText) {
  for (const Topology& topology : {report_of("h200"), evil(report_of("h200"))}) {
    const std::string text = to_latex(topology);
    int depth = 0;
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with("% ")) continue;
      for (const char c : line) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      EXPECT_THAT(line, Not(HasSubstr("\\end{document}")));
    }
    EXPECT_EQ(depth, 0);
    EXPECT_EQ(std::ranges::count(text, '@'), 1);
    EXPECT_THAT(text, HasSubstr("\n\\endinput\n"));
  }
  EXPECT_THAT(to_latex(evil(report_of("h200"))), HasSubstr("\\textbackslash{}end\\textbraceleft{}document"));
}

// ---- hwloc ----

struct HwlocCase {
  const char* report;
  const char* types;  // as hwloc-calc counts them
};

TEST(Hwloc, ReadsTheGpuAsAMachine) {
  if (!has_program("hwloc-calc") || !has_program("lstopo-no-graphics")) GTEST_SKIP() << "hwloc is not installed";
  const test::TemporaryFolder folder;
  for (const auto& [report, counts] :
       {HwlocCase{"h200", "2 132 132"}, HwlocCase{"mi300x", "8 304 304"}, HwlocCase{"gt200", "1 0 30"}}) {
    const std::string file = folder.file(std::string(report) + ".xml");
    write_file(file, to_hwloc_xml(report_of(report)));
    const auto count = [&](const std::string& type) {
      const test::CommandResult result =
          test::run_command("hwloc-calc -i " + file + " --number-of " + type + " machine:0");
      EXPECT_EQ(result.err, "");
      return result.exit_code == 0 ? result.out.substr(0, result.out.find('\n')) : "none";
    };
    const auto caches = [&](const std::string& type) {
      const std::string text = count(type);
      return text == "none" || text.empty() ? std::string("0") : text;
    };
    if (std::string(report) == "gt200") {
      EXPECT_EQ(count("core"), "30");
    } else {
      EXPECT_EQ(fmt::format("{} {} {}", caches("L2Cache"), caches("L1Cache"), count("core")), counts);
    }
    const test::CommandResult drawn = test::run_command("lstopo-no-graphics -i " + file + " --of console -v");
    EXPECT_EQ(drawn.err, "");
    EXPECT_THAT(drawn.out, HasSubstr("GPUMemory"));
  }
}

TEST(Hwloc, XmlIsWellFormedWhateverAReportHolds) {
  if (!has_program("xmllint")) GTEST_SKIP() << "xmllint is not installed";
  const test::TemporaryFolder folder;
  for (const char* report : {"h200", "mi300x"}) {
    write_file(folder.file("a.xml"), to_hwloc_xml(evil(report_of(report))));
    const test::CommandResult result = test::run_command("xmllint --noout --nonet " + folder.file("a.xml"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

// SMs in no group or an unknown one, and overlapping groups.
TEST(Hwloc, EverySmIsThereOnce) {
  Topology topology = report_of("h200");
  value_of(topology, ElementId::kL2, "near_sms").value = UnitGroups{{{0, 1, 2, 900}, {3, 4}}};
  const std::string text = to_hwloc_xml(topology);
  for (int sm = 0; sm < 132; ++sm) {
    const std::string core = fmt::format("os_index=\"{}\" subtype=\"SM\"", sm);
    const std::size_t at = text.find(core);
    EXPECT_NE(at, std::string::npos) << sm;
    EXPECT_EQ(text.find(core, at + 1), std::string::npos) << sm;
  }
}

// The host's XML as hwloc makes it, with a CUDA device.
std::string host_xml() {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" allowed_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2" local_memory="1024"/>
    <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3"/>
    <object type="Bridge" gp_index="5" bridge_type="0-1" depth="0" bridge_pci="0000:[00-0f]">
      <object type="PCIDev" gp_index="6" pci_busid="0000:0f:00.0" pci_type="0302 [10de:2335] [10de:0000] a1" pci_link_speed="0">
        <object type="OSDev" gp_index="7" name="cuda0" subtype="CUDA" osdev_type="5"/>
      </object>
    </object>
  </object>
</topology>
)";
}

TEST(Hwloc, AnnotatesTheHost) {
  if (!has_program("hwloc-annotate")) GTEST_SKIP() << "hwloc is not installed";
  const test::TemporaryFolder folder;
  write_file(folder.file("host.xml"), host_xml());
  write_file(folder.file("a.sh"), to_hwloc_annotate(report_of("h200")));
  const std::string command = "cd " + folder.path().string() + " && sh a.sh host.xml out.xml";
  const test::CommandResult result = test::run_command(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string out = read_file(folder.file("out.xml"));
  EXPECT_THAT(out, HasSubstr("<info name=\"GputopoL2SizeBytes\" value=\"62914560\"/>"));
  EXPECT_THAT(out, HasSubstr("<info name=\"GputopoL1LatencyCycles\" value=\"31.2\"/>"));
  // Without a GPU of that name, nothing is written.
  const test::CommandResult other = test::run_command(command + ".other cuda7");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("has no device named cuda7"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.xml.other")));
}

// Names from a report become words of the script, not commands.
TEST(Hwloc, TheScriptRunsNothingThatAReportSays) {
  const test::TemporaryFolder folder;
  write_file(folder.file("host.xml"), host_xml());
  // A stand-in for hwloc-annotate that prints its arguments.
  write_file(folder.file("hwloc-annotate"), "#!/bin/sh\nprintf '<%s>' \"$@\"; echo\n");
  Topology topology = evil(report_of("h200"));
  write_file(folder.file("a.sh"), to_hwloc_annotate(topology));
  const test::CommandResult result = test::run_command(
      "cd " + folder.path().string() + " && chmod +x hwloc-annotate && PATH=.:$PATH sh a.sh host.xml out.xml; ls");
  EXPECT_THAT(result.out, HasSubstr("$(touch evil)"));
  EXPECT_THAT(result.out, Not(HasSubstr("\nevil\n")));
}

}  // namespace
}  // namespace gputopo
