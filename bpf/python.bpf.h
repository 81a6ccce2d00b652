/* SPDX-License-Identifier: GPL-2.0 */
/*
 * python.bpf.h - the Python frames of the thread that is running.
 *
 * For any program that may read the memory of the current process without
 * sleeping (interp.bpf.h). It costs a process that is not Python one look-up. What
 * is read belongs to the traced process and may be nonsense: loops are bounded,
 * and a thread state only counts when it says it is this thread's.
 *
 * Structures: python.h, and daemon/interp/python_layout.c for each version.
 */
#ifndef PYTHON_BPF_H
#define PYTHON_BPF_H

#include "kernel.h"
#include "python.h"

/* Thread states looked at until this thread's is found; then it is remembered. */
#define PYTHON_MAX_THREADS 1024
/*
 * A thread without one (it computes for numpy, or begins just now) is asked again
 * after this, if it takes many threads to find out.
 */
#define PYTHON_RETRY_NS	    200000000ull
#define PYTHON_MANY_THREADS 32

/*
 * Where a thread's state was found last. Two threads may share a place, and two
 * CPUs may write at once: what is here counts only if it says that it is right.
 */
struct python_thread {
	__u64 state; /* 0: there was none at `time_ns` */
	__u64 time_ns;
	__u32 tid;
	__u32 pad;
};

#define PYTHON_THREADS 8192 /* a power of two */

struct python_code_key {
	__u64 address;
	__u32 tgid;
	__u32 pad;
};

/* A freed code object's memory is used again: the contents tell. */
struct python_code {
	__u64 contents;
	__u32 number; /* 0: it is not described yet */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PYTHON_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct python_proc);
} python_procs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PYTHON_MAX_PROGRAMS);
	__type(key, struct python_program_key);
	__type(value, struct python_program);
} python_programs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_MAX_LAYOUTS);
	__type(key, __u32);
	__type(value, struct python_layout);
} python_layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_THREADS);
	__type(key, __u32);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* Not one that forgets by itself: those take locks that a sample in an NMI must not wait for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PYTHON_MAX_CODES);
	__type(key, struct python_code_key);
	__type(value, struct python_code);
} python_codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} python_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_state);
} python_state SEC(".maps");

/* A walk at work. */
struct python_walk {
	__u64 frame;
	__u64 thread, interp; /* while the thread state is searched */
	__u64 identity;	      /* of the thread, and where its state has it */
	__u32 identity_offset;
	__u32 layout;
	__u32 tgid;
	__u32 n;   /* words */
	__u32 end; /* enum python_end */
	__u32 busy;
	__u32 n_looked;	       /* thread states and interpreters, in the search */
	__u8 frame_bytes[128]; /* PYTHON_FRAME_WINDOW of them; a power of two for the verifier */
	__u8 code_bytes[256];  /* PYTHON_CODE_WINDOW of them */
	__u64 words[PYTHON_WORDS_ROOM]; /* innermost first */
	struct python_code_event code;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

/* What the steps of a loop get: on the stack, as bpf_loop() wants it. */
struct python_context {
	struct python_walk *walk;
	const struct python_layout *layout;
};

static __always_inline __u64 python_frame_u64(const struct python_walk *w, __u32 offset)
{
	return *(const __u64 *)(w->frame_bytes + (offset & 120));
}

static __always_inline __u64 python_code_u64(const struct python_walk *w, __u32 offset)
{
	return *(const __u64 *)(w->code_bytes + (offset & 248));
}

/* The compiler knows that `n` is small enough; the verifier may have forgotten. */
static __always_inline __u64 *python_word(struct python_walk *w, __u32 n)
{
	asm volatile("" : "+r"(n));
	return &w->words[n & (PYTHON_WORDS_ROOM - 1)];
}

static __always_inline __u64 python_read_u64(__u64 addr)
{
	__u64 value = 0;

	if (bpf_probe_read_user(&value, sizeof(value), (const void *)addr) < 0)
		return 0;
	return value;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block___python {
	__u32 s_dev;
};

struct inode___python {
	unsigned long i_ino;
	struct super_block___python *i_sb;
};

struct file___python {
	struct inode___python *f_inode;
};

struct mm_struct___python {
	struct file___python *exe_file;
	unsigned long start_code;
};

struct thread_struct___python {
	unsigned long fsbase;
};

struct task_struct___python {
	struct mm_struct___python *mm;
	struct thread_struct___python thread;
};

#pragma clang attribute pop

/* ---- where is the state of this process's interpreter ---- */

/* By the file that it runs: for those that began only now, and their children. */
static __always_inline bool python_is_program(struct task_struct *task, struct python_proc *ret)
{
	struct mm_struct___python *mm = ((struct task_struct___python *)task)->mm;
	struct python_program_key key = {};
	struct python_program *program;
	struct file___python *file;
	struct inode___python *inode;
	__u32 dev;

	if (!mm)
		return false;
	file = mm->exe_file;
	if (!file)
		return false;
	inode = file->f_inode;
	if (!inode || !inode->i_sb)
		return false;
	dev = inode->i_sb->s_dev;
	key.inode = inode->i_ino;
	key.major = dev >> 20; /* as the kernel has it, not as stat(2) */
	key.minor = dev & 0xfffff;
	program = bpf_map_lookup_elem(&python_programs, &key);
	if (!program)
		return false;
	ret->runtime = mm->start_code + program->runtime;
	ret->layout = program->layout;
	return true;
}

/* ---- which thread state is this thread's ---- */

#if defined(__TARGET_ARCH_x86)

/* pthread_self(): the thread's control block is where its fs points to. Also right after fork. */
static __always_inline void python_identify(struct python_walk *w, const struct python_layout *l,
					    struct task_struct *task)
{
	struct task_struct___python *t = (void *)task;

	w->identity = BPF_CORE_READ(t, thread.fsbase);
	w->identity_offset = l->thread_id;
}

#else

/* gettid(), in the thread's own pid namespace. */
static __always_inline void python_identify(struct python_walk *w, const struct python_layout *l,
					    struct task_struct *task)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	const void *numbers = (const void *)pid + bpf_core_field_offset(struct pid, numbers);
	const struct upid *upid = numbers + level * bpf_core_type_size(struct upid);

	w->identity = BPF_CORE_READ(upid, nr);
	w->identity_offset = l->native_id;
}

#endif

static long python_find_step(__u32 i, struct python_context *c)
{
	const struct python_layout *l = c->layout;
	struct python_walk *w = c->walk;

	w->n_looked = i;
	if (!w->thread) { /* those of the next interpreter */
		if (!w->interp)
			return 1;
		w->thread = python_read_u64(w->interp + l->interp_threads);
		w->interp = python_read_u64(w->interp + l->interp_next);
		return 0;
	}
	if (python_read_u64(w->thread + w->identity_offset) == w->identity)
		return 1;
	w->thread = python_read_u64(w->thread + l->thread_next);
	return 0;
}

/* The address of the thread state, 0: there is none. The identity is in this CPU's walk. */
__noinline __u64 python_find_thread(__u32 layout, __u64 runtime, __u32 tid)
{
	__u32 zero = 0;
	struct python_walk *w = bpf_map_lookup_elem(&python_walks, &zero);
	struct python_context c = { .walk = w,
				    .layout = bpf_map_lookup_elem(&python_layouts, &layout) };
	__u32 place = (tid ^ tid >> 13) & (PYTHON_THREADS - 1);
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &place);
	__u64 now = bpf_ktime_get_ns(), state;

	if (!w || !c.layout || !known)
		return 0;
	state = known->state;
	if (known->tid == tid && state) {
		if (python_read_u64(state + w->identity_offset) == w->identity)
			return state;
	} else if (known->tid == tid && now - known->time_ns < PYTHON_RETRY_NS) {
		return 0;
	}

	w->thread = 0;
	w->interp = python_read_u64(runtime + c.layout->interpreters);
	bpf_loop(PYTHON_MAX_THREADS, python_find_step, &c, 0);
	/* It may have stopped at the bound, on some other thread. */
	if (w->thread && python_read_u64(w->thread + w->identity_offset) != w->identity)
		w->thread = 0;
	if (w->thread || w->n_looked > PYTHON_MANY_THREADS) {
		known->tid = tid;
		known->state = w->thread;
		known->time_ns = now;
	}
	return w->thread;
}

/* ---- code objects ---- */

static __noinline int python_read_string(const struct python_layout *l, __u64 str,
					 struct python_string *ret, __u8 *text, __u32 max)
{
	__u64 length = python_read_u64(str + l->str_length), bytes;
	__u32 state = 0, kind;

	*ret = (struct python_string){};
	if (bpf_probe_read_user(&state, sizeof(state), (const void *)(str + l->str_state)) < 0)
		return -1;
	kind = state >> 2 & 7;
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return -1; /* not in one piece: not from a compiler */
	ret->ascii = state >> 6 & 1;
	bytes = length > max ? max : length * kind;
	if (bytes > max)
		bytes = max;
	bytes &= PYTHON_MAX_FILE * 2 - 1; /* for the verifier */
	if (bpf_probe_read_user(text, bytes > max ? max : bytes,
				(const void *)(str + (ret->ascii ? l->str_ascii : l->str_data))) <
	    0)
		return -1;
	ret->length = length > 0xffffffff ? 0xffffffff : length;
	ret->bytes = bytes;
	ret->kind = kind;
	return 0;
}

/*
 * Describes the code object in code_bytes of this CPU's walk. 0: sent. Global, as
 * the search for a thread is: the verifier looks at such functions once.
 */
__noinline int python_send_code(__u32 layout, __u64 address, __u32 number)
{
	const struct python_layout *l = bpf_map_lookup_elem(&python_layouts, &layout);
	__u32 zero = 0;
	struct python_walk *w = bpf_map_lookup_elem(&python_walks, &zero);
	struct python_code_event *ev;
	__u64 table, len;

	if (!l || !w)
		return -1;
	ev = &w->code;
	table = python_code_u64(w, l->code_linetable);
	ev->time_ns = bpf_ktime_get_boot_ns();
	ev->address = address;
	ev->tgid = w->tgid;
	ev->code = number;
	ev->first_line = *(__s32 *)(w->code_bytes + (l->code_firstline & 252));
	ev->n_units = python_code_u64(w, l->code_size);
	python_read_string(l, python_code_u64(w, l->code_qualname), &ev->name, ev->name_text,
			   sizeof(ev->name_text));
	python_read_string(l, python_code_u64(w, l->code_filename), &ev->file, ev->file_text,
			   sizeof(ev->file_text));
	len = python_read_u64(table + l->bytes_size);
	ev->linetable_len = len > 0xffffffff ? 0xffffffff : len;
	if (len > PYTHON_MAX_LINETABLE)
		len = PYTHON_MAX_LINETABLE;
	if (bpf_probe_read_user(ev->linetable, len, (const void *)(table + l->bytes_data)) < 0)
		len = 0;
	ev->linetable_bytes = len;
	return bpf_ringbuf_output(&python_ring, ev, PYTHON_CODE_HEAD + len, BPF_RB_NO_WAKEUP);
}

static __always_inline __u64 python_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* The number of the code object in w->code_bytes; 0: it could not be described. */
static __always_inline __u32 python_code_number(struct python_walk *w,
						const struct python_layout *l, __u64 address)
{
	struct python_code_key key = { .address = address, .tgid = w->tgid };
	struct python_code *known, code = {};
	struct python_state *state;
	__u32 zero = 0;

	code.contents =
		python_mix(python_code_u64(w, l->code_size), python_code_u64(w, l->code_qualname));
	code.contents = python_mix(code.contents, python_code_u64(w, l->code_filename));
	code.contents = python_mix(code.contents, python_code_u64(w, l->code_linetable));
	code.contents =
		python_mix(code.contents, *(__u32 *)(w->code_bytes + (l->code_firstline & 252)));
	known = bpf_map_lookup_elem(&python_codes, &key);
	if (known && known->contents == code.contents && known->number)
		return known->number;

	/* First its place: without one it would be described at each sample. */
	state = bpf_map_lookup_elem(&python_state, &zero);
	if (!state || bpf_map_update_elem(&python_codes, &key, &code, BPF_ANY) < 0)
		return 0;
	code.number = __sync_fetch_and_add(&state->n_codes, 1) + 1;
	if (!code.number || python_send_code(w->layout, address, code.number) != 0) {
		bpf_map_delete_elem(&python_codes, &key); /* the ring is full: another time */
		return 0;
	}
	bpf_map_update_elem(&python_codes, &key, &code, BPF_ANY);
	return code.number;
}

/* ---- frames ---- */

static __always_inline __u32 python_unit(const struct python_walk *w, const struct python_layout *l,
					 __u64 code)
{
	__u64 instr = python_frame_u64(w, l->frame_instr);
	__u64 units = (instr - code - l->code_units) >> 1;

	return units < PYTHON_MAX_UNITS ? units : PYTHON_NO_UNIT;
}

static long python_frame_step(__u32 i, struct python_context *c)
{
	const struct python_layout *l = c->layout;
	struct python_walk *w = c->walk;
	bool entry = false;
	__u64 code, frame = w->frame;
	__u32 n = w->n;

	if (!frame) {
		w->end = PYTHON_COMPLETE;
		return 1;
	}
	if (bpf_probe_read_user(w->frame_bytes, PYTHON_FRAME_WINDOW, (const void *)frame) < 0) {
		w->end = PYTHON_READ;
		return 1;
	}
	w->frame = python_frame_u64(w, l->frame_previous);
	if (l->frame_entry == PYTHON_NO_FIELD) {
		if (w->frame_bytes[l->frame_owner & 127] == PYTHON_OWNED_BY_CSTACK) {
			if (n > 0 && n <= PYTHON_MAX_FRAMES)
				*python_word(w, n - 1) |= PYTHON_WORD(0, 0, 1);
			return 0;
		}
	} else {
		entry = w->frame_bytes[l->frame_entry & 127] != 0;
	}
	if (n >= PYTHON_MAX_FRAMES)
		return 1; /* end says PYTHON_DEPTH */
	code = python_frame_u64(w, l->frame_code);
	if (bpf_probe_read_user(w->code_bytes, PYTHON_CODE_WINDOW, (const void *)code) < 0) {
		w->end = PYTHON_READ;
		return 1;
	}
	*python_word(w, n) =
		PYTHON_WORD(python_code_number(w, l, code), python_unit(w, l, code), entry);
	w->n = n + 1;
	return 0;
}

/* Walks the frames of the current thread into this CPU's walk, which is busy then. 0: it did not.
 */
__noinline int python_walk_frames(__u32 tgid, __u32 tid)
{
	struct python_proc *known = bpf_map_lookup_elem(&python_procs, &tgid), proc;
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	const struct python_layout *l;
	struct python_context c;
	struct python_walk *w;
	__u32 zero = 0;
	__u64 thread;

	if (known)
		proc = *known;
	else if (!python_is_program(task, &proc))
		return 0;
	l = bpf_map_lookup_elem(&python_layouts, &proc.layout);
	w = bpf_map_lookup_elem(&python_walks, &zero);
	if (!l || !w || w->busy) /* an event has interrupted another one's walk */
		return 0;
	w->busy = 1;
	w->tgid = tgid;
	w->layout = proc.layout;
	w->n = 0;
	w->end = PYTHON_NO_THREAD;
	c = (struct python_context){ .walk = w, .layout = l };
	python_identify(w, l, task);
	thread = python_find_thread(proc.layout, proc.runtime, tid);
	if (!thread)
		return 1;
	w->frame = python_read_u64(thread + l->thread_frame);
	if (l->cframe_frame != PYTHON_NO_CFRAME)
		w->frame = python_read_u64(w->frame + l->cframe_frame);
	w->end = PYTHON_DEPTH;
	bpf_loop(2 * PYTHON_MAX_FRAMES + 1, python_frame_step, &c, 0);
	return 1;
}

#endif
