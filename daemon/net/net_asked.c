/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_asked.c - whose clear text this session has asked for: what another one has asked
 * for is read as well, but is none of its business.
 */
#include <errno.h>

#include "net_encode_impl.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

#define MAX_KNOWN 4096

enum { IS_MAPPED = 1, IS_NOT };

static bool maps_lib(const struct tls_wishes *wishes, struct mappings *maps)
{
	const struct mapping *all;
	size_t n;

	if (mappings_all(maps, &all, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (all[i].module && tls_wishes_lib(wishes, all[i].module->path))
			return true;
	return false;
}

/* As far as is known; what is not known yet will be in a moment. */
static bool is_by_lib(struct net_encoder *enc, uint32_t tgid)
{
	struct mappings *maps = process_table_mappings(enc->env.processes, tgid);
	uint64_t version = maps ? mappings_version(maps) : 0;
	uintptr_t known;

	if (!maps)
		return true;
	known = (uintptr_t)hash_get_u64(enc->asked_maps, version);
	if (known)
		return known == IS_MAPPED;
	if (hash_count(enc->asked_maps) >= MAX_KNOWN)
		hash_clear(enc->asked_maps);
	known = maps_lib(&enc->wishes, maps) ? IS_MAPPED : IS_NOT;
	/* Without memory it is found out again. */
	(void)hash_set_u64(enc->asked_maps, version, (void *)known);
	return known == IS_MAPPED;
}

/* Its parents may be forgotten before it ends. */
static bool is_by_pid(struct net_encoder *enc, const struct process *p, uint32_t tgid)
{
	void *life = p ? (void *)(uintptr_t)(p->start_ns | 1) : NULL;

	if (life && hash_get_u64(enc->asked_pids, tgid) == life)
		return true;
	if (!tls_wishes_pid(&enc->wishes, enc->env.processes, tgid))
		return false;
	if (hash_count(enc->asked_pids) >= MAX_KNOWN)
		hash_clear(enc->asked_pids);
	if (life)
		(void)hash_set_u64(enc->asked_pids, tgid, life);
	return true;
}

bool net_is_asked_for(struct net_encoder *enc, uint32_t tgid)
{
	const struct process *p = process_table_get(enc->env.processes, tgid);

	if (tls_wishes_has(&enc->wishes, 0, TLS_BY_PID) && is_by_pid(enc, p, tgid))
		return true;
	if (!p)
		return false;
	if (tls_wishes_comm(&enc->wishes, p->comm))
		return true;
	return tls_wishes_has(&enc->wishes, 0, TLS_BY_LIB) && is_by_lib(enc, tgid);
}

int net_asked_new(struct net_encoder *enc)
{
	if (hash_new(&enc->asked_maps) < 0 || hash_new(&enc->asked_pids) < 0)
		return -ENOMEM;
	return tls_wishes_set(&enc->wishes, 0, enc->env.config);
}

void net_asked_free(struct net_encoder *enc)
{
	(void)tls_wishes_clear(&enc->wishes, 0);
	hash_free(enc->asked_maps);
	hash_free(enc->asked_pids);
}
