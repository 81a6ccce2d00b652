#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A daemon that nobody uses costs nothing: no CPU time, no program in the kernel.
# alone
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

start_tracerd
check "a recording" tracectl record -q -d 500ms -o "$T/trace"
holds_no_events() {
	! readlink "/proc/$DAEMON"/fd/* | grep -q '^anon_inode:.*\(perf_event\|bpf\)'
}
check "when it is over, no BPF program is loaded" wait_for 5 holds_no_bpf "$DAEMON"
check "and no perf event is open" holds_no_events
check "status leaves none behind" tracectl status
check "either" holds_no_bpf "$DAEMON"

ticks() { # of the daemon and its worker
	local pid
	for pid in "$DAEMON" $(children "$DAEMON"); do
		cut -d' ' -f14,15 "/proc/$pid/stat"
	done | awk '{ n += $1 + $2 } END { print n }'
}
# What must not happen cannot be waited for.
before=$(ticks)
sleep 4
after=$(ticks)
echo "idle for 4 s: $((after - before)) ticks of $(getconf CLK_TCK) a second"
check "an idle daemon uses no CPU time" [ $((after - before)) -le 2 ]
check "it still answers" tracectl status
check "and ends when asked" stop_tracerd
