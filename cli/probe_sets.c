/* SPDX-License-Identifier: Apache-2.0 */
/* probe_sets.c - files of probes, the sets that are installed, and the options that name them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean.h"
#include "io.h"
#include "probe_text.h"

#define MAX_FILE (1u << 20)
/* From where tracectl is: built, or installed, wherever that is. */
#define BUILT	   "/probes"
#define BESIDE_BIN "/../share/tracer/probes"

const char *probe_sets_dir(void)
{
	static char path[PATH_MAX];
	const char *dir = getenv("TRACER_PROBES");
	ssize_t n;
	char *slash;

	if (dir && *dir)
		return dir;
	n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(BESIDE_BIN));
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	slash = slash ? slash : path;
	strcpy(slash, BUILT);
	if (access(path, X_OK) < 0)
		strcpy(slash, BESIDE_BIN);
	return path;
}

int probe_text_file(const char *path, struct probe_list *list, char *err, size_t err_size)
{
	struct buf text = { 0 };
	char reason[400] = "";
	int r = io_read_all(path, MAX_FILE, &text);

	if (r == 0)
		r = buf_append(&text, "", 1);
	if (r < 0)
		snprintf(err, err_size, "%s: %s", path, strerror(-r));
	if (r == 0) {
		r = probe_text_parse((const char *)text.data, list, reason, sizeof(reason));
		if (r < 0)
			snprintf(err, err_size, "%s: %s", path, reason);
	}
	buf_done(&text);
	return r;
}

static int add_set(const char *name, struct probe_list *list, char *err, size_t err_size)
{
	char path[4096];
	int r;

	if (strchr(name, '/') || *name == '.') {
		snprintf(err, err_size, "'%s' is no set of probes: a file goes with --probe-file",
			 name);
		return -EINVAL;
	}
	snprintf(path, sizeof(path), "%s/%s.probe", probe_sets_dir(), name);
	r = probe_text_file(path, list, err, err_size);
	if (r == -ENOENT)
		snprintf(err, err_size,
			 "there is no set of probes '%s': 'tracectl probe sets' lists them", name);
	return r;
}

int probe_text_sets(const char *names, struct probe_list *list, char *err, size_t err_size)
{
	char *copy = strdup(names), *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (name = strsep(&rest, ",")) != NULL)
		r = add_set(name, list, err, err_size);
	free(copy);
	return r;
}

int probe_option(int option, const char *arg, struct probe_list *list)
{
	char err[512] = "out of memory";
	int r;

	switch (option) {
	case OPT_PROBE:
		r = probe_text_parse(arg, list, err, sizeof(err));
		break;
	case OPT_PROBE_FILE:
		r = probe_text_file(arg, list, err, sizeof(err));
		break;
	default:
		r = probe_text_sets(arg, list, err, sizeof(err));
	}
	if (r < 0)
		fprintf(stderr, "tracectl: %s\n", clean(err));
	return r < 0 ? -EINVAL : 0;
}
