#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# System calls in a trace against what the programs that made them say.
# timeout: 300
. "$(dirname "$0")/lib.sh"

need python3
prog=$O/tests/integration/prog

slices() {
	python3 "$SRC/tests/integration/slices.py" "$@"
}

by_thread() { # each thread's lines stay in their order
	sort -s -n -k1,1
}

# ---- a known list of calls ----

same_calls() {
	slices --calls "$T/net.trace" | by_thread >"$T/seen" || return 1
	by_thread <"$T/did" >"$T/want"
	diff -u "$T/want" "$T/seen"
}

start_tracerd
tracectl record -q -f -s syscalls -o "$T/net.trace" -- "$prog/netcalls" >"$T/did" ||
	fail "recording netcalls: exit status $?"
[ "$(wc -l <"$T/did")" -gt 900 ] || fail "netcalls did not get to its end"
check "each network call, and no other, is a slice with its descriptor, result and peer" \
	same_calls
check "the trace keeps the rules" tracectl check "$T/net.trace"

# ---- the daemon, its worker and its client ----

busy_daemon() { # it answers while it records
	for _ in $(seq 50); do
		tracectl status >/dev/null || return 1
	done
}

no_slice_of() { # PID
	! slices "$T/own.trace" | cut -f1 | grep -qx "$1"
}

spawn tracectl record -q -f -a -s syscalls -d 2s -o "$T/own.trace"
client=$!
wait_for 10 test -s "$T/own.trace" || fail "a recording of the machine starts"
check "the daemon answers while it records" busy_daemon
wait $client || fail "recording the machine: exit status $?"
check "the daemon's own calls are left out" no_slice_of "$DAEMON"

# ---- calls under way at the start and at the end ----

cat >"$T/blocked.py" <<'EOF'
import select, socket, sys, threading
a, b = socket.socketpair()
e = select.epoll()
e.register(b, select.EPOLLPRI)
threading.Thread(target=lambda: a.recv(1), daemon=True).start()
open(sys.argv[1], "w").close()
e.poll()
EOF

asleep_in() { # PID, of each of whose threads the call's number is among the rest
	local pid=$1 task
	shift
	for task in /proc/"$pid"/task/*/syscall; do
		case " $* " in *" $(cut -d' ' -f1 "$task") "*) ;; *) return 1 ;; esac
	done
}

call_number() { # NAME...
	local name
	for name in "$@"; do
		echo "#include <sys/syscall.h>
SYS_$name" | cc -E - 2>/dev/null | tail -n 1
	done
}

shown_as_blocked() { # PID
	slices "$T/blocked.trace" >"$T/blocked.slices" &&
		grep -q "^$1	.*	epoll_p\?wait	.*unfinished=true.*entered_before=true" \
			"$T/blocked.slices" &&
		grep -q "	recvfrom	.*unfinished=true.*entered_before=true" "$T/blocked.slices"
}

spawn python3 "$T/blocked.py" "$T/blocked.ready"
blocked=$!
wait_for 10 test -e "$T/blocked.ready" || fail "a program that blocks starts"
# shellcheck disable=SC2046
wait_for 10 asleep_in $blocked $(call_number recvfrom epoll_wait epoll_pwait) ||
	fail "a program that blocks is asleep"
tracectl record -q -f -s syscalls -d 1s -p $blocked -o "$T/blocked.trace" ||
	fail "recording a process that blocks: exit status $?"
check "threads that never leave their calls are shown in them" shown_as_blocked $blocked ||
	cat "$T/blocked.slices"
check "their trace keeps the rules" tracectl check "$T/blocked.trace"

# ---- more calls than can be written down ----

flood() { # ARGS
	tracectl record -q -f -s syscalls -o "$T/flood.trace" -- "$prog/flood" "$@" >"$T/calls"
	status=$?
	made=$(awk '{print $2}' "$T/calls")
	seen=$(slices "$T/flood.trace" | wc -l)
	[ $status = 0 ] || [ $status = 3 ] || fail "recording a flood: exit status $status"
}

accounted() { # without loss every call is there, and with loss the ledger says how many are not
	echo "made $made, seen $seen, exit status $status"
	[ "$made" -gt 0 ] || return 1
	if [ $status = 0 ]; then
		[ "$seen" = "$made" ]
	else
		[ "$seen" -lt "$made" ]
	fi && tracectl check "$T/flood.trace"
}

flood -n 200000 -r 100000
check "100,000 calls a second on two cores are accounted for" accounted
flood -n 600000
check "as many calls as can be made are accounted for" accounted

stop_tracerd
check "the daemon stops cleanly" test $? = 0
