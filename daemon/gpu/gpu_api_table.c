/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_api_table.c - what the words of the table mean. */
#include "gpu_api_table.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	const char *libraries[4]; /* beginnings of file names */
} apis[N_APIS] = {
	[API_CUDA] = { "cuda", { "libcuda.so" } },
	[API_CUDART] = { "cudart", { "libcudart.so", "libcudart-" } },
	[API_HIP] = { "hip", { "libamdhip64.so" } },
	[API_OPENCL] = { "opencl", { "libOpenCL.so" } },
	[API_VULKAN] = { "vulkan", { "libvulkan.so" } },
	[API_EGL] = { "egl", { "libEGL.so" } },
	[API_GL] = { "gl", { "libGL.so", "libGLX.so", "libOpenGL.so", "libGLESv2.so" } },
};

static const char *const class_names[N_GPU_API_CLASSES] = {
	[GPU_LAUNCH] = "launch", [GPU_SUBMIT] = "submit", [GPU_PRESENT] = "present",
	[GPU_COPY] = "copy",	 [GPU_MEMORY] = "memory", [GPU_SYNC] = "sync",
	[GPU_BUILD] = "build",	 [GPU_SETUP] = "setup",	  [GPU_DRAW] = "draw",
};

const char *gpu_api_name(enum gpu_api api)
{
	return apis[api].name;
}

const char *gpu_api_class_name(enum gpu_api_class class)
{
	return class_names[class];
}

int gpu_api_of_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (int api = 0; api < N_APIS; api++)
		for (size_t i = 0; i < 4 && apis[api].libraries[i]; i++)
			if (strncmp(name, apis[api].libraries[i], strlen(apis[api].libraries[i])) ==
			    0)
				return api;
	return -1;
}

static int class_by_name(const char *name, size_t len, uint32_t *ret)
{
	for (unsigned i = 0; i < N_GPU_API_CLASSES; i++) {
		if (strlen(class_names[i]) == len && memcmp(class_names[i], name, len) == 0) {
			*ret |= 1u << i;
			return 0;
		}
	}
	if (len == 3 && memcmp(name, "all", len) == 0)
		*ret |= (1u << N_GPU_API_CLASSES) - 1;
	else if (len == 7 && memcmp(name, "default", len) == 0)
		*ret |= GPU_API_DEFAULT_CLASSES;
	else
		return -EINVAL;
	return 0;
}

int gpu_api_classes_parse(const char *list, uint32_t *ret)
{
	uint32_t classes = 0;
	size_t len;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (class_by_name(list, len, &classes) < 0)
			return -EINVAL;
	}
	if (!classes)
		return -EINVAL;
	*ret = classes;
	return 0;
}

/* ---- arguments ---- */

static int type_of(char c)
{
	static const struct {
		char c;
		uint8_t type;
	} types[] = {
		{ 'u', ARG_TYPE_U32 },	   { 'i', ARG_TYPE_I32 },    { 'q', ARG_TYPE_U64 },
		{ 'p', ARG_TYPE_POINTER }, { 'k', ARG_TYPE_KERNEL }, { 's', ARG_TYPE_TEXT },
		{ 'o', ARG_TYPE_OUT },	   { 'd', ARG_TYPE_DIM3 },   { 'g', ARG_TYPE_SIZES }
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].c == c)
			return types[i].type;
	return -EINVAL;
}

/* Of one number of a type, in memory. */
static unsigned size_of(enum gpu_api_arg_type type)
{
	return type == ARG_TYPE_U32 || type == ARG_TYPE_I32 ? 4 : 8;
}

/* Behind the digits; NULL: there are none, or too many. */
static const char *parse_number(const char *s, unsigned max, unsigned *ret)
{
	const char *p = s;

	for (*ret = 0; *p >= '0' && *p <= '9' && *ret <= max; p++)
		*ret = *ret * 10 + (unsigned)(*p - '0');
	return p > s && *ret <= max ? p : NULL;
}

/* "3q@5.0", after the '='. */
static int parse_place(const char *s, const char *end, struct gpu_api_arg *ret)
{
	unsigned arg, offset = 0;
	bool in_memory;
	int type;

	ret->n = 1;
	if (*s >= '2' && *s <= '9')
		ret->n = (uint8_t)(*s++ - '0');
	type = s < end ? type_of(*s++) : -EINVAL;
	if (type < 0)
		return -EINVAL;
	in_memory = *s == '@';
	s = parse_number(s + in_memory, GPU_API_ARGS - 1, &arg);
	if (s && in_memory)
		s = *s == '.' ? parse_number(s + 1, UINT16_MAX, &offset) : NULL;
	if (s != end)
		return -EINVAL;
	ret->type = (uint8_t)type;
	ret->arg = (uint8_t)arg;
	ret->offset = (uint16_t)offset;
	ret->window = in_memory ? 0 : -1;
	if (type == ARG_TYPE_SIZES)
		ret->n = 3;
	return 0;
}

/* Makes the window of the argument wide enough. */
static int add_window(struct gpu_api_arg *a, struct gpu_api_reads *reads)
{
	unsigned begin = a->offset, end = begin + a->n * size_of(a->type);
	struct gpu_api_window *w = NULL;

	for (int i = 0; i < GPU_API_WINDOWS && !w; i++) {
		if (reads->windows[i].arg == a->arg || reads->windows[i].arg == GPU_API_NO_ARG) {
			w = &reads->windows[i];
			a->window = (int8_t)i;
		}
	}
	if (!w)
		return -EINVAL;
	if (w->arg == GPU_API_NO_ARG)
		*w = (struct gpu_api_window){ .arg = a->arg, .offset = a->offset };
	if (begin < w->offset) {
		w->len = (uint8_t)(w->len + (w->offset - begin));
		w->offset = (uint16_t)begin;
	}
	if (end - w->offset > w->len)
		w->len = (uint8_t)(end - w->offset < 255 ? end - w->offset : 255);
	return w->len <= GPU_API_WINDOW_BYTES ? 0 : -EINVAL;
}

static int add_reads(struct gpu_api_arg *a, struct gpu_api_reads *reads)
{
	unsigned last = a->arg;

	if (a->window < 0 && a->type == ARG_TYPE_DIM3)
		last += 1;
	else if (a->window < 0)
		last += a->n - 1u;
	if (last >= GPU_API_ARGS)
		return -EINVAL;
	if (a->type == ARG_TYPE_SIZES && reads->n_args < 3)
		reads->n_args = 3;
	if (reads->n_args < last + 1)
		reads->n_args = (uint8_t)(last + 1);
	if (a->type == ARG_TYPE_OUT)
		reads->out_arg = a->arg;
	if (a->type == ARG_TYPE_TEXT)
		reads->text_arg = a->arg;
	return a->window < 0 ? 0 : add_window(a, reads);
}

int gpu_api_args_parse(const char *spec, struct gpu_api_arg ret[GPU_API_MAX_ARGS],
		       struct gpu_api_reads *reads)
{
	int n = 0;

	*reads = (struct gpu_api_reads){ .out_arg = GPU_API_NO_ARG, .text_arg = GPU_API_NO_ARG };
	for (int i = 0; i < GPU_API_WINDOWS; i++)
		reads->windows[i].arg = GPU_API_NO_ARG;
	while (*spec) {
		const char *end = spec + strcspn(spec, " "), *is = strchr(spec, '=');

		if (n == GPU_API_MAX_ARGS || !is || is > end ||
		    (size_t)(is - spec) >= sizeof(ret[n].name))
			return -EINVAL;
		ret[n] = (struct gpu_api_arg){ 0 };
		memcpy(ret[n].name, spec, (size_t)(is - spec));
		if (parse_place(is + 1, end, &ret[n]) < 0 || add_reads(&ret[n], reads) < 0)
			return -EINVAL;
		n++;
		spec = end + (*end == ' ');
	}
	return n;
}

const struct gpu_api_spec *gpu_api_spec(size_t function)
{
	static struct gpu_api_spec specs[GPU_API_MAX_FUNCTIONS];
	static bool are_parsed;

	for (size_t i = 0; !are_parsed && i < gpu_api_n_functions; i++) {
		struct gpu_api_spec *s = &specs[i];
		int n = gpu_api_args_parse(gpu_api_functions[i].args, s->args, &s->reads);

		s->n = n < 0 ? 0 : n; /* a test says that there is none such */
		s->reads.has_stack = gpu_api_functions[i].has_stack;
	}
	are_parsed = true;
	return &specs[function];
}
