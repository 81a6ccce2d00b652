/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - calls the stub libraries (stubs.c), and prints the slices that there must
 * be, in the order of their ends: TID NAME ARG=VALUE...
 *
 *	calls			all kinds of calls, from the first one on
 *	calls often N		the same N times, some milliseconds apart
 *	calls leave		calls that never return
 *	calls endless		one that goes on until the program is killed
 *	calls flood N		N launches from each of two threads
 *	calls again LIBRARY	loads it, and calls it each 10 ms until killed
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stubs.h"

#define EXPECT(...) (printf("%d ", (int)syscall(SYS_gettid)), printf(__VA_ARGS__), putchar('\n'))

static char a_kernel[64] = "saxpy", b_kernel[64];

/* What cudaLaunchKernel() gets: a function of the program, named like the kernel. */
__attribute__((noinline)) static void host_stub(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) static void call_driver(void)
{
	struct stub_config config = { { 7, 8, 9 }, { 10, 11, 12 }, 512, (void *)0x99, NULL, 0 };
	uint64_t address = 0;
	void *module, *function;

	cuInit(0);
	EXPECT("cuInit api=cuda flags=0");
	cuMemAlloc_v2(&address, 4096);
	EXPECT("cuMemAlloc api=cuda bytes=4096 address=%lu", STUB_ADDRESS);
	cuMemAlloc_v2(&address, 1ul << 40);
	EXPECT("cuMemAlloc api=cuda bytes=%lu result=CUDA_ERROR_OUT_OF_MEMORY", 1ul << 40);
	cuMemcpyHtoD_v2(address, &address, 8);
	EXPECT("cuMemcpyHtoD api=cuda bytes=8");
	cuMemcpyDtoHAsync_v2(&address, STUB_ADDRESS, 0, (void *)0x55);
	EXPECT("cuMemcpyDtoHAsync api=cuda bytes=0 stream=%d", 0x55);
	cuModuleLoad(&module, "/a/module.cubin");
	EXPECT("cuModuleLoad api=cuda file=/a/module.cubin module=%lu", STUB_MODULE);
	cuModuleLoad(&module, "");
	EXPECT("cuModuleLoad api=cuda result=CUDA_ERROR_FILE_NOT_FOUND");
	/* Before its name is known. */
	cuLaunchKernel(a_kernel, 1, 2, 3, 4, 5, 6, 1024, (void *)0x77, NULL, NULL);
	EXPECT("cuLaunchKernel api=cuda kernel=%lu grid=1,2,3 block=4,5,6 shared_bytes=1024 "
	       "stream=%d",
	       (unsigned long)a_kernel, 0x77);
	cuModuleGetFunction(&function, module, a_kernel);
	EXPECT("cuModuleGetFunction api=cuda name=saxpy kernel=%lu module=%lu",
	       (unsigned long)function, STUB_MODULE);
	cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 1024, (void *)0x77, NULL, NULL);
	EXPECT("cuLaunchKernel api=cuda kernel=saxpy grid=1,2,3 block=4,5,6 shared_bytes=1024 "
	       "stream=%d",
	       0x77);
	cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	EXPECT("cuLaunchKernel api=cuda kernel=saxpy grid=0,1,1 block=1,1,1 shared_bytes=0 "
	       "stream=0 result=CUDA_ERROR_INVALID_VALUE");
	cuLaunchKernelEx(&config, function, NULL, NULL);
	EXPECT("cuLaunchKernelEx api=cuda kernel=saxpy grid=7,8,9 block=10,11,12 shared_bytes=512 "
	       "stream=%d",
	       0x99);
	cuStreamSynchronize((void *)0x77);
	EXPECT("cuStreamSynchronize api=cuda stream=%d", 0x77);
	cuMemFree_v2(STUB_ADDRESS);
	EXPECT("cuMemFree api=cuda address=%lu", STUB_ADDRESS);
}

__attribute__((noinline)) static void call_runtimes(void)
{
	struct stub_dim3 grid = { 2, 3, 4 }, block = { 5, 6, 7 };
	void *address;

	__cudaRegisterFunction(NULL, (const char *)host_stub, NULL, "_Z5saxpyPfS_", -1);
	EXPECT("__cudaRegisterFunction api=cudart name=_Z5saxpyPfS_ kernel=%lu",
	       (unsigned long)host_stub);
	cudaLaunchKernel((const void *)host_stub, grid, block, NULL, 64, (void *)0x88);
	/* The driver's call is within the runtime's. */
	EXPECT("cuLaunchKernel api=cuda kernel=_Z5saxpyPfS_ grid=2,3,4 block=5,6,7 "
	       "shared_bytes=64 stream=%d",
	       0x88);
	EXPECT("cudaLaunchKernel api=cudart kernel=_Z5saxpyPfS_ grid=2,3,4 block=5,6,7 "
	       "shared_bytes=64 stream=%d",
	       0x88);
	cudaDeviceSynchronize();
	EXPECT("cuCtxSynchronize api=cuda");
	EXPECT("cudaDeviceSynchronize api=cudart");
	cudaMemcpy(&address, &grid, 8, 5);
	EXPECT("cudaMemcpy api=cudart bytes=8 kind=5 result=cudaErrorInvalidMemcpyDirection");
	hipMalloc(&address, 100);
	EXPECT("hipMalloc api=hip bytes=100 address=%lu", STUB_ADDRESS);
	hipModuleLaunchKernel(b_kernel, 1, 1, 1, 2, 2, 2, 3, NULL, NULL, NULL);
	EXPECT("hipModuleLaunchKernel api=hip kernel=%lu grid=1,1,1 block=2,2,2 shared_bytes=3 "
	       "stream=0",
	       (unsigned long)b_kernel);
}

/* ---- calls that never return ---- */

static jmp_buf back;

static void jump(void *data)
{
	(void)data;
	hipDeviceSynchronize();
	EXPECT("hipDeviceSynchronize api=hip");
	longjmp(back, 1);
}

static void jump_twice_as_deep(void *data)
{
	hipLaunchHostFunc(data, jump, NULL);
}

static void end_thread(void *data)
{
	EXPECT("cuLaunchHostFunc api=cuda stream=0 function=%lu exited=true",
	       (unsigned long)end_thread);
	pthread_exit(data);
}

static void *thread(void *data)
{
	cuLaunchHostFunc(NULL, end_thread, data);
	return NULL;
}

static void end_process(void *data)
{
	(void)data;
	EXPECT("cuLaunchHostFunc api=cuda stream=0 function=%lu exited=true",
	       (unsigned long)end_process);
	fflush(stdout);
	_exit(0);
}

static void become_true(void *data)
{
	(void)data;
	EXPECT("cuLaunchHostFunc api=cuda stream=0 function=%lu exited=true",
	       (unsigned long)become_true);
	fflush(stdout);
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static void in_child(void (*fn)(void *))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		cuLaunchHostFunc(NULL, fn, NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
}

static void leave(void)
{
	pthread_t t;

	/* Noticed at the next call, and when an outer one returns. */
	if (setjmp(back) == 0)
		cuLaunchHostFunc(NULL, jump, NULL);
	EXPECT("cuLaunchHostFunc api=cuda stream=0 function=%lu abandoned=true",
	       (unsigned long)jump);
	hipDeviceSynchronize();
	EXPECT("hipDeviceSynchronize api=hip");
	if (setjmp(back) == 0)
		cuLaunchHostFunc(NULL, jump_twice_as_deep, NULL);
	EXPECT("hipLaunchHostFunc api=hip stream=0 function=%lu abandoned=true",
	       (unsigned long)jump);
	EXPECT("cuLaunchHostFunc api=cuda stream=0 function=%lu abandoned=true",
	       (unsigned long)jump_twice_as_deep);
	hipDeviceSynchronize();
	EXPECT("hipDeviceSynchronize api=hip");
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	in_child(end_process);
	in_child(become_true);
}

/* ---- others ---- */

/* Whoever reads this finds the thread asleep in the call, sooner or later. */
static void wait_for_good(void *data)
{
	(void)data;
	puts("inside");
	fflush(stdout);
	cuStreamSynchronize((void *)STUB_ENDLESS);
}

static void *launch_often(void *n)
{
	for (long i = 0; i < (long)n; i++)
		cuLaunchKernel(a_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return NULL;
}

static void flood(long n)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, launch_often, (void *)n);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", 2 * n);
}

static void again(const char *library)
{
	int (*event_record)(void *, void *) = NULL;
	int (*synchronize)(void), (*get)(const char *, void **, int, uint64_t);
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	synchronize = (int (*)(void))dlsym(lib, "cuCtxSynchronize");
	get = (int (*)(const char *, void **, int, uint64_t))dlsym(lib, "cuGetProcAddress");
	for (;;) {
		synchronize();
		get("cuEventRecord", (void **)&event_record, 12000, 0);
		event_record((void *)0x11, (void *)0x22);
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "leave") == 0) {
		leave();
	} else if (strcmp(what, "often") == 0) {
		for (int i = argc > 2 ? atoi(argv[2]) : 1; i > 0; i--) {
			call_driver();
			call_runtimes();
			usleep(3000);
		}
	} else if (strcmp(what, "endless") == 0) {
		cuLaunchHostFunc(NULL, wait_for_good, NULL);
	} else if (strcmp(what, "flood") == 0) {
		flood(argc > 2 ? atol(argv[2]) : 1000);
	} else if (strcmp(what, "again") == 0) {
		again(argv[2]);
	} else {
		call_driver();
		call_runtimes();
	}
	return 0;
}
