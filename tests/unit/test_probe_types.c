/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of probes in a real program, found by the real worker, and the values of expressions
 * there: the program is run and stopped at each place, and the code that would run in the
 * kernel runs here, over its registers and memory.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "event_loop.h"
#include "probe/probe_registers.h"
#include "probe/probe_types.h"
#include "probe_machine.h"
#include "symbolize/symbolizer.h"

#define SOURCE "tests/integration/prog/probed.c"

static char dir[64], program[96], why[PROBE_WHY_LEN];
static struct event_loop *loop;
static struct symbolizer *sym;
static struct module *module;

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void setup(void)
{
	strcpy(dir, "/tmp/probe-types-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(program, sizeof(program), "%s/probed", dir);
}

static void teardown(void)
{
	shell("rm -rf %s", dir);
}

static void open_program(void)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	ck_assert_int_eq(symbolizer_start(sym, loop), 0);
	ck_assert_int_eq(symbolizer_module(sym, fd, program, &module), 0);
}

static void close_program(void)
{
	symbolizer_free(sym);
	event_loop_free(loop);
}

static void build(const char *flags)
{
	shell("${CC:-cc} %s " SOURCE " -o %s", flags, program);
	open_program();
}

/* ---- places ---- */

struct asked {
	bool done;
	struct probe_sites *sites;
};

static void on_sites(void *ctx, struct probe_sites *sites, const char *text)
{
	struct asked *a = ctx;

	a->done = true;
	a->sites = sites;
	if (!sites)
		snprintf(why, sizeof(why), "%s", text);
}

static int on_tick(void *ctx, uint32_t events)
{
	(void)events;
	return ((struct asked *)ctx)->done ? -ECANCELED : 0;
}

/* NULL: `why` is there. */
static struct probe_sites *ask(const struct probe_def *def)
{
	struct probe_question *q;
	struct event_source *timer;
	struct asked a = { 0 };

	ck_assert_int_eq(probe_types_ask(sym, module, def, &def->at, on_sites, &a, &q), 0);
	ck_assert_int_eq(event_loop_add_timer(loop, NS_PER_MS, on_tick, &a, &timer), 0);
	if (!a.done)
		ck_assert_int_eq(event_loop_run(loop), -ECANCELED);
	event_source_free(timer);
	return a.sites;
}

/* "uprobe:plain" and "x=arg0" */
static void define(const char *place, const char *arg, struct probe_def *ret)
{
	const char *colon = strchr(place, ':');
	char spec[PROBE_SPEC_LEN];

	*ret = (struct probe_def){ .name = "p", .n_args = arg ? 1 : 0 };
	snprintf(spec, sizeof(spec), "%.*s:%s%s", (int)(colon - place), place, program, colon);
	ck_assert_msg(probe_place_parse(spec, &ret->at, why) == 0, "%s", why);
	if (arg)
		ck_assert_msg(probe_arg_parse(arg, &ret->args[0], why) == 0, "%s", why);
	ck_assert_msg(probe_def_check(ret, why) == 0, "%s", why);
}

/* ---- the program, stopped ---- */

static bool read_process(void *ctx, uint64_t at, void *dst, size_t len)
{
	struct iovec here = { dst, len }, there = { (void *)at, len };

	return process_vm_readv(*(pid_t *)ctx, &here, 1, &there, 1, 0) == (ssize_t)len;
}

/* Where the file's offset is mapped with these permissions. */
static uint64_t address_of(pid_t pid, uint64_t offset, const char *perms)
{
	unsigned long from, to, at;
	char path[64], line[512];
	uint64_t r = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, program) && strstr(line, perms) &&
		    sscanf(line, "%lx-%lx %*s %lx", &from, &to, &at) == 3 && offset >= at &&
		    offset - at < to - from)
			r = from + (offset - at);
	fclose(f);
	ck_assert_uint_ne(r, 0);
	return r;
}

#if defined(__x86_64__)
#define TRAP	  0xccul
#define TRAP_MASK 0xfful
#define TRAP_LEN  1
#else
#define TRAP	  0xd4200000ul
#define TRAP_MASK 0xfffffffful
#define TRAP_LEN  0
#endif

static void get_registers(pid_t pid, struct machine *m)
{
	struct iovec iov = { m->regs, sizeof(m->regs) };

	ck_assert_int_eq(ptrace(PTRACE_GETREGSET, pid, 1 /* NT_PRSTATUS */, &iov), 0);
}

static uint64_t reg(const struct machine *m, unsigned offset)
{
	uint64_t r;

	memcpy(&r, m->regs + offset, sizeof(r));
	return r;
}

static void run_to(pid_t pid, uint64_t at, struct machine *m, const char *what)
{
	long code = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
	int status;

	ck_assert_int_eq(
		ptrace(PTRACE_POKETEXT, pid, at, ((unsigned long)code & ~TRAP_MASK) | TRAP), 0);
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP,
		      "%s: never came there: status 0x%x", what, (unsigned)status);
	ck_assert_int_eq(ptrace(PTRACE_POKETEXT, pid, at, code), 0);
	get_registers(pid, m);
	ck_assert_uint_eq(reg(m, probe_arch_pc(PROBE_ARCH)) - TRAP_LEN, at);
	machine_register(m, probe_arch_pc(PROBE_ARCH), at);
}

/* From where a function begins to where it has returned. */
static void run_to_return(pid_t pid, struct machine *m)
{
	struct iovec iov = { m->regs, sizeof(m->regs) };
	uint64_t back, sp = reg(m, probe_arch_stack(PROBE_ARCH));

	/* The trap at the beginning is gone, and is not passed over. */
#if defined(__x86_64__)
	ck_assert(read_process(&pid, sp, &back, sizeof(back)));
#else
	(void)sp;
	back = reg(m, 8 * 30);
#endif
	ck_assert_int_eq(ptrace(PTRACE_SETREGSET, pid, 1, &iov), 0);
	run_to(pid, back, m, "return");
}

static pid_t start(void)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(program, program, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

/* ---- expressions at places ---- */

struct expectation {
	const char *place, *expr;
	int64_t number;
	const char *text; /* instead of a number */
};

static void check_one(const struct expectation *e, const char *flags)
{
	bool at_return = strncmp(e->place, "uretprobe", 9) == 0;
	struct machine m = { .read = read_process };
	struct probe_sites *sites;
	struct probe_code code;
	struct probe_def def;
	char arg[PROBE_EXPR_LEN];
	pid_t pid;

	snprintf(arg, sizeof(arg), "x=%s", e->expr);
	define(e->place, arg, &def);
	sites = ask(&def);
	ck_assert_msg(sites, "%s %s, %s: %s", flags, e->place, e->expr, why);
	ck_assert_uint_eq(sites->n, 1);
	ck_assert_msg(probe_compile(&def, PROBES_SINGLE, sites->list[0].types, &code, why) == 0,
		      "%s, %s: %s", flags, e->place, why);
	pid = start();
	m.read_ctx = &pid;
	run_to(pid, address_of(pid, sites->list[0].offset, " r-xp"), &m, e->place);
	if (at_return)
		run_to_return(pid, &m);
	ck_assert(machine_run(&m, &code));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_msg(m.n_values == 1 && !m.values[0].is_unreadable, "%s, %s: %s", flags, e->place,
		      e->expr);
	if (e->text)
		ck_assert_msg(m.values[0].is_text && strcmp(m.values[0].text, e->text) == 0,
			      "%s, %s: %s is \"%s\"", flags, e->place, e->expr, m.values[0].text);
	else
		ck_assert_msg((int64_t)m.values[0].number == e->number, "%s, %s: %s is %lld", flags,
			      e->place, e->expr, (long long)m.values[0].number);
	probe_sites_free(sites);
}

static const struct expectation by_types[] = {
	{ "uprobe:plain", "node->value", -11, NULL },
	{ "uprobe:plain", "arg0->next->value", 22, NULL },
	{ "uprobe:plain", "node->low * 1000 + node->mid", 5100, NULL },
	{ "uprobe:plain", "node->negative", -3, NULL },
	{ "uprobe:plain", "node->name", 0, "first" },
	{ "uprobe:plain", "node->next->label", 0, "of two" },
	{ "uprobe:plain", "node->color == BLUE", 1, NULL },
	{ "uprobe:plain", "GREEN", 7, NULL },
	{ "uprobe:plain", "node->second", 0x22222222, NULL },
	{ "uprobe:plain", "node->cells[1].weights[1]", -5, NULL },
	{ "uprobe:plain", "node->cells[how + 4].kind", 2, NULL },
	{ "uprobe:plain", "node->ratio", 0x3fe0000000000000, NULL },
	{ "uprobe:plain", "how", -3, NULL },
	{ "uprobe:plain", "byte", 200, NULL },
	{ "uprobe:plain", "text", 0, "hello" },
	{ "uprobe:plain", "text == \"hel*\"", 1, NULL },
	{ "uprobe:plain", "big", -1099511627776, NULL },
	{ "uprobe:plain", "small", -9, NULL },
	{ "uprobe:plain", "on_stack", 70, NULL },
	{ "uprobe:plain", "arg7", 80, NULL },
	{ "uprobe:plain", "total", 4242, NULL },
	{ "uprobe:plain", "first.value", -11, NULL },
	{ "uprobe:plain", "(first.next)->name", 0, "second" },
	{ "uprobe:plain", "&first == node", 1, NULL },
	{ "uprobe:plain", "((struct node *)arg0)->value", -11, NULL },
	{ "uretprobe:plain", "retval", -5, NULL },
	{ "uprobe:by_value", "pair.a * 10 + pair.b", 8, NULL },
	{ "uprobe:by_value", "wide.a", 3, NULL },
	{ "uprobe:by_value", "wide.b", -4, NULL },
	{ "uprobe:by_value", "mixed.n", 5, NULL },
	{ "uprobe:by_value", "large.a", 6, NULL },
	{ "uprobe:by_value", "large.c", -8, NULL },
	{ "uprobe:by_value", "after", 9, NULL },
	{ "uretprobe:by_value", "retval", -6000000000, NULL },
	{ "uprobe:returns_large", "first_one", 31, NULL },
	{ "uprobe:returns_large", "arg0", 31, NULL },
	{ "uprobe:returns_wide", "x", 44, NULL },
	{ "uretprobe:returns_wide", "retval.a", 44, NULL },
	{ "uretprobe:returns_wide", "retval.b", -77, NULL },
	{ "uretprobe:returns_pointer", "retval->value", 22, NULL },
	{ "uprobe:variadic", "n", 1, NULL },
	{ "uprobe:variadic", "(int)arg1", 99, NULL },
	{ "uprobe:recursive", "n", 3, NULL },
#if defined(__x86_64__)
	{ "uprobe:coded", "(int)arg0 + total", 4259, NULL }, /* of it alone there is no DWARF */
#endif
	{ "usdt:probed:plain", "((struct node *)arg0)->next->value", 22, NULL },
	{ "usdt:probed:plain", "arg1 + total", 4239, NULL },
};

static const struct expectation by_registers[] = {
	{ "uprobe:plain", "*(int *)arg0", -11, NULL },
	{ "uprobe:plain", "(int)arg1", -3, NULL },
	{ "uprobe:plain", "str(arg3)", 0, "hello" },
	{ "uprobe:plain", "arg4", -1099511627776, NULL },
	{ "uprobe:plain", "(int)arg6", 70, NULL },
	{ "uprobe:plain", "arg7:u64", 80, NULL },
	{ "uretprobe:plain", "(int)retval", -5, NULL },
	{ "uretprobe:by_value", "retval", -6000000000, NULL },
	{ "usdt:probed:plain", "*(int *)arg0", -11, NULL },
	{ "usdt:probed:plain", "arg1", -3, NULL },
	{ "usdt:probed:plain", "str(arg2)", 0, "hello" },
	{ "usdt:probed:kinds", "arg0", -8, NULL },
	{ "usdt:probed:kinds", "arg1", -5, NULL },
	{ "usdt:probed:kinds", "arg2", 4242, NULL },
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void check_all(const struct expectation *list, size_t n, const char *flags)
{
	for (size_t i = 0; i < n; i++)
		check_one(&list[i], flags);
}

START_TEST(values_of_programs)
{
	static const char *const flags[] = { "-O0 -g", "-O2 -g", "-Og -g -gdwarf-4",
					     "-O2 -g -no-pie -fno-pie" };

	build(flags[_i]);
	check_all(by_types, N(by_types), flags[_i]);
	check_all(by_registers, N(by_registers), flags[_i]);
	close_program();
}
END_TEST

START_TEST(values_of_a_program_without_types)
{
	struct probe_sites *sites;
	struct probe_code code;
	struct probe_def def;

	build("-O2");
	check_all(by_registers, N(by_registers), "-O2");
	define("uprobe:plain", "x=node->value", &def);
	sites = ask(&def);
	ck_assert_msg(sites, "%s", why);
	ck_assert_int_lt(probe_compile(&def, PROBES_SINGLE, sites->list[0].types, &code, why), 0);
	ck_assert_msg(strstr(why, "no debug information"), "%s", why);
	probe_sites_free(sites);
	close_program();
}
END_TEST

/* As Debian does it: the program is stripped, and beside it there is what was taken away. */
START_TEST(types_are_found_in_debug_files)
{
	shell("${CC:-cc} -O2 -g -Wl,--build-id " SOURCE " -o %s", program);
	shell("cd %s && id=$(readelf -n probed | sed -n 's/.*Build ID: //p') && "
	      "mkdir -p usr/lib/debug/.build-id/${id%%${id#??}} && objcopy --only-keep-debug "
	      "probed "
	      "usr/lib/debug/.build-id/${id%%${id#??}}/${id#??}.debug && strip probed",
	      dir);
	open_program();
	check_all(by_types, N(by_types), "stripped");
	close_program();
}
END_TEST

static uint64_t symbol(const char *name)
{
	char command[256], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "nm %s | grep ' %s$'", program, name);
	f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	pclose(f);
	return strtoull(line, NULL, 16);
}

START_TEST(variables_inside_a_function)
{
	static const char *const flags[] = { "-O0 -g", "-Og -g" };
	static const struct {
		const char *expr;
		int64_t value;
	} expected[] = {
		{ "square", 4 }, { "i", 2 }, { "n", 5 }, { "sum", 16 }, { "total", 4242 }
	};
	struct expectation e = { 0 };
	char place[64];

	build(flags[_i]);
	snprintf(place, sizeof(place), "uprobe:inside+%llu",
		 (unsigned long long)(symbol("inside_spot") - symbol("inside")));
	e.place = place;
	for (size_t i = 0; i < N(expected); i++) {
		e.expr = expected[i].expr;
		e.number = expected[i].value;
		check_one(&e, flags[_i]);
	}
	close_program();
}
END_TEST

START_TEST(globs_mean_all_functions)
{
	struct probe_sites *sites;
	struct probe_def def;

	build("-O2 -g");
	define("uprobe:returns_*", "x=arg0", &def);
	sites = ask(&def);
	ck_assert_msg(sites, "%s", why);
	ck_assert_uint_eq(sites->n, 5);
	for (size_t i = 0; i < sites->n; i++) {
		ck_assert_int_eq(strncmp(sites->list[i].symbol, "returns_", 8), 0);
		ck_assert_ptr_nonnull(sites->list[i].types);
	}
	ck_assert(!sites->is_go);
	probe_sites_free(sites);
	define("usdt:probed:*", NULL, &def);
	sites = ask(&def);
	ck_assert_msg(sites && sites->n == 2, "%s", why);
	ck_assert(!sites->list[0].semaphore && sites->list[1].semaphore);
	probe_sites_free(sites);
	close_program();
}
END_TEST

START_TEST(what_is_wrong_with_a_place_is_said)
{
	static const struct {
		const char *place, *says;
	} bad[] = {
		{ "uprobe:plane", "near it: plain" },
		{ "uprobe:return_wide", "near it: returns_wide" },
		{ "uprobe:nothing_like_it_*", "no function is called like" },
		{ "uprobe:plain+100000", "has only" },
		{ "usdt:probed:plane", "near it: probed:plain" },
		{ "usdt:probe:kinds", "near it: probed:kinds" },
#if defined(__x86_64__)
		{ "uprobe:coded+1", "inside the instruction that begins at +0x0" },
		{ "uprobe:coded+6", "inside the instruction that begins at +0x5" },
#endif
	};
	struct probe_def def;

	build("-O2 -g");
	for (size_t i = 0; i < N(bad); i++) {
		define(bad[i].place, NULL, &def);
		ck_assert_msg(!ask(&def), "%s", bad[i].place);
		ck_assert_msg(strstr(why, bad[i].says), "%s: %s", bad[i].place, why);
	}
	define("uprobe:coded+5", NULL, &def);
#if defined(__x86_64__)
	{
		struct probe_sites *sites = ask(&def);

		ck_assert_msg(sites, "%s", why);
		probe_sites_free(sites);
	}
#endif
	close_program();
}
END_TEST

/* A function of the kernel: what it takes lies in a record, or in registers. */
START_TEST(functions_of_the_kernel)
{
	static const struct {
		const char *spec, *expr;
		uint64_t value;
	} cases[] = {
		{ "fentry:vfs_read", "count", 77 },
		{ "fentry:vfs_read", "arg2 + 1", 78 },
		{ "fexit:vfs_read", "retval", (uint64_t)-5 },
		{ "fexit:vfs_read", "retval < 0 && count == 77", 1 },
		{ "kprobe:vfs_read", "count", 99 },
		{ "fentry:vfs_read", "&file->f_flags == &((struct file *)arg0)->f_flags", 1 },
	};
	static const uint64_t record[] = { 0xffff888000000000, 0x7f0000000000, 77, 0,
					   (uint64_t)-5 };

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return;
	for (size_t i = 0; i < N(cases); i++) {
		struct machine m = { .record = record, .record_len = sizeof(record) };
		struct probe_def def = { .name = "p", .n_args = 1 };
		struct probe_sites *sites;
		struct probe_code code;
		char arg[PROBE_EXPR_LEN];

		snprintf(arg, sizeof(arg), "x=%s", cases[i].expr);
		machine_register(&m, probe_arch_arg(PROBE_ARCH, 2), 99);
		ck_assert_int_eq(probe_place_parse(cases[i].spec, &def.at, why), 0);
		ck_assert_int_eq(probe_arg_parse(arg, &def.args[0], why), 0);
		ck_assert_msg(probe_types_kernel(&def, &def.at, &sites, why) == 0, "%s", why);
		ck_assert_msg(
			probe_compile(&def, PROBES_SINGLE, sites->list[0].types, &code, why) == 0,
			"%s", why);
		ck_assert(machine_run(&m, &code));
		ck_assert_msg(m.values[0].number == cases[i].value, "%s: %lld", arg,
			      (long long)m.values[0].number);
		probe_sites_free(sites);
	}
}
END_TEST

/* The question is given up, and the program with it; nothing is told, nothing is lost. */
START_TEST(questions_are_given_up)
{
	struct probe_question *q;
	struct asked a = { 0 };
	struct probe_def def;

	build("-O2 -g");
	define("uprobe:returns_*", "x=arg0", &def);
	ck_assert_int_eq(probe_types_ask(sym, module, &def, &def.at, on_sites, &a, &q), 0);
	ck_assert(!a.done);
	probe_question_free(q);
	ck_assert_ptr_nonnull(strcpy(def.at.symbol, "plain"));
	probe_sites_free(ask(&def));
	ck_assert_int_eq(probe_types_ask(sym, module, &def, &def.at, on_sites, &a, &q), 0);
	probe_question_free(q);
	close_program();
	ck_assert(!a.done);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe_types");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, values_of_programs, 0, 4);
	tcase_add_test(tc, values_of_a_program_without_types);
	tcase_add_test(tc, types_are_found_in_debug_files);
	tcase_add_loop_test(tc, variables_inside_a_function, 0, 2);
	tcase_add_test(tc, globs_mean_all_functions);
	tcase_add_test(tc, what_is_wrong_with_a_place_is_said);
	tcase_add_test(tc, functions_of_the_kernel);
	tcase_add_test(tc, questions_are_given_up);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
