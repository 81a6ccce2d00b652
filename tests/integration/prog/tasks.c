/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks KIND - one task of each kind that is easily confused with another.
 * Says "KIND PID ..." when it is so, and ends when its input does.
 *
 *   rename      the main thread and another one take new names
 *   thread-exec a thread that is not the leader calls exec
 *   vfork       a child that shares its parent's memory until exec
 *   orphan      a grandchild that calls exec when its parent has ended
 *   pidns       init of a new pid namespace and a child in it
 *   names       names and arguments that are not text
 *   reuse       a child that lives until SIGUSR1, and another that gets its pid at
 *               once, before the kernel has freed the first
 */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wait_for_input_end(void)
{
	char buf[64];

	while (read(0, buf, sizeof(buf)) > 0)
		;
}

static void *renamed_thread(void *arg)
{
	prctl(PR_SET_NAME, "second-name");
	pthread_barrier_wait(arg);
	wait_for_input_end();
	return NULL;
}

static int do_rename(void)
{
	pthread_barrier_t barrier;
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	prctl(PR_SET_NAME, "main-name");
	if (pthread_create(&t, NULL, renamed_thread, &barrier) != 0)
		return 1;
	pthread_barrier_wait(&barrier);
	printf("rename %d\n", getpid());
	fflush(stdout);
	pthread_join(t, NULL);
	return 0;
}

static void *exec_thread(void *arg)
{
	char tid[16];

	(void)arg;
	snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
	execl("/proc/self/exe", "after-thread-exec", "thread-exec-done", tid, (char *)NULL);
	_exit(1);
}

static int do_thread_exec(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, exec_thread, NULL) != 0)
		return 1;
	for (;;)
		pause();
}

static int do_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/proc/self/exe", "after-vfork", "wait", (char *)NULL);
		_exit(1);
	}
	printf("vfork %d %d\n", getpid(), pid);
	fflush(stdout);
	return waitpid(pid, NULL, 0) != pid;
}

static int do_orphan(void)
{
	pid_t child = fork();

	if (child == 0) {
		if (fork() == 0) {
			while (getppid() != 1 && kill(child, 0) == 0)
				usleep(1000);
			usleep(50000); /* until the kernel has freed it, too */
			execl("/proc/self/exe", "after-orphan", "orphan-done", (char *)NULL);
		}
		_exit(0);
	}
	waitpid(child, NULL, 0);
	wait_for_input_end();
	return 0;
}

static int do_pidns(void)
{
	int fds[2];
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0 || pipe(fds) < 0) {
		perror("unshare");
		return 77;
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "ns-init");
		if (fork() == 0) {
			prctl(PR_SET_NAME, "ns-child");
			wait_for_input_end();
			_exit(0);
		}
		(void)!write(fds[1], "", 1);
		wait_for_input_end();
		wait(NULL);
		_exit(0);
	}
	(void)!read(fds[0], &(char){ 0 }, 1);
	printf("pidns %d %d\n", getpid(), pid);
	fflush(stdout);
	waitpid(pid, NULL, 0);
	return 0;
}

static int do_reuse(void)
{
	pid_t child;
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&child,
				   .set_tid_size = 1 };
	sigset_t usr1;
	pid_t second;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigwait(&usr1, &sig);
		for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)
			;
		_exit(0);
	}
	printf("reuse %d %d\n", getpid(), child);
	fflush(stdout);
	waitpid(child, NULL, 0);
	second = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (second == 0) {
		close(0); /* its input has ended */
		execl("/proc/self/exe", "after-reuse", "wait", (char *)NULL);
		_exit(1);
	}
	if (second < 0)
		return errno == EEXIST ? 77 : 1; /* somebody else got it */
	return waitpid(second, NULL, 0) != second;
}

static int do_names(void)
{
	static char *argv[] = { "\033]0;pwned\007\xff\xfe", "wait", "a\nb", "\xe2\x80\xae", NULL };

	printf("names %d\n", getpid());
	fflush(stdout);
	prctl(PR_SET_NAME, "");
	execv("/proc/self/exe", argv);
	return 1;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (strcmp(kind, "rename") == 0)
		return do_rename();
	if (strcmp(kind, "thread-exec") == 0)
		return do_thread_exec();
	if (strcmp(kind, "thread-exec-done") == 0)
		printf("thread-exec %d %s\n", getpid(), argc > 2 ? argv[2] : "");
	else if (strcmp(kind, "orphan-done") == 0)
		printf("orphan %d\n", getpid());
	else if (strcmp(kind, "vfork") == 0)
		return do_vfork();
	else if (strcmp(kind, "orphan") == 0)
		return do_orphan();
	else if (strcmp(kind, "pidns") == 0)
		return do_pidns();
	else if (strcmp(kind, "names") == 0)
		return do_names();
	else if (strcmp(kind, "reuse") == 0)
		return do_reuse();
	else if (strcmp(kind, "wait") != 0)
		return 2;
	fflush(stdout);
	wait_for_input_end();
	return 0;
}
