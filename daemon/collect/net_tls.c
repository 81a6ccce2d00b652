/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_tls.c - probes on TLS libraries, of whom sessions name.
 *
 * BPF side: bpf/net_tls.bpf.c. `pid:` probes the libraries of that process and of its
 * descendants in them alone, when the process table has told of them; `lib:` a file, in
 * all processes; `comm:` the libraries that the system has and those that such processes
 * map, in all processes, of which BPF then leaves out the others: so that the first call
 * of the next such process is seen.
 */
#include "net_tls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_load.h"
#include "bpf_loading.h"
#include "clock.h"
#include "hash.h"
#include "io.h"
#include "lib_probes.h"
#include "log.h"
#include "net/tls_files.h"
#include "net/tls_libraries.h"
#include "net/tls_wishes.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "symbolize/system_libraries.h"
#include "uprobe_cost.h"
#include "uprobes.h"

#include "net_tls.skel.h"

/* How often processes are looked through for new ones. */
#define UPDATE_NS (50 * NS_PER_MS)
/* A session waits so long for where the functions are; a question leads to another one. */
#define ANSWER_NS (100 * NS_PER_MS)
#define MAX_WAITS 4
#define MAX_SEEN  65536
/* A probe that costs less is nothing to ask for by name. */
#define CHEAP_NS 5000

/* Which processes a file is probed in. */
enum where { IN_ALL, BY_NAME, IN_SOME, N_WHERE };

struct net_tls {
	struct collector_env env;
	struct bpf_object *net;
	struct net_tls_bpf *skel; /* NULL: nobody has asked */
	struct lib_probes *probes[N_WHERE];
	struct tls_wishes wishes;
	struct tls_files *files;
	struct hash *seen; /* mappings that were looked through, by their version */
	uint64_t updated_ns, probe_ns;
	uint32_t globs_version;
	uint64_t n_answers; /* that `seen` is after */
	bool was_pending;   /* probes of single processes waited for where functions are */
};

/* ---- files ---- */

static void probe(struct net_tls *t, struct module *module, enum tls_library library,
		  enum where where, const struct process *process)
{
	const struct lib_function *functions;
	size_t n;

	if (!tls_files_may_probe(t->files, module))
		return;
	functions = tls_library_functions(library, where == BY_NAME, &n);
	if (where == IN_SOME)
		lib_probes_in_process(t->probes[where], process, module, functions, n);
	else
		lib_probes_in_all(t->probes[where], module, functions, n);
}

static bool is_cheap(const struct net_tls *t)
{
	return t->probe_ns && t->probe_ns < CHEAP_NS;
}

/* The lib_wanted_fn. */
static bool is_still_wanted(void *ctx, uint32_t tgid, uint64_t start_ns)
{
	struct net_tls *t = ctx;
	const struct process *process = process_table_get(t->env.processes, tgid);

	return process && !process->free_ns && process->start_ns == start_ns &&
	       tls_wishes_pid(&t->wishes, t->env.processes, tgid);
}

/* ---- processes ---- */

/* Most have not changed since the last time. True: these have, or nobody remembers. */
static bool is_news(struct net_tls *t, const struct mappings *maps)
{
	uint64_t version = mappings_version(maps);

	if (hash_get_u64(t->seen, version))
		return false;
	if (hash_count(t->seen) >= MAX_SEEN)
		hash_clear(t->seen);
	(void)hash_set_u64(t->seen, version, t);
	return true;
}

/* Of a file that was asked for by its path: it may be called anything. */
static enum tls_library as_named(enum tls_library library)
{
	return library == TLS_NONE ? TLS_ANY : library;
}

static void look_at_module(struct net_tls *t, const struct process *process, struct module *module,
			   bool is_program, bool by_pid, bool by_comm)
{
	enum tls_library library = tls_library_of(module->path);

	if (tls_wishes_lib(&t->wishes, module->path))
		probe(t, module, as_named(library), IN_ALL, NULL);
	else if (library == TLS_LIBC && is_cheap(t))
		probe(t, module, library, IN_ALL, NULL);
	if (library == TLS_NONE && is_program)
		library = TLS_ANY;
	if (library == TLS_NONE)
		return;
	if (by_pid)
		probe(t, module, library, IN_SOME, process);
	if (by_comm)
		probe(t, module, library, BY_NAME, NULL);
}

/* The process_fn. */
static int look_at(void *ctx, const struct process *process)
{
	struct net_tls *t = ctx;
	const struct mapping *all;
	bool by_pid, by_comm;
	struct mappings *maps;
	size_t n;

	if (process->free_ns || process->is_kthread)
		return 0;
	maps = process_table_mappings(t->env.processes, process->tgid);
	by_pid = maps && tls_wishes_pid(&t->wishes, t->env.processes, process->tgid);
	by_comm = maps && tls_wishes_comm(&t->wishes, process->comm);
	/* Mappings are shared by processes of which some are wanted and others are not. */
	if (!maps || (!is_news(t, maps) && !by_pid && !by_comm) || mappings_all(maps, &all, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].module)
			look_at_module(t, process, all[i].module, i == 0, by_pid, by_comm);
	return 0;
}

/* The system_library_wanted_fn: they are probed before somebody maps them. */
static bool is_wanted_library(void *ctx, const char *name)
{
	(void)ctx;
	return tls_library_of(name) != TLS_NONE;
}

static bool is_wanted_program(void *ctx, const char *name)
{
	struct net_tls *t = ctx;

	return tls_wishes_program(&t->wishes, name);
}

/* The system_library_fn. */
static void on_program(void *ctx, int fd, const char *path)
{
	struct net_tls *t = ctx;
	struct module *module;

	if (symbolizer_module(t->env.symbolizer, fd, path, &module) == 0)
		probe(t, module, TLS_ANY, BY_NAME, NULL);
}

static void on_library(void *ctx, int fd, const char *path)
{
	enum tls_library library = tls_library_of(path);
	struct net_tls *t = ctx;
	struct module *module;

	if (symbolizer_module(t->env.symbolizer, fd, path, &module) < 0)
		return;
	if (tls_wishes_any(&t->wishes, TLS_BY_COMM))
		probe(t, module, library, BY_NAME, NULL);
	if (library == TLS_LIBC && is_cheap(t))
		probe(t, module, library, IN_ALL, NULL);
}

/* A file that is named by its path may be mapped by nobody yet. */
static void probe_named(struct net_tls *t, const char *path)
{
	enum tls_library library = tls_library_of(path);
	struct module *module;
	int fd;

	fd = path[0] == '/' ? io_open_regular(path) : -EINVAL;
	if (fd >= 0 && symbolizer_module(t->env.symbolizer, fd, path, &module) == 0)
		probe(t, module, as_named(library), IN_ALL, NULL);
}

static void look_at_system(struct net_tls *t)
{
	const struct tls_selector *s;

	if (is_cheap(t) || tls_wishes_any(&t->wishes, TLS_BY_COMM))
		system_libraries_find("/", is_wanted_library, on_library, t);
	if (tls_wishes_any(&t->wishes, TLS_BY_COMM))
		system_programs_find("/", is_wanted_program, on_program, t);
	for (size_t i = 0; (s = tls_wishes_at(&t->wishes, i)); i++)
		if (s->kind == TLS_BY_LIB)
			probe_named(t, s->text);
}

static void look(struct net_tls *t)
{
	uint64_t n_answers = tls_files_answers(t->files);

	t->updated_ns = boot_ns();
	lib_probes_keep(t->probes[IN_SOME], is_still_wanted, t);
	if (n_answers != t->n_answers || hash_count(t->seen) == 0) {
		hash_clear(t->seen);
		look_at_system(t);
	}
	t->n_answers = n_answers;
	(void)process_table_each(t->env.processes, look_at, t);
	t->was_pending = lib_probes_pending(t->probes[IN_SOME]);
}

/* An answer is not waited with until the next time. */
void net_tls_update(struct net_tls *t)
{
	if (!t->skel || tls_wishes_count(&t->wishes) == 0)
		return;
	if (boot_ns() >= t->updated_ns + UPDATE_NS || tls_files_answers(t->files) != t->n_answers ||
	    (t->was_pending && !lib_probes_pending(t->probes[IN_SOME])))
		look(t);
}

/* ---- the kernel's half ---- */

static int share(struct net_tls *t)
{
	static const char *const names[] = { "ring", "streams", "own", "net_threads" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = bpf_reuse_map(t->skel->obj, t->net, names[i]);
	return r;
}

static int new_probes(struct net_tls *t, enum where where)
{
	struct lib_probes_env env = { .collector = "net", .symbolizer = t->env.symbolizer };
	bool in_some = where == IN_SOME && !uprobes_single_is_same();

	lib_probes_free(t->probes[where]);
	t->probes[where] = NULL;
	/* The way out first: a call whose way in was seen must not miss it. */
	env.programs[0].prog = in_some ? t->skel->progs.on_return : t->skel->progs.on_return_of_all;
	env.programs[0].at_return = true;
	env.programs[1].prog = in_some ? t->skel->progs.on_call : t->skel->progs.on_call_of_all;
	return lib_probes_new(&env, &t->probes[where]);
}

static void unload(struct net_tls *t)
{
	for (size_t i = 0; i < N_WHERE; i++) {
		lib_probes_free(t->probes[i]);
		t->probes[i] = NULL;
	}
	net_tls_bpf__destroy(t->skel);
	t->skel = NULL;
}

static int open_object(struct net_tls *t, const struct bpf_loading *loading)
{
	struct net_tls_function specs[NET_TLS_MAX_FUNCTIONS];
	bool same = uprobes_single_is_same();

	t->skel = net_tls_bpf__open_opts(bpf_loading_opts(loading));
	if (!t->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	tls_library_specs(specs);
	memcpy((void *)t->skel->rodata->functions, specs, sizeof(specs));
	uprobes_prepare_single(t->skel->progs.on_call);
	uprobes_prepare_single(t->skel->progs.on_return);
	uprobes_prepare(t->skel->progs.on_call_of_all);
	uprobes_prepare(t->skel->progs.on_return_of_all);
	bpf_program__set_autoload(t->skel->progs.on_call, !same);
	bpf_program__set_autoload(t->skel->progs.on_return, !same);
	(void)bpf_map__set_autocreate(t->skel->maps.net_socks, false); /* it is not used here */
	return share(t);
}

static int load(struct net_tls *t)
{
	struct bpf_loading *loading = bpf_loading_new();
	int r = open_object(t, loading);

	if (r == 0) {
		bpf_loading_begin(loading, t->skel->skeleton);
		r = bpf_loading_end(&loading, NULL, NULL); /* we are not to be drained yet */
	}
	(void)bpf_loading_end(&loading, NULL, NULL);
	for (int i = 0; r == 0 && i < N_WHERE; i++)
		r = new_probes(t, (enum where)i);
	if (r < 0)
		unload(t);
	return r;
}

int net_tls_new(const struct collector_env *env, struct bpf_object *net, struct net_tls **ret)
{
	struct net_tls *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->env = *env;
	t->net = net;
	r = hash_new(&t->seen);
	if (r == 0)
		r = tls_files_new(env->symbolizer, &t->files);
	if (r < 0) {
		net_tls_free(t);
		return r;
	}
	if (uprobe_cost_ns(&t->probe_ns) == 0)
		log_debug("net: a probe costs %llu ns", (unsigned long long)t->probe_ns);
	*ret = t;
	return 0;
}

void net_tls_free(struct net_tls *t)
{
	if (!t)
		return;
	unload(t);
	tls_files_free(t->files);
	hash_free(t->seen);
	for (unsigned i = 0; i < EVENT_MAX_STREAMS; i++)
		(void)tls_wishes_clear(&t->wishes, i);
	free(t);
}

struct bpf_object *net_tls_object(struct net_tls *t)
{
	return t->skel ? t->skel->obj : NULL;
}

/* ---- streams ---- */

/* Those of processes that have ended; `all`: of all, since nothing is told of them any more. */
static void forget_streams(struct net_tls *t, bool all)
{
	struct {
		uint64_t handle;
		uint32_t tgid, pad;
	} key, next;
	int fd = bpf_map__fd(t->skel->maps.tls_streams);
	int r = bpf_map_get_next_key(fd, NULL, &next);

	while (r == 0) {
		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		if (all || (kill((pid_t)key.tgid, 0) < 0 && errno == ESRCH))
			(void)bpf_map_delete_elem(fd, &key);
	}
}

void net_tls_tick(struct net_tls *t)
{
	if (t->skel)
		forget_streams(t, false);
}

/* ---- sessions ---- */

static int set_globs(struct net_tls *t)
{
	struct net_tls_globs *globs = calloc(1, sizeof(*globs));
	uint32_t zero = 0;
	int r;

	if (!globs)
		return -ENOMEM;
	r = tls_wishes_globs(&t->wishes, globs);
	globs->version = ++t->globs_version;
	if (bpf_map_update_elem(bpf_map__fd(t->skel->maps.globs), &zero, globs, BPF_ANY) < 0)
		r = -errno;
	free(globs);
	return r;
}

/* Puts what is missing, and waits a little for where that is. */
static void put_probes(struct net_tls *t)
{
	hash_clear(t->seen);
	look(t);
	for (int i = 0; i < MAX_WAITS; i++) {
		bool pending = tls_files_pending(t->files);

		for (size_t k = 0; k < N_WHERE; k++)
			pending |= lib_probes_pending(t->probes[k]);
		if (!pending || !symbolizer_wait(t->env.symbolizer, ANSWER_NS))
			return;
		look(t);
	}
}

static void explain(struct net_tls *t, bool was_asked, char why[WHY_LEN])
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < N_WHERE; i++) {
		n += lib_probes_count(t->probes[i]);
		r = r < 0 ? r : lib_probes_error(t->probes[i]);
	}
	if (!was_asked)
		return;
	if (r < 0)
		bpf_load_explain(r, "probes", why, WHY_LEN);
	else if (t->probe_ns >= CHEAP_NS)
		snprintf(why, WHY_LEN,
			 "a probe costs %.0f us on this machine: programs whose TLS is read get "
			 "slower by some of them a request",
			 (double)t->probe_ns / 1e3);
	else if (n == 0 && !tls_wishes_any(&t->wishes, TLS_BY_PID))
		snprintf(why, WHY_LEN,
			 "no TLS library of those asked for is here yet; one is probed some 50 ms "
			 "after a process has mapped it");
}

int net_tls_open(struct net_tls *t, const struct trace_config *config, unsigned slot,
		 char why[WHY_LEN])
{
	int r;

	if (config->n_plaintext == 0 && !is_cheap(t))
		return 0;
	r = tls_wishes_set(&t->wishes, slot, config);
	if (r == 0 && !t->skel)
		r = load(t);
	if (r == 0)
		r = set_globs(t);
	if (r < 0) {
		tls_wishes_clear(&t->wishes, slot);
		if (r == -E2BIG)
			snprintf(why, WHY_LEN,
				 "too many names of programs whose TLS is to be read");
		else
			bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		return r;
	}
	put_probes(t);
	explain(t, config->n_plaintext > 0, why);
	return 0;
}

/* What is left is what those that are left have asked for. */
static int end_probes(struct net_tls *t, bool by_lib, bool by_comm)
{
	bool is_last = tls_wishes_count(&t->wishes) == 0;
	int r = 0;

	if (is_last || by_lib)
		r = new_probes(t, IN_ALL);
	if (r == 0 && (is_last || by_comm))
		r = new_probes(t, BY_NAME);
	lib_probes_keep(t->probes[IN_SOME], is_still_wanted, t);
	if (r == 0)
		r = set_globs(t);
	if (r == 0 && !is_last)
		put_probes(t);
	if (is_last)
		forget_streams(t, true);
	return r;
}

void net_tls_close(struct net_tls *t, unsigned slot)
{
	bool by_lib = tls_wishes_has(&t->wishes, slot, TLS_BY_LIB);
	bool by_comm = tls_wishes_has(&t->wishes, slot, TLS_BY_COMM);

	if (!tls_wishes_clear(&t->wishes, slot))
		return;
	if (end_probes(t, by_lib, by_comm) < 0)
		unload(t);
}
