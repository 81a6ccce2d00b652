/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_wire_impl.h - what the files of tls_wire.h share: tls_wire.c walks the records,
 * tls_handshake.c makes sense of them until the handshake is over.
 */
#ifndef TLS_WIRE_IMPL_H
#define TLS_WIRE_IMPL_H

#include "tls_hello.h"
#include "tls_turns.h"
#include "tls_wire.h"

#define TLS_RECORD_HEAD 5
#define TLS_13		0x0304

enum tls_content {
	TLS_CHANGE_CIPHER_SPEC = 20,
	TLS_ALERT = 21,
	TLS_HANDSHAKE = 22,
	TLS_DATA = 23,
	TLS_HEARTBEAT = 24,
};

enum tls_stage {
	TLS_BEFORE, /* nothing was seen of a handshake */
	TLS_SHAKES,
	TLS_OVER,
	TLS_FAILED,
};

struct tls_direction {
	uint64_t next; /* offset of the byte that is to come */
	uint64_t base; /* of its first byte, of a `from_start` one */
	bool has_begun;
	bool from_start; /* nothing came before what we have seen */
	bool in_step;	 /* where records begin is known */
	bool has_ended;

	/* The record under way. */
	uint8_t head[TLS_RECORD_HEAD], n_head;
	uint8_t type;
	bool is_data;  /* it belongs to a turn */
	bool is_clear; /* its content can be read */
	uint8_t n_alert, alert[2];
	uint32_t length, left;
	struct tls_place begins;

	/* Of the handshake. */
	bool ciphers;	  /* ChangeCipherSpec has been there */
	bool finished;	  /* TLS <= 1.2 */
	bool talks;	  /* data was seen */
	uint64_t last_ns; /* of a piece out of step */
	/* Out of step there was a piece of five bytes: a head that was moved for itself. */
	bool lone_head;
};

struct tls_wire {
	struct tls_wire_sinks sinks;
	enum tls_stage stage;
	struct tls_handshake handshake;
	struct tls_direction dirs[2];
	struct tls_turns turns;
	struct tls_messages *messages; /* of both directions; NULL once the handshake is over */
	/*
	 * TLS 1.3: the client has sent something encrypted that was not as long as Finished
	 * alone: it was its certificate, or all in one; then so many records.
	 */
	uint64_t perhaps_over_ns;
	unsigned n_perhaps;
};

/* A record of this direction has begun, its head is known. Sets is_data, is_clear. */
void tls_handshake_record(struct tls_wire *t, enum net_direction dir, uint64_t time_ns);
/* Bytes of its content; NULL: not known. -EPROTO: it is not TLS. */
int tls_handshake_content(struct tls_wire *t, enum net_direction dir, const uint8_t *data, size_t n,
			  uint64_t time_ns);
/* A piece that nothing can be read of. Is it data? */
bool tls_handshake_blind(struct tls_wire *t, enum net_direction dir, uint64_t time_ns);
/* Records of that direction were not seen. */
void tls_handshake_hole(struct tls_wire *t, enum net_direction dir);
/* `time_ns` 0: nobody knows when that was. */
void tls_handshake_over(struct tls_wire *t, uint64_t time_ns);
void tls_handshake_fail(struct tls_wire *t, uint64_t time_ns);
/* It is not TLS: -EPROTO. */
int tls_handshake_refuse(struct tls_wire *t, uint64_t time_ns);
/* The connection (EXCHANGE_CLOSED) or the recording ends. */
void tls_handshake_end(struct tls_wire *t, uint64_t time_ns, uint32_t flag);
/* Of TLS 1.3, where it cannot be told otherwise: so long is an alert, and little else. */
bool tls_is_alert_len(const struct tls_wire *t, uint32_t len);
/* The same of any version, for who has not seen the record's type. */
bool tls_is_blind_alert_len(const struct tls_wire *t, uint64_t len);

#endif
