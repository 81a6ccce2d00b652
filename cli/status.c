/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - `tracectl status`: what the daemon does, and what works on this machine. */
#include <getopt.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "client.h"
#include "command.h"
#include "json.h"
#include "probe_list.h"
#include "status_triggers.h"

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl status [--json]\n"
	      "\n"
	      "Tells about the daemon, its sessions, and every source: on, idle (works, nobody\n"
	      "wants it) or off, with the reason and the remedy. Without a daemon root gets the\n"
	      "sources from a private one.\n"
	      "\n"
	      "Exit status: 0, 1 no answer, 2 usage.\n",
	      out);
	return status;
}

struct source_list {
	size_t n;
	SourceStatus **at; /* a reply's */
};

/* ---- text ---- */

static void print_source(const SourceStatus *s)
{
	printf("  %-13s %-4s %s\n", clean(s->name), clean(s->state), clean(s->summary));
	if (s->why && s->why[0])
		printf("  %-18s %s\n", "", clean(s->why));
	if (s->produced)
		printf("  %-18s %" PRIu64 " events, %" PRIu64 " lost, %.0f ns each in BPF\n", "",
		       s->produced, s->lost, s->bpf_runs ? (double)s->bpf_ns / s->bpf_runs : 0.0);
}

/* The name that the user has on this machine; NULL: none. */
static const char *user_name(uint32_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return user ? user->pw_name : NULL;
}

static void print_session(const SessionStatus *s)
{
	const char *user = user_name(s->uid);
	bool samples = s->sampling && s->sampling[0];

	printf("  %-4u ", s->id);
	if (user)
		printf("%s", clean(user));
	else
		printf("uid %u", s->uid);
	printf(", pid %u, %.1f s: %s; %" PRIu64 " bytes, %" PRIu64 " events, %" PRIu64
	       " lost, %" PRIu64 " dropped\n%-6s",
	       s->pid, (double)s->elapsed_ns / 1e9, samples ? clean(s->sampling) : "no samples",
	       s->bytes, s->events, s->lost, s->dropped, "");
	for (size_t i = 0; i < s->n_sources; i++)
		printf(" %s", clean(s->sources[i]));
	putchar('\n');
}

static void print_flight(const FlightStatus *f)
{
	const SessionStatus *s = f->session;

	printf("flight recorder: ");
	if (!f->enabled) {
		puts("off");
		return;
	}
	if (!f->recording || !s) {
		printf("does not record: %s\n", clean(f->why));
		return;
	}
	printf("the last %.1f s, %.1f of %.1f MB, %s; %" PRIu64 " events, %" PRIu64
	       " lost; %" PRIu64 " snapshots\n%-6s",
	       (double)f->span_ns / 1e9, (double)f->held / 1e6, (double)f->size / 1e6,
	       s->sampling && s->sampling[0] ? clean(s->sampling) : "no samples", s->events,
	       s->lost + s->dropped, f->snapshots, "");
	for (size_t i = 0; i < s->n_sources; i++)
		printf(" %s", clean(s->sources[i]));
	putchar('\n');
}

static void print_status(const Status *st, const struct source_list *sources, const Probes *probes,
			 bool private)
{
	if (private)
		puts("no daemon is running; a private one was asked");
	else if (!st->has_n_clients) /* that is not for every user */
		printf("tracerd %s, pid %u, up %.0f s\n", clean(st->version), st->pid,
		       (double)st->uptime_ns / 1e9);
	else
		printf("tracerd %s, pid %u, up %.0f s, %u client%s, %.1f s of CPU, %" PRIu64
		       " MB of memory\n",
		       clean(st->version), st->pid, (double)st->uptime_ns / 1e9, st->n_clients,
		       st->n_clients == 1 ? "" : "s", (double)st->cpu_ns / 1e9,
		       st->rss_bytes / 1000000);
	if (st->notes && st->notes[0])
		printf("%s\n", clean(st->notes));
	if (st->n_symbol_files || st->n_worker_restarts)
		printf("symbols: %" PRIu64 " files, %" PRIu64
		       " unreadable, worker restarted %" PRIu64 " times\n",
		       st->n_symbol_files, st->n_symbol_files_failed, st->n_worker_restarts);
	if (st->n_unwind_tables)
		printf("unwind tables: %" PRIu64 " files, %" PRIu64 " rows, %" PRIu64
		       " MB; %" PRIu64 " files without one, %" PRIu64 " lack something, %" PRIu64
		       " did not fit\n",
		       st->n_unwind_tables, st->n_unwind_rows, st->unwind_bytes / 1000000,
		       st->n_unwind_failed, st->n_unwind_partial, st->n_unwind_no_room);
	if (st->n_python_processes || st->n_python_unknown)
		printf("python: %" PRIu64 " processes, %" PRIu64 " functions; %" PRIu64
		       " interpreters of a version that is not known, %" PRIu64
		       " frames without a name\n",
		       st->n_python_processes, st->n_python_functions, st->n_python_unknown,
		       st->n_python_unnamed);
	if (st->n_v8_processes || st->n_v8_unknown)
		printf("v8: %" PRIu64 " processes, %" PRIu64 " functions; %" PRIu64
		       " could not be read; %" PRIu64 " files of a version that is not known%s%s\n",
		       st->n_v8_processes, st->n_v8_functions, st->n_v8_missed, st->n_v8_unknown,
		       st->v8_unknown && st->v8_unknown[0] ? ": " : "",
		       st->v8_unknown ? clean(st->v8_unknown) : "");
	if (st->n_jit_files || st->n_jit_refused)
		printf("generated code: %" PRIu64 " perf maps, jitdump files and JVMs, %" PRIu64
		       " not read or not to the end; %" PRIu64 " names missing\n",
		       st->n_jit_files, st->n_jit_refused, st->n_jit_missed);
	puts("sources:");
	for (size_t i = 0; i < sources->n; i++)
		print_source(sources->at[i]);
	printf("sessions:%s\n", st->n_sessions ? "" : " none");
	for (size_t i = 0; i < st->n_sessions; i++)
		print_session(st->sessions[i]);
	if (st->flight && !private)
		print_flight(st->flight);
	status_print_triggers(st);
	if (probes && probes->n_probes)
		puts("probes:");
	if (probes)
		probe_list_print(probes->probes, probes->n_probes, false);
}

/* ---- JSON ---- */

static void json_source(struct json *j, const SourceStatus *s)
{
	json_object(j, NULL);
	json_string(j, "name", s->name);
	json_string(j, "summary", s->summary);
	json_string(j, "state", s->state);
	json_string(j, "why", s->why);
	json_bool(j, "by_default", s->by_default);
	json_u64(j, "produced", s->produced);
	json_u64(j, "lost", s->lost);
	json_u64(j, "delivered", s->delivered);
	json_u64(j, "malformed", s->malformed);
	json_u64(j, "bpf_runs", s->bpf_runs);
	json_u64(j, "bpf_ns", s->bpf_ns);
	json_end(j);
}

static void json_session(struct json *j, const SessionStatus *s)
{
	json_object(j, NULL);
	json_u64(j, "id", s->id);
	json_u64(j, "uid", s->uid);
	json_string(j, "user", user_name(s->uid));
	json_u64(j, "pid", s->pid);
	json_u64(j, "elapsed_ns", s->elapsed_ns);
	json_string(j, "sampling", s->sampling);
	json_u64(j, "bytes", s->bytes);
	json_u64(j, "events", s->events);
	json_u64(j, "lost", s->lost);
	json_u64(j, "dropped", s->dropped);
	json_array(j, "sources");
	for (size_t i = 0; i < s->n_sources; i++)
		json_string(j, NULL, s->sources[i]);
	json_end(j);
	json_end(j);
}

static void json_flight(struct json *j, const FlightStatus *f)
{
	const SessionStatus *s = f->session;

	json_object(j, "flight");
	json_bool(j, "enabled", f->enabled);
	json_bool(j, "recording", f->recording);
	json_string(j, "why", f->why);
	json_u64(j, "size", f->size);
	json_u64(j, "held", f->held);
	json_u64(j, "span_ns", f->span_ns);
	json_u64(j, "segments", f->segments);
	json_u64(j, "given_up", f->given_up);
	json_u64(j, "snapshots", f->snapshots);
	json_u64(j, "snapshot_bytes", f->snapshot_bytes);
	json_u64(j, "bytes", s ? s->bytes : 0);
	json_u64(j, "events", s ? s->events : 0);
	json_u64(j, "lost", s ? s->lost + s->dropped : 0);
	json_string(j, "sampling", s ? s->sampling : NULL);
	json_array(j, "sources");
	for (size_t i = 0; s && i < s->n_sources; i++)
		json_string(j, NULL, s->sources[i]);
	json_end(j);
	json_end(j);
}

static void json_status(const Status *st, const struct source_list *sources, const Probes *probes,
			bool private)
{
	struct json j = { .out = stdout };

	json_object(&j, NULL);
	json_bool(&j, "daemon_running", !private);
	json_string(&j, "version", st->version);
	json_u64(&j, "pid", st->pid);
	json_u64(&j, "uptime_ns", st->uptime_ns);
	json_u64(&j, "clients", st->n_clients);
	json_string(&j, "notes", st->notes);
	json_u64(&j, "processes", st->n_processes);
	json_u64(&j, "threads", st->n_threads);
	json_u64(&j, "mappings", st->n_mappings);
	json_u64(&j, "symbol_files", st->n_symbol_files);
	json_u64(&j, "symbol_files_failed", st->n_symbol_files_failed);
	json_u64(&j, "worker_restarts", st->n_worker_restarts);
	json_u64(&j, "unwind_tables", st->n_unwind_tables);
	json_u64(&j, "unwind_rows", st->n_unwind_rows);
	json_u64(&j, "unwind_bytes", st->unwind_bytes);
	json_u64(&j, "unwind_failed", st->n_unwind_failed);
	json_u64(&j, "unwind_partial", st->n_unwind_partial);
	json_u64(&j, "unwind_no_room", st->n_unwind_no_room);
	json_u64(&j, "python_processes", st->n_python_processes);
	json_u64(&j, "python_functions", st->n_python_functions);
	json_u64(&j, "python_unknown", st->n_python_unknown);
	json_u64(&j, "python_unnamed", st->n_python_unnamed);
	json_u64(&j, "v8_processes", st->n_v8_processes);
	json_u64(&j, "v8_functions", st->n_v8_functions);
	json_u64(&j, "v8_unknown", st->n_v8_unknown);
	json_u64(&j, "v8_missed", st->n_v8_missed);
	json_string(&j, "v8_why", st->v8_unknown);
	json_u64(&j, "jit_files", st->n_jit_files);
	json_u64(&j, "jit_refused", st->n_jit_refused);
	json_u64(&j, "jit_missed", st->n_jit_missed);
	json_u64(&j, "cpu_ns", st->cpu_ns);
	json_u64(&j, "rss_bytes", st->rss_bytes);
	json_array(&j, "sources");
	for (size_t i = 0; i < sources->n; i++)
		json_source(&j, sources->at[i]);
	json_end(&j);
	json_array(&j, "sessions");
	for (size_t i = 0; i < st->n_sessions; i++)
		json_session(&j, st->sessions[i]);
	json_end(&j);
	if (st->flight)
		json_flight(&j, st->flight);
	status_json_triggers(&j, st);
	if (probes)
		probe_list_json(&j, "probes", probes->probes, probes->n_probes);
	json_end(&j);
	putchar('\n');
}

/* ---- the command ---- */

static int ask_and_print(struct client *client, bool as_json)
{
	Request ask_status = REQUEST__INIT, ask_sources = REQUEST__INIT, ask_probes = REQUEST__INIT;
	StatusRequest status_request = STATUS_REQUEST__INIT;
	SourcesRequest sources_request = SOURCES_REQUEST__INIT;
	ProbeListRequest probes_request = PROBE_LIST_REQUEST__INIT;
	Reply *status = NULL, *tried = NULL, *probes = NULL;
	struct source_list list = { 0 };
	char err[512];
	int r;

	ask_sources.sources = &sources_request;
	ask_status.status = &status_request;
	ask_probes.probe_list = &probes_request;
	r = client_ask(client, &ask_status, &status, err, sizeof(err));
	/* While nobody records, sources that have never run are tried, to say what works. */
	if (r == 0 && status->status && status->status->n_sessions == 0 &&
	    !(status->status->flight && status->status->flight->recording))
		r = client_ask(client, &ask_sources, &tried, err, sizeof(err));
	/* Who may see nothing of others has no list of probes. */
	if (r == 0 && client_ask(client, &ask_probes, &probes, err, sizeof(err)) < 0)
		probes = NULL;
	if (r == 0 && status->status) {
		list.n = status->status->n_sources;
		list.at = status->status->sources;
		if (tried && tried->sources) {
			list.n = tried->sources->n_sources;
			list.at = tried->sources->sources;
		}
		if (as_json)
			json_status(status->status, &list, probes ? probes->probes : NULL,
				    client_is_private(client));
		else
			print_status(status->status, &list, probes ? probes->probes : NULL,
				     client_is_private(client));
	} else {
		fprintf(stderr, "tracectl: %s\n", r < 0 ? clean(err) : "tracerd answered wrongly");
		r = -1;
	}
	reply__free_unpacked(status, NULL);
	reply__free_unpacked(tried, NULL);
	reply__free_unpacked(probes, NULL);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct client *client;
	bool as_json = false;
	char err[512];
	int c, status;

	optind = 1;
	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, EXIT_OK);
		if (c != 'j')
			return usage(stderr, EXIT_USAGE);
		as_json = true;
	}
	if (optind < argc)
		return usage(stderr, EXIT_USAGE);
	if (client_open(&client, err, sizeof(err)) < 0) {
		fprintf(stderr, "tracectl: %s\n", clean(err));
		return EXIT_FAILED;
	}
	status = ask_and_print(client, as_json);
	client_close(client);
	return status;
}
