/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_meter.h - how long BPF programs run, of which the kernel measures a part.
 *
 * It reads a clock before and after each run, which in a virtual machine costs as much as
 * a tenth of our larger programs. So it is asked to for a moment several times a second,
 * and what runs in between is taken to cost as much as it did in the moment before.
 */
#ifndef BPF_METER_H
#define BPF_METER_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

struct bpf_cost {
	uint64_t runs, ns;
	/*
	 * Of `ns`, that of programs on classic tracepoints: meanwhile the kernel runs no
	 * program of a perf event on that CPU, and takes no sample.
	 */
	uint64_t unsampled_ns;
};

void bpf_cost_add(struct bpf_cost *to, const struct bpf_cost *cost);
/* Adds what the kernel has measured of the programs of `obj`. */
void bpf_cost_add_object(struct bpf_cost *to, struct bpf_object *obj);

/* All 0: of programs that have not run, and are not measured. */
struct bpf_meter {
	bool is_open;
	uint64_t since_ns; /* BOOTTIME when that was last changed */
	struct bpf_cost total;
	struct bpf_cost seen;	/* open: what the kernel had measured by then */
	struct bpf_cost window; /* closed: what it measured in the `window_ns` before */
	uint64_t window_ns;
};

/* The kernel measures from now on, or no more. `measured`: what it has measured so far. */
void bpf_meter_open(struct bpf_meter *m, const struct bpf_cost *measured, uint64_t now_ns);
void bpf_meter_close(struct bpf_meter *m, const struct bpf_cost *measured, uint64_t now_ns);

/* So far. Never less than before. */
struct bpf_cost bpf_meter_read(const struct bpf_meter *m, const struct bpf_cost *measured,
			       uint64_t now_ns);

#endif
