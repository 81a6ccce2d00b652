/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - the files of code that exist, each once, and their descriptors. */
#include "modules.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "elf_debug.h"

/* About a kilobyte each. A machine that builds software all day has some thousands. */
#define MAX_MODULES 65536

/* And at most half of what the daemon may have open. */
#define MAX_DESCRIPTORS 1024

/* How long after the last mapping is gone its samples may still come in. */
#define CLOSE_AFTER_NS (30 * NS_PER_SEC)

struct modules {
	struct hash *by_file, *by_name;
	struct module_list open; /* with a descriptor, longest unused first */
	struct module_list idle; /* nobody holds them any more */
	size_t n, n_open, n_files;
	uint64_t last_id, now_ns;
};

/* What makes two descriptors the same file with the same content. */
struct file_key {
	uint64_t dev, ino, size;
	int64_t ctime_s, ctime_ns; /* no holes: the bytes are the key */
};

int modules_new(struct modules **ret)
{
	struct modules *ms = calloc(1, sizeof(*ms));
	int r;

	if (!ms)
		return -ENOMEM;
	TAILQ_INIT(&ms->open);
	TAILQ_INIT(&ms->idle);
	r = hash_new(&ms->by_file);
	if (r == 0)
		r = hash_new(&ms->by_name);
	if (r < 0) {
		modules_free(ms);
		return r;
	}
	*ret = ms;
	return 0;
}

static struct hash *table_of(const struct code_module *m)
{
	return m->type == MODULE_FILE ? m->owner->by_file : m->owner->by_name;
}

void modules_close(struct code_module *m)
{
	if (m->fd < 0)
		return;
	close(m->fd);
	m->fd = -1;
	TAILQ_REMOVE(&m->owner->open, m, fd_link);
	m->owner->n_open--;
}

static void adopt(struct code_module *m, int fd)
{
	m->fd = fd;
	TAILQ_INSERT_TAIL(&m->owner->open, m, fd_link);
	m->owner->n_open++;
}

void modules_touch(struct code_module *m)
{
	if (m->fd < 0)
		return;
	TAILQ_REMOVE(&m->owner->open, m, fd_link);
	TAILQ_INSERT_TAIL(&m->owner->open, m, fd_link);
}

static void free_module(struct code_module *m)
{
	modules_close(m);
	free(m->pub.path);
	free(m->debug.said);
	free(m->key);
	free(m);
}

static void free_all(struct hash *h)
{
	size_t pos = 0;
	void *m;

	while (h && hash_next(h, &pos, NULL, NULL, &m))
		free_module(m);
	hash_free(h);
}

void modules_free(struct modules *ms)
{
	if (!ms)
		return;
	free_all(ms->by_file);
	free_all(ms->by_name);
	free(ms);
}

static int add(struct modules *ms, enum module_type type, const char *path, const void *key,
	       size_t key_len, struct code_module **ret)
{
	struct code_module *m;
	int r = -ENOMEM;

	if (type != MODULE_KERNEL && ms->n >= MAX_MODULES)
		return -ENOSPC;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->owner = ms;
	m->type = type;
	m->fd = -1;
	TAILQ_INIT(&m->waiting);
	m->pub.path = strndup(path, PATH_MAX);
	m->key = malloc(key_len);
	if (!m->pub.path || !m->key)
		goto fail;
	memcpy(m->key, key, key_len);
	m->key_len = key_len;
	r = hash_set(table_of(m), key, key_len, m);
	if (r < 0)
		goto fail;
	m->pub.id = ++ms->last_id;
	ms->n += type != MODULE_KERNEL;
	ms->n_files += type == MODULE_FILE;
	*ret = m;
	return 0;

fail:
	free_module(m);
	return r;
}

static void forget(struct code_module *m)
{
	struct modules *ms = m->owner;

	TAILQ_REMOVE(&ms->idle, m, idle_link);
	hash_remove(table_of(m), m->key, m->key_len);
	ms->n -= m->type != MODULE_KERNEL;
	ms->n_files -= m->type == MODULE_FILE;
	free_module(m);
}

/* What is known without asking the server of a network or FUSE file system, which may hang. */
static int identify(int fd, struct file_key *ret)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_SIZE | STATX_CTIME, &st) < 0)
		return -errno;
	if (!S_ISREG(st.stx_mode))
		return -EINVAL;
	*ret = (struct file_key){
		.dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.ino = st.stx_ino,
		.size = st.stx_size,
		.ctime_s = st.stx_ctime.tv_sec,
		.ctime_ns = st.stx_ctime.tv_nsec,
	};
	return 0;
}

int modules_by_file(struct modules *ms, int fd, const char *path, struct code_module **ret)
{
	struct file_key key;
	struct code_module *m;
	int r;

	r = identify(fd, &key);
	if (r < 0)
		goto out;
	m = hash_get(ms->by_file, &key, sizeof(key));
	if (!m)
		r = add(ms, MODULE_FILE, path, &key, sizeof(key), &m);
	if (r < 0)
		goto out;
	if (m->fd < 0 && !m->is_failed) {
		adopt(m, fd);
		fd = -1;
	}
	modules_touch(m);
	*ret = m;
out:
	if (fd >= 0)
		close(fd);
	return r;
}

int modules_keep_debug(struct code_module *m, const struct elf_debug *said)
{
	if (!m->debug.said)
		m->debug.said = malloc(sizeof(*said));
	if (!m->debug.said)
		return -ENOMEM;
	*m->debug.said = *said;
	return 0;
}

/*
 * The name may be somebody else's by now, so nothing is opened before it is known
 * to be what was mapped. RESOLVE_CACHED: no file system has to be asked for it.
 */
int modules_reopen(const struct code_module *m)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_CACHED };
	struct file_key key = { 0 };
	char name[64];
	int path_fd, fd = -1;

	if (m->type != MODULE_FILE || m->pub.path[0] != '/')
		return -1;
	path_fd = (int)syscall(SYS_openat2, AT_FDCWD, m->pub.path, &how, sizeof(how));
	if (path_fd < 0)
		return -1;
	/* Another file system than one on a block device may never answer to an open(). */
	if (identify(path_fd, &key) == 0 && key.dev >> 32 != 0 &&
	    memcmp(m->key, &key, sizeof(key)) == 0) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	close(path_fd);
	return fd < 0 ? -1 : fd;
}

struct code_module *modules_by_name(struct modules *ms, enum module_type type, const char *name)
{
	char key[PATH_MAX + 1];
	size_t len = strnlen(name, PATH_MAX);
	struct code_module *m;

	key[0] = (char)type;
	memcpy(key + 1, name, len);
	m = hash_get(ms->by_name, key, len + 1);
	if (!m && add(ms, type, name, key, len + 1, &m) < 0)
		return NULL;
	return m;
}

void module_hold(struct module *module)
{
	struct code_module *m = (struct code_module *)module;

	if (m->n_refs++ == 0 && m->was_held)
		TAILQ_REMOVE(&m->owner->idle, m, idle_link);
	m->was_held = true;
}

void module_release(struct module *module)
{
	struct code_module *m = (struct code_module *)module;

	assert(m->n_refs > 0);
	if (--m->n_refs > 0)
		return;
	m->idle_since_ns = m->owner->now_ns;
	TAILQ_INSERT_TAIL(&m->owner->idle, m, idle_link);
}

/* The limit may be raised while we run. */
static size_t max_open(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur / 2 > MAX_DESCRIPTORS)
		return MAX_DESCRIPTORS;
	return rl.rlim_cur / 2;
}

static void close_beyond(struct modules *ms, size_t max)
{
	struct code_module *m = TAILQ_FIRST(&ms->open), *next;

	for (; m && ms->n_open > max; m = next) {
		next = TAILQ_NEXT(m, fd_link);
		if (m->n_busy == 0)
			modules_close(m);
	}
}

/* All of them each time: with every module idle this takes some milliseconds. */
static void collect_idle(struct modules *ms)
{
	struct code_module *m, *next;

	for (m = TAILQ_FIRST(&ms->idle); m; m = next) {
		next = TAILQ_NEXT(m, idle_link);
		if (m->n_busy > 0)
			continue;
		if (m->n_locations == 0)
			forget(m);
		else if (ms->now_ns - m->idle_since_ns >= CLOSE_AFTER_NS)
			modules_close(m);
	}
}

bool modules_collect(struct modules *ms, uint64_t now_ns)
{
	ms->now_ns = now_ns;
	close_beyond(ms, max_open());
	collect_idle(ms);
	return ms->n > MAX_MODULES / 4 * 3;
}

size_t modules_n_files(const struct modules *ms)
{
	return ms->n_files;
}
