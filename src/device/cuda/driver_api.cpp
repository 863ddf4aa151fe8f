#include "device/cuda/driver_api.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/uuid/uuid_io.hpp>
#include <cctype>
#include <cerrno>
#include <filesystem>

#include "file/environment.h"
#include "file/folder_entries.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

constexpr int kOldestDriver = 9000;  // CUDA 9.0 is the first whose PTX (6.0) has all that the kernels use

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// A device node of the driver that this user may not open; empty if there is none.
std::string forbidden_node(const std::string& device_folder) {
  for (const std::filesystem::path& entry : folder_entries(device_folder)) {
    std::error_code ignored;
    std::string path = entry.string();
    if (!entry.filename().string().starts_with("nvidia") || std::filesystem::is_directory(entry, ignored)) continue;
    if (::access(path.c_str(), R_OK | W_OK) != 0 && errno == EACCES) return path;
  }
  return {};
}

// After one of these errors, the context returns nothing but errors.
bool ends_context(Status status) {
  constexpr std::array kEnding = {kErrorDeinitialized,
                                  kErrorDeviceUnavailable,
                                  kErrorEccUncorrectable,
                                  kErrorIllegalAddress,
                                  kErrorLaunchTimeout,
                                  kErrorContextIsDestroyed,
                                  kErrorAssert,
                                  kErrorHardwareStackError,
                                  kErrorIllegalInstruction,
                                  kErrorMisalignedAddress,
                                  kErrorInvalidAddressSpace,
                                  kErrorInvalidPc,
                                  kErrorLaunchFailed,
                                  kErrorUnknown};
  return std::find(kEnding.begin(), kEnding.end(), status) != kEnding.end();
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

// The driver may fill the buffer without a terminating zero.
std::string text_of_log(const std::vector<char>& log) { return {log.begin(), std::ranges::find(log, '\0')}; }

void* find_symbol(void* library, const char* symbol, const std::string& path) {
  void* found = dlsym(library, symbol);
  if (found == nullptr) {
    throw DeviceError(
        fmt::format("NVIDIA driver too old or incomplete: {} has no {}; update the driver to one for CUDA {} or "
                    "later",
                    path, symbol, version_text(kOldestDriver)));
  }
  return found;
}

}  // namespace

std::string library_path(const char* variable, const char* standard_name) {
  const char* replacement = environment_variable(variable);
  return replacement != nullptr && *replacement != '\0' ? replacement : standard_name;
}

std::string explain_failure(Status status, int driver_version, const std::string& device_folder) {
  switch (status) {
    case kErrorOutOfMemory:
      return "the GPU is out of memory: end other programs that use it (nvidia-smi lists them) or choose another "
             "--device";
    case kErrorNoDevice:
    case kErrorOperatingSystem:
    case kErrorUnknown:
      if (const std::string node = forbidden_node(device_folder); !node.empty()) {
        return fmt::format("no permission to open {}: run as a user who may open it, or ask for access to the GPU",
                           node);
      }
      if (status == kErrorNoDevice) {
        return "the driver is installed but reports no GPU: check CUDA_VISIBLE_DEVICES and nvidia-smi, or use --device "
               "sim:h200";
      }
      if (status == kErrorOperatingSystem) {
        return fmt::format(
            "an operating system call failed: check the permissions of {}/nvidia* and that the nvidia kernel module is "
            "loaded",
            device_folder);
      }
      return "the driver failed: check nvidia-smi and the kernel log (dmesg); reload the nvidia_uvm module or reboot";
    case kErrorStubLibrary:
      return "the CUDA driver library that was found is a build-time stub: remove the stubs folder from "
             "LD_LIBRARY_PATH";
    case kErrorInsufficientDriver:
      return driver_version > 0
                 ? fmt::format(
                       "driver too old: it supports CUDA {}, but gputopo needs {} or later; update the NVIDIA driver",
                       version_text(driver_version), version_text(kOldestDriver))
                 : fmt::format("driver too old: gputopo needs CUDA {} or later; update the NVIDIA driver",
                               version_text(kOldestDriver));
    case kErrorUnsupportedPtxVersion:
      return "the driver cannot compile kernels for this GPU: update the NVIDIA driver";
    case kErrorDeviceUnavailable:
      return "another process holds this GPU in exclusive mode, or the GPU does not respond: see nvidia-smi";
    case kErrorInvalidDevice:
      return "there is no such GPU: 'gputopo list' shows the existing ones";
    case kErrorEccUncorrectable:
      return "the GPU's memory reported an uncorrectable error: the GPU needs a reset or a repair";
    case kErrorLaunchTimeout:
      return "a kernel exceeded the time limit of a GPU that drives a display: use another GPU or stop the display "
             "server";
    case kErrorSystemNotReady:
      return "the system is not ready: start nvidia-fabricmanager (NVSwitch systems need it), and wait until it runs";
    case kErrorSystemDriverMismatch:
      return "libcuda.so.1 and the nvidia kernel module have different versions: reboot, or reload the module";
    case kErrorCompatNotSupportedOnDevice:
      return "the CUDA compatibility package does not support this GPU: remove it from LD_LIBRARY_PATH or update the "
             "driver";
    default:
      if (ends_context(status)) return "after this error, nothing more can be measured on this GPU in this run";
      return {};
  }
}

std::shared_ptr<const Driver> Driver::load() {
  const std::string path = library_path("GPUTOPO_LIBCUDA", "libcuda.so.1");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw DeviceError(
        fmt::format("no NVIDIA driver: {} could not be loaded ({}); install the driver, or use --device sim:h200", path,
                    one_line(dlerror())));
  }
  const std::shared_ptr<Driver> driver(new Driver);
#define GPUTOPO_LOAD(member, symbol, ...) driver->member.set(symbol, find_symbol(library, symbol, path));
#define GPUTOPO_LOAD_OPTIONAL(member, symbol, ...) driver->member.set(symbol, dlsym(library, symbol));
  GPUTOPO_CUDA_FUNCTIONS(GPUTOPO_LOAD)
  GPUTOPO_CUDA_OPTIONAL_FUNCTIONS(GPUTOPO_LOAD_OPTIONAL)
#undef GPUTOPO_LOAD
#undef GPUTOPO_LOAD_OPTIONAL
  driver->driver_get_version(&driver->version_);
  Status status = driver->init(0);
  if (status == kSuccess && driver->version_ < kOldestDriver) status = kErrorInsufficientDriver;
  driver->check(status, "cuInit(0)");
  return driver;
}

void Driver::check(Status status, const std::string& call, const std::string& log) const {
  if (status == kSuccess) return;
  const char* name = nullptr;
  const char* description = nullptr;
  get_error_name(status, &name);
  get_error_string(status, &description);
  const std::string status_name = name != nullptr ? name : fmt::format("CUDA error {}", status);
  std::string message = fmt::format("{} failed: {}", call, status_name);
  if (description != nullptr) message += fmt::format(" ({})", description);
  if (const std::string advice = explain_failure(status, version_); !advice.empty()) message += ": " + advice;
  if (const std::string text = one_line(log); !text.empty()) message += fmt::format("; log: {}", text);
  if (status == kErrorOutOfMemory) throw DeviceMemoryError(message, status_name);
  if (ends_context(status)) throw DeviceLostError(message, status_name);
  throw DeviceError(message, status_name);
}

std::string Driver::device_name(DeviceHandle device) const {
  char text[256] = {};
  check(device_get_name(text, sizeof(text), device), fmt::format("cuDeviceGetName({})", device));
  return text_in(text);
}

std::string Driver::pci_address(DeviceHandle device) const {
  char text[64] = {};
  if (device_get_pci_bus_id(text, sizeof(text), device) != kSuccess) return {};
  std::string address = text_in(text);
  for (char& c : address) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return address;
}

std::string Driver::mig_uuid(DeviceHandle device) const {
  Uuid uuid{};
  if (device_get_uuid == nullptr || device_get_uuid(&uuid, device) != kSuccess) return {};
  boost::uuids::uuid standard;
  std::copy(std::begin(uuid.bytes), std::end(uuid.bytes), standard.begin());
  return "MIG-" + boost::uuids::to_string(standard);
}

Context::Context(std::shared_ptr<const Driver> driver, DeviceHandle device)
    : driver_(std::move(driver)), device_(device) {
  driver_->check(driver_->primary_ctx_retain(&handle_, device_), fmt::format("cuDevicePrimaryCtxRetain({})", device_));
  require_result(handle_, "cuDevicePrimaryCtxRetain");
  make_current();
}

Context::~Context() {
  const auto release =
      driver_->primary_ctx_release_v2 != nullptr ? driver_->primary_ctx_release_v2 : driver_->primary_ctx_release;
  if (release != nullptr) release(device_);
}

void Context::make_current() const { driver_->check(driver_->ctx_set_current(handle_), "cuCtxSetCurrent"); }

Memory::Memory(std::shared_ptr<const Driver> driver, std::uint64_t bytes) : driver_(std::move(driver)), bytes_(bytes) {
  driver_->check(driver_->mem_alloc(&address_, bytes), fmt::format("cuMemAlloc({})", bytes));
  require_result(address_, "cuMemAlloc");
}

Memory::~Memory() {
  if (address_ != 0) driver_->mem_free(address_);
}

void Memory::swap(Memory& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

PinnedMemory::PinnedMemory(std::shared_ptr<const Driver> driver, std::uint64_t bytes) : driver_(std::move(driver)) {
  if (driver_->mem_host_alloc(&data_, bytes, 0) == kSuccess && data_ != nullptr) bytes_ = bytes;
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) driver_->mem_free_host(data_);
}

std::string compile(const Driver& driver, const std::string& ptx, unsigned optimization) {
  constexpr unsigned kDefaultOptimization = 4;
  std::vector<char> log(8192, '\0');
  JitOption options[] = {JitOption::kErrorLogBuffer, JitOption::kErrorLogBufferSizeBytes,
                         JitOption::kOptimizationLevel};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1),
                    reinterpret_cast<void*>(static_cast<std::uintptr_t>(optimization))};
  const unsigned count = optimization == kDefaultOptimization ? 2 : 3;
  LinkHandle link = nullptr;
  driver.check(driver.link_create(count, options, values, &link), "cuLinkCreate", text_of_log(log));
  require_result(link, "cuLinkCreate");
  const auto destroy = [&](LinkHandle handle) { driver.link_destroy(handle); };
  const std::unique_ptr<LinkOpaque, decltype(destroy)> owner(link, destroy);
  std::string input = ptx;  // the interface takes a writable buffer
  driver.check(
      driver.link_add_data(link, JitInput::kPtx, input.data(), input.size() + 1, "gputopo", 0, nullptr, nullptr),
      "cuLinkAddData", text_of_log(log));
  void* image = nullptr;
  std::size_t bytes = 0;
  driver.check(driver.link_complete(link, &image, &bytes), "cuLinkComplete", text_of_log(log));
  constexpr std::size_t kMostBytes = 1u << 30;
  if (image == nullptr || bytes == 0 || bytes > kMostBytes) {
    throw DeviceError(
        fmt::format("cuLinkComplete reports {} bytes of machine code for a kernel: the driver is not working "
                    "correctly; update it",
                    bytes));
  }
  return {static_cast<const char*>(image), bytes};  // the link owns the image
}

Module::Module(std::shared_ptr<const Driver> driver, const std::string& ptx) : driver_(std::move(driver)) {
  std::vector<char> log(8192, '\0');
  JitOption options[] = {JitOption::kErrorLogBuffer, JitOption::kErrorLogBufferSizeBytes};
  // The interface takes numbers where it declares pointers.
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const Status status = driver_->module_load_data_ex(&handle_, ptx.c_str(), 2, options, values);
  driver_->check(status, "cuModuleLoadDataEx", text_of_log(log));
  require_result(handle_, "cuModuleLoadDataEx");
}

Module::~Module() {
  if (handle_ != nullptr) driver_->module_unload(handle_);
}

FunctionHandle Module::function(std::string_view name) const {
  if (const auto known = functions_.find(name); known != functions_.end()) return known->second;
  const std::string text(name);
  FunctionHandle found = nullptr;
  driver_->check(driver_->module_get_function(&found, handle_, text.c_str()),
                 fmt::format("cuModuleGetFunction({})", name));
  require_result(found, "cuModuleGetFunction");
  functions_.emplace(text, found);
  return found;
}

DevicePointer Module::global(const char* name) const {
  DevicePointer found = 0;
  std::size_t bytes = 0;
  driver_->check(driver_->module_get_global(&found, &bytes, handle_, name), fmt::format("cuModuleGetGlobal({})", name));
  require_result(found, "cuModuleGetGlobal");
  return found;
}

Texture::Texture(std::shared_ptr<const Driver> driver, DevicePointer address, std::uint64_t bytes, unsigned channels)
    : driver_(std::move(driver)) {
  const LinearResource resource{.address = address, .format = kFormatSignedInt32, .channels = channels, .bytes = bytes};
  const TextureDescription description;
  driver_->check(driver_->tex_object_create(&handle_, &resource, &description, nullptr),
                 fmt::format("cuTexObjectCreate({} bytes)", bytes));
}

Texture::~Texture() {
  if (handle_ != 0) driver_->tex_object_destroy(handle_);
}

}  // namespace gputopo::cuda
