/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of probes; the input is as for record_fuzz_run(). Whatever begins and
 * ends in whatever order, the slices of a track nest.
 */
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "probe/probes.h"
#include "probe/probes_encode.h"
#include "record_fuzz.h"

static struct record_fuzz fuzz;

/* Functions, other pairs, two of one name, pairs of the kernel; one alone. */
static const char *const places[][2] = {
	{ "uprobe:/p:f", "uretprobe:/p:f" },
	{ "uprobe:/p:g", "uretprobe:/p:g" },
	{ "usdt:/p:p:a", "usdt:/p:p:b" },
	{ "usdt:/p:p:c", "usdt:/p:p:d" },
	{ "tracepoint:p:a", "tracepoint:p:b" },
	{ "fentry:f", "fexit:f" },
	{ "uprobe:/p:h", NULL },
};
#define N_PLACES  (sizeof(places) / sizeof(places[0]))
#define ANOTHER_C 3
#define SLOT	  0 /* of the session */

static void add_probe(size_t i)
{
	struct probe_def def = { .n_args = 1, .has_end = places[i][1] != NULL };
	char why[PROBE_WHY_LEN];
	struct probe *p;
	int slot = i == ANOTHER_C ? SLOT : PROBES_EVERY;
	uint32_t id;

	def.name[0] = (char)('a' + (i == ANOTHER_C ? i - 1 : i));
	strcpy(def.args[0].name, "x");
	strcpy(def.counter.name, "counter");
	if (probe_place_parse(places[i][0], &def.at, why) < 0 ||
	    (def.has_end && probe_place_parse(places[i][1], &def.end, why) < 0) ||
	    probes_add(fuzz.env.probes, &def, slot, 0, why, &id) < 0)
		abort();
	p = probes_find(fuzz.env.probes, id);
	p->begin.n_values = 1;
	p->begin.type[0] = (enum probe_type)i;
	p->begin.size[0] = 4;
	p->begin.counter_type = i % 2 ? PROBE_TYPE_FLOAT : PROBE_TYPE_SIGNED;
}

static void set_up(const struct encoder_env *env)
{
	(void)env;
	if (probes_new(&fuzz.env.probes) < 0)
		abort();
	for (size_t i = 0; i < N_PLACES; i++)
		add_probe(i);
}

/* A value or none, of the bytes that are there. */
static void make_length_fit(struct event_hdr *hdr, size_t len)
{
	struct probes_event *ev = (struct probes_event *)hdr;
	struct probes_value *value = (struct probes_value *)ev->bytes;
	size_t room = (len - PROBES_HEAD) & ~7ul;

	ev->hdr.type = PROBES_HIT;
	ev->hdr.cpu %= MAX_CPUS;
	ev->hdr.size = (__u16)(PROBES_HEAD + room);
	ev->point %= PROBES_FINISH + 1;
	ev->flags &= PROBES_HAS_KEY | PROBES_HAS_COUNTER | PROBES_LIMITED;
	ev->len = (__u16)(room < PROBES_ROOM ? room : 0);
	ev->n_values = ev->len > 0;
	if (!ev->n_values)
		return;
	*value = (struct probes_value){ .is_text = ev->len != 16, .len = (__u16)(ev->len - 8) };
	value->is_unreadable = ev->len == 8;
}

/* Few threads, one after the other in time; CPUs that do nothing. */
static void tame(struct event_hdr *hdr)
{
	struct probes_event *ev = (struct probes_event *)hdr;

	ev->hdr.time_ns = fuzz.env.start_ns + 10 + fuzz.n_events * (ev->hdr.time_ns % 3);
	ev->hdr.tid = ev->hdr.tgid % 16 == 15 ? 0 : 1000 + ev->hdr.tid % 3;
	ev->hdr.tgid = ev->hdr.tid ? 1000 : 0;
	ev->hdr.cpu %= 2;
	ev->site %= 3;
	ev->probe = 1 + ev->probe % (N_PLACES + 1);
	ev->key %= 3;
}

static struct record_fuzz fuzz = {
	.name = "probes",
	.unfinished = PROBES_STOP,
	.set_up = set_up,
	.fit = make_length_fit,
	.fit_from = PROBES_HEAD,
	.tame = tame,
	.is_checked = true,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return record_fuzz_run(&fuzz, data, size);
}
