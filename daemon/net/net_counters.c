/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_counters.c - how many bytes each process has sent and received since the
 * recording began, as counters on its track.
 */
#include <errno.h>

#include "clock.h"
#include "net_encode_impl.h"

/* Not more often than that, per process. */
#define INTERVAL_NS (10 * NS_PER_MS)

static int write_one(struct net_encoder *enc, const struct net_process *p, const char *name,
		     uint64_t *uuid, uint64_t time_ns, uint64_t value)
{
	const struct trace_track track = {
		.name = name,
		.parent = p->track,
		.is_counter = true,
		.unit = "bytes",
		.description = "since the recording began",
	};

	if (!trace_track_known(enc->env.writer, *uuid))
		*uuid = trace_track(enc->env.writer, &track);
	return *uuid ? trace_counter(enc->env.writer, *uuid, time_ns, (int64_t)value) : -ENOMEM;
}

static int write_counters(struct net_encoder *enc, struct net_process *p, uint64_t time_ns)
{
	int r = write_one(enc, p, "net sent", &p->counter_sent, time_ns, p->sent);

	p->counted_ns = time_ns;
	p->is_counted = true;
	return r < 0 ? r
		     : write_one(enc, p, "net received", &p->counter_received, time_ns,
				 p->received);
}

int net_count(struct net_encoder *enc, uint32_t tgid, uint64_t time_ns, uint64_t sent,
	      uint64_t received)
{
	struct net_process *p;

	if (tgid == 0 || sent + received == 0)
		return 0;
	/* An older connection may have been written since the record came. */
	trace_writer_time(enc->env.writer, time_ns);
	p = net_process(enc, tgid);
	if (!p)
		return -ENOMEM;
	p->sent += sent;
	p->received += received;
	p->is_counted = false;
	return time_ns < p->counted_ns + INTERVAL_NS ? 0 : write_counters(enc, p, time_ns);
}

int net_counters_flush(struct net_encoder *enc, uint64_t now_ns)
{
	size_t pos = 0;
	void *value;
	int r = 0;

	while (r == 0 && hash_next(enc->processes, &pos, NULL, NULL, &value)) {
		struct net_process *p = value;

		if (!p->is_counted && p->sent + p->received)
			r = write_counters(enc, p, now_ns);
	}
	return r;
}
