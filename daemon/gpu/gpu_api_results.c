/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_results.c - names of what GPU APIs return. */
#include <stdio.h>

#include "gpu_api_table.h"

struct name {
	int32_t value;
	const char *name;
};

/* clang-format off */
static const struct name cu_names[] = {
	{ 1, "CUDA_ERROR_INVALID_VALUE" }, { 2, "CUDA_ERROR_OUT_OF_MEMORY" },
	{ 3, "CUDA_ERROR_NOT_INITIALIZED" }, { 4, "CUDA_ERROR_DEINITIALIZED" },
	{ 34, "CUDA_ERROR_STUB_LIBRARY" }, { 46, "CUDA_ERROR_DEVICE_UNAVAILABLE" },
	{ 100, "CUDA_ERROR_NO_DEVICE" }, { 101, "CUDA_ERROR_INVALID_DEVICE" },
	{ 200, "CUDA_ERROR_INVALID_IMAGE" }, { 201, "CUDA_ERROR_INVALID_CONTEXT" },
	{ 205, "CUDA_ERROR_MAP_FAILED" }, { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
	{ 214, "CUDA_ERROR_ECC_UNCORRECTABLE" }, { 218, "CUDA_ERROR_INVALID_PTX" },
	{ 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" }, { 300, "CUDA_ERROR_INVALID_SOURCE" },
	{ 301, "CUDA_ERROR_FILE_NOT_FOUND" }, { 304, "CUDA_ERROR_OPERATING_SYSTEM" },
	{ 400, "CUDA_ERROR_INVALID_HANDLE" }, { 500, "CUDA_ERROR_NOT_FOUND" },
	{ 600, "CUDA_ERROR_NOT_READY" }, { 700, "CUDA_ERROR_ILLEGAL_ADDRESS" },
	{ 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" }, { 702, "CUDA_ERROR_LAUNCH_TIMEOUT" },
	{ 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED" }, { 710, "CUDA_ERROR_ASSERT" },
	{ 714, "CUDA_ERROR_HARDWARE_STACK_ERROR" }, { 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION" },
	{ 716, "CUDA_ERROR_MISALIGNED_ADDRESS" }, { 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE" },
	{ 718, "CUDA_ERROR_INVALID_PC" }, { 719, "CUDA_ERROR_LAUNCH_FAILED" },
	{ 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" }, { 800, "CUDA_ERROR_NOT_PERMITTED" },
	{ 801, "CUDA_ERROR_NOT_SUPPORTED" }, { 802, "CUDA_ERROR_SYSTEM_NOT_READY" },
	{ 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" },
	{ 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" },
	{ 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" },
	{ 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" }, { 999, "CUDA_ERROR_UNKNOWN" },
};

static const struct name cudart_names[] = {
	{ 1, "cudaErrorInvalidValue" }, { 2, "cudaErrorMemoryAllocation" },
	{ 3, "cudaErrorInitializationError" }, { 4, "cudaErrorCudartUnloading" },
	{ 9, "cudaErrorInvalidConfiguration" }, { 13, "cudaErrorInvalidSymbol" },
	{ 21, "cudaErrorInvalidMemcpyDirection" }, { 35, "cudaErrorInsufficientDriver" },
	{ 46, "cudaErrorDevicesUnavailable" }, { 98, "cudaErrorInvalidDeviceFunction" },
	{ 100, "cudaErrorNoDevice" }, { 101, "cudaErrorInvalidDevice" },
	{ 200, "cudaErrorInvalidKernelImage" }, { 201, "cudaErrorDeviceUninitialized" },
	{ 209, "cudaErrorNoKernelImageForDevice" }, { 214, "cudaErrorECCUncorrectable" },
	{ 400, "cudaErrorInvalidResourceHandle" }, { 500, "cudaErrorSymbolNotFound" },
	{ 600, "cudaErrorNotReady" }, { 700, "cudaErrorIllegalAddress" },
	{ 701, "cudaErrorLaunchOutOfResources" }, { 702, "cudaErrorLaunchTimeout" },
	{ 710, "cudaErrorAssert" }, { 715, "cudaErrorIllegalInstruction" },
	{ 716, "cudaErrorMisalignedAddress" }, { 719, "cudaErrorLaunchFailure" },
	{ 720, "cudaErrorCooperativeLaunchTooLarge" }, { 800, "cudaErrorNotPermitted" },
	{ 801, "cudaErrorNotSupported" }, { 900, "cudaErrorStreamCaptureUnsupported" },
	{ 901, "cudaErrorStreamCaptureInvalidated" }, { 999, "cudaErrorUnknown" },
};

static const struct name hip_names[] = {
	{ 1, "hipErrorInvalidValue" }, { 2, "hipErrorOutOfMemory" },
	{ 3, "hipErrorNotInitialized" }, { 4, "hipErrorDeinitialized" },
	{ 9, "hipErrorInvalidConfiguration" }, { 13, "hipErrorInvalidSymbol" },
	{ 17, "hipErrorInvalidDevicePointer" }, { 21, "hipErrorInvalidMemcpyDirection" },
	{ 98, "hipErrorInvalidDeviceFunction" }, { 100, "hipErrorNoDevice" },
	{ 101, "hipErrorInvalidDevice" }, { 200, "hipErrorInvalidImage" },
	{ 201, "hipErrorInvalidContext" }, { 205, "hipErrorMapFailed" },
	{ 209, "hipErrorNoBinaryForGpu" }, { 301, "hipErrorFileNotFound" },
	{ 302, "hipErrorSharedObjectSymbolNotFound" }, { 303, "hipErrorSharedObjectInitFailed" },
	{ 400, "hipErrorInvalidHandle" }, { 500, "hipErrorNotFound" },
	{ 600, "hipErrorNotReady" }, { 700, "hipErrorIllegalAddress" },
	{ 701, "hipErrorLaunchOutOfResources" }, { 702, "hipErrorLaunchTimeOut" },
	{ 710, "hipErrorAssert" }, { 719, "hipErrorLaunchFailure" },
	{ 720, "hipErrorCooperativeLaunchTooLarge" }, { 801, "hipErrorNotSupported" },
	{ 900, "hipErrorStreamCaptureUnsupported" }, { 999, "hipErrorUnknown" },
};

static const struct name cl_names[] = {
	{ -1, "CL_DEVICE_NOT_FOUND" }, { -2, "CL_DEVICE_NOT_AVAILABLE" },
	{ -3, "CL_COMPILER_NOT_AVAILABLE" }, { -4, "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
	{ -5, "CL_OUT_OF_RESOURCES" }, { -6, "CL_OUT_OF_HOST_MEMORY" },
	{ -7, "CL_PROFILING_INFO_NOT_AVAILABLE" }, { -8, "CL_MEM_COPY_OVERLAP" },
	{ -9, "CL_IMAGE_FORMAT_MISMATCH" }, { -10, "CL_IMAGE_FORMAT_NOT_SUPPORTED" },
	{ -11, "CL_BUILD_PROGRAM_FAILURE" }, { -12, "CL_MAP_FAILURE" },
	{ -13, "CL_MISALIGNED_SUB_BUFFER_OFFSET" },
	{ -14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
	{ -15, "CL_COMPILE_PROGRAM_FAILURE" }, { -16, "CL_LINKER_NOT_AVAILABLE" },
	{ -17, "CL_LINK_PROGRAM_FAILURE" }, { -30, "CL_INVALID_VALUE" },
	{ -31, "CL_INVALID_DEVICE_TYPE" }, { -32, "CL_INVALID_PLATFORM" },
	{ -33, "CL_INVALID_DEVICE" }, { -34, "CL_INVALID_CONTEXT" },
	{ -35, "CL_INVALID_QUEUE_PROPERTIES" }, { -36, "CL_INVALID_COMMAND_QUEUE" },
	{ -37, "CL_INVALID_HOST_PTR" }, { -38, "CL_INVALID_MEM_OBJECT" },
	{ -40, "CL_INVALID_IMAGE_SIZE" }, { -42, "CL_INVALID_BINARY" },
	{ -43, "CL_INVALID_BUILD_OPTIONS" }, { -44, "CL_INVALID_PROGRAM" },
	{ -45, "CL_INVALID_PROGRAM_EXECUTABLE" }, { -46, "CL_INVALID_KERNEL_NAME" },
	{ -48, "CL_INVALID_KERNEL" }, { -49, "CL_INVALID_ARG_INDEX" },
	{ -50, "CL_INVALID_ARG_VALUE" }, { -51, "CL_INVALID_ARG_SIZE" },
	{ -52, "CL_INVALID_KERNEL_ARGS" }, { -53, "CL_INVALID_WORK_DIMENSION" },
	{ -54, "CL_INVALID_WORK_GROUP_SIZE" }, { -55, "CL_INVALID_WORK_ITEM_SIZE" },
	{ -56, "CL_INVALID_GLOBAL_OFFSET" }, { -57, "CL_INVALID_EVENT_WAIT_LIST" },
	{ -58, "CL_INVALID_EVENT" }, { -59, "CL_INVALID_OPERATION" },
	{ -61, "CL_INVALID_BUFFER_SIZE" }, { -63, "CL_INVALID_GLOBAL_WORK_SIZE" },
};

static const struct name vk_names[] = {
	{ 1, "VK_NOT_READY" }, { 2, "VK_TIMEOUT" }, { 3, "VK_EVENT_SET" },
	{ 4, "VK_EVENT_RESET" }, { 5, "VK_INCOMPLETE" },
	{ -1, "VK_ERROR_OUT_OF_HOST_MEMORY" }, { -2, "VK_ERROR_OUT_OF_DEVICE_MEMORY" },
	{ -3, "VK_ERROR_INITIALIZATION_FAILED" }, { -4, "VK_ERROR_DEVICE_LOST" },
	{ -5, "VK_ERROR_MEMORY_MAP_FAILED" }, { -6, "VK_ERROR_LAYER_NOT_PRESENT" },
	{ -7, "VK_ERROR_EXTENSION_NOT_PRESENT" }, { -8, "VK_ERROR_FEATURE_NOT_PRESENT" },
	{ -9, "VK_ERROR_INCOMPATIBLE_DRIVER" }, { -10, "VK_ERROR_TOO_MANY_OBJECTS" },
	{ -11, "VK_ERROR_FORMAT_NOT_SUPPORTED" }, { -12, "VK_ERROR_FRAGMENTED_POOL" },
	{ -13, "VK_ERROR_UNKNOWN" }, { -1000069000, "VK_ERROR_OUT_OF_POOL_MEMORY" },
	{ -1000000000, "VK_ERROR_SURFACE_LOST_KHR" },
	{ -1000000001, "VK_ERROR_NATIVE_WINDOW_IN_USE_KHR" },
	{ 1000001003, "VK_SUBOPTIMAL_KHR" }, { -1000001004, "VK_ERROR_OUT_OF_DATE_KHR" },
	{ -1000012000, "VK_ERROR_INVALID_SHADER_NV" },
	{ 1000268000, "VK_THREAD_IDLE_KHR" }, { 1000268001, "VK_THREAD_DONE_KHR" },
	{ 1000268002, "VK_OPERATION_DEFERRED_KHR" },
	{ 1000268003, "VK_OPERATION_NOT_DEFERRED_KHR" },
	{ 1000297000, "VK_PIPELINE_COMPILE_REQUIRED" },
	{ -1000255000, "VK_ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT" },
};
/* clang-format on */

#define NAMES(of)                                \
	{                                        \
		of, sizeof(of) / sizeof((of)[0]) \
	}

static const struct {
	const struct name *names;
	size_t n;
} kinds[] = {
	[RESULT_CU] = NAMES(cu_names),	 [RESULT_CUDART] = NAMES(cudart_names),
	[RESULT_HIP] = NAMES(hip_names), [RESULT_CL] = NAMES(cl_names),
	[RESULT_VK] = NAMES(vk_names),
};

const char *gpu_api_result_name(enum gpu_api_result kind, uint64_t ret,
				char scratch[GPU_API_RESULT_LEN])
{
	int32_t value = (int32_t)ret;

	switch (kind) {
	case RESULT_NOTHING:
		return NULL;
	case RESULT_TRUE:
		return value ? NULL : "FALSE";
	case RESULT_POINTER:
		return ret ? NULL : "NULL";
	default:
		break;
	}
	if (value == 0)
		return NULL;
	for (size_t i = 0; i < kinds[kind].n; i++)
		if (kinds[kind].names[i].value == value)
			return kinds[kind].names[i].name;
	snprintf(scratch, GPU_API_RESULT_LEN, "%d", value);
	return scratch;
}
