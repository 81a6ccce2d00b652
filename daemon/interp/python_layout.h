/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_layout.h - where CPython keeps its frames, by version.
 *
 * Up to 3.12 a table written here, from the headers of each version; from 3.13
 * on the interpreter describes itself at the start of _PyRuntime, and what it
 * says is checked. A version that is not known is not guessed.
 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "python.h"

/* Of _PyRuntime's first bytes, as they are in the file; read for the self-description. */
#define PYTHON_RUNTIME_BYTES 576

/*
 * `version` is the value of Py_Version (PY_VERSION_HEX: 0x030b02f0 is 3.11.2),
 * `runtime` the first `len` bytes of _PyRuntime. 0, or -ENOTSUP with the reason
 * in `*ret_why`: not a version that is known, or a description that cannot be.
 */
int python_layout(uint32_t version, const void *runtime, size_t len, struct python_layout *ret,
		  const char **ret_why);

#endif
