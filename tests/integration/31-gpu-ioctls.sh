#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ioctls of GPU drivers, on a machine without one: the kernel's half is told that
# /dev/null is a DRM device. Real drivers are in the virtual machine's tests.
# timeout: 300
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
need python3
need bpftool
need cc gcc
prog=$O/tests/integration/prog/gpucalls

slices() {
	python3 "$SRC/tests/integration/gpu_slices.py" "$@"
}

# Of the daemon, not of another one that this machine may have.
map_id() { # NAME
	local id
	for id in $(sed -n 's/^map_id:[[:space:]]*//p' /proc/"$DAEMON"/fdinfo/* 2>/dev/null | sort -un); do
		bpftool map show id "$id" 2>/dev/null | grep -q " name $1 " && echo "$id" && return
	done
	return 1
}

is_loaded() {
	map=$(map_id gpu_majors)
}

bytes() { # NUMBER, as four of them
	echo $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255))
}

# Runs prog while it is recorded; it waits until /dev/null has become a GPU. The daemon has
# not recorded before, or the maps could be those of a moment ago.
record() { # NAME [COMMAND...] of prog
	local name=$1 recorder
	shift
	rm -f "$T/go"
	spawn tracectl record -q -f -s gpu -o "$T/$name.trace" -- "$prog" "$T/go" "$@" >"$T/pid"
	recorder=$!
	wait_for 30 is_loaded || fail "the source gpu is loaded"
	# shellcheck disable=SC2046
	bpftool map update id "$map" key $(bytes 1) value 1 || fail "/dev/null becomes a GPU"
	[ -z "${prepare-}" ] || $prepare
	touch "$T/go"
	wait $recorder
	status=$?
}

record_anew() {
	[ -z "$DAEMON" ] || stop_tracerd || fail "the daemon ends in order"
	start_tracerd
	record "$@"
}

# ---- a known list ----

cat >"$T/want" <<'END'
DRM_IOCTL_MODE_ATOMIC class=kms minor=3 flags=0x201 count_objs=3 user_data=0x77 error=ENOTTY
DRM_IOCTL_GEM_CLOSE class=mem minor=3 handle=7 error=ENOTTY
DRM driver ioctl 0x42 class=unknown minor=3 request=0xc0406442 error=ENOTTY
DRM core ioctl 0xfe class=unknown minor=3 request=0xc04064fe error=ENOTTY
DRM_IOCTL_MODE_ATOMIC class=kms minor=3 flags=0x201 count_objs=3 error=ENOTTY
DRM_IOCTL_GEM_CLOSE class=mem minor=3 error=ENOTTY input_unreadable=true
END

same_list() {
	[ "$status" = 0 ] && tracectl check "$T/list.trace" || return 1
	slices "$T/list.trace" | cut -f2- | tr '\t' '\n' | grep -v '^driver=\|^fd=' | awk '
		/^DRM/ && NR > 1 { printf "\n" }
		{ printf "%s%s", /^DRM/ ? "" : " ", $0 }
		END { if (NR) print "" }' >"$T/seen"
	diff -u "$T/want" "$T/seen"
}

record_anew list list
check "each ioctl, and no other, is a slice with its name, arguments and result" same_list

# ---- stacks ----

# As if a number of the core's were a submit: no such one can be had from /dev/null.
flink_submits() {
	local slot
	slot=$(awk -F, '!/^#/ && $1 != last { last = $1; n++; if ($1 == "drm") print n }' \
		"$SRC/daemon/gpu/gpu_ioctls.csv")
	# shellcheck disable=SC2046
	bpftool map update id "$(map_id gpu_rules)" key $(bytes $((slot * 256 + 10))) \
		value 1 8 8 0 0 0 0 0 || fail "an ioctl becomes a submit"
}

with_stacks() { # the first one or two may be without: there was no table yet
	slices "$T/submit.trace" >"$T/seen"
	cat "$T/seen"
	[ "$status" = 0 ] && [ "$(wc -l <"$T/seen")" = 20 ] &&
		[ "$(grep -c 'stack=.*main.*>submit_here' "$T/seen")" -ge 15 ] &&
		tracectl check "$T/submit.trace"
}

prepare=flink_submits
record_anew submit submit 20
prepare=
check "submits have the stack that led to them" with_stacks

# ---- more than can be written down ----

accounted() { # without loss every ioctl is there, and with loss the ledger says how many are not
	seen=$(slices "$T/flood.trace" | wc -l)
	echo "made 100000, seen $seen, exit status $status"
	case $status in
	0) [ "$seen" = 100000 ] ;;
	3) [ "$seen" -lt 100000 ] ;;
	*) false ;;
	esac && tracectl check "$T/flood.trace"
}

record_anew flood flood 50000
check "as many ioctls as can be made are accounted for" accounted

# While a program runs at a tracepoint, no sample is taken: for how long is told. It is
# measured by turns, several in the time that this takes.
is_told() {
	python3 "$SRC/tests/integration/attributes.py" "$T/told.trace" >"$T/attributes"
	grep '^cost' "$T/attributes"
	awk -v classic="$classic" '
		$1 == "cost.unsampled_ns" { found = classic ? $2 > 0 : 1 }
		END { exit !found }' "$T/attributes"
}

at_tracepoints() {
	bpftool prog show | grep -q 'tracepoint.* name on_ioctl_enter' && classic=1
}

classic=
prepare=at_tracepoints
record_anew told submit 60
prepare=
check "time without samples is told (at tracepoints: ${classic:-0})" is_told

# ---- 32-bit programs ----

cat >"$T/compat.c" <<'END'
static int call(int nr, long a, long b, long c)
{
	int r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}

/* Until there is a file "stop", and some more then. */
void _start(void)
{
	volatile unsigned int gem_close[2] = { 7, 0 }; /* the stack is there */
	int fd = call(5, (long)"/dev/null", 2, 0);
	for (int left = 5; left > 0;) {
		struct { int s, ns; } pause = { 0, 20000000 };
		if (call(33, (long)"stop", 0, 0) == 0)
			left--;
		call(54, fd, 0x40086409, (long)gem_close);
		call(162, (long)&pause, 0, 0);
	}
	call(1, 0, 0, 0);
}
END

times_watched() { # there may be other such programs, whose time it was before
	grep -c "32-bit programs: all system calls" "$T/tracerd.log"
}

is_watched() {
	[ "$(times_watched)" -gt "$watched_before" ]
}

shown_as_compat() {
	slices "$T/compat.trace" | grep "DRM_IOCTL_GEM_CLOSE.*class=mem.*handle=7.*compat=true" &&
		tracectl check "$T/compat.trace"
}

if [ "$(uname -m)" = x86_64 ] && cc -m32 -nostdlib -static -ffreestanding -fno-pie -no-pie -O1 \
	-fno-stack-protector -o "$T/compat" "$T/compat.c" 2>/dev/null &&
	touch "$T/stop" && (cd "$T" && ./compat 2>/dev/null); then
	rm "$T/stop"
	cd "$T" || exit 1
	prog=$T/compat
	stop_when_watched() {
		wait_for 30 is_watched
		touch "$T/stop"
	}
	prepare=stop_when_watched
	watched_before=$(times_watched)
	record_anew compat
	prepare=
	cd "$SRC" || exit 1
	check "ioctls of 32-bit programs are shown" shown_as_compat
fi

# ---- buffers that are shared ----

cat >"$T/udmabuf.py" <<'END'
import fcntl, os, struct
memory = os.memfd_create("buffer", os.MFD_ALLOW_SEALING)
os.ftruncate(memory, 8192)
fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
device = os.open("/dev/udmabuf", os.O_RDWR)
buffer = fcntl.ioctl(device, 0x40187542, struct.pack("IIQQ", memory, 0, 0, 8192))
fcntl.ioctl(buffer, 0x40086200, struct.pack("Q", 5))
END

shows_buffers() {
	slices "$T/udmabuf.trace" >"$T/seen"
	cat "$T/seen"
	grep -q "UDMABUF_CREATE.*driver=udmabuf.*size=8192" "$T/seen" &&
		grep -q "DMA_BUF_IOCTL_SYNC.*driver=dma-buf.*flags=0x5" "$T/seen"
}

if [ -c /dev/udmabuf ]; then
	tracectl record -q -f -s gpu -o "$T/udmabuf.trace" -- python3 "$T/udmabuf.py" ||
		fail "recording udmabuf: exit status $?"
	check "buffers and what is done with them are shown" shows_buffers
fi

# ---- a real GPU, where there is one ----

cat >"$T/gpu.py" <<'END'
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
for request in 0xC0406400, 0x40086409, 0xC0406490:
    try:
        fcntl.ioctl(fd, request, bytes(64))
    except OSError:
        pass
END

shows_the_driver() { # the first was counted only, if it has not failed
	slices "$T/gpu.trace" >"$T/seen"
	cat "$T/seen"
	grep -q "DRM_IOCTL_GEM_CLOSE	driver=[a-z].*handle=0" "$T/seen" &&
		grep -q "DRM driver ioctl 0x90	" "$T/seen"
}

node=$(find /dev/dri -maxdepth 1 -type c 2>/dev/null | head -n 1)
if [ -n "$node" ]; then
	tracectl record -q -f -s gpu -o "$T/gpu.trace" -- python3 "$T/gpu.py" "$node" ||
		fail "recording ioctls on $node: exit status $?"
	check "ioctls on $node are slices with the driver's name" shows_the_driver
fi

stop_tracerd
check "the daemon stops cleanly" test $? = 0

# ---- where the tracepoints of ioctl() cannot be had ----

if command -v strace >/dev/null && unshare -m true 2>/dev/null; then
	cat >"$T/blind.sh" <<'END'
for dir in /sys/kernel/tracing /sys/kernel/debug; do
	mount -t tmpfs none $dir 2>/dev/null
done
exec strace -f -q --seccomp-bpf -o /dev/null -e trace=fsopen -e inject=fsopen:error=EPERM "$@"
END
	SOCKET=$T/blind.sock
	# shellcheck disable=SC2024
	unshare -m bash "$T/blind.sh" "$O/tracerd" --socket "$SOCKET" \
		>"$T/blind.log" 2>&1 &
	DAEMON=$! # it becomes strace
	strace=$DAEMON
	lib_pids+=("$strace")
	wait_for 20 daemon_listens || fail "tracerd starts without tracefs"
	DAEMON=$(pgrep -P "$strace" -x tracerd)
	prog=$O/tests/integration/prog/gpucalls
	record list list
	check "the tracepoints of all calls do as well" same_list
	check "and it is said why" grep -q "gpu: tracepoints of all system calls" "$T/blind.log"
	[ -z "$DAEMON" ] || kill "$DAEMON"
	wait_for 10 gone "$strace" || fail "tracerd ends without tracefs"
fi
