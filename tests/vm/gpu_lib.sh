# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# gpu_lib.sh - what the tests of GPUs in a virtual machine share; after lib.sh:
#
#   record NAME PROGRAM...    records it with tracefs as a witness
#   verify COMMAND ARGS...    gpu_check.py
#   trace_is_good FILE        tracectl check
#   unload MODULE...
#   check_gpu WHAT COMMAND... check, if there is the source gpu

TRACEFS=/sys/kernel/tracing

echo "# $(uname -srm), up $(cut -d' ' -f1 /proc/uptime) s"
[ -d $TRACEFS/events ] || mount -t tracefs tracefs $TRACEFS
[ -d /sys/kernel/debug/dma_buf ] || mount -t debugfs debugfs /sys/kernel/debug

has_source() {
	tracectl status --json | grep -q "\"name\":\"$1\""
}

verify() { # COMMAND ARGS...
	python3 tests/vm/gpu_check.py "$@"
}

# As soon as nobody uses them.
unload() { # MODULE...
	local module
	for module in "$@"; do
		wait_for 30 rmmod "$module" || return 1
	done
}

# All rules but one: a machine that stands still for a while misses its snapshots.
trace_is_good() { # FILE
	tracectl check "$1" >"$T/findings" && return
	cat "$T/findings"
	! grep -E '^[A-Z][0-9]+ ' "$T/findings" | grep -qv '^C1 snapshot-gap:'
}

# ---- tracefs as a witness, in an instance of its own ----

oracle=$TRACEFS/instances/oracle
mkdir $oracle
echo boot >$oracle/trace_clock
echo 8192 >$oracle/buffer_size_kb

oracle_start() {
	local event
	echo 0 >$oracle/tracing_on
	: >$oracle/trace
	for event in gpu_scheduler dma_fence drm virtio_gpu gpu_mem syscalls/sys_enter_ioctl syscalls/sys_exit_ioctl; do
		[ ! -e "$oracle/events/$event" ] || echo 1 >"$oracle/events/$event/enable"
	done
	echo 1 >$oracle/tracing_on
}

# It lets go of the modules whose events these are.
oracle_stop() { # FILE
	echo 0 >$oracle/tracing_on
	grep -v '^#' $oracle/trace >"$1"
	echo 0 >$oracle/events/enable
	if grep -H '^\(overrun\|dropped events\): [1-9]' $oracle/per_cpu/cpu*/stats; then
		fail "$1: tracefs has lost events"
	fi
}

# A program while it is recorded and watched: $T/NAME.trace, .did, .oracle.
record() { # NAME PROGRAM...
	local name=$1 status
	shift
	oracle_start
	tracectl record -q -f -o "$T/$name.trace" -- "$@" >"$T/$name.did" 2>"$T/$name.err"
	status=$?
	oracle_stop "$T/$name.oracle"
	check "$name: it is recorded (exit status $status)" [ $status = 0 -o $status = 3 ] ||
		cat "$T/$name.err" "$T/$name.did"
	check "$name: the trace is good" trace_is_good "$T/$name.trace"
}

# Of what only the source gpu knows.
check_gpu() { # WHAT COMMAND...
	if has_source gpu; then
		check "$@"
	else
		echo "skip - $1: there is no source gpu"
	fi
}
