// Compares our declarations of the HIP runtime with AMD's header if it is installed, and always the attribute numbers
// with those of that header.
#include <gtest/gtest.h>

#include "device/hip/runtime_api.h"
#include "support/same_call.h"

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#define GPUTOPO_HAS_HIP_H 1
#endif

#if __has_include(<hsa/hsa_ext_amd.h>)
#include <hsa/hsa_ext_amd.h>
#define GPUTOPO_HAS_HSA_H 1
#endif

namespace gputopo::hip {
namespace {

#define GPUTOPO_SAME_CALL(member, theirs) \
  static_assert(test::SameCall<decltype(Runtime::member)::Signature, decltype(theirs)>::value)

#ifdef GPUTOPO_HAS_HSA_H
static_assert(static_cast<int>(SystemEventType::kMemoryFault) == HSA_AMD_GPU_MEMORY_FAULT_EVENT);
static_assert(offsetof(SystemEvent, type) == offsetof(hsa_amd_event_t, event_type));
static_assert(offsetof(SystemEvent, address) ==
              offsetof(hsa_amd_event_t, memory_fault) + offsetof(hsa_amd_gpu_memory_fault_info_t, virtual_address));
static_assert(offsetof(SystemEvent, reasons) ==
              offsetof(hsa_amd_event_t, memory_fault) + offsetof(hsa_amd_gpu_memory_fault_info_t, fault_reason_mask));
static_assert(HSA_STATUS_SUCCESS == 0 && HSA_STATUS_ERROR == 0x1000);
GPUTOPO_SAME_CALL(register_system_event_handler, hsa_amd_register_system_event_handler);
#endif

// Our name, AMD's name, the number.
#define GPUTOPO_HIP_ATTRIBUTES(X)                                                \
  X(kClockKhz, hipDeviceAttributeClockRate, 5)                                   \
  X(kHostNativeAtomicSupported, hipDeviceAttributeHostNativeAtomicSupported, 15) \
  X(kL2Bytes, hipDeviceAttributeL2CacheSize, 19)                                 \
  X(kMaxThreadsPerBlock, hipDeviceAttributeMaxThreadsPerBlock, 56)               \
  X(kMaxThreadsPerSm, hipDeviceAttributeMaxThreadsPerMultiProcessor, 57)         \
  X(kMemoryBusBits, hipDeviceAttributeMemoryBusWidth, 59)                        \
  X(kMemoryClockKhz, hipDeviceAttributeMemoryClockRate, 60)                      \
  X(kSmCount, hipDeviceAttributeMultiprocessorCount, 63)                         \
  X(kRegistersPerBlock, hipDeviceAttributeMaxRegistersPerBlock, 71)              \
  X(kRegistersPerSm, hipDeviceAttributeMaxRegistersPerMultiprocessor, 72)        \
  X(kSharedBytesPerBlock, hipDeviceAttributeMaxSharedMemoryPerBlock, 74)         \
  X(kWarpSize, hipDeviceAttributeWarpSize, 87)                                   \
  X(kSharedBytesPerSm, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, 10002)

// Newer than the oldest supported header.
#define GPUTOPO_YOUNGER_HIP_ATTRIBUTES(X)                  \
  X(kWallClockKhz, hipDeviceAttributeWallClockRate, 10017) \
  X(kXccCount, hipDeviceAttributeNumberOfXccs, 10018)

TEST(HipDeclarations, AttributesHaveTheirNumbers) {
#define GPUTOPO_HIP_NUMBER(ours, theirs, number) EXPECT_EQ(static_cast<int>(DeviceAttribute::ours), number) << #theirs;
  GPUTOPO_HIP_ATTRIBUTES(GPUTOPO_HIP_NUMBER)
  GPUTOPO_YOUNGER_HIP_ATTRIBUTES(GPUTOPO_HIP_NUMBER)
}

#ifndef GPUTOPO_HAS_HIP_H

TEST(HipDeclarations, MatchTheHeader) { GTEST_SKIP() << "hip/hip_runtime_api.h is not installed"; }

#else

#define GPUTOPO_SAME_HIP_NUMBER(ours, theirs, number) static_assert(static_cast<int>(DeviceAttribute::ours) == theirs);
GPUTOPO_HIP_ATTRIBUTES(GPUTOPO_SAME_HIP_NUMBER)
#if HIP_VERSION >= 60200000
GPUTOPO_YOUNGER_HIP_ATTRIBUTES(GPUTOPO_SAME_HIP_NUMBER)
#endif

static_assert(kSuccess == hipSuccess);
static_assert(kErrorOutOfMemory == hipErrorOutOfMemory);
static_assert(kErrorNotInitialized == hipErrorNotInitialized);
static_assert(kErrorDeinitialized == hipErrorDeinitialized);
static_assert(kErrorInsufficientDriver == hipErrorInsufficientDriver);
static_assert(kErrorNoDevice == hipErrorNoDevice);
static_assert(kErrorInvalidDevice == hipErrorInvalidDevice);
static_assert(kErrorNoBinaryForGpu == hipErrorNoBinaryForGpu);
static_assert(kErrorEccNotCorrectable == hipErrorECCNotCorrectable);
static_assert(kErrorIllegalAddress == hipErrorIllegalAddress);
static_assert(kErrorLaunchTimeout == hipErrorLaunchTimeOut);
static_assert(kErrorContextIsDestroyed == hipErrorContextIsDestroyed);
static_assert(kErrorAssert == hipErrorAssert);
static_assert(kErrorLaunchFailure == hipErrorLaunchFailure);
static_assert(kErrorUnknown == hipErrorUnknown);

GPUTOPO_SAME_CALL(init, hipInit);
GPUTOPO_SAME_CALL(runtime_get_version, hipRuntimeGetVersion);
GPUTOPO_SAME_CALL(get_error_name, hipGetErrorName);
GPUTOPO_SAME_CALL(get_error_string, hipGetErrorString);
GPUTOPO_SAME_CALL(get_device_count, hipGetDeviceCount);
GPUTOPO_SAME_CALL(set_device, hipSetDevice);
GPUTOPO_SAME_CALL(device_get_name, hipDeviceGetName);
GPUTOPO_SAME_CALL(device_get_pci_bus_id, hipDeviceGetPCIBusId);
GPUTOPO_SAME_CALL(device_get_attribute, hipDeviceGetAttribute);
GPUTOPO_SAME_CALL(mem_get_info, hipMemGetInfo);
// hipMalloc, and the occupancy in C++, have overloads.
GPUTOPO_SAME_CALL(free, hipFree);
GPUTOPO_SAME_CALL(memcpy_htod, hipMemcpyHtoD);
GPUTOPO_SAME_CALL(memcpy_dtoh, hipMemcpyDtoH);
GPUTOPO_SAME_CALL(memset, hipMemset);
GPUTOPO_SAME_CALL(module_load_data, hipModuleLoadData);
GPUTOPO_SAME_CALL(module_unload, hipModuleUnload);
GPUTOPO_SAME_CALL(module_get_function, hipModuleGetFunction);
GPUTOPO_SAME_CALL(launch_kernel, hipModuleLaunchKernel);
GPUTOPO_SAME_CALL(device_synchronize, hipDeviceSynchronize);
GPUTOPO_SAME_CALL(stream_create_with_cu_mask, hipExtStreamCreateWithCUMask);
GPUTOPO_SAME_CALL(stream_destroy, hipStreamDestroy);
GPUTOPO_SAME_CALL(stream_create, hipStreamCreateWithFlags);
GPUTOPO_SAME_CALL(stream_wait_value, hipStreamWaitValue32);
GPUTOPO_SAME_CALL(stream_begin_capture, hipStreamBeginCapture);
GPUTOPO_SAME_CALL(stream_end_capture, hipStreamEndCapture);
GPUTOPO_SAME_CALL(graph_instantiate, hipGraphInstantiate);
GPUTOPO_SAME_CALL(graph_launch, hipGraphLaunch);
GPUTOPO_SAME_CALL(graph_exec_destroy, hipGraphExecDestroy);
GPUTOPO_SAME_CALL(graph_destroy, hipGraphDestroy);
GPUTOPO_SAME_CALL(event_create, hipEventCreateWithFlags);
GPUTOPO_SAME_CALL(event_record, hipEventRecord);
GPUTOPO_SAME_CALL(event_elapsed_time, hipEventElapsedTime);
GPUTOPO_SAME_CALL(event_destroy, hipEventDestroy);
GPUTOPO_SAME_CALL(memcpy_htod_async, hipMemcpyHtoDAsync);
GPUTOPO_SAME_CALL(memcpy_dtoh_async, hipMemcpyDtoHAsync);
GPUTOPO_SAME_CALL(memcpy_peer_async, hipMemcpyPeerAsync);
GPUTOPO_SAME_CALL(ext_malloc_with_flags, hipExtMallocWithFlags);
GPUTOPO_SAME_CALL(host_register, hipHostRegister);
GPUTOPO_SAME_CALL(host_unregister, hipHostUnregister);
GPUTOPO_SAME_CALL(host_get_device_pointer, hipHostGetDevicePointer);
GPUTOPO_SAME_CALL(device_can_access_peer, hipDeviceCanAccessPeer);
GPUTOPO_SAME_CALL(device_enable_peer_access, hipDeviceEnablePeerAccess);
GPUTOPO_SAME_CALL(device_get_p2p_attribute, hipDeviceGetP2PAttribute);
static_assert(kErrorPeerAccessAlreadyEnabled == hipErrorPeerAccessAlreadyEnabled);
static_assert(static_cast<int>(PeerAttribute::kNativeAtomicSupported) == hipDevP2PAttrNativeAtomicSupported);

TEST(HipDeclarations, MatchTheHeader) { SUCCEED() << "checked as this file was compiled"; }

#endif

}  // namespace
}  // namespace gputopo::hip
