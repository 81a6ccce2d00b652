/* SPDX-License-Identifier: Apache-2.0 */
/* report_print.c - names and numbers of a report, fit for a terminal. */
#include <inttypes.h>
#include <string.h>

#include "report.h"
#include "short_name.h"
#include "text.h"

/* All in columns. */
#define MAX_NAME     100 /* of a process's name that has a number behind it */
#define MAX_FUNCTION 150 /* with its line behind it */
#define MAX_FILE     50
#define MIN_ROOM     20 /* less tells nothing, and the line may be too long */

struct report_text report_printable(const char *s)
{
	struct report_text t;

	text_printable(t.s, sizeof(t.s), s, strlen(s));
	return t;
}

size_t report_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

struct report_text report_cut(struct report_text t, size_t columns)
{
	size_t i = 0;

	if (report_columns(t.s) <= columns)
		return t;
	for (size_t n = columns > 2 ? columns - 2 : 0; n > 0; n--) {
		i++;
		while (((unsigned char)t.s[i] & 0xc0) == 0x80)
			i++;
	}
	memcpy(t.s + i, "..", 3); /* at least three characters were behind it */
	return t;
}

/* ---- numbers ---- */

/* 1234567 as "1,234,567". */
struct report_text report_number(uint64_t n)
{
	struct report_text t;
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), out = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[out++] = ',';
		t.s[out++] = digits[i];
	}
	t.s[out] = '\0';
	return t;
}

/* With three digits that count. */
static struct report_text scaled(double v, const char *const *units, size_t n_units, double factor)
{
	struct report_text t;
	size_t i = 0;

	if (v == 0)
		return (struct report_text){ "0" };
	while (v >= factor && i + 1 < n_units) {
		v /= factor;
		i++;
	}
	snprintf(t.s, sizeof(t.s), "%.*f %s",
		 i == 0 || v >= 99.95 ? 0
		 : v >= 9.995	      ? 1
				      : 2,
		 v, units[i]);
	return t;
}

struct report_text report_bytes(uint64_t n)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };

	return scaled((double)n, units, sizeof(units) / sizeof(units[0]), 1000);
}

struct report_text report_duration(uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	return scaled((double)ns, units, sizeof(units) / sizeof(units[0]), 1000);
}

struct report_text report_weight(const struct report *r, uint64_t weight)
{
	switch (r->source->unit) {
	case TRACE_UNIT_NS:
		return report_duration(weight);
	case TRACE_UNIT_BYTES:
		return report_bytes(weight);
	default:
		return report_number(weight);
	}
}

double report_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- names ---- */

struct report_text report_source(const struct report *r, const struct trace_source *s)
{
	const char *name = trace_index_string(r->ix, s->name);
	const char *counter = trace_index_string(r->ix, s->counter);
	struct report_text t;
	char both[512];

	snprintf(both, sizeof(both), "%.200s%s%.200s%s",
		 name[0] ? name : "samples without a source", counter[0] ? " (" : "", counter,
		 counter[0] ? ")" : "");
	t = report_printable(both);
	return t;
}

const struct label *report_label_of(const struct report *r, uint32_t label)
{
	return pool_get(r->labels, label, NULL);
}

bool report_is_code(const struct label *l)
{
	return l->kind == LABEL_FUNCTION || l->kind == LABEL_LINE || l->kind == LABEL_MODULE ||
	       l->kind == LABEL_KERNEL;
}

const struct trace_function *report_function(const struct report *r, const struct label *l)
{
	if (l->kind == LABEL_FUNCTION)
		return trace_index_function(r->ix, l->value);
	if (l->kind == LABEL_LINE)
		return trace_index_function(r->ix, trace_index_line(r->ix, l->value)->function);
	return NULL;
}

const char *report_module(const struct report *r, const struct label *l)
{
	const struct trace_function *f = report_function(r, l);

	if (f)
		return trace_index_string(r->ix, f->module);
	return l->kind == LABEL_KERNEL ? "[kernel]" : "";
}

/* A name, and behind it the number that tells it from others of that name. */
static struct report_text numbered(const char *name, const char *mark, int64_t number)
{
	struct report_text t = report_cut(report_printable(name[0] ? name : "?"), MAX_NAME);
	size_t len = strlen(t.s);

	if (number >= 0)
		snprintf(t.s + len, sizeof(t.s) - len, " [%s%" PRId64 "]", mark, number);
	return t;
}

/* "compress (zip.c:120)": as people know it, the file without its folder. */
static struct report_text line_label(const struct report *r, const struct trace_line *p)
{
	const struct trace_function *f = trace_index_function(r->ix, p->function);
	struct report_text t = report_printable(trace_index_string(r->ix, f->name)), file;
	const char *path = trace_index_string(r->ix, p->file), *slash = strrchr(path, '/');
	size_t len;

	if (!path[0])
		return t;
	t = report_cut(t, MAX_FUNCTION);
	file = report_cut(report_printable(slash ? slash + 1 : path), MAX_FILE);
	len = strlen(t.s);
	snprintf(t.s + len, sizeof(t.s) - len, p->line ? " (%.400s:%u)" : " (%.400s)", file.s,
		 p->line);
	return t;
}

static struct report_text cpu_label(uint32_t cpu)
{
	struct report_text t;

	if (cpu == TRACE_NO_CPU)
		snprintf(t.s, sizeof(t.s), "CPU ?");
	else
		snprintf(t.s, sizeof(t.s), "CPU %u", cpu);
	return t;
}

struct report_text report_label(const struct report *r, uint32_t label)
{
	const struct label *l = report_label_of(r, label);
	const struct trace_process *p;
	const struct trace_thread *t;
	const char *name;

	switch ((enum label_kind)l->kind) {
	case LABEL_FUNCTION:
		name = trace_index_string(r->ix, trace_index_function(r->ix, l->value)->name);
		break;
	case LABEL_LINE:
		return line_label(r, trace_index_line(r->ix, l->value));
	case LABEL_PROCESS:
		p = trace_index_process(r->ix, l->value);
		return numbered(trace_index_string(r->ix, p->name), "", p->pid);
	case LABEL_THREAD:
		t = trace_index_thread(r->ix, l->value);
		return numbered(trace_index_string(r->ix, t->name), "", t->tid);
	case LABEL_CPU:
		return cpu_label(l->value);
	case LABEL_KERNEL:
		name = "[kernel]";
		break;
	case LABEL_MODULE:
		name = trace_index_string(r->ix, l->value);
		return report_printable(name[0] ? name : "[no module]");
	default: /* LABEL_COMM */
		name = trace_index_string(r->ix, l->value);
	}
	return report_printable(name[0] ? name : "?");
}

struct report_text report_short_label(const struct report *r, uint32_t label, size_t columns)
{
	struct report_text t = report_label(r, label), shorter;

	if (report_columns(t.s) <= columns)
		return t;
	short_name(shorter.s, sizeof(shorter.s), t.s);
	return shorter;
}

size_t report_room(const struct report *r, size_t used)
{
	if (!r->o->width)
		return SIZE_MAX;
	return r->o->width > used + MIN_ROOM ? r->o->width - used : MIN_ROOM;
}
