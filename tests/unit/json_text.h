/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - whether a text is one line of JSON; for tests and fuzzers. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* One object and a newline, UTF-8, nothing in it that a terminal obeys, no member twice. */
bool json_text_is_line(const char *text, size_t len);

#endif
