/* SPDX-License-Identifier: Apache-2.0 */
/* python_layout.c - where CPython keeps its frames, by version. */
#include "python_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/*
 * CPython 3.11, the same in all its releases:
 *   Include/internal/pycore_runtime.h  struct pyruntimestate
 *   Include/internal/pycore_interp.h   struct _is
 *   Include/cpython/pystate.h	       struct _ts, struct _PyCFrame
 *   Include/internal/pycore_frame.h    struct _PyInterpreterFrame
 *   Include/cpython/code.h	       struct PyCodeObject
 *   Include/cpython/unicodeobject.h    PyASCIIObject, PyCompactUnicodeObject
 *   Include/cpython/bytesobject.h      PyBytesObject
 */
static const struct python_layout python_3_11 = {
	.interpreters = 40,
	.interp_next = 0,
	.interp_threads = 16,
	.thread_next = 8,
	.thread_id = 152,
	.native_id = 160,
	.thread_frame = 56,
	.cframe_frame = 8,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instr = 56,
	.frame_owner = 69,
	.frame_entry = 68,
	.code_size = 16,
	.code_firstline = 72,
	.code_filename = 112,
	.code_name = 120,
	.code_qualname = 128,
	.code_linetable = 136,
	.code_units = 184,
	.str_length = 16,
	.str_state = 32,
	.str_ascii = 48,
	.str_data = 72,
	.bytes_size = 16,
	.bytes_data = 32,
};

/* CPython 3.12, the same headers. A frame owned by the C stack marks where that was entered. */
static const struct python_layout python_3_12 = {
	.interpreters = 40,
	.interp_next = 0,
	.interp_threads = 72,
	.thread_next = 8,
	.thread_id = 136,
	.native_id = 144,
	.thread_frame = 56,
	.cframe_frame = 0,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instr = 56,
	.frame_owner = 70,
	.frame_entry = PYTHON_NO_FIELD,
	.code_size = 16,
	.code_firstline = 68,
	.code_filename = 112,
	.code_name = 120,
	.code_qualname = 128,
	.code_linetable = 136,
	.code_units = 192,
	.str_length = 16,
	.str_state = 32,
	.str_ascii = 40,
	.str_data = 56,
	.bytes_size = 16,
	.bytes_data = 32,
};

/* CPython 3.13, Include/internal/pycore_runtime.h: struct _Py_DebugOffsets, all u64. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
	struct {
		uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins;
		uint64_t ceval_gil, gil_state, gil_enabled, gil_locked, gil_holder;
	} interp;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id;
		uint64_t datastack_chunk, status;
	} thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount;
		uint64_t localsplusnames, localspluskinds, co_code_adaptive;
	} code;
	struct {
		uint64_t size, ob_type;
	} object;
	struct {
		uint64_t size, tp_name, tp_repr, tp_flags;
	} type;
	struct {
		uint64_t size, ob_item, ob_size;
	} tuple, list;
	struct {
		uint64_t size, ma_keys, ma_values;
	} dict;
	struct {
		uint64_t size, ob_fval;
	} flt;
	struct {
		uint64_t size, lv_tag, ob_digit;
	} lng;
	struct {
		uint64_t size, ob_size, ob_sval;
	} bytes;
	struct {
		uint64_t size, state, length, asciiobject_size;
	} unicode;
};

_Static_assert(sizeof(struct debug_offsets) <= PYTHON_RUNTIME_BYTES, "read in full");

/* No structure of CPython's is that large; _PyRuntime and the interpreter's are 0.3 MB. */
#define MAX_LARGE_OFFSET (4u << 20)
#define MAX_SMALL_OFFSET 4096

static bool plausible(const struct debug_offsets *o)
{
	const uint64_t large[] = { o->runtime.interpreters_head, o->interp.next,
				   o->interp.threads_head };
	const uint64_t small[] = {
		o->thread.next,
		o->thread.current_frame,
		o->thread.thread_id,
		o->frame.previous,
		o->thread.native_thread_id,
		o->frame.executable,
		o->frame.instr_ptr,
		o->frame.owner,
		o->code.co_code_adaptive,
		o->code.filename,
		o->code.name,
		o->code.qualname,
		o->code.linetable,
		o->code.firstlineno,
		o->object.size,
		o->unicode.length,
		o->unicode.state,
		o->unicode.asciiobject_size,
		o->bytes.ob_size,
		o->bytes.ob_sval,
	};

	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		if (large[i] > MAX_LARGE_OFFSET)
			return false;
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (small[i] > MAX_SMALL_OFFSET)
			return false;
	return true;
}

static void take_offsets(const struct debug_offsets *o, struct python_layout *ret)
{
	*ret = (struct python_layout){
		.interpreters = (uint32_t)o->runtime.interpreters_head,
		.interp_next = (uint32_t)o->interp.next,
		.interp_threads = (uint32_t)o->interp.threads_head,
		.thread_next = (uint32_t)o->thread.next,
		.thread_id = (uint32_t)o->thread.thread_id,
		.native_id = (uint32_t)o->thread.native_thread_id,
		.thread_frame = (uint32_t)o->thread.current_frame,
		.cframe_frame = PYTHON_NO_CFRAME,
		.frame_code = (uint16_t)o->frame.executable,
		.frame_previous = (uint16_t)o->frame.previous,
		.frame_instr = (uint16_t)o->frame.instr_ptr,
		.frame_owner = (uint16_t)o->frame.owner,
		.frame_entry = PYTHON_NO_FIELD,
		.code_size = (uint16_t)o->object.size, /* ob_size is what follows the head */
		.code_firstline = (uint16_t)o->code.firstlineno,
		.code_filename = (uint16_t)o->code.filename,
		.code_name = (uint16_t)o->code.name,
		.code_qualname = (uint16_t)o->code.qualname,
		.code_linetable = (uint16_t)o->code.linetable,
		.code_units = (uint16_t)o->code.co_code_adaptive,
		.str_length = (uint16_t)o->unicode.length,
		.str_state = (uint16_t)o->unicode.state,
		.str_ascii = (uint16_t)o->unicode.asciiobject_size,
		/* PyCompactUnicodeObject has two words more. */
		.str_data = (uint16_t)(o->unicode.asciiobject_size + 16),
		.bytes_size = (uint16_t)o->bytes.ob_size,
		.bytes_data = (uint16_t)o->bytes.ob_sval,
	};
}

/* Does the walker see all it needs in what it reads in one go, and where it looks? */
static bool fits_windows(const struct python_layout *l)
{
	const uint16_t frame[] = { l->frame_code, l->frame_previous, l->frame_instr };
	const uint16_t code[] = { l->code_size, l->code_filename, l->code_name, l->code_qualname,
				  l->code_linetable };

	for (size_t i = 0; i < sizeof(frame) / sizeof(frame[0]); i++)
		if (frame[i] % 8 || frame[i] > PYTHON_FRAME_WINDOW - 8)
			return false;
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		if (code[i] % 8 || code[i] > PYTHON_CODE_WINDOW - 8)
			return false;
	return l->code_firstline % 4 == 0 && l->code_firstline <= PYTHON_CODE_WINDOW - 4 &&
	       l->frame_owner < PYTHON_FRAME_WINDOW &&
	       (l->frame_entry == PYTHON_NO_FIELD || l->frame_entry < PYTHON_FRAME_WINDOW);
}

static int describes_itself(uint32_t version, const void *runtime, size_t len,
			    struct python_layout *ret, const char **ret_why)
{
	struct debug_offsets o;

	*ret_why = "it does not describe itself as CPython 3.13 does";
	if (len < sizeof(o))
		return -ENOTSUP;
	memcpy(&o, runtime, sizeof(o));
	if (memcmp(o.cookie, "xdebugpy", sizeof(o.cookie)) != 0 || o.version != version)
		return -ENOTSUP;
	if (o.free_threaded) {
		*ret_why = "a free-threaded build";
		return -ENOTSUP;
	}
	if (!plausible(&o))
		return -ENOTSUP;
	take_offsets(&o, ret);
	return fits_windows(ret) ? 0 : -ENOTSUP;
}

int python_layout(uint32_t version, const void *runtime, size_t len, struct python_layout *ret,
		  const char **ret_why)
{
	/* 0xa, 0xb: alpha and beta, in which structures still change. */
	if ((version >> 4 & 0xf) < 0xc) {
		*ret_why = "an alpha or beta release";
		return -ENOTSUP;
	}
	switch (version >> 16) {
	case 0x030b:
		*ret = python_3_11;
		return 0;
	case 0x030c:
		*ret = python_3_12;
		return 0;
	case 0x030d:
		return describes_itself(version, runtime, len, ret, ret_why);
	default:
		*ret_why = "a version whose structures are not known";
		return -ENOTSUP;
	}
}
