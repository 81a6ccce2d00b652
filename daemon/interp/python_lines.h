/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_lines.h - the source line of an instruction of CPython's.
 *
 * Format: co_linetable of CPython 3.11 on, described in its Objects/locations.md
 * (PEP 626 and 657). The table comes from the traced process and may be anything.
 */
#ifndef PYTHON_LINES_H
#define PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of instruction `unit` (counted in units of two bytes) of a function
 * whose first line is `first_line`. 0: the compiler gave it none, the table ends
 * before, or makes no sense.
 */
int32_t python_line(const uint8_t *table, size_t len, int32_t first_line, uint32_t unit);

#endif
