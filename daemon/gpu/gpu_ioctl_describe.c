/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_ioctl_describe.c - names and arguments of ioctls.
 *
 * What one number means depends on the driver, and an unknown one stays a
 * number. A field is shown as far as the caller's struct has it: programs and
 * kernels of another age have shorter ones.
 */
#include "gpu_ioctl_describe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collect/syscalls_names.h"

#define DRM_FIRST_OF_DRIVER 0x40
#define DRM_LAST_OF_DRIVER  0x9f
#define MODESET_MINOR	    254

#define IOC_TYPE(request)      ((request) >> 8 & 0xff)
#define IOC_DIRECTION(request) ((request) >> 30)

struct trace_arg *gpu_description_add(struct gpu_description *d, const char *name,
				      enum trace_arg_type type)
{
	struct trace_arg *arg;

	if (d->n_args >= TRACE_MAX_ARGS)
		return NULL;
	arg = &d->args[d->n_args++];
	arg->name = name;
	arg->type = type;
	return arg;
}

static void add_uint(struct gpu_description *d, const char *name, enum trace_arg_type type,
		     uint64_t v)
{
	struct trace_arg *arg = gpu_description_add(d, name, type);

	if (arg)
		arg->u = v;
}

static void add_string(struct gpu_description *d, const char *name, const char *v)
{
	struct trace_arg *arg = gpu_description_add(d, name, ARG_STRING);

	if (arg)
		arg->s = v;
}

bool gpu_ioctl_is_retry(int64_t ret)
{
	return ret == -EINTR || ret == -EAGAIN || call_interrupted(ret);
}

/* ---- which ioctl is it? ---- */

static bool is_drm(const struct gpu_ioctl_event *ev)
{
	return ev->gpu_class == GPU_DRM || ev->gpu_class == GPU_ACCEL;
}

static bool is_modeset(const struct gpu_ioctl_event *ev)
{
	return ev->gpu_class == GPU_NVIDIA && (ev->rdev & 0xfffff) == MODESET_MINOR;
}

/* The letter that all requests of the table have; 0: theirs have none. */
static uint8_t type_of(const struct gpu_ioctl_event *ev)
{
	switch (ev->gpu_class) {
	case GPU_DRM:
	case GPU_ACCEL:
		return 'd';
	case GPU_KFD:
		return 'K';
	case GPU_NVIDIA:
		return is_modeset(ev) ? 'm' : 'F';
	case GPU_DMA_HEAP:
		return 'H';
	case GPU_UDMABUF:
		return 'u';
	case GPU_DMA_BUF:
		return 'b';
	case GPU_SYNC_FILE:
		return '>';
	default:
		return 0;
	}
}

static bool is_core(uint32_t nr)
{
	return nr < DRM_FIRST_OF_DRIVER || nr > DRM_LAST_OF_DRIVER;
}

static const struct gpu_ioctl_info *look_up(const struct gpu_ioctl_event *ev, const char *driver)
{
	const char *whose = driver;
	char own[GPU_DRIVER_LEN];

	if (ev->gpu_class == GPU_NVIDIA_UVM)
		return gpu_ioctl_find(gpu_ioctl_slot("nvidia-uvm"), ev->nr, ev->size, 3);
	if (!type_of(ev) || IOC_TYPE(ev->request) != type_of(ev))
		return NULL;
	if (is_drm(ev) && is_core(ev->nr)) {
		whose = "drm";
	} else if (!is_drm(ev)) {
		gpu_driver_name(ev->gpu_class, ev->rdev >> 20, ev->rdev & 0xfffff, own);
		whose = own;
	}
	return gpu_ioctl_find(gpu_ioctl_slot(whose), ev->nr, ev->size, IOC_DIRECTION(ev->request));
}

/* Numbers beyond a byte are not worth a name of their own: anyone could make up billions. */
static void name_unknown(const struct gpu_ioctl_event *ev, const char *driver,
			 char ret[GPU_IOCTL_NAME_LEN])
{
	bool known_form = type_of(ev) && IOC_TYPE(ev->request) == type_of(ev);
	char number[16] = "";

	if (ev->nr <= 0xff)
		snprintf(number, sizeof(number), " 0x%02x", ev->nr);
	if (ev->gpu_class == GPU_NVIDIA_UVM)
		snprintf(ret, GPU_IOCTL_NAME_LEN, "UVM ioctl%s", number);
	else if (!known_form)
		snprintf(ret, GPU_IOCTL_NAME_LEN, "ioctl");
	else if (is_drm(ev))
		snprintf(ret, GPU_IOCTL_NAME_LEN, "DRM %s ioctl%s",
			 is_core(ev->nr) ? "core" : "driver", number);
	else if (is_modeset(ev))
		snprintf(ret, GPU_IOCTL_NAME_LEN, "NVKMS command%s", number);
	else if (ev->gpu_class == GPU_NVIDIA)
		snprintf(ret, GPU_IOCTL_NAME_LEN, "NVIDIA escape%s", number);
	else
		snprintf(ret, GPU_IOCTL_NAME_LEN, "%s ioctl%s", driver, number);
}

/* ---- the caller's struct ---- */

struct fields {
	const struct gpu_ioctl_event *ev;
	const uint8_t *in, *out;
	size_t n_in, n_out;
};

static bool read_field(const uint8_t *data, size_t n, const struct gpu_ioctl_field *f,
		       uint64_t *ret)
{
	uint64_t v = 0;

	if ((size_t)f->offset + f->bytes > n)
		return false;
	memcpy(&v, data + f->offset, f->bytes); /* little endian, as both architectures are */
	if ((f->flags & FIELD_SIGNED) && f->bytes < 8 && (v >> (8 * f->bytes - 1) & 1))
		v |= UINT64_MAX << 8 * f->bytes;
	*ret = v;
	return true;
}

static void add_field(struct gpu_description *d, const struct gpu_ioctl_field *f, const char *name,
		      uint64_t v)
{
	add_uint(d, name,
		 f->flags & FIELD_HEX	   ? ARG_POINTER
		 : f->flags & FIELD_SIGNED ? ARG_INT
					   : ARG_UINT,
		 v);
}

/* What went in, and what came out where that is something else. */
static void add_fields(struct gpu_description *d, const struct fields *s)
{
	for (size_t i = 0; i < d->info->n_fields && i < GPU_MAX_FIELDS; i++) {
		const struct gpu_ioctl_field *f = &d->info->fields[i];
		uint64_t in = 0, out = 0;
		bool has_in = !(f->flags & (FIELD_OUT | FIELD_STATUS)) &&
			      read_field(s->in, s->n_in, f, &in);
		bool has_out = !(f->flags & (FIELD_IN | FIELD_STATUS)) &&
			       read_field(s->out, s->n_out, f, &out);

		if (has_in)
			add_field(d, f, f->name, in);
		if (!has_out || (has_in && in == out))
			continue;
		if (!has_in) {
			add_field(d, f, f->name, out);
			continue;
		}
		snprintf(d->changed[i], sizeof(d->changed[i]), "%.35s_out", f->name);
		add_field(d, f, d->changed[i], out);
	}
}

/* The driver's own result, if it has one and could be read. */
static bool status_of(const struct gpu_description *d, const struct fields *s, uint32_t *ret)
{
	uint64_t v;

	for (size_t i = 0; i < d->info->n_fields; i++) {
		const struct gpu_ioctl_field *f = &d->info->fields[i];

		if (!(f->flags & FIELD_STATUS))
			continue;
		if (s->ev->flags & GPU_HAS_STATUS) {
			*ret = s->ev->status;
			return true;
		}
		if (read_field(s->out, s->n_out, f, &v)) {
			*ret = (uint32_t)v;
			return true;
		}
	}
	return false;
}

static void add_status(struct gpu_description *d, uint32_t status)
{
	const char *name = gpu_nv_status_name(status);

	if (!name) {
		snprintf(d->status, sizeof(d->status), "0x%x", status);
		name = d->status;
	}
	add_string(d, "status", name);
}

static void describe_struct(struct gpu_description *d, const struct gpu_ioctl_event *ev)
{
	struct fields s = {
		.ev = ev,
		.in = ev->data,
		.out = ev->data + GPU_ROUND(ev->n_in),
		.n_in = ev->n_in,
		.n_out = ev->n_out,
	};
	uint32_t status;

	/* A 32-bit program's struct is the same if it has the same size, and else unknown. */
	if ((ev->flags & GPU_COMPAT) && ev->size != d->info->size)
		return;
	add_fields(d, &s);
	if (status_of(d, &s, &status))
		add_status(d, status);
}

static void add_result(struct gpu_description *d, int64_t ret)
{
	const char *error = call_error(ret);
	struct trace_arg *arg;

	if (error) {
		add_string(d, "error", error);
	} else if (ret != 0) {
		arg = gpu_description_add(d, "ret", ARG_INT);
		if (arg)
			arg->i = ret;
	}
}

void gpu_ioctl_describe(const struct gpu_ioctl_event *ev, const char *driver,
			struct gpu_description *ret)
{
	struct trace_arg *fd;

	ret->n_args = 0;
	snprintf(ret->driver, sizeof(ret->driver), "%s", driver);
	ret->info = look_up(ev, driver);
	ret->ioctl_class = ret->info ? ret->info->ioctl_class : GPU_CLASS_UNKNOWN;
	if (ret->info)
		snprintf(ret->name, sizeof(ret->name), "%s", ret->info->name);
	else
		name_unknown(ev, driver, ret->name);

	add_string(ret, "driver", ret->driver);
	add_string(ret, "class", gpu_ioctl_class_name(ret->ioctl_class));
	if (ev->rdev)
		add_uint(ret, "minor", ARG_UINT, ev->rdev & 0xfffff);
	fd = gpu_description_add(ret, "fd", ARG_INT);
	if (fd)
		fd->i = ev->fd;
	if (!ret->info)
		add_uint(ret, "request", ARG_POINTER, ev->request);
	else
		describe_struct(ret, ev);
	if (ev->hdr.type == GPU_IOCTL_UNFINISHED)
		add_uint(ret, "unfinished", ARG_BOOL, 1);
	else
		add_result(ret, ev->ret);
	if (ev->n_skipped)
		add_uint(ret, "queries_before", ARG_UINT, ev->n_skipped);
	if (ev->flags & GPU_COMPAT)
		add_uint(ret, "compat", ARG_BOOL, 1);
	if (ev->flags & GPU_NO_INPUT)
		add_uint(ret, "input_unreadable", ARG_BOOL, 1);
}
