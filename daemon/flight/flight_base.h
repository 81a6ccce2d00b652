/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_base.h - who lived when a ring of segments begins: what the segments that were given
 * up had said of processes and threads, as far as it still holds, and of the GPUs.
 *
 * A segment says what has changed; the tree is told whole once, when the recording begins.
 * So it takes no room in the ring, however many threads there are, and a snapshot has one.
 */
#ifndef FLIGHT_BASE_H
#define FLIGHT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct flight_base;
struct trace_writer;

int flight_base_new(struct flight_base **ret);
void flight_base_free(struct flight_base *b); /* takes NULL */

/*
 * A block of essential packets that is given up. What it says holds with the next
 * flight_base_apply(), once the whole segment has been noted: it is not in order of time.
 */
int flight_base_note(struct flight_base *b, const struct buf *packets);
int flight_base_apply(struct flight_base *b);

bool flight_base_has_process(const struct flight_base *b, int32_t pid);
bool flight_base_has_thread(const struct flight_base *b, int32_t tid);
size_t flight_base_bytes(const struct flight_base *b);
size_t flight_base_n_threads(const struct flight_base *b);

/* All of it as of `time_ns`. */
int flight_base_write(const struct flight_base *b, struct trace_writer *w, uint64_t time_ns);

#endif
