/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_load.c - which programs of an object this kernel can take. */
#include "bpf_load.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpus.h"
#include "kernel_types.h"
#include "log.h"

#define SECTION "tp_btf/"
#define AT_EXIT "fexit/"

int bpf_tracepoint_args(const char *name)
{
	const struct btf *btf = kernel_types();
	const struct btf_type *t;
	char type[128];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = kernel_types_find(type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return id;
	/* typedef void (*btf_trace_X)(void *, args...) */
	t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);
	if (!t || !btf_is_ptr(t))
		return -ENOENT;
	t = btf__type_by_id(btf, t->type);
	if (!t || !btf_is_func_proto(t))
		return -ENOENT;
	return btf_vlen(t) - 1;
}

const char *bpf_enumerator(struct bpf_kernel_enum *e, uint32_t value)
{
	const struct btf *btf = kernel_types();
	const struct btf_type *t;

	if (!e->is_known)
		e->id = kernel_types_find(e->type, BTF_KIND_ENUM);
	e->is_known = true;
	if (e->id < 0)
		return NULL;
	t = btf__type_by_id(btf, (__u32)e->id);
	for (int i = 0; i < btf_vlen(t); i++)
		if ((uint32_t)btf_enum(t)[i].val == value)
			return btf__name_by_offset(btf, btf_enum(t)[i].name_off);
	return NULL;
}

int bpf_can_attach_to(const char *function)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = kernel_types_find(function, BTF_KIND_FUNC), prog, link, r = 0;

	if (id < 0)
		return id;
	opts.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "attach", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), &opts);
	if (prog < 0)
		return -errno;
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0)
		r = -errno;
	else
		close(link);
	close(prog);
	return r;
}

/* Asked for one kind of program: what has it has it everywhere. */
bool bpf_can_loop(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
}

/* Of a function that this kernel does not have. */
static bool is_of_no_function(const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	return strncmp(section, AT_EXIT, strlen(AT_EXIT)) == 0 &&
	       kernel_types_find(section + strlen(AT_EXIT), BTF_KIND_FUNC) == -ENOENT;
}

int bpf_load_trim(struct bpf_object *obj, char *why, size_t why_size)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		const char *section = bpf_program__section_name(prog);
		const char *name = section + strlen(SECTION);
		size_t len = strlen(why);
		int n;

		if (is_of_no_function(prog))
			bpf_program__set_autoload(prog, false);
		if (strncmp(section, SECTION, strlen(SECTION)) != 0 || !bpf_program__autoload(prog))
			continue;
		n = bpf_tracepoint_args(name);
		if (n == -ENOTSUP) {
			snprintf(why, why_size, "%s",
				 access("/sys/kernel", F_OK) < 0
					 ? "/sys is not mounted: mount -t sysfs sysfs /sys"
					 : "the kernel has no BTF (/sys/kernel/btf/vmlinux): use "
					   "one "
					   "built with CONFIG_DEBUG_INFO_BTF");
			return n;
		}
		if (n >= 0)
			continue;
		bpf_program__set_autoload(prog, false);
		snprintf(why + len, why_size - len, "%s%s", len ? ", " : "without tracepoint ",
			 name);
	}
	return 0;
}

int bpf_reuse_map(struct bpf_object *obj, const struct bpf_object *of, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	int fd = bpf_object__find_map_fd_by_name(of, name);

	return map && fd >= 0 ? bpf_map__reuse_fd(map, fd) : -ENOENT;
}

int bpf_reuse_maps(struct bpf_object *obj, const struct bpf_object *of)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, obj)
	{
		if (r == 0)
			r = bpf_reuse_map(obj, of, bpf_map__name(map));
	}
	return r;
}

int bpf_attach_tracepoint(const struct bpf_program *prog, uint64_t id, uint64_t cookie,
			  struct bpf_link **ret)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = cookie);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
	};
	int fd = -1, r = -ENODEV;

	for (unsigned cpu = 0; fd < 0 && r == -ENODEV && cpu < cpus_possible(); cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		r = fd < 0 ? -errno : 0; /* -ENODEV: the CPU is offline */
	}
	if (fd < 0)
		return r;
	*ret = bpf_program__attach_perf_event_opts(prog, fd, &opts);
	if (*ret)
		return 0;
	r = -errno;
	close(fd);
	return r;
}

void bpf_load_explain(int err, const char *what, char *why, size_t why_size)
{
	switch (err < 0 ? -err : err) {
	case EPERM:
	case EACCES:
		snprintf(why, why_size,
			 "%s: %s: needs CAP_BPF and CAP_PERFMON (CAP_SYS_ADMIN where "
			 "kernel.perf_event_paranoid > 2); lockdown or seccomp may forbid it too",
			 what, strerror(err < 0 ? -err : err));
		break;
	case ENOMEM:
		snprintf(why, why_size, "%s: out of memory: lower ring_size in tracerd.conf", what);
		break;
	case EMFILE:
	case ENFILE:
		snprintf(why, why_size, "%s: too many open files: raise LimitNOFILE, or ulimit -n",
			 what);
		break;
	default:
		snprintf(why, why_size, "%s: %s", what, strerror(err < 0 ? -err : err));
	}
}

static int on_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[512];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("%s", line);
	return 0;
}

void bpf_load_init(void)
{
	libbpf_set_print(on_libbpf_message);
}
