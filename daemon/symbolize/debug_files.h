/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_files.h - opens the files in which a distribution or an administrator
 * has put the symbols of stripped programs. Never reads them.
 *
 * The names come from traced files, so where they may lead is bounded: below
 * /usr/lib/debug, and beside the program when every directory on the way, and
 * the file, belongs to root (or to us) and nobody else may write there. No
 * symbolic link is followed, but for those of a distribution below
 * /usr/lib/debug, and no file system that needs a server is asked.
 */
#ifndef DEBUG_FILES_H
#define DEBUG_FILES_H

#include <stddef.h>
#include <stdint.h>

struct debug_files;

/* `root`: "/", or where a test has put its own. */
int debug_files_new(const char *root, struct debug_files **ret);
void debug_files_free(struct debug_files *d); /* takes NULL */

/*
 * The next candidate, from `*pos` = 0 on: by build id, then by the base name
 * `link` beside `path`, in .debug/ there, and in the directory of that path
 * below /usr/lib/debug. `link` may be "". Whether it fits is for the caller to
 * find out. Returns a descriptor, or -ENOENT when there are no more.
 */
int debug_files_open(const struct debug_files *d, const uint8_t *build_id, size_t build_id_len,
		     const char *path, const char *link, unsigned *pos);

/*
 * What several debug files of a package share, by build id or, below
 * /usr/lib/debug, by its path there.
 */
int debug_files_open_alt(const struct debug_files *d, const uint8_t *build_id, size_t build_id_len,
			 const char *path);

#endif
