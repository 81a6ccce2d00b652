/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_psi.c - reads /proc/pressure. */
#include "trigger/trigger_psi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io.h"

#define MAX_FILE 4096

static int parse_total(const char *text, uint64_t *ret)
{
	const char *total = strncmp(text, "some ", 5) == 0 ? strstr(text, " total=") : NULL;

	return total && sscanf(total, " total=%" SCNu64, ret) == 1 ? 0 : -ENOTSUP;
}

int trigger_psi_read(const struct trigger_psi *psi, enum trigger_resource resource,
		     uint64_t *ret_us)
{
	struct buf text = { 0 };
	char path[256];
	int r;

	snprintf(path, sizeof(path), "%s/%s", psi->dir, trigger_resource_name(resource));
	r = io_read_all(path, MAX_FILE, &text);
	if (r == 0)
		r = buf_append(&text, "", 1);
	if (r == 0)
		r = parse_total((const char *)text.data, ret_us);
	else if (r != -ENOMEM)
		r = -ENOTSUP; /* psi=0 makes it unreadable */
	buf_done(&text);
	return r;
}

int trigger_psi_poll(struct trigger_psi *psi, enum trigger_resource resource, uint64_t now_ns,
		     double *ret)
{
	unsigned at = psi->n[resource]++ % TRIGGER_PSI_TIMES, first;
	uint64_t us, stalled_us, ns;
	int r = trigger_psi_read(psi, resource, &us);

	if (r < 0) {
		trigger_psi_reset(psi, resource);
		return r;
	}
	psi->readings[resource][at].time_ns = now_ns;
	psi->readings[resource][at].stalled_us = us;
	if (psi->n[resource] < TRIGGER_PSI_TIMES)
		return -EAGAIN;
	first = (at + 1) % TRIGGER_PSI_TIMES;
	ns = now_ns - psi->readings[resource][first].time_ns;
	stalled_us = us - psi->readings[resource][first].stalled_us;
	if (ns == 0)
		return -EAGAIN;
	*ret = (double)stalled_us * 1000 * 100 / (double)ns;
	return 0;
}

void trigger_psi_reset(struct trigger_psi *psi, enum trigger_resource resource)
{
	psi->n[resource] = 0;
}
