#include "fuzz/targets.h"

#include <zlib.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/options.h"
#include "device/replay/replay.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "file/sanitize.h"
#include "fleet/findings.h"
#include "fleet/findings_html.h"
#include "fleet/findings_json.h"
#include "fleet/judgement.h"
#include "fleet/store_reader.h"
#include "gputopo/discover.h"
#include "gputopo/export.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "kernel_model/kernel.h"
#include "kernel_model/prediction.h"
#include "kernel_model/prediction_json.h"
#include "kernel_model/prediction_text.h"
#include "report/drawing/markup.h"
#include "report/words/csv_text.h"
#include "support/command.h"
#include "support/prometheus_check.h"

namespace gputopo::fuzz {
namespace {

void render(const Topology& topology) {
  static_cast<void>(read_json(to_json(topology)));
  for (const int width : {20, 80}) {
    static_cast<void>(to_terminal(topology, {.width = width}));
    static_cast<void>(to_tree(topology, {.width = width}));
  }
  static_cast<void>(to_csv(topology));
  static_cast<void>(to_svg(topology));
  static_cast<void>(to_markdown(topology));
  static_cast<void>(to_html(topology));
  for (const auto& render :
       {to_mt4g_json, to_mt4g_csv, to_hwloc_xml, to_hwloc_annotate, to_accel_sim, to_roofline_csv, to_xla, to_latex}) {
    try {
      static_cast<void>(render(topology));
    } catch (const FormatError&) {
      // The report lacks values that the format needs.
    }
  }
}

// Shows the report as the whole GPU, with an instance of it.
void show_instance(const Topology& topology) {
  Topology instance = topology;
  get_or_add(instance.device, AttributeId::kInstanceProfile) = api_value(std::string("4g.20gb"), "");
  Attribute& slices = get_or_add(instance.device, AttributeId::kInstanceMemorySlices);
  slices = api_value(std::int64_t{4}, "");
  slices.add_detail("of_gpu", std::int64_t{8});
  instance.memory.resize(instance.memory.size() / 2);
  try {
    static_cast<void>(to_json(instance_of(topology, instance)));
  } catch (const UsageError&) {
    // The report is itself of an instance.
  }
}

void compare(const Topology& topology) {
  Topology other = topology;
  for (MemoryElement& element : other.memory) {
    for (auto& [name, attribute] : element.attributes) {
      if (auto* value = std::get_if<double>(&attribute.value)) *value *= 2;
    }
  }
  const std::vector<NamedReport> reports = {{"a", topology}, {"b", other}};
  static_cast<void>(are_alike(reports));
  static_cast<void>(diff_to_terminal(reports, {}));
  static_cast<void>(diff_to_json(reports));
  static_cast<void>(diff_to_html(reports));
  const CheckResult result = check(other, topology, default_tolerances());
  static_cast<void>(check_to_text(result, other));
  static_cast<void>(check_to_json(result, other));
  static_cast<void>(check_to_prometheus(result, other));
}

void predict_on(const Topology& topology, const kernel_model::Kernel& kernel) {
  try {
    const kernel_model::Prediction prediction = kernel_model::predict(topology, kernel);
    static_cast<void>(prediction_to_text(prediction));
    static_cast<void>(prediction_to_json(prediction));
  } catch (const FormatError&) {
    // The report lacks values that the kernel needs.
  }
}

kernel_model::Kernel some_kernel() {
  kernel_model::Kernel kernel;
  kernel.grid_blocks = 1000;
  kernel.block_threads = 256;
  kernel.other_instructions = 10;
  kernel.memory = {{.level = ElementId::kL2, .count = 10, .bytes = 8}};
  return kernel;
}

// Every value of the catalogue is 64, except for limits that a block must fit.
Topology known_gpu() {
  constexpr double kValue = 64;
  Topology topology;
  topology.vendor = "NVIDIA";
  topology.name = "known";
  for (const AttributeInfo& info : attribute_catalogue()) {
    if (info.group == AttributeGroup::kDevice) get_or_add(topology.device, info.id) = api_value(kValue, "");
    if (info.group == AttributeGroup::kCompute) get_or_add(topology.compute, info.id) = api_value(kValue, "");
  }
  constexpr double kRoom = 1 << 20;
  for (const AttributeId id :
       {AttributeId::kMaxThreadsPerBlock, AttributeId::kRegistersPerSm, AttributeId::kSharedMemoryPerSm}) {
    get_or_add(topology.compute, id) = api_value(kRoom, "");
  }
  for (const ElementInfo& element : element_catalogue()) {
    MemoryElement& memory = topology.memory.emplace_back();
    memory.id = element.name;
    for (const AttributeInfo& info : attributes_of(element)) {
      Attribute& attribute = get_or_add(memory.attributes, info.id);
      attribute = api_value(kValue, "");
      attribute.add_detail("peak_bytes_per_cycle", kValue);
    }
  }
  for (const OperationInfo& operation : instruction_catalogue()) {
    Instruction& instruction = topology.instructions.emplace_back();
    instruction.id = operation.name;
    for (const AttributeId id : kOperationAttributes) {
      get_or_add(instruction.attributes, id) = api_value(kValue, "");
    }
  }
  return topology;
}

// A recording file with this content.
std::string packed(std::string_view content) {
  std::string file(kRecordingMagic);
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(content.size() >> shift & 0xff);
  uLongf size = compressBound(content.size());
  std::string bytes(size, '\0');
  compress2(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
            content.size(), Z_NO_COMPRESSION);
  return file + bytes.substr(0, size);
}

std::vector<Program> few_programs() {
  std::vector<Program> programs;
  for (const std::uint64_t bytes : {4096u, 65536u}) {
    for (const Space space : {Space::kGlobal, Space::kGlobalBypassL1}) {
      programs.push_back(ChaseProgram{.arrays = {{.space = space, .bytes = bytes, .stride_bytes = 64}},
                                      .actors = {{}},
                                      .steps = {{.loads = 128}, {.kind = StepKind::kTimed, .loads = 128}}});
    }
  }
  programs.push_back(StreamProgram{.bytes = 1 << 16});
  programs.push_back(AccessProgram{.bytes = 1024, .accesses = 16});
  return programs;
}

std::vector<std::string> lines_of(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return lines;
}

// Throws a std::logic_error, which is no Error and thus counts as a fault.
void hold(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

void check_forms(const std::string& text) {
  const std::string line = sanitized_line(text);
  hold(sanitized_line(line) == line && line.find('\n') == std::string::npos, "a line is not visible: " + text);
  hold(sanitized_text(sanitized_text(text)) == sanitized_text(text), "a text is not visible: " + text);
  hold(report::escaped(text).find_first_of("<>\"'\x1b") == std::string::npos, "markup is not escaped: " + text);
  const std::string cell = report::csv_field(text);
  const bool is_formula = !cell.empty() && std::string_view("=@\t\r").find(cell.front()) != std::string_view::npos;
  hold(!is_formula && !cell.starts_with("\"="), "a cell is a formula: " + text);
  hold(sanitized_text(cell) == cell, "a cell is not visible: " + text);
}

}  // namespace

bool command_line(std::string_view bytes) {
  std::vector<std::string> arguments = {"gputopo"};
  for (std::string& line : lines_of(bytes)) arguments.push_back(line.substr(0, line.find('\0')));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  try {
    static_cast<void>(cli::parse_command_line(static_cast<int>(arguments.size()), pointers.data()));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool names(std::string_view bytes) {
  const std::vector<std::string> lines = lines_of(bytes);
  Topology topology;
  CheckResult result;
  MemoryElement element{.id = "l1", .title = "L1", .attributes = {}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = lines[i];
    check_forms(text);
    topology.name = text;
    result.notes.push_back(text);
    result.violations.push_back({element.id, text, text});
    // IDs in a report must be unique within their element.
    if (find(element.attributes, text) == nullptr) {
      element.attributes.emplace_back(text, api_value(static_cast<double>(i), i % 2 == 0 ? "" : lines[i / 2]));
    }
    if (i % 8 == 7) {
      topology.memory.push_back(element);
      element = {.id = element.id + text, .title = text, .attributes = {}};
    }
  }
  topology.memory.push_back(element);
  const std::optional<std::string> problem = test::prometheus_problem(check_to_prometheus(result, topology));
  hold(!problem, "a collector refuses: " + problem.value_or(""));
  return true;
}

bool report(std::string_view bytes) {
  try {
    const Topology topology = read_json(bytes);
    render(topology);
    show_instance(topology);
    compare(topology);
    predict_on(topology, some_kernel());
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool recording(std::string_view bytes) {
  try {
    const auto device = open_recording_bytes(packed(bytes));
    render(discover(*device, {.elements = {"device", "l1"}, .attributes = {"read_bandwidth", "line_size"}}));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool kernel(std::string_view bytes) {
  static const Topology topology = known_gpu();
  try {
    predict_on(topology, kernel_model::read_kernel(bytes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool store(std::string_view bytes) {
  try {
    static const test::TemporaryFolder folder;
    write_file(folder.file("store"), bytes);
    const fleet::Judgement judgement = fleet::judge(fleet::read_store(folder.file("store"), 0, {}), 0);
    static_cast<void>(fleet::findings_to_text(judgement, {}, true));
    static_cast<void>(fleet::findings_to_csv(judgement));
    static_cast<void>(fleet::findings_to_json(judgement));
    static_cast<void>(fleet::findings_to_html(judgement));
    const std::optional<std::string> problem = test::prometheus_problem(fleet::findings_to_prometheus(judgement));
    hold(!problem, "a collector refuses: " + problem.value_or(""));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool machine(std::string_view bytes) {
  try {
    const auto device = sim::make_sim_device(sim::parse_machine(std::string(bytes)), 1, 1);
    for (const Program& program : few_programs()) {
      try {
        static_cast<void>(device->run({&program, 1}));
      } catch (const Error&) {
      }
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace gputopo::fuzz
