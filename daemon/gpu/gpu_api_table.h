/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_api_table.h - which functions of which libraries are shown, what of their
 * arguments, and what their results mean.
 */
#ifndef GPU_API_TABLE_H
#define GPU_API_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_api_events.h"

enum gpu_api { API_CUDA, API_CUDART, API_HIP, API_OPENCL, API_VULKAN, API_EGL, API_GL, N_APIS };

/* What can be asked for by name. The groups of lib_probes.h. */
enum gpu_api_class {
	GPU_LAUNCH,  /* kernels and graphs */
	GPU_SUBMIT,  /* command buffers, flushes */
	GPU_PRESENT, /* frames */
	GPU_COPY,
	GPU_MEMORY, /* allocated, mapped, freed */
	GPU_SYNC,   /* waits of the CPU; events */
	GPU_BUILD,  /* modules, programs, pipelines */
	GPU_SETUP,  /* devices, contexts, queues */
	GPU_DRAW,   /* each draw call: only when asked for */
	N_GPU_API_CLASSES,
	GPU_LOOKUP = N_GPU_API_CLASSES, /* functions by name: never shown, see gpu_api_lookups.h */
};

#define GPU_API_DEFAULT_CLASSES ((1u << GPU_DRAW) - 1)

enum gpu_api_result {
	RESULT_NOTHING,
	RESULT_CU, /* CUresult */
	RESULT_CUDART,
	RESULT_HIP,
	RESULT_CL,
	RESULT_VK,
	RESULT_TRUE,	/* 0 is a failure */
	RESULT_POINTER, /* likewise, and else it is shown */
};

/*
 * What the string of a call names: the kernel behind a handle, which launches then show;
 * or a function.
 */
enum gpu_api_names {
	NAMES_NO_KERNEL,
	NAMES_BY_OUT, /* what the function has written */
	NAMES_BY_RESULT,
	NAMES_BY_SECOND, /* argument */
	FINDS_BY_RESULT, /* it names a function, and this is where that is */
	FINDS_BY_OUT,
};

struct gpu_api_function {
	const char *name;
	const char *symbols; /* that libraries have it under, separated by blanks; NULL: the name */
	const char *args;    /* see gpu_api_args_parse() */
	uint8_t api;	     /* enum gpu_api; the others likewise */
	uint8_t class;
	uint8_t result;
	uint8_t names;
	bool has_stack;
};

extern const struct gpu_api_function gpu_api_functions[];
extern const size_t gpu_api_n_functions;

const char *gpu_api_name(enum gpu_api api);
const char *gpu_api_class_name(enum gpu_api_class class);
/* By the file name of a library; -1: it is of none. */
int gpu_api_of_library(const char *path);

/* "launch,copy", "all", "default": a bit for each class. -EINVAL. */
int gpu_api_classes_parse(const char *list, uint32_t *ret);

/* A name for a result; NULL: it is a success. `scratch` is for those without one. */
#define GPU_API_RESULT_LEN 24
const char *gpu_api_result_name(enum gpu_api_result kind, uint64_t ret,
				char scratch[GPU_API_RESULT_LEN]);

/* ---- arguments ---- */

enum gpu_api_arg_type {
	ARG_TYPE_U32,
	ARG_TYPE_I32,
	ARG_TYPE_U64,
	ARG_TYPE_POINTER,
	ARG_TYPE_KERNEL, /* a handle; its name, where it is known */
	ARG_TYPE_TEXT,
	ARG_TYPE_OUT,	/* what the function has written where the argument points to */
	ARG_TYPE_DIM3,	/* three numbers in two registers */
	ARG_TYPE_SIZES, /* as many size_t as argument 2 says, three at most */
};

struct gpu_api_arg {
	char name[20];
	uint8_t type;
	uint8_t n;     /* of a kind, one after the other */
	uint8_t arg;   /* which argument */
	int8_t window; /* in the memory that it points to; -1: the argument itself */
	uint16_t offset;
};

#define GPU_API_MAX_ARGS 8

/*
 * "NAME=[N]TYPE ARG" for each, separated by blanks: "grid=3u1 bytes=q4 name=s2".
 * ARG is the number of an argument, or @ARG.OFFSET: in the memory that it points to.
 * Types: u, i (32 bits), q (64), p (pointer), k (kernel), s (string), o (written by
 * the function), d (a dim3 by value), g (sizes of an OpenCL range). `reads`: what the
 * kernel has to read for it. Returns how many, or -EINVAL.
 */
int gpu_api_args_parse(const char *spec, struct gpu_api_arg ret[GPU_API_MAX_ARGS],
		       struct gpu_api_reads *reads);

/* The same of a function of the table, parsed once. */
struct gpu_api_spec {
	int n;
	struct gpu_api_arg args[GPU_API_MAX_ARGS];
	struct gpu_api_reads reads;
};
const struct gpu_api_spec *gpu_api_spec(size_t function);

#endif
