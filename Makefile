# SPDX-License-Identifier: Apache-2.0
#
# Builds everything into $(O). `make help` lists the targets and the knobs.

O        ?= build
PREFIX   ?= /usr/local
SBINDIR  ?= $(PREFIX)/sbin
BINDIR   ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
DATADIR  ?= $(PREFIX)/share
MANDIR   ?= $(PREFIX)/share/man
SYSCONFDIR ?= /etc
UNITDIR  ?= /usr/lib/systemd/system
SYSUSERSDIR ?= /usr/lib/sysusers.d
CLANG    ?= clang
BPFTOOL  ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
INSTALL  ?= install
PKGS     := libbpf libdw libelf liblzma libprotobuf-c zlib libdeflate
VERSION  := 0.1.0
DURATION ?= 10s
ARCH     := $(subst x86_64,x86,$(subst aarch64,arm64,$(shell uname -m)))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
# Where the kernel's headers of the target are: for a cross compiler, elsewhere.
MULTIARCH_INCLUDE := $(firstword $(wildcard /usr/include/$(MULTIARCH) /usr/$(MULTIARCH)/include))

# Headers of these are included by their names alone; of other folders, with the folder.
INCLUDES := daemon $(addprefix daemon/,base kernel trace session control) proto \
            cli $(addprefix cli/,check index report) bpf

# CFLAGS belongs to whoever builds; ours come first so theirs can win.
CFLAGS   ?= -O2 -g
cflags   := -std=gnu11 -D_GNU_SOURCE -DTRACER_VERSION='"$(VERSION)"' \
            $(addprefix -I,$(INCLUDES)) -I$(O)/bpf -I$(O)/proto -I$(O)/tables \
            -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -fno-omit-frame-pointer \
            $(if $(WERROR),-Werror) \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all) \
            $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
libs     := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -liberty $(if $(filter x86,$(ARCH)),-lZydis)

# ---- what there is to build; a new file needs no change here ----

BASE   := $(wildcard daemon/base/*.c proto/*.c)
DAEMON := $(filter-out daemon/main.c $(BASE),$(wildcard daemon/*.c daemon/*/*.c))
CLI    := $(filter-out cli/main.c,$(wildcard cli/*.c cli/*/*.c))
BPF    := $(wildcard bpf/*.bpf.c)
PROTO  := $(wildcard proto/*.proto)
UNIT_TESTS := $(wildcard tests/unit/test_*.c)
# What several tests share.
HELPERS := $(filter-out $(UNIT_TESTS),$(wildcard tests/unit/*.c))
FUZZ   := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_HELPERS := $(filter-out $(FUZZ),$(wildcard tests/fuzz/*.c)) tests/unit/json_text.c
# Programs that integration tests and benchmarks trace or drive.
TOOLS  := $(wildcard tests/integration/prog/*.c tests/bench/*.c)
# Programs that look into things for tests, with our own readers.
READERS := $(wildcard tests/tools/*.c)

obj     = $(patsubst %.c,$(O)/%.o,$(1))
PB_SRC := $(PROTO:%.proto=$(O)/%.pb-c.c)
SKEL   := $(BPF:%.bpf.c=$(O)/%.skel.h)
# What is made of tables of facts.
TABLES := $(O)/tables/gpu_ioctls.inc
SHARED := $(call obj,$(BASE)) $(PB_SRC:.c=.o)
SETS   := $(patsubst daemon/%,$(O)/%,$(wildcard daemon/probes/*.probe))
UNIT   := $(UNIT_TESTS:%.c=$(O)/%)
PROGS  := $(TOOLS:%.c=$(O)/%)
# One program of many stacks, in the ways that programs are built.
STACKS := $(addprefix $(O)/tests/integration/prog/stacks-,\
	no-fp static static-pie no-pie stripped debug-frame no-cfi no-cfi-fp)
READS  := $(READERS:%.c=$(O)/%)
# Libraries under vendors' names, and who calls them.
GPU_LIBS := $(addprefix $(O)/tests/integration/gpu/,libcuda.so.1 libcudart.so.12 libamdhip64.so.6)
GPU_STUBS := $(GPU_LIBS) $(O)/tests/integration/gpu/calls

# ---- rules ----

Q    := $(if $(V),,@)
say   = $(if $(V),,@printf '  %-5s %s\n' $(1) $(patsubst $(O)/%,%,$@))

all: $(O)/tracerd $(O)/tracectl $(SETS)	## build tracerd and tracectl (default)
	@:

# Beside tracectl, which finds them there as long as nothing is installed.
$(SETS): $(O)/%: daemon/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(O)/tracerd:  $(O)/daemon/main.o $(call obj,$(DAEMON)) $(SHARED)
$(O)/tracectl: $(O)/cli/main.o $(call obj,$(CLI)) $(SHARED) $(O)/daemon/files.a
$(UNIT): %: %.o $(O)/tests/all.a $(SHARED)
$(UNIT): libs += $(shell pkg-config --libs check libnghttp2 2>/dev/null)

$(READS): %: %.o $(SHARED)
$(O)/tests/tools/unwind_tables $(O)/tests/tools/netdump: $(call obj,$(DAEMON))
$(O)/tests/tools/bpf_verify: $(addprefix $(O)/daemon/kernel/,bpf_load.o btf_copy.o btf_relocs.o kernel_types.o)

# What tracectl has of the daemon: the worker that reads files, and what starts it.
$(O)/daemon/files.a: $(call obj,$(DAEMON))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Of which each unit test takes what it needs: most need little.
$(O)/tests/all.a: $(call obj,$(HELPERS) $(DAEMON) $(CLI))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/tracerd $(O)/tracectl $(UNIT) $(READS):
	$(call say,LINK)
	$(Q)$(CC) $(cflags) $(CFLAGS) $(LDFLAGS) $^ $(libs) -o $@

# Skeletons and protobuf headers exist before anything that may include them;
# after the first build the .d files know the exact dependencies.
$(O)/%.o: %.c | $(SKEL) $(PB_SRC) $(TABLES)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/%.o: $(O)/%.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -g -O2 -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) \
		-idirafter $(MULTIARCH_INCLUDE) -Ibpf -MMD -MP -c $< -o $@

$(O)/bpf/%.skel.h: $(O)/bpf/%.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen object $(@:.skel.h=.linked.o) $<
	$(Q)$(BPFTOOL) gen skeleton $(@:.skel.h=.linked.o) name $*_bpf > $@

skeletons: $(SKEL)			## the BPF part alone

$(O)/proto/%.pb-c.c: proto/%.proto
	$(call say,PROTO)
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=proto --c_out=$(@D) $<

$(O)/tables/gpu_ioctls.inc: daemon/gpu/gpu_ioctls.awk daemon/gpu/gpu_ioctls.csv \
		daemon/gpu/gpu_nv_status.csv
	$(call say,TABLE)
	@mkdir -p $(@D)
	$(Q)awk -f $^ > $@

# What the tests trace is built like a distribution's programs: no sanitizers. A
# call stays a call, so that it is known what their stacks are.
prog_cflags := -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -pthread

$(PROGS): $(O)/%: %.c
	$(call say,PROG)
	@mkdir -p $(@D)
	$(Q)$(CC) $(prog_cflags) $(flags_$(@F)) -MMD -MP $< -o $@

flags_deep := -fomit-frame-pointer

# LAZY: there is a table that ld.so fills at the first call of a function.
flags_stacks-no-fp := -DLAZY -fomit-frame-pointer
flags_stacks-static := -static -fomit-frame-pointer
flags_stacks-static-pie := -static-pie -fomit-frame-pointer
flags_stacks-no-pie := -no-pie -DLAZY -fomit-frame-pointer
flags_stacks-stripped := -s -fomit-frame-pointer
flags_stacks-debug-frame := -fomit-frame-pointer -fno-asynchronous-unwind-tables
flags_stacks-no-cfi := -fomit-frame-pointer -fno-asynchronous-unwind-tables -g0
flags_stacks-no-cfi-fp := -mno-omit-leaf-frame-pointer -fno-asynchronous-unwind-tables -g0

$(STACKS): tests/integration/prog/stacks.c
	$(call say,PROG)
	@mkdir -p $(@D)
	$(Q)$(CC) $(prog_cflags) $(flags_$(@F)) $< -o $@

flags_libcuda.so.1 := -DCUDA
flags_libcudart.so.12 := -DCUDART $(O)/tests/integration/gpu/libcuda.so.1
flags_libamdhip64.so.6 := -DHIP

$(GPU_LIBS): tests/integration/gpu/stubs.c tests/integration/gpu/stubs.h
	$(call say,PROG)
	@mkdir -p $(@D)
	$(Q)$(CC) $(prog_cflags) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< $(flags_$(@F))
$(O)/tests/integration/gpu/libcudart.so.12: $(O)/tests/integration/gpu/libcuda.so.1

$(O)/tests/integration/gpu/calls: tests/integration/gpu/calls.c tests/integration/gpu/stubs.h $(GPU_LIBS)
	$(call say,PROG)
	$(Q)$(CC) $(prog_cflags) -o $@ $< $(GPU_LIBS) -ldl '-Wl,-rpath,$$ORIGIN'

# ---- the two commands of the README ----

# As many compilers as there are CPUs, unless whoever runs make has said how many.
jobs = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

record: deps				## install what is missing, build, record this machine for 10 s
	@$(MAKE) --no-print-directory $(jobs) all
	$(O)/tracectl record --duration $(DURATION) $(ARGS)

test: deps-test				## install what is missing, build, run every test (root)
	@$(MAKE) --no-print-directory $(jobs) check-all

deps:					## install the Debian packages that the build misses (root)
	@tests/deps

deps-test:				## and those that the tests miss
	@tests/deps --test

# ---- checking ----

check: $(UNIT)				## unit tests: no root, no kernel features
	@tests/run --unit $(O)

check-root: all $(PROGS) $(STACKS) $(GPU_STUBS) $(READS)		## integration tests: need root and BPF
	@tests/run --integration $(O)

check-all: all $(UNIT) $(PROGS) $(STACKS) $(GPU_STUBS) $(READS) fuzz
	@tests/run --unit --integration --fuzz $(O)

# Without the fuzzers, which have sanitizers of their own.
check-unit-root: all $(UNIT) $(PROGS) $(STACKS) $(GPU_STUBS) $(READS)
	@tests/run --unit --integration $(O)

check-vm: all $(O)/systemd/tracer.service $(PROGS) $(STACKS) $(GPU_STUBS) $(READS)	## the kernels 6.1 and 6.12 of Debian, each in a virtual machine
	@tests/deps --vm
	@tests/vm/run $(O) $(KERNELS)
	@tests/vm/run --gpu $(O) $(KERNELS)
	@tests/vm/run --service $(O) $(KERNELS)
	@tests/deps --virgl
	@tests/vm/run --virgl $(O) $(KERNELS)

check-vm-gpu: all $(PROGS) $(READS)	## GPU drivers in a virtual machine with one kernel, KERNELS=6.12
	@tests/deps --vm
	@tests/vm/run --gpu $(O) $(or $(KERNELS),6.12)

# Everything but linking, for which the libraries of that architecture would be needed.
check-arm64:				## compile all of it for arm64
	@tests/deps --arm64
	@$(MAKE) --no-print-directory O=$(O)/arm64 ARCH=arm64 CC=aarch64-linux-gnu-gcc CFLAGS=-O1 WERROR=1 \
		CPPFLAGS='-idirafter /usr/include -idirafter /usr/include/$(MULTIARCH)' objects

objects: $(call obj,daemon/main.c cli/main.c $(DAEMON) $(CLI)) $(SHARED)

check-fuzz: fuzz			## run the fuzzers, FUZZ_SECONDS=5 each
	@tests/run --fuzz $(O)

bench: all $(PROGS) $(READS)		## cost of recording and completeness, against perf (root); PARTS=
	@tests/deps --bench
	@tests/bench/run $(O) $(PARTS)

# A coverage-guided fuzzer for every boundary, from the same sources: clang, with
# its own objects, of which each fuzzer takes what it needs.
fuzz: $(FUZZ:%.c=$(O)/%)		## build the fuzzers

fuzz_cflags := $(filter-out -fsanitize=% -fno-sanitize-recover=%,$(cflags)) -g -O1 \
	-fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_LIB := $(O)/fuzz/tracer.a

$(FUZZ:%.c=$(O)/%): libs += $(shell pkg-config --libs libnghttp2 2>/dev/null)

$(FUZZ:%.c=$(O)/%): $(O)/%: $(O)/fuzz/%.o $(FUZZ_LIB)
	$(call say,FUZZ)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(fuzz_cflags) -fsanitize=fuzzer $^ $(libs) -o $@

$(FUZZ_LIB): $(patsubst %.c,$(O)/fuzz/%.o,$(FUZZ_HELPERS) $(DAEMON) $(CLI) $(BASE)) \
		$(PB_SRC:$(O)/%.c=$(O)/fuzz/%.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/fuzz/%.o: %.c | $(SKEL) $(PB_SRC) $(TABLES)
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(fuzz_cflags) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

$(O)/fuzz/%.o: $(O)/%.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(fuzz_cflags) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

analyze:				## static analysis with gcc and clang
	$(MAKE) O=$(O)/analyze-gcc WERROR=1 CFLAGS='-O1 -fanalyzer' all
	scan-build --status-bugs --exclude $(O)/analyze $(MAKE) O=$(O)/analyze all

format:					## rewrite sources with clang-format
	clang-format -i $(shell git ls-files '*.[ch]')

compile_commands.json:			## for clangd
	bear -- $(MAKE) O=$(O)/bear all

# ---- installing ----

FILES := 755:$(O)/tracerd:$(SBINDIR)/tracerd \
         755:$(O)/tracectl:$(BINDIR)/tracectl \
         644:daemon/marker.h:$(INCLUDEDIR)/tracer/marker.h \
         $(foreach f,$(wildcard daemon/probes/*.probe),644:$(f):$(DATADIR)/tracer/probes/$(notdir $(f))) \
         644:cli/tracectl.1:$(MANDIR)/man1/tracectl.1 \
         644:daemon/tracerd.8:$(MANDIR)/man8/tracerd.8 \
         644:$(O)/systemd/tracer.service:$(UNITDIR)/tracer.service \
         644:systemd/tracer.socket:$(UNITDIR)/tracer.socket \
         644:systemd/tracer.sysusers:$(SYSUSERSDIR)/tracer.conf

$(O)/systemd/tracer.service: systemd/tracer.service.in
	@mkdir -p $(@D)
	$(Q)sed 's|@SBINDIR@|$(SBINDIR)|g' $< > $@

# Whoever administers the machine may have changed it: then it stays.
CONF := $(SYSCONFDIR)/tracer/tracerd.conf

install: all $(O)/systemd/tracer.service	## honours DESTDIR and PREFIX
	@for f in $(FILES); do IFS=:; set -- $$f; \
		echo "  INST  $(DESTDIR)$$3"; $(INSTALL) -D -m $$1 $$2 $(DESTDIR)$$3 || exit 1; done
	@if [ -e $(DESTDIR)$(CONF) ] && ! cmp -s systemd/tracerd.conf $(DESTDIR)$(CONF); then \
		echo "  KEEP  $(DESTDIR)$(CONF), which differs from systemd/tracerd.conf"; \
	else echo "  INST  $(DESTDIR)$(CONF)"; \
		$(INSTALL) -D -m 644 systemd/tracerd.conf $(DESTDIR)$(CONF); fi
	@[ -n "$(DESTDIR)" ] || echo "As a service: systemd-sysusers && systemctl daemon-reload &&" \
		"systemctl enable --now tracer.socket"

uninstall:				## removes what install put there
	@for f in $(FILES); do rm -f $(DESTDIR)$${f##*:}; done
	@if cmp -s systemd/tracerd.conf $(DESTDIR)$(CONF); then rm $(DESTDIR)$(CONF); \
	elif [ -e $(DESTDIR)$(CONF) ]; then echo "  KEEP  $(DESTDIR)$(CONF), which was changed"; fi
	@for dir in $(DATADIR)/tracer/probes $(DATADIR)/tracer $(INCLUDEDIR)/tracer \
		$(SYSCONFDIR)/tracer; do rmdir $(DESTDIR)$$dir 2>/dev/null || :; done

clean:					## remove $(O)
	rm -rf $(O)

help:					## this list
	@sed -n 's/^\([a-z_.-]*\):[^#]*## \(.*\)/\1@\2/p' $(MAKEFILE_LIST) | \
		awk -F@ '{ printf "  make %-22s %s\n", $$1, $$2 }'
	@echo '  O=dir V=1 WERROR=1 SANITIZE=address,undefined PREFIX= DESTDIR= DURATION= ARGS='

.PHONY: all skeletons record test deps deps-test check check-root check-all check-unit-root check-vm check-vm-gpu check-arm64 objects check-fuzz \
	bench fuzz analyze format compile_commands.json install uninstall clean help
.DELETE_ON_ERROR:
.SECONDARY:

-include $(shell find $(O) -name '*.d' 2>/dev/null)
