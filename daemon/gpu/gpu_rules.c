/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_rules.c - the table of ioctls as the kernel's half needs it. */
#include "gpu_rules.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

/* UVM's only numbers beyond a byte get the last two of its slot. */
uint32_t gpu_rule_key(unsigned slot, uint32_t nr)
{
	if (nr == 0x30000001 || nr == 0x30000002)
		nr = nr - 0x30000001 + GPU_IOCTLS_OF_SLOT - 2;
	return nr < GPU_IOCTLS_OF_SLOT ? slot * GPU_IOCTLS_OF_SLOT + nr : 0;
}

/* What of a struct has to be fetched by itself, beyond what is kept of all. */
static uint16_t status_at(const struct gpu_ioctl_info *info)
{
	for (unsigned i = 0; i < info->n_fields; i++)
		if ((info->fields[i].flags & FIELD_STATUS) &&
		    info->fields[i].offset + 4u > GPU_IOCTL_MAX_DATA)
			return info->fields[i].offset;
	return 0;
}

/* How much of the struct has something to show, on the way in or out. */
static uint8_t of_interest(const struct gpu_ioctl_info *info, uint8_t not_these)
{
	unsigned n = 0;

	for (unsigned i = 0; i < info->n_fields; i++) {
		const struct gpu_ioctl_field *f = &info->fields[i];
		unsigned end = f->offset + f->bytes;

		if (!(f->flags & not_these) && end <= GPU_IOCTL_MAX_DATA && end > n)
			n = end;
	}
	return (uint8_t)n;
}

/* Of several rows with one number, what all of them need. */
static void add_row(struct gpu_ioctl_rule *rule, const struct gpu_ioctl_info *row, bool has_size)
{
	uint8_t n_in = of_interest(row, FIELD_OUT | FIELD_STATUS);
	uint8_t n_out = of_interest(row, FIELD_IN);

	rule->ioctl_class = row->ioctl_class;
	rule->n_in = n_in > rule->n_in ? n_in : rule->n_in;
	rule->n_out = n_out > rule->n_out ? n_out : rule->n_out;
	if (has_size)
		rule->size = row->size;
	if (!rule->status_at)
		rule->status_at = status_at(row);
}

bool gpu_rule_make(unsigned slot, uint32_t nr, struct gpu_ioctl_rule *ret)
{
	const char *driver = gpu_ioctl_driver(slot);
	bool has_size = driver && strcmp(driver, "nvidia-uvm") == 0, found = false;
	size_t n = 0;
	const struct gpu_ioctl_info *row = gpu_ioctl_rows(slot, &n);

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		if (row[i].nr != nr)
			continue;
		add_row(ret, &row[i], has_size);
		found = true;
	}
	return found;
}

static int write_driver(int rules_fd, unsigned slot)
{
	size_t n = 0;
	const struct gpu_ioctl_info *row = gpu_ioctl_rows(slot, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t key = gpu_rule_key(slot, row[i].nr);
		struct gpu_ioctl_rule rule;

		if (key && gpu_rule_make(slot, row[i].nr, &rule) &&
		    bpf_map_update_elem(rules_fd, &key, &rule, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

int gpu_rules_write(int rules_fd, int drivers_fd)
{
	const char *name;

	for (uint32_t slot = 1; (name = gpu_ioctl_driver(slot)); slot++) {
		char key[GPU_DRIVER_NAME] = "";
		int r = write_driver(rules_fd, slot);

		if (r < 0)
			return r;
		strncpy(key, name, sizeof(key) - 1);
		if (bpf_map_update_elem(drivers_fd, key, &slot, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}
