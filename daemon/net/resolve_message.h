/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_message.h - one message of resolve.h: io.systemd.Resolve of varlink. */
#ifndef RESOLVE_MESSAGE_H
#define RESOLVE_MESSAGE_H

#include "dns.h"

/* A question, of `len` bytes. -EBADMSG: it is no call. */
struct resolve_call {
	bool is_oneway;	  /* nobody answers it */
	bool is_question; /* one of those that name something: `question` */
	struct dns_message question;
};
int resolve_read_call(const struct net_privacy *p, const uint8_t *data, size_t len,
		      struct resolve_call *ret);

/* -EBADMSG: it is no answer; of what is cut as much is read as there is. */
struct resolve_reply {
	bool continues; /* there is more to come */
	char error[DNS_ERROR_LEN];
	struct dns_message answer;
};
int resolve_read_reply(const struct net_privacy *p, const uint8_t *data, size_t len, bool is_cut,
		       struct resolve_reply *ret);

#endif
