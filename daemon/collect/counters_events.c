/* SPDX-License-Identifier: Apache-2.0 */
/* counters_events.c - the layout of the counters collector's records, checked. */
#include "collect/counters_events.h"

#include <string.h>

size_t counters_record_size(unsigned type, size_t n)
{
	static const struct {
		size_t item_size, max;
	} types[] = {
		[COUNTERS_SYSTEM] = { sizeof(struct counters_value), COUNTERS_MAX_ITEMS },
		[COUNTERS_CPUS] = { sizeof(struct counters_cpu), COUNTERS_MAX_ITEMS },
		[COUNTERS_CPUFREQ] = { sizeof(uint32_t), COUNTERS_MAX_CPUFREQ },
		[COUNTERS_DISKS] = { sizeof(struct counters_disk), COUNTERS_MAX_ITEMS },
		[COUNTERS_IFACES] = { sizeof(struct counters_iface), COUNTERS_MAX_ITEMS },
		[COUNTERS_PROCESSES] = { sizeof(struct counters_process), COUNTERS_MAX_ITEMS },
	};

	if (type >= sizeof(types) / sizeof(types[0]) || !n || n > types[type].max)
		return 0;
	return offsetof(struct counters_record, items) + n * types[type].item_size;
}

/* A key that the trace's readers do not know counts as an error there. */
static bool value_valid(const struct counters_value *v)
{
	switch (v->kind) {
	case COUNTERS_MEMINFO:
		return v->key >= 1 && v->key <= COUNTERS_MEMINFO_MAX;
	case COUNTERS_VMSTAT:
		return v->key >= 1 && v->key <= COUNTERS_VMSTAT_MAX;
	case COUNTERS_PSI:
		return v->key >= 1 && v->key <= COUNTERS_PSI_MAX;
	case COUNTERS_FORKS:
	case COUNTERS_IRQS:
	case COUNTERS_SOFTIRQS:
		return v->key == 0;
	default:
		return false;
	}
}

static bool name_valid(const char *name, size_t size)
{
	return name[0] && memchr(name, 0, size);
}

bool counters_valid(const struct event_hdr *ev, size_t len)
{
	const struct counters_record *rec = (const struct counters_record *)ev;

	if (len < offsetof(struct counters_record, items) || ev->size != len || ev->stream ||
	    counters_record_size(ev->type, rec->n) != len)
		return false;
	for (size_t i = 0; i < rec->n; i++) {
		if (ev->type == COUNTERS_SYSTEM && !value_valid(&rec->items.values[i]))
			return false;
		if (ev->type == COUNTERS_DISKS &&
		    !name_valid(rec->items.disks[i].name, COUNTERS_DISK_LEN))
			return false;
		if (ev->type == COUNTERS_IFACES &&
		    !name_valid(rec->items.ifaces[i].name, COUNTERS_IFACE_LEN))
			return false;
	}
	return true;
}
