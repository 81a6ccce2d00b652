/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_network.c - `tracectl report --network`: what of the network is meant, and sums
 * of it by process and origin.
 */
#include "report_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "hash.h"

/* ---- one thing ---- */

static const struct trace_net_arg *arg_of(const struct network_report *n,
					  const struct trace_net *item, const char *name)
{
	return trace_index_net_arg(n->r->ix, item->first_arg, item->n_args, name);
}

const char *net_text(const struct network_report *n, const struct trace_net *item, const char *name)
{
	const struct trace_net_arg *arg = arg_of(n, item, name);

	return arg && arg->kind == TRACE_ARG_TEXT ? trace_index_string(n->r->ix, arg->text) : "";
}

uint64_t net_number(const struct network_report *n, const struct trace_net *item, const char *name)
{
	const struct trace_net_arg *arg = arg_of(n, item, name);

	if (!arg || arg->kind == TRACE_ARG_TEXT ||
	    (arg->kind == TRACE_ARG_SIGNED && arg->signed_number < 0))
		return 0;
	return arg->number;
}

bool net_has(const struct network_report *n, const struct trace_net *item, const char *name)
{
	const struct trace_net_arg *arg = arg_of(n, item, name);

	return arg && (arg->kind == TRACE_ARG_TEXT ? trace_index_string(n->r->ix, arg->text)[0] != 0
						   : arg->number != 0);
}

bool net_is_meant(const struct network_report *n, const struct trace_net *item)
{
	int32_t pid;
	const struct trace_process *p;

	if (!report_window_has(&n->window, item->begin_ns, item->end_ns))
		return false;
	if (item->process == TRACE_NONE)
		return n->r->o->n_pids == 0 && n->r->o->n_comms == 0;
	p = trace_index_process(n->r->ix, item->process);
	pid = p->pid;
	return report_window_is_meant(n->r, pid, p->name);
}

/* A lookup without an answer has no rcode; of connections only those that never were fail. */
bool net_is_failed(const struct network_report *n, const struct trace_net *item)
{
	const char *rcode = net_text(n, item, "rcode"), *alert = net_text(n, item, "tls_alert");

	switch (item->kind) {
	case TRACE_NET_FAILED:
		return true;
	case TRACE_NET_LOOKUP:
		return net_has(n, item, "error") || (rcode[0] && strcmp(rcode, "NOERROR") != 0) ||
		       strstr(trace_index_string(n->r->ix, item->name), " no answer");
	default:
		return net_number(n, item, "status") >= 400 || net_has(n, item, "error") ||
		       net_has(n, item, "grpc_status") ||
		       (alert[0] && strcmp(alert, "close_notify") != 0);
	}
}

bool net_is_open(const struct network_report *n, const struct trace_net *item)
{
	return item->open || net_has(n, item, "incomplete") || net_has(n, item, "unfinished");
}

const char *net_process_name(const struct network_report *n, uint32_t process, int32_t *ret_pid)
{
	const struct trace_process *p;
	const char *name;

	*ret_pid = -1;
	if (process == TRACE_NONE)
		return "?";
	p = trace_index_process(n->r->ix, process);
	*ret_pid = p->pid;
	name = trace_index_string(n->r->ix, p->name);
	return name[0] ? name : "?";
}

/* ---- adding up ---- */

static bool is_connection(const struct trace_net *item)
{
	return item->kind == TRACE_NET_CONNECTION || item->kind == TRACE_NET_UNIX ||
	       item->kind == TRACE_NET_UDP;
}

#define UNDERSTOOD_TURNS    ((void *)1) /* what TLS has carried, by lengths */
#define UNDERSTOOD_REQUESTS ((void *)2)

static void *understood(const struct network_report *n, const struct trace_net *item)
{
	return hash_get_u64(n->understood, net_number(n, item, "connection"));
}

/* What is in it is there in clear text. */
static bool is_told_twice(const struct network_report *n, const struct trace_net *item)
{
	return item->kind == TRACE_NET_TLS && understood(n, item) == UNDERSTOOD_REQUESTS;
}

/*
 * A connection whose talk is understood has that for rows; one that was there before and
 * those of UNIX sockets and UDP, of which a machine has thousands, are in the sums alone.
 */
static bool is_row(const struct network_report *n, const struct trace_net *item)
{
	if (!is_connection(item))
		return true;
	return item->kind == TRACE_NET_CONNECTION && !net_has(n, item, "before") &&
	       !understood(n, item);
}

static struct net_total *total_of(struct hash *h, struct net_total **list, size_t *n,
				  uint32_t process, uint32_t origin)
{
	uint64_t key = (uint64_t)process << 32 | origin;
	uintptr_t found = (uintptr_t)hash_get_u64(h, key);
	struct net_total *more;

	if (found)
		return *list + (found - 1);
	if ((*n & (*n - 1)) == 0) {
		more = realloc(*list, (*n ? 2 * *n : 1) * sizeof(*more));
		if (!more)
			return NULL;
		*list = more;
	}
	if (hash_set_u64(h, key, (void *)(uintptr_t)(*n + 1)) < 0)
		return NULL;
	more = *list + (*n)++;
	*more = (struct net_total){ .process = process, .origin = origin };
	return more;
}

static void add_to(const struct network_report *n, struct net_total *t,
		   const struct trace_net *item)
{
	uint64_t sent, received;
	bool is_server;

	if (is_connection(item)) {
		t->n_connections++;
		t->n_retransmits += net_number(n, item, "retransmits");
		t->sent += net_number(n, item, "bytes_sent");
		t->received += net_number(n, item, "bytes_received");
		return;
	}
	is_server = strcmp(net_text(n, item, "side"), "server") == 0;
	sent = net_number(n, item, is_server ? "response_bytes" : "request_bytes");
	received = net_number(n, item, is_server ? "request_bytes" : "response_bytes");
	t->requests_sent += sent;
	t->requests_received += received;
	if (item->kind == TRACE_NET_LOOKUP && strcmp(net_text(n, item, "proto"), "UDP") == 0) {
		t->sent += sent; /* which no connection has */
		t->received += received;
	}
	t->n++;
	t->n_failed += net_is_failed(n, item);
	t->n_open += net_is_open(n, item);
}

static int add(struct network_report *n, const struct trace_net *item)
{
	struct net_total *process, *origin;

	origin = total_of(n->by_origin, &n->origins, &n->n_origins, item->process, item->origin);
	process = total_of(n->by_process, &n->processes, &n->n_processes, item->process, 0);
	if (!origin || !process)
		return -ENOMEM;
	n->n_items++;
	if (is_told_twice(n, item))
		return 0;
	add_to(n, process, item);
	add_to(n, origin, item);
	if (!is_connection(item) && item->kind != TRACE_NET_FAILED && !net_is_open(n, item))
		n->times[n->n_times++] = (struct net_time){ (size_t)(origin - n->origins),
							    item->end_ns - item->begin_ns };
	if (is_row(n, item))
		n->rows[n->n_rows++] = (struct net_row){
			.item = item,
			.process = (size_t)(process - n->processes),
			.failed = net_is_failed(n, item),
			.open = net_is_open(n, item),
		};
	return 0;
}

static int find_understood(struct network_report *n, const struct trace_net *items, size_t n_items)
{
	int r = 0;

	for (size_t i = 0; i < n_items && r == 0; i++) {
		uint64_t cookie = net_number(n, &items[i], "connection");

		if (!cookie)
			continue;
		if (items[i].kind == TRACE_NET_REQUEST)
			r = hash_set_u64(n->understood, cookie, UNDERSTOOD_REQUESTS);
		else if (items[i].kind == TRACE_NET_TLS && !understood(n, &items[i]))
			r = hash_set_u64(n->understood, cookie, UNDERSTOOD_TURNS);
	}
	return r;
}

static int by_process_and_begin(const void *pa, const void *pb)
{
	const struct net_row *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item; /* they are in that order */
}

static int by_origin_and_length(const void *pa, const void *pb)
{
	const struct net_time *a = pa, *b = pb;

	if (a->origin != b->origin)
		return a->origin < b->origin ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static void sort(struct network_report *n)
{
	if (n->n_rows)
		qsort(n->rows, n->n_rows, sizeof(*n->rows), by_process_and_begin);
	if (n->n_times)
		qsort(n->times, n->n_times, sizeof(*n->times), by_origin_and_length);
	for (size_t i = 0; i < n->n_times; i++) {
		struct net_total *t = &n->origins[n->times[i].origin];

		if (t->n_times++ == 0)
			t->first_time = i;
	}
}

static int build(struct network_report *n)
{
	size_t n_items;
	const struct trace_net *items = trace_index_network(n->r->ix, &n_items);
	int r;

	report_window_of(n->r, &n->window);
	n->rows = calloc(n_items + 1, sizeof(*n->rows));
	n->times = calloc(n_items + 1, sizeof(*n->times));
	if (!n->rows || !n->times)
		return -ENOMEM;
	r = hash_new(&n->by_process);
	if (r == 0)
		r = hash_new(&n->by_origin);
	if (r == 0)
		r = hash_new(&n->understood);
	if (r == 0)
		r = find_understood(n, items, n_items);
	for (size_t i = 0; i < n_items && r == 0; i++)
		if (net_is_meant(n, &items[i]))
			r = add(n, &items[i]);
	sort(n);
	return r;
}

uint64_t net_percentile(const struct network_report *n, const struct net_total *t, unsigned percent)
{
	size_t i = (t->n_times * percent + 99) / 100;

	return t->n_times ? n->times[t->first_time + (i ? i - 1 : 0)].ns : 0;
}

uint64_t net_sent(const struct net_total *t)
{
	return t->n_connections ? t->sent : t->requests_sent;
}

uint64_t net_received(const struct net_total *t)
{
	return t->n_connections ? t->received : t->requests_received;
}

/* ---- as text ---- */

static void print_total(const struct network_report *n, const struct net_total *t)
{
	const char *origin = trace_index_string(n->r->ix, t->origin), *name;
	int32_t pid;

	printf("%9s %7s %6s %7s", report_number(t->n).s, report_number(t->n_failed).s,
	       report_number(t->n_connections).s, report_number(t->n_retransmits).s);
	printf(" %9s %9s", report_bytes(net_sent(t)).s, report_bytes(net_received(t)).s);
	if (t->n_times)
		printf(" %9s %9s %9s", report_duration(net_percentile(n, t, 50)).s,
		       report_duration(net_percentile(n, t, 95)).s,
		       report_duration(net_percentile(n, t, 99)).s);
	else
		printf(" %9s %9s %9s", "-", "-", "-");
	name = net_process_name(n, t->process, &pid);
	printf("  %s [%d]", report_printable(name).s, pid);
	if (origin[0])
		printf(", %s", report_printable(origin).s);
	fputs("\n", stdout);
}

static int more_of_it(const void *pa, const void *pb)
{
	const struct net_total *a = pa, *b = pb;
	uint64_t bytes_a = net_sent(a) + net_received(a), bytes_b = net_sent(b) + net_received(b);

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	if (bytes_a != bytes_b)
		return bytes_a > bytes_b ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->origin < b->origin ? -1 : a->origin > b->origin;
}

/* They are sorted to the end. */
static bool has_nothing(const struct net_total *t)
{
	return t->n == 0 && net_sent(t) + net_received(t) == 0;
}

static void print_totals(const struct network_report *n)
{
	size_t n_told = n->n_origins;

	qsort(n->origins, n->n_origins, sizeof(*n->origins), more_of_it);
	printf("\n%9s %7s %6s %7s %9s %9s %9s %9s %9s  %s\n", "exchanges", "failed", "conns",
	       "resent", "sent", "received", "50%", "95%", "99%", "process, origin");
	while (n_told > 0 && has_nothing(&n->origins[n_told - 1]))
		n_told--;
	for (size_t i = 0; i < n_told && i < n->r->o->max_rows; i++)
		print_total(n, &n->origins[i]);
	if (n_told > n->r->o->max_rows)
		printf("%84s%zu more, see --top\n", "", n_told - n->r->o->max_rows);
	if (n_told < n->n_origins)
		printf("%84s%zu more without exchanges and bytes\n", "", n->n_origins - n_told);
}

static void print_level(const struct network_report *n)
{
	const struct trace_net_facts *f = trace_index_net_facts(n->r->ix);
	const char *query = trace_index_string(n->r->ix, f->query);
	const char *source = trace_index_string(n->r->ix, f->source);

	if (f->level == TRACE_NONE)
		return;
	printf("Network: %s", report_printable(trace_index_string(n->r->ix, f->level)).s);
	if (strcmp(trace_index_string(n->r->ix, f->level), "health") == 0)
		query = "";
	if (strcmp(query, "keep") == 0)
		printf(", URLs with their queries");
	else if (query[0])
		printf(", URLs without the values of their queries");
	if (strcmp(trace_index_string(n->r->ix, f->names), "hash") == 0)
		printf(", names hashed");
	printf("%s%s\n", strncmp(source, "on: ", 4) == 0 ? "; " : "",
	       strncmp(source, "on: ", 4) == 0 ? report_printable(source + 4).s : "");
}

static void print_text(const struct network_report *n)
{
	report_machine(n->r);
	print_level(n);
	report_lost(n->r);
	net_print_waterfall(n);
	print_totals(n);
}

static void complain(const struct network_report *n)
{
	const char *source = trace_index_string(n->r->ix, trace_index_net_facts(n->r->ix)->source);

	fprintf(stderr, "tracectl: %s has nothing of such a network%s", clean(n->r->o->file),
		strncmp(source, "off", 3) == 0 ? ": source net was " : "");
	fprintf(stderr, "%s\n", strncmp(source, "off", 3) == 0 ? clean(source) : "");
}

int report_network(struct report *r)
{
	struct network_report n = { .r = r };
	int error = build(&n);

	if (error == 0 && n.n_items == 0) {
		complain(&n);
		error = -ENOENT;
	}
	if (error == 0 && r->o->json)
		net_put_json(&n);
	else if (error == 0)
		print_text(&n);
	free(n.rows);
	free(n.times);
	free(n.processes);
	free(n.origins);
	hash_free(n.by_process);
	hash_free(n.by_origin);
	hash_free(n.understood);
	return error;
}
