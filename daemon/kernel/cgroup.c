/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c - which cgroup (v2) lies in which.
 *
 * A cgroup's id is its inode number and, as the kernel's file handle type for
 * kernfs, enough to open it (open_by_handle_at, CAP_DAC_READ_SEARCH). The way
 * up is then "..".
 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"

#define FILEID_KERNFS 0xfe
#define MAX_DEPTH     64
#define MAX_KNOWN     65536
#define ID_LEN	      64 /* of a container, in hexadecimal; the first 12 are enough for people */
#define SHORT_ID_LEN  12

/* The mount point of cgroup2, from the first line of mountinfo that is one. */
static int open_cgroup2(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], path[4096];
	int fd = -ENOENT;

	if (!f)
		return -errno;
	while (fd < 0 && fgets(line, sizeof(line), f)) {
		if (!strstr(line, " - cgroup2 ") ||
		    sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1)
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	fclose(f);
	return fd;
}

static int open_by_id(int mount_fd, uint64_t id)
{
	union {
		struct file_handle head;
		uint8_t room[sizeof(struct file_handle) + sizeof(id)];
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	int fd;

	memcpy(handle.room + sizeof(struct file_handle), &id, sizeof(id));
	fd = open_by_handle_at(mount_fd, &handle.head, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool walk_up(int fd, uint64_t root)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		struct stat st, up;
		int parent;

		if (fstat(fd, &st) < 0)
			break;
		if (st.st_ino == root) {
			close(fd);
			return true;
		}
		parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			break;
		close(fd);
		fd = parent;
		if (fstat(fd, &up) < 0 || up.st_dev != st.st_dev || up.st_ino == st.st_ino)
			break; /* above the mount */
	}
	close(fd);
	return false;
}

/* Once: this is asked for every event. */
static int mount(void)
{
	static int mount_fd = -1;
	static bool tried;

	if (!tried)
		mount_fd = open_cgroup2();
	tried = true;
	return mount_fd;
}

bool cgroup_contains(uint64_t root, uint64_t id)
{
	static struct hash *known; /* { root, id } -> 1: inside, 2: outside */
	const uint64_t key[] = { root, id };
	uintptr_t answer;
	int fd;

	if (root == id)
		return true;
	if (!known && hash_new(&known) < 0)
		return false;
	answer = (uintptr_t)hash_get(known, key, sizeof(key));
	if (answer)
		return answer == 1;
	if (mount() < 0)
		return false;
	fd = open_by_id(mount(), id);
	answer = fd >= 0 && walk_up(fd, root) ? 1 : 2;
	if (hash_count(known) >= MAX_KNOWN)
		hash_clear(known);
	/* Out of memory: it is found out again the next time. */
	(void)hash_set(known, key, sizeof(key), (void *)answer);
	return answer == 1;
}

/* ---- containers ---- */

/* What is behind a prefix, without the suffix that units have. */
static bool name_behind(const char *part, const char *prefix, char ret[CGROUP_NAME_LEN])
{
	size_t len = strlen(prefix);
	char *dot;

	if (strncmp(part, prefix, len) != 0 || !part[len])
		return false;
	snprintf(ret, CGROUP_NAME_LEN, "%s", part + len);
	dot = strrchr(ret, '.');
	if (dot && (strcmp(dot, ".scope") == 0 || strcmp(dot, ".service") == 0))
		*dot = '\0';
	return true;
}

/* "docker-ID.scope", "libpod-ID.scope", "cri-containerd-ID.scope", "crio-ID", or just ID. */
static bool is_id(const char *part, char ret[CGROUP_NAME_LEN])
{
	size_t len = strcspn(part, ".");
	const char *id = part + (len > ID_LEN ? len - ID_LEN : 0);

	if (len < ID_LEN || (id > part && id[-1] != '-') || strspn(id, "0123456789abcdef") < ID_LEN)
		return false;
	snprintf(ret, CGROUP_NAME_LEN, "%.*s", SHORT_ID_LEN, id);
	return true;
}

/* The outermost one, as its host sees it. */
static bool container_of_path(char *path, char ret[CGROUP_NAME_LEN])
{
	char *rest = NULL;

	for (char *part = strtok_r(path, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
		if (is_id(part, ret) || name_behind(part, "lxc.payload.", ret) ||
		    name_behind(part, "systemd-nspawn@", ret) || name_behind(part, "machine-", ret))
			return true;
	return false;
}

static bool find_container(uint64_t id, char ret[CGROUP_NAME_LEN])
{
	char link[32], path[4096];
	int fd = mount() >= 0 ? open_by_id(mount(), id) : -1;
	ssize_t n;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (n < 0)
		return false;
	path[n] = '\0';
	return container_of_path(path, ret);
}

bool cgroup_container(uint64_t id, char ret[CGROUP_NAME_LEN])
{
	static struct hash *known; /* id -> its name; "": none */
	char *name;

	if (id == 0 || (!known && hash_new(&known) < 0))
		return false;
	name = hash_get_u64(known, id);
	if (!name) {
		if (!find_container(id, ret))
			ret[0] = '\0';
		/* Beyond, and without memory, it is found out again the next time. */
		name = hash_count(known) < MAX_KNOWN ? strdup(ret) : NULL;
		if (name && hash_set_u64(known, id, name) < 0)
			free(name);
		return ret[0];
	}
	snprintf(ret, CGROUP_NAME_LEN, "%s", name);
	return ret[0];
}
