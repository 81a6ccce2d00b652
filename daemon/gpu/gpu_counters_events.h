/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_counters_events.h - the records of the source gpu-counters: a head, and as
 * many items as it says. Like those of counters.c they are made in user space,
 * but travel and are checked like those of a BPF program.
 */
#ifndef GPU_COUNTERS_EVENTS_H
#define GPU_COUNTERS_EVENTS_H

#include "event.h"
#include "gpu/gpu_fdinfo.h"

#define GPU_MAX_CARDS	    32
#define GPU_COUNTERS_ITEMS  64 /* of one record */
#define GPU_CARD_DEVICE_LEN 64

enum gpu_counters_event_type {
	GPU_COUNTERS_CARDS = 1, /* who is who; before the values of each poll */
	GPU_COUNTERS_VALUES,
};

struct gpu_card_item {
	uint16_t card, pad[3];
	char driver[GPU_NAME_LEN];
	char device[GPU_CARD_DEVICE_LEN]; /* as sysfs calls it: "0000:03:00.0" */
};

enum gpu_value_kind {
	GPU_BUSY,	 /* 1/1000 %, of an engine */
	GPU_RESIDENT,	 /* bytes, of a memory region */
	GPU_TOTAL,	 /* bytes that were asked for */
	GPU_SENSOR_BUSY, /* 1/1000 %, as the device itself says */
	GPU_SENSOR_BYTES,
	GPU_SENSOR_HZ,
	GPU_SENSOR_MILLIDEGREES,
	GPU_SENSOR_MICROWATTS,
	GPU_AWAKE, /* 0: its driver has switched it off */
	N_GPU_VALUE_KINDS
};

/* Without padding: values are compared as bytes. */
struct gpu_value {
	uint32_t tgid; /* 0: of the device */
	uint16_t card;
	uint16_t kind;
	char name[GPU_NAME_LEN]; /* of the engine, region or sensor */
	int64_t value;
};

_Static_assert(sizeof(struct gpu_value) == 48, "gpu_value is compared as bytes");

/* All records of one poll carry the same time. */
struct gpu_counters_record {
	struct event_hdr hdr;
	uint32_t n, pad;
	union {
		struct gpu_card_item cards[GPU_MAX_CARDS];
		struct gpu_value values[GPU_COUNTERS_ITEMS];
	} items;
};

/* Of the whole record with `n` items; 0: no such type, or too many. */
size_t gpu_counters_record_size(unsigned type, size_t n);

bool gpu_counters_valid(const struct event_hdr *ev, size_t len);

#endif
