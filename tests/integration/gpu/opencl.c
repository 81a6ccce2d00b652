/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.c - a small OpenCL program: adds one to numbers, ten times, and prints the
 * calls that it makes. Exit status 77: there is no device.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define N	   1024
#define N_LAUNCHES 10

static const char *source = "__kernel void add_one(__global int *a)"
			    "{ a[get_global_id(0)] += 1; }";

static void must(cl_int r, const char *what)
{
	if (r == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, r);
	exit(1);
}

static cl_kernel build(cl_context context, cl_device_id device)
{
	cl_int r;
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &r);
	cl_kernel kernel;

	must(r, "clCreateProgramWithSource");
	must(clBuildProgram(program, 1, &device, "-DNOTHING", NULL, NULL), "clBuildProgram");
	printf("clBuildProgram options=-DNOTHING\n");
	kernel = clCreateKernel(program, "no_such_kernel", &r);
	printf("clCreateKernel name=no_such_kernel result=NULL\n");
	kernel = clCreateKernel(program, "add_one", &r);
	must(r, "clCreateKernel");
	printf("clCreateKernel name=add_one\n");
	return kernel;
}

__attribute__((noinline)) static void launch(cl_command_queue queue, cl_kernel kernel)
{
	size_t global = N, local = 64;

	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	printf("clEnqueueNDRangeKernel kernel=add_one global=1024 local=64\n");
}

int main(void)
{
	static int numbers[N];
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
	cl_int r;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	must(r, "clCreateContext");
	queue = clCreateCommandQueue(context, device, 0, &r);
	must(r, "clCreateCommandQueue");
	kernel = build(context, device);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, &r);
	must(r, "clCreateBuffer");
	printf("clCreateBuffer bytes=4096\n");
	must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL,
				  NULL),
	     "clEnqueueWriteBuffer");
	printf("clEnqueueWriteBuffer bytes=4096 blocking=1\n");
	must(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	for (int i = 0; i < N_LAUNCHES; i++)
		launch(queue, kernel);
	must(clFinish(queue), "clFinish");
	printf("clFinish\n");
	return 0;
}
