#include "device/driver/info_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <string_view>

#include "device/driver/info_fields.h"
#include "file/limits.h"

namespace gputopo {
namespace {

template <typename... Args>
void require(bool condition, const std::string& field, fmt::format_string<Args...> rule, Args&&... args) {
  if (!condition) throw FormatError(field + ": " + fmt::format(rule, std::forward<Args>(args)...));
}

// Upper bounds by the name of the field: one for bytes, one for other counts.
struct Bounds {
  const std::string& prefix;

  void operator()(std::string_view name, const std::unsigned_integral auto& value) const {
    const std::uint64_t most = name.find("bytes") == name.npos ? limits::kMaxDeviceUnits : limits::kMaxDeviceBytes;
    require(value <= most, fmt::format("{}.{}", prefix, name), "{} is more than {}", value, most);
  }
  void operator()(std::string_view name, double value) const {
    require(std::isfinite(value) && value > 0, fmt::format("{}.{}", prefix, name), "{} is not greater than 0", value);
    require(value <= limits::kMaxClockMhz, fmt::format("{}.{}", prefix, name), "{} is more than {}", value,
            limits::kMaxClockMhz);
  }
  void operator()(std::string_view name, const std::optional<std::uint32_t>& value) const { check(name, value); }
  void operator()(std::string_view name, const std::optional<std::uint64_t>& value) const { check(name, value); }
  void operator()(std::string_view name, const std::optional<double>& value) const { check(name, value); }
  void operator()(std::string_view name, const std::vector<std::uint64_t>& values) const {
    for (const std::uint64_t value : values) (*this)(name, value);
  }
  // Texts, flags and versions have no bounds.
  void operator()(std::string_view, const bool&) const {}
  void operator()(std::string_view, const auto&) const {}

 private:
  template <typename T>
  void check(std::string_view name, const std::optional<T>& value) const {
    if (value) (*this)(name, *value);
  }
};

void check_sms(const DeviceInfo& info, const std::string& prefix) {
  require(info.sm_count >= 1 && info.sm_count <= limits::kMaxSms, prefix + ".sm_count", "{} is not between 1 and {}",
          info.sm_count, limits::kMaxSms);
  require(info.warp_size == 32 || info.warp_size == 64, prefix + ".warp_size", "{} is not 32 or 64", info.warp_size);
  require(!info.xcd_count || (*info.xcd_count >= 1 && info.sm_count % *info.xcd_count == 0), prefix + ".xcd_count",
          "{} does not divide the {} SMs evenly", info.xcd_count.value_or(0), info.sm_count);
  if (!info.physical_sm_ids) return;
  const auto& ids = *info.physical_sm_ids;
  const std::string field = prefix + ".physical_sm_ids";
  require(ids.size() == info.sm_count, field, "has {} entries, but the GPU has {} SMs", ids.size(), info.sm_count);
  require(std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end(), field,
          "is not strictly ascending");
}

// A device has at least one slice of its GPU, and at most all.
void check_slices(std::optional<std::uint32_t> own, std::optional<std::uint32_t> of_gpu, const std::string& field) {
  require(!own || (*own >= 1 && *own <= of_gpu.value_or(limits::kMaxSlices)), field, "{} is not between 1 and {}",
          own.value_or(0), of_gpu.value_or(limits::kMaxSlices));
  require(!of_gpu || *of_gpu <= limits::kMaxSlices, field + "_of_gpu", "{} is more than {}", of_gpu.value_or(0),
          limits::kMaxSlices);
}

}  // namespace

void check_info(const DeviceInfo& info, const std::string& prefix) {
  check_sms(info, prefix);
  const auto& choices = info.carve_outs_bytes;
  require(choices.size() <= limits::kMaxCarveOuts, prefix + ".carve_outs_bytes",
          "has {} entries, but at most {} are allowed", choices.size(), limits::kMaxCarveOuts);
  require(std::adjacent_find(choices.begin(), choices.end(), std::greater_equal<>()) == choices.end(),
          prefix + ".carve_outs_bytes", "is not strictly ascending");
  if (info.max_grid_blocks) {
    require(info.max_grid_blocks->size() == 3, prefix + ".max_grid_blocks", "has {} entries, not three (x, y and z)",
            info.max_grid_blocks->size());
    for (const std::uint64_t blocks : *info.max_grid_blocks) {
      require(blocks >= 1 && blocks <= limits::kMaxGridBlocks, prefix + ".max_grid_blocks",
              "{} is not between 1 and {}", blocks, limits::kMaxGridBlocks);
    }
  }
  const GpuInstance& instance = info.instance;
  check_slices(instance.compute_slices, instance.compute_slices_of_gpu, prefix + ".instance_compute_slices");
  check_slices(instance.memory_slices, instance.memory_slices_of_gpu, prefix + ".instance_memory_slices");
  if (info.memory_bus_bits) {
    require(*info.memory_bus_bits > 0, prefix + ".memory_bus_bits", "{} is not greater than 0", *info.memory_bus_bits);
  }
  if (info.max_threads_per_block) {
    require(*info.max_threads_per_block >= info.warp_size, prefix + ".max_threads_per_block",
            "{} is less than the warp size of {}", *info.max_threads_per_block, info.warp_size);
  }
  visit_info_fields(info, Bounds{prefix});
  if (info.memory_free_bytes) Bounds{prefix}("memory_free_bytes", *info.memory_free_bytes);
  Bounds{prefix}("max_array_bytes", info.max_array_bytes);
}

void check_reported_info(const DeviceInfo& info, const std::string& call) {
  try {
    check_info(info, call);
  } catch (const FormatError& error) {
    throw DeviceError(
        fmt::format("{}, which is impossible: the driver is not working correctly; reload or update it", error.what()));
  }
}

void check_device_count(int count, const std::string& call) {
  constexpr int kMostDevices = 1024;
  if (count >= 0 && count <= kMostDevices) return;
  throw DeviceError(
      fmt::format("{} reports {} GPUs: the driver is not working correctly; reload or update it", call, count));
}

}  // namespace gputopo
