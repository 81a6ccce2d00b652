/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_files.c - snapshots that triggers of tracerd.conf write.
 *
 * A file has a name that begins with a dot until it is whole, so that nobody takes a half one;
 * what an earlier tracerd has left of those is removed. Then the oldest go, until what is left
 * is within the section's bounds.
 */
#include "trigger/trigger_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"
#include "log.h"
#include "trigger/trigger_dir.h"

struct file_trigger {
	struct trigger_files *all;
	struct trigger_config config;
	struct trigger_wait *wait;

	/* One that is being written; NULL: none. */
	struct flight_snapshot *snapshot;
	int fd;
	uint64_t bytes;
	char name[TRIGGER_FILE_NAME], part[TRIGGER_FILE_NAME + 1];

	uint64_t last_ns; /* when one was begun; 0: never */
	uint64_t n_files, n_too_soon, n_failed;
	char last[TRIGGER_FILE_NAME], why[TRIGGER_WHY_LEN];
};

struct trigger_files {
	struct trigger_files_env env;
	int dir_fd;
	unsigned n;
	struct file_trigger list[TRIGGER_CONFIGS];
};

const char *trigger_files_dir(void)
{
	static char dir[PATH_MAX];
	const char *list = getenv("STATE_DIRECTORY");
	size_t len = list ? strcspn(list, ":") : 0;

	if (len == 0 || len >= sizeof(dir))
		return "/var/lib/tracer";
	memcpy(dir, list, len);
	dir[len] = '\0';
	return dir;
}

/* ---- one file ---- */

static void failed(struct file_trigger *ft, const char *what, const char *why)
{
	ft->n_failed++;
	snprintf(ft->why, sizeof(ft->why), "%s: %s", what, why);
	log_warn("trigger %s: %s", ft->config.name, ft->why);
}

/* The flight_sink_fn. A piece goes to the page cache, in some milliseconds. */
static int write_piece(void *ctx, const void *data, size_t len)
{
	struct file_trigger *ft = ctx;

	if (len > ft->config.size_bytes - ft->bytes)
		return -EFBIG;
	ft->bytes += len;
	return io_write_all(ft->fd, data, len);
}

static void remove_part(struct file_trigger *ft)
{
	close(ft->fd);
	ft->fd = -1;
	(void)unlinkat(ft->all->dir_fd, ft->part, 0);
}

static const char *explain(int err, const char *why)
{
	if (err == -EFBIG)
		return "one file is larger than max_size";
	return why && why[0] ? why : strerror(-err);
}

/* The flight_done_fn. */
static void on_done(void *ctx, int err, const char *why, const struct flight_info *info)
{
	struct file_trigger *ft = ctx;

	(void)info;
	ft->snapshot = NULL;
	if (err == 0 &&
	    renameat2(ft->all->dir_fd, ft->part, ft->all->dir_fd, ft->name, RENAME_NOREPLACE) < 0)
		err = -errno;
	if (err < 0) {
		remove_part(ft);
		failed(ft, ft->name, explain(err, why));
		return;
	}
	close(ft->fd);
	ft->fd = -1;
	ft->n_files++;
	ft->why[0] = '\0';
	strcpy(ft->last, ft->name);
	log_info("trigger %s: wrote %s/%s", ft->config.name, ft->all->env.dir, ft->name);
	err = trigger_dir_prune(ft->all->dir_fd, ft->config.name, ft->config.keep,
				ft->config.size_bytes);
	if (err < 0)
		failed(ft, "cannot remove what is over keep and max_size", strerror(-err));
}

/* Opens the file for one that fires now. */
static int open_part(struct file_trigger *ft)
{
	trigger_dir_name(ft->config.name, time(NULL), ft->name);
	snprintf(ft->part, sizeof(ft->part), ".%s", ft->name);
	ft->bytes = 0;
	ft->fd = openat(ft->all->dir_fd, ft->part,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (ft->fd < 0)
		return -errno;
	/* Whatever the umask says: the group may have all of it by snapshots. */
	(void)fchmod(ft->fd, 0640);
	return 0;
}

/* Of trigger_wait_env. */
static void on_due(void *ctx, const struct trigger_spec *spec, const struct trigger_fired *first)
{
	struct file_trigger *ft = ctx;
	struct flight_request request = {
		.last_ns = ft->config.last_ns, .sink = write_piece, .done = on_done, .ctx = ft
	};
	uint64_t now_ns = boot_ns();
	char line[64], why[WHY_LEN] = "";
	int r;

	if (ft->snapshot || (ft->last_ns && now_ns < ft->last_ns + ft->config.min_interval_ns)) {
		ft->n_too_soon++;
		return;
	}
	log_info("trigger %s: %s: %s", ft->config.name, spec->text, first->what);
	r = open_part(ft);
	if (r < 0) {
		failed(ft, ft->name, strerror(-r));
		return;
	}
	snprintf(line, sizeof(line), "[trigger %s]", ft->config.name);
	request.command_line = line;
	ft->last_ns = now_ns;
	r = ft->all->env.snapshot(ft->all->env.ctx, &request, why, &ft->snapshot);
	if (r == 0)
		return;
	ft->snapshot = NULL;
	remove_part(ft);
	failed(ft, "there is no snapshot", explain(r, why));
}

/* ---- life ---- */

static int arm(struct file_trigger *ft)
{
	static struct trigger_spec specs[TRIGGER_CONFIG_ON]; /* too large for the stack */
	char by[TRIGGER_BY_LEN];
	struct trigger_wait_env env = {
		.loop = ft->all->env.loop,
		.triggers = ft->all->env.triggers,
		.by = by,
		.after_ns = ft->config.after_ns,
		.due = on_due,
		.ctx = ft,
	};
	int r = 0;

	snprintf(by, sizeof(by), "[trigger %s]", ft->config.name);
	for (unsigned i = 0; i < ft->config.n_on && r == 0; i++)
		r = trigger_spec_parse(ft->config.on[i], &specs[i], ft->why);
	if (r == 0)
		r = trigger_wait_new(&env, specs, ft->config.n_on, ft->why, &ft->wait);
	if (r == 0)
		ft->why[0] = '\0';
	return r;
}

int trigger_files_new(const struct trigger_files_env *env, const struct trigger_configs *configs,
		      struct trigger_files **ret)
{
	struct trigger_files *tf = calloc(1, sizeof(*tf));

	if (!tf)
		return -ENOMEM;
	tf->env = *env;
	tf->n = configs->n;
	tf->dir_fd = configs->n ? trigger_dir_open(env->dir) : -1;
	for (unsigned i = 0; i < tf->n; i++) {
		struct file_trigger *ft = &tf->list[i];

		ft->all = tf;
		ft->config = configs->list[i];
		ft->fd = -1;
		if (tf->dir_fd < 0)
			snprintf(ft->why, sizeof(ft->why), "%s: %s", env->dir,
				 strerror(-tf->dir_fd));
		else if (arm(ft) == 0)
			continue;
		log_warn("trigger %s is not waited for: %s", ft->config.name, ft->why);
	}
	*ret = tf;
	return 0;
}

void trigger_files_free(struct trigger_files *tf)
{
	if (!tf)
		return;
	for (unsigned i = 0; i < tf->n; i++) {
		struct file_trigger *ft = &tf->list[i];

		trigger_wait_free(ft->wait);
		if (!ft->snapshot)
			continue;
		tf->env.cancel(tf->env.ctx, ft->snapshot);
		remove_part(ft);
	}
	if (tf->dir_fd >= 0)
		close(tf->dir_fd);
	free(tf);
}

void trigger_files_each(const struct trigger_files *tf, trigger_files_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < tf->n; i++) {
		const struct file_trigger *ft = &tf->list[i];
		const struct trigger_files_status status = {
			.config = &ft->config,
			.n_fired = ft->wait ? trigger_wait_count(ft->wait) : 0,
			.n_files = ft->n_files,
			.n_too_soon = ft->n_too_soon,
			.n_failed = ft->n_failed,
			.dir = tf->env.dir,
			.last = ft->last,
			.why = ft->why,
		};

		fn(ctx, &status);
	}
}
