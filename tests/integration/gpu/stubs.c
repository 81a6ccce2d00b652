/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stubs.c - libraries with the names and the symbols of vendors', that do nothing but
 * what tests look at. Built once for each of CUDA, CUDART, HIP.
 *
 * Handles and addresses are made up: the kernel NAME of a module is where NAME is.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stubs.h"

#ifdef CUDA

int cuInit(unsigned flags)
{
	return flags ? 1 : 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	if (bytes > STUB_MEMORY)
		return 2;
	*address = STUB_ADDRESS;
	return 0;
}

int cuMemFree_v2(uint64_t address)
{
	return address == STUB_ADDRESS ? 0 : 1;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	(void)to;
	(void)from;
	return bytes > STUB_MEMORY;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	(void)to;
	(void)from;
	(void)stream;
	return bytes > STUB_MEMORY;
}

int cuModuleLoad(void **module, const char *file)
{
	*module = (void *)STUB_MODULE;
	return file[0] ? 0 : 301;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	(void)module;
	*function = (void *)name;
	return 0;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	(void)f;
	(void)gy;
	(void)gz;
	(void)bx;
	(void)by;
	(void)bz;
	(void)shared;
	(void)stream;
	(void)params;
	(void)extra;
	return gx == 0 ? 1 : 0;
}

int cuLaunchKernelEx(const struct stub_config *config, void *f, void **params, void **extra)
{
	(void)f;
	(void)params;
	(void)extra;
	return config->grid[0] == 0;
}

/* At once, unlike the real one. */
int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data)
{
	(void)stream;
	fn(data);
	return 0;
}

/* Waits as a driver does, in the kernel. */
int cuStreamSynchronize(void *stream)
{
	int pair[2];
	char byte;

	if (stream == (void *)STUB_ENDLESS)
		for (;;)
			pause();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 999;
	(void)!send(pair[0], "x", 1, 0);
	(void)!recv(pair[1], &byte, 1, 0);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

int cuCtxSynchronize(void)
{
	return 0;
}

/* Only who asks for it can have it. */
__attribute__((noinline)) static int hidden_event_record(void *event, void *stream)
{
	__asm__ volatile("" : : "r"(event), "r"(stream));
	return 0;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
	(void)version;
	(void)flags;
	*function = strcmp(name, "cuEventRecord") == 0 ? (void *)hidden_event_record : NULL;
	return *function ? 0 : 500;
}

#endif

#ifdef CUDART

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);

/* The runtime calls its driver, the last thing that it does. */
int cudaLaunchKernel(const void *function, struct stub_dim3 grid, struct stub_dim3 block,
		     void **params, size_t shared, void *stream)
{
	int r = cuLaunchKernel((void *)function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			       (unsigned)shared, stream, params, NULL);

	__asm__ volatile("" : "+r"(r));
	return r;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	memmove(to, from, bytes);
	return kind > 4 ? 21 : 0;
}

int cuCtxSynchronize(void);

/* In a tail call: the two have one stack frame. */
__attribute__((optimize("O2", "optimize-sibling-calls"))) int cudaDeviceSynchronize(void)
{
	return cuCtxSynchronize();
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit);

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit)
{
	__asm__ volatile("" : : "r"(handle), "r"(host), "r"(device), "r"(name), "r"(limit));
}

#endif

#ifdef HIP

int hipMalloc(void **address, size_t bytes)
{
	*address = (void *)STUB_ADDRESS;
	return bytes > STUB_MEMORY ? 2 : 0;
}

int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	(void)f;
	(void)gy;
	(void)gz;
	(void)bx;
	(void)by;
	(void)bz;
	(void)shared;
	(void)stream;
	(void)params;
	(void)extra;
	return gx == 0 ? 1 : 0;
}

int hipLaunchHostFunc(void *stream, void (*fn)(void *), void *data)
{
	(void)stream;
	fn(data);
	return 0;
}

int hipDeviceSynchronize(void)
{
	return 0;
}

#endif
