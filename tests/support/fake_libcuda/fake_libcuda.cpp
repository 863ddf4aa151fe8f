// A fake driver library for tests: a small GPU that runs the generated PTX on the host and misbehaves as
// GPUTOPO_FAKE_CUDA says:
//   no_device, old_driver, no_permission, mismatch, busy    cuInit or opening a context fails
//   bad_ptx                                                 the compiler refuses every module, with a log
//   out_of_memory=N                                         the N-th allocation (from 1) fails
//   no_pinned_memory                                        the host has no pinned memory for the GPU
//   illegal_address, launch_failed, lost                    every kernel ends with this error
//   lost_after=N                                            the N-th kernel and all calls after it report a lost device
//   crowded                                                 once, the first two blocks of a launch share one SM
//   old_gpu, kepler                                         the compute capability is 6.0, 3.5
//   uuid=N                                                  the last byte of the UUID is N
//   gpus=N                                                  N GPUs with peer access
//   second_is_busy                                          there are two GPUs, and the second gives no context
//   bent_link                                               there are two GPUs, and copies between them are lost
//   slow                                                    the SM clock is half of its normal rate
//   leak_report=FILE                                        releasing the context writes the remaining allocations
// GPUTOPO_FAKE_FIRST_NUMA_ID=N: the memory of GPU i is NUMA node N + i, and its nearest host node is node i.
#include <elf.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/driver_api.h"
#include "ptx_machine.h"
#include "support/by_ends.h"
#include "support/hostile_call.h"

namespace {

using namespace gputopo::cuda;

constexpr int kSmCount = 4;
constexpr std::size_t kMemoryBytes = 1ull << 30;

struct FakeModule {
  fake_cuda::Program program;
};

struct FakeLink {
  std::string ptx;
  std::string image;
};

struct FakeFunction {
  FakeModule* module;
  const fake_cuda::Kernel* kernel;
};

struct State {
  std::map<DevicePointer, std::size_t> allocations;
  std::set<void*> pinned;  // host memory
  std::map<void*, std::unique_ptr<FakeModule>> modules;
  std::map<void*, std::unique_ptr<FakeFunction>> functions;
  std::map<void*, std::unique_ptr<FakeLink>> links;
  fake_cuda::Machine machine;
  int allocation_count = 0;
  int launch_count = 0;
  bool crowded_once = false;
  TextureHandle next_texture = 1;
  std::size_t l2_fetch_bytes = 64;
  Status pending = kSuccess;  // reported by the next synchronization and all later calls
};

State& state() {
  static State instance;
  return instance;
}

std::string setting(const std::string& name) {
  const char* text = std::getenv("GPUTOPO_FAKE_CUDA");
  const std::string settings = text == nullptr ? "" : text;
  if (settings.rfind(name, 0) != 0) return {};
  if (settings.size() == name.size()) return "1";
  return settings[name.size()] == '=' ? settings.substr(name.size() + 1) : "";
}

thread_local ContextHandle t_current_context = nullptr;

// Several threads may compile at once.
std::mutex& links_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool is(const std::string& name) { return !setting(name).empty(); }

int gpu_count() {
  if (is("second_is_busy") || is("bent_link")) return 2;
  return is("gpus") ? std::atoi(setting("gpus").c_str()) : 1;
}

bool allocated(std::uint64_t address, std::size_t bytes) {
  if (address + bytes < address) return false;
  const auto& allocations = state().allocations;
  auto found = allocations.upper_bound(address);
  if (found != allocations.begin()) {
    --found;
    if (address + bytes <= found->first + found->second) return true;
  }
  for (const auto& [key, module] : state().modules) {
    const auto bank = reinterpret_cast<std::uint64_t>(module->program.constant_bank.data());
    if (address >= bank && address + bytes <= bank + module->program.constant_bank.size()) return true;
  }
  return false;
}

// Small if there are several GPUs: measurements of their links use all memory that is free.
std::size_t most_bytes() {
  constexpr std::size_t kLittle = 96u << 20;
  return gpu_count() > 1 ? kLittle : kMemoryBytes;
}

enum class Part { kWhole, kEnds };  // kEnds: for transfers over links

Status copy(void* to, const void* from, std::size_t bytes, bool to_device, bool from_device, Part part = Part::kWhole) {
  if (state().pending != kSuccess) return state().pending;
  if (to_device && !allocated(reinterpret_cast<std::uint64_t>(to), bytes)) return kErrorIllegalAddress;
  if (from_device && !allocated(reinterpret_cast<std::uint64_t>(from), bytes)) return kErrorIllegalAddress;
  const auto move = [&](std::uint64_t begin, std::uint64_t count) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, count);
  };
  constexpr std::size_t kMostWhole = 128u << 20;  // link measurements copy pageable memory by the same call as results
  if (part == Part::kEnds || bytes > kMostWhole) {
    gputopo::test::by_ends(bytes, move);
  } else {
    move(0, bytes);
  }
  return kSuccess;
}

// Shortens the kernels that stream over links: the parameters then name fewer bytes, at the end of the range.
struct ShortStream {
  DevicePointer memory = 0;
  std::uint64_t bytes = 0;
  std::vector<void*> parameters;
};
ShortStream shortened(void** parameters) {
  constexpr std::uint64_t kMost = 64u << 10;
  ShortStream stream{.memory = *static_cast<DevicePointer*>(parameters[0]),
                     .bytes = *static_cast<std::uint64_t*>(parameters[1]),
                     .parameters = std::vector<void*>(parameters, parameters + 5)};
  if (stream.bytes > kMost) {
    stream.memory += stream.bytes - kMost;
    stream.bytes = kMost;
  }
  return stream;
}

constexpr std::size_t kInstructionBytes = 16;

// An ELF file with a section ".text.KERNEL" for each kernel. The section size is that of the kernel's instructions,
// and the PTX text follows the section table.
std::string image_of(const std::string& ptx) {
  const fake_cuda::Program program = fake_cuda::parse(ptx);
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> sections(1);
  for (const auto& [name, kernel] : program.kernels) {
    Elf64_Shdr& section = sections.emplace_back();
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_size = kInstructionBytes * kernel.code.size();
    names += ".text." + name + '\0';
  }
  sections.emplace_back().sh_offset = sizeof(Elf64_Ehdr);
  sections.back().sh_size = names.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof(header) + names.size();
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  std::string image(reinterpret_cast<const char*>(&header), sizeof(header));
  image += names;
  image.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  header.e_flags = static_cast<Elf64_Word>(image.size());  // offset of the PTX text, for cuModuleLoadDataEx
  std::memcpy(image.data(), &header, sizeof(header));
  return image + ptx + '\0';
}

std::string text_of(const char* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return image;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return image + header.e_flags;
}

// Writes `problem` into the caller's log buffer.
Status refuse(const std::string& problem, unsigned count, const JitOption* options, void** values) {
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == JitOption::kErrorLogBuffer) std::strcpy(static_cast<char*>(values[i]), problem.c_str());
  }
  return 218;
}

}  // namespace

extern "C" {

Status cuInit(unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (is("no_device")) return kErrorNoDevice;
  if (is("old_driver")) return kErrorInsufficientDriver;
  if (is("no_permission")) return kErrorOperatingSystem;
  if (is("mismatch")) return kErrorSystemDriverMismatch;
  return kSuccess;
}

Status cuDriverGetVersion(int* version) {
  GPUTOPO_MAY_BE_HOSTILE(version);
  *version = is("old_driver") ? 8000 : 13000;
  return kSuccess;
}

Status cuGetErrorName(Status status, const char** name) {
  GPUTOPO_MAY_BE_HOSTILE(name);
  static const std::map<Status, const char*> names = {
      {kErrorOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kErrorInsufficientDriver, "CUDA_ERROR_INSUFFICIENT_DRIVER"},
      {kErrorDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {kErrorNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {kErrorOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM"},
      {kErrorIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kErrorLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kErrorSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
  };
  const auto found = names.find(status);
  *name = found == names.end() ? nullptr : found->second;
  return *name == nullptr ? 1 : kSuccess;
}

Status cuGetErrorString(Status status, const char** text) {
  GPUTOPO_MAY_BE_HOSTILE(text);
  *text = "as the fake driver was told";
  return status == kSuccess ? 1 : kSuccess;
}

Status cuDeviceGetCount(int* count) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  *count = gpu_count();
  return kSuccess;
}

Status cuDeviceGet(DeviceHandle* device, int ordinal) {
  GPUTOPO_MAY_BE_HOSTILE(device);
  *device = ordinal;
  return ordinal >= 0 && ordinal < gpu_count() ? kSuccess : kErrorInvalidDevice;
}

Status cuDeviceGetName(char* name, int bytes, DeviceHandle) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{name, static_cast<std::size_t>(bytes)});
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes));
  return kSuccess;
}

Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceHandle device) {
  GPUTOPO_MAY_BE_HOSTILE(value);
  if (const char* const first = std::getenv("GPUTOPO_FAKE_FIRST_NUMA_ID"); first != nullptr) {
    const std::map<DeviceAttribute, int> numa = {{DeviceAttribute::kNumaConfig, 1},
                                                 {DeviceAttribute::kNumaId, std::atoi(first) + device},
                                                 {DeviceAttribute::kHostNumaId, device}};
    if (const auto told = numa.find(attribute); told != numa.end()) {
      *value = told->second;
      return kSuccess;
    }
  }
  if (const char* const mps = std::getenv("GPUTOPO_FAKE_MPS");
      mps != nullptr && attribute == DeviceAttribute::kMpsEnabled) {
    *value = std::atoi(mps);
    return kSuccess;
  }
  static const std::map<DeviceAttribute, int> values = {
      {DeviceAttribute::kMaxThreadsPerBlock, 1024},
      {DeviceAttribute::kMaxGridX, 0x7fffffff},
      {DeviceAttribute::kMaxGridY, 65535},
      {DeviceAttribute::kMaxGridZ, 65535},
      {DeviceAttribute::kComputeMode, 3},
      {DeviceAttribute::kEccEnabled, 1},
      {DeviceAttribute::kSharedBytesPerBlock, 48 * 1024},
      {DeviceAttribute::kConstantBytes, 64 * 1024},
      {DeviceAttribute::kWarpSize, 32},
      {DeviceAttribute::kRegistersPerBlock, 65536},
      {DeviceAttribute::kClockKhz, 1'500'000},
      {DeviceAttribute::kSmCount, kSmCount},
      {DeviceAttribute::kMemoryClockKhz, 2'000'000},
      {DeviceAttribute::kMemoryBusBits, 256},
      {DeviceAttribute::kL2Bytes, 4 << 20},
      {DeviceAttribute::kMaxThreadsPerSm, 2048},
      {DeviceAttribute::kMaxLinearTexels, 1 << 27},
      {DeviceAttribute::kComputeCapabilityMajor, 9},
      {DeviceAttribute::kComputeCapabilityMinor, 0},
      {DeviceAttribute::kGlobalL1Supported, 1},
      {DeviceAttribute::kHostNativeAtomicSupported, 0},
      {DeviceAttribute::kIntegrated, 0},
      {DeviceAttribute::kSharedBytesPerSm, 228 * 1024},
      {DeviceAttribute::kRegistersPerSm, 65536},
      {DeviceAttribute::kSharedBytesPerBlockOptIn, 227 * 1024},
      {DeviceAttribute::kMaxBlocksPerSm, 32},
      {DeviceAttribute::kMaxPersistingL2Bytes, 1 << 20},
      {DeviceAttribute::kReservedSharedBytesPerBlock, 1024},
  };
  const auto found = values.find(attribute);
  if (found == values.end()) return 1;
  *value = found->second;
  if (attribute == DeviceAttribute::kComputeCapabilityMajor && is("old_gpu")) *value = 6;
  if (attribute == DeviceAttribute::kComputeCapabilityMajor && is("kepler")) *value = 3;
  if (attribute == DeviceAttribute::kComputeCapabilityMinor && is("kepler")) *value = 5;
  return kSuccess;
}

Status cuDeviceTotalMem_v2(std::size_t* bytes, DeviceHandle) {
  GPUTOPO_MAY_BE_HOSTILE(bytes);
  *bytes = kMemoryBytes;
  return kSuccess;
}

Status cuDeviceGetPCIBusId(char* text, int bytes, DeviceHandle device) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{text, static_cast<std::size_t>(bytes)});
  const std::string address = "0000:" + std::string(device == 0 ? "0f" : "1" + std::to_string(device)) + ":00.0";
  std::strncpy(text, address.c_str(), static_cast<std::size_t>(bytes));
  return kSuccess;
}

Status cuDeviceGetUuid_v2(Uuid* uuid, DeviceHandle device) {
  GPUTOPO_MAY_BE_HOSTILE(uuid);
  *uuid = {};
  uuid->bytes[0] = static_cast<unsigned char>(device);
  uuid->bytes[15] = static_cast<unsigned char>(std::atoi(setting("uuid").c_str()));
  return kSuccess;
}

Status cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceHandle device) {
  GPUTOPO_MAY_BE_HOSTILE(context);
  if (is("busy") || (is("second_is_busy") && device == 1)) return kErrorDeviceUnavailable;
  state().allocation_count = 0;
  state().launch_count = 0;
  state().crowded_once = false;
  state().pending = kSuccess;
  *context = reinterpret_cast<ContextHandle>(&state());
  return kSuccess;
}

Status cuDevicePrimaryCtxRelease_v2(DeviceHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (const std::string path = setting("leak_report"); !path.empty()) {
    std::ofstream(path) << "allocations " << state().allocations.size() + state().pinned.size() << " modules "
                        << state().modules.size() << " textures " << state().machine.textures.size() << "\n";
  }
  return kSuccess;
}

Status cuCtxSetCurrent(ContextHandle context) {
  GPUTOPO_MAY_BE_HOSTILE();
  t_current_context = context;
  return kSuccess;
}
// Called by test programs with a context of their own, not by gputopo.
Status cuCtxGetCurrent(ContextHandle* context) {
  *context = t_current_context;
  return kSuccess;
}
Status cuCtxSynchronize() {
  GPUTOPO_MAY_BE_HOSTILE();
  return state().pending;
}

// An event is the time of its recording, because kernels run during the launch call.
Status cuEventCreate(EventHandle* event, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(event);
  *event = reinterpret_cast<EventHandle>(new std::chrono::steady_clock::time_point);
  return kSuccess;
}
Status cuEventRecord(EventHandle event, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  *reinterpret_cast<std::chrono::steady_clock::time_point*>(event) = std::chrono::steady_clock::now();
  return kSuccess;
}
Status cuEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  GPUTOPO_MAY_BE_HOSTILE(milliseconds);
  const std::chrono::duration<float, std::milli> spent =
      *reinterpret_cast<std::chrono::steady_clock::time_point*>(end) -
      *reinterpret_cast<std::chrono::steady_clock::time_point*>(begin);
  *milliseconds = spent.count();
  return kSuccess;
}
Status cuEventDestroy_v2(EventHandle event) {
  GPUTOPO_MAY_BE_HOSTILE();
  delete reinterpret_cast<std::chrono::steady_clock::time_point*>(event);
  return kSuccess;
}

// ---- Several GPUs, and the host ----

Status cuDeviceCanAccessPeer(int* reaches, DeviceHandle, DeviceHandle) {
  GPUTOPO_MAY_BE_HOSTILE(reaches);
  *reaches = 1;
  return kSuccess;
}
Status cuDeviceGetP2PAttribute(int* value, PeerAttribute, DeviceHandle, DeviceHandle) {
  GPUTOPO_MAY_BE_HOSTILE(value);
  *value = 1;
  return kSuccess;
}
Status cuCtxEnablePeerAccess(ContextHandle, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
Status cuStreamCreate(StreamHandle* stream, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(stream);
  *stream = reinterpret_cast<StreamHandle>(new int);
  return kSuccess;
}
Status cuStreamSynchronize(StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return state().pending;
}
Status cuStreamDestroy_v2(StreamHandle stream) {
  GPUTOPO_MAY_BE_HOSTILE();
  delete reinterpret_cast<int*>(stream);
  return kSuccess;
}
// Queued work runs at once, without waiting.
Status cuStreamWaitValue32_v2(StreamHandle, DevicePointer, std::uint32_t, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
// Host memory has the same address for all GPUs.
Status cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (is("no_pinned_memory") || bytes > most_bytes()) return kErrorOutOfMemory;
  state().allocations[reinterpret_cast<DevicePointer>(address)] = bytes;
  return kSuccess;
}
Status cuMemHostUnregister(void* address) {
  GPUTOPO_MAY_BE_HOSTILE();
  return state().allocations.erase(reinterpret_cast<DevicePointer>(address)) == 1 ? kSuccess : 1;
}
Status cuMemHostGetDevicePointer_v2(DevicePointer* pointer, void* address, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(pointer);
  *pointer = reinterpret_cast<DevicePointer>(address);
  return kSuccess;
}
Status cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return copy(reinterpret_cast<void*>(to), from, bytes, true, false, Part::kEnds);
}
Status cuMemcpyPeerAsync(DevicePointer to, ContextHandle, DevicePointer from, ContextHandle, std::size_t bytes,
                         StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (is("bent_link")) return kSuccess;
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, true, true, Part::kEnds);
}

Status cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  GPUTOPO_MAY_BE_HOSTILE(free_bytes, total_bytes);
  *free_bytes = kMemoryBytes;
  *total_bytes = kMemoryBytes;
  return kSuccess;
}

Status cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE(address);
  if (state().pending != kSuccess) return state().pending;
  const std::string failing = setting("out_of_memory");
  if (++state().allocation_count == std::atoi(failing.c_str()) || bytes > most_bytes()) return kErrorOutOfMemory;
  *address = reinterpret_cast<DevicePointer>(std::calloc(1, bytes));
  state().allocations[*address] = bytes;
  return kSuccess;
}

Status cuMemFree_v2(DevicePointer address) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (state().allocations.erase(address) == 0) return 1;
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}

Status cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(address);
  if (state().pending != kSuccess) return state().pending;
  if (is("no_pinned_memory")) return kErrorOutOfMemory;
  *address = std::malloc(bytes);
  state().pinned.insert(*address);
  return kSuccess;
}

Status cuMemFreeHost(void* address) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (state().pinned.erase(address) == 0) return 1;
  std::free(address);
  return kSuccess;
}

Status cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE();
  return copy(reinterpret_cast<void*>(to), from, bytes, true, false);
}
Status cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{static_cast<char*>(to), bytes});
  return copy(to, reinterpret_cast<const void*>(from), bytes, false, true);
}
// Kernels run during the launch call, so there is nothing to queue.
Status cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{static_cast<char*>(to), bytes});
  return copy(to, reinterpret_cast<const void*>(from), bytes, false, true, Part::kEnds);
}
Status cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE();
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, true, true);
}

Status cuMemsetD8_v2(DevicePointer address, unsigned char value, std::size_t bytes) {
  GPUTOPO_MAY_BE_HOSTILE();
  if (state().pending != kSuccess) return state().pending;
  if (!allocated(address, bytes)) return kErrorIllegalAddress;
  std::memset(reinterpret_cast<void*>(address), value, bytes);
  return kSuccess;
}

Status cuModuleLoadDataEx(ModuleHandle* handle, const void* image, unsigned count, JitOption* options, void** values) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  if (state().pending != kSuccess) return state().pending;
  std::string problem;
  if (is("bad_ptx")) problem = "ptxas fatal : told to fail\nsecond line";
  auto module = std::make_unique<FakeModule>();
  try {
    module->program = fake_cuda::parse(text_of(static_cast<const char*>(image)));
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) return refuse(problem, count, options, values);
  *handle = reinterpret_cast<ModuleHandle>(module.get());
  state().modules[*handle] = std::move(module);
  return kSuccess;
}

Status cuLinkCreate_v2(unsigned count, JitOption* options, void** values, LinkHandle* handle) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  if (state().pending != kSuccess) return state().pending;
  if (is("bad_ptx")) return refuse("ptxas fatal : told to fail", count, options, values);
  auto link = std::make_unique<FakeLink>();
  const std::scoped_lock lock(links_mutex());
  *handle = reinterpret_cast<LinkHandle>(link.get());
  state().links[*handle] = std::move(link);
  return kSuccess;
}

Status cuLinkAddData_v2(LinkHandle handle, JitInput, void* data, std::size_t bytes, const char*, unsigned, JitOption*,
                        void**) {
  GPUTOPO_MAY_BE_HOSTILE();
  const std::scoped_lock lock(links_mutex());
  state().links.at(handle)->ptx.assign(static_cast<const char*>(data), bytes - 1);
  return kSuccess;
}

Status cuLinkComplete(LinkHandle handle, void** image, std::size_t* bytes) {
  GPUTOPO_MAY_BE_HOSTILE(image, bytes);
  const std::scoped_lock lock(links_mutex());
  FakeLink& link = *state().links.at(handle);
  try {
    link.image = image_of(link.ptx);
  } catch (const std::exception&) {
    return 218;
  }
  *image = link.image.data();
  *bytes = link.image.size();
  return kSuccess;
}

Status cuLinkDestroy(LinkHandle handle) {
  GPUTOPO_MAY_BE_HOSTILE();
  const std::scoped_lock lock(links_mutex());
  return state().links.erase(handle) == 1 ? kSuccess : 400;
}

Status cuModuleUnload(ModuleHandle handle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return state().modules.erase(handle) == 1 ? kSuccess : 400;
}

Status cuModuleGetFunction(FunctionHandle* handle, ModuleHandle module, const char* name) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  auto& owner = *state().modules.at(module);
  const auto found = owner.program.kernels.find(name);
  if (found == owner.program.kernels.end()) return 500;
  auto function = std::make_unique<FakeFunction>(FakeFunction{&owner, &found->second});
  *handle = reinterpret_cast<FunctionHandle>(function.get());
  state().functions[*handle] = std::move(function);
  return kSuccess;
}

Status cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* bytes, ModuleHandle module, const char*) {
  GPUTOPO_MAY_BE_HOSTILE(address, bytes);
  auto& bank = state().modules.at(module)->program.constant_bank;
  *address = reinterpret_cast<DevicePointer>(bank.data());
  *bytes = bank.size();
  return kSuccess;
}

Status cuCtxGetLimit(std::size_t* value, ContextLimit limit) {
  GPUTOPO_MAY_BE_HOSTILE(value);
  if (limit == ContextLimit::kL2FetchGranularity) *value = state().l2_fetch_bytes;
  return kSuccess;
}

Status cuCtxSetLimit(ContextLimit, std::size_t value) {
  GPUTOPO_MAY_BE_HOSTILE();
  state().l2_fetch_bytes = value;
  return kSuccess;
}

Status cuFuncSetSharedMemConfig(FunctionHandle, SharedConfig) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}

Status cuFuncSetCacheConfig(FunctionHandle, CacheConfig) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}

Status cuFuncGetAttribute(int* value, FunctionAttribute, FunctionHandle) {
  GPUTOPO_MAY_BE_HOSTILE(value);
  constexpr int kRegisters = 32;
  *value = kRegisters;
  return kSuccess;
}
Status cuFuncSetAttribute(FunctionHandle, FunctionAttribute, int) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}

Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int, std::size_t) {
  GPUTOPO_MAY_BE_HOSTILE(blocks);
  *blocks = 2;
  return kSuccess;
}

Status cuLaunchKernel(FunctionHandle handle, unsigned x, unsigned y, unsigned, unsigned threads, unsigned, unsigned,
                      unsigned shared_bytes, StreamHandle, void** parameters, void**) {
  GPUTOPO_MAY_BE_HOSTILE();
  State& now = state();
  if (now.pending != kSuccess) return now.pending;
  ++now.launch_count;
  if (is("illegal_address")) now.pending = kErrorIllegalAddress;
  if (is("launch_failed")) now.pending = kErrorLaunchFailed;
  if (is("lost")) now.pending = kErrorDeviceUnavailable;
  if (const std::string n = setting("lost_after"); !n.empty() && now.launch_count >= std::atoi(n.c_str())) {
    now.pending = kErrorDeviceUnavailable;
  }
  if (now.pending != kSuccess) return kSuccess;
  const FakeFunction& function = *now.functions.at(handle);
  const bool crowd = is("crowded") && !now.crowded_once && x > 1 && function.kernel->name == "chase";
  now.crowded_once = now.crowded_once || crowd;
  now.machine.sm_of_block = [crowd](unsigned block) { return crowd && block == 1 ? 0u : block % kSmCount; };
  now.machine.cycles_per_microsecond = is("slow") ? 750 : 1500;
  now.machine.check_global = [](std::uint64_t address, std::size_t bytes) {
    if (!allocated(address, bytes)) throw fake_cuda::AddressError("not allocated");
  };
  try {
    // Blocks of these kernels wait for one another, so all of them must run at the same time.
    const std::string& name = function.kernel->name;
    const bool accesses = name.starts_with("load_") || name.starts_with("store_") || name.starts_with("atomic_");
    // The blocks of a chase whose tasks name several SMs take turns.
    const bool several_sms = name == "chase" && *static_cast<const std::uint32_t*>(parameters[2]) > 1;
    const bool together = name == "code" || name == "lead_code" || name.ends_with("_jumps") || accesses ||
                          several_sms || name.starts_with("operation_");
    // The device runs "spin" to look for other processes, between the kernels whose counts the tests read.
    now.machine.counts = name != "spin";
    ShortStream stream;
    if (name == "read" || name == "write") {
      stream = shortened(parameters);
      stream.parameters[0] = &stream.memory;
      stream.parameters[1] = &stream.bytes;
      parameters = stream.parameters.data();
    }
    now.machine.run(function.module->program, *function.kernel, {x, y, threads, shared_bytes, together}, parameters);
  } catch (const fake_cuda::AddressError&) {
    now.pending = kErrorIllegalAddress;
  } catch (const std::exception&) {
    now.pending = kErrorLaunchFailed;
  }
  return kSuccess;
}

// A graph holds only kernels that do nothing, so launching it runs nothing.
Status cuGraphCreate(GraphHandle* graph, unsigned) {
  GPUTOPO_MAY_BE_HOSTILE(graph);
  *graph = reinterpret_cast<GraphHandle>(1);
  return kSuccess;
}
Status cuGraphAddKernelNode_v2(GraphNodeHandle* node, GraphHandle, const GraphNodeHandle*, std::size_t,
                               const GraphKernel*) {
  GPUTOPO_MAY_BE_HOSTILE(node);
  *node = reinterpret_cast<GraphNodeHandle>(1);
  return kSuccess;
}
Status cuGraphInstantiateWithFlags(GraphExecHandle* executable, GraphHandle, unsigned long long) {
  GPUTOPO_MAY_BE_HOSTILE(executable);
  *executable = reinterpret_cast<GraphExecHandle>(1);
  return kSuccess;
}
Status cuGraphLaunch(GraphExecHandle, StreamHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
Status cuGraphExecDestroy(GraphExecHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}
Status cuGraphDestroy(GraphHandle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return kSuccess;
}

Status cuTexObjectCreate(TextureHandle* handle, const LinearResource* resource, const TextureDescription*,
                         const void*) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  *handle = state().next_texture++;
  state().machine.textures[*handle] = {resource->address, resource->bytes, resource->channels};
  return kSuccess;
}

Status cuTexObjectDestroy(TextureHandle handle) {
  GPUTOPO_MAY_BE_HOSTILE();
  return state().machine.textures.erase(handle) == 1 ? kSuccess : 400;
}

// For tests: in the run of `words` 4-byte words from the lowest that the last kernel other than "spin" loaded (or
// stored), how many it accessed, and the least and greatest number of accesses to one.
void fakeCudaCoverage(bool stores, std::size_t words, std::size_t* covered, std::uint64_t* least, std::uint64_t* most) {
  const auto& counts = stores ? state().machine.stores_to_word : state().machine.loads_of_word;
  *covered = 0;
  *least = UINT64_MAX;
  *most = 0;
  std::optional<std::uint64_t> first;
  counts.for_each([&](std::uint64_t address, std::uint64_t count) {
    if (!first) first = address;
    if (address >= *first + 4 * words) return;
    ++*covered;
    *least = std::min(*least, count);
    *most = std::max(*most, count);
  });
}

}  // extern "C"
