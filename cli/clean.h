/* SPDX-License-Identifier: Apache-2.0 */
/* clean.h - strings from elsewhere, names of files and processes, for a terminal. */
#ifndef CLEAN_H
#define CLEAN_H

/*
 * `s` (NULL: "") with all that a terminal would obey escaped. In one of a few
 * static buffers: enough for one printf.
 */
const char *clean(const char *s);

#endif
