// The backends: one row each. Adding one is adding a row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

#include "device/cuda/cuda_device.h"
#include "device/hip/hip_device.h"
#include "device/replay/replay.h"
#include "device/sim/machine.h"
#include "gputopo/device.h"
#include "gputopo/device_lock.h"
#include "gputopo/file.h"
#include "model/likeness.h"

namespace gputopo {
namespace {

constexpr std::string_view kDefaultSimulation = "sim:h200";
constexpr std::string_view kDefaultGpu = "cuda:0";

struct Backend {
  std::string_view name;   // before the colon
  std::string_view forms;  // what --device takes, for error messages
  std::unique_ptr<Device> (*open)(const std::string& rest, std::uint64_t seed);
  std::vector<DeviceListing> (*list)(std::string& problem);  // null: its devices are files
};

// ---- cuda, hip ----

int parse_ordinal(const char* backend, const std::string& rest) {
  int ordinal = -1;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
  if (status != std::errc{} || end != rest.data() + rest.size() || ordinal < 0) {
    throw UsageError(
        fmt::format("device '{0}:{1}': '{1}' is not the number of a GPU; use {0}:0, {0}:1, ...", backend, rest));
  }
  return ordinal;
}

std::unique_ptr<Device> open_cuda(const std::string& rest, std::uint64_t) {
  if (names_mig_instance("cuda:" + rest)) return open_mig_instance(rest);
  return open_cuda_device(parse_ordinal("cuda", rest));
}

// The driver's GPUs, and the instances that the management library knows of besides.
std::vector<DeviceListing> list_cuda(std::string& problem) {
  std::vector<DeviceListing> listings = list_cuda_devices(problem);
  std::ranges::move(list_mig_devices(), std::back_inserter(listings));
  return listings;
}

std::unique_ptr<Device> open_hip(const std::string& rest, std::uint64_t) {
  return open_hip_device(parse_ordinal("hip", rest));
}

// ---- sim ----

bool is_machine_file(const std::string& rest) { return rest.ends_with(".json") || rest.find('/') != std::string::npos; }

sim::MachineSpec read_machine_file(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return sim::parse_machine(text);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path, error.what()));
  }
}

std::unique_ptr<Device> open_sim(const std::string& rest, std::uint64_t seed) {
  if (is_machine_file(rest)) return sim::make_sim_device(read_machine_file(rest), seed);
  const std::optional<std::string> text = sim::builtin_machine(rest);
  if (!text) {
    const std::vector<std::string> names = sim::builtin_machine_names();
    throw UsageError(fmt::format("no simulated machine '{}'; {}there are {}, or sim:FILE.json", rest,
                                 did_you_mean(rest, names, "sim:"), fmt::join(by_likeness(rest, names), ", ")));
  }
  return sim::make_sim_device(sim::parse_machine(*text), seed);
}

std::vector<DeviceListing> list_sim(std::string&) {
  std::vector<DeviceListing> listings;
  for (const std::string& name : sim::builtin_machine_names()) {
    const DeviceInfo info = *sim::builtin_machine_info(name);
    std::string detail = "simulated";
    if (info.compute_capability_major && info.compute_capability_minor) {
      detail +=
          fmt::format(", compute capability {}.{}", *info.compute_capability_major, *info.compute_capability_minor);
    }
    if (info.memory_bytes) detail += fmt::format(", {:.1f} GiB", static_cast<double>(*info.memory_bytes) / (1u << 30));
    listings.push_back({.spec = "sim:" + name, .name = info.name, .pci_address = {}, .detail = detail});
  }
  return listings;
}

// ---- replay ----

std::unique_ptr<Device> open_replay(const std::string& rest, std::uint64_t) { return open_recording(rest); }

const std::array kBackends = {
    Backend{"cuda", "cuda:N, cuda:MIG-UUID", open_cuda, list_cuda},
    Backend{"hip", "hip:N", open_hip, list_hip_devices},
    Backend{"sim", "sim:NAME, sim:FILE.json", open_sim, list_sim},
    Backend{"replay", "replay:PATH", open_replay, nullptr},
};

[[noreturn]] void throw_unknown_form(const std::string& spec) {
  std::string forms;
  for (const Backend& backend : kBackends) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", backend.forms);
  // Who writes "h100" means the machine of that name, for a GPU that is here has a number.
  throw UsageError(fmt::format("unknown device '{}'; {}use one of {} ('gputopo list' shows what is there)", spec,
                               did_you_mean(spec, sim::builtin_machine_names(), "sim:"), forms));
}

}  // namespace

std::unique_ptr<Device> open_device(const std::string& spec, std::uint64_t seed) {
  if (spec.empty()) {
    if (cuda_driver_present()) return open_device(std::string(kDefaultGpu), seed);
    if (const std::optional<int> ordinal = first_hip_device()) return open_hip_device(*ordinal);
    return open_device(std::string(kDefaultSimulation), seed);
  }
  const std::size_t colon = spec.find(':');
  for (const Backend& backend : kBackends) {
    if (colon == std::string::npos || spec.substr(0, colon) != backend.name) continue;
    const std::string rest = spec.substr(colon + 1);
    if (rest.empty()) break;
    return backend.open(rest, seed);
  }
  throw_unknown_form(spec);
}

std::string pci_address_of(const std::string& spec) {
  const std::string backend = spec.substr(0, spec.find(':'));
  if (!spec.empty() && backend != "cuda" && backend != "hip") return {};
  std::string wanted = spec;
  if (spec.empty() && cuda_driver_present()) wanted = kDefaultGpu;
  if (wanted.empty()) {
    const std::optional<int> ordinal = first_hip_device();
    if (!ordinal) return {};
    wanted = fmt::format("hip:{}", *ordinal);
  }
  std::string problem;
  // Of these three, each takes its time, and only one is asked.
  const std::vector<DeviceListing> listings = names_mig_instance(wanted)   ? list_mig_devices()
                                              : wanted.starts_with("cuda") ? list_cuda_devices(problem)
                                                                           : list_hip_devices(problem);
  const auto found = std::ranges::find(listings, wanted, &DeviceListing::spec);
  return found == listings.end() ? "" : found->pci_address;
}

std::vector<DeviceListing> list_devices(std::string& problem) {
  problem.clear();
  std::vector<DeviceListing> listings;
  for (const Backend& backend : kBackends) {
    if (backend.list == nullptr) continue;
    std::string trouble;
    std::vector<DeviceListing> more = backend.list(trouble);
    if (problem.empty()) problem = trouble;
    listings.insert(listings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return listings;
}

}  // namespace gputopo
