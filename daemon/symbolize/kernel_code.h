/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_code.h - code of the kernel that comes and goes: BPF programs and
 * trampolines, as perf's KSYMBOL records tell. Knows who was at an address when;
 * what was there before the records began is for /proc/kallsyms to say.
 */
#ifndef KERNEL_CODE_H
#define KERNEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_code;
struct kallsyms_symbol;

#define KERNEL_CODE_NAME_MAX 512 /* KSYM_NAME_LEN, with its NUL */

struct kernel_change {
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	uint64_t start;
	uint32_t len;
	bool is_gone;
	bool is_bpf;	  /* else something that the kernel has made for itself */
	const char *name; /* name_len bytes, less than KERNEL_CODE_NAME_MAX, without a NUL */
	size_t name_len;
};

int kernel_code_new(struct kernel_code **ret);
void kernel_code_free(struct kernel_code *kc); /* takes NULL */

/*
 * Changes come in the order of their time. -ENOMEM, -ENOSPC: this one is not
 * kept. What goes without having come was there from the beginning of time.
 */
int kernel_code_change(struct kernel_code *kc, const struct kernel_change *change);

/*
 * Who was at `addr` at that time. The number of that piece of code, which no
 * other one has; 0: nobody is known. `ret` may be NULL; its strings are valid until
 * the next change.
 */
uint64_t kernel_code_find(const struct kernel_code *kc, uint64_t addr, uint64_t time_ns,
			  struct kallsyms_symbol *ret);
/*
 * The last one there that was gone by then. The kernel tells that a program is
 * gone before those that are still in it have left.
 */
bool kernel_code_find_gone(const struct kernel_code *kc, uint64_t addr, uint64_t time_ns,
			   struct kallsyms_symbol *ret);

/* Changes were missed: who is there now is not known any more, only who was. */
void kernel_code_missed(struct kernel_code *kc, uint64_t now_ns);
/* Forgets who has been gone for so long that nobody asks any more. */
void kernel_code_collect(struct kernel_code *kc, uint64_t now_ns);
size_t kernel_code_count(const struct kernel_code *kc);

#endif
