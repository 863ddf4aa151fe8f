// XLA's description of a GPU for compiling without that GPU (--xla_gpu_target_config_filename): a text protocol buffer,
// GpuTargetConfigProto. An unknown field is a comment, and XLA uses 0 for it.
#include <fmt/format.h>

#include "file/sanitize.h"
#include "gputopo/export.h"
#include "report/words/hierarchy.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using report::needed;
using report::number_of;

constexpr std::string_view kXlaFormat = "XLA's target";

// A string of the text format, in double quotes.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : sanitized_line(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

class Target {
 public:
  explicit Target(const Topology& topology)
      : topology_(topology), is_amd_(vendor_of(topology.vendor) == Vendor::kAmd) {}

  std::string text() {
    text_ = fmt::format("# {}\n# {}\n", sanitized_line(topology_.name), report::origin(topology_));
    for (const std::string& notice : report::notices(topology_)) text_ += fmt::format("# {}\n", notice);
    text_ += "gpu_device_info {\n";
    limits();
    memories();
    capability();
    comment("gputopo does not know block_dim_limit_*, scalar_unit_description and matrix_unit_description");
    text_ += fmt::format("}}\nplatform_name: \"{}\"\ndnn_version_info {{\n}}\ndevice_description_str: {}\n",
                         is_amd_ ? "ROCM" : "CUDA", in_quotes(topology_.name));
    return text_;
  }

 private:
  void field(std::string_view name, std::int64_t value) { text_ += fmt::format("  {}: {}\n", name, value); }
  void comment(const std::string& line) { text_ += fmt::format("  # {}\n", sanitized_line(line)); }

  void field_if_known(std::string_view name, AttributeId attribute) {
    const auto count = report::count_of(topology_, attribute);
    if (count) return field(name, *count);
    comment(fmt::format("{}: the report has no {}", name, to_string(attribute)));
  }

  void limits() {
    constexpr std::pair<std::string_view, AttributeId> kNeeded[] = {
        {"core_count", AttributeId::kSmCount},
        {"fpus_per_core", AttributeId::kCoresPerSm},
        {"threads_per_warp", AttributeId::kWarpSize},
        {"threads_per_block_limit", AttributeId::kMaxThreadsPerBlock},
        {"threads_per_core_limit", AttributeId::kMaxThreadsPerSm},
        {"shared_memory_per_block", AttributeId::kSharedMemoryPerBlock},
        {"shared_memory_per_core", AttributeId::kSharedMemoryPerSm}};
    constexpr std::pair<std::string_view, AttributeId> kOptional[] = {
        {"shared_memory_per_block_optin", AttributeId::kSharedMemoryPerBlockOptIn},
        {"registers_per_core_limit", AttributeId::kRegistersPerSm},
        {"registers_per_block_limit", AttributeId::kRegistersPerBlock}};
    for (const auto& [name, attribute] : kNeeded) field(name, needed(topology_, kXlaFormat, attribute));
    for (const auto& [name, attribute] : kOptional) field_if_known(name, attribute);
  }

  void memories() {
    constexpr double kMhzPerGhz = 1000;
    field("device_memory_size", needed(topology_, kXlaFormat, ElementId::kDevice, AttributeId::kSize));
    field("l2_cache_size", needed(topology_, kXlaFormat, ElementId::kL2, AttributeId::kSize));
    if (const auto theory = report::count_of(topology_, AttributeId::kMemoryBandwidthTheoretical)) {
      comment(fmt::format("measured; the theoretical bandwidth from memory clock and bus width is {}", *theory));
    } else {
      comment("measured");
    }
    field("memory_bandwidth", needed(topology_, kXlaFormat, ElementId::kDevice, AttributeId::kReadBandwidth));
    static_cast<void>(needed(topology_, kXlaFormat, AttributeId::kSmClockMax));
    text_ += fmt::format("  clock_rate_ghz: {:.6g}\n",
                         number_of(topology_, AttributeId::kSmClockMax).value_or(0) / kMhzPerGhz);
  }

  void capability() {
    if (is_amd_) {
      // "CDNA3 (gfx942)" becomes "gfx942".
      const std::size_t at = topology_.architecture.find("gfx");
      if (at == std::string::npos) return comment("rocm_compute_capability: the report has no gfx number");
      std::string gfx = topology_.architecture.substr(at);
      gfx = gfx.substr(0, gfx.find_first_not_of("0123456789abcdefgx"));
      text_ += fmt::format("  rocm_compute_capability {{\n    gcn_arch_name: {}\n  }}\n", in_quotes(gfx));
      return;
    }
    const auto capability = report::capability_of(topology_);
    if (!capability) return comment("cuda_compute_capability: the report has no valid compute capability");
    text_ += fmt::format("  cuda_compute_capability {{\n    major: {}\n    minor: {}\n  }}\n", capability->first,
                         capability->second);
  }

  const Topology& topology_;
  bool is_amd_;
  std::string text_;
};

}  // namespace

std::string to_xla(const Topology& topology) { return Target(topology).text(); }

}  // namespace gputopo
