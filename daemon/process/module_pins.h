/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_pins.h - from an executable mapping of a process to the module behind
 * it, by opening the mapped file while it can be reached.
 *
 * A traced process controls the names of its files, so no name is ever opened
 * as such: the file is reached through /proc/PID/map_files, or by its name
 * within the root of the process (or of init, when the process is gone) and
 * then accepted only if it is the very inode that was mapped, unchanged since.
 * Nothing is read here, and only regular files are opened.
 */
#ifndef MODULE_PINS_H
#define MODULE_PINS_H

#include <stddef.h>
#include <stdint.h>

struct module;
struct module_pins;
struct symbolizer;

struct mapped_code {
	uint32_t tgid;
	uint64_t start, end;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint32_t generation; /* of the inode; 0: not known */
	uint64_t time_ns;    /* BOOTTIME: when it was mapped so, or was seen to be */
	const char *name;    /* not NUL-terminated */
	size_t name_len;
};

/*
 * `proc_fd` is a directory like /proc; it stays the caller's. Without `sym`
 * (tests) nothing is opened, and there are no modules.
 */
int module_pins_new(struct symbolizer *sym, int proc_fd, struct module_pins **ret);
void module_pins_free(struct module_pins *pins); /* takes NULL */

/*
 * The module of a mapping, held for the caller; at worst one that has only a
 * name. NULL: out of memory or of modules. A file seen within the last second
 * is not opened again.
 */
struct module *module_pins_get(struct module_pins *pins, const struct mapped_code *code,
			       uint64_t now_ns);

/*
 * Opens, for reading, the regular file of an O_PATH descriptor, which is
 * borrowed. `st` has its device. Never waits long: a file system that did not
 * answer is not asked again for a minute (-EHOSTDOWN).
 */
struct statx;
int module_pins_open(struct module_pins *pins, const struct statx *st, int path_fd);

/* About once a second: forgets files that nobody has mapped for a while. */
void module_pins_collect(struct module_pins *pins, uint64_t now_ns);
void module_pins_clear(struct module_pins *pins); /* at once */

/* Mappings whose file was gone before it could be opened. */
uint64_t module_pins_missed(const struct module_pins *pins);

#endif
