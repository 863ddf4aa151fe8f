// Samples as CSV (RFC 4180: CRLF line ends, quoted fields if needed).
#include <fmt/format.h>

#include <string>

#include "file/folder_output.h"
#include "gputopo/report.h"
#include "report/words/csv_text.h"
#include "report/words/device_facts.h"

namespace gputopo {
namespace {

std::string table_csv(const SampleTable& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c != 0) text += ',';
    text += report::csv_field(table.columns[c].name);
  }
  text += "\r\n";
  const std::size_t row_count = table.data.empty() ? 0 : table.data.front().size();
  for (std::size_t r = 0; r < row_count; ++r) {
    for (std::size_t c = 0; c < table.data.size(); ++c) {
      if (c != 0) text += ',';
      text += fmt::format("{}", table.data[c][r]);
    }
    text += "\r\n";
  }
  return text;
}

void write_tables(const AttributeMap& attributes, FolderOutput& folder) {
  for (const auto& [id, attribute] : attributes) {
    for (const SampleTable& table : attribute.samples) folder.write(table.name + ".csv", table_csv(table));
  }
}

}  // namespace

void write_samples(const Topology& topology, const std::string& directory) {
  FolderOutput folder(directory);
  // CSV has no comments, so a separate file describes the samples' device.
  folder.write("device.txt", fmt::format("{}{}\n{}\n{}\n", topology.simulated ? "SIMULATED " : "", topology.name,
                                         topology.generator, report::when(topology)));
  write_tables(topology.device, folder);
  write_tables(topology.compute, folder);
  for (const Instruction& instruction : topology.instructions) write_tables(instruction.attributes, folder);
  for (const MemoryElement& element : topology.memory) write_tables(element.attributes, folder);
  folder.keep();
}

}  // namespace gputopo
