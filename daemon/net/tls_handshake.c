/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_handshake.c - when a handshake is over, and whether it has failed.
 *
 * Up to TLS 1.2 it ends when both have sent Finished, the first record after their
 * ChangeCipherSpec. In TLS 1.3 all after ServerHello is encrypted and looks like data, and
 * ChangeCipherSpec means nothing: it ends with the client's Finished, which is told by its
 * length.
 */
#include <errno.h>
#include <string.h>

#include "tls_wire_impl.h"

#define ALERT_FATAL 2

/* What encrypts a message of TLS 1.3: a byte for its type, and the AEAD's tag. */
#define WRAPPED		   17
#define WRAPPED_CCM_8	   9
#define CIPHER_AES_256_GCM 0x1302 /* with SHA-384 */
#define CIPHER_CCM_8	   0x1305

/* After so many records of a client that are not Finished the first one has to do. */
#define MAX_PERHAPS 4

static bool is_13(const struct tls_wire *t)
{
	return t->handshake.version == TLS_13;
}

static uint32_t wrapped(const struct tls_wire *t)
{
	return t->handshake.cipher == CIPHER_CCM_8 ? WRAPPED_CCM_8 : WRAPPED;
}

bool tls_is_alert_len(const struct tls_wire *t, uint32_t len)
{
	return (is_13(t) || !t->handshake.version) && len == 2 + wrapped(t);
}

/* With an explicit nonce (GCM, CCM: RFC 5288), or without (ChaCha20: RFC 7905). */
bool tls_is_blind_alert_len(const struct tls_wire *t, uint64_t len)
{
	if (is_13(t) || !t->handshake.version)
		return len == 2 + wrapped(t);
	return len == 8 + 2 + 16 || len == 2 + 16;
}

static bool is_finished_len(const struct tls_wire *t, uint32_t len)
{
	uint32_t digest = t->handshake.cipher == CIPHER_AES_256_GCM ? 48 : 32;

	return len == 4 + digest + wrapped(t);
}

/* ---- how it ends ---- */

static void close_stage(struct tls_wire *t, enum tls_stage stage)
{
	t->stage = stage;
	tls_messages_free(t->messages);
	t->messages = NULL;
	t->sinks.handshake(t->sinks.ctx, &t->handshake);
}

void tls_handshake_over(struct tls_wire *t, uint64_t time_ns)
{
	t->handshake.end_ns = time_ns;
	t->handshake.lost |= time_ns == 0;
	/* Of HTTP's servers a SETTINGS is all that may come first, which is no turn. */
	t->turns.server_may_begin =
		t->handshake.version != 0 && !is_13(t) && t->handshake.alpn[0] == '\0';
	t->turns.may_be_tickets = is_13(t);
	t->turns.is_resumed = t->handshake.resumed;
	close_stage(t, TLS_OVER);
}

void tls_handshake_fail(struct tls_wire *t, uint64_t time_ns)
{
	t->handshake.failed = true;
	t->handshake.failed_ns = time_ns;
	tls_turns_forget(&t->turns);
	close_stage(t, TLS_FAILED);
}

int tls_handshake_refuse(struct tls_wire *t, uint64_t time_ns)
{
	/* A client that does not speak it has not failed to. */
	if (t->stage == TLS_SHAKES && t->dirs[NET_RESPONSE].has_begun)
		tls_handshake_fail(t, time_ns);
	t->stage = TLS_FAILED;
	return -EPROTO;
}

void tls_handshake_end(struct tls_wire *t, uint64_t time_ns, uint32_t flag)
{
	if (t->stage != TLS_SHAKES)
		return;
	if (t->perhaps_over_ns)
		tls_handshake_over(t, t->perhaps_over_ns);
	else if (t->handshake.lost && t->dirs[NET_RESPONSE].talks)
		tls_handshake_over(t, 0);
	else if (flag & EXCHANGE_CLOSED)
		tls_handshake_fail(t, time_ns);
	else
		close_stage(t, TLS_OVER);
}

/* An alert by its length alone. */
static void secret_alert(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	t->handshake.alert_from = dir;
	tls_handshake_fail(t, time_ns);
}

/* ---- TLS <= 1.2 ---- */

/* Without ServerHelloDone before it the server goes on with keys that were agreed on earlier. */
static void change_cipher_spec(struct tls_wire *t, enum net_direction dir)
{
	struct tls_handshake *h = &t->handshake;
	const struct tls_messages *m = &t->messages[NET_RESPONSE];

	if (dir == NET_RESPONSE && h->server_hello_ns && !is_13(t) && !m->hello_done &&
	    !m->is_broken && !t->dirs[NET_REQUEST].ciphers)
		h->resumed = true;
	t->dirs[dir].ciphers = true;
}

static void finished(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	const struct tls_direction *other = &t->dirs[!dir];
	enum net_direction last = t->handshake.resumed ? NET_REQUEST : NET_RESPONSE;

	t->dirs[dir].finished = true;
	/* What is out of step has not been seen to finish, but the last one is the last. */
	if (other->finished || (dir == last && other->has_begun && !other->in_step)) {
		t->handshake.lost |= !other->finished;
		tls_handshake_over(t, time_ns);
	}
}

/* ---- TLS 1.3, and who cannot tell ---- */

/* Of a client, after ServerHello. Is it data? */
static bool client_data_13(struct tls_wire *t, uint32_t len, uint64_t time_ns)
{
	bool early = t->handshake.early_data;

	if (tls_is_alert_len(t, len)) {
		secret_alert(t, NET_REQUEST, time_ns);
		return false;
	}
	if (is_finished_len(t, len)) {
		if (!early) /* what came since was its certificate */
			tls_turns_forget(&t->turns);
		tls_handshake_over(t, time_ns);
		return false;
	}
	if (early) { /* it goes on, up to EndOfEarlyData, a message without content */
		t->perhaps_over_ns = time_ns;
		return len != 4 + wrapped(t);
	}
	if (t->n_perhaps++ == 0) {
		t->perhaps_over_ns = time_ns;
		return false;
	}
	if (t->n_perhaps > MAX_PERHAPS)
		tls_handshake_over(t, t->perhaps_over_ns);
	return true;
}

static bool client_data(struct tls_wire *t, uint32_t len, uint64_t time_ns)
{
	if (is_13(t) && t->handshake.server_hello_ns)
		return client_data_13(t, len, time_ns);
	if (!t->handshake.version && t->dirs[NET_RESPONSE].talks) {
		t->handshake.lost = true; /* ServerHello */
		tls_handshake_over(t, time_ns);
		return false;
	}
	return true; /* early, or a false start (RFC 7918) */
}

static bool server_data(struct tls_wire *t, uint32_t len, uint64_t time_ns)
{
	t->dirs[NET_RESPONSE].talks = true;
	if (!t->handshake.version && !t->dirs[NET_REQUEST].finished)
		return false;
	if (!is_13(t)) { /* nobody speaks before the end, which we have missed */
		tls_handshake_over(t, 0);
		return true;
	}
	if (t->handshake.early_data) /* its response may be there already */
		return false;
	if (tls_is_alert_len(t, len)) {
		secret_alert(t, NET_RESPONSE, time_ns);
		return false;
	}
	if (!t->perhaps_over_ns)
		return false;
	tls_handshake_over(t, t->perhaps_over_ns);
	return true;
}

/* What the client has said last may have been its Finished. */
void tls_handshake_hole(struct tls_wire *t, enum net_direction dir)
{
	if (dir == NET_REQUEST && t->handshake.server_hello_ns && is_13(t))
		tls_handshake_over(t, 0);
}

bool tls_handshake_blind(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	struct tls_direction *d = &t->dirs[dir], *other = &t->dirs[!dir];
	struct tls_handshake *h = &t->handshake;
	bool client_ends = is_13(t) || h->resumed;

	h->lost = true;
	if (dir == NET_REQUEST && h->server_hello_ns && client_ends) {
		tls_handshake_over(t, time_ns);
		return false;
	}
	if (dir == NET_RESPONSE && other->finished) {
		tls_handshake_over(t, time_ns);
		return false;
	}
	/* The client's second flight, the server's, and what follows is data. */
	if (dir == NET_REQUEST && other->last_ns) {
		tls_handshake_over(t, other->last_ns);
		return true;
	}
	if (dir == NET_REQUEST ? other->has_begun : other->last_ns != 0)
		d->last_ns = time_ns;
	return false;
}

/* ---- records and messages ---- */

void tls_handshake_record(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	struct tls_direction *d = &t->dirs[dir];
	bool is_secret = d->ciphers && !is_13(t) && !t->handshake.retried;

	d->is_data = d->is_clear = false;
	switch (d->type) {
	case TLS_CHANGE_CIPHER_SPEC:
		change_cipher_spec(t, dir);
		break;
	case TLS_ALERT:
		d->is_clear = d->length == 2 && !is_secret;
		d->n_alert = 0;
		if (!d->is_clear)
			secret_alert(t, dir, time_ns);
		break;
	case TLS_HANDSHAKE:
		d->is_clear = !is_secret;
		if (is_secret)
			finished(t, dir, time_ns);
		break;
	case TLS_DATA:
		d->is_data = dir == NET_REQUEST ? client_data(t, d->length, time_ns)
						: server_data(t, d->length, time_ns);
		break;
	default:
		break;
	}
}

static void server_hello(struct tls_wire *t, uint64_t time_ns)
{
	const struct tls_messages *client = &t->messages[NET_REQUEST];
	const struct tls_messages *m = &t->messages[NET_RESPONSE];
	struct tls_handshake *h = &t->handshake;

	if (m->is_retry) {
		h->retried = true;
		return;
	}
	h->server_hello_ns = time_ns;
	h->version = m->version;
	h->cipher = m->cipher;
	h->has_cipher = m->cipher != 0;
	if (m->cipher >> 8 == 0x13) /* of no other version; the extension may have been lost */
		h->version = TLS_13;
	if (is_13(t))
		h->resumed = m->has_psk;
	else
		h->resumed = m->session_id_len > 0 && m->session_id_len == client->session_id_len &&
			     memcmp(m->session_id, client->session_id, m->session_id_len) == 0;
}

static void alert(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	const struct tls_direction *d = &t->dirs[dir];
	struct tls_handshake *h = &t->handshake;

	h->alert_level = d->alert[0];
	h->alert = d->alert[1];
	h->alert_from = dir;
	if (d->alert[0] == ALERT_FATAL)
		tls_handshake_fail(t, time_ns);
}

int tls_handshake_content(struct tls_wire *t, enum net_direction dir, const uint8_t *data, size_t n,
			  uint64_t time_ns)
{
	struct tls_direction *d = &t->dirs[dir];
	struct tls_messages *m = &t->messages[dir];
	bool is_first = d->from_start && d->begins.off == d->base && d->left + n == d->length;

	if (d->type == TLS_ALERT) {
		for (size_t i = 0; data && i < n && d->n_alert < 2; i++)
			d->alert[d->n_alert++] = data[i];
		if (d->n_alert == 2)
			alert(t, dir, time_ns);
		return 0;
	}
	if (is_first && data && !tls_messages_is_hello(m, data[0]))
		return tls_handshake_refuse(t, time_ns);
	if (m->is_broken && data && d->left + n == d->length)
		tls_messages_restart(m, data[0]);
	tls_messages_feed(m, data, n);
	if (!m->hello)
		return 0;
	m->hello = false;
	if (dir == NET_REQUEST)
		t->handshake.early_data = m->has_early_data;
	else
		server_hello(t, time_ns);
	return 0;
}
