/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_verify.c - what this kernel's verifier says of BPF programs.
 *
 *	bpf_verify [-v] OBJECT...
 *
 * Loads each program alone and prints a line: object, program, "ok" and how many
 * instructions were verified, or the error; -v adds the verifier's last words.
 * A program of a tracepoint that the kernel does not have is "absent". Exit status
 * 1 when one was refused.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf_load.h"

/* Of the verifier's log: how many instructions; and every step on its way. */
#define LOG_STATS 4
#define LOG_STEPS 1

#define TAIL_LEN 3000

/* Of a long walk, with every step; only what is written is there. */
static char verifier_log[128 << 20];
static bool verbose;

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

/* Of the line "processed N insns (limit ...". */
static long n_verified(void)
{
	const char *line = strstr(verifier_log, "processed ");
	long n = -1;

	return line && sscanf(line, "processed %ld", &n) == 1 ? n : -1;
}

static void print_last_words(void)
{
	size_t len = strlen(verifier_log);

	printf("%s\n", len > TAIL_LEN ? verifier_log + len - TAIL_LEN : verifier_log);
}

/*
 * 0 for a program that is taken or absent. Programs are known by their place: names
 * repeat. With `steps` only the end of the log is printed.
 */
static int verify(const char *path, int index, bool steps, bool *ret_end)
{
	struct bpf_program *prog, *wanted = NULL;
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	char why[256] = "";
	int r, i = 0;

	if (!obj) {
		r = -errno;
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		*ret_end = true;
		return r;
	}
	bpf_object__for_each_program(prog, obj)
	{
		bpf_program__set_autoload(prog, i == index);
		if (i++ == index)
			wanted = prog;
	}
	*ret_end = !wanted;
	if (!wanted) {
		bpf_object__close(obj);
		return 0;
	}
	verifier_log[0] = '\0';
	bpf_program__set_log_buf(wanted, verifier_log, sizeof(verifier_log));
	bpf_program__set_log_level(wanted, steps ? LOG_STATS | LOG_STEPS : LOG_STATS);
	r = bpf_load_trim(obj, why, sizeof(why));
	if (steps) {
		(void)bpf_object__load(obj);
		print_last_words();
		bpf_object__close(obj);
		return r;
	}
	printf("%-28s %-24s ", strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
	       bpf_program__name(wanted));
	if (r == 0 && !bpf_program__autoload(wanted)) {
		printf("absent\n");
	} else {
		if (r == 0)
			r = bpf_object__load(obj);
		if (r < 0)
			printf("%s\n", strerror(-r));
		else
			printf("ok %ld\n", n_verified());
	}
	bpf_object__close(obj);
	if (r < 0 && verbose)
		(void)verify(path, index, true, ret_end);
	return r;
}

int main(int argc, char **argv)
{
	int first = 1, status = 0;

	if (argc > 1 && strcmp(argv[1], "-v") == 0) {
		verbose = true;
		first++;
	}
	if (first >= argc) {
		fprintf(stderr, "usage: bpf_verify [-v] OBJECT...\n");
		return 2;
	}
	libbpf_set_print(quiet);
	for (int i = first; i < argc; i++) {
		bool end = false;

		for (int n = 0; !end; n++)
			if (verify(argv[i], n, false, &end) < 0)
				status = 1;
	}
	return status;
}
