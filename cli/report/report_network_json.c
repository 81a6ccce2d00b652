/* SPDX-License-Identifier: Apache-2.0 */
/* report_network_json.c - the network's report for programs: everything, as one object. */
#include "json.h"
#include "report_network.h"

static const char *kind_name(enum trace_net_kind kind)
{
	static const char *const names[] = {
		[TRACE_NET_REQUEST] = "request",
		[TRACE_NET_TLS] = "tls",
		[TRACE_NET_LOOKUP] = "dns",
		[TRACE_NET_CONNECTION] = "connection",
		[TRACE_NET_FAILED] = "failed connect",
		[TRACE_NET_UNIX] = "unix",
		[TRACE_NET_UDP] = "udp",
	};

	return names[kind];
}

static void put_string(struct json *j, const struct network_report *n, const char *name, uint32_t s)
{
	if (s != TRACE_NONE)
		json_string(j, name, trace_index_string(n->r->ix, s));
}

static void put_args(struct json *j, const struct network_report *n, uint32_t first, uint32_t count)
{
	size_t n_all;
	const struct trace_net_arg *args = trace_index_net_args(n->r->ix, &n_all);

	json_object(j, "args");
	for (uint32_t i = first; i < first + count; i++) {
		const char *name = trace_index_string(n->r->ix, args[i].name);

		switch ((enum trace_arg_kind)args[i].kind) {
		case TRACE_ARG_TEXT:
			json_string(j, name, trace_index_string(n->r->ix, args[i].text));
			break;
		case TRACE_ARG_NUMBER:
			json_u64(j, name, args[i].number);
			break;
		case TRACE_ARG_SIGNED:
			json_i64(j, name, args[i].signed_number);
			break;
		case TRACE_ARG_BOOL:
			json_bool(j, name, args[i].number != 0);
			break;
		}
	}
	json_end(j);
}

static void put_process(struct json *j, const struct network_report *n, uint32_t process)
{
	int32_t pid;
	const char *name = net_process_name(n, process, &pid);

	if (pid < 0)
		return;
	json_u64(j, "pid", (uint64_t)pid);
	json_string(j, "process", name);
}

static void put_parts(struct json *j, const struct network_report *n, const struct trace_net *item,
		      bool marks)
{
	size_t n_all;
	const struct trace_net_part *parts = trace_index_net_parts(n->r->ix, &n_all);

	json_array(j, marks ? "events" : "phases");
	for (uint32_t i = item->first_part; i < item->first_part + item->n_parts; i++) {
		if (parts[i].is_mark != marks)
			continue;
		json_object(j, NULL);
		put_string(j, n, "name", parts[i].name);
		json_u64(j, marks ? "time_ns" : "begin_ns", parts[i].begin_ns);
		if (!marks)
			json_u64(j, "end_ns", parts[i].end_ns);
		if (parts[i].n_args)
			put_args(j, n, parts[i].first_arg, parts[i].n_args);
		json_end(j);
	}
	json_end(j);
}

static void put_item(struct json *j, const struct network_report *n, const struct trace_net *item)
{
	json_object(j, NULL);
	json_string(j, "kind", kind_name(item->kind));
	put_process(j, n, item->process);
	put_string(j, n, "origin", item->origin);
	put_string(j, n, "name", item->name);
	json_u64(j, "begin_ns", item->begin_ns);
	json_u64(j, "end_ns", item->end_ns);
	json_bool(j, "failed", net_is_failed(n, item));
	json_bool(j, "incomplete", net_is_open(n, item));
	put_args(j, n, item->first_arg, item->n_args);
	put_parts(j, n, item, false);
	put_parts(j, n, item, true);
	json_end(j);
}

static void put_total(struct json *j, const struct network_report *n, const struct net_total *t)
{
	json_object(j, NULL);
	put_process(j, n, t->process);
	put_string(j, n, "origin", t->origin);
	json_u64(j, "requests", t->n);
	json_u64(j, "failed", t->n_failed);
	json_u64(j, "incomplete", t->n_open);
	json_u64(j, "connections", t->n_connections);
	json_u64(j, "retransmits", t->n_retransmits);
	json_u64(j, "sent", net_sent(t));
	json_u64(j, "received", net_received(t));
	if (t->n_times) {
		json_u64(j, "latency_50_ns", net_percentile(n, t, 50));
		json_u64(j, "latency_95_ns", net_percentile(n, t, 95));
		json_u64(j, "latency_99_ns", net_percentile(n, t, 99));
		json_u64(j, "latency_max_ns", net_percentile(n, t, 100));
	}
	json_end(j);
}

void net_put_json(const struct network_report *n)
{
	const struct trace_net_facts *f = trace_index_net_facts(n->r->ix);
	struct json j = { .out = stdout };
	size_t n_items;
	const struct trace_net *items = trace_index_network(n->r->ix, &n_items);

	json_object(&j, NULL);
	json_string(&j, "file", n->r->o->file);
	put_string(&j, n, "level", f->level);
	put_string(&j, n, "query", f->query);
	put_string(&j, n, "names", f->names);
	json_u64(&j, "start_ns", trace_index_facts(n->r->ix)->start_ns);
	json_u64(&j, "from_ns", n->window.from_ns);
	json_u64(&j, "to_ns", n->window.to_ns);
	json_array(&j, "origins");
	for (size_t i = 0; i < n->n_origins; i++)
		put_total(&j, n, &n->origins[i]);
	json_end(&j);
	json_array(&j, "items");
	for (size_t i = 0; i < n_items; i++)
		if (net_is_meant(n, &items[i]))
			put_item(&j, n, &items[i]);
	json_end(&j);
	json_end(&j);
	fputs("\n", stdout);
}
