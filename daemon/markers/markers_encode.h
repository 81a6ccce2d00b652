/* SPDX-License-Identifier: Apache-2.0 */
/* markers_encode.h - the encoder half of the collector in collect/markers.c. */
#ifndef MARKERS_ENCODE_H
#define MARKERS_ENCODE_H

#include "collector.h"
#include "markers_payload.h"

int markers_encoder_new(const struct encoder_env *env, void **ret_encoder);
void markers_encoder_free(void *encoder);
int markers_encode(void *encoder, const struct event_hdr *hdr);
int markers_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool markers_is_machine_wide(const struct event_hdr *hdr);

#endif
