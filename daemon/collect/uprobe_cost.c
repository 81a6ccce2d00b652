/* SPDX-License-Identifier: Apache-2.0 */
/* uprobe_cost.c - probes a function of our own, and calls it. */
#include "uprobe_cost.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "uprobe_cost.skel.h"
#include "uprobes.h"

/* Enough to tell one from tens of microseconds; it is waited for when the daemon begins to record.
 */
#define N_HITS	 256
#define N_BEFORE 16 /* what is only done once */
#define MAX_NS	 (10 * NS_PER_MS)

/* A compiler's function may begin with what the kernel can do by itself, which is cheaper. */
void uprobe_cost_place(void);
__asm__(".text\n"
	".globl uprobe_cost_place\n"
	".type uprobe_cost_place, %function\n"
	"uprobe_cost_place:\n"
#if defined(__aarch64__)
	"	add x0, x0, #0\n"
#else
	"	lea (%rdi), %rax\n"
#endif
	"	ret\n"
	".size uprobe_cost_place, . - uprobe_cost_place\n");

/* The dl_iterate_phdr() callback: the program itself comes first. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t at = (uintptr_t)uprobe_cost_place - info->dlpi_addr, *ret = ctx;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && at >= ph->p_vaddr && at - ph->p_vaddr < ph->p_filesz)
			*ret = at - ph->p_vaddr + ph->p_offset;
	}
	return 1;
}

/* Of this thread alone, however busy the machine is. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t hit(unsigned n_hits)
{
	uint64_t deadline_ns = boot_ns() + MAX_NS, begin_ns = cpu_ns();
	unsigned n = 0;

	while (n < n_hits && (n % 16 || boot_ns() < deadline_ns)) {
		uprobe_cost_place();
		n++;
	}
	return (cpu_ns() - begin_ns) / n;
}

/* What was found out; several threads may ask. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_busy, is_known;
	uint64_t ns;
} cost = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void tell(int r, uint64_t ns)
{
	pthread_mutex_lock(&cost.lock);
	cost.is_busy = false;
	cost.is_known = r == 0;
	cost.ns = ns;
	pthread_cond_broadcast(&cost.changed);
	pthread_mutex_unlock(&cost.lock);
}

/* To let go of the probe takes longer than all else: nobody has to wait for that. */
static int measure(uint64_t *ret)
{
	struct uprobe_target target = { .fd = -1, .pid = getpid() };
	struct uprobe_site site = { 0 };
	struct uprobe_cost_bpf *skel = uprobe_cost_bpf__open();
	struct uprobes *probe = NULL;
	size_t n = 0;
	int r = skel ? 0 : -errno;

	*ret = 0;
	dl_iterate_phdr(find_offset, &site.offset);
	if (r == 0) {
		uprobes_prepare(skel->progs.on_hit); /* like those that it is asked for */
		r = uprobe_cost_bpf__load(skel);
	}
	if (r == 0)
		target.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (r == 0 && target.fd < 0)
		r = -errno;
	if (r == 0)
		r = uprobes_attach(skel->progs.on_hit, &target, &site, 1, &probe, &n);
	if (r == 0) {
		(void)hit(N_BEFORE);
		*ret = hit(N_HITS);
	}
	tell(r, *ret);
	uprobes_free(probe);
	if (target.fd >= 0)
		close(target.fd);
	uprobe_cost_bpf__destroy(skel);
	return r;
}

int uprobe_cost_ns(uint64_t *ret)
{
	bool is_known;

	pthread_mutex_lock(&cost.lock);
	while (cost.is_busy)
		pthread_cond_wait(&cost.changed, &cost.lock);
	is_known = cost.is_known;
	*ret = cost.ns;
	cost.is_busy = !is_known;
	pthread_mutex_unlock(&cost.lock);
	return is_known ? 0 : measure(ret);
}

static void *measure_alone(void *arg)
{
	uint64_t ns;

	(void)uprobe_cost_ns(&ns); /* who wants to know will ask again */
	return arg;
}

void uprobe_cost_begin(void)
{
	pthread_t thread;
	bool is_known;

	pthread_mutex_lock(&cost.lock);
	is_known = cost.is_known;
	pthread_mutex_unlock(&cost.lock);
	if (!is_known && pthread_create(&thread, NULL, measure_alone, NULL) == 0)
		(void)pthread_detach(thread);
}
