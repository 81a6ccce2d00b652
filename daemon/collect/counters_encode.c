/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_encode.c - counters as SysStats, ProcessStats and, for network
 * interfaces, as counter tracks of rates.
 *
 * The machine is polled as often as the most eager session wants; each session
 * takes the polls that its own interval asks for and leaves out the others.
 */
#include "collect/counters_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/counters_events.h"
#include "process/process_table.h"
#include "text.h"
#include "trace_writer.h"

#define MAX_IFACES 256 /* of one trace; beyond that nobody finds anything */

struct iface_rate {
	struct counters_iface last;
	uint64_t time_ns;
	uint64_t rx_track, tx_track; /* 0: has been idle all the time */
};

struct counters_encoder {
	struct encoder_env env;
	uint64_t interval_ns;
	uint64_t poll_ns, taken_ns; /* time of the last poll, and of the last one taken */
	uint64_t next_ns;	    /* when the next one is due */
	bool meminfo_used[COUNTERS_MEMINFO_MAX + 1], vmstat_used[COUNTERS_VMSTAT_MAX + 1];
	struct iface_rate ifaces[MAX_IFACES];
	size_t n_ifaces;
};

int counters_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct counters_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	enc->interval_ns = env->config->counters_interval_ms * NS_PER_MS;
	*ret_encoder = enc;
	return 0;
}

void counters_encoder_free(void *encoder)
{
	free(encoder);
}

static int put(struct counters_encoder *enc, uint64_t time_ns, SysStats *stats, ProcessStats *ps)
{
	TracePacket pkt = TRACE_PACKET__INIT;

	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.sys_stats = stats;
	pkt.process_stats = ps;
	return trace_writer_put(enc->env.writer, SEQ_COUNTERS, &pkt, 1);
}

/* What has been zero all the time, like swap without a swap device, gets no row in the UI. */
static bool is_used(struct counters_encoder *enc, const struct counters_value *v)
{
	bool *used;

	if (v->kind == COUNTERS_MEMINFO)
		used = &enc->meminfo_used[v->key];
	else if (v->kind == COUNTERS_VMSTAT)
		used = &enc->vmstat_used[v->key];
	else
		return true;
	*used |= v->value != 0;
	return *used;
}

static int encode_system(struct counters_encoder *enc, const struct counters_record *rec)
{
	SysStats__MeminfoValue meminfo[COUNTERS_MAX_ITEMS], *p_meminfo[COUNTERS_MAX_ITEMS];
	SysStats__VmstatValue vmstat[COUNTERS_MAX_ITEMS], *p_vmstat[COUNTERS_MAX_ITEMS];
	SysStats__PsiSample psi[COUNTERS_MAX_ITEMS], *p_psi[COUNTERS_MAX_ITEMS];
	SysStats stats = SYS_STATS__INIT;

	stats.meminfo = p_meminfo;
	stats.vmstat = p_vmstat;
	stats.psi = p_psi;
	for (size_t i = 0; i < rec->n; i++) {
		const struct counters_value *v = &rec->items.values[i];
		size_t n;

		if (!is_used(enc, v))
			continue;
		switch (v->kind) {
		case COUNTERS_MEMINFO:
			n = stats.n_meminfo++;
			p_meminfo[n] = &meminfo[n];
			sys_stats__meminfo_value__init(p_meminfo[n]);
			meminfo[n].has_key = meminfo[n].has_value = 1;
			meminfo[n].key = v->key;
			meminfo[n].value = v->value;
			break;
		case COUNTERS_VMSTAT:
			n = stats.n_vmstat++;
			p_vmstat[n] = &vmstat[n];
			sys_stats__vmstat_value__init(p_vmstat[n]);
			vmstat[n].has_key = vmstat[n].has_value = 1;
			vmstat[n].key = v->key;
			vmstat[n].value = v->value;
			break;
		case COUNTERS_PSI:
			n = stats.n_psi++;
			p_psi[n] = &psi[n];
			sys_stats__psi_sample__init(p_psi[n]);
			psi[n].has_resource = psi[n].has_total_ns = 1;
			psi[n].resource = v->key;
			psi[n].total_ns = v->value;
			break;
		case COUNTERS_FORKS:
			stats.has_num_forks = 1;
			stats.num_forks = v->value;
			break;
		case COUNTERS_IRQS:
			stats.has_num_irq_total = 1;
			stats.num_irq_total = v->value;
			break;
		case COUNTERS_SOFTIRQS:
			stats.has_num_softirq_total = 1;
			stats.num_softirq_total = v->value;
			break;
		}
	}
	return put(enc, rec->hdr.time_ns, &stats, NULL);
}

static int encode_cpus(struct counters_encoder *enc, const struct counters_record *rec)
{
	SysStats__CpuTimes cpus[COUNTERS_MAX_ITEMS], *ptrs[COUNTERS_MAX_ITEMS];
	SysStats stats = SYS_STATS__INIT;

	for (size_t i = 0; i < rec->n; i++) {
		const uint64_t *times = rec->items.cpus[i].times;
		SysStats__CpuTimes *cpu = ptrs[i] = &cpus[i];

		sys_stats__cpu_times__init(cpu);
		cpu->has_cpu_id = 1;
		cpu->cpu_id = rec->items.cpus[i].cpu;
		cpu->has_user_ns = cpu->has_user_nice_ns = cpu->has_system_mode_ns = 1;
		cpu->has_idle_ns = cpu->has_io_wait_ns = cpu->has_irq_ns = 1;
		cpu->has_softirq_ns = cpu->has_steal_ns = 1;
		cpu->user_ns = times[CPU_USER];
		cpu->user_nice_ns = times[CPU_NICE];
		cpu->system_mode_ns = times[CPU_SYSTEM];
		cpu->idle_ns = times[CPU_IDLE];
		cpu->io_wait_ns = times[CPU_IOWAIT];
		cpu->irq_ns = times[CPU_IRQ];
		cpu->softirq_ns = times[CPU_SOFTIRQ];
		cpu->steal_ns = times[CPU_STEAL];
	}
	stats.n_cpu_stat = rec->n;
	stats.cpu_stat = ptrs;
	return put(enc, rec->hdr.time_ns, &stats, NULL);
}

static int encode_cpufreq(struct counters_encoder *enc, const struct counters_record *rec)
{
	SysStats stats = SYS_STATS__INIT;

	stats.n_cpufreq_khz = rec->n;
	stats.cpufreq_khz = (uint32_t *)rec->items.khz;
	return put(enc, rec->hdr.time_ns, &stats, NULL);
}

static int encode_disks(struct counters_encoder *enc, const struct counters_record *rec)
{
	SysStats__DiskStat disks[COUNTERS_MAX_ITEMS], *ptrs[COUNTERS_MAX_ITEMS];
	char names[COUNTERS_MAX_ITEMS][3 * COUNTERS_DISK_LEN];
	SysStats stats = SYS_STATS__INIT;

	for (size_t i = 0; i < rec->n; i++) {
		const struct counters_disk *d = &rec->items.disks[i];
		SysStats__DiskStat *disk = ptrs[i] = &disks[i];

		sys_stats__disk_stat__init(disk);
		text_utf8(names[i], sizeof(names[i]), d->name, strlen(d->name));
		disk->device_name = names[i];
		disk->has_read_sectors = disk->has_read_time_ms = 1;
		disk->has_write_sectors = disk->has_write_time_ms = 1;
		disk->read_sectors = d->read_sectors;
		disk->read_time_ms = d->read_ms;
		disk->write_sectors = d->write_sectors;
		disk->write_time_ms = d->write_ms;
	}
	stats.n_disk_stat = rec->n;
	stats.disk_stat = ptrs;
	return put(enc, rec->hdr.time_ns, &stats, NULL);
}

/* ---- processes ---- */

/*
 * Only of what the trace knows as alive at that time: the UI would make a
 * second process without a name of anything else.
 */
static bool is_known(const struct counters_encoder *enc, uint32_t tgid, uint64_t time_ns)
{
	const struct process *p = process_table_get(enc->env.processes, tgid);

	return p && p->start_ns <= time_ns && (!p->free_ns || p->free_ns > time_ns);
}

static int encode_processes(struct counters_encoder *enc, const struct counters_record *rec)
{
	ProcessStats__Process processes[COUNTERS_MAX_ITEMS], *ptrs[COUNTERS_MAX_ITEMS];
	ProcessStats stats = PROCESS_STATS__INIT;

	for (size_t i = 0; i < rec->n; i++) {
		const struct counters_process *p = &rec->items.processes[i];
		ProcessStats__Process *process = &processes[stats.n_processes];

		if (!is_known(enc, p->tgid, rec->hdr.time_ns))
			continue;
		ptrs[stats.n_processes++] = process;
		process_stats__process__init(process);
		process->has_pid = process->has_vm_size_kb = process->has_vm_rss_kb = 1;
		process->has_rss_anon_kb = process->has_rss_file_kb = process->has_rss_shmem_kb = 1;
		process->has_vm_swap_kb = process->has_vm_hwm_kb = process->has_oom_score_adj = 1;
		process->pid = (int32_t)p->tgid;
		process->vm_size_kb = p->vm_size_kb;
		process->vm_rss_kb = p->rss_kb;
		process->rss_anon_kb = p->anon_kb;
		process->rss_file_kb = p->file_kb;
		process->rss_shmem_kb = p->shmem_kb;
		process->vm_swap_kb = p->swap_kb;
		process->vm_hwm_kb = p->hwm_kb;
		process->oom_score_adj = p->oom_score_adj;
	}
	if (!stats.n_processes) {
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	stats.processes = ptrs;
	return put(enc, rec->hdr.time_ns, NULL, &stats);
}

/* ---- network interfaces ---- */

static uint64_t rate_track(struct trace_writer *w, const char *iface, const char *what)
{
	const struct trace_track group = { .name = "Network interfaces" };
	struct trace_track track = { .is_counter = true, .unit = "bytes/s" };
	char name[COUNTERS_IFACE_LEN + 16];

	snprintf(name, sizeof(name), "%s %s", iface, what);
	track.name = name;
	track.parent = trace_track(w, &group);
	return track.parent ? trace_track(w, &track) : 0;
}

static int put_rate(struct counters_encoder *enc, uint64_t time_ns, uint64_t track, uint64_t rate,
		    unsigned n_events)
{
	return trace_counter_event(enc->env.writer, track, time_ns, false, rate, n_events);
}

/* A counter that went back began anew: with a device of the same name, say. */
static uint64_t rate_of(uint64_t last, uint64_t now, uint64_t dur_ns)
{
	uint64_t rate;

	if (now <= last || !dur_ns)
		return 0;
	rate = (uint64_t)((double)(now - last) * NS_PER_SEC / (double)dur_ns);
	return rate < INT64_MAX ? rate : INT64_MAX;
}

/* The interface's place; NULL: there are too many. */
static struct iface_rate *find_iface(struct counters_encoder *enc,
				     const struct counters_iface *iface)
{
	struct iface_rate *e;

	for (size_t i = 0; i < enc->n_ifaces; i++)
		if (!strcmp(enc->ifaces[i].last.name, iface->name))
			return &enc->ifaces[i];
	if (enc->n_ifaces == MAX_IFACES)
		return NULL;
	e = &enc->ifaces[enc->n_ifaces++];
	memset(e, 0, sizeof(*e));
	return e;
}

/* What has gone does not go on at its last rate. */
static int end_gone_ifaces(struct counters_encoder *enc, uint64_t last_poll_ns, uint64_t time_ns)
{
	for (size_t i = 0; i < enc->n_ifaces;) {
		struct iface_rate *e = &enc->ifaces[i];
		int r = 0;

		if (e->time_ns >= last_poll_ns) {
			i++;
			continue;
		}
		if (e->rx_track) {
			r = put_rate(enc, time_ns, e->rx_track, 0, 0);
			if (r == 0)
				r = put_rate(enc, time_ns, e->tx_track, 0, 0);
		}
		*e = enc->ifaces[--enc->n_ifaces];
		if (r < 0)
			return r;
	}
	return 0;
}

static int encode_ifaces(struct counters_encoder *enc, const struct counters_record *rec)
{
	uint64_t time_ns = rec->hdr.time_ns;
	struct trace_writer *w = enc->env.writer;
	bool written = false;

	for (size_t i = 0; i < rec->n; i++) {
		const struct counters_iface *iface = &rec->items.ifaces[i];
		struct iface_rate *e = find_iface(enc, iface);
		uint64_t rx, tx;
		int r;

		if (!e)
			continue;
		rx = e->time_ns ? rate_of(e->last.rx_bytes, iface->rx_bytes, time_ns - e->time_ns)
				: 0;
		tx = e->time_ns ? rate_of(e->last.tx_bytes, iface->tx_bytes, time_ns - e->time_ns)
				: 0;
		if (!e->rx_track && (rx || tx)) {
			e->rx_track = rate_track(w, iface->name, "received");
			e->tx_track = rate_track(w, iface->name, "sent");
			if (!e->rx_track || !e->tx_track)
				return -ENOMEM;
		}
		e->last = *iface;
		e->time_ns = time_ns;
		if (!e->rx_track)
			continue;
		r = put_rate(enc, time_ns, e->rx_track, rx, 0);
		if (r == 0)
			r = put_rate(enc, time_ns, e->tx_track, tx, !written);
		if (r < 0)
			return r;
		written = true;
	}
	if (!written)
		trace_writer_skip(w, 1);
	return 0;
}

/* ---- all ---- */

/* A new poll: is it one for this session? Timers come a little early or late. */
static int begin_poll(struct counters_encoder *enc, uint64_t time_ns)
{
	uint64_t last_ns = enc->taken_ns;

	enc->poll_ns = time_ns;
	if (last_ns && time_ns + enc->interval_ns / 4 < enc->next_ns)
		return 0;
	enc->taken_ns = time_ns;
	enc->next_ns += enc->interval_ns;
	if (enc->next_ns < time_ns + enc->interval_ns / 2)
		enc->next_ns = time_ns + enc->interval_ns;
	return end_gone_ifaces(enc, last_ns, time_ns);
}

int counters_encode(void *encoder, const struct event_hdr *ev)
{
	static int (*const encode[])(struct counters_encoder *, const struct counters_record *) = {
		[COUNTERS_SYSTEM] = encode_system,   [COUNTERS_CPUS] = encode_cpus,
		[COUNTERS_CPUFREQ] = encode_cpufreq, [COUNTERS_DISKS] = encode_disks,
		[COUNTERS_IFACES] = encode_ifaces,   [COUNTERS_PROCESSES] = encode_processes,
	};
	struct counters_encoder *enc = encoder;

	if (ev->time_ns != enc->poll_ns) {
		int r = begin_poll(enc, ev->time_ns);

		if (r < 0)
			return r;
	}
	if (ev->time_ns != enc->taken_ns) {
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	return encode[ev->type](enc, (const struct counters_record *)ev);
}
