/* SPDX-License-Identifier: Apache-2.0 */
/* probes_encode.h - the encoder half of the collector in collect/probes.c. */
#ifndef PROBES_ENCODE_H
#define PROBES_ENCODE_H

#include "collector.h"
#include "probe/probes_record.h"

int probes_encoder_new(const struct encoder_env *env, void **ret_encoder);
void probes_encoder_free(void *encoder);
int probes_encode(void *encoder, const struct event_hdr *hdr);
int probes_encoder_flush(void *encoder, uint64_t now_ns, bool final);
bool probes_encoder_pending(void *encoder);
const uint64_t *probes_encoder_stack_ends(void *encoder);
bool probes_is_machine_wide(const struct event_hdr *hdr);

#endif
