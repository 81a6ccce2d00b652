/* SPDX-License-Identifier: Apache-2.0 */
/* net_records.c - records of the network made by hand, and what becomes of them. */
#include "net_records.h"

#include <arpa/inet.h>
#include <check.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "net/net_encode.h"
#include "process/process_table_update.h"

#define MAX_NAMES 8192

struct net_records net;
struct net_read_slice *net_slices;
size_t net_n_slices;

/* ---- records ---- */

void net_records_open(void)
{
	struct encoder_env env = { .config = &net.config };

	memset(&net, 0, sizeof(net));
	written_open(&net.w);
	net.config.net_level = NET_WATERFALL;
	net.config.n_plaintext = 2;
	snprintf(net.config.plaintext[0], TRACE_PLAINTEXT_LEN, "pid:%d", CLIENT_PID);
	snprintf(net.config.plaintext[1], TRACE_PLAINTEXT_LEN, "comm:x*");
	net.start_ns = boot_ns();
	ck_assert_int_eq(process_table_new(NULL, &net.processes), 0);
	trace_writer_source(net.w.writer, WRITTEN_SOURCE, net.start_ns);
	env.start_ns = net.start_ns;
	env.writer = net.w.writer;
	env.processes = net.processes;
	ck_assert_int_eq(net_encoder_new(&env, &net.encoder), 0);
	net_slices = calloc(NET_MAX_SLICES, sizeof(*net_slices));
	ck_assert_ptr_nonnull(net_slices);
	net_n_slices = 0;
}

void net_records_close(void)
{
	net_encoder_free(net.encoder);
	process_table_free(net.processes);
	written_done(&net.w);
	free(net_slices);
}

void net_flush(uint64_t time)
{
	trace_writer_source(net.w.writer, WRITTEN_SOURCE, net.start_ns + time);
	ck_assert_int_eq(net_encoder_flush(net.encoder, net.start_ns + time, false), 0);
}

void net_drop_block(uint64_t time)
{
	net.w.refuse_bulk = true;
	net_flush(time);
	ck_assert_int_eq(trace_writer_flush(net.w.writer), 0);
	net.w.refuse_bulk = false;
}

void net_encode_record(const struct event_hdr *hdr)
{
	trace_writer_source(net.w.writer, WRITTEN_SOURCE, hdr->time_ns);
	ck_assert_int_eq(net_encode(net.encoder, hdr), 0);
	net.n_encoded += hdr->type != NET_SOCK;
}

void net_begin_process(uint32_t tgid, const char *comm, uint64_t time)
{
	struct task_info info = { .tid = tgid, .tgid = tgid };

	info.start_ns = info.process_start_ns = net.start_ns + time;
	snprintf(info.comm, sizeof(info.comm), "%s", comm);
	process_table_fork(net.processes, &info);
}

struct net_sock net_client(void)
{
	struct net_sock s = {
		.cookie = COOKIE,
		.netns = 4026531840u,
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.role = NET_ROLE_CLIENT,
	};

	inet_pton(AF_INET, "10.0.0.1", s.inet.local);
	inet_pton(AF_INET, "10.0.0.2", s.inet.peer);
	s.inet.local_port = 40000;
	s.inet.peer_port = 80;
	s.inet.pair = 12345;
	return s;
}

struct net_sock net_server(void)
{
	struct net_sock s = net_client();

	s.cookie = SERVER;
	s.role = NET_ROLE_SERVER;
	inet_pton(AF_INET, "10.0.0.2", s.inet.local);
	inet_pton(AF_INET, "10.0.0.1", s.inet.peer);
	s.inet.local_port = 80;
	s.inet.peer_port = 40000;
	return s;
}

static void set_owner(struct event_hdr *hdr, uint8_t role)
{
	hdr->tgid = role == NET_ROLE_SERVER ? SERVER_PID : CLIENT_PID;
	hdr->tid = hdr->tgid + 1;
}

struct net_tcp_event net_tcp(struct net_sock sock, uint64_t time, enum net_tcp_kind kind)
{
	struct net_tcp_event ev = { .sock = sock, .kind = (uint8_t)kind };

	ev.hdr.time_ns = net.start_ns + time;
	ev.hdr.type = NET_TCP;
	ev.hdr.size = sizeof(ev);
	set_owner(&ev.hdr, sock.role);
	return ev;
}

void net_state(struct net_sock sock, uint64_t time, int old_state, int new_state)
{
	struct net_tcp_event ev = net_tcp(sock, time, NET_TCP_STATE);

	ev.old_state = (uint8_t)old_state;
	ev.new_state = (uint8_t)new_state;
	net_encode_record(&ev.hdr);
}

void net_connect(struct net_sock sock)
{
	net_state(sock, 1 * MS, TCP_CLOSE, TCP_SYN_SENT);
	net_state(sock, 2 * MS, TCP_SYN_SENT, TCP_ESTABLISHED);
}

void net_accept(struct net_sock sock, uint64_t time)
{
	net_state(sock, time, TCP_SYN_RECV, TCP_ESTABLISHED);
}

void net_close(struct net_sock sock, uint64_t time)
{
	net_state(sock, time, TCP_ESTABLISHED, TCP_FIN_WAIT1);
	net_state(sock, time + 1 * MS, TCP_FIN_WAIT1, TCP_CLOSE);
}

static void fill_plain(const struct net_io *io, const struct net_io_event *ev)
{
	static struct net_plain_event plain;

	memset(&plain, 0, sizeof(plain));
	plain.hdr = ev->hdr;
	plain.hdr.type = NET_PLAIN;
	plain.sock = io->sock;
	plain.off = ev->off;
	plain.len = ev->len;
	plain.flags = ev->flags;
	plain.protocol = ev->protocol;
	plain.n_runs = ev->n_runs;
	plain.link = io->sock.cookie ? NET_LINK_NESTED : NET_LINK_NONE;
	plain.stream = io->stream;
	memcpy(plain.data, ev->data, sizeof(ev->data));
	net_encode_record(&plain.hdr);
}

void net_io(struct net_io io)
{
	static struct net_io_event ev;
	struct net_run run = { .at = 0 };

	memset(&ev, 0, sizeof(ev));
	run.len = io.text ? (uint32_t)strlen(io.text) : 0;
	ev.hdr.time_ns = net.start_ns + io.time;
	ev.hdr.type = NET_IO;
	ev.hdr.size = sizeof(ev);
	set_owner(&ev.hdr, io.sock.role);
	if (io.tgid) {
		ev.hdr.tgid = io.tgid;
		ev.hdr.tid = io.tid;
	}
	ev.sock = io.sock;
	ev.off = io.off;
	ev.len = io.is_over ? 0 : io.len ? io.len : run.len;
	ev.fd = 5;
	ev.flags = (uint8_t)(io.flags | (io.sent ? NET_SENT : 0));
	ev.protocol = io.protocol ? io.protocol : NET_PROTOCOL_HTTP1;
	if (run.len) {
		ev.n_runs = 1;
		memcpy(ev.data, &run, sizeof(run));
		memcpy(ev.data + sizeof(run), io.text, run.len);
	}
	if (io.stream)
		fill_plain(&io, &ev);
	else
		net_encode_record(&ev.hdr);
}

/* ---- reading back ---- */

struct names {
	char text[MAX_NAMES][320];
};

static struct names event_names, categories, arg_names, arg_texts;

static void learn(struct names *names, uint64_t iid, const char *name)
{
	ck_assert_uint_lt(iid, MAX_NAMES);
	snprintf(names->text[iid], sizeof(names->text[iid]), "%s", name);
}

static const char *known(const struct names *names, uint64_t iid)
{
	ck_assert_uint_lt(iid, MAX_NAMES);
	ck_assert_msg(names->text[iid][0], "name %" PRIu64 " was not interned", iid);
	return names->text[iid];
}

static void read_names(const InternedData *in)
{
	for (size_t i = 0; i < in->n_event_names; i++)
		learn(&event_names, in->event_names[i]->iid, in->event_names[i]->name);
	for (size_t i = 0; i < in->n_event_categories; i++)
		learn(&categories, in->event_categories[i]->iid, in->event_categories[i]->name);
	for (size_t i = 0; i < in->n_debug_annotation_names; i++)
		learn(&arg_names, in->debug_annotation_names[i]->iid,
		      in->debug_annotation_names[i]->name);
	for (size_t i = 0; i < in->n_debug_annotation_string_values; i++) {
		const InternedString *text = in->debug_annotation_string_values[i];
		char clear[320];

		snprintf(clear, sizeof(clear), "%.*s", (int)text->str.len, text->str.data);
		learn(&arg_texts, text->iid, clear);
	}
}

static void read_args(const TrackEvent *te, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < te->n_debug_annotations; i++) {
		const DebugAnnotation *a = te->debug_annotations[i];

		len += (size_t)snprintf(out + len, size - len, "%s%s=", i ? "\n" : "",
					known(&arg_names, a->name_iid));
		if (a->string_value)
			len += (size_t)snprintf(out + len, size - len, "%s", a->string_value);
		else if (a->has_string_value_iid)
			len += (size_t)snprintf(out + len, size - len, "%s",
						known(&arg_texts, a->string_value_iid));
		else if (a->has_bool_value)
			len += (size_t)snprintf(out + len, size - len, "%s",
						a->bool_value ? "true" : "false");
		else
			len += (size_t)snprintf(out + len, size - len, "%" PRIu64, a->uint_value);
		ck_assert_uint_lt(len, size);
	}
}

static void track_path(uint64_t uuid, char *out, size_t size)
{
	const TrackDescriptor *d = written_track(&net.w, uuid);
	size_t len = 0;

	ck_assert_msg(d, "a track was not described");
	if (d->parent_uuid) {
		track_path(d->parent_uuid, out, size);
		len = strlen(out);
		len += (size_t)snprintf(out + len, size - len, "/");
	}
	if (d->thread)
		snprintf(out + len, size - len, "%d/%" PRId64, d->thread->pid,
			 (int64_t)d->thread->tid);
	else if (d->process)
		snprintf(out + len, size - len, "%d", d->process->pid);
	else
		snprintf(out + len, size - len, "%s", d->name);
}

static struct net_read_slice *slice_add(const TracePacket *pkt)
{
	const TrackEvent *te = pkt->track_event;
	struct net_read_slice *s = &net_slices[net_n_slices++];

	ck_assert_uint_le(net_n_slices, NET_MAX_SLICES);
	snprintf(s->name, sizeof(s->name), "%s", known(&event_names, te->name_iid));
	if (te->n_category_iids)
		snprintf(s->category, sizeof(s->category), "%s",
			 known(&categories, te->category_iids[0]));
	read_args(te, s->args, sizeof(s->args));
	track_path(te->track_uuid, s->track, sizeof(s->track));
	s->uuid = te->track_uuid;
	s->begin = s->end = pkt->timestamp - net.start_ns;
	for (size_t i = 0; i < te->n_flow_ids && i < 4; i++)
		s->flows[s->n_flows++] = te->flow_ids[i];
	s->callstack_iid = te->callstack_iid;
	s->correlation_id = te->correlation_id;
	return s;
}

static void read_event(const TracePacket *pkt)
{
	static struct net_read_slice *open[8];
	static size_t depth;

	switch (pkt->track_event->type) {
	case 1:
		ck_assert_uint_lt(depth, 8);
		open[depth++] = slice_add(pkt);
		break;
	case 2: /* what lies within a slice is written within it, nothing else is */
		ck_assert_uint_gt(depth, 0);
		depth--;
		ck_assert_uint_eq(open[depth]->uuid, pkt->track_event->track_uuid);
		open[depth]->end = pkt->timestamp - net.start_ns;
		break;
	case 3:
		slice_add(pkt)->is_instant = true;
		break;
	default:
		break;
	}
}

void net_finish(uint64_t time)
{
	uint64_t end_ns = net.start_ns + time;

	trace_writer_source(net.w.writer, WRITTEN_SOURCE, end_ns);
	ck_assert_int_eq(net_encoder_flush(net.encoder, end_ns, true), 0);
	written_read(&net.w);
	written_assert_good(&net.w);
	written_assert_account(&net.w, net.n_encoded);
	for (size_t i = 0; i < net.w.n; i++) {
		const TracePacket *pkt = net.w.packets[i];

		if (pkt->trusted_packet_sequence_id != SEQ_EVENTS)
			continue;
		if (pkt->interned_data)
			read_names(pkt->interned_data);
		if (pkt->track_event)
			read_event(pkt);
	}
}

const struct net_read_slice *net_find_nth(const char *name, size_t n)
{
	for (size_t i = 0; i < net_n_slices; i++)
		if (strcmp(net_slices[i].name, name) == 0 && n-- == 0)
			return &net_slices[i];
	return NULL;
}

const struct net_read_slice *net_slice_named(const char *name)
{
	const struct net_read_slice *s = net_find_nth(name, 0);

	ck_assert_msg(s, "there is no \"%s\"", name);
	ck_assert_msg(!net_find_nth(name, 1), "there are several \"%s\"", name);
	return s;
}

const char *net_arg_of(const struct net_read_slice *s, const char *name)
{
	static char value[512];
	size_t len = strlen(name);

	for (const char *at = s->args; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && at[len] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + len + 1, "\n"),
				 at + len + 1);
			return value;
		}
	}
	return "";
}

const char *net_phases_of(const struct net_read_slice *s)
{
	static char text[512];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < net_n_slices; i++) {
		const struct net_read_slice *p = &net_slices[i];

		if (p == s || p->is_instant || p->uuid != s->uuid || p->begin < s->begin ||
		    p->end > s->end)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %" PRIu64 "-%" PRIu64,
					len ? ", " : "", p->name, p->begin / US, p->end / US);
		ck_assert_uint_lt(len, sizeof(text));
	}
	return text;
}

size_t net_count_flow(uint64_t id)
{
	size_t n = 0;

	for (size_t i = 0; i < net_n_slices; i++)
		for (size_t k = 0; k < net_slices[i].n_flows; k++)
			n += net_slices[i].flows[k] == id;
	return n;
}
