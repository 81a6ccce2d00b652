/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.h - all probes of the daemon: those of `tracectl probe add`, which stay until they
 * are removed, and those of one recording, which end with it.
 *
 * Probes live while the source `probes` runs in any session, and are remembered otherwise.
 * The source's kernel half (collect/probes.c) attaches them; encoders look up what a hit's id
 * means. Single-threaded, like all of the daemon.
 */
#ifndef PROBES_H
#define PROBES_H

#include <sys/types.h>

#include "probe/probe_compile.h"

struct probes;

#define PROBES_MAX_DEFS 64
#define PROBES_EVERY	(-1) /* not of one session: of all */

enum probe_state {
	PROBE_WAITS,	/* nobody records, or no process has mapped its file yet */
	PROBE_ATTACHES, /* types and places are asked for */
	PROBE_ON,	/* `why` may say that it is limited */
	PROBE_FAILED,	/* `why` says it */
};

struct probe {
	uint32_t id; /* from 1; never reused */
	int slot;    /* of the session whose it is; PROBES_EVERY */
	uid_t uid;   /* who has added it */
	struct probe_def def;
	enum probe_state state;
	char why[PROBE_WHY_LEN];
	unsigned n_sites; /* that are attached */
	/* Of single hits and begins: all that were seen, one of these each. */
	uint64_t n_hits;	   /* recorded */
	uint64_t n_over;	   /* not recorded: the rate */
	uint64_t n_unwanted;	   /* the condition was false */
	uint64_t n_lost;	   /* the ring was full */
	struct probes_counts gone; /* of these, hits at places that are no more */
	uint64_t paused_ns;	   /* for so long it was taken away, since its hits cost too much */
	uint64_t cost_ns; /* of one hit to whoever runs into it, as measured; 0: not known */
	/* Of the values in records, per point; the same at all sites. n 0: not known yet. */
	struct probe_code begin, end;
	/* What the symbol means, if it is a glob: probes_event.site is an index here. */
	char **functions;
	unsigned n_functions;
	unsigned refs;
	bool is_removed; /* and only held */
	void *attached;	 /* the kernel half's */
};

/* The kernel half, while it runs. */
struct probes_backend {
	/*
	 * Attaches; at once or later sets `state` and calls probes_changed(). A failure that is
	 * known at once is returned, with `why`.
	 */
	int (*attach)(void *ctx, struct probe *p, char why[PROBE_WHY_LEN]);
	void (*detach)(void *ctx, struct probe *p);
	/* n_hits, n_over, n_unwanted, n_lost as of now. */
	void (*count)(void *ctx, struct probe *p);
	void *ctx;
};

int probes_new(struct probes **ret);
void probes_free(struct probes *ps); /* takes NULL */

/* From now on, until it is called with NULL; all probes that are there are attached. */
void probes_set_backend(struct probes *ps, const struct probes_backend *backend);

/*
 * -EEXIST: one of that name is there. `why` explains. With a backend a probe that is refused
 * at once is not added.
 */
int probes_add(struct probes *ps, const struct probe_def *def, int slot, uid_t uid,
	       char why[PROBE_WHY_LEN], uint32_t *ret_id);
int probes_remove(struct probes *ps, uint32_t id);  /* -ENOENT */
void probes_remove_of(struct probes *ps, int slot); /* all of a session's */

struct probe *probes_find(struct probes *ps,
			  uint32_t id); /* also one that was removed and is held */
void probe_hold(struct probe *p);
void probe_release(struct probe *p);

typedef void probe_fn(void *ctx, struct probe *p);
void probes_each(struct probes *ps, probe_fn *fn, void *ctx);

#endif
