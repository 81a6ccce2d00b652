/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs and their clients, on directories that look like /sys and /proc. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpu_counters_events.h"
#include "gpu/gpu_counters_poll.h"

#define BUDGET_NS  1000000000ull /* enough for all that a test makes */
#define SECOND	   1000000000ull
#define MAX_VALUES 512
#define AMD	   "sys/devices/pci0000:00/0000:03:00.0"
#define INTEL	   "sys/devices/pci0000:00/0000:00:02.0"
#define MALI	   "sys/devices/platform/13000000.gpu"

static char root[64];
static struct gpu_counters_poll *poller;
static uint64_t now_ns, next_seq;

/* What the last poll said. */
static struct gpu_card_item cards[GPU_MAX_CARDS];
static struct gpu_value values[MAX_VALUES];
static size_t n_cards, n_values;

static void make_dirs(char *path)
{
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		(void)mkdir(path, 0755); /* may be there */
		*slash = '/';
	}
}

static void put_file(const char *name, const char *text)
{
	size_t len = strlen(text);
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_dirs(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
}

/* `target` from the root of the test, or as it is. */
static void put_link(const char *name, const char *target)
{
	char path[512], whole[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	snprintf(whole, sizeof(whole), "%s/%s", root, target);
	make_dirs(path);
	(void)unlink(path);
	ck_assert_int_eq(symlink(target[0] == '/' ? target : whole, path), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_path(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	(void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A node of a device, as sysfs has it: the class's link, and the way back. */
static void put_node(const char *device, const char *node)
{
	char name[256], target[256];

	snprintf(name, sizeof(name), "%s/drm/%s/dev", device, node);
	put_file(name, "226:0\n");
	snprintf(name, sizeof(name), "%s/drm/%s/device", device, node);
	put_link(name, device);
	snprintf(name, sizeof(name), "sys/class/drm/%s", node);
	snprintf(target, sizeof(target), "%s/drm/%s", device, node);
	put_link(name, target);
}

static void put_driver(const char *device, const char *driver)
{
	char name[256], target[128];

	snprintf(target, sizeof(target), "sys/bus/pci/drivers/%s", driver);
	snprintf(name, sizeof(name), "%s/bind", target);
	put_file(name, "");
	snprintf(name, sizeof(name), "%s/driver", device);
	put_link(name, target);
}

static void put_amd(void)
{
	put_file(AMD "/power/runtime_status", "active\n");
	put_file(AMD "/gpu_busy_percent", "37\n");
	put_file(AMD "/mem_info_vram_used", "1073741824\n");
	put_file(AMD "/mem_info_vram_total", "8573157376\n");
	put_file(AMD "/hwmon/hwmon3/name", "amdgpu\n");
	put_file(AMD "/hwmon/hwmon3/temp1_input", "41000\n");
	put_file(AMD "/hwmon/hwmon3/temp1_label", "edge\n");
	put_file(AMD "/hwmon/hwmon3/temp2_input", "-5000\n");
	put_file(AMD "/hwmon/hwmon3/temp2_label", "junction\n");
	put_file(AMD "/hwmon/hwmon3/power1_average", "14000000\n");
	put_file(AMD "/hwmon/hwmon3/power1_input", "15000000\n");
	put_file(AMD "/hwmon/hwmon3/power1_label", "PPT\n");
	put_file(AMD "/hwmon/hwmon3/freq1_input", "800000000\n");
	put_file(AMD "/hwmon/hwmon3/freq1_label", "sclk\n");
	put_node(AMD, "card0");
	put_node(AMD, "renderD128");
	put_link("sys/class/drm/card0-DP-1", AMD "/drm/card0");
	put_file("sys/class/drm/version", "drm 1.1.0 20060810\n");
	put_driver(AMD, "amdgpu");
}

static void put_client(unsigned pid, unsigned fd, const char *node, const char *fdinfo)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%u/fd/%u", pid, fd);
	put_link(name, node);
	snprintf(name, sizeof(name), "proc/%u/fdinfo/%u", pid, fd);
	put_file(name, fdinfo);
}

static void put_amd_client(unsigned pid, unsigned fd, unsigned id, uint64_t gfx_ns, unsigned vram)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t%u\ndrm-pdev:\t0000:03:00.0\n"
		 "drm-engine-gfx:\t%lu ns\ndrm-engine-dec:\t0 ns\ndrm-memory-vram:\t%u KiB\n",
		 id, gfx_ns, vram);
	put_client(pid, fd, "/dev/dri/renderD128", text);
}

static void set_up(void)
{
	char proc[128], sys[128];

	strcpy(root, "/tmp/test_gpu_counters.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	put_file("proc/version", "");
	put_file("sys/kernel/version", "");
	snprintf(proc, sizeof(proc), "%s/proc", root);
	snprintf(sys, sizeof(sys), "%s/sys", root);
	ck_assert_int_eq(gpu_counters_poll_new(proc, sys, &poller), 0);
	now_ns = 100 * SECOND;
	next_seq = 0;
}

static void tear_down(void)
{
	gpu_counters_poll_free(poller);
	(void)nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void take(void *ctx, const struct event_hdr *ev, size_t len)
{
	const struct gpu_counters_record *rec = (const struct gpu_counters_record *)ev;

	(void)ctx;
	ck_assert(gpu_counters_valid(ev, len));
	ck_assert_uint_eq(ev->seq, next_seq++);
	ck_assert_uint_eq(ev->time_ns, now_ns);
	if (ev->type == GPU_COUNTERS_CARDS) {
		memcpy(cards, rec->items.cards, rec->n * sizeof(cards[0]));
		n_cards = rec->n;
		return;
	}
	ck_assert_uint_le(n_values + rec->n, MAX_VALUES);
	memcpy(values + n_values, rec->items.values, rec->n * sizeof(values[0]));
	n_values += rec->n;
}

static void look(void)
{
	n_cards = n_values = 0;
	now_ns += SECOND;
	gpu_counters_poll_run(poller, now_ns, BUDGET_NS, take, NULL);
	ck_assert_uint_eq(gpu_counters_poll_count(poller), next_seq);
}

static const struct gpu_value *find(uint32_t tgid, unsigned kind, const char *name)
{
	const struct gpu_value *found = NULL;

	for (size_t i = 0; i < n_values; i++) {
		const struct gpu_value *v = &values[i];

		if (v->tgid != tgid || v->kind != kind || strcmp(v->name, name) != 0)
			continue;
		ck_assert_msg(!found, "%s is there twice", name);
		found = v;
	}
	return found;
}

static int64_t value(uint32_t tgid, unsigned kind, const char *name)
{
	const struct gpu_value *v = find(tgid, kind, name);

	ck_assert_msg(v, "no value %s of kind %u of %u", name, kind, tgid);
	return v->value;
}

START_TEST(without_a_gpu_there_is_nothing)
{
	look();
	ck_assert_uint_eq(next_seq, 0);
	ck_assert(!gpu_counters_poll_has_gpu(poller));
}
END_TEST

START_TEST(amdgpu_has_sensors)
{
	put_amd();
	look();
	ck_assert(gpu_counters_poll_has_gpu(poller));
	ck_assert_uint_eq(n_cards, 1);
	ck_assert_str_eq(cards[0].driver, "amdgpu");
	ck_assert_str_eq(cards[0].device, "0000:03:00.0");
	ck_assert_int_eq(value(0, GPU_SENSOR_BUSY, "busy"), 37000);
	ck_assert_int_eq(value(0, GPU_SENSOR_BYTES, "vram used"), 1073741824);
	ck_assert_int_eq(value(0, GPU_SENSOR_MILLIDEGREES, "temperature edge"), 41000);
	ck_assert_int_eq(value(0, GPU_SENSOR_MILLIDEGREES, "temperature junction"), -5000);
	ck_assert_int_eq(value(0, GPU_SENSOR_MICROWATTS, "power PPT"), 14000000);
	ck_assert_int_eq(value(0, GPU_SENSOR_HZ, "clock sclk"), 800000000);
	ck_assert_int_eq(value(0, GPU_AWAKE, "awake"), 1);
}
END_TEST

START_TEST(intel_has_clocks_and_energy)
{
	put_file(INTEL "/power/runtime_status", "active\n");
	put_file(INTEL "/hwmon/hwmon1/name", "i915\n");
	put_file(INTEL "/hwmon/hwmon1/energy1_input", "5000000\n");
	put_node(INTEL, "renderD129"); /* whichever comes first */
	put_node(INTEL, "card1");
	put_file(INTEL "/drm/card1/gt_act_freq_mhz", "350\n");
	put_file(INTEL "/drm/card1/gt/gt0/rps_act_freq_mhz", "450\n");
	put_file(INTEL "/drm/card1/gt/gt1/rps_act_freq_mhz", "0\n");
	put_driver(INTEL, "i915");
	look();
	ck_assert_str_eq(cards[0].driver, "i915");
	ck_assert_int_eq(value(0, GPU_SENSOR_HZ, "clock gt0"), 450000000);
	ck_assert_int_eq(value(0, GPU_SENSOR_HZ, "clock gt1"), 0);
	ck_assert_ptr_null(find(0, GPU_SENSOR_MICROWATTS, "power")); /* a sum alone is no power */
	put_file(INTEL "/hwmon/hwmon1/energy1_input", "7000000\n");
	look();
	ck_assert_int_eq(value(0, GPU_SENSOR_MICROWATTS, "power"), 2000000);
}
END_TEST

START_TEST(xe_has_a_clock_for_each_gt)
{
	put_node(INTEL, "card0");
	put_file(INTEL "/tile0/gt0/freq0/act_freq", "1200\n");
	put_file(INTEL "/tile0/gt1/freq0/act_freq", "900\n");
	put_driver(INTEL, "xe");
	look();
	ck_assert_int_eq(value(0, GPU_SENSOR_HZ, "clock gt0"), 1200000000);
	ck_assert_int_eq(value(0, GPU_SENSOR_HZ, "clock gt1"), 900000000);
	/* Without power management there is nothing to say of it. */
	ck_assert_ptr_null(find(0, GPU_AWAKE, "awake"));
}
END_TEST

START_TEST(devices_of_a_board_have_devfreq)
{
	put_node(MALI, "card0");
	put_node(MALI, "renderD128");
	put_file(MALI "/power/runtime_status", "unsupported\n");
	put_file(MALI "/devfreq/13000000.gpu/cur_freq", "600000000\n");
	put_driver(MALI, "panfrost");
	look();
	ck_assert_uint_eq(n_cards, 1);
	ck_assert_str_eq(cards[0].driver, "panfrost");
	ck_assert_str_eq(cards[0].device, "13000000.gpu");
	ck_assert_int_eq(value(0, GPU_SENSOR_HZ, "clock"), 600000000);
	ck_assert_ptr_null(find(0, GPU_AWAKE, "awake"));
}
END_TEST

START_TEST(the_driver_has_its_name_of_drm_where_that_can_be_read)
{
	put_node(INTEL, "card0");
	put_driver(INTEL, "virtio-pci");
	put_file("sys/kernel/debug/dri/0/name",
		 "virtio_gpu dev=0000:00:02.0 unique=0000:00:02.0\n");
	put_node("sys/devices/platform/vkms", "card1"); /* without a driver, and without debugfs */
	look();
	ck_assert_uint_eq(n_cards, 2);
	for (size_t i = 0; i < n_cards; i++)
		ck_assert_str_eq(cards[i].driver,
				 strcmp(cards[i].device, "vkms") ? "virtio_gpu" : "vkms");
}
END_TEST

START_TEST(nvidia_is_named_and_what_it_keeps_to_itself)
{
	char why[WHY_LEN];

	put_file("sys/devices/pci0000:00/0000:01:00.0/power/runtime_status", "suspended\n");
	put_driver("sys/devices/pci0000:00/0000:01:00.0", "nvidia");
	put_link("sys/bus/pci/drivers/nvidia/0000:01:00.0", "sys/devices/pci0000:00/0000:01:00.0");
	gpu_counters_poll_explain(poller, why);
	ck_assert_ptr_nonnull(strstr(why, "0000:01:00.0"));
	look();
	ck_assert_uint_eq(n_cards, 1);
	ck_assert_uint_eq(n_values, 1);
	ck_assert_int_eq(value(0, GPU_AWAKE, "awake"), 0);
	remove_path("sys/bus/pci/drivers/nvidia/0000:01:00.0");
	gpu_counters_poll_explain(poller, why);
	ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(a_device_that_sleeps_is_not_asked)
{
	put_amd();
	put_amd_client(10, 3, 1, 1000, 2048);
	gpu_counters_poll_process(poller, 10);
	look();
	put_file(AMD "/power/runtime_status", "suspended\n");
	put_file(AMD "/gpu_busy_percent", "99\n");
	put_amd_client(10, 3, 1, 999999999, 4096);
	put_amd_client(11, 3, 2, 5, 5);
	gpu_counters_poll_process(poller, 11);
	look();
	ck_assert_int_eq(value(0, GPU_AWAKE, "awake"), 0);
	ck_assert_int_eq(value(0, GPU_SENSOR_BUSY, "busy"), 0); /* gone: its last word is 0 */
	ck_assert_ptr_null(find(0, GPU_SENSOR_MILLIDEGREES, "temperature edge"));
	ck_assert_int_eq(value(10, GPU_BUSY, "gfx"), 0);
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 2048 << 10);
	ck_assert_ptr_null(find(11, GPU_RESIDENT, "vram"));
	put_file(AMD "/power/runtime_status", "active\n");
	look();
	ck_assert_int_eq(value(0, GPU_SENSOR_BUSY, "busy"), 99000);
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 4096 << 10);
	ck_assert_int_eq(value(11, GPU_RESIDENT, "vram"), 5 << 10);
}
END_TEST

START_TEST(a_process_is_the_sum_of_its_clients)
{
	put_amd();
	put_amd_client(10, 3, 1, 0, 100);
	put_amd_client(10, 4, 2, 0, 200);
	put_client(10, 5, "/dev/null", "pos:\t0\n");
	put_client(10, 6, "socket:[123]", "pos:\t0\n");
	put_amd_client(20, 3, 3, 0, 50);
	gpu_counters_poll_process(poller, 10);
	gpu_counters_poll_process(poller, 10);
	gpu_counters_poll_process(poller, 20);
	look();
	/* Of one reading nobody can say how busy. */
	ck_assert_ptr_null(find(10, GPU_BUSY, "gfx"));
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 300 << 10);
	ck_assert_int_eq(value(20, GPU_RESIDENT, "vram"), 50 << 10);

	/* However long ago the first look was, this is longer. */
	put_amd_client(10, 3, 1, 1ull << 60, 100);
	put_amd_client(10, 4, 2, 1ull << 60, 200);
	look();
	ck_assert_int_eq(value(10, GPU_BUSY, "gfx"), 100000); /* not 200 % */
	ck_assert_int_eq(value(10, GPU_BUSY, "dec"), 0);
	ck_assert_int_eq(value(20, GPU_BUSY, "gfx"), 0);
	ck_assert_int_eq(value(0, GPU_BUSY, "gfx"), 100000);
}
END_TEST

START_TEST(a_client_that_is_shared_counts_once)
{
	put_amd();
	put_amd_client(10, 3, 7, 0, 100);
	put_amd_client(10, 4, 7, 0, 100);
	put_amd_client(20, 3, 7, 0, 100);
	gpu_counters_poll_process(poller, 10);
	gpu_counters_poll_process(poller, 20);
	look();
	/* For the one that was looked at first. */
	ck_assert_int_eq(value(20, GPU_RESIDENT, "vram"), 100 << 10);
	ck_assert_ptr_null(find(10, GPU_RESIDENT, "vram"));
}
END_TEST

START_TEST(equal_ids_on_two_devices_are_two_clients)
{
	put_amd();
	put_node(INTEL, "card1");
	put_node(INTEL, "renderD129");
	put_driver(INTEL, "i915");
	put_amd_client(10, 3, 7, 0, 100);
	put_client(10, 4, "/dev/dri/renderD129",
		   "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-resident-system0:\t1 MiB\n");
	gpu_counters_poll_process(poller, 10);
	look();
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 100 << 10);
	ck_assert_int_eq(value(10, GPU_RESIDENT, "system0"), 1 << 20);
	ck_assert_uint_ne(find(10, GPU_RESIDENT, "vram")->card,
			  find(10, GPU_RESIDENT, "system0")->card);
}
END_TEST

START_TEST(what_has_ended_becomes_0_once)
{
	put_amd();
	put_amd_client(10, 3, 1, 0, 100);
	gpu_counters_poll_process(poller, 10);
	look();
	/* Another file has taken the number: it is read, and is none of DRM's. */
	put_client(10, 3, "/tmp/x", "pos:\t0\n");
	look();
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 0);
	look();
	ck_assert_ptr_null(find(10, GPU_RESIDENT, "vram"));
}
END_TEST

START_TEST(of_a_process_that_is_over_nothing_is_said)
{
	put_amd();
	put_amd_client(10, 3, 1, 0, 100);
	gpu_counters_poll_process(poller, 10);
	look();
	put_client(10, 3, "/tmp/x", ""); /* that of one that is over can be read no more */
	remove_path("proc/10");
	look();
	ck_assert_ptr_null(find(10, GPU_RESIDENT, "vram"));
}
END_TEST

START_TEST(a_device_may_come_and_go)
{
	look();
	put_amd();
	put_amd_client(10, 3, 1, 0, 100);
	gpu_counters_poll_process(poller, 10);
	look();
	ck_assert_uint_eq(n_cards, 1);
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 100 << 10);
	remove_path("sys/class");
	look();
	ck_assert_uint_eq(n_cards, 0);
	ck_assert_uint_eq(n_values, 0);
	look();
	ck_assert_uint_eq(next_seq, 2); /* of the look in which it was there */
	put_amd();
	look();
	ck_assert_uint_eq(n_cards, 1);
	ck_assert_int_eq(value(10, GPU_RESIDENT, "vram"), 100 << 10);
}
END_TEST

START_TEST(a_broken_sensor_costs_only_itself)
{
	put_amd();
	put_file(AMD "/gpu_busy_percent", "n/a\n");
	put_file(AMD "/mem_info_vram_used", "99999999999999999999\n");
	put_file(AMD "/hwmon/hwmon3/freq1_input", "-1\n");
	put_file(AMD "/hwmon/hwmon3/temp1_label", "\033[2J\n");
	look();
	ck_assert_ptr_null(find(0, GPU_SENSOR_BUSY, "busy"));
	ck_assert_ptr_null(find(0, GPU_SENSOR_BYTES, "vram used"));
	ck_assert_ptr_null(find(0, GPU_SENSOR_HZ, "clock sclk"));
	ck_assert_int_eq(value(0, GPU_SENSOR_BYTES, "vram total"), 8573157376);
	ck_assert_int_eq(value(0, GPU_SENSOR_MILLIDEGREES, "temperature"), 41000);
}
END_TEST

START_TEST(many_values_go_out_in_several_records)
{
	put_amd();
	for (unsigned pid = 10; pid < 110; pid++) {
		put_amd_client(pid, 3, pid, 0, pid);
		gpu_counters_poll_process(poller, pid);
	}
	look();
	ck_assert_uint_ge(next_seq, 3);
	for (unsigned pid = 10; pid < 110; pid++)
		ck_assert_int_eq(value(pid, GPU_RESIDENT, "vram"), pid << 10);
}
END_TEST

START_TEST(the_survey_goes_round_however_small_its_budget)
{
	put_amd();
	for (unsigned pid = 10; pid < 210; pid++) {
		char name[32];

		snprintf(name, sizeof(name), "proc/%u/fd/0", pid);
		put_link(name, "/dev/null");
		gpu_counters_poll_process(poller, pid);
	}
	put_amd_client(200, 3, 1, 0, 100);
	for (unsigned i = 0; i < 200 && !find(200, GPU_RESIDENT, "vram"); i++) {
		n_cards = n_values = 0;
		now_ns += SECOND;
		gpu_counters_poll_run(poller, now_ns, 0, take, NULL);
	}
	ck_assert_int_eq(value(200, GPU_RESIDENT, "vram"), 100 << 10);
}
END_TEST

START_TEST(who_is_new_is_looked_at_first)
{
	put_amd();
	for (unsigned pid = 1000; pid < 1200; pid++) {
		char name[32];

		snprintf(name, sizeof(name), "proc/%u/fd/0", pid);
		put_link(name, "/dev/null");
		gpu_counters_poll_process(poller, pid);
	}
	for (unsigned pid = 10; pid < 15; pid++) {
		now_ns += SECOND;
		gpu_counters_poll_run(poller, now_ns, 0, take, NULL);
		put_amd_client(pid, 3, pid, 0, 100);
		gpu_counters_poll_process(poller, pid);
		n_cards = n_values = 0;
		now_ns += SECOND;
		gpu_counters_poll_run(poller, now_ns, 0, take, NULL);
		ck_assert_int_eq(value(pid, GPU_RESIDENT, "vram"), 100 << 10);
	}
}
END_TEST

START_TEST(a_record_that_lies_about_itself_is_not_valid)
{
	static struct gpu_counters_record rec;
	size_t len = gpu_counters_record_size(GPU_COUNTERS_VALUES, 1);

	memset(&rec, 0, sizeof(rec));
	rec.n = 1;
	rec.hdr.type = GPU_COUNTERS_VALUES;
	rec.hdr.size = (uint16_t)len;
	strcpy(rec.items.values[0].name, "gfx");
	ck_assert(gpu_counters_valid(&rec.hdr, len));
	ck_assert(!gpu_counters_valid(&rec.hdr, len - 1));
	rec.n = 2;
	ck_assert(!gpu_counters_valid(&rec.hdr, len));
	rec.n = 1;
	rec.items.values[0].card = GPU_MAX_CARDS;
	ck_assert(!gpu_counters_valid(&rec.hdr, len));
	rec.items.values[0].card = 0;
	rec.items.values[0].kind = N_GPU_VALUE_KINDS;
	ck_assert(!gpu_counters_valid(&rec.hdr, len));
	rec.items.values[0].kind = GPU_BUSY;
	rec.items.values[0].value = -1;
	ck_assert(!gpu_counters_valid(&rec.hdr, len));
	rec.items.values[0].value = 1;
	memset(rec.items.values[0].name, 'x', GPU_NAME_LEN);
	ck_assert(!gpu_counters_valid(&rec.hdr, len));
	ck_assert_uint_eq(gpu_counters_record_size(GPU_COUNTERS_VALUES, GPU_COUNTERS_ITEMS + 1), 0);
	ck_assert_uint_eq(gpu_counters_record_size(3, 1), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_counters_poll");
	TCase *tc = tcase_create("poll");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, without_a_gpu_there_is_nothing);
	tcase_add_test(tc, amdgpu_has_sensors);
	tcase_add_test(tc, intel_has_clocks_and_energy);
	tcase_add_test(tc, xe_has_a_clock_for_each_gt);
	tcase_add_test(tc, devices_of_a_board_have_devfreq);
	tcase_add_test(tc, the_driver_has_its_name_of_drm_where_that_can_be_read);
	tcase_add_test(tc, nvidia_is_named_and_what_it_keeps_to_itself);
	tcase_add_test(tc, a_device_that_sleeps_is_not_asked);
	tcase_add_test(tc, a_process_is_the_sum_of_its_clients);
	tcase_add_test(tc, a_client_that_is_shared_counts_once);
	tcase_add_test(tc, equal_ids_on_two_devices_are_two_clients);
	tcase_add_test(tc, what_has_ended_becomes_0_once);
	tcase_add_test(tc, of_a_process_that_is_over_nothing_is_said);
	tcase_add_test(tc, a_device_may_come_and_go);
	tcase_add_test(tc, a_broken_sensor_costs_only_itself);
	tcase_add_test(tc, many_values_go_out_in_several_records);
	tcase_add_test(tc, the_survey_goes_round_however_small_its_budget);
	tcase_add_test(tc, who_is_new_is_looked_at_first);
	tcase_add_test(tc, a_record_that_lies_about_itself_is_not_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
