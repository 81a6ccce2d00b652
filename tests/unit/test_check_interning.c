/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_interning.c - C2 of a trace check: sequences and what they intern. */
#include <check.h>
#include <stdlib.h>

#include "good_trace.h"

static struct good_trace t;

static void setup(void)
{
	good_trace_init(&t);
}

static void teardown(void)
{
	good_trace_done(&t);
}

START_TEST(flags_without_a_sequence)
{
	t.instant->trusted_packet_sequence_id = 0;
	assert_found(&t, CHECK_SEQUENCE_ZERO);
}
END_TEST

START_TEST(a_sequence_that_was_never_cleared)
{
	struct trace_check *c;

	t.samples[0]->sequence_flags = 2;
	/* All samples are lost to a viewer; their symbols meet nothing then. */
	c = check_of_trace(&t);
	ck_assert_uint_eq(found(c, CHECK_NOT_CLEARED), 3);
	ck_assert_uint_eq(found(c, CHECK_SYMBOLS_MODULE), 1);
	trace_check_free(c);
	good_trace_remove(&t, t.symbols);
	assert_found(&t, CHECK_NOT_CLEARED);
}
END_TEST

START_TEST(a_loss_that_nobody_cleared)
{
	t.samples[1]->has_previous_packet_dropped = 1;
	t.samples[1]->previous_packet_dropped = 1;
	assert_found(&t, CHECK_DROPPED_BEFORE);
}
END_TEST

START_TEST(a_loss_that_is_cleared_is_fine)
{
	t.samples[1]->has_previous_packet_dropped = 1;
	t.samples[1]->previous_packet_dropped = 1;
	t.samples[1]->sequence_flags = 3;
	t.samples[1]->trace_packet_defaults = t.samples[0]->trace_packet_defaults;
	t.samples[1]->interned_data = t.samples[0]->interned_data;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_new_generation_forgets_what_was_interned)
{
	t.samples[1]->sequence_flags = 3;
	t.samples[1]->trace_packet_defaults = t.samples[0]->trace_packet_defaults;
	t.samples[1]->interned_data = good_trace_copy(&t, t.samples[0])->interned_data;
	t.samples[1]->interned_data->n_callstacks = 0;
	assert_found(&t, CHECK_IID_UNKNOWN);
}
END_TEST

START_TEST(an_event_that_does_not_say_it_needs_state)
{
	t.begin_b->sequence_flags = 0;
	assert_found(&t, CHECK_NEEDS_MISSING);
}
END_TEST

START_TEST(an_iid_of_0_is_interned)
{
	InternedString *path = t.samples[0]->interned_data->mapping_paths[1];

	path->iid = 0;
	t.samples[0]->interned_data->mappings[1]->path_string_ids[0] = 1;
	assert_found(&t, CHECK_IID_ZERO);
}
END_TEST

START_TEST(an_iid_of_0_is_used)
{
	t.begin_b->track_event->name_iid = 0;
	assert_found(&t, CHECK_IID_ZERO);
}
END_TEST

START_TEST(an_iid_that_gets_another_meaning)
{
	t.begin_b->interned_data = good_trace_copy(&t, t.begin_a)->interned_data;
	t.begin_b->interned_data->event_names[0]->name = "write";
	assert_found(&t, CHECK_IID_REDEFINED);
}
END_TEST

START_TEST(the_same_meaning_twice_is_fine)
{
	t.begin_b->interned_data = t.begin_a->interned_data;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* Each reference that there is, to an iid that nobody interned. */
static uint64_t *reference(unsigned i)
{
	InternedData *d = t.samples[0]->interned_data;
	StackSample *s = t.samples[1]->stack_sample;
	TrackEvent *e = t.begin_b->track_event;
	GpuRenderStageEvent *job = t.job->gpu_render_stage_event;
	uint64_t *all[] = {
		&d->callstacks[0]->frame_ids[0],
		&d->frames[0]->function_name_id,
		&d->frames[0]->mapping_id,
		&d->mappings[0]->path_string_ids[0],
		&s->task_context_iid,
		&s->execution_context_iid,
		&s->callstack_iid,
		&e->name_iid,
		&e->category_iids[0],
		&e->debug_annotations[0]->name_iid,
		&job->hw_queue_iid,
		&job->stage_iid,
		&job->context,
		/* Not used in the good trace: */
		&s->primary_descriptor_iid,
		&e->callstack_iid,
		&e->source_location_iid,
		&e->correlation_id_str_iid,
		&e->debug_annotations[0]->string_value_iid,
		&job->name_iid,
		&d->frames[0]->source_path_iid,
		&t.network->network_packet_bundle->iid,
	};

	switch (i) {
	case 13:
		s->has_primary_descriptor_iid = 1;
		break;
	case 14:
		e->has_callstack_iid = 1;
		break;
	case 15:
		e->has_source_location_iid = 1;
		break;
	case 16:
		e->has_correlation_id_str_iid = 1;
		break;
	case 17:
		e->debug_annotations[0]->has_string_value_iid = 1;
		break;
	case 18:
		job->has_name_iid = 1;
		break;
	case 19:
		d->frames[0]->has_source_path_iid = 1;
		break;
	case 20:
		t.network->network_packet_bundle->has_iid = 1;
		break;
	}
	return i < sizeof(all) / sizeof(all[0]) ? all[i] : NULL;
}

#define N_REFERENCES 21

START_TEST(an_iid_that_nobody_interned)
{
	struct trace_check *c;

	/* What hangs on a category or mapping is lost with it. */
	*reference((unsigned)_i) = 4711;
	c = check_of_trace(&t);
	ck_assert_uint_eq(found(c, CHECK_IID_UNKNOWN), 1);
	trace_check_free(c);
}
END_TEST

START_TEST(a_build_id_that_nobody_interned)
{
	struct trace_check *c;

	t.samples[0]->interned_data->n_build_ids = 0;
	c = check_of_trace(&t);
	ck_assert_uint_eq(found(c, CHECK_IID_UNKNOWN), 1);
	ck_assert_uint_eq(found(c, CHECK_SYMBOLS_MODULE), 1);
	trace_check_free(c);
}
END_TEST

START_TEST(an_iid_of_another_sequence)
{
	t.begin_a->interned_data->n_event_names = 0;
	t.job->interned_data->n_event_names = 1;
	t.job->interned_data->event_names = t.begin_a->interned_data->event_names;
	assert_found(&t, CHECK_IID_UNKNOWN);
}
END_TEST

START_TEST(a_callstack_without_frames)
{
	good_trace_remove(&t, t.symbols);
	t.samples[0]->interned_data->callstacks[0]->n_frame_ids = 0;
	assert_found(&t, CHECK_EMPTY_CALLSTACK);
}
END_TEST

START_TEST(a_frame_without_a_mapping)
{
	Frame *f = t.samples[0]->interned_data->frames[2];

	f->has_mapping_id = 0;
	f->mapping_id = 0;
	assert_found(&t, CHECK_FRAME_NO_MAPPING);
}
END_TEST

START_TEST(a_frame_without_an_address)
{
	t.samples[0]->interned_data->frames[2]->has_rel_pc = 0;
	assert_found(&t, CHECK_FRAME_NO_PC);
}
END_TEST

START_TEST(a_callstack_with_the_innermost_frame_first)
{
	uint64_t *ids = t.samples[0]->interned_data->callstacks[0]->frame_ids;

	ids[0] = 3;
	ids[2] = 1;
	assert_found(&t, CHECK_FRAME_ORDER);
}
END_TEST

START_TEST(a_mapping_with_addresses)
{
	Mapping *m = t.samples[0]->interned_data->mappings[0];

	m->has_start = m->has_end = 1;
	m->start = 0x400000;
	m->end = 0x500000;
	assert_found(&t, CHECK_MAPPING_PER_PROCESS);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		flags_without_a_sequence,
		a_sequence_that_was_never_cleared,
		a_loss_that_nobody_cleared,
		a_loss_that_is_cleared_is_fine,
		a_new_generation_forgets_what_was_interned,
		an_event_that_does_not_say_it_needs_state,
		an_iid_of_0_is_interned,
		an_iid_of_0_is_used,
		an_iid_that_gets_another_meaning,
		the_same_meaning_twice_is_fine,
		a_build_id_that_nobody_interned,
		an_iid_of_another_sequence,
		a_callstack_without_frames,
		a_frame_without_a_mapping,
		a_frame_without_an_address,
		a_callstack_with_the_innermost_frame_first,
		a_mapping_with_addresses,
	};
	Suite *suite = suite_create("check_interning");
	TCase *tc = tcase_create("mistakes");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, an_iid_that_nobody_interned, 0, N_REFERENCES);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
