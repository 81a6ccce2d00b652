/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frames.bpf.h - which functions the frames of generated code are of.
 *
 * Used by unwind.bpf.h: frames_begin() at the start of a walk, frames_take() for
 * each frame that is left by its frame pointer, frames_words() after it. The
 * rules are the daemon's, a process without one costs a look-up for each such
 * frame. What is read belongs to the traced process and may be nonsense: whoever
 * gets the description looks closer.
 */
#ifndef FRAMES_BPF_H
#define FRAMES_BPF_H

#include "frames.h"
#include "kernel.h"
#include "python.h"

struct frames_key {
	__u64 address;
	__u32 tgid;
	__u32 pad;
};

/* Memory is used again, and objects move: the identity tells. */
struct frames_object {
	__u64 identity;
	__u32 number; /* 0: it is not described yet */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FRAMES_MAX_RULES);
	__type(key, __u32);
	__type(value, struct frames_rule);
} frames_rules SEC(".maps");

/* Not one that forgets by itself: those take locks that a sample in an NMI must not wait for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRAMES_MAX_OBJECTS);
	__type(key, struct frames_key);
	__type(value, struct frames_object);
} frames_objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 19);
} frames_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frames_state);
} frames_state SEC(".maps");

/* A walk at work. */
struct frames_walk {
	__u32 n; /* words */
	__u32 more;
	__u64 words[PYTHON_WORDS_ROOM]; /* innermost first */
	__u64 window[FRAMES_WINDOW];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frames_walk);
} frames_walks SEC(".maps");

static __always_inline struct frames_walk *frames_this_walk(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&frames_walks, &zero);
}

/* Global, as those below: the verifier looks at it once. */
__attribute__((noinline)) int frames_begin(void)
{
	struct frames_walk *w = frames_this_walk();

	if (!w)
		return 0;
	w->n = 0;
	w->more = 0;
	return 1;
}

static __always_inline bool frames_is_pointer(const struct frames_rule *rule, __u64 value)
{
	return (value & rule->tag_mask) == rule->tag;
}

/* A pointer with its tag at `addr`; 0: there is none. */
static __always_inline __u64 frames_pointer(const struct frames_rule *rule, __u64 addr)
{
	__u64 value = 0;

	if (bpf_probe_read_user(&value, sizeof(value), (const void *)addr) < 0 ||
	    !frames_is_pointer(rule, value))
		return 0;
	return value;
}

/* What the frame at `fp` has; 0: nothing, it is of another kind. */
static __always_inline __u64 frames_subject(const struct frames_rule *rule, __u64 fp)
{
	__u64 words[2] = { 0 };

	if (bpf_probe_read_user(words, sizeof(words), (const void *)(fp + rule->subject_at)) < 0 ||
	    !frames_is_pointer(rule, words[0]) ||
	    (rule->has_marker && !frames_is_pointer(rule, words[1])))
		return 0;
	return words[0];
}

static __always_inline bool frames_is_of_class(const struct frames_rule *rule, __u64 subject)
{
	__u64 class;
	__u16 type = 0;

	if (rule->class_at == FRAMES_NONE)
		return true;
	class = frames_pointer(rule, subject + rule->class_at);
	return class &&
	       bpf_probe_read_user(&type, sizeof(type), (const void *)(class + rule->type_at)) ==
		       0 &&
	       type >= rule->type_min && type <= rule->type_max;
}

/* Describes an object, and gives it a number; 0: another time. */
static __always_inline __u32 frames_describe(const struct frames_key *key, __u64 identity)
{
	struct frames_object object = { .identity = identity };
	struct frames_event ev = { .address = key->address,
				   .identity = identity,
				   .tgid = key->tgid };
	struct frames_state *state;
	__u32 zero = 0;

	/* First its place: without one it would be described at each sample. */
	state = bpf_map_lookup_elem(&frames_state, &zero);
	if (!state || bpf_map_update_elem(&frames_objects, key, &object, BPF_ANY) < 0)
		return 0;
	object.number = __sync_fetch_and_add(&state->n_objects, 1) + 1;
	ev.number = object.number;
	ev.time_ns = bpf_ktime_get_boot_ns();
	if (!object.number ||
	    bpf_ringbuf_output(&frames_ring, &ev, sizeof(ev), BPF_RB_NO_WAKEUP) != 0) {
		bpf_map_delete_elem(&frames_objects, key); /* the ring is full */
		return 0;
	}
	bpf_map_update_elem(&frames_objects, key, &object, BPF_ANY);
	return object.number;
}

/* The number of the frame's object; 0: it has none. */
static __always_inline __u32 frames_number(const struct frames_rule *rule, struct frames_walk *w,
					   __u64 subject, __u32 tgid)
{
	struct frames_key key = { .tgid = tgid };
	struct frames_object *known;
	__u64 identity;

	key.address = rule->object_at == FRAMES_NONE
			      ? subject
			      : frames_pointer(rule, subject + rule->object_at);
	if (!key.address || bpf_probe_read_user(w->window, sizeof(w->window),
						(const void *)(key.address + rule->window_at)) < 0)
		return 0;
	identity = frames_identity(w->window, rule->mask);
	known = bpf_map_lookup_elem(&frames_objects, &key);
	if (known && known->identity == identity && known->number)
		return known->number;
	return frames_is_of_class(rule, subject) ? frames_describe(&key, identity) : 0;
}

/* The frame at `fp`, number `index` in the stack, whose lower end is at `sp`. */
__attribute__((noinline)) int frames_take(__u64 fp, __u64 sp, __u32 index)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, number, n;
	struct frames_rule *rule = bpf_map_lookup_elem(&frames_rules, &tgid);
	struct frames_walk *w;
	__u64 subject;

	if (!rule)
		return 0;
	w = frames_this_walk();
	/* A frame that is being made, or unmade, does not reach down to it. */
	if (!w || sp > fp + rule->subject_at)
		return 0;
	subject = frames_subject(rule, fp);
	if (!subject)
		return 0;
	n = w->n;
	if (n >= PYTHON_MAX_FRAMES) {
		w->more = 1;
		return 0;
	}
	number = frames_number(rule, w, subject, tgid);
	if (!number)
		return 0;
	w->words[n & (PYTHON_WORDS_ROOM - 1)] = FRAMES_WORD(index, number);
	w->n = n + 1;
	return 1;
}

/*
 * The words of the walk that is over, innermost first, to `words`, which has room
 * for PYTHON_WORDS_ROOM. `*ret_more`: there were more. Returns how many.
 */
static __always_inline __u32 frames_words(__u64 *words, bool *ret_more)
{
	struct frames_walk *w = frames_this_walk();
	__u32 n;

	if (!w)
		return 0;
	n = w->n;
	asm volatile("" : "+r"(n));
	n &= PYTHON_WORDS_ROOM - 1;
	if (n && bpf_probe_read_kernel(words, n * sizeof(*words), w->words) < 0)
		return 0;
	*ret_more = w->more;
	return n;
}

#endif
