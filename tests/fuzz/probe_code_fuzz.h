/* SPDX-License-Identifier: Apache-2.0 */
/* probe_code_fuzz.h - shared by the fuzzers of what becomes code of probes. */
#ifndef PROBE_CODE_FUZZ_H
#define PROBE_CODE_FUZZ_H

#include "probe/probe_compile.h"
#include "probe/probe_types.h"

/* Compiles it; aborts if the code is none, or if nothing is said of why there is none. */
void probe_code_fuzz(const struct probe_def *def, const struct probe_types *types);

#endif
