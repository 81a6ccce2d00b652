/* SPDX-License-Identifier: Apache-2.0 */
/* Records of probes: which are valid, and what becomes of them in a trace. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "probe/probes_encode.h"
#include "probe/probes_stacks.h"
#include "process/process_table.h"
#include "written_trace.h"

#define US   ((uint64_t)1000)
#define SLOT 3

/* The session's start; the head of the trace is a little older. */
static uint64_t t0;

static struct written w;
static struct trace_config config;
static struct process_table *processes;
static struct probes *probes;
static void *encoder;
static uint64_t n_encoded, now_ns;
static struct probes_event ev;

static void set_up(void)
{
	struct encoder_env env = { .config = &config, .slot = SLOT };

	n_encoded = 0;
	written_open(&w);
	env.start_ns = now_ns = t0 = boot_ns();
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	ck_assert_int_eq(probes_new(&probes), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, t0);
	env.writer = w.writer;
	env.processes = processes;
	env.probes = probes;
	ck_assert_int_eq(probes_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	probes_encoder_free(encoder);
	probes_free(probes);
	process_table_free(processes);
	written_done(&w);
}

/* ---- probes ---- */

static struct probe *add_to(int slot, const char *name, const char *at, const char *end)
{
	struct probe_def def = { .has_end = end != NULL };
	char why[PROBE_WHY_LEN];
	uint32_t id;

	strcpy(def.name, name);
	ck_assert_int_eq(probe_place_parse(at, &def.at, why), 0);
	if (end)
		ck_assert_int_eq(probe_place_parse(end, &def.end, why), 0);
	ck_assert_int_eq(probes_add(probes, &def, slot, 0, why, &id), 0);
	return probes_find(probes, id);
}

static struct probe *add(const char *name, const char *at, const char *end)
{
	return add_to(PROBES_EVERY, name, at, end);
}

/* A function, from its entry to its return. */
static struct probe *add_call(const char *name)
{
	char at[128], end[128];

	snprintf(at, sizeof(at), "uprobe:/bin/prog:%s", name);
	snprintf(end, sizeof(end), "uretprobe:/bin/prog:%s", name);
	return add(name, at, end);
}

/* Two places in a program. */
static struct probe *add_pair(const char *name)
{
	return add(name, "usdt:/bin/prog:p:begin", "usdt:/bin/prog:p:end");
}

static void add_arg(struct probe *p, const char *name, enum probe_type type, uint8_t size,
		    bool at_end)
{
	struct probe_code *code = at_end ? &p->end : &p->begin;

	strcpy(p->def.args[p->def.n_args].name, name);
	code->n = 1;
	code->arg[code->n_values] = (uint8_t)p->def.n_args++;
	code->type[code->n_values] = type;
	code->size[code->n_values++] = size;
}

/* ---- records ---- */

/* A hit of the thread 10 us after the last one; with the values that follow. */
static void make(const struct probe *p, enum probes_point point, uint32_t tid)
{
	memset(&ev, 0, sizeof(ev));
	now_ns += 10 * US;
	ev.hdr = (struct event_hdr){
		.time_ns = now_ns,
		.type = PROBES_HIT,
		.tgid = tid ? 1000 : 0,
		.tid = tid,
		.size = PROBES_HEAD,
	};
	ev.probe = p->id;
	ev.point = (uint8_t)point;
}

static void put(const struct probes_value *head, const void *bytes)
{
	memcpy(ev.bytes + ev.len, head, sizeof(*head));
	memcpy(ev.bytes + ev.len + sizeof(*head), bytes, head->len);
	ev.len += (uint32_t)(sizeof(*head) + ((head->len + 7u) & ~7u));
	ev.n_values++;
	ev.hdr.size = (uint16_t)(PROBES_HEAD + ev.len);
}

static void number(uint64_t value)
{
	const struct probes_value head = { .len = 8 };

	put(&head, &value);
}

static void text(const char *s, bool is_cut)
{
	const struct probes_value head = { .len = (uint16_t)strlen(s),
					   .is_text = 1,
					   .is_cut = is_cut };

	put(&head, s);
}

static void unreadable(void)
{
	const struct probes_value head = { .is_unreadable = 1 };

	put(&head, "");
}

static void send(void)
{
	ck_assert(probes_valid(&ev.hdr, ev.hdr.size));
	ck_assert_int_eq(probes_encode(encoder, &ev.hdr), 0);
	n_encoded++;
}

static void hit(const struct probe *p, enum probes_point point, uint32_t tid)
{
	make(p, point, tid);
	send();
}

static void begin(const struct probe *p, uint32_t tid)
{
	hit(p, PROBES_BEGIN, tid);
}

static void finish(const struct probe *p, uint32_t tid)
{
	hit(p, PROBES_FINISH, tid);
}

static void keyed(const struct probe *p, enum probes_point point, uint32_t tid, uint64_t key)
{
	make(p, point, tid);
	ev.flags = PROBES_HAS_KEY;
	ev.key = key;
	send();
}

static void stop(void)
{
	struct event_hdr hdr = { .type = PROBES_STOP, .size = sizeof(hdr) };

	now_ns += 10 * US;
	hdr.time_ns = now_ns;
	ck_assert_int_eq(probes_encode(encoder, &hdr), 0);
	ck_assert_int_eq(probes_encoder_flush(encoder, now_ns, true), 0);
}

/* ---- reading back ---- */

static char names[3][64][64]; /* events, arguments, texts, by iid */
static char all[16384];

static void learn(const InternedData *in)
{
	for (size_t i = 0; in && i < in->n_event_names; i++)
		strcpy(names[0][in->event_names[i]->iid], in->event_names[i]->name);
	for (size_t i = 0; in && i < in->n_debug_annotation_names; i++)
		strcpy(names[1][in->debug_annotation_names[i]->iid],
		       in->debug_annotation_names[i]->name);
	for (size_t i = 0; in && i < in->n_debug_annotation_string_values; i++) {
		const InternedString *s = in->debug_annotation_string_values[i];

		memcpy(names[2][s->iid], s->str.data, s->str.len);
		names[2][s->iid][s->str.len] = '\0';
	}
}

static size_t show_arg(size_t len, const DebugAnnotation *a)
{
	char *out = all + len;
	size_t size = sizeof(all) - len;
	const char *name = names[1][a->name_iid];

	if (a->has_string_value_iid)
		return (size_t)snprintf(out, size, " %s=%s", name, names[2][a->string_value_iid]);
	if (a->has_bool_value)
		return (size_t)snprintf(out, size, " %s=%s", name,
					a->bool_value ? "true" : "false");
	if (a->has_double_value)
		return (size_t)snprintf(out, size, " %s=%g", name, a->double_value);
	if (a->has_pointer_value)
		return (size_t)snprintf(out, size, " %s=%#" PRIx64, name, a->pointer_value);
	if (a->has_uint_value)
		return (size_t)snprintf(out, size, " %s=%" PRIu64, name, a->uint_value);
	return (size_t)snprintf(out, size, " %s=%" PRId64, name, a->int_value);
}

/* "main" and "other" are threads, "main/x" is a track of that name below one. */
static const char *track_name(const TrackDescriptor *d, char dst[128])
{
	const TrackDescriptor *above =
		d->has_parent_uuid ? written_track(&w, d->parent_uuid) : NULL;

	if (d->thread)
		return d->thread->tid == 1001 ? "main" : "other";
	if (!above || above->process)
		return d->name;
	snprintf(dst, 128, "%s/%s", above->thread ? track_name(above, dst) : above->name, d->name);
	return dst;
}

/* "TRACK TYPE@US NAME ARG=VALUE...; ..." of all events, in the order of the file. */
static const char *written(void)
{
	size_t len = 0;

	written_read(&w);
	written_assert_account(&w, n_encoded);
	all[0] = '\0';
	for (size_t i = 0; i < w.n; i++) {
		const TrackEvent *te = w.packets[i]->track_event;
		const TrackDescriptor *d;
		char name[128];

		if (w.packets[i]->trusted_packet_sequence_id == SEQ_EVENTS)
			learn(w.packets[i]->interned_data);
		if (!te)
			continue;
		d = written_track(&w, te->track_uuid);
		ck_assert(d);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s %c@%" PRIu64,
					len ? "; " : "", track_name(d, name), "?BEIC"[te->type],
					(w.packets[i]->timestamp - t0) / US);
		if (te->type == 4 && te->has_double_counter_value)
			len += (size_t)snprintf(all + len, sizeof(all) - len, " %g",
						te->double_counter_value);
		else if (te->type == 4)
			len += (size_t)snprintf(all + len, sizeof(all) - len, " %" PRId64,
						te->counter_value);
		else if (te->type != 2)
			len += (size_t)snprintf(all + len, sizeof(all) - len, " %s",
						names[0][te->name_iid]);
		for (size_t k = 0; k < te->n_debug_annotations; k++)
			len += show_arg(len, te->debug_annotations[k]);
		ck_assert_uint_lt(len, sizeof(all));
	}
	written_assert_good(&w);
	return all;
}

/* ---- threads ---- */

START_TEST(a_hit_alone_is_an_instant_with_its_values)
{
	struct probe *p = add("open", "uprobe:libc.so.6:open", NULL);

	add_arg(p, "path", PROBE_TYPE_TEXT, 0, false);
	add_arg(p, "fd", PROBE_TYPE_SIGNED, 4, false);
	add_arg(p, "flags", PROBE_TYPE_HEX, 4, false);
	add_arg(p, "ok", PROBE_TYPE_BOOL, 1, false);
	add_arg(p, "n", PROBE_TYPE_UNSIGNED, 8, false);
	add_arg(p, "x", PROBE_TYPE_FLOAT, 4, false);
	make(p, PROBES_SINGLE, 1001);
	text("/etc", true);
	number(0xffffffffu);
	number(0x241);
	number(1);
	unreadable();
	number(0x40200000); /* 2.5f */
	send();
	stop();
	ck_assert_str_eq(
		written(),
		"main I@10 open path=/etc… fd=-1 flags=0x241 ok=true n=(unreadable) x=2.5");
}
END_TEST

START_TEST(a_slice_has_what_both_ends_say)
{
	struct probe *p = add_call("malloc");

	add_arg(p, "size", PROBE_TYPE_UNSIGNED, 8, false);
	add_arg(p, "ret", PROBE_TYPE_POINTER, 8, true);
	make(p, PROBES_BEGIN, 1001);
	number(64);
	send();
	make(p, PROBES_FINISH, 1001);
	number(0xabc0);
	send();
	stop();
	ck_assert_str_eq(written(), "main B@10 malloc size=64 ret=0xabc0; main E@20");
}
END_TEST

START_TEST(recursion_nests_and_threads_do_not_mix)
{
	struct probe *f = add_call("f"), *g = add_call("g");

	begin(f, 1001);
	begin(f, 1002);
	begin(f, 1001);
	begin(g, 1001);
	finish(f, 1002);
	finish(g, 1001);
	finish(f, 1001);
	finish(f, 1001);
	stop();
	ck_assert_str_eq(written(), "other B@20 f; other E@50; main B@40 g; main E@60; "
				    "main B@30 f; main E@70; main B@10 f; main E@80");
}
END_TEST

START_TEST(what_a_function_has_called_ends_with_it)
{
	struct probe *f = add_call("f"), *g = add_call("g");

	begin(f, 1001);
	begin(g, 1001);
	finish(f, 1001); /* g was left by longjmp() */
	begin(g, 1001);
	finish(g, 1001);
	stop();
	ck_assert_str_eq(written(), "main B@20 g unfinished=true; main E@30; main B@10 f; "
				    "main E@30; main B@40 g; main E@50");
}
END_TEST

START_TEST(a_function_that_was_left_ends_when_its_stack_is_used_again)
{
	struct probe *f = add_call("f"), *g = add_call("g");
	static const uint64_t sp[] = { 0x7000, 0x6000, 0x6800, 0x6800, 0x7fff0000 };

	for (int i = 0; i < 5; i++) {
		make(i == 0 ? f : g, PROBES_BEGIN, 1001);
		ev.sp = sp[i];
		send();
	}
	make(g, PROBES_FINISH, 1001); /* of the last one, on a signal's stack */
	ev.sp = sp[4] + 8;
	send();
	stop();
	ck_assert_str_eq(written(), "main B@20 g unfinished=true; main E@20; "
				    "main B@50 g; main E@60; "
				    "main B@40 g unfinished=true; main E@60; "
				    "main B@30 g unfinished=true; main E@60; "
				    "main B@10 f unfinished=true; main E@60");
}
END_TEST

START_TEST(a_pair_that_begins_again_in_its_frame_was_left)
{
	struct probe *query = add_pair("query"), *plan = add_pair("plan");
	static const uint64_t sp[] = { 0x7000, 0x6f00, 0x7000 };

	for (int i = 0; i < 3; i++) {
		make(i == 1 ? plan : query, PROBES_BEGIN, 1001);
		ev.sp = sp[i];
		send();
	}
	finish(query, 1001);
	stop();
	ck_assert_str_eq(written(), "main B@20 plan unfinished=true; main E@20; "
				    "main B@10 query unfinished=true; main E@20; "
				    "main B@30 query; main E@40");
}
END_TEST

START_TEST(pairs_that_cross_get_out_of_the_way)
{
	struct probe *f = add_call("f"), *gc = add_pair("gc");

	begin(f, 1001);
	begin(gc, 1001);
	finish(f, 1001);
	begin(f, 1001);
	finish(gc, 1001);
	finish(f, 1001);
	stop();
	ck_assert_str_eq(written(), "main B@10 f; main E@30; main/gc B@20 gc; main/gc E@50; "
				    "main B@40 f; main E@60");
}
END_TEST

/* fa and fb have outlived gc, and cross as well, on a coroutine's stack maybe. */
START_TEST(what_has_moved_away_may_cross_again)
{
	struct probe *f = add_call("f*"), *gc = add_pair("gc");

	begin(gc, 1001);
	begin(f, 1001);
	make(f, PROBES_BEGIN, 1001);
	ev.site = 1;
	send();
	finish(gc, 1001);
	finish(f, 1001);
	make(f, PROBES_FINISH, 1001);
	ev.site = 1;
	send();
	stop();
	ck_assert_str_eq(written(), "main B@10 gc; main E@40; main/f* B@20 f*; main/f* E@50; "
				    "main/f* B@30 f*; main/f* E@60");
}
END_TEST

/* The second f has outlived gc, too, but the first one is on that track already. */
START_TEST(what_moves_away_late_does_not_cross_what_is_there)
{
	struct probe *f = add_call("f*"), *gc = add_pair("gc");

	begin(gc, 1001);
	begin(f, 1001);
	finish(gc, 1001);
	begin(gc, 1001);
	make(f, PROBES_BEGIN, 1001);
	ev.site = 1;
	send();
	finish(f, 1001);
	finish(gc, 1001);
	make(f, PROBES_FINISH, 1001);
	ev.site = 1;
	send();
	stop();
	ck_assert_str_eq(written(), "main B@10 gc; main E@30; main/f* B@20 f*; main/f* E@60; "
				    "main B@40 gc; main E@70; main/f* B@50 f*; main/f* E@80");
}
END_TEST

/* The first is known to be left, the second one, on another stack, is not. */
START_TEST(what_was_left_does_not_cross_what_goes_on)
{
	struct probe *gc = add_pair("gc"), *query = add_pair("query");
	static const uint64_t sp[] = { 0x7000, 0x7000, 0x7fff0000, 0, 0x7000 };

	for (int i = 0; i < 5; i++) {
		make(i == 0 || i == 3 ? gc : query, i == 3 ? PROBES_FINISH : PROBES_BEGIN, 1001);
		ev.sp = sp[i];
		send();
	}
	finish(query, 1001);
	finish(query, 1001);
	stop();
	ck_assert_str_eq(written(), "main B@10 gc; main E@40; "
				    "main/query B@20 query unfinished=true; main/query E@40; "
				    "main B@50 query; main E@60; "
				    "main/query B@30 query; main/query E@70");
}
END_TEST

/* Clocks are read before and after a hit is taken. */
START_TEST(a_pause_or_a_stop_that_is_older_than_a_hit_crosses_nothing)
{
	struct probe *f = add_call("f"), *g = add_call("g"), *h = add_call("h");

	begin(f, 1001);
	begin(g, 1001);
	begin(h, 1001);
	finish(h, 1001);
	make(g, PROBES_SINGLE, 1001);
	ev.hdr.type = PROBES_PAUSE;
	ev.hdr.time_ns -= 15 * US;
	send();
	now_ns -= 30 * US;
	stop();
	ck_assert_str_eq(written(),
			 "main B@30 h; main E@40; main B@20 g unfinished=true; "
			 "main E@40; Probes I@35 paused: its hits cost too much probe=g; "
			 "main B@10 f unfinished=true; main E@40");
}
END_TEST

START_TEST(pairs_in_the_kernel_are_below_their_thread)
{
	struct probe *io =
		add("io", "tracepoint:block:block_rq_issue", "tracepoint:block:block_rq_complete");
	struct probe *f = add("read", "fentry:vfs_read", "fexit:vfs_read");

	begin(f, 1001);
	begin(io, 1001);
	finish(f, 1001);
	finish(io, 1001);
	stop();
	ck_assert_str_eq(written(), "main B@10 read; main E@30; main/io B@20 io; main/io E@40");
}
END_TEST

START_TEST(an_end_without_a_begin_is_counted)
{
	struct probe *f = add_call("f");

	finish(f, 1001);
	finish(f, 1001);
	begin(f, 1001);
	finish(f, 1001);
	stop();
	ck_assert_str_eq(written(),
			 "main B@30 f; main E@40; Probes I@50 ends without a begin count=2");
}
END_TEST

START_TEST(what_is_open_at_the_end_is_unfinished)
{
	struct probe *f = add_call("f"), *gc = add_pair("gc");

	begin(f, 1001);
	begin(gc, 1001);
	stop();
	/* The thread is not known any more: its last hit is the last that is known of it. */
	ck_assert_str_eq(written(), "main B@20 gc unfinished=true; main E@20; "
				    "main B@10 f unfinished=true; main E@20");
}
END_TEST

START_TEST(what_is_too_deep_is_counted_and_the_rest_is_right)
{
	struct probe *f = add_call("f");
	const char *told;

	for (int i = 0; i < PROBES_DEPTH + 5; i++)
		begin(f, 1001);
	for (int i = 0; i < PROBES_DEPTH + 5; i++)
		finish(f, 1001);
	begin(f, 1002);
	finish(f, 1002);
	stop();
	told = strrchr(written(), ';');
	ck_assert_ptr_nonnull(strstr(all, "other B@"));
	ck_assert_ptr_nonnull(strstr(told, "nested too deep, or too many at a time count=5"));
}
END_TEST

START_TEST(the_idle_loop_is_no_thread)
{
	struct probe *p = add("tick", "tracepoint:timer:timer_start", NULL);

	hit(p, PROBES_SINGLE, 0);
	stop();
	ck_assert_str_eq(written(), "Probes/tick I@10 tick");
}
END_TEST

START_TEST(the_idle_loops_of_cpus_do_not_mix)
{
	struct probe *p =
		add("irq", "tracepoint:irq:irq_handler_entry", "tracepoint:irq:irq_handler_exit");
	static const uint16_t cpu[] = { 0, 1, 0, 1 };

	for (int i = 0; i < 4; i++) {
		make(p, i < 2 ? PROBES_BEGIN : PROBES_FINISH, 0);
		ev.hdr.cpu = cpu[i];
		send();
	}
	stop();
	ck_assert_str_eq(written(), "Probes/irq B@10 irq; Probes/irq E@30; "
				    "Probes/irq B@20 irq; Probes/irq E@40");
}
END_TEST

START_TEST(of_a_glob_the_functions_are_told)
{
	static char *functions[] = { (char *)"fa", (char *)"fb" };
	struct probe *f = add_call("f*");

	f->functions = functions;
	f->n_functions = 2;
	begin(f, 1001);
	make(f, PROBES_BEGIN, 1001);
	ev.site = 1;
	send();
	finish(f, 1001); /* of fa: fb was left */
	stop();
	ck_assert_str_eq(written(), "main B@20 fb probe=f* unfinished=true; main E@30; "
				    "main B@10 fa probe=f*; main E@30");
	f->functions = NULL;
	f->n_functions = 0;
}
END_TEST

/* ---- keys ---- */

START_TEST(slices_of_a_key_end_on_any_thread)
{
	struct probe *p = add_pair("request");

	keyed(p, PROBES_BEGIN, 1001, 7);
	keyed(p, PROBES_BEGIN, 1001, 8);
	keyed(p, PROBES_FINISH, 1002, 7);
	keyed(p, PROBES_FINISH, 1002, 9);
	keyed(p, PROBES_FINISH, 1001, 8);
	keyed(p, PROBES_BEGIN, 1002, 7);
	stop();
	ck_assert_str_eq(written(),
			 "request B@10 request; request E@30; request B@20 request; request E@50; "
			 "request B@60 request unfinished=true; request E@70; "
			 "Probes I@70 ends without a begin count=1");
}
END_TEST

/* ---- counters ---- */

START_TEST(counters_are_of_the_process)
{
	struct probe *p = add("heap", "usdt:/bin/prog:p:heap", NULL), *q = add_call("grow");

	strcpy(p->def.counter.name, "heap");
	p->begin.counter_type = PROBE_TYPE_SIGNED;
	strcpy(q->def.counter.name, "level");
	q->def.counter.size = 8;
	q->end.counter_type = PROBE_TYPE_FLOAT;
	make(p, PROBES_SINGLE, 1001);
	ev.flags = PROBES_HAS_COUNTER;
	ev.counter = (uint64_t)-5;
	send();
	begin(q, 1001);
	make(q, PROBES_FINISH, 1001);
	ev.flags = PROBES_HAS_COUNTER;
	ev.counter = 0x3fe0000000000000; /* 0.5 */
	send();
	stop();
	ck_assert_str_eq(written(), "heap C@10 -5; level C@30 0.5; main B@20 grow; main E@30");
}
END_TEST

/* ---- probes that come and go ---- */

START_TEST(another_sessions_probe_is_left_out)
{
	struct probe *p = add_to(SLOT, "mine", "uprobe:/bin/prog:f", NULL);
	struct probe *q = add_to(SLOT + 1, "theirs", "uprobe:/bin/prog:f", NULL);

	hit(p, PROBES_SINGLE, 1001);
	hit(q, PROBES_SINGLE, 1001);
	stop();
	ck_assert_str_eq(written(), "main I@10 mine");
}
END_TEST

START_TEST(a_removed_probe_still_ends_its_slices)
{
	struct probe *f = add_call("f"), gone = { .id = 4711 };
	uint32_t id = f->id;

	begin(f, 1001);
	ck_assert_int_eq(probes_remove(probes, id), 0);
	finish(f, 1001);
	ck_assert_int_eq(probes_encoder_flush(encoder, now_ns + 2 * NS_PER_SEC, false), 0);
	ck_assert_ptr_nonnull(probes_find(probes, id));
	ck_assert_int_eq(probes_encoder_flush(encoder, now_ns + 9 * NS_PER_SEC, false), 0);
	ck_assert_ptr_null(probes_find(probes, id));
	hit(&gone, PROBES_SINGLE, 1001);
	stop();
	ck_assert_str_eq(
		written(),
		"main B@10 f; main E@20; Probes I@40 hits of probes that are gone count=1");
}
END_TEST

START_TEST(probes_of_one_name_do_not_mix)
{
	struct probe *p = add_pair("request"), *q;

	keyed(p, PROBES_BEGIN, 1001, 7);
	ck_assert_int_eq(probes_remove(probes, p->id), 0);
	q = add_pair("request");
	keyed(q, PROBES_BEGIN, 1001, 8);
	keyed(p, PROBES_FINISH, 1001, 7); /* it was on its way */
	keyed(q, PROBES_FINISH, 1001, 8);
	stop();
	ck_assert_str_eq(written(), "request B@10 request; request E@30; "
				    "request B@20 request; request E@40");
}
END_TEST

START_TEST(hits_that_were_left_out_are_told)
{
	struct probe *f = add_call("f");

	make(f, PROBES_BEGIN, 1001);
	ev.flags = PROBES_LIMITED;
	ev.n_over = 12;
	send();
	make(f, PROBES_SINGLE, 1001);
	ev.hdr.type = PROBES_PAUSE;
	send();
	finish(f, 1001);
	make(f, PROBES_SINGLE, 1001);
	ev.hdr.type = PROBES_RESUME;
	send();
	stop();
	ck_assert_str_eq(written(),
			 "main B@10 f hits_left_out_before=12 unfinished=true; main E@20; "
			 "Probes I@20 paused: its hits cost too much probe=f; "
			 "Probes I@40 resumed probe=f; Probes I@50 ends without a begin count=1");
}
END_TEST

START_TEST(what_was_before_the_session_is_left_out)
{
	struct probe *f = add_call("f");

	make(f, PROBES_SINGLE, 1001);
	ev.hdr.time_ns = t0 - 1;
	send();
	stop();
	ck_assert_str_eq(written(), "");
}
END_TEST

/* ---- records ---- */

START_TEST(records_that_cannot_be_are_not_valid)
{
	struct probe *p = add("open", "uprobe:libc.so.6:open", NULL);
	struct probes_event good;
	struct probes_value *value = (void *)ev.bytes;
	uint16_t size;

	make(p, PROBES_SINGLE, 1001);
	text("abc", false);
	number(1);
	good = ev;
	size = good.hdr.size;
	ck_assert(probes_valid(&good.hdr, size));
	ck_assert(!probes_valid(&good.hdr, size - 8u));
	ck_assert(!probes_valid(&good.hdr, sizeof(struct event_hdr)));
#define BAD(change)                                                   \
	do {                                                          \
		ev = good;                                            \
		change;                                               \
		ck_assert_msg(!probes_valid(&ev.hdr, size), #change); \
	} while (0)
	BAD(ev.hdr.type = 0);
	BAD(ev.hdr.type = PROBES_STOP);
	BAD(ev.hdr.type = PROBES_PAUSE);
	BAD(ev.hdr.stream = 1);
	BAD(ev.hdr.cpu = 0xffff);
	BAD(ev.point = PROBES_FINISH + 1);
	BAD(ev.flags = 0x80);
	BAD(ev.flags = PROBES_HAS_STACK);
	BAD(ev.n_values = 3);
	BAD(ev.n_values = 1);
	BAD(ev.n_values = PROBES_ARGS + 1);
	BAD(ev.len = 8);
	BAD(ev.len = 0xfff8);
	BAD(value->len = 9);
	BAD(value->len = 0xffff);
	BAD(value->is_text = 2);
	BAD(value->is_text = 0);
	BAD(value->is_unreadable = 1);
	BAD(value->is_cut = 9);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probes_encode");
	TCase *tc = tcase_create("probes_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_hit_alone_is_an_instant_with_its_values);
	tcase_add_test(tc, a_slice_has_what_both_ends_say);
	tcase_add_test(tc, recursion_nests_and_threads_do_not_mix);
	tcase_add_test(tc, what_a_function_has_called_ends_with_it);
	tcase_add_test(tc, a_function_that_was_left_ends_when_its_stack_is_used_again);
	tcase_add_test(tc, a_pair_that_begins_again_in_its_frame_was_left);
	tcase_add_test(tc, pairs_that_cross_get_out_of_the_way);
	tcase_add_test(tc, what_has_moved_away_may_cross_again);
	tcase_add_test(tc, what_moves_away_late_does_not_cross_what_is_there);
	tcase_add_test(tc, what_was_left_does_not_cross_what_goes_on);
	tcase_add_test(tc, a_pause_or_a_stop_that_is_older_than_a_hit_crosses_nothing);
	tcase_add_test(tc, pairs_in_the_kernel_are_below_their_thread);
	tcase_add_test(tc, an_end_without_a_begin_is_counted);
	tcase_add_test(tc, what_is_open_at_the_end_is_unfinished);
	tcase_add_test(tc, what_is_too_deep_is_counted_and_the_rest_is_right);
	tcase_add_test(tc, the_idle_loop_is_no_thread);
	tcase_add_test(tc, the_idle_loops_of_cpus_do_not_mix);
	tcase_add_test(tc, of_a_glob_the_functions_are_told);
	tcase_add_test(tc, slices_of_a_key_end_on_any_thread);
	tcase_add_test(tc, counters_are_of_the_process);
	tcase_add_test(tc, another_sessions_probe_is_left_out);
	tcase_add_test(tc, a_removed_probe_still_ends_its_slices);
	tcase_add_test(tc, probes_of_one_name_do_not_mix);
	tcase_add_test(tc, hits_that_were_left_out_are_told);
	tcase_add_test(tc, what_was_before_the_session_is_left_out);
	tcase_add_test(tc, records_that_cannot_be_are_not_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
