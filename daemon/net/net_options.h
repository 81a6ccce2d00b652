/* SPDX-License-Identifier: Apache-2.0 */
/* net_options.h - the network's part of a trace_config, as words. */
#ifndef NET_OPTIONS_H
#define NET_OPTIONS_H

#include "trace_config.h"

/* The words of the command line, the control protocol and the trace's attributes. */
const char *net_level_name(enum net_level level);
const char *net_query_name(enum net_query query);

/* NULL: the default. -EINVAL: there is no such one. */
int net_level_parse(const char *word, enum net_level *ret);
int net_query_parse(const char *word, enum net_query *ret);

/* Whose TLS is read in clear text: "pid:1234", "comm:GLOB", "lib:/PATH". */
bool net_plaintext_valid(const char *selector);

#endif
