/* SPDX-License-Identifier: Apache-2.0 */
/* probe_machine.h - runs the code of a probe as bpf/probes.bpf.c does, over memory of a test. */
#ifndef PROBE_MACHINE_H
#define PROBE_MACHINE_H

#include "probe/probe_compile.h"

#define MACHINE_REGIONS 8

struct machine {
	uint8_t regs[336]; /* struct pt_regs */
	struct {
		uint64_t at;
		const void *bytes;
		size_t len;
	} regions[MACHINE_REGIONS];
	size_t n_regions;
	/* Or that of a process; false: there is nothing. */
	bool (*read)(void *ctx, uint64_t at, void *dst, size_t len);
	void *read_ctx;
	const void *record; /* of a tracepoint; lies at `record_at` */
	size_t record_len;
	uint64_t record_at;
	uint64_t task[5];

	/* What came of it. */
	bool is_unwanted;
	bool has_key, has_counter;
	uint64_t key, counter;
	size_t n_values;
	struct {
		bool is_text, is_unreadable;
		uint64_t number;
		char text[PROBES_TEXT + 1];
	} values[PROBES_ARGS];
};

void machine_memory(struct machine *m, uint64_t at, const void *bytes, size_t len);
void machine_register(struct machine *m, unsigned offset, uint64_t value);
/* False: the code does what it must not: jumps or registers beyond the end, no end. */
bool machine_run(struct machine *m, const struct probe_code *code);

#endif
