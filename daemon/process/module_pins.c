/* SPDX-License-Identifier: Apache-2.0 */
/* module_pins.c - from an executable mapping of a process to the module behind it. */
#include "module_pins.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"
#include "log.h"
#include "process/proc_parse.h"
#include "process/slow_open.h"
#include "symbolize/symbolizer.h"

/* A file may be written anew in place: what is older than this is looked at again. */
#define TRUST_NS NS_PER_SEC
#define KEEP_NS	 (60 * NS_PER_SEC)

/* For the open() of a file system that needs somebody to answer. */
#define MAX_OPEN_NS (100 * NS_PER_MS)
#define FORGIVE_NS  (60 * NS_PER_SEC)

/* Files at once; a machine has some thousands. Beyond it all start anew. */
#define MAX_FILES 32768
/* Names without a file: they come from traced processes, and modules stay for ever. */
#define MAX_NAMES 1024

struct file_key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

struct file {
	struct module *module; /* held */
	uint32_t generation;
	uint64_t checked_ns, used_ns;
};

struct module_pins {
	struct symbolizer *sym;
	int proc_fd;
	struct hash *files;	   /* struct file_key -> struct file */
	struct hash *names;	   /* of modules without a file -> struct module */
	struct hash *dead_devices; /* of file systems that did not answer, until `forgive_ns` */
	uint64_t forgive_ns;
	uint64_t n_missed;
};

int module_pins_new(struct symbolizer *sym, int proc_fd, struct module_pins **ret)
{
	struct module_pins *pins = calloc(1, sizeof(*pins));
	int r;

	if (!pins)
		return -ENOMEM;
	pins->sym = sym;
	pins->proc_fd = proc_fd;
	r = hash_new(&pins->files);
	if (r == 0)
		r = hash_new(&pins->names);
	if (r == 0)
		r = hash_new(&pins->dead_devices);
	if (r < 0) {
		module_pins_free(pins);
		return r;
	}
	*ret = pins;
	return 0;
}

static void file_free(struct file *f)
{
	module_release(f->module);
	free(f);
}

static void forget_names(struct module_pins *pins)
{
	size_t pos = 0;
	void *module;

	while (hash_next(pins->names, &pos, NULL, NULL, &module))
		module_release(module);
	hash_clear(pins->names);
}

static void forget_files(struct module_pins *pins)
{
	size_t pos = 0;
	void *f;

	while (hash_next(pins->files, &pos, NULL, NULL, &f))
		file_free(f);
	hash_clear(pins->files);
}

void module_pins_free(struct module_pins *pins)
{
	if (!pins)
		return;
	if (pins->files)
		forget_files(pins);
	if (pins->names)
		forget_names(pins);
	hash_free(pins->files);
	hash_free(pins->names);
	hash_free(pins->dead_devices);
	free(pins);
}

uint64_t module_pins_missed(const struct module_pins *pins)
{
	return pins->n_missed;
}

static void forget_unused_since(struct module_pins *pins, uint64_t time_ns)
{
	const void *key;
	size_t pos = 0, len;
	void *f;

	while (hash_next(pins->files, &pos, &key, &len, &f)) {
		struct file_key copy;

		if (((struct file *)f)->used_ns > time_ns)
			continue;
		memcpy(&copy, key, sizeof(copy));
		hash_remove(pins->files, &copy, sizeof(copy));
		file_free(f);
	}
}

void module_pins_collect(struct module_pins *pins, uint64_t now_ns)
{
	if (pins->forgive_ns < now_ns) {
		hash_clear(pins->dead_devices);
		pins->forgive_ns = now_ns + FORGIVE_NS;
	}
	if (now_ns > KEEP_NS)
		forget_unused_since(pins, now_ns - KEEP_NS);
}

void module_pins_clear(struct module_pins *pins)
{
	forget_unused_since(pins, UINT64_MAX);
}

/* ---- opening ---- */

/* The clock of files ticks this slowly (CONFIG_HZ is 100 at least). */
#define FILE_TICK_NS (10 * NS_PER_MS)

static bool same_device(const struct statx *st, const struct mapped_code *code)
{
	return st->stx_dev_major == code->dev_major && st->stx_dev_minor == code->dev_minor;
}

/* Inode numbers are given away anew: was this file there, as it is, at that time? */
static bool unchanged_since(const struct statx *st, uint64_t time_ns)
{
	uint64_t age_ns = boot_ns() - time_ns, real_ns = clock_ns(CLOCK_REALTIME) - age_ns;
	uint64_t changed_ns = (uint64_t)st->stx_ctime.tv_sec * NS_PER_SEC + st->stx_ctime.tv_nsec;

	return changed_ns <= real_ns + FILE_TICK_NS;
}

/*
 * A file system on a block device answers by itself. The others may need a
 * server, or a process that does not mean to answer: those get one chance.
 */
int module_pins_open(struct module_pins *pins, const struct statx *st, int path_fd)
{
	uint64_t dev = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
	int fd;

	if (st->stx_dev_major != 0)
		return reopen_path(path_fd);
	if (hash_get_u64(pins->dead_devices, dev))
		return -EHOSTDOWN;
	fd = slow_open(path_fd, MAX_OPEN_NS);
	if (fd == -ETIMEDOUT) {
		log_warn("a file system (device %u:%u) does not answer, leaving out its programs",
			 st->stx_dev_major, st->stx_dev_minor);
		/* Out of memory: then it gets a second chance. */
		(void)hash_set_u64(pins->dead_devices, dev, pins);
	}
	return fd;
}

/*
 * Opens the file of an O_PATH descriptor if it is a regular one and can be the
 * mapped one. One found by its name has to prove it. The mapping's own link may
 * be of another device: btrfs and overlayfs show one there, and another here.
 * What is not a regular file is not opened: a device may do something then, a
 * FIFO may wait.
 */
static int open_if_mapped(struct module_pins *pins, int path_fd, const struct mapped_code *code,
			  bool by_name)
{
	struct statx st;

	/* Not from the server of a network file system, which may be dead. */
	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_CTIME, &st) < 0)
		return -errno;
	if (!S_ISREG(st.stx_mode))
		return -EINVAL;
	if (same_device(&st, code) ? st.stx_ino != code->inode : by_name)
		return -ESTALE;
	if (by_name && !unchanged_since(&st, code->time_ns))
		return -ESTALE;
	return module_pins_open(pins, &st, path_fd);
}

static int open_mapped(struct module_pins *pins, const struct mapped_code *code)
{
	char name[96];
	int path_fd, fd;

	snprintf(name, sizeof(name), "%u/map_files/%llx-%llx", code->tgid,
		 (unsigned long long)code->start, (unsigned long long)code->end);
	path_fd = openat(pins->proc_fd, name, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	fd = open_if_mapped(pins, path_fd, code, false);
	close(path_fd);
	return fd;
}

/*
 * By its name in the root of a process. Nothing outside of that root can be
 * reached. The kernel's names have no links in them, and no file system has to
 * be asked for one (RESOLVE_CACHED): the file was looked up to be executed.
 */
static int open_in_root(struct module_pins *pins, const char *pid, const struct mapped_code *code,
			const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_CACHED,
	};
	int root_fd, path_fd, fd;
	char name[32];

	snprintf(name, sizeof(name), "%s/root", pid);
	root_fd = openat(pins->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	path_fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	fd = path_fd < 0 ? -errno : open_if_mapped(pins, path_fd, code, true);
	if (path_fd >= 0)
		close(path_fd);
	close(root_fd);
	return fd;
}

/* ---- modules without a file ---- */

static struct module *named_module(struct module_pins *pins, const char *name)
{
	struct module *module = hash_get(pins->names, name, strlen(name));

	if (module)
		return module;
	if (hash_count(pins->names) >= MAX_NAMES)
		return symbolizer_pseudo_module(pins->sym, "[unknown]");
	module = symbolizer_pseudo_module(pins->sym, name);
	/* Out of memory: then it is asked for once more. */
	if (module && hash_set(pins->names, name, strlen(name), module) == 0)
		module_hold(module);
	return module;
}

/* "[libfoo.so]": which file it was is worth knowing even without its symbols. */
static struct module *missed_file(struct module_pins *pins, const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[NAME_MAX + 3];

	pins->n_missed++;
	snprintf(name, sizeof(name), "[%.*s]", NAME_MAX, slash ? slash + 1 : path);
	return named_module(pins, name);
}

/* ---- files ---- */

static bool same_generation(const struct file *f, const struct mapped_code *code)
{
	return f->generation == code->generation || f->generation == 0 || code->generation == 0;
}

static struct file *file_at(struct module_pins *pins, const struct file_key *key)
{
	struct file *f = hash_get(pins->files, key, sizeof(*key));

	if (f)
		return f;
	if (hash_count(pins->files) >= MAX_FILES)
		forget_files(pins);
	f = calloc(1, sizeof(*f));
	if (!f || hash_set(pins->files, key, sizeof(*key), f) < 0) {
		free(f);
		return NULL;
	}
	return f;
}

static int open_module(struct module_pins *pins, const struct mapped_code *code, const char *path,
		       struct module **ret)
{
	int fd = open_mapped(pins, code);
	char own[16];
	/* Most of those that are gone had the root that init has, or we. */
	const char *const pids[] = { own, "1", "self" };

	snprintf(own, sizeof(own), "%u", code->tgid);
	for (size_t i = 0; fd < 0 && i < sizeof(pids) / sizeof(pids[0]); i++)
		fd = open_in_root(pins, pids[i], code, path);
	if (fd < 0)
		return fd;
	return symbolizer_module(pins->sym, fd, path, ret);
}

static struct module *file_module(struct module_pins *pins, const struct mapped_code *code,
				  uint64_t now_ns)
{
	struct file_key key = { code->dev_major, code->dev_minor, code->inode };
	struct file *f = hash_get(pins->files, &key, sizeof(key));
	struct module *module;
	char path[PATH_MAX];
	size_t len;

	if (f && !same_generation(f, code)) {
		hash_remove(pins->files, &key, sizeof(key));
		file_free(f);
		f = NULL;
	}
	if (f)
		f->used_ns = now_ns;
	if (f && f->checked_ns + TRUST_NS > now_ns)
		return f->module;

	len = proc_path_len(code->name, code->name_len);
	if (len >= sizeof(path))
		len = sizeof(path) - 1;
	memcpy(path, code->name, len);
	path[len] = '\0';
	if (open_module(pins, code, path, &module) < 0)
		return f ? f->module : missed_file(pins, path);

	f = file_at(pins, &key);
	if (!f)
		return module;
	module_hold(module);
	if (f->module)
		module_release(f->module);
	*f = (struct file){ .module = module,
			    .generation = code->generation ? code->generation : f->generation,
			    .checked_ns = now_ns,
			    .used_ns = now_ns };
	return module;
}

struct module *module_pins_get(struct module_pins *pins, const struct mapped_code *code,
			       uint64_t now_ns)
{
	struct module *module = NULL;
	char name[32];

	if (!pins->sym)
		return NULL;
	switch (proc_code_kind(code->name, code->name_len, code->inode)) {
	case CODE_FILE:
		module = file_module(pins, code, now_ns);
		break;
	case CODE_VDSO:
		module = symbolizer_vdso(pins->sym);
		break;
	case CODE_ANON:
		module = named_module(pins, "[anon:exec]");
		break;
	case CODE_SPECIAL:
		snprintf(name, sizeof(name), "%.*s", (int)code->name_len, code->name);
		module = named_module(pins, name);
		break;
	}
	if (module)
		module_hold(module);
	return module;
}
