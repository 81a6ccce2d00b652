/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_list.c - the GPUs of the machine, from /sys/dev/char and /sys/class. */
#include "gpu_list.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define MAX_NODES 128

#define MAJOR_DRM    226
#define MAJOR_ACCEL  261
#define FIRST_RENDER 128

struct node {
	uint32_t rdev, card;
};

struct gpu_list {
	const char *sys;
	struct gpu_list_item cards[GPU_LIST_MAX];
	size_t n_cards;
	struct node nodes[MAX_NODES]; /* met so far */
	size_t n_nodes;
};

/* The last part of where a link leads; false: it is none. */
static bool link_base(const char *path, char *ret, size_t size)
{
	char target[512], *slash;
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(ret, size, "%.*s", (int)size - 1, slash ? slash + 1 : target);
	return ret[0] != '\0' && ret[0] != '.';
}

/* "0000:03:00.0" */
static bool looks_pci(const char *device)
{
	unsigned domain, bus, slot, function;
	char rest;

	return sscanf(device, "%4x:%2x:%2x.%1x%c", &domain, &bus, &slot, &function, &rest) == 4;
}

static void set_driver(struct gpu_list_item *card, const char *driver)
{
	char name[sizeof(card->name)];

	snprintf(name, sizeof(name), "%.*s %s", GPU_DRIVER_LEN - 2, driver, card->device);
	strcpy(card->name, name);
	snprintf(card->driver, sizeof(card->driver), "%s", driver);
}

static uint32_t add_card(struct gpu_list *c, const char *device, const char *driver)
{
	struct gpu_list_item *card;

	if (c->n_cards == GPU_LIST_MAX)
		return 0;
	card = &c->cards[c->n_cards++];
	snprintf(card->device, sizeof(card->device), "%s", device);
	card->is_pci = looks_pci(device);
	set_driver(card, driver);
	return (uint32_t)c->n_cards;
}

static uint32_t find_card(const struct gpu_list *c, const char *device)
{
	for (size_t i = 0; i < c->n_cards; i++)
		if (strcmp(c->cards[i].device, device) == 0)
			return (uint32_t)i + 1;
	return 0;
}

static void device_of(const struct gpu_list *c, uint32_t rdev, char ret[GPU_DEVICE_LEN])
{
	uint32_t major = rdev >> 20, minor = rdev & 0xfffff;
	char path[256];

	snprintf(path, sizeof(path), "%s/dev/char/%u:%u/device", c->sys, major, minor);
	if (link_base(path, ret, GPU_DEVICE_LEN))
		return;
	if (major == MAJOR_DRM)
		snprintf(ret, GPU_DEVICE_LEN, minor < FIRST_RENDER ? "card%u" : "renderD%u", minor);
	else
		snprintf(ret, GPU_DEVICE_LEN, "%u:%u", major, minor);
}

uint32_t gpu_list_of_rdev(struct gpu_list *c, uint32_t rdev, const char *driver)
{
	char device[GPU_DEVICE_LEN], known[GPU_DRIVER_LEN];
	struct node *node = NULL;
	uint32_t number;

	for (size_t i = 0; i < c->n_nodes && !node; i++)
		if (c->nodes[i].rdev == rdev)
			node = &c->nodes[i];
	/* A number is used anew when one module goes and another comes. */
	if (node && (!driver[0] || strcmp(c->cards[node->card - 1].driver, driver) == 0))
		return node->card;
	device_of(c, rdev, device);
	number = find_card(c, device);
	if (number == 0) {
		if (!driver[0]) {
			gpu_driver_name((rdev >> 20) == MAJOR_ACCEL ? GPU_ACCEL : GPU_DRM,
					rdev >> 20, rdev & 0xfffff, known);
			driver = known;
		}
		number = add_card(c, device, driver);
	} else if (driver[0]) {
		set_driver(&c->cards[number - 1], driver); /* who works with it knows best */
	}
	if (number && !node && c->n_nodes < MAX_NODES)
		node = &c->nodes[c->n_nodes++];
	if (number && node)
		*node = (struct node){ rdev, number };
	return number;
}

/* "226:0" from the file `dev` of a class's device. */
static bool read_rdev(const char *path, uint32_t *ret)
{
	unsigned major, minor;
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fscanf(f, "%u:%u", &major, &minor) == 2 && major < 4096 && minor <= 0xfffff;
	fclose(f);
	*ret = ok ? major << 20 | minor : 0;
	return ok;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Nodes are "card0", "renderD128", "accel0"; connectors are "card0-DP-1". */
static int is_node(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 0 && isdigit((unsigned char)d->d_name[n - 1]) && !strchr(d->d_name, '-') &&
	       !strchr(d->d_name, '.');
}

static void scan(struct gpu_list *c, const char *class)
{
	char dir[128], path[512];
	struct dirent **entries;
	uint32_t rdev;
	int n;

	snprintf(dir, sizeof(dir), "%s/class/%s", c->sys, class);
	n = scandir(dir, &entries, is_node, by_number);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s/dev", dir, entries[i]->d_name);
		if (read_rdev(path, &rdev))
			(void)gpu_list_of_rdev(c, rdev, "");
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

uint32_t gpu_list_of_device(struct gpu_list *c, const char *device)
{
	uint32_t number;

	if (!device[0])
		return 0;
	number = find_card(c, device);
	if (number)
		return number;
	scan(c, "drm");
	scan(c, "accel");
	number = find_card(c, device);
	return number ? number : add_card(c, device, "drm");
}

size_t gpu_list_count(const struct gpu_list *c)
{
	return c->n_cards;
}

const struct gpu_list_item *gpu_list_get(const struct gpu_list *c, uint32_t number)
{
	return number && number <= c->n_cards ? &c->cards[number - 1] : NULL;
}

int gpu_list_new(const char *sys, struct gpu_list **ret)
{
	struct gpu_list *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->sys = sys;
	scan(c, "drm");
	scan(c, "accel");
	*ret = c;
	return 0;
}

void gpu_list_free(struct gpu_list *c)
{
	free(c);
}
