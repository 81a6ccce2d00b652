/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.c - which CPUs there are, now. */
#include "cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

int cpus_online(bool *online)
{
	char text[4096];
	ssize_t n = io_read_file("/sys/devices/system/cpu/online", text, sizeof(text));

	if (n < 0)
		return (int)n;
	memset(online, 0, MAX_CPUS * sizeof(*online));
	return text_cpu_list(text, online, MAX_CPUS);
}

unsigned cpus_possible(void)
{
	bool set[MAX_CPUS] = { 0 };
	unsigned n = 0;
	char text[4096];

	if (io_read_file("/sys/devices/system/cpu/possible", text, sizeof(text)) < 0 ||
	    text_cpu_list(text, set, MAX_CPUS) < 0)
		return 1;
	for (unsigned i = 0; i < MAX_CPUS; i++)
		if (set[i])
			n = i + 1;
	return n;
}

uint64_t cpus_max_hz(void)
{
	char text[4096];
	const char *mhz;

	if (io_read_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text,
			 sizeof(text)) > 0)
		return strtoull(text, NULL, 10) * 1000;
	if (io_read_file("/proc/cpuinfo", text, sizeof(text)) < 0)
		return 0;
	mhz = strstr(text, "cpu MHz");
	mhz = mhz ? strchr(mhz, ':') : NULL;
	return mhz ? (uint64_t)(strtod(mhz + 1, NULL) * 1e6) : 0;
}
