/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_api_kernels.h - what the kernels behind the handles of GPU programs are called,
 * by what processes have asked for and been given.
 */
#ifndef GPU_API_KERNELS_H
#define GPU_API_KERNELS_H

#include <stdint.h>

#include "gpu_api_events.h"

struct gpu_api_kernels;
struct process_table;

int gpu_api_kernels_new(struct process_table *processes, struct gpu_api_kernels **ret);
void gpu_api_kernels_free(struct gpu_api_kernels *k); /* takes NULL */

/* From a call that was successful. Without memory a name stays unknown. */
void gpu_api_kernels_learn(struct gpu_api_kernels *k, const struct gpu_api_event *ev);

/*
 * NULL: not known. With CUDA's and HIP's runtime a handle is the address of a function
 * in the program, which has the kernel's name: known when the file's symbols are.
 */
const char *gpu_api_kernels_name(struct gpu_api_kernels *k, const struct gpu_api_event *ev,
				 uint64_t handle);

#endif
