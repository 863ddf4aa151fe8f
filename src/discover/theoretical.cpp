#include "discover/theoretical.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "gputopo/catalogue.h"
#include "model/sm_clock.h"

namespace gputopo {
namespace {

constexpr std::initializer_list<AttributeId> kBothDirections = {AttributeId::kReadBandwidth,
                                                                AttributeId::kWriteBandwidth};

// Adds theoretical peaks to measured bandwidths; `peak` may depend on the conditions of each.
template <typename Peak>
void add_peaks(MemoryElement& element, std::initializer_list<AttributeId> bandwidths, const Peak& peak) {
  for (const AttributeId id : bandwidths) {
    Attribute& bandwidth = get_or_add(element.attributes, id);
    if (!bandwidth.number()) continue;
    if (const std::optional<double> bytes_per_second = peak(bandwidth)) {
      bandwidth.add_detail("theoretical_bytes_per_second", *bytes_per_second);
    }
  }
}

std::optional<double> number_of(const AttributeMap& attributes, AttributeId id) {
  const Attribute* attribute = find(attributes, id);
  return attribute == nullptr ? std::nullopt : attribute->number();
}

// A cache that shrinks when shared memory is carved out lies in the same banks.
bool is_carved_out_of_banks(const MemoryElement& element) {
  const Attribute* size = find(element.attributes, AttributeId::kSize);
  const Value* detail = size == nullptr ? nullptr : size->find_detail("size_by_carve_out_bytes");
  const auto* sizes = detail == nullptr ? nullptr : std::get_if<std::vector<double>>(detail);
  return sizes != nullptr && sizes->size() > 1 && sizes->back() < sizes->front();
}

// The largest cache that the whole GPU shares; 0 if none is known.
double last_cache_bytes(const Topology& topology) {
  double bytes = 0;
  for (const MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    if (info == nullptr || info->kind != ElementKind::kDataCache || info->scope != Scope::kGpu) continue;
    bytes = std::max(bytes, number_of(element.attributes, AttributeId::kSize).value_or(0));
  }
  return bytes;
}

// True if caches can have served only a small part of the stream.
bool is_stream_of_memory(const Attribute& bandwidth, double cache_bytes) {
  // Smaller values trust streams of which caches with random replacement serve a part.
  constexpr double kLeastCaches = 8;
  const Value* detail = bandwidth.find_detail("footprint_bytes");
  const auto* bytes = detail == nullptr ? nullptr : std::get_if<std::int64_t>(detail);
  return bytes != nullptr && cache_bytes > 0 && static_cast<double>(*bytes) >= kLeastCaches * cache_bytes;
}

}  // namespace

void settle_theoretical_bandwidth(Topology& topology) {
  constexpr double kGiga = 1e9;
  constexpr std::array kBandwidths = {AttributeId::kReadBandwidth, AttributeId::kWriteBandwidth,
                                      AttributeId::kSmReadBandwidth};
  const std::optional<double> theoretical = number_of(topology.device, AttributeId::kMemoryBandwidthTheoretical);
  if (!theoretical) return;
  const double cache_bytes = last_cache_bytes(topology);
  for (MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    if (info == nullptr || info->kind != ElementKind::kMemory) continue;
    for (const AttributeId id : kBandwidths) {
      const Attribute* known = find(element.attributes, id);
      if (known == nullptr || !known->number() || known->low.value_or(*known->number()) <= *theoretical) continue;
      Attribute& measured = get_or_add(element.attributes, id);
      if (is_stream_of_memory(measured, cache_bytes)) {
        get_or_add(topology.device, AttributeId::kMemoryBandwidthTheoretical) = unavailable(
            Reason::kInconclusive,
            fmt::format("the memory clock and bus width that the driver reports give {:.0f} GB/s, but {:.0f} GB/s were "
                        "measured",
                        *theoretical / kGiga, *measured.number() / kGiga));
      } else {
        measured = unavailable(
            Reason::kInconclusive,
            fmt::format("{:.0f} GB/s were measured, but clock and bus allow {:.0f} GB/s: caches served part of the "
                        "stream; free device memory, and measure again",
                        *measured.number() / kGiga, *theoretical / kGiga));
      }
    }
  }
}

void add_theoretical_bandwidths(Topology& topology) {
  std::optional<double> bytes_per_clock_per_sm;  // from the banks of an SM's memory: each serves its width
  for (MemoryElement& element : topology.memory) {
    const std::optional<double> banks = number_of(element.attributes, AttributeId::kBanks);
    const std::optional<double> width = number_of(element.attributes, AttributeId::kBankWidth);
    if (banks && width) bytes_per_clock_per_sm = *banks * *width;
  }
  const std::optional<double> sms = number_of(topology.compute, AttributeId::kSmCount);
  // The clock at which the bandwidth was measured.
  const auto peak_of_banks = [&](const Attribute& bandwidth) -> std::optional<double> {
    const std::optional<double> mhz = sm_clock_mhz(bandwidth);
    if (!bytes_per_clock_per_sm || !sms || !mhz) return std::nullopt;
    constexpr double kHertzPerMhz = 1e6;
    return std::round(*bytes_per_clock_per_sm * *sms * (*mhz * kHertzPerMhz));
  };
  for (MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    if (info != nullptr && info->kind == ElementKind::kMemory) {
      add_peaks(element, kBothDirections,
                [&](const Attribute&) { return number_of(topology.device, AttributeId::kMemoryBandwidthTheoretical); });
    } else if (number_of(element.attributes, AttributeId::kBanks)) {
      add_peaks(element, kBothDirections, peak_of_banks);
    } else if (is_carved_out_of_banks(element)) {
      // Reads only: stores pass through to the next level.
      add_peaks(element, {AttributeId::kReadBandwidth}, peak_of_banks);
    }
  }
}

namespace {

constexpr std::string_view kSmsAlone = "sms_alone_bytes_per_second";

}  // namespace

bool is_bound_by_sms(const Attribute& bandwidth) {
  // Smaller values blame the SMs for what memory limits; larger values overlook that SMs disturb each other a little.
  constexpr double kLeastPart = 0.95;
  const Value* detail = bandwidth.find_detail(kSmsAlone);
  const auto* alone = detail == nullptr ? nullptr : std::get_if<double>(detail);
  return alone != nullptr && bandwidth.number() && *bandwidth.number() >= kLeastPart * *alone;
}

void add_bounds_of_sms(Topology& topology) {
  const std::optional<double> sms = number_of(topology.compute, AttributeId::kSmCount);
  if (!sms) return;
  for (MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    const std::optional<double> of_one = number_of(element.attributes, AttributeId::kSmReadBandwidth);
    if (info == nullptr || info->scope != Scope::kGpu || !of_one) continue;
    Attribute& bandwidth = get_or_add(element.attributes, AttributeId::kReadBandwidth);
    if (!bandwidth.number()) continue;
    bandwidth.add_detail(std::string(kSmsAlone), std::round(*sms * *of_one));
    const std::optional<double> theoretical = number_of(topology.device, AttributeId::kMemoryBandwidthTheoretical);
    constexpr double kFarBelow = 0.7;  // healthy GPUs reach 85% and more
    if (info->kind != ElementKind::kMemory || !theoretical || !is_bound_by_sms(bandwidth)) continue;
    if (*bandwidth.number() >= kFarBelow * *theoretical) continue;
    constexpr double kGiga = 1e9;
    const std::string unit = unit_name(topology.vendor);
    topology.warnings.push_back(fmt::format(
        "{0}.read_bandwidth: the {1}s are the bound, not the memory: all of them reach {3:.0f} times what "
        "one reads alone ({2:.3g} GB/s), which is {4:.0f}% of the theoretical {5:.0f} GB/s",
        element.id, unit, *of_one / kGiga, *sms, 100 * *bandwidth.number() / *theoretical, *theoretical / kGiga));
  }
}

}  // namespace gputopo
