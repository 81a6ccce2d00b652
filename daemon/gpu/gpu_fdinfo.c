/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_fdinfo.c - the parser of DRM's fdinfo, and what two readings say. */
#include "gpu/gpu_fdinfo.h"

#include <errno.h>
#include <string.h>

#define FULL 100000 /* 100 % */

struct span {
	const char *p, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trimmed(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	while (end > p && is_blank(end[-1]))
		end--;
	return (struct span){ p, end };
}

/* "drm-engine-gfx:\t20 ns" is a key and a value; false at the end of the text. */
static bool next_pair(struct span *text, struct span *key, struct span *value)
{
	while (text->p < text->end) {
		const char *start = text->p, *colon;
		const char *end = memchr(start, '\n', (size_t)(text->end - start));

		text->p = end ? end + 1 : text->end;
		if (!end)
			end = text->end;
		colon = memchr(start, ':', (size_t)(end - start));
		if (!colon)
			continue;
		*key = trimmed(start, colon);
		*value = trimmed(colon + 1, end);
		return true;
	}
	return false;
}

static bool key_is(struct span key, const char *name)
{
	size_t len = strlen(name);

	return (size_t)(key.end - key.p) == len && !memcmp(key.p, name, len);
}

/* "drm-engine-gfx" begins with "drm-engine-": what follows, which is not empty. */
static bool key_begins(struct span key, const char *prefix, struct span *rest)
{
	size_t len = strlen(prefix);

	if ((size_t)(key.end - key.p) <= len || memcmp(key.p, prefix, len) != 0)
		return false;
	*rest = (struct span){ key.p + len, key.end };
	return true;
}

/* A name without what a terminal or a track would not show; too long is none. */
static bool take_name(char dst[GPU_NAME_LEN], struct span s)
{
	size_t len = (size_t)(s.end - s.p);

	if (!len || len >= GPU_NAME_LEN)
		return false;
	for (size_t i = 0; i < len; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	memset(dst, 0, GPU_NAME_LEN);
	memcpy(dst, s.p, len);
	return true;
}

/* A number and what follows it. */
static bool take_u64(struct span *s, uint64_t *ret)
{
	const char *p = s->p;
	uint64_t n = 0;

	for (; p < s->end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	if (p == s->p)
		return false;
	*s = trimmed(p, s->end);
	*ret = n;
	return true;
}

static bool take_count(struct span value, uint64_t *ret)
{
	return take_u64(&value, ret) && value.p == value.end;
}

static bool take_ns(struct span value, uint64_t *ret)
{
	return take_u64(&value, ret) && key_is(value, "ns");
}

/* Without a unit it is bytes. */
static bool take_bytes(struct span value, uint64_t *ret)
{
	unsigned shift;

	if (!take_u64(&value, ret))
		return false;
	if (value.p == value.end)
		shift = 0;
	else if (key_is(value, "KiB"))
		shift = 10;
	else if (key_is(value, "MiB"))
		shift = 20;
	else if (key_is(value, "GiB"))
		shift = 30;
	else
		return false;
	return !__builtin_mul_overflow(*ret, 1ull << shift, ret);
}

/* The engine of that name, a new one if need be; NULL: no name, or too many. */
static struct gpu_engine *find_engine(struct gpu_fdinfo *info, struct span name)
{
	struct gpu_engine *e;
	char text[GPU_NAME_LEN];

	if (!take_name(text, name))
		return NULL;
	for (size_t i = 0; i < info->n_engines; i++)
		if (!strcmp(info->engines[i].name, text))
			return &info->engines[i];
	if (info->n_engines == GPU_MAX_ENGINES)
		return NULL;
	e = &info->engines[info->n_engines++];
	*e = (struct gpu_engine){ .capacity = 1 };
	memcpy(e->name, text, sizeof(text));
	return e;
}

static struct gpu_region *find_region(struct gpu_fdinfo *info, struct span name)
{
	struct gpu_region *region;
	char text[GPU_NAME_LEN];

	if (!take_name(text, name))
		return NULL;
	for (size_t i = 0; i < info->n_regions; i++)
		if (!strcmp(info->regions[i].name, text))
			return &info->regions[i];
	if (info->n_regions == GPU_MAX_REGIONS)
		return NULL;
	region = &info->regions[info->n_regions++];
	*region = (struct gpu_region){ 0 };
	memcpy(region->name, text, sizeof(text));
	return region;
}

/* A value that makes no sense leaves no engine behind that nothing is said of. */
static void engine_pair(struct gpu_fdinfo *info, struct span key, struct span value)
{
	struct gpu_engine *e;
	struct span name;
	uint64_t n;

	if (key_begins(key, "drm-engine-capacity-", &name)) {
		if (take_count(value, &n) && n >= 1 && n <= UINT16_MAX &&
		    (e = find_engine(info, name)))
			e->capacity = (uint32_t)n;
	} else if (key_begins(key, "drm-engine-", &name)) {
		if (take_ns(value, &n) && (e = find_engine(info, name))) {
			e->ns = n;
			e->has_ns = true;
		}
	} else if (key_begins(key, "drm-cycles-", &name)) {
		if (take_count(value, &n) && (e = find_engine(info, name))) {
			e->cycles = n;
			e->has_cycles = true;
		}
	} else if (key_begins(key, "drm-total-cycles-", &name)) {
		if (take_count(value, &n) && (e = find_engine(info, name))) {
			e->total = n;
			e->has_total = true;
		}
	}
}

static void region_pair(struct gpu_fdinfo *info, struct span key, struct span value)
{
	struct gpu_region *region;
	struct span name;
	uint64_t n;
	/* drm-memory- is the old name; drivers that have both say the same twice. */
	bool resident =
		key_begins(key, "drm-resident-", &name) || key_begins(key, "drm-memory-", &name);

	if (!resident && !key_begins(key, "drm-total-", &name))
		return;
	if (!take_bytes(value, &n) || !(region = find_region(info, name)))
		return;
	if (resident) {
		region->resident = n;
		region->has_resident = true;
	} else {
		region->total = n;
		region->has_total = true;
	}
}

int gpu_fdinfo_parse(const char *text, size_t len, struct gpu_fdinfo *ret)
{
	struct span all = { text, text + len }, key, value, rest;
	bool has_id = false;

	memset(ret, 0, sizeof(*ret));
	while (next_pair(&all, &key, &value)) {
		if (key_is(key, "drm-driver"))
			(void)take_name(ret->driver, value);
		else if (key_is(key, "drm-pdev"))
			(void)take_name(ret->pdev, value);
		else if (key_is(key, "drm-client-id"))
			has_id |= take_count(value, &ret->client_id);
		else if (key_begins(key, "drm-engine-", &rest) ||
			 key_begins(key, "drm-cycles-", &rest) ||
			 key_begins(key, "drm-total-cycles-", &rest))
			engine_pair(ret, key, value);
		else
			region_pair(ret, key, value);
	}
	return ret->driver[0] && has_id ? 0 : -ENODATA;
}

/* With some drivers a counter goes back a little now and then. */
static uint64_t growth(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

int gpu_engine_busy(const struct gpu_engine *then, const struct gpu_engine *now, uint64_t dur_ns,
		    int64_t *ret)
{
	uint64_t used, all;
	double share;

	if (then->has_ns && now->has_ns) {
		used = growth(then->ns, now->ns);
		all = dur_ns;
	} else if (then->has_cycles && then->has_total && now->has_cycles && now->has_total) {
		if (now->total < then->total)
			return -ENODATA; /* the device began anew */
		used = growth(then->cycles, now->cycles);
		all = now->total - then->total;
	} else {
		return -ENODATA;
	}
	/* A clock that stands still is that of a device that does nothing. */
	share = all ? (double)used / ((double)all * now->capacity) : 0;
	*ret = (int64_t)((share < 1 ? share : 1) * FULL);
	return 0;
}
