// The part of NVIDIA's driver interface that gputopo uses, declared here and found at run time in libcuda.so.1: neither
// building nor running needs the CUDA toolkit. tests/unit/cuda_declarations_test.cpp compares it with cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/driver/driver_call.h"

namespace gputopo::cuda {

using Status = int;                   // CUresult
using DeviceHandle = int;             // CUdevice
using DevicePointer = std::uint64_t;  // CUdeviceptr
using TextureHandle = std::uint64_t;  // CUtexObject
using ContextHandle = struct ContextOpaque*;
using ModuleHandle = struct ModuleOpaque*;
using FunctionHandle = struct FunctionOpaque*;
using StreamHandle = struct StreamOpaque*;
using EventHandle = struct EventOpaque*;
using LinkHandle = struct LinkOpaque*;
using GraphHandle = struct GraphOpaque*;
using GraphNodeHandle = struct GraphNodeOpaque*;
using GraphExecHandle = struct GraphExecOpaque*;

// The values of CUresult that gputopo distinguishes.
inline constexpr Status kSuccess = 0;
inline constexpr Status kErrorInvalidValue = 1;
inline constexpr Status kErrorOutOfMemory = 2;
inline constexpr Status kErrorDeinitialized = 4;
inline constexpr Status kErrorStubLibrary = 34;
inline constexpr Status kErrorInsufficientDriver = 35;
inline constexpr Status kErrorDeviceUnavailable = 46;
inline constexpr Status kErrorNoDevice = 100;
inline constexpr Status kErrorInvalidDevice = 101;
inline constexpr Status kErrorEccUncorrectable = 214;
inline constexpr Status kErrorUnsupportedPtxVersion = 222;
inline constexpr Status kErrorOperatingSystem = 304;
inline constexpr Status kErrorIllegalAddress = 700;
inline constexpr Status kErrorLaunchTimeout = 702;
inline constexpr Status kErrorContextIsDestroyed = 709;
inline constexpr Status kErrorAssert = 710;
inline constexpr Status kErrorHardwareStackError = 714;
inline constexpr Status kErrorIllegalInstruction = 715;
inline constexpr Status kErrorMisalignedAddress = 716;
inline constexpr Status kErrorInvalidAddressSpace = 717;
inline constexpr Status kErrorInvalidPc = 718;
inline constexpr Status kErrorLaunchFailed = 719;
inline constexpr Status kErrorSystemNotReady = 802;
inline constexpr Status kErrorSystemDriverMismatch = 803;
inline constexpr Status kErrorCompatNotSupportedOnDevice = 804;
inline constexpr Status kErrorInvalidClusterSize = 912;
inline constexpr Status kErrorUnknown = 999;

// CUdevice_attribute.
enum class DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kSharedBytesPerBlock = 8,
  kConstantBytes = 9,
  kWarpSize = 10,
  kRegistersPerBlock = 12,
  kClockKhz = 13,
  kSmCount = 16,
  kIntegrated = 18,
  kComputeMode = 20,
  kEccEnabled = 32,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kMaxThreadsPerSm = 39,
  kMaxLinearTexels = 69,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kGlobalL1Supported = 79,
  kSharedBytesPerSm = 81,
  kRegistersPerSm = 82,
  kHostNativeAtomicSupported = 86,
  kSharedBytesPerBlockOptIn = 97,
  kMaxBlocksPerSm = 106,
  kMaxPersistingL2Bytes = 108,
  kReservedSharedBytesPerBlock = 111,
  kNumaConfig = 130,
  kNumaId = 131,
  kMpsEnabled = 133,
  kHostNumaId = 134,
};

// CUdevice_P2PAttribute.
enum class PeerAttribute : int { kAccessSupported = 2, kNativeAtomicSupported = 3 };

// CUfunction_attribute.
enum class FunctionAttribute : int {
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
  kPreferredSharedCarveOut = 9,
  kNonPortableClusterSizeAllowed = 14,
};

// CUlimit, CUsharedconfig and CUfunc_cache.
enum class ContextLimit : int { kL2FetchGranularity = 5, kPersistingL2Bytes = 6 };
enum class SharedConfig : int { kDefault = 0, kFourByteBanks = 1, kEightByteBanks = 2 };
enum class CacheConfig : int { kPreferNone = 0, kPreferShared = 1, kPreferL1 = 2, kPreferEqual = 3 };

// CUjit_option.
enum class JitOption : int {
  kErrorLogBuffer = 5,
  kErrorLogBufferSizeBytes = 6,
  kOptimizationLevel = 7,
};

// CUjitInputType.
enum class JitInput : int { kPtx = 1 };

// CUDA_RESOURCE_DESC of a texture over linear memory. In cuda.h this is one case of a union of 128 bytes.
struct LinearResource {
  int type = 2;  // CU_RESOURCE_TYPE_LINEAR
  DevicePointer address = 0;
  int format = 0;  // CUarray_format
  unsigned channels = 0;
  std::size_t bytes = 0;
  int rest_of_union[26] = {};
  unsigned flags = 0;
};
inline constexpr int kFormatSignedInt32 = 10;  // CU_AD_FORMAT_SIGNED_INT32

// CUDA_TEXTURE_DESC.
struct TextureDescription {
  int address_mode[3] = {1, 1, 1};  // CU_TR_ADDRESS_MODE_CLAMP
  int filter_mode = 0;              // CU_TR_FILTER_MODE_POINT
  unsigned flags = 1;               // CU_TRSF_READ_AS_INTEGER
  unsigned max_anisotropy = 0;
  int mipmap_filter_mode = 0;
  float mipmap_level_bias = 0;
  float min_mipmap_level_clamp = 0;
  float max_mipmap_level_clamp = 0;
  float border_colour[4] = {};
  int reserved[12] = {};
};

// CUlaunchAttribute with the number of blocks of a cluster. In cuda.h this is one case of a union of 64 bytes.
struct ClusterDimension {
  int id = 4;  // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
  char padding[4] = {};
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  int rest_of_union[13] = {};
};

// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  const ClusterDimension* attributes = nullptr;
  unsigned attribute_count = 0;
};

// CUDA_KERNEL_NODE_PARAMS_v2.
struct GraphKernel {
  FunctionHandle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;           // instead of the function
  ContextHandle context = nullptr;  // null: the current one
};

struct Uuid {  // CUuuid
  unsigned char bytes[16];
};

// X(name in this struct, name in the library, signature). Versioned names are the 64-bit interfaces since CUDA 3.2.
#define GPUTOPO_CUDA_FUNCTIONS(X)                                                                                      \
  X(init, "cuInit", Status(unsigned))                                                                                  \
  X(driver_get_version, "cuDriverGetVersion", Status(int*))                                                            \
  X(get_error_name, "cuGetErrorName", Status(Status, const char**))                                                    \
  X(get_error_string, "cuGetErrorString", Status(Status, const char**))                                                \
  X(device_get_count, "cuDeviceGetCount", Status(int*))                                                                \
  X(device_get, "cuDeviceGet", Status(DeviceHandle*, int))                                                             \
  X(device_get_name, "cuDeviceGetName", Status(char*, int, DeviceHandle))                                              \
  X(device_get_attribute, "cuDeviceGetAttribute", Status(int*, DeviceAttribute, DeviceHandle))                         \
  X(device_total_mem, "cuDeviceTotalMem_v2", Status(std::size_t*, DeviceHandle))                                       \
  X(device_get_pci_bus_id, "cuDeviceGetPCIBusId", Status(char*, int, DeviceHandle))                                    \
  X(primary_ctx_retain, "cuDevicePrimaryCtxRetain", Status(ContextHandle*, DeviceHandle))                              \
  X(ctx_set_current, "cuCtxSetCurrent", Status(ContextHandle))                                                         \
  X(ctx_synchronize, "cuCtxSynchronize", Status())                                                                     \
  X(mem_get_info, "cuMemGetInfo_v2", Status(std::size_t*, std::size_t*))                                               \
  X(mem_alloc, "cuMemAlloc_v2", Status(DevicePointer*, std::size_t))                                                   \
  X(mem_free, "cuMemFree_v2", Status(DevicePointer))                                                                   \
  X(memcpy_htod, "cuMemcpyHtoD_v2", Status(DevicePointer, const void*, std::size_t))                                   \
  X(memcpy_dtoh, "cuMemcpyDtoH_v2", Status(void*, DevicePointer, std::size_t))                                         \
  X(memcpy_dtod, "cuMemcpyDtoD_v2", Status(DevicePointer, DevicePointer, std::size_t))                                 \
  X(memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2", Status(void*, DevicePointer, std::size_t, StreamHandle))                \
  X(mem_host_alloc, "cuMemHostAlloc", Status(void**, std::size_t, unsigned flags))                                     \
  X(mem_free_host, "cuMemFreeHost", Status(void*))                                                                     \
  X(memset_d8, "cuMemsetD8_v2", Status(DevicePointer, unsigned char, std::size_t))                                     \
  X(module_load_data_ex, "cuModuleLoadDataEx", Status(ModuleHandle*, const void*, unsigned, JitOption*, void**))       \
  X(link_create, "cuLinkCreate_v2", Status(unsigned, JitOption*, void**, LinkHandle*))                                 \
  X(link_add_data, "cuLinkAddData_v2",                                                                                 \
    Status(LinkHandle, JitInput, void*, std::size_t, const char*, unsigned, JitOption*, void**))                       \
  X(link_complete, "cuLinkComplete", Status(LinkHandle, void**, std::size_t*))                                         \
  X(link_destroy, "cuLinkDestroy", Status(LinkHandle))                                                                 \
  X(module_unload, "cuModuleUnload", Status(ModuleHandle))                                                             \
  X(module_get_function, "cuModuleGetFunction", Status(FunctionHandle*, ModuleHandle, const char*))                    \
  X(module_get_global, "cuModuleGetGlobal_v2", Status(DevicePointer*, std::size_t*, ModuleHandle, const char*))        \
  X(func_get_attribute, "cuFuncGetAttribute", Status(int*, FunctionAttribute, FunctionHandle))                         \
  X(func_set_cache_config, "cuFuncSetCacheConfig", Status(FunctionHandle, CacheConfig))                                \
  X(launch_kernel, "cuLaunchKernel",                                                                                   \
    Status(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, \
           void**))                                                                                                    \
  X(tex_object_create, "cuTexObjectCreate",                                                                            \
    Status(TextureHandle*, const LinearResource*, const TextureDescription*, const void*))                             \
  X(tex_object_destroy, "cuTexObjectDestroy", Status(TextureHandle))

// The same for functions that older drivers lack or name differently. A missing function is null.
#define GPUTOPO_CUDA_OPTIONAL_FUNCTIONS(X)                                                                            \
  X(device_get_uuid, "cuDeviceGetUuid_v2", Status(Uuid*, DeviceHandle))                                               \
  X(func_set_attribute, "cuFuncSetAttribute", Status(FunctionHandle, FunctionAttribute, int))                         \
  X(ctx_get_limit, "cuCtxGetLimit", Status(std::size_t*, ContextLimit))                                               \
  X(ctx_set_limit, "cuCtxSetLimit", Status(ContextLimit, std::size_t))                                                \
  X(func_set_shared_config, "cuFuncSetSharedMemConfig", Status(FunctionHandle, SharedConfig))                         \
  X(occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                       \
    Status(int*, FunctionHandle, int, std::size_t))                                                                   \
  X(launch_kernel_ex, "cuLaunchKernelEx", Status(const LaunchConfig*, FunctionHandle, void**, void**))                \
  X(occupancy_max_active_clusters, "cuOccupancyMaxActiveClusters", Status(int*, FunctionHandle, const LaunchConfig*)) \
  X(occupancy_max_cluster_size, "cuOccupancyMaxPotentialClusterSize",                                                 \
    Status(int*, FunctionHandle, const LaunchConfig*))                                                                \
  X(event_create, "cuEventCreate", Status(EventHandle*, unsigned flags))                                              \
  X(event_record, "cuEventRecord", Status(EventHandle, StreamHandle))                                                 \
  X(event_elapsed_time, "cuEventElapsedTime", Status(float* milliseconds, EventHandle, EventHandle))                  \
  X(event_destroy, "cuEventDestroy_v2", Status(EventHandle))                                                          \
  X(device_can_access_peer, "cuDeviceCanAccessPeer", Status(int*, DeviceHandle, DeviceHandle))                        \
  X(device_get_p2p_attribute, "cuDeviceGetP2PAttribute", Status(int*, PeerAttribute, DeviceHandle, DeviceHandle))     \
  X(ctx_enable_peer_access, "cuCtxEnablePeerAccess", Status(ContextHandle, unsigned flags))                           \
  X(memcpy_htod_async, "cuMemcpyHtoDAsync_v2", Status(DevicePointer, const void*, std::size_t, StreamHandle))         \
  X(memcpy_peer_async, "cuMemcpyPeerAsync",                                                                           \
    Status(DevicePointer, ContextHandle, DevicePointer, ContextHandle, std::size_t, StreamHandle))                    \
  X(stream_create, "cuStreamCreate", Status(StreamHandle*, unsigned flags))                                           \
  X(stream_synchronize, "cuStreamSynchronize", Status(StreamHandle))                                                  \
  X(stream_destroy, "cuStreamDestroy_v2", Status(StreamHandle))                                                       \
  X(stream_wait_value, "cuStreamWaitValue32_v2", Status(StreamHandle, DevicePointer, std::uint32_t, unsigned flags))  \
  X(mem_host_register, "cuMemHostRegister_v2", Status(void*, std::size_t, unsigned flags))                            \
  X(mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2", Status(DevicePointer*, void*, unsigned flags))       \
  X(mem_host_unregister, "cuMemHostUnregister", Status(void*))                                                        \
  X(graph_create, "cuGraphCreate", Status(GraphHandle*, unsigned flags))                                              \
  X(graph_add_kernel_node, "cuGraphAddKernelNode_v2",                                                                 \
    Status(GraphNodeHandle*, GraphHandle, const GraphNodeHandle*, std::size_t, const GraphKernel*))                   \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", Status(GraphExecHandle*, GraphHandle, unsigned long long))      \
  X(graph_launch, "cuGraphLaunch", Status(GraphExecHandle, StreamHandle))                                             \
  X(graph_exec_destroy, "cuGraphExecDestroy", Status(GraphExecHandle))                                                \
  X(graph_destroy, "cuGraphDestroy", Status(GraphHandle))                                                             \
  X(primary_ctx_release_v2, "cuDevicePrimaryCtxRelease_v2", Status(DeviceHandle))                                     \
  X(primary_ctx_release, "cuDevicePrimaryCtxRelease", Status(DeviceHandle))

// The loaded and initialized driver. A process needs one, and never unloads it: the library does not survive that.
class Driver {
 public:
  // Loads the library (GPUTOPO_LIBCUDA, else libcuda.so.1) and calls cuInit. Throws DeviceError with one line that says
  // what is wrong (no driver, driver too old, no GPU, no permission) and what to do.
  [[nodiscard]] static std::shared_ptr<const Driver> load();

  // Throws DeviceMemoryError, DeviceLostError or DeviceError unless `status` is success. `call` reads as a person would
  // write it: "cuMemAlloc(1048576)". The message includes `log` if the driver wrote one.
  void check(Status status, const std::string& call, const std::string& log = {}) const;

  [[nodiscard]] std::string device_name(DeviceHandle device) const;
  [[nodiscard]] std::string pci_address(
      DeviceHandle device) const;  // "0000:0f:00.0"; empty if the driver does not report it

  // The UUID of a device that is a MIG instance, "MIG-..." as the management library writes it. It is meaningless for
  // other devices, and empty if the driver does not report it.
  [[nodiscard]] std::string mig_uuid(DeviceHandle device) const;

  [[nodiscard]] int version() const { return version_; }  // 1000 * major + 10 * minor of the newest CUDA it supports

#define GPUTOPO_DECLARE(member, symbol, ...) DriverFunction<__VA_ARGS__> member;
  GPUTOPO_CUDA_FUNCTIONS(GPUTOPO_DECLARE)
  GPUTOPO_CUDA_OPTIONAL_FUNCTIONS(GPUTOPO_DECLARE)
#undef GPUTOPO_DECLARE

 private:
  Driver() = default;
  int version_ = 0;
};

// Path of a driver library: the environment variable's value if it is set and not empty, else `standard_name`.
[[nodiscard]] std::string library_path(const char* variable, const char* standard_name);

// Explains why cuInit or opening a device failed with `status`, and what to do; empty if the name of the status says it
// all. `driver_version`: Driver::version(), or 0 if unknown. `device_folder`: the folder of the nvidia* nodes.
[[nodiscard]] std::string explain_failure(Status status, int driver_version, const std::string& device_folder = "/dev");

// ---- Owners. Each frees what it holds, and no destructor throws. ----

class Context {
 public:
  Context(std::shared_ptr<const Driver> driver, DeviceHandle device);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();
  void make_current() const;
  [[nodiscard]] ContextHandle handle() const { return handle_; }

 private:
  std::shared_ptr<const Driver> driver_;
  DeviceHandle device_;
  ContextHandle handle_ = nullptr;
};

class Memory {
 public:
  Memory() = default;
  Memory(std::shared_ptr<const Driver> driver, std::uint64_t bytes);
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();
  [[nodiscard]] DevicePointer address() const { return address_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept;
  std::shared_ptr<const Driver> driver_;
  DevicePointer address_ = 0;
  std::uint64_t bytes_ = 0;
};

// Host memory that the GPU can write to by itself. Empty if none is available.
class PinnedMemory {
 public:
  PinnedMemory(std::shared_ptr<const Driver> driver, std::uint64_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const Driver> driver_;
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Compiles PTX text into machine code of the current GPU (an ELF file), which Module takes. Throws DeviceError with the
// compiler's log. `optimization`: 0 to 4, the drivers' default.
[[nodiscard]] std::string compile(const Driver& driver, const std::string& ptx, unsigned optimization = 4);

class Module {
 public:
  // Compiles PTX text, or loads the result of compile(). Throws DeviceError with the compiler's log.
  Module(std::shared_ptr<const Driver> driver, const std::string& ptx);
  Module(Module&& other) noexcept
      : driver_(std::move(other.driver_)),
        handle_(std::exchange(other.handle_, nullptr)),
        functions_(std::move(other.functions_)) {}
  Module& operator=(Module&&) = delete;
  ~Module();
  [[nodiscard]] FunctionHandle function(std::string_view name) const;
  [[nodiscard]] DevicePointer global(const char* name) const;

 private:
  std::shared_ptr<const Driver> driver_;
  ModuleHandle handle_ = nullptr;
  mutable std::map<std::string, FunctionHandle, std::less<>> functions_;  // functions requested so far
};

// A texture of 32-bit integers (1, 2 or 4 in a texel) over linear memory that it does not own.
class Texture {
 public:
  Texture(std::shared_ptr<const Driver> driver, DevicePointer address, std::uint64_t bytes, unsigned channels);
  Texture(Texture&& other) noexcept : driver_(std::move(other.driver_)), handle_(std::exchange(other.handle_, 0)) {}
  Texture& operator=(Texture&&) = delete;
  ~Texture();
  [[nodiscard]] TextureHandle handle() const { return handle_; }

 private:
  std::shared_ptr<const Driver> driver_;
  TextureHandle handle_ = 0;
};

}  // namespace gputopo::cuda
