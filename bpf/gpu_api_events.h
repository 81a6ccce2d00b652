/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* gpu_api_events.h - records of bpf/gpu_api.bpf.c, read by daemon/collect/gpu_api.c. */
#ifndef GPU_API_EVENTS_H
#define GPU_API_EVENTS_H

#include "event.h"
#include "user_stack.h"

enum gpu_api_event_type {
	GPU_API_CALL = 1,   /* a call has returned, or is known to be over */
	GPU_API_UNFINISHED, /* one that has not, as of hdr.time_ns: no event of the ledger */
	GPU_API_STACK,	    /* where a call comes from that has just begun */
};

#define GPU_API_MAX_FUNCTIONS 1024

#define GPU_API_ARGS	     10
#define GPU_API_WINDOWS	     2
#define GPU_API_WINDOW_BYTES 40
#define GPU_API_TEXT	     128

/* gpu_api_call.flags */
#define GPU_API_WINDOW_READ(i) (0x01 << (i)) /* windows[i] holds */
#define GPU_API_OUT_READ       0x04	     /* `out` holds */
#define GPU_API_ABANDONED      0x08 /* it never returned: a jump or an exception has left it */
#define GPU_API_EXITED	       0x10 /* nor did it: its thread has ended, or is another program */
#define GPU_API_FLAGS	       0x1f

#define GPU_API_NO_ARG 0xff

/* What is read of a function's arguments: the table of the daemon has it from its own. */
struct gpu_api_window { /* of memory that an argument points to */
	__u8 arg;	/* GPU_API_NO_ARG: none */
	__u8 len;	/* up to GPU_API_WINDOW_BYTES */
	__u16 offset;
};

struct gpu_api_reads {
	__u8 n_args;
	__u8 out_arg;  /* points to 8 bytes that the function writes; or GPU_API_NO_ARG */
	__u8 text_arg; /* points to a string; likewise */
	__u8 has_stack;
	struct gpu_api_window windows[GPU_API_WINDOWS];
};

/* Only as much of it is transferred as there is, gpu_api_size(); of an unfinished one all. */
struct gpu_api_call {
	__u64 enter_ns; /* CLOCK_BOOTTIME */
	__u64 ret;	/* as it is in the register */
	__u64 out;
	__u16 function; /* index in the daemon's table */
	__u8 flags;
	__u8 text_len;
	__u8 has_windows; /* they are transferred */
	__u8 pad[3];
	__u64 args[GPU_API_ARGS];
	__u8 windows[GPU_API_WINDOWS][GPU_API_WINDOW_BYTES];
	__u8 text[GPU_API_TEXT];
};

struct gpu_api_event {
	struct event_hdr hdr; /* time_ns: when it was over */
	struct gpu_api_call call;
};

#define GPU_API_HEAD (sizeof(struct event_hdr) + 32 + 8 * GPU_API_ARGS)

static inline __attribute__((always_inline)) __u32 gpu_api_size(const struct gpu_api_call *call)
{
	if (call->text_len)
		return sizeof(struct gpu_api_event);
	return GPU_API_HEAD + (call->has_windows ? sizeof(call->windows) : 0);
}

struct gpu_api_stack {
	struct event_hdr hdr;
	__u64 weight; /* calls that it stands for */
	__u32 function;
	__u32 pad;
	struct user_stack user;
};

#define GPU_API_STACK_HEAD (sizeof(struct event_hdr) + 16)

_Static_assert(sizeof(struct gpu_api_reads) == 12, "no padding");
_Static_assert(sizeof(struct gpu_api_event) ==
		       GPU_API_HEAD + GPU_API_WINDOWS * GPU_API_WINDOW_BYTES + GPU_API_TEXT,
	       "no padding");
_Static_assert(sizeof(struct gpu_api_stack) == GPU_API_STACK_HEAD + sizeof(struct user_stack),
	       "no padding");
_Static_assert(sizeof(struct gpu_api_stack) < 32768, "per-CPU maps hold no more");

#endif
