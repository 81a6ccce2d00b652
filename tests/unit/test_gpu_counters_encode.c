/* SPDX-License-Identifier: Apache-2.0 */
/* Records of gpu-counters, and the tracks that become of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu/gpu_counters_encode.h"
#include "gpu/gpu_counters_events.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "written_trace.h"

#define T0  (100 * NS_PER_SEC)
#define PID 10

static struct written w;
static struct trace_config config;
static struct process_table *processes;
static void *encoder;
static uint64_t n_encoded;

static void add_process(uint32_t tgid, uint64_t start_ns)
{
	struct task_info task = {
		.tid = tgid, .tgid = tgid, .start_ns = start_ns, .process_start_ns = start_ns
	};

	process_table_fork(processes, &task);
}

static void set_up(void)
{
	struct encoder_env env = { .config = &config, .start_ns = T0 };

	n_encoded = 0;
	written_open(&w);
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, T0);
	env.writer = w.writer;
	env.processes = processes;
	ck_assert_int_eq(gpu_counters_encoder_new(&env, &encoder), 0);
	add_process(PID, T0 / 2);
}

static void tear_down(void)
{
	gpu_counters_encoder_free(encoder);
	process_table_free(processes);
	written_done(&w);
}

static void encode(struct gpu_counters_record *rec, unsigned type, size_t n, uint64_t time_ns)
{
	size_t len = gpu_counters_record_size(type, n);

	rec->n = (uint32_t)n;
	rec->hdr.type = (uint16_t)type;
	rec->hdr.size = (uint16_t)len;
	rec->hdr.time_ns = time_ns;
	ck_assert(gpu_counters_valid(&rec->hdr, len));
	ck_assert_int_eq(gpu_counters_encode(encoder, &rec->hdr), 0);
	n_encoded++;
}

static void encode_card(const char *driver, const char *device, uint64_t time_ns)
{
	static struct gpu_counters_record rec;

	memset(&rec, 0, sizeof(rec));
	strcpy(rec.items.cards[0].driver, driver);
	strcpy(rec.items.cards[0].device, device);
	encode(&rec, GPU_COUNTERS_CARDS, 1, time_ns);
}

static void encode_value(uint32_t tgid, unsigned kind, const char *name, int64_t value,
			 uint64_t time_ns)
{
	static struct gpu_counters_record rec;
	struct gpu_value *v = &rec.items.values[0];

	memset(&rec, 0, sizeof(rec));
	v->tgid = tgid;
	v->kind = (uint16_t)kind;
	strcpy(v->name, name);
	v->value = value;
	encode(&rec, GPU_COUNTERS_VALUES, 1, time_ns);
}

/* All packets written; and each event is accounted for. */
static void finish(void)
{
	written_read(&w);
	written_assert_account(&w, n_encoded);
}

static const TrackDescriptor *track(const char *name, uint64_t parent)
{
	return written_track_named(&w, name, parent);
}

static uint64_t process_uuid(void)
{
	for (size_t i = 0; i < w.n; i++) {
		const TrackDescriptor *d = w.packets[i]->track_descriptor;

		if (d && d->process && d->process->pid == PID)
			return d->uuid;
	}
	ck_abort_msg("no track of the process");
	return 0;
}

/* The values of a counter track in the order of the file. */
static size_t values_of(const TrackDescriptor *d, double values[16])
{
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	ck_assert_ptr_nonnull(d->counter);
	for (size_t i = 0; i < w.n; i++) {
		const TrackEvent *te = w.packets[i]->track_event;

		if (!te || te->track_uuid != d->uuid)
			continue;
		ck_assert_uint_lt(n, 16);
		values[n++] = te->has_double_counter_value ? te->double_counter_value
							   : (double)te->counter_value;
	}
	return n;
}

START_TEST(values_of_a_process_are_below_it)
{
	const TrackDescriptor *group;
	double v[16];

	encode_card("amdgpu", "0000:03:00.0", T0);
	encode_value(PID, GPU_BUSY, "gfx", 12500, T0);
	encode_value(PID, GPU_RESIDENT, "vram", 1 << 20, T0);
	encode_value(PID, GPU_BUSY, "gfx", 0, T0 + NS_PER_SEC);
	finish();
	group = track("GPU amdgpu 0000:03:00.0", process_uuid());
	ck_assert_ptr_nonnull(group);
	ck_assert_uint_eq(values_of(track("gfx busy", group->uuid), v), 2);
	ck_assert(v[0] == 12.5 && v[1] == 0);
	ck_assert_str_eq(track("gfx busy", group->uuid)->counter->unit_name, "%");
	ck_assert_uint_eq(values_of(track("memory vram", group->uuid), v), 1);
	ck_assert(v[0] == 1 << 20);
}
END_TEST

START_TEST(values_of_a_device_are_at_the_top)
{
	const TrackDescriptor *group;
	double v[16];

	encode_card("amdgpu", "0000:03:00.0", T0);
	encode_value(0, GPU_SENSOR_HZ, "clock sclk", 800000000, T0);
	encode_value(0, GPU_SENSOR_MILLIDEGREES, "temperature edge", -1500, T0);
	encode_value(0, GPU_SENSOR_MICROWATTS, "power", 14500000, T0);
	encode_value(0, GPU_AWAKE, "awake", 0, T0);
	finish();
	group = track("GPU amdgpu 0000:03:00.0", 0);
	ck_assert_ptr_nonnull(group);
	ck_assert_uint_eq(values_of(track("clock sclk", group->uuid), v), 1);
	ck_assert(v[0] == 800);
	ck_assert_uint_eq(values_of(track("temperature edge", group->uuid), v), 1);
	ck_assert(v[0] == -1.5);
	ck_assert_uint_eq(values_of(track("power", group->uuid), v), 1);
	ck_assert(v[0] == 14.5);
	/* That it sleeps is something to say. */
	ck_assert_uint_eq(values_of(track("awake", group->uuid), v), 1);
}
END_TEST

START_TEST(what_is_0_all_the_time_has_no_track)
{
	encode_card("amdgpu", "0000:03:00.0", T0);
	encode_value(PID, GPU_BUSY, "gfx", 0, T0);
	encode_value(PID, GPU_BUSY, "gfx", 0, T0 + NS_PER_SEC);
	finish();
	for (size_t i = 0; i < w.n; i++)
		ck_assert_ptr_null(w.packets[i]->track_event);
}
END_TEST

START_TEST(a_process_that_the_trace_does_not_know_is_left_out)
{
	encode_card("amdgpu", "0000:03:00.0", T0);
	encode_value(PID + 1, GPU_BUSY, "gfx", 5, T0);
	encode_value(PID, GPU_BUSY, "gfx", 5, T0 / 4); /* before it began */
	finish();
	for (size_t i = 0; i < w.n; i++)
		ck_assert_ptr_null(w.packets[i]->track_event);
}
END_TEST

START_TEST(without_its_introduction_a_card_is_nobody)
{
	encode_value(0, GPU_BUSY, "gfx", 5, T0);
	finish();
	for (size_t i = 0; i < w.n; i++)
		ck_assert_ptr_null(w.packets[i]->track_event);
}
END_TEST

START_TEST(a_number_may_become_another_device)
{
	double v[16];

	encode_card("amdgpu", "0000:03:00.0", T0);
	encode_value(0, GPU_BUSY, "gfx", 5000, T0);
	encode_card("fakegpu", "fakegpu.0", T0 + NS_PER_SEC);
	encode_value(0, GPU_BUSY, "gfx", 0, T0 + NS_PER_SEC);
	encode_value(0, GPU_BUSY, "gfx", 7000, T0 + 2 * NS_PER_SEC);
	finish();
	ck_assert_uint_eq(
		values_of(track("gfx busy", track("GPU amdgpu 0000:03:00.0", 0)->uuid), v), 1);
	ck_assert_uint_eq(values_of(track("gfx busy", track("GPU fakegpu fakegpu.0", 0)->uuid), v),
			  1);
	ck_assert(v[0] == 7);
}
END_TEST

START_TEST(a_record_of_several_values_is_one_event)
{
	static struct gpu_counters_record rec;
	double v[16];

	memset(&rec, 0, sizeof(rec));
	encode_card("amdgpu", "0000:03:00.0", T0);
	for (int i = 0; i < 3; i++) {
		rec.items.values[i].kind = GPU_BUSY;
		rec.items.values[i].value = i * 1000;
		strcpy(rec.items.values[i].name, i == 1 ? "dec" : i == 2 ? "gfx" : "enc");
	}
	encode(&rec, GPU_COUNTERS_VALUES, 3, T0);
	finish();
	ck_assert_uint_eq(
		values_of(track("gfx busy", track("GPU amdgpu 0000:03:00.0", 0)->uuid), v), 1);
	ck_assert(v[0] == 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_counters_encode");
	TCase *tc = tcase_create("encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, values_of_a_process_are_below_it);
	tcase_add_test(tc, values_of_a_device_are_at_the_top);
	tcase_add_test(tc, what_is_0_all_the_time_has_no_track);
	tcase_add_test(tc, a_process_that_the_trace_does_not_know_is_left_out);
	tcase_add_test(tc, without_its_introduction_a_card_is_nobody);
	tcase_add_test(tc, a_number_may_become_another_device);
	tcase_add_test(tc, a_record_of_several_values_is_one_event);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
