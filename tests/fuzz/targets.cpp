#include "fuzz/targets.h"

#include <zlib.h>

#include <string>
#include <vector>

#include "device/replay/replay.h"
#include "device/sim/machine.h"
#include "gputopo/discover.h"
#include "gputopo/report.h"

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

// The file of this content.
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

}  // namespace

void report(std::string_view bytes) {
  try {
    const Topology topology = read_json(bytes);
    render(topology);
    compare(topology);
  } catch (const Error&) {
  }
}

void recording(std::string_view bytes) {
  try {
    const auto device = open_recording_bytes(packed(bytes));
    render(discover(*device, {.elements = {"device", "l1"}, .attributes = {"read_bandwidth", "line_size"}}));
  } catch (const Error&) {
  }
}

void machine(std::string_view bytes) {
  try {
    const auto device = sim::make_sim_device(sim::parse_machine(std::string(bytes)), 1, 1);
    for (const Program& program : few_programs()) {
      try {
        static_cast<void>(device->run({&program, 1}));
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace gputopo::fuzz
