/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_libraries.h - the libraries of GPU APIs that the system has, where its dynamic
 * linker looks for them: so that the first call of the first process is seen.
 */
#ifndef GPU_LIBRARIES_H
#define GPU_LIBRARIES_H

/* `fd`, of a regular file, is taken over; `path` is for display. */
typedef void gpu_library_fn(void *ctx, int fd, const char *path);

/*
 * Calls `fn` for each file of that kind in directories that only root can write to,
 * once for each of its names. `root` is "/" but for tests.
 */
void gpu_libraries_find(const char *root, gpu_library_fn *fn, void *ctx);

#endif
