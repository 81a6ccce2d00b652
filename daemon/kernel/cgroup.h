/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - which cgroup (v2) lies in which, by their ids. */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is `id` the cgroup `root` or below it? What has been found out is remembered:
 * a cgroup never moves. False for one that is gone and was never asked about.
 */
bool cgroup_contains(uint64_t root, uint64_t id);

#define CGROUP_NAME_LEN 64

/*
 * The container that the cgroup `id` is of, as its path tells: the short id of Docker,
 * Podman, CRI-O or containerd, or the name of LXC and systemd-nspawn. False: none. Remembered.
 */
bool cgroup_container(uint64_t id, char ret[CGROUP_NAME_LEN]);

#endif
