/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_counters_events.c - the layout of the records of gpu-counters, checked. */
#include "gpu/gpu_counters_events.h"

#include <string.h>

size_t gpu_counters_record_size(unsigned type, size_t n)
{
	size_t head = offsetof(struct gpu_counters_record, items);

	if (type == GPU_COUNTERS_CARDS && n && n <= GPU_MAX_CARDS)
		return head + n * sizeof(struct gpu_card_item);
	if (type == GPU_COUNTERS_VALUES && n && n <= GPU_COUNTERS_ITEMS)
		return head + n * sizeof(struct gpu_value);
	return 0;
}

static bool text_valid(const char *text, size_t size)
{
	return text[0] && memchr(text, 0, size);
}

static bool card_valid(const struct gpu_card_item *card)
{
	return card->card < GPU_MAX_CARDS && text_valid(card->driver, sizeof(card->driver)) &&
	       text_valid(card->device, sizeof(card->device));
}

static bool value_valid(const struct gpu_value *v)
{
	return v->card < GPU_MAX_CARDS && v->kind < N_GPU_VALUE_KINDS &&
	       (v->value >= 0 || v->kind == GPU_SENSOR_MILLIDEGREES) &&
	       text_valid(v->name, sizeof(v->name));
}

bool gpu_counters_valid(const struct event_hdr *ev, size_t len)
{
	const struct gpu_counters_record *rec = (const struct gpu_counters_record *)ev;

	if (len < offsetof(struct gpu_counters_record, items) || ev->size != len || ev->stream ||
	    gpu_counters_record_size(ev->type, rec->n) != len)
		return false;
	for (size_t i = 0; i < rec->n; i++) {
		if (ev->type == GPU_COUNTERS_CARDS ? !card_valid(&rec->items.cards[i])
						   : !value_valid(&rec->items.values[i]))
			return false;
	}
	return true;
}
