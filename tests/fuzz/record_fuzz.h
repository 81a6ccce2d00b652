/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_fuzz.h - any bytes as records of a collector, up to the packets, for
 * fuzzers. What the encoder takes is accounted for, and a trace that begins as
 * the daemon's do is a good one.
 */
#ifndef RECORD_FUZZ_H
#define RECORD_FUZZ_H

#include "buf.h"
#include "collector.h"
#include "trace_check.h"
#include "trace_writer.h"

#define RECORD_START_NS 1000 /* of an encoder whose records keep their times */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct record_fuzz {
	const char *name;		   /* of the collector that is tried; or instead */
	const struct collector *collector; /* functions that have the shape of one */
	struct trace_config config;
	uint16_t unfinished; /* records of this type are no events of the ledger */
	/* Once, before the first encoder. Optional. */
	void (*set_up)(const struct encoder_env *env);
	/*
	 * So that not every input is one record of a wrong length after the other:
	 * half of those of at least `fit_from` bytes. Their size is right already. Optional.
	 */
	void (*fit)(struct event_hdr *ev, size_t len);
	size_t fit_from;
	/* Makes of a valid record one that has to do with others. Optional. */
	void (*tame)(struct event_hdr *ev);
	/* It starts now, and what is written is checked, but for these kinds of findings. */
	bool is_checked;
	bool unchecked[N_CHECK_KINDS];

	/* After record_fuzz_begin(). The symbolizer never starts: names of files never come. */
	struct encoder_env env;
	void *encoder;
	uint64_t n_events;
	bool refuse, has_refused; /* blocks that are not essential */
	struct buf file;
};

/*
 * All of it for an input that is records of two bytes of length and as many
 * bytes. Returns 0.
 */
int record_fuzz_run(struct record_fuzz *f, const uint8_t *data, size_t size);

/* Or step by step. */
void record_fuzz_begin(struct record_fuzz *f);
void record_fuzz_record(struct record_fuzz *f, const void *data, size_t len);
void record_fuzz_flush(struct record_fuzz *f, uint64_t now_ns, bool final);
void record_fuzz_block(struct record_fuzz *f, bool refuse); /* goes to the sink; so do later ones */
/* Returns how many events the encoder has left out. */
uint64_t record_fuzz_end(struct record_fuzz *f, uint64_t now_ns);

#endif
