// The part of AMD's HIP runtime and compiler that gputopo uses, declared here and found at run time in libamdhip64.so
// and libhiprtc.so (ROCm 5 to 7): neither building nor running needs ROCm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "device/driver/driver_call.h"

namespace gputopo::hip {

using Status = int;         // hipError_t
using CompileStatus = int;  // hiprtcResult
using Pointer = void*;      // device memory
using ModuleHandle = struct ModuleOpaque*;
using FunctionHandle = struct FunctionOpaque*;
using StreamHandle = struct StreamOpaque*;
using EventHandle = struct EventOpaque*;
using GraphHandle = struct GraphOpaque*;
using GraphNodeHandle = struct GraphNodeOpaque*;
using GraphExecHandle = struct GraphExecOpaque*;
using ProgramHandle = struct ProgramOpaque*;

// The values of hipError_t that gputopo distinguishes.
inline constexpr Status kSuccess = 0;
inline constexpr Status kErrorOutOfMemory = 2;
inline constexpr Status kErrorNotInitialized = 3;
inline constexpr Status kErrorDeinitialized = 4;
inline constexpr Status kErrorInsufficientDriver = 35;
inline constexpr Status kErrorNoDevice = 100;
inline constexpr Status kErrorInvalidDevice = 101;
inline constexpr Status kErrorNoBinaryForGpu = 209;
inline constexpr Status kErrorEccNotCorrectable = 214;
inline constexpr Status kErrorIllegalAddress = 700;
inline constexpr Status kErrorLaunchTimeout = 702;
inline constexpr Status kErrorPeerAccessAlreadyEnabled = 704;
inline constexpr Status kErrorContextIsDestroyed = 709;
inline constexpr Status kErrorAssert = 710;
inline constexpr Status kErrorLaunchFailure = 719;
inline constexpr Status kErrorUnknown = 999;

// hipDeviceAttribute_t. Its numbers are the same from ROCm 5 on, unlike the struct of hipGetDeviceProperties.
enum class DeviceAttribute : int {
  kClockKhz = 5,
  kHostNativeAtomicSupported = 15,
  kIntegrated = 16,
  kL2Bytes = 19,
  kMaxThreadsPerBlock = 56,
  kMaxThreadsPerSm = 57,
  kMemoryBusBits = 59,
  kMemoryClockKhz = 60,
  kSmCount = 63,
  kRegistersPerBlock = 71,
  kRegistersPerSm = 72,
  kSharedBytesPerBlock = 74,
  kWarpSize = 87,
  kSharedBytesPerSm = 10002,
  kWallClockKhz = 10017,
  kXccCount = 10018,  // ROCm 6.2 and later
};

// hipDeviceP2PAttr.
enum class PeerAttribute : int { kNativeAtomicSupported = 2 };

// hsa_amd_event_t of libhsa-runtime64: the kind of event and, for a memory fault, its address. Others differ.
enum class SystemEventType : std::uint32_t { kMemoryFault = 0, kHardwareException = 1 };
struct SystemEvent {
  SystemEventType type;
  std::uint64_t agent;
  std::uint64_t address;
  std::uint32_t reasons;
};

// Functions as (member, symbol, type). Each is in every version from ROCm 5.0 on.
#define GPUTOPO_HIP_FUNCTIONS(X)                                                                                  \
  X(init, "hipInit", Status(unsigned flags))                                                                      \
  X(runtime_get_version, "hipRuntimeGetVersion", Status(int* version))                                            \
  X(get_error_name, "hipGetErrorName", const char*(Status))                                                       \
  X(get_error_string, "hipGetErrorString", const char*(Status))                                                   \
  X(get_device_count, "hipGetDeviceCount", Status(int* count))                                                    \
  X(set_device, "hipSetDevice", Status(int ordinal))                                                              \
  X(device_get_name, "hipDeviceGetName", Status(char* name, int bytes, int ordinal))                              \
  X(device_get_pci_bus_id, "hipDeviceGetPCIBusId", Status(char* address, int bytes, int ordinal))                 \
  X(device_get_attribute, "hipDeviceGetAttribute", Status(int* value, DeviceAttribute, int ordinal))              \
  X(mem_get_info, "hipMemGetInfo", Status(std::size_t* free_bytes, std::size_t* total_bytes))                     \
  X(malloc, "hipMalloc", Status(Pointer* address, std::size_t bytes))                                             \
  X(free, "hipFree", Status(Pointer))                                                                             \
  X(memcpy_htod, "hipMemcpyHtoD", Status(Pointer to, void* from, std::size_t bytes))                              \
  X(memcpy_dtoh, "hipMemcpyDtoH", Status(void* to, Pointer from, std::size_t bytes))                              \
  X(memset, "hipMemset", Status(Pointer, int value, std::size_t bytes))                                           \
  X(module_load_data, "hipModuleLoadData", Status(ModuleHandle*, const void* image))                              \
  X(module_unload, "hipModuleUnload", Status(ModuleHandle))                                                       \
  X(module_get_function, "hipModuleGetFunction", Status(FunctionHandle*, ModuleHandle, const char* name))         \
  X(launch_kernel, "hipModuleLaunchKernel",                                                                       \
    Status(FunctionHandle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
           unsigned block_z, unsigned shared_bytes, StreamHandle, void** parameters, void** extra))               \
  X(device_synchronize, "hipDeviceSynchronize", Status())                                                         \
  X(occupancy_max_active_blocks, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",                            \
    Status(int* blocks, FunctionHandle, int threads, std::size_t shared_bytes))

// Null if neither the runtime nor a library that it is linked with has them.
#define GPUTOPO_HIP_OPTIONAL_FUNCTIONS(X)                                                                           \
  X(stream_create_with_cu_mask, "hipExtStreamCreateWithCUMask",                                                     \
    Status(StreamHandle*, std::uint32_t words, const std::uint32_t* mask))                                          \
  X(stream_destroy, "hipStreamDestroy", Status(StreamHandle))                                                       \
  X(stream_create, "hipStreamCreateWithFlags", Status(StreamHandle*, unsigned flags))                               \
  X(stream_wait_value, "hipStreamWaitValue32",                                                                      \
    Status(StreamHandle, void* word, std::uint32_t value, unsigned flags, std::uint32_t mask))                      \
  X(event_create, "hipEventCreateWithFlags", Status(EventHandle*, unsigned flags))                                  \
  X(event_record, "hipEventRecord", Status(EventHandle, StreamHandle))                                              \
  X(event_elapsed_time, "hipEventElapsedTime", Status(float* milliseconds, EventHandle from, EventHandle to))       \
  X(event_destroy, "hipEventDestroy", Status(EventHandle))                                                          \
  X(memcpy_htod_async, "hipMemcpyHtoDAsync", Status(Pointer to, void* from, std::size_t bytes, StreamHandle))       \
  X(memcpy_dtoh_async, "hipMemcpyDtoHAsync", Status(void* to, Pointer from, std::size_t bytes, StreamHandle))       \
  X(memcpy_peer_async, "hipMemcpyPeerAsync",                                                                        \
    Status(Pointer to, int to_ordinal, const void* from, int from_ordinal, std::size_t bytes, StreamHandle))        \
  X(ext_malloc_with_flags, "hipExtMallocWithFlags", Status(Pointer*, std::size_t bytes, unsigned flags))            \
  X(host_register, "hipHostRegister", Status(void*, std::size_t bytes, unsigned flags))                             \
  X(host_unregister, "hipHostUnregister", Status(void*))                                                            \
  X(host_get_device_pointer, "hipHostGetDevicePointer", Status(Pointer*, void* host, unsigned flags))               \
  X(device_can_access_peer, "hipDeviceCanAccessPeer", Status(int* answer, int ordinal, int peer))                   \
  X(device_enable_peer_access, "hipDeviceEnablePeerAccess", Status(int peer, unsigned flags))                       \
  X(device_get_p2p_attribute, "hipDeviceGetP2PAttribute", Status(int* value, PeerAttribute, int ordinal, int peer)) \
  X(stream_begin_capture, "hipStreamBeginCapture", Status(StreamHandle, int mode))                                  \
  X(stream_end_capture, "hipStreamEndCapture", Status(StreamHandle, GraphHandle*))                                  \
  X(graph_instantiate, "hipGraphInstantiate",                                                                       \
    Status(GraphExecHandle*, GraphHandle, GraphNodeHandle* failed, char* log, std::size_t bytes))                   \
  X(graph_launch, "hipGraphLaunch", Status(GraphExecHandle, StreamHandle))                                          \
  X(graph_exec_destroy, "hipGraphExecDestroy", Status(GraphExecHandle))                                             \
  X(graph_destroy, "hipGraphDestroy", Status(GraphHandle))                                                          \
  X(register_system_event_handler, "hsa_amd_register_system_event_handler",                                         \
    int(int (*)(const SystemEvent*, void* data), void* data))

#define GPUTOPO_HIPRTC_FUNCTIONS(X)                                                                                   \
  X(create_program, "hiprtcCreateProgram",                                                                            \
    CompileStatus(ProgramHandle*, const char* source, const char* name, int headers, const char* const* header_texts, \
                  const char* const* header_names))                                                                   \
  X(compile_program, "hiprtcCompileProgram", CompileStatus(ProgramHandle, int options, const char* const* texts))     \
  X(get_log_size, "hiprtcGetProgramLogSize", CompileStatus(ProgramHandle, std::size_t* bytes))                        \
  X(get_log, "hiprtcGetProgramLog", CompileStatus(ProgramHandle, char* log))                                          \
  X(get_code_size, "hiprtcGetCodeSize", CompileStatus(ProgramHandle, std::size_t* bytes))                             \
  X(get_code, "hiprtcGetCode", CompileStatus(ProgramHandle, char* code))                                              \
  X(destroy_program, "hiprtcDestroyProgram", CompileStatus(ProgramHandle*))                                           \
  X(compile_error_string, "hiprtcGetErrorString", const char*(CompileStatus))

// The functions of the libraries. Their failures become exceptions.
class Runtime {
 public:
  // Throws DeviceError if a library is missing or lacks a function, or hipInit refuses. GPUTOPO_LIBAMDHIP64 and
  // GPUTOPO_LIBHIPRTC replace the libraries' paths.
  static std::shared_ptr<const Runtime> load();

  // Throws DeviceMemoryError, DeviceLostError or DeviceError unless `status` is kSuccess. `call` reads as a programmer
  // would write it: "hipMalloc(1024)".
  void check(Status status, const std::string& call) const;
  // Throws DeviceError if the compiler would end the process instead of compiling for the target.
  void check_compiler(const std::string& target) const;
  // Compiles HIP source into a code object for the target. Throws DeviceError with the compiler's log.
  [[nodiscard]] std::string compile(const std::string& source, const std::string& target) const;
  [[nodiscard]] std::string device_name(int ordinal) const;
  [[nodiscard]] std::string pci_address(int ordinal) const;  // lower case; empty when unknown
  // "HIP 6.4": the runtime's version.
  [[nodiscard]] std::string version_text() const;

#define GPUTOPO_MEMBER(member, symbol, ...) DriverFunction<__VA_ARGS__> member;
  GPUTOPO_HIP_FUNCTIONS(GPUTOPO_MEMBER)
  GPUTOPO_HIP_OPTIONAL_FUNCTIONS(GPUTOPO_MEMBER)
  GPUTOPO_HIPRTC_FUNCTIONS(GPUTOPO_MEMBER)
#undef GPUTOPO_MEMBER

 private:
  Runtime() = default;
  std::string compiler_path_;
};

// Whether libamdhip64 can be loaded at all.
[[nodiscard]] bool runtime_present();
// Whether AMD's kernel driver is present, without which no runtime is loaded.
[[nodiscard]] bool kernel_driver_present();
// A process that uses AMD GPUs has loaded one of these libraries.
[[nodiscard]] std::vector<std::string> runtime_libraries();

// Device memory.
class Memory {
 public:
  Memory() = default;
  Memory(std::shared_ptr<const Runtime> runtime, std::uint64_t bytes);
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(address_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept;
  std::shared_ptr<const Runtime> runtime_;
  Pointer address_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// A loaded code object.
class Module {
 public:
  Module(std::shared_ptr<const Runtime> runtime, const std::string& code);
  Module(Module&& other) noexcept
      : runtime_(std::move(other.runtime_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Module& operator=(Module&&) = delete;
  ~Module();
  [[nodiscard]] FunctionHandle function(const char* name) const;

 private:
  std::shared_ptr<const Runtime> runtime_;
  ModuleHandle handle_ = nullptr;
};

}  // namespace gputopo::hip
