// The CSV of MT4G 0.1 for GPUscout-GUI, which reads twelve rows and their fields by position, so none may be missing or
// short. A value that a GPU does not have or does not reveal is 0; an unmeasured value is an error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "file/sanitize.h"
#include "gputopo/error.h"
#include "gputopo/export.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using report::needed;
using report::number_of;

constexpr std::string_view kMt4gCsvFormat = "MT4G's CSV";
constexpr double kKib = 1024;
constexpr double kMib = kKib * kKib;
constexpr double kGib = kMib * kKib;

// Puts text into quotes. The format can escape neither quotes nor the separator, at which readers always split.
std::string in_csv_quotes(std::string_view text) {
  std::string plain = sanitized_line(text);
  std::ranges::replace(plain, '"', '\'');
  std::ranges::replace(plain, ';', ',');
  return fmt::format("\"{}\"", plain);
}

class Rows {
 public:
  explicit Rows(const Topology& topology) : topology_(topology) {}

  std::string text() {
    device();
    sm_cache("L1_DATA_CACHE", ElementId::kL1,
             {{"Share_Cache_With_Texture", ElementId::kTexture},
              {"Share_Cache_With_Read-Only", ElementId::kReadOnly},
              {"Share_Cache_With_ConstantL1", ElementId::kConstantL1}});
    l2();
    sm_cache("TEXTURE_CACHE", ElementId::kTexture,
             {{"Share_Cache_With_L1_Data", ElementId::kL1}, {"Share_Cache_With_Read-Only", ElementId::kReadOnly}});
    sm_cache("READ-ONLY_CACHE", ElementId::kReadOnly,
             {{"Share_Cache_With_L1_Data", ElementId::kL1}, {"Share_Cache_With_Texture", ElementId::kTexture}});
    sm_cache("CONSTANT_L1_CACHE", ElementId::kConstantL1, {{"Share_Cache_With_L1_Data", ElementId::kL1}});
    constant_l15();
    memories();
    return text_;
  }

 private:
  struct Partner {
    const char* field;
    ElementId element;
  };

  [[nodiscard]] std::int64_t number(AttributeId id) const { return needed(topology_, kMt4gCsvFormat, id); }
  [[nodiscard]] std::int64_t number(ElementId element, AttributeId id) const {
    return needed(topology_, kMt4gCsvFormat, element, id);
  }
  // Returns 0 for a value that does not exist or cannot be observed.
  [[nodiscard]] double number_or_none(ElementId element, AttributeId id) const {
    const Attribute* attribute = topology_.find_attribute(element, id);
    const bool is_known = attribute != nullptr && !attribute->available() &&
                          (attribute->reason == Reason::kNotPresent || attribute->reason == Reason::kNotSupported);
    if (is_known) return 0;
    static_cast<void>(number(element, id));
    return number_of(topology_, element, id).value_or(0);
  }
  [[nodiscard]] double ghz(AttributeId clock) const {
    constexpr double kMhzPerGhz = 1000;
    static_cast<void>(number(clock));
    return number_of(topology_, clock).value_or(0) / kMhzPerGhz;
  }

  void device() {
    const auto capability = report::capability_of(topology_);
    if (!capability) {
      throw FormatError(
          fmt::format("{} needs device.compute_capability, which the report does not have; discover the "
                      "GPU again with a driver that reports it",
                      kMt4gCsvFormat));
    }
    const std::int64_t sms = number(AttributeId::kSmCount);
    const std::int64_t cores = number(AttributeId::kCoresPerSm);
    text_ += fmt::format("GPU_INFORMATION; GPU_vendor; \"Nvidia\"; GPU_name; {}\n", in_csv_quotes(topology_.name));
    text_ += fmt::format(
        "COMPUTE_RESOURCE_INFORMATION; CUDA_compute_capability; \"{}.{}0\"; Number_of_streaming_multiprocessors; {}; "
        "Number_of_cores_in_GPU; {:.0f}; Number_of_cores_per_SM; {}\n",
        capability->first, capability->second, sms, static_cast<double>(sms) * static_cast<double>(cores), cores);
    text_ += fmt::format(
        "REGISTER_INFORMATION; Registers_per_thread_block; {}; \"32-bit registers\"; Registers_per_SM; {}; \"32-bit "
        "registers\"\n",
        number(AttributeId::kRegistersPerBlock), number(AttributeId::kRegistersPerSm));
    text_ += fmt::format(
        "ADDITIONAL_INFORMATION; Memory_Clock_Frequency; {:.3f}; \"GHz\"; Memory_Bus_Width; {}; \"bit\"; "
        "GPU_Clock_Rate; {:.3f}; \"GHz\"\n",
        ghz(AttributeId::kMemoryClockMax), number(AttributeId::kMemoryBusWidth), ghz(AttributeId::kSmClockMax));
  }

  // "Load_Latency; 34; "cycles"; Load_Latency; 17; "nanoseconds"", at the clock during the measurement.
  [[nodiscard]] std::string latency(ElementId element) const {
    const double cycles = number_or_none(element, AttributeId::kLatency);
    const Attribute* attribute = topology_.find_attribute(element, AttributeId::kLatency);
    const auto told = report::detail_of(attribute, "mean_ns");
    const double nanoseconds = told ? *told : cycles / std::max(ghz(AttributeId::kSmClockMax), 1e-3);
    return fmt::format("Load_Latency; {:.0f}; \"cycles\"; Load_Latency; {:.0f}; \"nanoseconds\"", cycles, nanoseconds);
  }
  [[nodiscard]] std::string line(ElementId element) const {
    return fmt::format("Cache_Line_Size; {:.0f}; \"B\"", number_or_none(element, AttributeId::kLineSize));
  }
  [[nodiscard]] double bytes(ElementId element) const { return number_or_none(element, AttributeId::kSize); }

  void sm_cache(std::string_view row, ElementId element, const std::vector<Partner>& partners) {
    text_ += fmt::format("{}; Size; {:.6f}; KiB; \"=\"; {}; {}; Shared_On; \"SM-level\"", row, bytes(element) / kKib,
                         line(element), latency(element));
    const std::vector<std::string> shared =
        report::texts_of(topology_.find_attribute(element, AttributeId::kSharedWith));
    for (const Partner& partner : partners) {
      const bool is_shared = std::ranges::find(shared, to_string(partner.element)) != shared.end();
      text_ += fmt::format("; {}; {}", partner.field, is_shared ? 1 : 0);
    }
    text_ +=
        fmt::format("; Caches_Per_SM; {}\n", report::count_of(topology_, element, AttributeId::kAmount).value_or(1));
  }

  // The size of one part, and the number of parts.
  void l2() {
    const std::int64_t parts =
        std::max<std::int64_t>(report::count_of(topology_, ElementId::kL2, AttributeId::kPartitions).value_or(1), 1);
    text_ +=
        fmt::format("L2_DATA_CACHE; Size; {:.3f}; MiB; \"=\"; {}; {}; Shared_On; \"GPU-level\"; Caches_Per_GPU; {}\n",
                    bytes(ElementId::kL2) / kMib / static_cast<double>(parts), line(ElementId::kL2),
                    latency(ElementId::kL2), parts);
  }

  // If the size could not be measured, states that it exceeds all constants.
  void constant_l15() {
    constexpr double kAllConstantsKib = 64;
    constexpr ElementId kElement = ElementId::kConstantL15;
    const double size = bytes(kElement);
    const bool is_larger = size == 0 && number_of(topology_, kElement, AttributeId::kLatency).has_value();
    text_ += fmt::format("CONST_L1_5_CACHE; Size; {:.6f}; KiB; \"{}\"; {}; {}; Shared_On; \"SM-level\"\n",
                         is_larger ? kAllConstantsKib : size / kKib, is_larger ? ">=" : "=", line(kElement),
                         latency(kElement));
  }

  void memories() {
    text_ += fmt::format("MAIN_MEMORY; Size; {:.6f}; GiB; \"=\"; {}; Shared_On; \"GPU-level\"\n",
                         bytes(ElementId::kDevice) / kGib, latency(ElementId::kDevice));
    text_ += fmt::format("SHARED_MEMORY; Size; {:.6f}; KiB; \"=\"; {}; Shared_On; \"SM-level\"\n",
                         bytes(ElementId::kShared) / kKib, latency(ElementId::kShared));
  }

  const Topology& topology_;
  std::string text_;
};

}  // namespace

std::string to_mt4g_csv(const Topology& topology) {
  if (vendor_of(topology.vendor) != Vendor::kNvidia) {
    throw FormatError(
        "MT4G 0.1 supports only NVIDIA GPUs, and this report describes another vendor's GPU; use --mt4g-json");
  }
  return Rows(topology).text();
}

}  // namespace gputopo
