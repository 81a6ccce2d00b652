/* SPDX-License-Identifier: Apache-2.0 */
/* probe_ends.c - probes on their way out. */
#include "probe_ends.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"

/* Threads that wait; of more the daemon waits for one itself. */
#define MAX_THREADS 8
#define STACK_BYTES (64 * 1024)
#define POLL_US	    2000

struct thing {
	struct uprobes *probes; /* or else */
	struct bpf_link *link;
};

struct probe_end {
	struct probe_end *next;
	struct probe *probe; /* held */
	struct probe_places *places;
	struct thing *things;
	size_t n_things;
	uint32_t *numbers;
	size_t n_numbers;
	atomic_bool is_over; /* set by the thread, lastly */
	uint64_t over_ns;    /* 0: not seen yet */
};

struct probe_ends {
	struct probe_end *first;
	unsigned n_threads;
};

int probe_ends_new(struct probe_ends **ret)
{
	struct probe_ends *es = calloc(1, sizeof(*es));

	if (!es)
		return -ENOMEM;
	*ret = es;
	return 0;
}

void probe_ends_free(struct probe_ends *es)
{
	if (!es)
		return;
	probe_ends_wait(es);
	probe_ends_update(es, UINT64_MAX);
	free(es);
}

struct probe_end *probe_end_new(struct probe *p)
{
	struct probe_end *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->probe = p;
	probe_hold(p);
	return e;
}

static bool add(struct probe_end *e, struct thing thing)
{
	struct thing *grown = reallocarray(e->things, e->n_things + 1, sizeof(*grown));

	if (!grown)
		return false;
	grown[e->n_things++] = thing;
	e->things = grown;
	return true;
}

bool probe_end_uprobes(struct probe_end *e, struct uprobes *probes)
{
	return !probes || add(e, (struct thing){ .probes = probes });
}

bool probe_end_link(struct probe_end *e, struct bpf_link *link)
{
	return !link || add(e, (struct thing){ .link = link });
}

bool probe_end_number(struct probe_end *e, uint32_t number)
{
	uint32_t *grown = reallocarray(e->numbers, e->n_numbers + 1, sizeof(*grown));

	if (!grown)
		return false;
	grown[e->n_numbers++] = number;
	e->numbers = grown;
	return true;
}

static void *end_all(void *ctx)
{
	struct probe_end *e = ctx;

	for (size_t i = 0; i < e->n_things; i++) {
		uprobes_free(e->things[i].probes);
		bpf_link__destroy(e->things[i].link);
	}
	atomic_store(&e->is_over, true);
	return NULL;
}

static bool start_thread(struct probe_end *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	r = pthread_create(&thread, &attr, end_all, e);
	pthread_attr_destroy(&attr);
	return r == 0;
}

/* The kernel is done with it. */
static void drop(struct probe_end *e)
{
	struct probe *p = e->probe;

	for (size_t i = 0; i < e->n_numbers; i++)
		probe_places_drop(e->places, e->numbers[i], &p->gone);
	/* Nothing of it is left: for good, or for a while. */
	if (!p->attached || e->n_numbers == 0)
		probe_places_forget_opens(e->places, p->id);
	if (p->attached)
		return;
	p->n_hits = p->gone.n_hits;
	p->n_over = p->gone.n_over;
	p->n_unwanted = p->gone.n_unwanted;
	p->n_lost = p->gone.n_lost;
}

static void end_free(struct probe_end *e)
{
	probe_release(e->probe);
	free(e->things);
	free(e->numbers);
	free(e);
}

void probe_ends_update(struct probe_ends *es, uint64_t horizon_ns)
{
	struct probe_end **at = &es->first;

	while (*at) {
		struct probe_end *e = *at;

		if (!e->over_ns && atomic_load(&e->is_over)) {
			drop(e);
			e->over_ns = boot_ns();
			es->n_threads--;
		}
		if (e->over_ns && e->over_ns < horizon_ns) {
			*at = e->next;
			end_free(e);
		} else {
			at = &e->next;
		}
	}
}

void probe_ends_begin(struct probe_ends *es, struct probe_places *places, struct probe_end *e)
{
	probe_ends_update(es, 0);
	e->places = places;
	e->next = es->first;
	es->first = e;
	if (e->n_things == 0)
		atomic_store(&e->is_over, true);
	else if (es->n_threads >= MAX_THREADS || !start_thread(e))
		(void)end_all(e);
	es->n_threads++;
}

bool probe_ends_pending(const struct probe_ends *es)
{
	for (const struct probe_end *e = es->first; e; e = e->next)
		if (!atomic_load(&e->is_over))
			return true;
	return false;
}

void probe_ends_wait(struct probe_ends *es)
{
	while (probe_ends_pending(es))
		usleep(POLL_US);
	probe_ends_update(es, 0);
}
