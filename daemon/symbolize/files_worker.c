/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_worker.c - the process without privileges that reads traced files.
 *
 * Serves one request after the other: reads the file's symbols unless it has
 * them, answers with names; or makes its unwind table. Whatever goes wrong with a file may end this
 * process; the daemon knows which file it was and starts a new one.
 */
#include "files_worker.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/hash.h"
#include "demangle.h"
#include "elf_file.h"
#include "elf_objects.h"
#include "elf_symbols.h"
#include "files_protocol.h"
#include "files_sandbox.h"
#include "files_tables.h"

/* What a kept file takes besides its tables. */
#define FILE_OVERHEAD_BYTES 256

struct file {
	TAILQ_ENTRY(file) link;
	uint64_t id;
	struct elf_symbols *symbols;
	size_t bytes;
};

TAILQ_HEAD(files, file);

struct worker {
	enum files_worker_kind kind;
	struct hash *by_id;
	struct files files; /* most recently used first */
	size_t bytes;
	struct files_writer reply;
};

static void forget(struct worker *w, struct file *f)
{
	hash_remove_u64(w->by_id, f->id);
	TAILQ_REMOVE(&w->files, f, link);
	assert(TAILQ_LAST(&w->files, files) != f); /* for the analyzer */
	w->bytes -= f->bytes;
	elf_symbols_free(f->symbols);
	free(f);
}

static int load(struct worker *w, uint64_t id, int fd, struct file **ret)
{
	struct file *f = calloc(1, sizeof(*f)), *old;
	int r;

	if (!f)
		return -ENOMEM;
	f->id = id;
	r = elf_symbols_load(fd, -1, &f->symbols);
	if (r == 0)
		r = hash_set_u64(w->by_id, id, f);
	if (r < 0) {
		elf_symbols_free(f->symbols);
		free(f);
		return r;
	}
	f->bytes = elf_symbols_bytes(f->symbols) + FILE_OVERHEAD_BYTES;
	w->bytes += f->bytes;
	TAILQ_INSERT_HEAD(&w->files, f, link);
	while (w->bytes > FILES_KEEP_BYTES && (old = TAILQ_LAST(&w->files, files)) != f)
		forget(w, old);
	*ret = f;
	return 0;
}

static void add_entry(struct worker *w, const struct elf_symbols *symbols, uint64_t offset)
{
	struct files_entry_head e = { 0 };
	char name[DEMANGLE_MAX + 1];
	const char *raw = NULL;

	if (elf_symbols_vaddr(symbols, offset, &e.vaddr)) {
		e.flags |= FILES_HAS_VADDR;
		raw = elf_symbols_find(symbols, e.vaddr, &e.symbol);
	}
	if (raw)
		e.name_len = (uint16_t)demangle(name, raw);
	if (e.name_len)
		e.flags |= FILES_HAS_SYMBOL;
	else
		e.symbol = 0;
	files_reply_add(&w->reply, &e, name);
}

/* Variables are asked for once: nothing is kept. */
static void serve_objects(struct worker *w, struct files_request *req, int fd)
{
	struct files_reply_head head = { .file_id = req->file_id,
					 .seq = req->seq,
					 .kind = FILES_OBJECTS,
					 .status = FILES_GONE };
	struct files_objects objects = { 0 };
	struct elf_text text = { 0 };
	Elf *elf = NULL;

	if (fd >= 0)
		head.status = elf_file_open(fd, &elf) < 0 ? FILES_BROKEN : FILES_OK;
	if (elf) {
		(void)elf_text(elf, &text);
		objects.text_offset = text.offset;
		objects.text_size = text.size;
		objects.text_vaddr = text.vaddr;
		head.n = req->n;
	}
	for (uint32_t i = 0; elf && i < req->n; i++) {
		struct files_object *o = &objects.objects[i];
		int n;

		req->objects[i][FILES_OBJECT_NAME_MAX - 1] = '\0';
		n = elf_object(elf, fd, req->objects[i], o->bytes, sizeof(o->bytes), &o->vaddr);
		o->len = n > 0 && o->vaddr ? (uint32_t)n : 0;
	}
	elf_end(elf);
	files_reply_begin(&w->reply, &head);
	if (head.status == FILES_OK)
		files_reply_objects(&w->reply, &objects);
}

static void serve(struct worker *w, const struct files_request *req, int fd)
{
	struct files_reply_head head = { .file_id = req->file_id, .seq = req->seq };
	struct file *f = hash_get_u64(w->by_id, req->file_id);
	const uint8_t *build_id;
	size_t build_id_len;
	int r = 0;

	if (f) {
		TAILQ_REMOVE(&w->files, f, link);
		TAILQ_INSERT_HEAD(&w->files, f, link);
	} else if (fd >= 0) {
		r = load(w, req->file_id, fd, &f);
	}
	if (!f) {
		head.status = r < 0 ? FILES_BROKEN : FILES_GONE;
		files_reply_begin(&w->reply, &head);
		return;
	}
	head.status = FILES_OK;
	head.n = req->n;
	build_id = elf_symbols_build_id(f->symbols, &build_id_len);
	if (build_id)
		memcpy(head.build_id, build_id, build_id_len);
	head.build_id_len = (uint8_t)build_id_len;
	files_reply_begin(&w->reply, &head);
	for (uint32_t i = 0; i < req->n; i++)
		add_entry(w, f->symbols, req->offsets[i]);
}

/* Unhandled, SIGALRM ends the process, also out of a read that hangs in FUSE. */
static void set_deadline(int seconds)
{
	struct itimerval t = { .it_value.tv_sec = seconds };

	(void)setitimer(ITIMER_REAL, &t, NULL);
}

/* The size of the request, 0 when the daemon is gone. -1 for descriptors that did not come. */
static ssize_t receive(int sock, struct files_request *req, int ret_fds[FILES_MAX_FDS])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FILES_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = req, .iov_len = sizeof(*req) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	for (int i = 0; i < FILES_MAX_FDS; i++)
		ret_fds[i] = -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n;
}

static int answer(int sock, const struct files_writer *reply)
{
	struct iovec iov = { .iov_base = (void *)reply->bytes, .iov_len = reply->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Returns when the daemon has closed its end, or is not who it should be. */
static int run(struct worker *w, int sock)
{
	struct files_reply_head ready = { .status = FILES_READY };
	struct files_request req;
	const size_t head_len = offsetof(struct files_request, offsets);
	int fds[FILES_MAX_FDS], r;

	files_reply_begin(&w->reply, &ready);
	r = answer(sock, &w->reply);
	while (r == 0) {
		ssize_t n = receive(sock, &req, fds);

		if (n <= 0)
			return 0;
		if ((size_t)n < head_len || (size_t)n != files_request_len(&req) ||
		    (req.kind == FILES_TABLE) != (w->kind == FILES_WORKER_TABLES))
			return -EBADMSG;
		set_deadline(FILES_DEADLINE_S);
		if (w->kind == FILES_WORKER_TABLES)
			files_tables_serve(&req, fds[0], fds[1], &w->reply);
		else if (req.kind == FILES_OBJECTS)
			serve_objects(w, &req, fds[0]);
		else
			serve(w, &req, fds[0]);
		set_deadline(0); /* the daemon may take its time to read */
		for (int i = 0; i < FILES_MAX_FDS; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		r = answer(sock, &w->reply);
	}
	return r;
}

static bool is_our_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

const char *files_worker_name(enum files_worker_kind kind)
{
	static const char *const names[FILES_WORKER_KINDS] = {
		[FILES_WORKER_SYMBOLS] = "tracer-files",
		[FILES_WORKER_TABLES] = "tracer-tables",
	};

	return names[kind];
}

/* FILES_WORKER_KINDS: this is another program, or was not started by one of ours. */
static enum files_worker_kind which_worker(void)
{
	enum files_worker_kind kind = 0;

	while (kind < FILES_WORKER_KINDS &&
	       strcmp(program_invocation_name, files_worker_name(kind)) != 0)
		kind++;
	return is_our_socket(FILES_WORKER_FD) ? kind : FILES_WORKER_KINDS;
}

__attribute__((constructor)) static void become_the_worker(void)
{
	static struct worker w;

	w.kind = which_worker();
	if (w.kind == FILES_WORKER_KINDS)
		return;
	TAILQ_INIT(&w.files);
	if (hash_new(&w.by_id) < 0 || files_sandbox_enter(FILES_WORKER_FD, w.kind) < 0 ||
	    run(&w, FILES_WORKER_FD) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}
