/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_sensors.c - which files of sysfs are sensors of a GPU, and their units.
 *
 * amdgpu has gpu_busy_percent and mem_info_*, i915 and xe have a frequency for each
 * GT, many have an hwmon device or a devfreq device: the kernel's documents of these
 * say the units.
 */
#include "gpu/gpu_sensors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "collect/counters_parse.h"
#include "log.h"

#define MAX_SENSORS 48
#define MAX_INDEX   8 /* of temp1_input, tile0, gt0 */
#define SLOW_NS \
	(20 * NS_PER_MS) /* a driver that asks its firmware; nothing else is read meanwhile */
#define MAX_SLOW     3	 /* in a row, so that a busy machine alone is no reason */
#define MICRO_PER_NS 1000000000.0 /* microjoules in a nanosecond as microwatts */

struct sensor {
	int fd;
	uint16_t kind;
	bool is_energy; /* a sum in microjoules: the power is how it grows */
	unsigned n_slow;
	int64_t scale; /* the file's unit in that of the kind */
	int64_t last;
	uint64_t last_ns;
	char name[GPU_NAME_LEN];
};

struct gpu_sensors {
	size_t n;
	struct sensor all[MAX_SENSORS];
};

struct sensor_file {
	const char *path;
	uint16_t kind;
	int64_t scale;
	const char *name;
};

static const struct sensor_file device_files[] = {
	{ "gpu_busy_percent", GPU_SENSOR_BUSY, 1000, "busy" },
	{ "mem_busy_percent", GPU_SENSOR_BUSY, 1000, "memory busy" },
	{ "mem_info_vram_used", GPU_SENSOR_BYTES, 1, "vram used" },
	{ "mem_info_vram_total", GPU_SENSOR_BYTES, 1, "vram total" },
	{ "mem_info_gtt_used", GPU_SENSOR_BYTES, 1, "gtt used" },
};

/* Of hwmon: %u from 1 on, and the label beside it. */
static const struct {
	const char *value, *label, *name;
	uint16_t kind;
	int64_t scale;
	bool is_energy;
} hwmon_files[] = {
	{ "freq%u_input", "freq%u_label", "clock", GPU_SENSOR_HZ, 1, false },
	{ "temp%u_input", "temp%u_label", "temperature", GPU_SENSOR_MILLIDEGREES, 1, false },
	{ "power%u_average", "power%u_label", "power", GPU_SENSOR_MICROWATTS, 1, false },
	{ "power%u_input", "power%u_label", "power", GPU_SENSOR_MICROWATTS, 1, false },
	{ "energy%u_input", "energy%u_label", "power", GPU_SENSOR_MICROWATTS, 1, true },
};

static struct sensor *add(struct gpu_sensors *s, int dir_fd, const char *path, uint16_t kind,
			  int64_t scale, const char *name)
{
	struct sensor *sensor;
	int fd;

	if (dir_fd < 0 || s->n == MAX_SENSORS)
		return NULL;
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	sensor = &s->all[s->n++];
	*sensor = (struct sensor){ .fd = fd, .kind = kind, .scale = scale };
	snprintf(sensor->name, sizeof(sensor->name), "%s", name);
	return sensor;
}

/* A label is the driver's: one word, "edge", "sclk". */
static bool read_label(int dir_fd, const char *path, char *dst, size_t size)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, dst, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	dst[n] = 0;
	for (ssize_t i = 0; i < n; i++) {
		if (dst[i] == '\n') {
			dst[i] = 0;
			break;
		}
		if (dst[i] < ' ' || dst[i] > '~')
			return false;
	}
	return dst[0] != 0;
}

/* There is only one power to be told of, however many files do. */
static bool has_kind(const struct gpu_sensors *s, size_t from, uint16_t kind, const char *name)
{
	for (size_t i = from; i < s->n; i++)
		if (s->all[i].kind == kind && !strcmp(s->all[i].name, name))
			return true;
	return false;
}

static void add_hwmon(struct gpu_sensors *s, int dir_fd)
{
	size_t from = s->n;

	for (size_t f = 0; f < sizeof(hwmon_files) / sizeof(hwmon_files[0]); f++) {
		for (unsigned i = 1; i <= MAX_INDEX; i++) {
			char path[32], label[16], name[GPU_NAME_LEN];
			struct sensor *sensor;

			snprintf(path, sizeof(path), hwmon_files[f].label, i);
			if (read_label(dir_fd, path, label, sizeof(label)))
				snprintf(name, sizeof(name), "%s %s", hwmon_files[f].name, label);
			else if (i == 1)
				snprintf(name, sizeof(name), "%s", hwmon_files[f].name);
			else
				snprintf(name, sizeof(name), "%s %u", hwmon_files[f].name, i);
			if (has_kind(s, from, hwmon_files[f].kind, name))
				continue;
			snprintf(path, sizeof(path), hwmon_files[f].value, i);
			sensor = add(s, dir_fd, path, hwmon_files[f].kind, hwmon_files[f].scale,
				     name);
			if (sensor)
				sensor->is_energy = hwmon_files[f].is_energy;
		}
	}
}

/* Each subdirectory of `parent`: hwmon/hwmon3, devfreq/13000000.gpu. */
static void each_dir(int device_fd, const char *parent, void (*fn)(struct gpu_sensors *, int),
		     struct gpu_sensors *s)
{
	int fd = openat(device_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		int child;

		if (entry->d_name[0] == '.')
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (child < 0)
			continue;
		fn(s, child);
		close(child);
	}
	closedir(dir);
}

static void add_devfreq(struct gpu_sensors *s, int dir_fd)
{
	(void)add(s, dir_fd, "cur_freq", GPU_SENSOR_HZ, 1, "clock");
}

/* i915: one file for each GT, before that one for all. xe: by tile and GT. */
static void add_gt_clocks(struct gpu_sensors *s, int device_fd, int class_fd)
{
	char path[64], name[GPU_NAME_LEN];
	bool any = false;

	for (unsigned gt = 0; gt < MAX_INDEX; gt++) {
		snprintf(path, sizeof(path), "gt/gt%u/rps_act_freq_mhz", gt);
		snprintf(name, sizeof(name), "clock gt%u", gt);
		any |= add(s, class_fd, path, GPU_SENSOR_HZ, 1000000, name) != NULL;
	}
	if (!any)
		(void)add(s, class_fd, "gt_act_freq_mhz", GPU_SENSOR_HZ, 1000000, "clock gt0");
	for (unsigned tile = 0; tile < 2; tile++) {
		for (unsigned gt = 0; gt < MAX_INDEX; gt++) {
			snprintf(path, sizeof(path), "tile%u/gt%u/freq0/act_freq", tile, gt);
			snprintf(name, sizeof(name), "clock gt%u", gt);
			(void)add(s, device_fd, path, GPU_SENSOR_HZ, 1000000, name);
		}
	}
}

int gpu_sensors_new(int device_fd, int class_fd, struct gpu_sensors **ret)
{
	struct gpu_sensors *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(device_files) / sizeof(device_files[0]); i++)
		(void)add(s, device_fd, device_files[i].path, device_files[i].kind,
			  device_files[i].scale, device_files[i].name);
	add_gt_clocks(s, device_fd, class_fd);
	each_dir(device_fd, "hwmon", add_hwmon, s);
	each_dir(device_fd, "devfreq", add_devfreq, s);
	*ret = s;
	return 0;
}

void gpu_sensors_free(struct gpu_sensors *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		close(s->all[i].fd);
	free(s);
}

/* What has grown since the last look, as power; false: this is the first look. */
static bool power_of(struct sensor *sensor, int64_t energy, uint64_t now_ns, int64_t *ret)
{
	bool known = sensor->last_ns && now_ns > sensor->last_ns && energy >= sensor->last;

	if (known)
		*ret = (int64_t)((double)(energy - sensor->last) * MICRO_PER_NS /
				 (double)(now_ns - sensor->last_ns));
	sensor->last = energy;
	sensor->last_ns = now_ns;
	return known;
}

/* 0, or -errno when there is no value now. */
static int read_one(struct sensor *sensor, uint64_t now_ns, int64_t *ret)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	char text[32];
	ssize_t n = pread(sensor->fd, text, sizeof(text), 0);
	int r = n < 0 ? -errno : 0;

	sensor->n_slow = clock_ns(CLOCK_MONOTONIC) - start > SLOW_NS ? sensor->n_slow + 1 : 0;
	if (r == 0)
		r = counters_parse_number(text, (size_t)n, ret);
	if (r < 0)
		return r;
	if (sensor->is_energy && !power_of(sensor, *ret, now_ns, ret))
		return -EAGAIN;
	if (__builtin_mul_overflow(*ret, sensor->scale, ret) ||
	    (*ret < 0 && sensor->kind != GPU_SENSOR_MILLIDEGREES))
		return -ERANGE;
	return 0;
}

int gpu_sensors_read(struct gpu_sensors *s, uint64_t now_ns,
		     void (*fn)(void *ctx, const struct gpu_value *v), void *ctx)
{
	for (size_t i = 0; i < s->n;) {
		struct sensor *sensor = &s->all[i];
		struct gpu_value v = { .kind = sensor->kind };
		int r = read_one(sensor, now_ns, &v.value);

		if (r == -ENODEV)
			return r;
		if (r == 0) {
			memcpy(v.name, sensor->name, sizeof(v.name));
			fn(ctx, &v);
		}
		if (sensor->n_slow >= MAX_SLOW) {
			log_info("gpu-counters: leaving out \"%s\": slow to read here",
				 sensor->name);
			close(sensor->fd);
			*sensor = s->all[--s->n];
			continue;
		}
		i++;
	}
	return 0;
}
