/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_ending.c - links that end while the daemon goes on. */
#include "bpf_ending.h"

#include <pthread.h>
#include <stdlib.h>

struct ending {
	size_t n;
	struct bpf_link *links[];
};

static void *end_all(void *arg)
{
	struct ending *e = arg;

	for (size_t i = 0; i < e->n; i++)
		bpf_link__destroy(e->links[i]);
	free(e);
	return NULL;
}

static void begin(struct ending *e)
{
	pthread_t thread;

	/* Without a thread, the others wait. */
	if (pthread_create(&thread, NULL, end_all, e) == 0)
		pthread_detach(thread);
	else
		end_all(e);
}

void bpf_links_end(struct bpf_link **links, size_t n)
{
	struct ending *e = malloc(sizeof(*e) + n * sizeof(e->links[0]));

	if (e)
		e->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (e && links[i])
			e->links[e->n++] = links[i];
		else
			bpf_link__destroy(links[i]);
		links[i] = NULL;
	}
	if (e && e->n)
		begin(e);
	else
		free(e);
}

void bpf_skeleton_end(const struct bpf_object_skeleton *skel)
{
	struct bpf_link **links = calloc((size_t)skel->prog_cnt, sizeof(*links));

	if (!links)
		return; /* they end with the skeleton */
	for (int i = 0; i < skel->prog_cnt; i++) {
		links[i] = *skel->progs[i].link;
		*skel->progs[i].link = NULL;
	}
	bpf_links_end(links, (size_t)skel->prog_cnt);
	free(links);
}
