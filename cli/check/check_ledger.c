/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_ledger.c - what became of every event: does the recorder's own account
 * close, is it what lies in the file, and is all that was lost said where a
 * viewer shows it?
 *
 * The last TraceAttributes hold ledger.SOURCE.FIELD for each source.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

#define PREFIX	    "ledger."
#define INFERRED    "sched.inferred_switches" /* not events of the kernel's */
#define SNAPSHOT    "tracer.snapshot.begin_ns"
#define MAX_SOURCES 64
#define NAME_LEN    32

enum field { PRODUCED, LOST, MALFORMED, FILTERED, DROPPED, WRITTEN, N_FIELDS };

static const char *const field_names[N_FIELDS] = {
	[PRODUCED] = "produced", [LOST] = "lost",	[MALFORMED] = "malformed",
	[FILTERED] = "filtered", [DROPPED] = "dropped", [WRITTEN] = "written",
};

struct source {
	char name[NAME_LEN];
	uint64_t fields[N_FIELDS];
	unsigned present; /* bits */
};

struct check_ledger {
	struct source sources[MAX_SOURCES];
	size_t n_sources;
	uint64_t n_samples, n_slices; /* that lie in the file */
	uint64_t n_instants;	      /* lost events, by the instants */
	uint64_t n_packet_loss;	      /* by the last TraceStats */
	uint64_t n_inferred;	      /* switches the recorder added: at most so many */
};

int check_ledger_new(struct check_ledger **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void check_ledger_free(struct check_ledger *l)
{
	free(l);
}

/* ---- counted in the file ---- */

void check_ledger_slice(struct trace_check *c)
{
	c->ledger->n_slices++;
}

void check_ledger_sample(struct trace_check *c)
{
	c->ledger->n_samples++;
}

void check_ledger_instant(struct trace_check *c, uint64_t n)
{
	c->ledger->n_instants += n;
}

void check_ledger_stats(struct trace_check *c, const TraceStats *stats)
{
	c->ledger->n_packet_loss = 0;
	for (size_t i = 0; i < stats->n_buffer_stats; i++)
		c->ledger->n_packet_loss += stats->buffer_stats[i]->trace_writer_packet_loss;
}

/* ---- read from the attributes ---- */

static struct source *source_of(struct check_ledger *l, const char *name, size_t len)
{
	struct source *s;

	for (size_t i = 0; i < l->n_sources; i++)
		if (strlen(l->sources[i].name) == len && memcmp(l->sources[i].name, name, len) == 0)
			return &l->sources[i];
	if (l->n_sources == MAX_SOURCES || len >= NAME_LEN)
		return NULL;
	s = &l->sources[l->n_sources++];
	memset(s, 0, sizeof(*s));
	memcpy(s->name, name, len);
	return s;
}

/* "ledger.sched.lost": the source and the field. False: another key. */
static bool parse_key(struct check_ledger *l, const char *key, struct source **ret_source,
		      enum field *ret_field)
{
	const char *name, *dot;

	if (strncmp(key, PREFIX, strlen(PREFIX)) != 0)
		return false;
	name = key + strlen(PREFIX);
	dot = strrchr(name, '.');
	if (!dot)
		return false;
	for (unsigned f = 0; f < N_FIELDS; f++) {
		if (strcmp(dot + 1, field_names[f]) != 0)
			continue;
		*ret_field = (enum field)f;
		*ret_source = source_of(l, name, (size_t)(dot - name));
		return *ret_source != NULL;
	}
	return false;
}

void check_ledger_attributes(struct trace_check *c, const TraceAttributes *a)
{
	struct check_ledger *l = c->ledger;
	bool fresh = true;

	for (size_t i = 0; i < a->n_attribute; i++) {
		const TraceAttributes__Attribute *at = a->attribute[i];
		struct source *s;
		enum field f;

		if (at->key && strcmp(at->key, INFERRED) == 0 && at->has_long_value)
			l->n_inferred = (uint64_t)at->long_value;
		if (at->key && strcmp(at->key, SNAPSHOT) == 0)
			c->is_snapshot = true;
		if (!at->key || strncmp(at->key, PREFIX, strlen(PREFIX)) != 0)
			continue;
		if (fresh)
			l->n_sources = 0; /* the last packet counts */
		fresh = false;
		if (!parse_key(l, at->key, &s, &f) || !at->has_long_value)
			continue;
		s->fields[f] = (uint64_t)at->long_value;
		s->present |= 1u << f;
	}
}

uint64_t check_ledger_inferred(const struct trace_check *c)
{
	return c->ledger->n_inferred;
}

/* ---- at the end ---- */

static void check_sum(struct trace_check *c, const struct source *s)
{
	uint64_t sum = 0;

	for (unsigned f = LOST; f < N_FIELDS; f++)
		sum += s->fields[f];
	if (s->present != (1u << N_FIELDS) - 1) {
		check_report_at(c, CHECK_LEDGER_SUM, UINT64_MAX, 0,
				"the account of %s lacks a part", check_text(s->name).s);
		return;
	}
	if (sum != s->fields[PRODUCED])
		check_report_at(c, CHECK_LEDGER_SUM, UINT64_MAX, 0,
				"%s: %llu produced, but %llu accounted for", check_text(s->name).s,
				(unsigned long long)s->fields[PRODUCED], (unsigned long long)sum);
}

static void check_written(struct trace_check *c, const struct source *s)
{
	const struct {
		const char *name;
		uint64_t n, n_extra;
	} counted[] = {
		{ "cpu", c->ledger->n_samples, 0 },
		{ "sched", check_sched_events(c), c->ledger->n_inferred },
		{ "syscalls", c->ledger->n_slices, 0 },
	};

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (strcmp(counted[i].name, s->name) == 0 &&
		    (counted[i].n < s->fields[WRITTEN] ||
		     counted[i].n > s->fields[WRITTEN] + counted[i].n_extra))
			check_report_at(c, CHECK_LEDGER_WRITTEN, UINT64_MAX, 0,
					"%s: %llu written, but %llu are in the file", s->name,
					(unsigned long long)s->fields[WRITTEN],
					(unsigned long long)counted[i].n);
}

static void check_loss(struct trace_check *c)
{
	uint64_t lost = c->summary.n_lost + c->summary.n_dropped;
	uint64_t stats = c->ledger->n_packet_loss + check_sched_dropped(c);

	if (lost == 0 &&
	    (stats > 0 || c->ledger->n_instants > 0 || check_sched_lost_bundles(c) > 0))
		check_report_at(c, CHECK_LOSS_INVENTED, UINT64_MAX, 0,
				"nothing was lost, but %llu bundles have lost_events, stats count "
				"%llu, instants %llu",
				(unsigned long long)check_sched_lost_bundles(c),
				(unsigned long long)stats,
				(unsigned long long)c->ledger->n_instants);
	if (lost > c->ledger->n_instants)
		check_report_at(c, CHECK_LOSS_INSTANTS, UINT64_MAX, 0,
				"%llu events lost, %llu of them on the track \"Data loss\"",
				(unsigned long long)lost,
				(unsigned long long)c->ledger->n_instants);
	if (lost > stats)
		check_report_at(c, CHECK_LOSS_STATS, UINT64_MAX, 0,
				"%llu events lost, %llu of them in FtraceStats and TraceStats",
				(unsigned long long)lost, (unsigned long long)stats);
}

void check_ledger_finish(struct trace_check *c)
{
	const struct check_ledger *l = c->ledger;

	if (l->n_sources == 0) {
		if (c->summary.complete)
			check_report_at(c, CHECK_LEDGER_MISSING, UINT64_MAX, 0,
					"the recording is complete, but without a ledger");
		return;
	}
	c->summary.has_ledger = true;
	for (size_t i = 0; i < l->n_sources; i++) {
		check_sum(c, &l->sources[i]);
		check_written(c, &l->sources[i]);
		c->summary.n_lost += l->sources[i].fields[LOST];
		c->summary.n_dropped += l->sources[i].fields[DROPPED];
	}
	check_loss(c);
}

uint64_t check_ledger_lost(const struct trace_check *c, const char *source)
{
	const struct check_ledger *l = c->ledger;

	for (size_t i = 0; i < l->n_sources; i++) {
		const struct source *s = &l->sources[i];

		if (strcmp(s->name, source) == 0)
			return s->fields[LOST] + s->fields[MALFORMED] + s->fields[DROPPED];
	}
	return 0;
}

size_t trace_check_loss(const struct trace_check *c, char *dst, size_t dst_size)
{
	const struct check_ledger *l = c->ledger;
	size_t len = 0;

	if (dst_size == 0)
		return 0;
	dst[0] = '\0';
	for (size_t i = 0; i < l->n_sources; i++) {
		const uint64_t *f = l->sources[i].fields;
		int n;

		if (f[LOST] == 0 && f[DROPPED] == 0)
			continue;
		n = snprintf(dst + len, dst_size - len, "%s%s lost %llu and dropped %llu of %llu",
			     len ? ", " : "", check_text(l->sources[i].name).s,
			     (unsigned long long)f[LOST], (unsigned long long)f[DROPPED],
			     (unsigned long long)f[PRODUCED]);
		if (n < 0 || (size_t)n >= dst_size - len)
			break;
		len += (size_t)n;
	}
	return len;
}
