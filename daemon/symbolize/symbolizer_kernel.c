/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer_kernel.c - locations of the kernel's code.
 *
 * Of its own text and of its modules /proc/kallsyms tells, as it was when it was
 * read; of what comes and goes, BPF programs most of all, kernel_code.c.
 */
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbolizer_impl.h"

#define KALLSYMS_PATH "/proc/kallsyms"
#define MODULES_PATH  "/proc/modules"

/* An address without a name is asked for again after this: kallsyms may have grown. */
#define RECENT_NS (60 * NS_PER_SEC)

void symbolizer_load_kallsyms(struct symbolizer *sym)
{
	int r;

	if (sym->kallsyms_tried)
		return;
	sym->kallsyms_tried = true;
	r = kallsyms_new(KALLSYMS_PATH, boot_ns(), &sym->kallsyms);
	if (r == 0)
		(void)kallsyms_set_modules(sym->kallsyms, MODULES_PATH); /* then it takes longer */
	if (r < 0)
		log_warn("symbols: cannot read %s: %s; functions of the kernel stay without names",
			 KALLSYMS_PATH, strerror(-r));
}

static void forget_recent(struct symbolizer *sym)
{
	for (size_t i = 0; i < RECENT_KERNEL; i++) {
		if (sym->recent[i].loc)
			location_release(sym->recent[i].loc);
		sym->recent[i].loc = NULL;
	}
	sym->recent_ns = boot_ns();
}

static bool reload(struct symbolizer *sym)
{
	if (!kallsyms_reload(sym->kallsyms, boot_ns()))
		return false;
	sym->n_kallsyms++;
	forget_recent(sym);
	return true;
}

static bool find_symbol(struct symbolizer *sym, uint64_t addr, uint64_t time_ns,
			struct kallsyms_symbol *ret)
{
	if (kernel_code_find(sym->kernel_code, addr, time_ns, ret))
		return true;
	if (sym->kallsyms && kallsyms_find(sym->kallsyms, addr, ret))
		return true;
	if (kernel_code_find_gone(sym->kernel_code, addr, time_ns, ret))
		return true;
	return sym->kallsyms && reload(sym) && kallsyms_find(sym->kallsyms, addr, ret);
}

/* One location for each function: where in it does not matter to anybody yet. */
static struct location *locate(struct symbolizer *sym, uint64_t addr, uint64_t time_ns)
{
	struct kallsyms_symbol s = { 0 };
	struct code_module *m = sym->kernel;
	struct location_entry *e;
	uint64_t key = 0, stext;
	bool found = find_symbol(sym, addr, time_ns, &s);

	if (found && *s.module)
		m = modules_by_name(sym->modules, MODULE_KERNEL, s.module);
	if (!m)
		return NULL;
	if (found) /* at another time there may be another function at this address */
		key = hash_bytes(s.name, strlen(s.name), s.start) | 1;
	e = location_store_get(sym->locations, &m->pub, key);
	if (e)
		return &e->pub;
	e = location_store_add(sym->locations, &m->pub, key, LOCATION_KERNEL);
	if (!e)
		return NULL;
	m->n_locations++;
	if (!found) {
		location_set_text(e, 0, "[kernel]");
		return &e->pub;
	}
	stext = sym->kallsyms ? kallsyms_stext(sym->kallsyms) : 0;
	location_set_symbol(e, stext && s.start >= stext ? s.start - stext : 0, key, s.name,
			    strlen(s.name));
	return &e->pub;
}

uint64_t symbolizer_kernel_version(struct symbolizer *sym, uint64_t addr, uint64_t time_ns)
{
	uint64_t what[2];

	symbolizer_load_kallsyms(sym);
	if (sym->kallsyms && kallsyms_is_core(sym->kallsyms, addr))
		return 0;
	what[0] = kernel_code_find(sym->kernel_code, addr, time_ns, NULL);
	/* Reading it takes some 50 ms: only for what nothing else tells. */
	if (!what[0] && sym->kallsyms && kallsyms_is_distrusted(sym->kallsyms))
		(void)reload(sym);
	sym->asks_kallsyms |= !what[0];
	what[1] = sym->n_kallsyms;
	return hash_bytes(what, sizeof(what), 0) | 1;
}

struct location *symbolizer_locate_kernel(struct symbolizer *sym, uint64_t addr, uint64_t time_ns)
{
	size_t i = (addr ^ addr >> 12) & (RECENT_KERNEL - 1);
	struct location *loc;
	uint64_t version = symbolizer_kernel_version(sym, addr, time_ns);

	if (sym->recent[i].loc && sym->recent[i].addr == addr && sym->recent[i].version == version)
		return sym->recent[i].loc;
	loc = locate(sym, addr, time_ns);
	if (!loc)
		return NULL;
	location_hold(loc);
	if (sym->recent[i].loc)
		location_release(sym->recent[i].loc);
	sym->recent[i].addr = addr;
	sym->recent[i].version = version;
	sym->recent[i].loc = loc;
	return loc;
}

void symbolizer_kernel_change(struct symbolizer *sym, const struct kernel_change *change)
{
	if (kernel_code_change(sym->kernel_code, change) < 0)
		sym->unkept_ns = change->time_ns;
}

void symbolizer_kernel_told(struct symbolizer *sym)
{
	bool was_tried = sym->kallsyms_tried;

	symbolizer_kernel_missed(sym);
	/* Now: at the first question some of it may be gone. It takes some 50 ms. */
	symbolizer_load_kallsyms(sym);
	if (sym->kallsyms && was_tried)
		(void)reload(sym);
}

void symbolizer_kernel_missed(struct symbolizer *sym)
{
	uint64_t now_ns = boot_ns();

	kernel_code_missed(sym->kernel_code, now_ns);
	if (sym->kallsyms)
		kallsyms_distrust(sym->kallsyms, now_ns);
}

void symbolizer_kernel_collect(struct symbolizer *sym, uint64_t now_ns)
{
	kernel_code_collect(sym->kernel_code, now_ns);
	/* Not at once: there are many where there is no room for one. */
	if (sym->kallsyms && sym->unkept_ns)
		kallsyms_distrust(sym->kallsyms, sym->unkept_ns);
	sym->unkept_ns = 0;
	/* Another module may be where one was. */
	if (sym->kallsyms && sym->asks_kallsyms)
		kallsyms_check_modules(sym->kallsyms, now_ns);
	sym->asks_kallsyms = false;
	if (now_ns > sym->recent_ns + RECENT_NS)
		forget_recent(sym);
}
