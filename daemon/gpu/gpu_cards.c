/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_cards.c - GPUs in sysfs. A device has one or several nodes (card0 and
 * renderD128); which belong together is known by the directory of the device.
 *
 * NVIDIA's own driver need not have a DRM node: its devices are known as PCI's.
 */
#include "gpu/gpu_cards.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpu_sensors.h"
#include "io.h"
#include "log.h"

#define MAX_NODES 128
#define NODE_LEN  32

struct card {
	bool present, seen, awake;
	bool can_sleep;	     /* its driver may switch it off */
	char path[PATH_MAX]; /* of the device's directory */
	char driver[GPU_NAME_LEN];
	int status_fd; /* power/runtime_status, -1: the device never sleeps */
	struct gpu_sensors *sensors;
};

struct node {
	bool seen;
	int card;
	char name[NODE_LEN];
	char link[256]; /* where class/drm/NAME leads; another device leads elsewhere */
};

struct gpu_cards {
	char *sys;
	struct card cards[GPU_MAX_CARDS];
	struct node nodes[MAX_NODES];
	size_t n_nodes;
	bool too_many; /* said once */
};

int gpu_cards_new(const char *sys, struct gpu_cards **ret)
{
	struct gpu_cards *cards = calloc(1, sizeof(*cards));

	if (!cards)
		return -ENOMEM;
	cards->sys = strdup(sys);
	if (!cards->sys) {
		free(cards);
		return -ENOMEM;
	}
	*ret = cards;
	return 0;
}

static void remove_card(struct card *card)
{
	if (!card->present)
		return;
	if (card->status_fd >= 0)
		close(card->status_fd);
	gpu_sensors_free(card->sensors);
	memset(card, 0, sizeof(*card));
}

void gpu_cards_free(struct gpu_cards *cards)
{
	if (!cards)
		return;
	for (size_t i = 0; i < GPU_MAX_CARDS; i++)
		remove_card(&cards->cards[i]);
	free(cards->sys);
	free(cards);
}

/* ---- names ---- */

static bool is_number(const char *s)
{
	return s[0] && strspn(s, "0123456789") == strlen(s);
}

/* "card0", "renderD128", "accel0", but not "card0-HDMI-A-1" or "version". */
static bool is_node(const char *name)
{
	static const char *const prefixes[] = { "card", "renderD", "accel" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], len) && is_number(name + len))
			return strlen(name) < NODE_LEN;
	}
	return false;
}

/* ---- one device ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "virtio_gpu dev=0000:00:02.0 unique=..." of DRM itself; false: debugfs is not there. */
static bool debug_driver(const char *sys, const char *node, char ret[GPU_NAME_LEN])
{
	char path[PATH_MAX], text[256];
	int len;

	len = snprintf(path, sizeof(path), "%s/kernel/debug/dri/%s/name", sys,
		       node + strcspn(node, "0123456789"));
	if (len < 0 || (size_t)len >= sizeof(path) || io_read_file(path, text, sizeof(text)) <= 0)
		return false;
	snprintf(ret, GPU_NAME_LEN, "%.*s", (int)strcspn(text, " \n"), text);
	return ret[0] != 0;
}

/*
 * Without debugfs the device's driver, which is the bus's for some (virtio-pci); or,
 * for those without any, like vkms and vgem, the device, which is called after it.
 */
static void read_driver(const char *sys, const char *node, struct card *card)
{
	char path[PATH_MAX + 16], target[256];
	const char *name = base_of(card->path);
	ssize_t n;

	if (node[0] && debug_driver(sys, node, card->driver))
		return;
	snprintf(path, sizeof(path), "%s/driver", card->path);
	n = readlink(path, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = 0;
		name = base_of(target);
	}
	snprintf(card->driver, sizeof(card->driver), "%.*s", (int)strcspn(name, "."), name);
	if (!card->driver[0])
		strcpy(card->driver, "gpu");
}

/* The device's own DRM node, of which the card has files, too; empty: none. */
static void own_node(int device_fd, char ret[NODE_LEN])
{
	int fd = openat(device_fd, "drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	ret[0] = 0;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (is_node(entry->d_name) && strncmp(ret, "card", 4) != 0)
			snprintf(ret, NODE_LEN, "%.*s", NODE_LEN - 1, entry->d_name);
	closedir(dir);
}

static int open_card(const char *sys, struct card *card, const char *path)
{
	char node[NODE_LEN], class_path[NODE_LEN + 8];
	int device_fd, class_fd, r;

	memset(card, 0, sizeof(*card));
	device_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (device_fd < 0)
		return -errno;
	own_node(device_fd, node);
	snprintf(class_path, sizeof(class_path), "drm/%s", node);
	class_fd = node[0] ? openat(device_fd, class_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	r = gpu_sensors_new(device_fd, class_fd, &card->sensors);
	if (r == 0) {
		card->present = true;
		snprintf(card->path, sizeof(card->path), "%s", path);
		read_driver(sys, node, card);
		card->status_fd = openat(device_fd, "power/runtime_status", O_RDONLY | O_CLOEXEC);
	}
	close(device_fd);
	if (class_fd >= 0)
		close(class_fd);
	return r;
}

/* "suspending" and "resuming" count as asleep: a look would wait for the device. */
static void read_status(struct card *card)
{
	char text[32];
	ssize_t n;

	card->awake = card->status_fd < 0;
	card->can_sleep = false;
	if (card->status_fd < 0)
		return;
	n = pread(card->status_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	card->can_sleep = strcmp(text, "unsupported") != 0;
	card->awake = !card->can_sleep || !strcmp(text, "active");
}

/* The device at `path`, a new one if need be; -1: it cannot be opened, or there are too many. */
static int find_card(struct gpu_cards *cards, const char *path)
{
	int at = -1;

	for (int i = 0; i < GPU_MAX_CARDS; i++) {
		struct card *card = &cards->cards[i];

		if (card->present && !strcmp(card->path, path))
			return i;
		if (!card->present && at < 0)
			at = i;
	}
	if (at < 0) {
		if (!cards->too_many)
			log_info("gpu-counters: only %d GPUs are looked at", GPU_MAX_CARDS);
		cards->too_many = true;
		return -1;
	}
	return open_card(cards->sys, &cards->cards[at], path) < 0 ? -1 : at;
}

/* ---- nodes ---- */

static struct node *find_node(struct gpu_cards *cards, const char *name)
{
	for (size_t i = 0; i < cards->n_nodes; i++)
		if (!strcmp(cards->nodes[i].name, name))
			return &cards->nodes[i];
	return NULL;
}

/* Where it leads, if only as a text; a fixture's directories need not be links. */
static void read_link(int dir_fd, const char *name, char *dst, size_t size)
{
	ssize_t n = readlinkat(dir_fd, name, dst, size - 1);

	dst[n > 0 ? n : 0] = 0;
}

static void see_node(struct gpu_cards *cards, int dir_fd, const char *class, const char *name)
{
	char link[sizeof(cards->nodes[0].link)], path[PATH_MAX], device[PATH_MAX];
	struct node *node = find_node(cards, name);

	read_link(dir_fd, name, link, sizeof(link));
	if (node && strcmp(node->link, link) != 0)
		node->card = -1;
	if (!node) {
		if (cards->n_nodes == MAX_NODES)
			return;
		node = &cards->nodes[cards->n_nodes++];
		*node = (struct node){ .card = -1 };
		strcpy(node->name, name);
	}
	node->seen = true;
	strcpy(node->link, link);
	if (node->card < 0 || !cards->cards[node->card].present) {
		if ((size_t)snprintf(path, sizeof(path), "%s/class/%s/%s/device", cards->sys, class,
				     name) >= sizeof(path) ||
		    !realpath(path, device))
			return;
		node->card = find_card(cards, device);
	}
	if (node->card >= 0)
		cards->cards[node->card].seen = true;
}

static void see_nvidia(struct gpu_cards *cards, const char *name)
{
	char path[PATH_MAX], device[PATH_MAX];
	int card;

	if ((size_t)snprintf(path, sizeof(path), "%s/bus/pci/drivers/nvidia/%s", cards->sys,
			     name) >= sizeof(path) ||
	    !realpath(path, device))
		return;
	card = find_card(cards, device);
	if (card >= 0)
		cards->cards[card].seen = true;
}

static void see_dir(struct gpu_cards *cards, const char *dir_name, const char *class)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", cards->sys, dir_name) >= sizeof(path))
		return;
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (class && is_node(entry->d_name))
			see_node(cards, dirfd(dir), class, entry->d_name);
		else if (!class && strchr(entry->d_name, ':'))
			see_nvidia(cards, entry->d_name);
	}
	closedir(dir);
}

size_t gpu_cards_scan(struct gpu_cards *cards)
{
	size_t n = 0;

	for (size_t i = 0; i < GPU_MAX_CARDS; i++)
		cards->cards[i].seen = false;
	for (size_t i = 0; i < cards->n_nodes; i++)
		cards->nodes[i].seen = false;
	see_dir(cards, "class/drm", "drm");
	see_dir(cards, "class/accel", "accel");
	see_dir(cards, "bus/pci/drivers/nvidia", NULL);

	for (size_t i = 0; i < cards->n_nodes;) {
		if (cards->nodes[i].seen)
			i++;
		else
			cards->nodes[i] = cards->nodes[--cards->n_nodes];
	}
	for (size_t i = 0; i < GPU_MAX_CARDS; i++) {
		struct card *card = &cards->cards[i];

		if (!card->seen)
			remove_card(card);
		if (!card->present)
			continue;
		read_status(card);
		n++;
	}
	return n;
}

/* ---- what is known of them ---- */

size_t gpu_cards_list(const struct gpu_cards *cards, struct gpu_card_item items[GPU_MAX_CARDS])
{
	size_t n = 0;

	for (size_t i = 0; i < GPU_MAX_CARDS; i++) {
		const struct card *card = &cards->cards[i];
		struct gpu_card_item *item = &items[n];

		if (!card->present)
			continue;
		memset(item, 0, sizeof(*item));
		item->card = (uint16_t)i;
		memcpy(item->driver, card->driver, sizeof(item->driver));
		snprintf(item->device, sizeof(item->device), "%.*s", (int)sizeof(item->device) - 1,
			 base_of(card->path));
		n++;
	}
	return n;
}

int gpu_cards_find(const struct gpu_cards *cards, const char *node)
{
	for (size_t i = 0; i < cards->n_nodes; i++)
		if (!strcmp(cards->nodes[i].name, node))
			return cards->nodes[i].card >= 0 ? cards->nodes[i].card : -ENODEV;
	return -ENODEV;
}

bool gpu_cards_has(const struct gpu_cards *cards, unsigned card)
{
	return card < GPU_MAX_CARDS && cards->cards[card].present;
}

bool gpu_cards_awake(const struct gpu_cards *cards, unsigned card)
{
	return gpu_cards_has(cards, card) && cards->cards[card].awake;
}

struct card_reading {
	uint16_t card;
	gpu_value_fn *fn;
	void *ctx;
};

static void on_value(void *ctx, const struct gpu_value *v)
{
	const struct card_reading *reading = ctx;
	struct gpu_value own = *v;

	own.card = reading->card;
	reading->fn(reading->ctx, &own);
}

void gpu_cards_read(struct gpu_cards *cards, uint64_t now_ns, gpu_value_fn *fn, void *ctx)
{
	for (uint16_t i = 0; i < GPU_MAX_CARDS; i++) {
		struct card_reading reading = { i, fn, ctx };
		struct gpu_value awake = { .kind = GPU_AWAKE, .name = "awake" };
		struct card *card = &cards->cards[i];

		if (!card->present)
			continue;
		awake.value = card->awake;
		if (card->can_sleep)
			on_value(&reading, &awake);
		/* Opened anew by the next scan. */
		if (card->awake && gpu_sensors_read(card->sensors, now_ns, on_value, &reading) < 0)
			remove_card(card);
	}
}
