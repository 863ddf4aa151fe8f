// The backends, one row each. A new backend needs a new row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <list>
#include <optional>
#include <string_view>
#include <utility>

#include "device/cuda/cuda_device.h"
#include "device/driver/driver_question.h"
#include "device/hip/hip_device.h"
#include "device/replay/replay.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/device.h"
#include "gputopo/device_lock.h"
#include "gputopo/file.h"
#include "model/likeness.h"

namespace gputopo {
namespace {

constexpr std::string_view kDefaultGpu = "cuda:0";

struct Backend {
  std::string_view name;   // part of a spec before the colon
  std::string_view forms;  // what --device takes, for error messages
  std::unique_ptr<Device> (*open)(const std::string& rest, std::uint64_t seed);
  std::vector<DeviceListing> (*list)(std::string& problem);  // null: its devices are files
  std::vector<std::string> (*libraries)();                   // of its driver; null: it has none
};

// ---- cuda, hip ----

int parse_ordinal(const char* backend, const std::string& rest) {
  int ordinal = -1;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
  if (status != std::errc{} || end != rest.data() + rest.size() || ordinal < 0) {
    throw UsageError(fmt::format("device '{0}:{1}': '{1}' is not a GPU number; use {0}:0, {0}:1, ...", backend, rest));
  }
  return ordinal;
}

std::unique_ptr<Device> open_cuda(const std::string& rest, std::uint64_t) {
  if (names_mig_instance("cuda:" + rest)) return open_mig_instance(rest);
  return open_cuda_device(parse_ordinal("cuda", rest));
}

// The driver's GPUs, and the MIG instances that only the management library knows.
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
    throw UsageError(fmt::format("no simulated machine '{}'; {}use one of {}, or sim:FILE.json", rest,
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
    Backend{"cuda", "cuda:N, cuda:MIG-UUID", open_cuda, list_cuda, cuda_libraries},
    Backend{"hip", "hip:N", open_hip, list_hip_devices, hip_libraries},
    Backend{"sim", "sim:NAME, sim:FILE.json", open_sim, list_sim, nullptr},
    Backend{"replay", "replay:PATH", open_replay, nullptr, nullptr},
};

// ---- Drivers that are asked in a process of their own ----

struct Listed {
  std::vector<DeviceListing> devices;
  std::string problem;
  bool has_answered = true;
};

// Each field ends with a zero byte, which no text of a driver contains.
std::string packed(const Listed& listed) {
  std::string text = listed.problem + '\0';
  for (const DeviceListing& device : listed.devices) {
    for (const std::string* field : {&device.spec, &device.name, &device.pci_address, &device.detail}) {
      text += *field + '\0';
    }
  }
  return text;
}

Listed unpacked(std::string_view text) {
  const auto field = [&text] {
    const std::size_t end = std::min(text.find('\0'), text.size());
    std::string result(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return result;
  };
  Listed listed{.devices = {}, .problem = field()};
  while (!text.empty()) {
    DeviceListing& device = listed.devices.emplace_back();
    for (std::string* part : {&device.spec, &device.name, &device.pci_address, &device.detail}) *part = field();
  }
  return listed;
}

// Calls `list` in a child process, from the construction of this object on. A driver that ends its process or hangs is
// then a problem of its backend alone. If this process already uses the driver, `list` runs here.
class DriverListing {
 public:
  DriverListing(const Backend& backend, std::function<Listed()> list) : list_(std::move(list)) {
    if (backend.libraries == nullptr || uses_any_of(backend.libraries())) return;
    question_.emplace(std::string(backend.name), [this] { return packed(list_()); });
  }
  DriverListing(const DriverListing&) = delete;
  DriverListing& operator=(const DriverListing&) = delete;

  [[nodiscard]] Listed get() {
    if (!question_) return list_();
    DriverQuestion::Answer answer = question_->wait();
    if (!answer.problem.empty()) return {.devices = {}, .problem = std::move(answer.problem), .has_answered = false};
    return unpacked(answer.text);
  }

 private:
  std::function<Listed()> list_;
  std::optional<DriverQuestion> question_;
};

const Backend& backend_named(std::string_view name) { return *std::ranges::find(kBackends, name, &Backend::name); }

// NVIDIA's driver can then be asked here: it can hide no other GPU, and starting it twice takes a quarter of a second.
bool has_gpus_of_nvidia_alone() { return !hip_driver_present() && kernel_has_nvidia_gpus(); }

Listed list_cuda_apart() {
  const auto list = [] {
    Listed listed;
    listed.devices = list_cuda_devices(listed.problem);
    return listed;
  };
  return has_gpus_of_nvidia_alone() ? list() : DriverListing(backend_named("cuda"), list).get();
}

// The GPU that is the default among AMD's.
Listed first_hip_apart() {
  if (!hip_driver_present()) return {};
  return DriverListing(backend_named("hip"),
                       [] {
                         Listed listed;
                         static_cast<void>(list_hip_devices(listed.problem));
                         if (const std::optional<int> ordinal = first_hip_device()) {
                           listed.devices.push_back({.spec = fmt::format("hip:{}", *ordinal)});
                         }
                         return listed;
                       })
      .get();
}

std::string joined(const std::string& problem, const std::string& another) {
  return problem.empty() || another.empty() ? problem + another : problem + "; " + another;
}

[[noreturn]] void throw_unknown_form(const std::string& spec) {
  std::string forms;
  for (const Backend& backend : kBackends) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", backend.forms);
  // Somebody who writes "h100" means the machine of that name, because a real GPU has a number.
  throw UsageError(fmt::format("unknown device '{}'; {}use one of {} ('gputopo list' shows the devices)", spec,
                               did_you_mean(spec, sim::builtin_machine_names(), "sim:"), forms));
}

}  // namespace

std::unique_ptr<Device> open_device(const std::string& spec, std::uint64_t seed) {
  if (spec.empty()) {
    const DefaultDevice chosen = default_device();
    if (chosen.spec.empty()) throw NoGpuError(chosen.problem);
    return open_device(chosen.spec, seed);
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

DefaultDevice default_device() {
  const Listed cuda = list_cuda_apart();
  if (!cuda.devices.empty()) return {std::string(kDefaultGpu), {}};
  const Listed hip = first_hip_apart();
  if (!hip.devices.empty()) return {hip.devices.front().spec, cuda.problem};
  return {"", joined(cuda.problem, hip.problem)};
}

std::string pci_address_of(const std::string& spec) {
  const std::string wanted = spec.empty() ? default_device().spec : spec;
  const std::string backend = wanted.substr(0, wanted.find(':'));
  if (backend != "cuda" && backend != "hip") return {};
  std::string problem;
  // Only the listing that is needed is made, because each takes its time.
  const std::vector<DeviceListing> listings = names_mig_instance(wanted)   ? list_mig_devices()
                                              : wanted.starts_with("cuda") ? list_cuda_devices(problem)
                                                                           : list_hip_devices(problem);
  const auto found = std::ranges::find(listings, wanted, &DeviceListing::spec);
  return found == listings.end() ? "" : found->pci_address;
}

std::vector<DeviceListing> list_devices(std::string& problem, bool* is_whole) {
  problem.clear();
  if (is_whole != nullptr) *is_whole = true;
  std::list<DriverListing> asked;  // all at the same time
  for (const Backend& backend : kBackends) {
    if (backend.list == nullptr) continue;
    asked.emplace_back(backend, [&backend] {
      Listed listed;
      listed.devices = backend.list(listed.problem);
      return listed;
    });
  }
  std::vector<DeviceListing> listings;
  for (DriverListing& listing : asked) {
    Listed listed = listing.get();
    problem = joined(problem, listed.problem);
    if (is_whole != nullptr) *is_whole = *is_whole && listed.has_answered;
    std::ranges::move(listed.devices, std::back_inserter(listings));
  }
  return listings;
}

}  // namespace gputopo
