/* SPDX-License-Identifier: Apache-2.0 */
/* syscalls_encode.h - records of system calls as slices of a trace. */
#ifndef SYSCALLS_ENCODE_H
#define SYSCALLS_ENCODE_H

#include "collector.h"

/* The functions of struct collector. */
bool syscalls_valid(const struct event_hdr *hdr, size_t len);
int syscalls_encoder_new(const struct encoder_env *env, void **ret_encoder);
void syscalls_encoder_free(void *encoder);
int syscalls_encode(void *encoder, const struct event_hdr *hdr);

#endif
