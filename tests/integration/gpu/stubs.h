/* SPDX-License-Identifier: Apache-2.0 */
/* stubs.h - what the stub libraries have, for themselves and for prog calls.c. */
#ifndef STUBS_H
#define STUBS_H

#include <stddef.h>
#include <stdint.h>

#define STUB_MEMORY  (1ul << 30)
#define STUB_ADDRESS 0x7000000000ul
#define STUB_MODULE  0x1234ul
#define STUB_ENDLESS 0x666ul /* a stream that is never done */

/* CUlaunchConfig, as far as we use it. */
struct stub_config {
	unsigned grid[3], block[3], shared;
	void *stream, *attributes;
	unsigned n_attributes;
};

struct stub_dim3 {
	unsigned x, y, z;
};

int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuModuleLoad(void **module, const char *file);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuLaunchKernelEx(const struct stub_config *config, void *f, void **params, void **extra);
int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data);
int cuStreamSynchronize(void *stream);
int cuCtxSynchronize(void);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

int cudaLaunchKernel(const void *function, struct stub_dim3 grid, struct stub_dim3 block,
		     void **params, size_t shared, void *stream);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaDeviceSynchronize(void);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit);

int hipMalloc(void **address, size_t bytes);
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int hipLaunchHostFunc(void *stream, void (*fn)(void *), void *data);
int hipDeviceSynchronize(void);

#endif
