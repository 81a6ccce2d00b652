/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the kernel's two kinds of ring, drained: wrapped, half written, broken. */
#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_ring.h"
#include "perf_ring.h"

#define SIZE 4096u /* of the data; a page here as everywhere we run the tests */
#define NOW  1000u

static size_t page;
static struct bpf_ring *bpf;
static unsigned long *consumer, *producer;
static uint8_t *bpf_map, *bpf_data;

static struct perf_ring *perf;
static struct perf_event_mmap_page *meta;
static uint8_t *perf_map, *perf_data;

static unsigned n_seen;
static uint64_t seen[4096]; /* seq of BPF records; misc of perf records */
static uint16_t seen_size[4096];
static int stop_at; /* perf: returns non-zero then */

static void set_up(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	ck_assert_uint_eq(page, SIZE);
	consumer = calloc(1, sizeof(*consumer));
	/* Exactly as large as the mapping: ASan sees a step beyond. */
	ck_assert_int_eq(posix_memalign((void **)&bpf_map, page, page + 2 * SIZE), 0);
	memset(bpf_map, 0, page + 2 * SIZE);
	producer = (unsigned long *)bpf_map;
	bpf_data = bpf_map + page;
	ck_assert_int_eq(bpf_ring_over(consumer, bpf_map, SIZE, &bpf), 0);

	ck_assert_int_eq(posix_memalign((void **)&perf_map, page, page + SIZE), 0);
	memset(perf_map, 0, page + SIZE);
	meta = (struct perf_event_mmap_page *)perf_map;
	perf_data = perf_map + page;
	ck_assert_int_eq(perf_ring_over(meta, 1, &perf), 0);
	ck_assert_uint_eq(perf_ring_pages(perf), 1);
}

static void tear_down(void)
{
	bpf_ring_free(bpf);
	perf_ring_free(perf);
	free(consumer);
	free(bpf_map);
	free(perf_map);
}

/* ---- BPF ---- */

/* Both mappings of the data show the same bytes. */
static void bpf_store(unsigned long pos, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t off = (pos + i) & (SIZE - 1);

		bpf_data[off] = bpf_data[off + SIZE] = ((const uint8_t *)data)[i];
	}
}

/* Appends a record of `len` bytes with `flags` in its length; returns where it is. */
static unsigned long produce(uint64_t seq, uint64_t time_ns, uint32_t len, uint32_t flags)
{
	struct event_hdr hdr = { .seq = seq, .time_ns = time_ns };
	uint32_t head[2] = { len | flags, 0 };
	unsigned long pos = *producer;

	bpf_store(pos, head, sizeof(head));
	bpf_store(pos + sizeof(head), &hdr, len < sizeof(hdr) ? len : sizeof(hdr));
	*producer += (len + 8 + 7) / 8 * 8;
	return pos;
}

static void take(void *ctx, const struct event_hdr *ev, size_t len)
{
	ck_assert_ptr_eq(ctx, &n_seen);
	ck_assert_uint_lt(n_seen, 4096);
	seen_size[n_seen] = (uint16_t)len;
	seen[n_seen++] = ev->seq;
}

static int drain(uint64_t horizon_ns, unsigned budget)
{
	return bpf_ring_drain(bpf, horizon_ns, budget, take, &n_seen);
}

START_TEST(records_come_in_order_round_and_round_the_ring)
{
	uint64_t produced = 0, expect = 0;

	for (unsigned round = 0; round < 500; round++) {
		for (unsigned i = 0; i < 7; i++, produced++)
			produce(produced, NOW, 48 + (uint32_t)(produced % 97), 0);
		n_seen = 0;
		ck_assert_int_eq(drain(NOW, 100), 7);
		for (unsigned i = 0; i < n_seen; i++, expect++) {
			ck_assert_uint_eq(seen[i], expect);
			ck_assert_uint_eq(seen_size[i], 48 + expect % 97);
		}
		ck_assert_uint_eq(*consumer, *producer);
	}
	ck_assert_uint_eq(expect, 3500);
	ck_assert_uint_gt(*producer, 50 * SIZE);
}
END_TEST

START_TEST(what_is_still_being_written_holds_up_what_follows)
{
	uint32_t whole = 48;
	unsigned long busy;

	produce(1, NOW, 48, 0);
	busy = produce(2, NOW, 48, BPF_RINGBUF_BUSY_BIT);
	produce(3, NOW, 48, 0);
	ck_assert_int_eq(drain(NOW, 100), 1);
	ck_assert_uint_eq(*consumer, busy);
	ck_assert_int_eq(drain(NOW, 100), 0);
	bpf_store(busy, &whole, sizeof(whole));
	ck_assert_int_eq(drain(NOW, 100), 2);
	ck_assert_uint_eq(seen[2], 3);
}
END_TEST

START_TEST(discarded_and_headless_records_are_passed_over)
{
	produce(1, NOW, 200, BPF_RINGBUF_DISCARD_BIT);
	produce(2, NOW, 48, 0);
	produce(3, NOW, 47, 0); /* too short for a head */
	produce(4, NOW, 0, 0);
	produce(5, NOW, 48, BPF_RINGBUF_DISCARD_BIT);
	ck_assert_int_eq(drain(NOW, 100), 1);
	ck_assert_uint_eq(seen[0], 2);
	ck_assert_uint_eq(*consumer, *producer);
}
END_TEST

START_TEST(a_drain_stops_at_the_horizon_and_at_its_budget)
{
	for (unsigned i = 0; i < 10; i++)
		produce(i, NOW + i, 48, 0);
	ck_assert_int_eq(drain(NOW - 1, 100), 0);
	ck_assert_int_eq(drain(NOW + 4, 3), 3);
	ck_assert_int_eq(drain(NOW + 4, 3), 2);
	ck_assert_int_eq(drain(NOW + 4, 3), 0);
	ck_assert_int_eq(drain(UINT64_MAX, 0), 0);
	ck_assert_int_eq(drain(UINT64_MAX, 100), 5);
	for (unsigned i = 0; i < 10; i++)
		ck_assert_uint_eq(seen[i], i);
}
END_TEST

START_TEST(a_length_beyond_what_was_produced_empties_the_ring)
{
	static const uint32_t lens[] = { 0x3fffffff, SIZE + 8, SIZE, 512, 49 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		unsigned long pos;

		n_seen = 0;
		produce(1, NOW, 48, 0);
		pos = produce(2, NOW, 48, 0);
		bpf_store(pos, &lens[i], sizeof(lens[i]));
		ck_assert_int_eq(drain(NOW, 100), -EBADMSG);
		ck_assert_uint_eq(n_seen, 1);
		ck_assert_uint_eq(*consumer, *producer);
		produce(3, NOW, 48, 0);
		ck_assert_int_eq(drain(NOW, 100), 1);
	}
}
END_TEST

START_TEST(any_bytes_are_drained_without_a_step_outside)
{
	srandom(7);
	for (unsigned round = 0; round < 3000; round++) {
		for (size_t i = 0; i < SIZE; i++)
			bpf_data[i] = bpf_data[i + SIZE] =
				(uint8_t)(random() % 4 ? 0 : random() % 256);
		*producer = *consumer + (unsigned long)(random() % (SIZE / 8 + 1)) * 8;
		n_seen = 0;
		(void)drain((uint64_t)random() << 32, 100);
		ck_assert_uint_le(*consumer, *producer);
		*consumer = *producer;
	}
}
END_TEST

/* ---- perf ---- */

static void perf_store(uint64_t pos, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		perf_data[(pos + i) & (SIZE - 1)] = ((const uint8_t *)data)[i];
}

/* Every byte of the body is `number`'s lowest: a record joined wrongly shows it. */
static void perf_produce(uint16_t number, uint16_t size, uint32_t type)
{
	struct perf_event_header hdr = { .type = type, .misc = number, .size = size };
	uint64_t pos = meta->data_head;

	perf_store(pos, &hdr, sizeof(hdr));
	for (unsigned i = sizeof(hdr); i < size; i++)
		perf_store(pos + i, &(uint8_t){ (uint8_t)number }, 1);
	meta->data_head += size;
}

static int perf_take(const struct perf_event_header *rec, void *ctx)
{
	ck_assert_ptr_eq(ctx, &n_seen);
	ck_assert_uint_lt(n_seen, 4096);
	for (unsigned i = sizeof(*rec); i < rec->size && rec->type == PERF_RECORD_SAMPLE; i++)
		ck_assert_uint_eq(((const uint8_t *)rec)[i], (uint8_t)rec->misc);
	seen_size[n_seen] = rec->size;
	seen[n_seen++] = rec->misc;
	return stop_at && n_seen == (unsigned)stop_at ? 42 : 0;
}

static int perf_drain(void)
{
	return perf_ring_drain(perf, perf_take, &n_seen);
}

START_TEST(perf_records_are_whole_wherever_they_wrap)
{
	uint16_t number = 0, expect = 0;

	for (unsigned round = 0; round < 400; round++) {
		for (unsigned i = 0; i < 5; i++, number++)
			perf_produce(number, (uint16_t)(8 + number % 80 * 8), PERF_RECORD_SAMPLE);
		n_seen = 0;
		ck_assert_int_eq(perf_drain(), 0);
		ck_assert_uint_eq(n_seen, 5);
		for (unsigned i = 0; i < 5; i++, expect++) {
			ck_assert_uint_eq(seen[i], expect);
			ck_assert_uint_eq(seen_size[i], 8 + expect % 80 * 8);
		}
		ck_assert_uint_eq(meta->data_tail, meta->data_head);
	}
}
END_TEST

START_TEST(a_perf_record_may_fill_the_whole_ring)
{
	meta->data_head = meta->data_tail = 8 * 13;
	perf_produce(5, SIZE, PERF_RECORD_SAMPLE);
	ck_assert_int_eq(perf_drain(), 0);
	ck_assert_uint_eq(seen_size[0], SIZE);
}
END_TEST

START_TEST(a_perf_drain_that_is_stopped_goes_on_behind_that_record)
{
	for (uint16_t i = 0; i < 5; i++)
		perf_produce(i, 16, PERF_RECORD_SAMPLE);
	stop_at = 2;
	ck_assert_int_eq(perf_drain(), 42);
	ck_assert_uint_eq(n_seen, 2);
	stop_at = 0;
	ck_assert_int_eq(perf_drain(), 0);
	ck_assert_uint_eq(n_seen, 5);
	ck_assert_uint_eq(seen[2], 2);
}
END_TEST

START_TEST(perf_losses_are_summed)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost = { { PERF_RECORD_LOST, 0, sizeof(lost) }, 1, 77 };

	for (unsigned i = 0; i < 2; i++) {
		perf_store(meta->data_head, &lost, sizeof(lost));
		meta->data_head += sizeof(lost);
	}
	lost.header.size = 16; /* too short to say how many */
	perf_store(meta->data_head, &lost, 16);
	meta->data_head += 16;
	ck_assert_int_eq(perf_drain(), 0);
	ck_assert_uint_eq(perf_ring_lost(perf), 154);
	ck_assert_uint_eq(n_seen, 3);
}
END_TEST

START_TEST(a_torn_perf_record_empties_the_ring)
{
	static const uint16_t sizes[] = { 0, 7, 4, 9, 24, SIZE, 65528 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t second;

		n_seen = 0;
		perf_produce(1, 16, PERF_RECORD_SAMPLE);
		second = meta->data_head;
		perf_produce(2, 16, PERF_RECORD_SAMPLE);
		perf_store(second + offsetof(struct perf_event_header, size), &sizes[i],
			   sizeof(sizes[i]));
		ck_assert_int_eq(perf_drain(), -EBADMSG);
		ck_assert_uint_eq(n_seen, 1);
		ck_assert_uint_eq(meta->data_tail, meta->data_head);
		perf_produce(3, 16, PERF_RECORD_SAMPLE);
		ck_assert_int_eq(perf_drain(), 0);
	}
}
END_TEST

/* More than the ring holds, as after an overrun: the joined copy has an end, too. */
START_TEST(a_perf_record_larger_than_the_ring_is_torn)
{
	struct perf_event_header hdr = { .type = PERF_RECORD_SAMPLE, .size = 65528 };

	perf_store(8, &hdr, sizeof(hdr));
	meta->data_tail = 8;
	meta->data_head = 1 << 20;
	ck_assert_int_eq(perf_drain(), -EBADMSG);
	ck_assert_uint_eq(n_seen, 0);
}
END_TEST

START_TEST(any_bytes_in_a_perf_ring_are_drained_without_a_step_outside)
{
	srandom(8);
	for (unsigned round = 0; round < 3000; round++) {
		for (size_t i = 0; i < SIZE; i++)
			perf_data[i] = (uint8_t)(random() % 3 ? 0 : random() % 64);
		meta->data_tail = (uint64_t)(random() % SIZE);
		meta->data_head = meta->data_tail + (uint64_t)(random() % (2 * SIZE));
		n_seen = 0;
		(void)perf_drain();
		ck_assert_uint_eq(meta->data_tail, meta->data_head);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rings");
	TCase *tc = tcase_create("rings");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, records_come_in_order_round_and_round_the_ring);
	tcase_add_test(tc, what_is_still_being_written_holds_up_what_follows);
	tcase_add_test(tc, discarded_and_headless_records_are_passed_over);
	tcase_add_test(tc, a_drain_stops_at_the_horizon_and_at_its_budget);
	tcase_add_test(tc, a_length_beyond_what_was_produced_empties_the_ring);
	tcase_add_test(tc, any_bytes_are_drained_without_a_step_outside);
	tcase_add_test(tc, perf_records_are_whole_wherever_they_wrap);
	tcase_add_test(tc, a_perf_record_may_fill_the_whole_ring);
	tcase_add_test(tc, a_perf_drain_that_is_stopped_goes_on_behind_that_record);
	tcase_add_test(tc, perf_losses_are_summed);
	tcase_add_test(tc, a_torn_perf_record_empties_the_ring);
	tcase_add_test(tc, a_perf_record_larger_than_the_ring_is_torn);
	tcase_add_test(tc, any_bytes_in_a_perf_ring_are_drained_without_a_step_outside);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
