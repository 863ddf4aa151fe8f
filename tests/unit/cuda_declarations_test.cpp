// Compares our declarations of the driver interface with NVIDIA's, if the toolkit's header is installed.
#include <gtest/gtest.h>

#include "device/cuda/driver_api.h"
#include "support/same_call.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define GPUTOPO_HAS_CUDA_H 1
#elif __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#define GPUTOPO_HAS_CUDA_H 1
#endif

namespace gputopo::cuda {
namespace {

#ifndef GPUTOPO_HAS_CUDA_H

TEST(CudaDeclarations, MatchTheToolkit) { GTEST_SKIP() << "cuda.h is not installed"; }

#else

// cuda.h renames functions to their newest version (cuMemAlloc is cuMemAlloc_v2), so `theirs` lacks the suffix.
#define GPUTOPO_SAME(member, theirs) \
  static_assert(test::SameCall<decltype(Driver::member)::Signature, decltype(theirs)>::value)

GPUTOPO_SAME(init, cuInit);
GPUTOPO_SAME(driver_get_version, cuDriverGetVersion);
GPUTOPO_SAME(get_error_name, cuGetErrorName);
GPUTOPO_SAME(get_error_string, cuGetErrorString);
GPUTOPO_SAME(device_get_count, cuDeviceGetCount);
GPUTOPO_SAME(device_get, cuDeviceGet);
GPUTOPO_SAME(device_get_name, cuDeviceGetName);
GPUTOPO_SAME(device_get_attribute, cuDeviceGetAttribute);
GPUTOPO_SAME(device_total_mem, cuDeviceTotalMem);
GPUTOPO_SAME(device_get_pci_bus_id, cuDeviceGetPCIBusId);
GPUTOPO_SAME(primary_ctx_retain, cuDevicePrimaryCtxRetain);
GPUTOPO_SAME(primary_ctx_release_v2, cuDevicePrimaryCtxRelease);
GPUTOPO_SAME(primary_ctx_release, cuDevicePrimaryCtxRelease);
GPUTOPO_SAME(ctx_set_current, cuCtxSetCurrent);
GPUTOPO_SAME(ctx_synchronize, cuCtxSynchronize);
GPUTOPO_SAME(ctx_get_limit, cuCtxGetLimit);
GPUTOPO_SAME(ctx_set_limit, cuCtxSetLimit);
GPUTOPO_SAME(mem_get_info, cuMemGetInfo);
GPUTOPO_SAME(mem_alloc, cuMemAlloc);
GPUTOPO_SAME(mem_free, cuMemFree);
GPUTOPO_SAME(memcpy_htod, cuMemcpyHtoD);
GPUTOPO_SAME(memcpy_dtoh, cuMemcpyDtoH);
GPUTOPO_SAME(memcpy_dtoh_async, cuMemcpyDtoHAsync);
GPUTOPO_SAME(mem_host_alloc, cuMemHostAlloc);
GPUTOPO_SAME(mem_free_host, cuMemFreeHost);
GPUTOPO_SAME(memcpy_dtod, cuMemcpyDtoD);
GPUTOPO_SAME(memset_d8, cuMemsetD8);
GPUTOPO_SAME(module_load_data_ex, cuModuleLoadDataEx);
GPUTOPO_SAME(module_unload, cuModuleUnload);
GPUTOPO_SAME(link_create, cuLinkCreate);
GPUTOPO_SAME(link_add_data, cuLinkAddData);
GPUTOPO_SAME(link_complete, cuLinkComplete);
GPUTOPO_SAME(link_destroy, cuLinkDestroy);
GPUTOPO_SAME(module_get_function, cuModuleGetFunction);
GPUTOPO_SAME(module_get_global, cuModuleGetGlobal);
GPUTOPO_SAME(func_set_cache_config, cuFuncSetCacheConfig);
// Newer toolkits deprecate it, because only old GPUs have this choice.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
GPUTOPO_SAME(func_set_shared_config, cuFuncSetSharedMemConfig);
#pragma GCC diagnostic pop
GPUTOPO_SAME(func_set_attribute, cuFuncSetAttribute);
GPUTOPO_SAME(func_get_attribute, cuFuncGetAttribute);
GPUTOPO_SAME(occupancy_max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor);
GPUTOPO_SAME(launch_kernel, cuLaunchKernel);
GPUTOPO_SAME(launch_kernel_ex, cuLaunchKernelEx);
GPUTOPO_SAME(occupancy_max_active_clusters, cuOccupancyMaxActiveClusters);
GPUTOPO_SAME(occupancy_max_cluster_size, cuOccupancyMaxPotentialClusterSize);
GPUTOPO_SAME(event_create, cuEventCreate);
GPUTOPO_SAME(event_record, cuEventRecord);
GPUTOPO_SAME(event_elapsed_time, cuEventElapsedTime);
GPUTOPO_SAME(event_destroy, cuEventDestroy);
GPUTOPO_SAME(graph_create, cuGraphCreate);
GPUTOPO_SAME(graph_add_kernel_node, cuGraphAddKernelNode);
GPUTOPO_SAME(graph_instantiate, cuGraphInstantiateWithFlags);
GPUTOPO_SAME(graph_launch, cuGraphLaunch);
GPUTOPO_SAME(graph_exec_destroy, cuGraphExecDestroy);
GPUTOPO_SAME(graph_destroy, cuGraphDestroy);
GPUTOPO_SAME(tex_object_create, cuTexObjectCreate);
GPUTOPO_SAME(tex_object_destroy, cuTexObjectDestroy);

TEST(CudaDeclarations, StatusValues) {
  EXPECT_EQ(kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kErrorDeinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(kErrorStubLibrary, CUDA_ERROR_STUB_LIBRARY);
  EXPECT_EQ(kErrorInsufficientDriver, 35);  // the runtime's code; the driver interface has no name for it
  EXPECT_EQ(kErrorDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(kErrorNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(kErrorEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(kErrorUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(kErrorOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_EQ(kErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(kErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(kErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(kErrorAssert, CUDA_ERROR_ASSERT);
  EXPECT_EQ(kErrorHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(kErrorIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(kErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(kErrorInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  EXPECT_EQ(kErrorInvalidPc, CUDA_ERROR_INVALID_PC);
  EXPECT_EQ(kErrorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(kErrorSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(kErrorSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_EQ(kErrorCompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
  EXPECT_EQ(kErrorInvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(kErrorUnknown, CUDA_ERROR_UNKNOWN);
}

TEST(CudaDeclarations, AttributeValues) {
  const auto same = [](DeviceAttribute ours, CUdevice_attribute theirs) {
    EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
  };
  same(DeviceAttribute::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  same(DeviceAttribute::kSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  same(DeviceAttribute::kConstantBytes, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  same(DeviceAttribute::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  same(DeviceAttribute::kRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  same(DeviceAttribute::kClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  same(DeviceAttribute::kMaxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  same(DeviceAttribute::kMaxGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  same(DeviceAttribute::kMaxGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  same(DeviceAttribute::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  same(DeviceAttribute::kEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  same(DeviceAttribute::kSmCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  same(DeviceAttribute::kMemoryClockKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  same(DeviceAttribute::kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  same(DeviceAttribute::kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  same(DeviceAttribute::kMaxThreadsPerSm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  same(DeviceAttribute::kMaxLinearTexels, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  same(DeviceAttribute::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  same(DeviceAttribute::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  same(DeviceAttribute::kGlobalL1Supported, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  same(DeviceAttribute::kSharedBytesPerSm, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  same(DeviceAttribute::kRegistersPerSm, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  same(DeviceAttribute::kSharedBytesPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  same(DeviceAttribute::kMaxBlocksPerSm, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  same(DeviceAttribute::kMaxPersistingL2Bytes, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  same(DeviceAttribute::kReservedSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
#if CUDA_VERSION >= 12020
  same(DeviceAttribute::kNumaConfig, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG);
  same(DeviceAttribute::kNumaId, CU_DEVICE_ATTRIBUTE_NUMA_ID);
  same(DeviceAttribute::kHostNumaId, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
#endif
  EXPECT_EQ(static_cast<int>(FunctionAttribute::kLocalBytes), CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(static_cast<int>(FunctionAttribute::kMaxDynamicSharedBytes),
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(static_cast<int>(FunctionAttribute::kPreferredSharedCarveOut),
            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  EXPECT_EQ(static_cast<int>(FunctionAttribute::kNonPortableClusterSizeAllowed),
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_EQ(static_cast<int>(CacheConfig::kPreferNone), CU_FUNC_CACHE_PREFER_NONE);
  EXPECT_EQ(static_cast<int>(CacheConfig::kPreferShared), CU_FUNC_CACHE_PREFER_SHARED);
  EXPECT_EQ(static_cast<int>(CacheConfig::kPreferL1), CU_FUNC_CACHE_PREFER_L1);
  EXPECT_EQ(static_cast<int>(CacheConfig::kPreferEqual), CU_FUNC_CACHE_PREFER_EQUAL);
  EXPECT_EQ(static_cast<int>(JitInput::kPtx), CU_JIT_INPUT_PTX);
  EXPECT_EQ(static_cast<int>(JitOption::kErrorLogBuffer), CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(static_cast<int>(JitOption::kErrorLogBufferSizeBytes), CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
}

TEST(CudaDeclarations, Structures) {
  EXPECT_EQ(sizeof(LinearResource), sizeof(CUDA_RESOURCE_DESC));
  EXPECT_EQ(offsetof(LinearResource, address), offsetof(CUDA_RESOURCE_DESC, res.linear.devPtr));
  EXPECT_EQ(offsetof(LinearResource, format), offsetof(CUDA_RESOURCE_DESC, res.linear.format));
  EXPECT_EQ(offsetof(LinearResource, channels), offsetof(CUDA_RESOURCE_DESC, res.linear.numChannels));
  EXPECT_EQ(offsetof(LinearResource, bytes), offsetof(CUDA_RESOURCE_DESC, res.linear.sizeInBytes));
  EXPECT_EQ(offsetof(LinearResource, flags), offsetof(CUDA_RESOURCE_DESC, flags));
  EXPECT_EQ(LinearResource{}.type, CU_RESOURCE_TYPE_LINEAR);
  EXPECT_EQ(kFormatSignedInt32, CU_AD_FORMAT_SIGNED_INT32);
  EXPECT_EQ(sizeof(TextureDescription), sizeof(CUDA_TEXTURE_DESC));
  EXPECT_EQ(offsetof(TextureDescription, flags), offsetof(CUDA_TEXTURE_DESC, flags));
  EXPECT_EQ(offsetof(TextureDescription, border_colour), offsetof(CUDA_TEXTURE_DESC, borderColor));
  EXPECT_EQ(TextureDescription{}.flags, static_cast<unsigned>(CU_TRSF_READ_AS_INTEGER));
  EXPECT_EQ(TextureDescription{}.address_mode[0], CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(TextureDescription{}.filter_mode, CU_TR_FILTER_MODE_POINT);
}

TEST(CudaDeclarations, LaunchStructures) {
  EXPECT_EQ(sizeof(ClusterDimension), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(ClusterDimension, x), offsetof(CUlaunchAttribute, value.clusterDim.x));
  EXPECT_EQ(offsetof(ClusterDimension, y), offsetof(CUlaunchAttribute, value.clusterDim.y));
  EXPECT_EQ(offsetof(ClusterDimension, z), offsetof(CUlaunchAttribute, value.clusterDim.z));
  EXPECT_EQ(ClusterDimension{}.id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
  EXPECT_EQ(offsetof(LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
}

#endif

}  // namespace
}  // namespace gputopo::cuda
