/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the text of /proc's files. */
#include <stdint.h>
#include <string.h>

#include "collect/counters_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_cpu(void *ctx, const struct counters_cpu *cpu)
{
	(void)ctx;
	return cpu->times[CPU_USER] == 7;
}

/* A name is ended within its array. */
static void check_name(const char *name, size_t size)
{
	if (!name[0] || !memchr(name, 0, size))
		__builtin_trap();
}

static int take_disk(void *ctx, const struct counters_disk *disk)
{
	(void)ctx;
	check_name(disk->name, sizeof(disk->name));
	return 0;
}

static int take_iface(void *ctx, const struct counters_iface *iface)
{
	(void)ctx;
	check_name(iface->name, sizeof(iface->name));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct counters_values values = { 0 };
	struct counters_process process;
	struct counters_pid_stat stat;
	int64_t number;

	counters_parse_meminfo(text, size, &values);
	counters_parse_vmstat(text, size, &values);
	counters_parse_stat(text, size, &values);
	counters_parse_pressure(text, size, 1, &values);
	if (values.n > COUNTERS_MAX_ITEMS)
		__builtin_trap();
	counters_parse_cpus(text, size, take_cpu, NULL);
	counters_parse_disks(text, size, take_disk, NULL);
	counters_parse_ifaces(text, size, take_iface, NULL);
	(void)counters_parse_pid_stat(text, size, &stat);
	(void)counters_parse_pid_status(text, size, &process);
	(void)counters_parse_number(text, size, &number);
	return 0;
}
