/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_index.c - a trace as tables: names by time, generations, loss,
 * late symbols, clocks, bounds.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "good_trace.h"
#include "trace_index.h"

static struct good_trace t;
static struct trace_index *ix;

static void set_up(void)
{
	good_trace_init(&t);
	ck_assert_int_eq(trace_index_new(&ix), 0);
}

static void tear_down(void)
{
	trace_index_free(ix);
	good_trace_done(&t);
}

static int read_bytes(const void *data, size_t len)
{
	struct trace_file *f;
	int r;

	ck_assert_int_eq(trace_file_open_memory(data, len, &f), 0);
	r = trace_index_read(ix, f);
	trace_file_free(f);
	return r;
}

static void read_trace(void)
{
	struct buf file = { 0 };

	good_trace_write(&t, &file, 8);
	ck_assert_int_eq(read_bytes(file.data, file.len), 0);
	buf_done(&file);
}

static const struct trace_sample *sample(size_t i)
{
	size_t n;
	const struct trace_sample *s = trace_index_samples(ix, &n);

	ck_assert_uint_lt(i, n);
	return &s[i];
}

static size_t n_samples(void)
{
	size_t n;

	trace_index_samples(ix, &n);
	return n;
}

static const char *thread_name(size_t i)
{
	return trace_index_string(ix, trace_index_thread(ix, sample(i)->thread)->name);
}

static const struct trace_process *process(size_t i)
{
	return trace_index_process(ix, trace_index_thread(ix, sample(i)->thread)->process);
}

static const char *process_name(size_t i)
{
	return trace_index_string(ix, process(i)->name);
}

/* "main;work;ksys_read": all functions of a sample's stack. */
static const char *stack(size_t i)
{
	static char text[4096];
	size_t n, n_functions, len = 0;
	const uint32_t *frames = trace_index_stack(ix, sample(i)->stack, &n);

	text[0] = '\0';
	for (size_t k = 0; k < n; k++) {
		const uint32_t *f = trace_index_frame(ix, frames[k], &n_functions);

		for (size_t m = 0; m < n_functions; m++)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%s%s", len ? ";" : "",
				trace_index_string(ix, trace_index_function(ix, f[m])->name));
	}
	return text;
}

static const struct trace_source *source(size_t i)
{
	size_t n;
	const struct trace_source *s = trace_index_sources(ix, &n);

	ck_assert_uint_lt(sample(i)->source, n);
	return &s[sample(i)->source];
}

static InternedData *interned(void)
{
	return t.samples[0]->interned_data;
}

/* ---- what is there ---- */

START_TEST(samples_have_their_time_thread_cpu_source_and_stack)
{
	const struct trace_facts *f = trace_index_facts(ix);

	read_trace();
	ck_assert_uint_eq(n_samples(), 3);
	ck_assert_uint_eq(sample(0)->time_ns, MS(5)); /* told in CLOCK_MONOTONIC */
	ck_assert_uint_eq(sample(0)->cpu, 0);
	ck_assert_uint_eq(sample(1)->cpu, 1);
	ck_assert_str_eq(thread_name(0), "app");
	ck_assert_int_eq(process(0)->pid, 100);
	ck_assert_str_eq(thread_name(1), "child");
	ck_assert_int_eq(process(1)->pid, 200);
	ck_assert_str_eq(trace_index_string(ix, source(0)->name), "linux.perf");
	ck_assert_int_eq(source(0)->unit, TRACE_UNIT_NS);
	ck_assert_uint_eq(source(0)->n_samples, 3);
	ck_assert_uint_eq(sample(0)->ended, 0);
	ck_assert_uint_eq(sample(0)->stack, sample(2)->stack);
	ck_assert_uint_eq(f->start_ns, T0);
	ck_assert_uint_eq(f->end_ns, T0 + 20000000000ull);
	ck_assert(f->complete);
	ck_assert_uint_eq(f->n_faults + f->n_skipped + f->n_no_time, 0);
	ck_assert_str_eq(trace_index_string(ix, f->release), "6.1.0");
}
END_TEST

START_TEST(late_symbols_replace_names_and_add_what_was_inlined)
{
	AddressSymbols *a = t.symbols->module_symbols->address_symbols[0];
	Line inner = LINE__INIT, outer = LINE__INIT;
	Line *lines[] = { &inner, &outer };
	const struct trace_line *line;
	const uint32_t *frames;
	size_t n;

	inner.function_name = "innermost";
	inner.source_file_name = "/src/inner.h";
	inner.line_number = 7;
	inner.has_line_number = 1;
	outer.function_name = "whole";
	a->n_lines = 2;
	a->lines = lines;
	read_trace();
	frames = trace_index_stack(ix, sample(0)->stack, &n);
	ck_assert_uint_eq(n, 3);
	/* Of the frame at that address; the others keep their names. */
	ck_assert_uint_eq(a->address, 0x2000);
	ck_assert_str_eq(stack(0), "main;whole;innermost;ksys_read");
	trace_index_frame(ix, frames[1], &n);
	ck_assert_uint_eq(n, 2);
	line = trace_index_line(ix, trace_index_frame_lines(ix, frames[1], &n)[1]);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(line->function, trace_index_frame(ix, frames[1], &n)[1]);
	ck_assert_str_eq(trace_index_string(ix, line->file), "/src/inner.h");
	ck_assert_uint_eq(line->line, 7);
}
END_TEST

START_TEST(a_frame_may_know_its_line_itself)
{
	InternedString *path = good_trace_alloc(&t, sizeof(*path));
	const struct trace_line *line;
	const uint32_t *frames;
	size_t n;

	interned_string__init(path);
	path->iid = path->has_iid = path->has_str = 1;
	path->str.data = (uint8_t *)"app.py";
	path->str.len = 6;
	interned()->n_source_paths = 1;
	interned()->source_paths = &path;
	interned()->frames[2]->has_source_path_iid = interned()->frames[2]->has_line_number = 1;
	interned()->frames[2]->source_path_iid = 1;
	interned()->frames[2]->line_number = 33;
	read_trace();
	frames = trace_index_stack(ix, sample(0)->stack, &n);
	line = trace_index_line(ix, *trace_index_frame_lines(ix, frames[2], &n));
	ck_assert_str_eq(trace_index_string(ix, line->file), "app.py");
	ck_assert_uint_eq(line->line, 33);
	line = trace_index_line(ix, *trace_index_frame_lines(ix, frames[0], &n));
	ck_assert_uint_eq(line->file, TRACE_NONE);
	ck_assert_uint_eq(line->line, 0);
}
END_TEST

START_TEST(symbols_of_another_build_are_not_taken)
{
	t.symbols->module_symbols->build_id.data = (uint8_t *)"other";
	read_trace();
	ck_assert_str_eq(stack(0), "main;work;ksys_read");
}
END_TEST

START_TEST(functions_know_their_module_and_whether_they_are_the_kernels)
{
	const struct trace_function *f;
	const uint32_t *frames;
	size_t n;

	good_trace_remove(&t, t.symbols);
	read_trace();
	frames = trace_index_stack(ix, sample(0)->stack, &n);
	f = trace_index_function(ix, *trace_index_frame(ix, frames[0], &n));
	ck_assert_str_eq(trace_index_string(ix, f->module), "app");
	ck_assert_uint_eq(f->kind, TRACE_FRAME_NATIVE);
	f = trace_index_function(ix, *trace_index_frame(ix, frames[2], &n));
	ck_assert_str_eq(trace_index_string(ix, f->module), "[kernel]");
	ck_assert_uint_eq(f->kind, TRACE_FRAME_KERNEL);
}
END_TEST

START_TEST(what_nothing_names_is_one_function_of_its_module)
{
	good_trace_remove(&t, t.symbols);
	interned()->function_names[0]->str.data = (uint8_t *)"[app+0x1000]";
	interned()->function_names[0]->str.len = 12;
	interned()->frames[1]->has_function_name_id = 0;
	read_trace();
	ck_assert_str_eq(stack(0), "[app];[app];ksys_read");
}
END_TEST

/* ---- names by time ---- */

START_TEST(a_thread_has_the_name_it_had_when_it_was_sampled)
{
	ProcessTree__Thread renamed = PROCESS_TREE__THREAD__INIT;
	ProcessTree__Thread *threads[] = { &renamed };
	ProcessTree tree = PROCESS_TREE__INIT;
	TracePacket *later = good_trace_copy(&t, t.later_tree);

	renamed.has_tid = renamed.has_tgid = 1;
	renamed.tid = renamed.tgid = 100;
	renamed.name = "renamed";
	tree.n_threads = 1;
	tree.threads = threads;
	later->process_tree = &tree;
	later->timestamp = MS(20);
	/* Before the samples in the file, between them in time. */
	good_trace_insert(&t, later, t.samples[0]);
	read_trace();
	ck_assert_str_eq(thread_name(0), "app");
	ck_assert_str_eq(process_name(0), "app");
	ck_assert_str_eq(thread_name(2), "renamed");
	ck_assert_str_eq(process_name(2), "renamed");
	ck_assert_int_eq(process(2)->pid, 100);
}
END_TEST

START_TEST(the_schedulers_events_name_tasks_too)
{
	TaskRenameFtraceEvent rename = TASK_RENAME_FTRACE_EVENT__INIT;

	rename.has_pid = 1;
	rename.pid = 100;
	rename.newcomm = "by-ftrace";
	t.bundle_0->ftrace_events->event[1]->task_newtask = NULL;
	t.bundle_0->ftrace_events->event[1]->task_rename = &rename;
	t.bundle_0->ftrace_events->event[1]->timestamp = MS(10);
	read_trace();
	ck_assert_str_eq(thread_name(0), "app");
	ck_assert_str_eq(thread_name(2), "by-ftrace");
}
END_TEST

START_TEST(a_process_without_a_named_thread_has_the_name_of_its_command)
{
	t.later_tree->process_tree->n_threads = 0;
	t.bundle_0->ftrace_events->n_event = 1;
	read_trace();
	ck_assert_str_eq(process_name(1), "child");
	ck_assert_str_eq(thread_name(1), "child");
}
END_TEST

START_TEST(whom_nothing_names_has_no_name_but_a_number)
{
	good_trace_remove(&t, t.tree);
	read_trace();
	ck_assert_str_eq(thread_name(0), "");
	ck_assert_int_eq(process(0)->pid, 100);
}
END_TEST

START_TEST(a_sample_that_tells_only_its_thread_gets_the_process_from_others)
{
	interned()->stack_sample_task_contexts[0]->has_pid = 0;
	interned()->stack_sample_task_contexts[0]->tid = 101;
	read_trace();
	ck_assert_int_eq(process(0)->pid, 100);
	ck_assert_str_eq(thread_name(0), "worker");
	ck_assert_str_eq(process_name(0), "app");
}
END_TEST

/* ---- sequences ---- */

START_TEST(ids_of_a_new_generation_mean_something_else)
{
	InternedData *d = interned();
	TracePacket *again = good_trace_copy(&t, t.samples[0]);
	InternedData *other = good_trace_alloc(&t, sizeof(*other));
	InternedString *names[3];

	memcpy(other, d, sizeof(*d));
	for (size_t i = 0; i < 3; i++) {
		names[i] = good_trace_alloc(&t, sizeof(*names[i]));
		memcpy(names[i], d->function_names[i], sizeof(*names[i]));
	}
	names[0]->str.data = (uint8_t *)"entry";
	names[0]->str.len = 5;
	other->function_names = names;
	again->interned_data = other;
	again->sequence_flags = 3;
	good_trace_insert(&t, again, t.samples[2]);
	good_trace_remove(&t, t.symbols);
	read_trace();
	ck_assert_uint_eq(n_samples(), 4);
	ck_assert_str_eq(stack(0), "main;work;ksys_read");
	ck_assert_str_eq(stack(2), "entry;work;ksys_read");
	ck_assert_str_eq(stack(3), "entry;work;ksys_read");
}
END_TEST

START_TEST(behind_a_loss_nothing_counts_until_a_new_generation)
{
	t.samples[1]->has_previous_packet_dropped = 1;
	t.samples[1]->previous_packet_dropped = 1;
	read_trace();
	ck_assert_uint_eq(n_samples(), 1);
	ck_assert_uint_eq(trace_index_facts(ix)->n_skipped, 2);
}
END_TEST

START_TEST(two_sequences_are_two_sources_though_they_count_the_same)
{
	TracePacket *other = good_trace_copy(&t, t.samples[0]);
	size_t n;

	other->trusted_packet_sequence_id = 77;
	other->sequence_flags = 3;
	good_trace_insert(&t, other, t.samples[1]);
	read_trace();
	trace_index_sources(ix, &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(n_samples(), 4);
	ck_assert_uint_ne(sample(0)->source, sample(1)->source);
	ck_assert_uint_eq(sample(0)->stack, sample(1)->stack);
}
END_TEST

START_TEST(what_a_stack_refers_to_but_nobody_defined_is_an_unknown_frame)
{
	interned()->callstacks[0]->frame_ids[1] = 99;
	good_trace_remove(&t, t.symbols);
	read_trace();
	ck_assert_str_eq(stack(0), "main;[unknown];ksys_read");
}
END_TEST

START_TEST(a_sample_without_a_stack_is_counted_but_is_none)
{
	t.samples[1]->stack_sample->callstack_iid = 99;
	read_trace();
	ck_assert_uint_eq(n_samples(), 2);
	ck_assert_uint_eq(trace_index_facts(ix)->n_stackless, 1);
}
END_TEST

/* ---- why a stack ends ---- */

START_TEST(the_reason_is_the_samples_own_or_in_its_first_frame)
{
	t.samples[1]->stack_sample->unwind_error = "READ_STACK";
	interned()->function_names[0]->str.data = (uint8_t *)"[stack ends: NOMAP]";
	interned()->function_names[0]->str.len = 19;
	read_trace();
	ck_assert_str_eq(trace_index_reason(ix, sample(0)->ended), "NOMAP");
	ck_assert_str_eq(trace_index_reason(ix, sample(1)->ended), "READ_STACK");
	ck_assert_uint_eq(trace_index_n_reasons(ix), 3);
}
END_TEST

START_TEST(reasons_without_number_are_a_bounded_number)
{
	char reasons[600][16];

	for (size_t i = 0; i < 600; i++) {
		TracePacket *pkt = good_trace_copy(&t, t.samples[1]);
		StackSample *s = good_trace_alloc(&t, sizeof(*s));

		memcpy(s, t.samples[1]->stack_sample, sizeof(*s));
		snprintf(reasons[i], sizeof(reasons[i]), "R%zu", i);
		s->unwind_error = reasons[i];
		pkt->stack_sample = s;
		good_trace_insert(&t, pkt, t.samples[2]);
	}
	read_trace();
	ck_assert_uint_eq(n_samples(), 603);
	ck_assert_uint_le(trace_index_n_reasons(ix), 256);
	for (size_t i = 0; i < 603; i++)
		ck_assert_uint_lt(sample(i)->ended, trace_index_n_reasons(ix));
}
END_TEST

/* ---- the account ---- */

START_TEST(losses_are_those_of_the_last_account)
{
	const struct trace_facts *f = trace_index_facts(ix);
	bool found_cpu = false;

	good_trace_lose(&t, "cpu", 5);
	read_trace();
	for (size_t i = 0; i < f->n_losses; i++)
		if (strcmp(trace_index_string(ix, f->losses[i].source), "cpu") == 0) {
			found_cpu = true;
			ck_assert_uint_eq(f->losses[i].n_lost, 5);
		}
	ck_assert(found_cpu);
}
END_TEST

/* An account of something else in place of one that nobody reads here. */
static void account(const char *instead_of, const char *key, int64_t value)
{
	TraceAttributes *a = t.ledger->trace_attributes;

	*good_trace_ledger(&t, instead_of) = value;
	for (size_t i = 0; i < a->n_attribute; i++)
		if (strcmp(a->attribute[i]->key, instead_of) == 0)
			a->attribute[i]->key = (char *)key;
}

START_TEST(samples_that_were_due_are_known)
{
	const struct trace_facts *f = trace_index_facts(ix);

	account("ledger.proc.malformed", "sampling.due", 400);
	account("ledger.cpu.malformed", "sampling.taken", 300);
	read_trace();
	ck_assert_uint_eq(f->n_due, 400);
	ck_assert_uint_eq(f->n_taken, 300);
}
END_TEST

/* ---- bounds ---- */

START_TEST(more_than_the_limit_is_refused)
{
	struct buf file = { 0 };

	trace_index_limit(ix, 1000);
	good_trace_write(&t, &file, 0);
	ck_assert_int_eq(read_bytes(file.data, file.len), -E2BIG);
	buf_done(&file);
}
END_TEST

START_TEST(damaged_packets_are_counted_and_the_rest_is_there)
{
	struct buf file = { 0 }, broken = { 0 };

	/* A StackSample whose own fields do not fill its length. */
	put_int(&broken, 10, 16);
	put_bytes(&broken, 135, "\x0a\x7f", 2);
	good_trace_write(&t, &file, 0);
	put_packet(&file, broken.data, broken.len);
	ck_assert_int_eq(read_bytes(file.data, file.len), 0);
	ck_assert_uint_eq(n_samples(), 3);
	ck_assert_uint_eq(trace_index_facts(ix)->n_faults, 1);
	buf_done(&file);
	buf_done(&broken);
}
END_TEST

START_TEST(a_file_without_packets_is_an_empty_index)
{
	size_t n;

	ck_assert_int_eq(read_bytes("", 0), 0);
	ck_assert_uint_eq(n_samples(), 0);
	trace_index_sources(ix, &n);
	ck_assert_uint_eq(n, 0);
	ck_assert_uint_eq(trace_index_n_threads(ix), 0);
	ck_assert_uint_eq(trace_index_facts(ix)->start_ns, trace_index_facts(ix)->end_ns);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace_index");
	TCase *tc = tcase_create("trace_index");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, samples_have_their_time_thread_cpu_source_and_stack);
	tcase_add_test(tc, late_symbols_replace_names_and_add_what_was_inlined);
	tcase_add_test(tc, a_frame_may_know_its_line_itself);
	tcase_add_test(tc, symbols_of_another_build_are_not_taken);
	tcase_add_test(tc, functions_know_their_module_and_whether_they_are_the_kernels);
	tcase_add_test(tc, what_nothing_names_is_one_function_of_its_module);
	tcase_add_test(tc, a_thread_has_the_name_it_had_when_it_was_sampled);
	tcase_add_test(tc, the_schedulers_events_name_tasks_too);
	tcase_add_test(tc, a_process_without_a_named_thread_has_the_name_of_its_command);
	tcase_add_test(tc, whom_nothing_names_has_no_name_but_a_number);
	tcase_add_test(tc, a_sample_that_tells_only_its_thread_gets_the_process_from_others);
	tcase_add_test(tc, ids_of_a_new_generation_mean_something_else);
	tcase_add_test(tc, behind_a_loss_nothing_counts_until_a_new_generation);
	tcase_add_test(tc, two_sequences_are_two_sources_though_they_count_the_same);
	tcase_add_test(tc, what_a_stack_refers_to_but_nobody_defined_is_an_unknown_frame);
	tcase_add_test(tc, a_sample_without_a_stack_is_counted_but_is_none);
	tcase_add_test(tc, the_reason_is_the_samples_own_or_in_its_first_frame);
	tcase_add_test(tc, reasons_without_number_are_a_bounded_number);
	tcase_add_test(tc, losses_are_those_of_the_last_account);
	tcase_add_test(tc, samples_that_were_due_are_known);
	tcase_add_test(tc, more_than_the_limit_is_refused);
	tcase_add_test(tc, damaged_packets_are_counted_and_the_rest_is_there);
	tcase_add_test(tc, a_file_without_packets_is_an_empty_index);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
