/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - strings from elsewhere: make them printable, parse numbers out of them. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies `len` bytes into `dst` (NUL-terminated, cut at a character's border)
 * as valid UTF-8: what is not becomes U+FFFD. Returns the length.
 */
size_t text_utf8(char *dst, size_t dst_size, const void *src, size_t len);
bool text_is_utf8(const void *src, size_t len);

/*
 * The same for a terminal: also escapes C0, DEL, C1 and bidirectional controls
 * as \xNN or \uNNNN.
 */
size_t text_printable(char *dst, size_t dst_size, const void *src, size_t len);

/* Whole-string parsers: 0, -EINVAL (not a number), -ERANGE (outside min..max). */
int text_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
int text_duration_ns(const char *s, uint64_t max_ns,
		     uint64_t *ret);			    /* "10s", "250ms", "5m", "1h" */
int text_bytes(const char *s, uint64_t max, uint64_t *ret); /* "64M", "4096", "8K", "1G" */

/* "0-3,8,10-11" as in /sys/devices/system/cpu/online; sets at most `max` bools. Returns the count.
 */
int text_cpu_list(const char *s, bool *set, size_t max);

#endif
