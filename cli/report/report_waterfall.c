/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_waterfall.c - the waterfall in the terminal: of each process its requests, lookups,
 * exchanges and connections in the order of their beginnings, as wide as the terminal is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "report_network.h"

#define PLAIN_WIDTH 150
#define MAX_WIDTH   400
#define MIN_BAR	    16
#define TYPE_WIDTH  16 /* columns, with the space before it; likewise below */
#define REMOTE	    22
#define FIXED	    42 /* start, side, status, size and duration */

/* Columns of a row; 0: left out. */
struct layout {
	unsigned what, type, remote, bar;
};

/* Of a process: what the rows that are shown span. */
struct axis {
	uint64_t from_ns, to_ns;
};

static struct layout layout_of(const struct report *r)
{
	unsigned width = r->o->width ? r->o->width : PLAIN_WIDTH, left;
	struct layout l = { 0 };

	if (width > MAX_WIDTH)
		width = MAX_WIDTH;
	left = width > FIXED + 2 * MIN_BAR ? width - FIXED : 2 * MIN_BAR;
	if (left > 3 * TYPE_WIDTH + MIN_BAR)
		l.type = TYPE_WIDTH;
	left -= l.type;
	if (left > 3 * REMOTE)
		l.remote = REMOTE;
	left -= l.remote;
	l.bar = left * 2 / 5 > MIN_BAR ? left * 2 / 5 : MIN_BAR;
	l.what = left - l.bar;
	return l;
}

/* ---- the bar ---- */

static const struct {
	const char *phase;
	char letter;
	int colour; /* of 256 */
} phases[] = {
	{ "queue", 'q', 250 }, { "DNS", 'd', 177 },  { "connect", 'c', 215 }, { "TLS", 't', 210 },
	{ "send", 's', 117 },  { "wait", 'w', 153 }, { "receive", 'r', 114 },
};

#define N_PHASES (sizeof(phases) / sizeof(phases[0]))

static char letter_of(const char *phase)
{
	for (size_t i = 0; i < N_PHASES; i++)
		if (strcmp(phases[i].phase, phase) == 0)
			return phases[i].letter;
	return '-';
}

static char letter_without_phases(const struct trace_net *item)
{
	switch (item->kind) {
	case TRACE_NET_LOOKUP:
		return 'd';
	case TRACE_NET_TLS:
		return '=';
	case TRACE_NET_FAILED:
		return 'x';
	default:
		return '-';
	}
}

static double column(const struct axis *a, unsigned bar, uint64_t time_ns)
{
	if (time_ns <= a->from_ns || a->to_ns == a->from_ns)
		return 0;
	if (time_ns >= a->to_ns)
		return bar;
	return (double)(time_ns - a->from_ns) * bar / (double)(a->to_ns - a->from_ns);
}

/* One letter at least; a column of several phases is that of the longest in it. */
static void paint(char *cells, double *most, unsigned bar, double from, double to, char letter)
{
	unsigned i = from < bar ? (unsigned)from : bar - 1;

	do {
		double begin = from > i ? from : i, end = to < i + 1 ? to : i + 1;

		if (cells[i] == ' ' || end - begin > most[i]) {
			cells[i] = letter;
			most[i] = end - begin;
		}
	} while (++i < bar && i < to);
}

static void draw(const struct network_report *n, const struct net_row *row, const struct axis *a,
		 unsigned bar, char *cells)
{
	const struct trace_net *item = row->item;
	double most[MAX_WIDTH] = { 0 };
	size_t n_all;
	const struct trace_net_part *p = trace_index_net_parts(n->r->ix, &n_all);

	memset(cells, ' ', bar);
	cells[bar] = '\0';
	paint(cells, most, bar, column(a, bar, item->begin_ns), column(a, bar, item->end_ns),
	      letter_without_phases(item));
	for (unsigned i = 0; i < bar; i++)
		most[i] = item->kind == TRACE_NET_FAILED ? 1 : -1; /* what lies in it goes before */
	for (uint32_t i = item->first_part; i < item->first_part + item->n_parts; i++) {
		if (p[i].is_mark)
			continue;
		paint(cells, most, bar, column(a, bar, p[i].begin_ns), column(a, bar, p[i].end_ns),
		      letter_of(trace_index_string(n->r->ix, p[i].name)));
	}
	for (unsigned i = bar; row->open && i-- > 0;)
		if (cells[i] != ' ') {
			cells[i] = '>';
			break;
		}
}

static void print_cell(const struct report *r, char letter)
{
	int colour = letter == 'x' ? 203 : 252;

	for (size_t i = 0; i < N_PHASES; i++)
		if (phases[i].letter == letter)
			colour = phases[i].colour;
	if (r->o->colour && letter != ' ')
		printf("\033[38;5;16;48;5;%dm%c\033[0m", colour, letter);
	else
		putchar(letter);
}

/* ---- a row ---- */

/* `t` in so many columns, its end or its beginning filled up; the first one is a space. */
static void print_column(struct report_text t, unsigned columns, bool right)
{
	size_t used;

	if (columns == 0)
		return;
	t = report_cut(t, columns - 1);
	used = report_columns(t.s);
	printf(" %*s%s%*s", right ? (int)(columns - 1 - used) : 0, "", t.s,
	       right ? 0 : (int)(columns - 1 - used), "");
}

static struct report_text what_of(const struct network_report *n, const struct trace_net *item)
{
	const char *method = net_text(n, item, "method"), *url = net_text(n, item, "url");
	const char *host = net_text(n, item, "host"),
		   *name = trace_index_string(n->r->ix, item->name);
	const char *origin = trace_index_string(n->r->ix, item->origin);
	const char *proto = net_text(n, item, "proto");
	char text[1024];

	/* What follows a request on its connection is called by what it is. */
	if (strcmp(proto, "WebSocket") == 0 || strcmp(proto, "tunnel") == 0)
		method = proto;
	if (strncmp(url, "http://", 7) == 0) {
		url += 7; /* every other one is one */
	}

	if (item->kind == TRACE_NET_REQUEST && method[0] && url[0])
		snprintf(text, sizeof(text), "%.60s %.300s%.600s", method,
			 url[0] == '/' ? host : "", url);
	else if (item->kind == TRACE_NET_LOOKUP || item->kind == TRACE_NET_REQUEST)
		snprintf(text, sizeof(text), "%.1000s", name);
	else if (item->kind == TRACE_NET_FAILED)
		snprintf(text, sizeof(text), "connect %.800s %.100s", origin,
			 net_text(n, item, "error"));
	else
		snprintf(text, sizeof(text), "%s %.800s",
			 item->kind == TRACE_NET_CONNECTION ? "TCP" : name, origin);
	return report_printable(text);
}

/* Why there is no whole answer, in as few letters as there are columns. */
static struct report_text error_of(const char *error)
{
	if (strncmp(error, "stream reset: ", 14) == 0)
		return report_printable(error + 7); /* "reset: 8" */
	if (strcmp(error, "connection closed") == 0)
		return report_printable("closed");
	return report_printable(strncmp(error, "reset", 5) == 0 ? "reset" : error);
}

static struct report_text status_of(const struct network_report *n, const struct net_row *row)
{
	uint64_t status = net_number(n, row->item, "status");
	uint64_t grpc_status = net_number(n, row->item, "grpc_status");
	char grpc[32];
	const char *error = net_text(n, row->item, "error");

	if (row->item->kind == TRACE_NET_FAILED) /* why stands behind whom */
		return report_printable("failed");
	if (row->item->kind == TRACE_NET_LOOKUP && net_text(n, row->item, "rcode")[0])
		return report_printable(net_text(n, row->item, "rcode"));
	if (error[0] && status < 400) /* also behind a head that was fine */
		return error_of(error);
	if (grpc_status) {
		snprintf(grpc, sizeof(grpc), "grpc %" PRIu64, grpc_status);
		return report_printable(grpc);
	}
	if (status)
		return report_number(status);
	return report_printable(row->failed ? "failed" : row->open ? "open" : "");
}

static struct report_text type_of(const struct network_report *n, const struct trace_net *item)
{
	const char *type = net_text(n, item, "content_type");

	if (item->kind == TRACE_NET_LOOKUP)
		type = "DNS";
	else if (item->kind == TRACE_NET_TLS)
		type = "TLS";
	else if (item->kind != TRACE_NET_REQUEST)
		type = "TCP";
	return report_printable(type);
}

static struct report_text size_of(const struct network_report *n, const struct trace_net *item)
{
	const char *name = item->kind == TRACE_NET_CONNECTION ? "bytes_received" : "response_bytes";

	return net_has(n, item, name) ? report_bytes(net_number(n, item, name))
				      : report_printable("");
}

static void print_row(const struct network_report *n, const struct net_row *row,
		      const struct layout *l, const struct axis *a)
{
	const struct trace_net *item = row->item;
	uint64_t start_ns = trace_index_facts(n->r->ix)->start_ns;
	bool red = n->r->o->colour && row->failed;
	bool is_server = strcmp(net_text(n, item, "side"), "server") == 0;
	struct report_text duration = report_duration(item->end_ns - item->begin_ns);
	const char *remote = net_text(n, item, "remote");
	char cells[MAX_WIDTH + 1];

	printf("%11.6f %c", (double)(int64_t)(item->begin_ns - start_ns) / (double)NS_PER_SEC,
	       is_server ? '<' : ' ');
	fputs(red ? "\033[31m" : "", stdout);
	print_column(what_of(n, item), l->what, false);
	print_column(status_of(n, row), 9, false);
	fputs(red ? "\033[0m" : "", stdout);
	print_column(type_of(n, item), l->type, false);
	print_column(size_of(n, item), 9, true);
	print_column(report_printable(remote[0] ? remote : net_text(n, item, "server")), l->remote,
		     false);
	if (row->open)
		strcat(duration.s, "+");
	print_column(duration, 10, true);
	fputs(" |", stdout);
	draw(n, row, a, l->bar - 2, cells);
	for (unsigned i = 0; cells[i]; i++)
		print_cell(n->r, cells[i]);
	fputs("|\n", stdout);
}

/* ---- a process ---- */

static void print_head(const struct network_report *n, const struct net_total *t,
		       const struct layout *l, const struct axis *a)
{
	uint64_t start_ns = trace_index_facts(n->r->ix)->start_ns;
	char from[32], to[32];
	int32_t pid;
	const char *name = net_process_name(n, t->process, &pid);

	printf("\n%s [%d]: %s exchange%s", report_printable(name).s, pid, report_number(t->n).s,
	       t->n == 1 ? "" : "s");
	if (t->n_failed)
		printf(", %s failed", report_number(t->n_failed).s);
	if (t->n_open)
		printf(", %s not over", report_number(t->n_open).s);
	printf("; %s sent, ", report_bytes(net_sent(t)).s);
	printf("%s received\n", report_bytes(net_received(t)).s);

	printf("%11s  ", "start, s");
	print_column(report_printable("what"), l->what, false);
	print_column(report_printable("status"), 9, false);
	print_column(report_printable("type"), l->type, false);
	print_column(report_printable("size"), 9, true);
	print_column(report_printable("remote"), l->remote, false);
	print_column(report_printable("time"), 10, true);
	snprintf(from, sizeof(from), "%.3f",
		 (double)(int64_t)(a->from_ns - start_ns) / (double)NS_PER_SEC);
	snprintf(to, sizeof(to), "%.3f",
		 (double)(int64_t)(a->to_ns - start_ns) / (double)NS_PER_SEC);
	printf(" |%s%*s|\n", from, (int)(l->bar - 2 - strlen(from)), to);
}

static void print_process(const struct network_report *n, size_t first, size_t end,
			  const struct layout *l)
{
	const struct net_row *rows = n->rows;
	struct axis a = { UINT64_MAX, 0 };
	size_t shown = end - first < n->r->o->max_rows ? end : first + n->r->o->max_rows;
	size_t n_failed = 0;

	for (size_t i = first; i < shown; i++) {
		if (rows[i].item->begin_ns < a.from_ns)
			a.from_ns = rows[i].item->begin_ns;
		if (rows[i].item->end_ns > a.to_ns)
			a.to_ns = rows[i].item->end_ns;
	}
	print_head(n, &n->processes[rows[first].process], l, &a);
	for (size_t i = first; i < shown; i++)
		print_row(n, &rows[i], l, &a);
	for (size_t i = shown; i < end; i++)
		n_failed += rows[i].failed;
	if (end > shown)
		printf("%14s%s more", "", report_number(end - shown).s);
	if (n_failed)
		printf(", %s of them failed", report_number(n_failed).s);
	if (end > shown)
		fputs(": see --top, --from\n", stdout);
}

void net_print_waterfall(const struct network_report *n)
{
	struct layout l = layout_of(n->r);
	size_t end, n_shown = 0, n_left = 0;

	for (size_t first = 0; first < n->n_rows; first = end) {
		for (end = first;
		     end < n->n_rows && n->rows[end].process == n->rows[first].process;)
			end++;
		if (n_shown++ < n->r->o->max_rows)
			print_process(n, first, end, &l);
		else
			n_left++;
	}
	if (n_left)
		printf("\n%zu more processes, see --top, --pid, --comm\n", n_left);
	if (n_shown)
		printf("\nq queued, d DNS, c connect, t TLS, s send, w wait, r receive; = "
		       "encrypted, "
		       "x failed,\n> not over when the recording ended; < is the server's side\n");
}
