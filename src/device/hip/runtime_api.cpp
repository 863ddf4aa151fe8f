#include "device/hip/runtime_api.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "device/driver/sysfs.h"
#include "device/hip/device_wait.h"
#include "device/hip/kfd_topology.h"
#include "file/environment.h"
#include "file/folder_entries.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

// From the newest ROCm to the oldest that the kernels support. The name without a number is a development link.
const std::vector<std::string> kRuntimeNames = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                                "libamdhip64.so"};
constexpr char kCompilerName[] = "libhiprtc.so";
constexpr char kRuntimeVariable[] = "GPUTOPO_LIBAMDHIP64";
constexpr char kCompilerVariable[] = "GPUTOPO_LIBHIPRTC";
constexpr char kUseSimulation[] = "or use --device sim:mi210";

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

struct Library {
  void* handle = nullptr;
  std::string path;
  std::string problem;  // why the first candidate could not be loaded
};

// Opens the replacement that the environment names, or the first candidate that exists.
Library open_library(const char* variable, std::vector<std::string> candidates) {
  const char* replacement = environment_variable(variable);
  if (replacement != nullptr && *replacement != '\0') candidates = {replacement};
  Library library{nullptr, candidates.front(), {}};
  for (const std::string& candidate : candidates) {
    library.handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle != nullptr) {
      library.path = candidate;
      return library;
    }
    const std::string problem = one_line(dlerror());
    if (library.problem.empty()) library.problem = problem;
  }
  return library;
}

Library open_runtime() {
  std::vector<std::string> candidates = kRuntimeNames;
  for (const std::string& name : kRuntimeNames) candidates.push_back("/opt/rocm/lib/" + name);
  return open_library(kRuntimeVariable, candidates);
}

// Returns ".6" for "libamdhip64.so.6" and "libamdhip64.so.6.4.43484"; empty if the name has no version.
std::string version_suffix(const std::filesystem::path& file) {
  constexpr std::string_view kBefore = ".so";
  const std::string name = file.filename();
  const std::size_t at = name.find(std::string(kBefore) + ".");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kBefore.size();
  return name.substr(begin, name.find('.', begin + 1) - begin);
}

// Opens a runtime's compiler: from its folder, or at least of its version, because code objects depend on that.
Library open_compiler(const Library& runtime) {
  const link_map* map = nullptr;
  std::filesystem::path found = runtime.path;
  if (dlinfo(runtime.handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr) found = map->l_name;
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(found, failed);  // follows a link without a version
  std::string version = version_suffix(found);
  if (version.empty()) version = version_suffix(file);
  const std::string name = kCompilerName + version;
  std::vector<std::string> candidates = {found.parent_path() / name, file.parent_path() / name};
  if (!version.empty()) candidates.push_back(name);
  Library compiler = open_library(kCompilerVariable, candidates);
  // The runtimes of ROCm 5 and 6 also contain the compiler.
  if (compiler.handle == nullptr && dlsym(runtime.handle, "hiprtcCreateProgram") != nullptr) return runtime;
  return compiler;
}

void* find_symbol(const Library& library, const char* symbol) {
  void* found = dlsym(library.handle, symbol);
  if (found == nullptr) {
    throw DeviceError(fmt::format("{} has no {}: this library is not from ROCm 5, 6 or 7; install one of them, {}",
                                  library.path, symbol, kUseSimulation));
  }
  return found;
}

// hipRuntimeGetVersion packs major, minor and patch as decimal digits: 60443484 is 6.4.43484.
constexpr int kMajorVersion = 10'000'000;
constexpr int kMinorVersion = 100'000;

// The first compiler that knows a target, 0 if all supported ones do. An older one ends the process.
int first_version_for(const std::string& target) {
  if (target.starts_with("gfx950")) return 6 * kMajorVersion + 5 * kMinorVersion;
  if (target.starts_with("gfx942")) return 5 * kMajorVersion + 7 * kMinorVersion;
  return 0;
}

// The library of headers that the compiler of ROCm 5 opens by name, and without which it crashes. Debian has it in a
// separate package that no other package requires.
bool has_builtins(const std::string& compiler_path) {
  constexpr const char* kNames[] = {"libhiprtc-builtins.so.5", "libhiprtc-builtins.so"};
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::canonical(compiler_path, failed).parent_path();
  for (const std::filesystem::path& place : {std::filesystem::path(), folder, std::filesystem::path("/opt/rocm/lib")}) {
    for (const char* name : kNames) {
      if (void* const library = dlopen((place / name).c_str(), RTLD_LAZY | RTLD_LOCAL)) {
        dlclose(library);
        return true;
      }
    }
    // The file name may also have the minor version.
    if (place.empty()) continue;
    for (const std::filesystem::path& entry : folder_entries(place)) {
      if (entry.filename().string().starts_with(kNames[0])) return true;
    }
  }
  return false;
}

// After one of these errors, the device returns nothing but errors in this process.
bool ends_context(Status status) {
  constexpr std::array kEnding = {
      kErrorDeinitialized, kErrorEccNotCorrectable, kErrorIllegalAddress, kErrorLaunchTimeout, kErrorContextIsDestroyed,
      kErrorAssert,        kErrorLaunchFailure,     kErrorUnknown};
  return std::find(kEnding.begin(), kEnding.end(), status) != kEnding.end();
}

std::string explain_failure(Status status) {
  switch (status) {
    case kErrorOutOfMemory:
      return "the GPU is out of memory: end other programs that use it (rocm-smi --showpids lists them) or choose "
             "another --device";
    case kErrorNoDevice:
    case kErrorInvalidDevice:
      return "the runtime reports no such GPU: check HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and that this user "
             "may open /dev/kfd and /dev/dri (groups render and video)";
    case kErrorInsufficientDriver:
    case kErrorNotInitialized:
      return "the amdgpu kernel module does not respond: check that it is loaded (lsmod), and see the kernel log "
             "(dmesg)";
    case kErrorNoBinaryForGpu:
      return "the code was compiled for a different GPU: report this with the output of 'gputopo list'";
    default:
      return ends_context(status)
                 ? "after this error, nothing more can be measured on this GPU in this run; see the kernel log (dmesg)"
                 : "";
  }
}

}  // namespace

// Without the kernel driver the runtime has no GPU. Loading it anyway would do harm: it and other libraries of the
// process may each bring an LLVM, and the second one ends the process.
bool kernel_driver_present() {
  const char* replacement = environment_variable(kRuntimeVariable);
  if (replacement != nullptr && *replacement != '\0') return true;
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(sysfs_root()) / "class/kfd", ignored);
}

std::vector<std::string> runtime_libraries() {
  std::vector<std::string> names = kRuntimeNames;
  names.emplace_back("libhsa-runtime64.so.1");
  const char* replacement = environment_variable(kRuntimeVariable);
  if (replacement != nullptr && *replacement != '\0') names.emplace_back(replacement);
  return names;
}

bool runtime_present() {
  if (!kernel_driver_present()) return false;
  // The library stays loaded: loaded a second time, it would find what its first time left behind.
  static const Library library = open_runtime();
  return library.handle != nullptr;
}

std::shared_ptr<const Runtime> Runtime::load() {
  if (!kernel_driver_present()) {
    throw DeviceError(fmt::format(
        "no AMD GPU: {}/class/kfd does not exist, so the amdgpu kernel module is not loaded or reports no GPU; load "
        "the module, {}",
        sysfs_root(), kUseSimulation));
  }
  const Library runtime_library = open_runtime();
  if (runtime_library.handle == nullptr) {
    throw DeviceError(fmt::format("no HIP runtime: {} could not be loaded ({}); install ROCm's hip-runtime-amd, {}",
                                  runtime_library.path, runtime_library.problem, kUseSimulation));
  }
  const std::shared_ptr<Runtime> runtime(new Runtime);
#define GPUTOPO_LOAD(member, symbol, ...) runtime->member.set(symbol, find_symbol(runtime_library, symbol));
  GPUTOPO_HIP_FUNCTIONS(GPUTOPO_LOAD)
#undef GPUTOPO_LOAD
#define GPUTOPO_LOAD(member, symbol, ...) runtime->member.set(symbol, dlsym(runtime_library.handle, symbol));
  GPUTOPO_HIP_OPTIONAL_FUNCTIONS(GPUTOPO_LOAD)
#undef GPUTOPO_LOAD
  const Library compiler_library = open_compiler(runtime_library);
  if (compiler_library.handle == nullptr) {
    throw DeviceError(
        fmt::format("no HIP compiler for {}: {} could not be loaded ({}); install ROCm's "
                    "hip-runtime-amd, {}",
                    runtime_library.path, compiler_library.path, compiler_library.problem, kUseSimulation));
  }
#define GPUTOPO_LOAD(member, symbol, ...) runtime->member.set(symbol, find_symbol(compiler_library, symbol));
  GPUTOPO_HIPRTC_FUNCTIONS(GPUTOPO_LOAD)
#undef GPUTOPO_LOAD
  const link_map* map = nullptr;
  const bool is_known = dlinfo(compiler_library.handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr;
  runtime->compiler_path_ = is_known ? map->l_name : compiler_library.path;
  runtime->check(runtime->init(0), "hipInit(0)");
  return runtime;
}

void Runtime::check(Status status, const std::string& call) const {
  if (status == kSuccess) return;
  const char* name = get_error_name(status);
  const char* description = get_error_string(status);
  const std::string status_name = name != nullptr ? name : fmt::format("HIP error {}", status);
  std::string message = fmt::format("{} failed: {}", call, status_name);
  if (description != nullptr) message += fmt::format(" ({})", one_line(description));
  if (const std::string advice = explain_failure(status); !advice.empty()) message += ": " + advice;
  if (status == kErrorOutOfMemory) throw DeviceMemoryError(message, status_name);
  if (ends_context(status)) throw DeviceLostError(message, status_name);
  throw DeviceError(message, status_name);
}

void Runtime::check_compiler(const std::string& target) const {
  int version = 0;
  if (runtime_get_version(&version) != kSuccess || version <= 0) return;
  if (const int first = first_version_for(target); version < first) {
    throw DeviceError(fmt::format("the compiler of {} does not support {}: install ROCm {}.{} or later", version_text(),
                                  target, first / kMajorVersion, first % kMajorVersion / kMinorVersion));
  }
  if (version / kMajorVersion == 5 && !has_builtins(compiler_path_)) {
    throw DeviceError(
        fmt::format("the compiler of {} needs libhiprtc-builtins.so.5, which is missing: install the "
                    "package libhiprtc-builtins5 (Debian, Ubuntu) or hip-runtime-amd (ROCm)",
                    version_text()));
  }
}

std::string Runtime::compile(const std::string& source, const std::string& target) const {
  check_compiler(target);
  const auto require = [&](CompileStatus status, const std::string& call, const std::string& log = {}) {
    if (status == 0) return;
    const char* description = compile_error_string(status);
    throw DeviceError(fmt::format("{} failed: {}{}; report this with your ROCm version and GPU", call,
                                  description != nullptr ? description : fmt::format("error {}", status),
                                  log.empty() ? "" : "; log: " + one_line(log)));
  };
  ProgramHandle program = nullptr;
  require(create_program(&program, source.c_str(), "gputopo.hip", 0, nullptr, nullptr), "hiprtcCreateProgram");
  require_result(program, "hiprtcCreateProgram");
  const auto destroy = [this](ProgramOpaque* handle) { destroy_program(&handle); };
  const std::unique_ptr<ProgramOpaque, decltype(destroy)> owner(program, destroy);
  const std::string architecture = "--offload-arch=" + target;
  const char* options[] = {architecture.c_str(), "-O3", "-std=c++17"};
  const CompileStatus status = compile_program(program, static_cast<int>(std::size(options)), options);
  // A broken runtime may report any size.
  constexpr std::size_t kMostBytes = 1u << 28;
  std::string log;
  if (std::size_t bytes = 0; status != 0 && get_log_size(program, &bytes) == 0 && bytes > 1 && bytes <= kMostBytes) {
    log.resize(bytes);
    if (get_log(program, log.data()) != 0) log.clear();
  }
  require(status, fmt::format("hiprtcCompileProgram({})", target), log);
  std::size_t bytes = 0;
  require(get_code_size(program, &bytes), "hiprtcGetCodeSize");
  if (bytes == 0 || bytes > kMostBytes) {
    throw DeviceError(
        fmt::format("hiprtcGetCodeSize reports {} bytes of code for a kernel: the compiler is not working "
                    "correctly; install another version of ROCm",
                    bytes));
  }
  std::string code(bytes, '\0');
  require(get_code(program, code.data()), "hiprtcGetCode");
  return code;
}

std::string Runtime::device_name(int ordinal) const {
  char text[256] = {};
  check(device_get_name(text, sizeof(text), ordinal), fmt::format("hipDeviceGetName({})", ordinal));
  return text_in(text);
}

std::string Runtime::pci_address(int ordinal) const {
  char text[64] = {};
  if (device_get_pci_bus_id(text, sizeof(text), ordinal) != kSuccess) return {};
  std::string address = text_in(text);
  for (char& c : address) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return address;
}

std::string Runtime::version_text() const {
  int version = 0;
  if (runtime_get_version(&version) != kSuccess) return {};
  return fmt::format("HIP {}.{}", version / kMajorVersion, version % kMajorVersion / kMinorVersion);
}

Memory::Memory(std::shared_ptr<const Runtime> runtime, std::uint64_t bytes)
    : runtime_(std::move(runtime)), bytes_(bytes) {
  runtime_->check(runtime_->malloc(&address_, bytes), fmt::format("hipMalloc({})", bytes));
  require_result(address_, "hipMalloc");
}

Memory::~Memory() {
  if (address_ != nullptr && !has_faulted()) static_cast<void>(runtime_->free(address_));
}

void Memory::swap(Memory& other) noexcept {
  std::swap(runtime_, other.runtime_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

Module::Module(std::shared_ptr<const Runtime> runtime, const std::string& code) : runtime_(std::move(runtime)) {
  runtime_->check(runtime_->module_load_data(&handle_, code.data()), "hipModuleLoadData");
  require_result(handle_, "hipModuleLoadData");
}

Module::~Module() {
  if (handle_ != nullptr && !has_faulted()) static_cast<void>(runtime_->module_unload(handle_));
}

FunctionHandle Module::function(const char* name) const {
  FunctionHandle found = nullptr;
  runtime_->check(runtime_->module_get_function(&found, handle_, name), fmt::format("hipModuleGetFunction({})", name));
  require_result(found, "hipModuleGetFunction");
  return found;
}

}  // namespace gputopo::hip
