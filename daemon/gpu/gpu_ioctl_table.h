/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_ioctl_table.h - ioctls of GPU drivers by driver and number: what they are
 * called, what they are for, what is worth showing of their structs. Made of
 * gpu_ioctls.csv; pure.
 */
#ifndef GPU_IOCTL_TABLE_H
#define GPU_IOCTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_events.h"

enum gpu_field_flag {
	FIELD_HEX = 1,
	FIELD_SIGNED = 2,
	FIELD_IN = 4,	  /* holds on the way in only */
	FIELD_OUT = 8,	  /* on the way out only */
	FIELD_STATUS = 16 /* the driver's own result: 0 is success */
};

struct gpu_ioctl_field {
	const char *name;
	uint16_t offset;
	uint8_t bytes; /* 1, 2, 4 or 8 */
	uint8_t flags;
};

struct gpu_ioctl_info {
	const char *name;
	uint32_t nr;
	uint16_t size;		 /* of the struct, in the newest kernel; 0: it varies */
	uint8_t type, direction; /* of _IOC(): 0 without that form; 1 to the driver, 2 back */
	uint8_t ioctl_class;	 /* enum gpu_ioctl_class */
	uint8_t n_fields;
	const struct gpu_ioctl_field *fields;
};

#define GPU_MAX_FIELDS 8 /* of one ioctl */

/* 1, 2, ...; 0: the table has no such driver. */
unsigned gpu_ioctl_slot(const char *driver);
/* NULL: there are no more. */
const char *gpu_ioctl_driver(unsigned slot);
const struct gpu_ioctl_info *gpu_ioctl_rows(unsigned slot, size_t *ret_n);

/*
 * NULL: not known. The number decides, as it does in the kernel; where a driver has
 * several names for one, the size does, and then the direction.
 */
const struct gpu_ioctl_info *gpu_ioctl_find(unsigned slot, uint32_t nr, uint32_t size,
					    unsigned direction);

/* "submit", "wait", ... */
const char *gpu_ioctl_class_name(enum gpu_ioctl_class c);

/* "NV_ERR_INVALID_ARGUMENT"; NULL: none of NVIDIA's. */
const char *gpu_nv_status_name(uint32_t status);

#endif
