/* SPDX-License-Identifier: Apache-2.0 */
/* files_sandbox.c - the worker gives up everything it does not need. */
#include "files_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit_question.h"
#include "unwind/unwind_table.h"

#define NOBODY		 65534
#define MAX_MEMORY_BYTES (1ull << 30)
/* Enough for two sections and the rows of all caps of eh_frame.c, and for sorting. */
#define MAX_TABLES_MEMORY_BYTES (512ull << 20)
#define MAX_DESCRIPTORS		16
#define OOM_SCORE_ADJ		"500" /* before the daemon, and before what is being traced */

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||           \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(undefined_behavior_sanitizer) || __has_feature(memory_sanitizer)
#define LOOSE 1
#else
#define LOOSE 0
#endif

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

bool files_sandbox_is_loose(void)
{
	return LOOSE;
}

/* ---- the filter ---- */

#define DATA(field)	      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ARG(n)		      DATA(args[n]) /* the lower half, on these little-endian machines */
#define RET(what)	      BPF_STMT(BPF_RET | BPF_K, what)
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define SKIP_IF_ANY(bits, n)  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, n, 0)

#define ALLOW(call) SKIP_UNLESS(__NR_##call, 1), RET(SECCOMP_RET_ALLOW)
/* For libraries that look for more files than they are given: there are none. */
#define REFUSE(call) SKIP_UNLESS(__NR_##call, 1), RET(SECCOMP_RET_ERRNO | EACCES)
#define DENY(call)   SKIP_UNLESS(__NR_##call, 1), RET(SECCOMP_RET_KILL_PROCESS)

/* Numbers of another architecture or of x32 mean other calls. */
#define PROLOGUE                                                       \
	DATA(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),   \
		RET(SECCOMP_RET_KILL_PROCESS), DATA(nr),               \
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), \
		RET(SECCOMP_RET_KILL_PROCESS)

/* clang-format off */
#ifdef ARCH
#if LOOSE
/* A sanitizer's own calls change from version to version. */
static const struct sock_filter symbols_filter[] = {
	PROLOGUE,
	DENY(execve),
	DENY(execveat),
	DENY(socket),
	DENY(connect),
	DENY(bind),
	DENY(ptrace),
	DENY(mount),
	DENY(bpf),
	DENY(perf_event_open),
	DENY(unlinkat),
	DENY(renameat2),
	DENY(mkdirat),
	RET(SECCOMP_RET_ALLOW),
};
#define tables_filter symbols_filter
#else
/* libdw looks where its file is, and for parts of it in others. */
#ifdef __NR_open
#define REFUSE_PATHS REFUSE(openat), REFUSE(readlinkat), REFUSE(open), REFUSE(readlink),
#else
#define REFUSE_PATHS REFUSE(openat), REFUSE(readlinkat),
#endif

#define READ_FILES \
	ALLOW(pread64), \
	ALLOW(recvmsg), \
	ALLOW(sendmsg), \
	ALLOW(close), \
	ALLOW(lseek), \
	ALLOW(fstat), \
	ALLOW(newfstatat), /* which glibc makes of fstat() */ \
	ALLOW(brk), \
	ALLOW(munmap), \
	ALLOW(mremap), \
	ALLOW(madvise), \
	ALLOW(futex), \
	ALLOW(sysinfo), /* qsort() asks how much memory there is */ \
	ALLOW(getrandom), \
	ALLOW(clock_gettime), \
	ALLOW(setitimer), \
	ALLOW(rt_sigreturn), \
	ALLOW(rt_sigprocmask), \
	ALLOW(restart_syscall), \
	ALLOW(exit), \
	ALLOW(exit_group), \
	/* Memory, but neither of a file nor to be executed. */ \
	SKIP_UNLESS(__NR_mmap, 6), \
	ARG(2), \
	SKIP_IF_ANY(PROT_EXEC, 3), \
	ARG(3), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1), \
	RET(SECCOMP_RET_ALLOW), \
	RET(SECCOMP_RET_KILL_PROCESS), \
	/* libelf looks whether the descriptor is one. */ \
	SKIP_UNLESS(__NR_fcntl, 3), \
	ARG(1), \
	SKIP_UNLESS(F_GETFD, 1), \
	RET(SECCOMP_RET_ALLOW), \
	RET(SECCOMP_RET_KILL_PROCESS)

static const struct sock_filter symbols_filter[] = {
	PROLOGUE,
	REFUSE_PATHS
	READ_FILES,
};

static const struct sock_filter tables_filter[] = {
	PROLOGUE,
	ALLOW(pwrite64),
	READ_FILES,
};
#endif
/* clang-format on */

static int install_filter(enum files_worker_kind kind)
{
	struct sock_fprog prog = {
		.len = sizeof(symbols_filter) / sizeof(symbols_filter[0]),
		.filter = (struct sock_filter *)symbols_filter, /* the kernel only reads it */
	};

	if (kind == FILES_WORKER_TABLES || kind == FILES_WORKER_JIT) {
		prog.len = sizeof(tables_filter) / sizeof(tables_filter[0]);
		prog.filter = (struct sock_filter *)tables_filter;
	}
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0 ? -errno : 0;
}
#else
static int install_filter(enum files_worker_kind kind)
{
	(void)kind;
	return -ENOTSUP; /* numbers of system calls are known for two architectures */
}
#endif

/* ---- everything else ---- */

static int leave_descriptors(int keep_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd <= 2; fd++)
		if ((fd < 2 || !LOOSE) && fd != keep_fd && dup2(null, fd) < 0)
			return -errno;
	if (keep_fd > 3 && close_range(3, (unsigned)keep_fd - 1, 0) < 0)
		return -errno;
	return close_range((unsigned)keep_fd + 1, ~0u, 0) < 0 ? -errno : 0;
}

/*
 * The daemon decides when the worker ends: it has names to deliver after Ctrl-C
 * or SIGTERM came to the whole group.
 */
static void reset_signals(void)
{
	static const int ignored[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2
	};
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int set_limit(int resource, rlim_t max)
{
	struct rlimit rl;

	if (getrlimit((__rlimit_resource_t)resource, &rl) < 0)
		return -errno;
	if (rl.rlim_max < max)
		max = rl.rlim_max;
	rl = (struct rlimit){ max, max };
	return setrlimit((__rlimit_resource_t)resource, &rl) < 0 ? -errno : 0;
}

static int set_limits(enum files_worker_kind kind)
{
	static const struct {
		rlim_t file, memory;
	} max[FILES_WORKER_KINDS] = {
		[FILES_WORKER_SYMBOLS] = { 0, MAX_MEMORY_BYTES },
		[FILES_WORKER_TABLES] = { UNWIND_TABLE_MAX_BYTES, MAX_TABLES_MEMORY_BYTES },
		[FILES_WORKER_LINES] = { 0, MAX_MEMORY_BYTES },
		[FILES_WORKER_JIT] = { JIT_ANSWER_MAX, MAX_MEMORY_BYTES },
	};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	int r;

	if (fd >= 0) {
		/* Helps when memory is short; not needed to go on. */
		if (write(fd, OOM_SCORE_ADJ, sizeof(OOM_SCORE_ADJ) - 1) < 0)
			errno = 0;
		close(fd);
	}
	r = set_limit(RLIMIT_CORE, 0);
	if (r == 0 && !LOOSE)
		r = set_limit(RLIMIT_FSIZE, max[kind].file);
	if (r == 0 && !LOOSE)
		r = set_limit(RLIMIT_AS, max[kind].memory);
	if (r == 0)
		r = set_limit(RLIMIT_NOFILE, MAX_DESCRIPTORS);
	return r;
}

/*
 * A user id of its own needs CAP_SETUID, which the unit of the daemon need not
 * have: without capabilities and without system calls that take a path, root's
 * id gives no access either.
 */
static void change_user(void)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		errno = 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

int files_sandbox_enter(int keep_fd, enum files_worker_kind kind)
{
	int r;

	r = leave_descriptors(keep_fd);
	if (r < 0)
		return r;
	reset_signals();
	r = set_limits(kind);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* Until it says there are no more; needs CAP_SETPCAP, matters only with an exec. */
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	change_user();
	r = drop_capabilities();
	if (r < 0)
		return r;
	/* After the change of user, which resets both. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NAME, files_worker_name(kind), 0, 0, 0) < 0)
		return -errno;
	return install_filter(kind);
}
