#include "cache/report_cache.h"

#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "device/driver/sysfs.h"
#include "device/sim/machine_file.h"
#include "file/digest.h"
#include "file/environment.h"
#include "file/folder_entries.h"
#include "file/private_folder.h"
#include "gputopo/device.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/report.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "gputopo cache 1 ";
constexpr std::string_view kSim = "sim:";
constexpr std::string_view kReplay = "replay:";

std::string variable(const char* name) {
  const char* value = environment_variable(name);
  return value == nullptr ? "" : value;
}

double seconds_of(const timespec& time) {
  constexpr double kPerNanosecond = 1e-9;
  return static_cast<double>(time.tv_sec) + kPerNanosecond * static_cast<double>(time.tv_nsec);
}

// The clock that the file system uses for file times.
timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// XDG specification: relative paths are ignored.
std::string cache_folder() {
  for (const auto& [name, below] : {std::pair("XDG_CACHE_HOME", "gputopo"), std::pair("HOME", ".cache/gputopo")}) {
    const fs::path path = variable(name);
    if (path.is_absolute()) return path / below;
  }
  return {};
}

// ---- What the system says of its GPUs ----

// The contents of a short file in /proc or /sys.
std::string text_of(const fs::path& path) {
  constexpr std::streamsize kMostBytes = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), kMostBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The contents of the files `names` in each folder within `folder`, as far as they exist.
std::string texts_within(const fs::path& folder, const std::vector<std::string>& names) {
  std::string text;
  for (const fs::path& entry : folder_entries(folder)) {
    for (const std::string& name : names) {
      const std::string held = text_of(entry / name);
      if (!held.empty()) text += fmt::format("{}\n{}\n", (entry / name).string(), held);
    }
  }
  return text;
}

// Tests replace the root.
std::string root_of(const char* replaced_by, const char* root) {
  const std::string replacement = variable(replaced_by);
  return replacement.empty() ? root : replacement;
}

// Empty if NVIDIA's driver is not loaded or does not report its GPUs.
std::string nvidia_gpus() {
  const fs::path driver = fs::path(root_of("GPUTOPO_PROC", "/proc")) / "driver/nvidia";
  const std::string gpus = texts_within(driver / "gpus", {"information"});
  if (gpus.empty()) return {};
  std::string text = text_of(driver / "version") + gpus;
  // MIG instances are folders there.
  for (const fs::path& gpu : folder_entries(driver / "capabilities")) {
    for (const fs::path& instance : folder_entries(gpu / "mig")) {
      text += instance.string() + "\n";
      for (const fs::path& part : folder_entries(instance)) text += part.string() + "\n";
    }
  }
  // A container has device nodes of its own GPUs only.
  for (const fs::path& node : folder_entries("/dev")) {
    if (node.filename().string().starts_with("nvidia")) text += node.string() + "\n";
  }
  return text;
}

std::string amd_gpus() {
  const fs::path sys = sysfs_root();
  const std::string nodes = texts_within(sys / "class/kfd/kfd/topology/nodes", {"name", "properties", "gpu_id"});
  if (nodes.find("gfx_target_version") == std::string::npos) return {};
  return nodes + text_of(sys / "module/amdgpu/version") +
         texts_within(sys / "class/drm", {"device/current_compute_partition", "device/current_memory_partition"});
}

std::string gpus_of_the_system() { return nvidia_gpus() + amd_gpus(); }

// Variables that decide which GPU a number means.
std::string choosing_variables() {
  std::string text;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                           "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS",
                           "GPUTOPO_LIBCUDA", "GPUTOPO_LIBAMDHIP64", "GPUTOPO_LIBNVML"}) {
    text += fmt::format("{}={}\n", name, variable(name));
  }
  return text;
}

}  // namespace

std::optional<std::string> identity_of_device(const std::string& spec, std::uint64_t seed) {
  if (spec.starts_with(kReplay)) return read_file(spec.substr(kReplay.size()));
  if (spec.starts_with(kSim)) {
    const std::string name = spec.substr(kSim.size());
    const std::optional<std::string> machine = sim::builtin_machine(name);
    std::error_code ignored;
    if (!machine && !fs::exists(name, ignored)) return std::nullopt;  // opening it reports what exists
    return fmt::format("{}\n{}\n", seed, machine ? *machine : read_file(name));
  }
  // Opening the driver of a GPU that the system's files do not describe would be work for the GPU.
  const std::string gpus = gpus_of_the_system();
  if (gpus.empty()) return std::nullopt;
  return gpus + choosing_variables();
}

ReportCache::ReportCache(const std::string& spec, std::uint64_t seed, const std::string& request) {
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  const std::optional<std::string> identity = identity_of_device(spec, seed);
  if (!identity) return;
  folder_ = folder;
  name_ = digest(fmt::format("{}\n{}\n{}\n{}", GPUTOPO_VERSION, spec, request, *identity));
  is_of_a_gpu_ = !spec.starts_with(kSim) && !spec.starts_with(kReplay) && !gpus_of_the_system().empty();
}

std::optional<Topology> ReportCache::load(std::optional<double> max_age_seconds) const {
  if (folder_.empty()) return std::nullopt;
  const std::optional<PrivateFolder> folder = PrivateFolder::open(folder_);
  const std::optional<PrivateFolder::File> file = folder ? folder->read(name_) : std::nullopt;
  if (!file) return std::nullopt;
  if (max_age_seconds) {
    // A file time in the future gives no reliable age.
    const double age = seconds_of(now()) - seconds_of(file->modified);
    if (age < 0 || age > *max_age_seconds) return std::nullopt;
  }
  try {
    const std::string& text = file->text;
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) return std::nullopt;
    const std::string report = text.substr(end + 1);
    if (text.substr(0, end) != fmt::format("{}{}", kMagic, digest(name_ + report))) return std::nullopt;
    return read_json(report);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ReportCache::store(const Topology& topology, const std::function<void(const std::string&)>& warn) const {
  // A GPU that is present but unusable now may be usable later.
  if (folder_.empty() || (topology.simulated && is_of_a_gpu_)) return;
  try {
    const std::string report = to_json(topology);
    PrivateFolder::open_or_create(folder_).write(name_,
                                                 fmt::format("{}{}\n{}", kMagic, digest(name_ + report), report));
  } catch (const Error& error) {
    warn(fmt::format("the result was not cached: {}", error.what()));
  }
}

}  // namespace gputopo
