#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 at random moments of a recording, from its start on: tracerd 50 times,
# tracectl with its private daemon 50 times. Nothing of ours is left, the file
# loads, and what was traced comes to the right result.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

RANDOM=${SEED-815}
KILLS=${KILLS-50}
FILE=$T/killed.perfetto-trace

# Something that is traced all the time, and knows what its result must be.
head -c 300000 /dev/urandom >"$T/data"
work() {
	local expected
	expected=$(sha256sum <"$T/data")
	while sleep 0.02; do
		if [ "$(sha256sum <"$T/data")" = "$expected" ]; then
			echo >>"$T/right"
		else
			echo >>"$T/wrong"
		fi
	done
}
spawn work

pause() { # at most 0.2 s
	sleep "0.$(printf %03d $((RANDOM % 200)))"
}

problem() {
	n_problems=$((n_problems + 1))
	echo "kill $i of $who: $*"
}

start_private() {
	"$O/tracectl" --private record -q -d 60s -o "$FILE" 2>"$T/err" &
	client=$!
	has_child() {
		daemon=$(children $client)
		[ -n "$daemon" ]
	}
	wait_for 10 has_child
}

start_shared() {
	SOCKET=$T/shared/control.sock
	"$O/tracerd" --socket "$SOCKET" 2>"$T/daemon.err" &
	daemon=$! DAEMON=$!
	wait_for 10 daemon_listens
	"$O/tracectl" --socket "$SOCKET" record -q -d 60s -o "$FILE" 2>"$T/err" &
	client=$!
}

# Stopped, it can be looked at in the very moment in which it dies.
kill_looking() { # WHOM
	kill -STOP "$daemon"
	bpf_held "$daemon" >"$T/held"
	(
		echo "$daemon"
		children "$daemon"
	) >"$T/pids"
	[ ! -s "$T/held" ] || n_loaded=$((n_loaded + 1))
	kill -KILL "$1"
}

check_left() {
	wait_for 10 none_alive "$T/pids" || problem "alive: $(tr '\n' ' ' <"$T/pids")"
	wait_for 10 no_bpf_left "$T/held" || problem "in the kernel: $(bpf_left "$T/held" | tr '\n' ' ')"
	if [ -s "$FILE" ]; then
		"$O/tracectl" check "$FILE" >"$T/check" 2>&1 || problem "file: $(cat "$T/check")"
	fi
}

check_client() { # STATUS: of a client whose daemon was killed
	case $1 in
	4) grep -q 'tracerd is gone; .* holds what came before and can be opened' "$T/err" ||
		problem "said: $(cat "$T/err")" ;;
	1) grep -q 'it ended before the recording began\|it closed the connection' "$T/err" ||
		problem "said: $(cat "$T/err")"
		[ ! -e "$FILE" ] || problem "left a file without a recording" ;;
	*) problem "exit status $1: $(cat "$T/err")" ;;
	esac
}

round() { # WHO: tracerd or tracectl
	rm -f "$FILE"
	if [ "$1" = tracerd ] && [ $((i % 2)) = 0 ]; then
		start_shared
	else
		start_private
	fi
	# One in four while it starts.
	[ $((i % 4)) = 3 ] || wait_for 20 test -s "$FILE" || problem "it does not record"
	pause
	if [ "$1" = tracerd ]; then
		kill_looking "$daemon"
		wait "$client" 2>/dev/null
		check_client $?
	else
		kill_looking "$client"
		wait "$client" 2>/dev/null
	fi
	check_left
}

for who in tracerd tracectl; do
	n_problems=0 n_loaded=0
	for ((i = 0; i < KILLS; i++)); do
		round $who
	done 2>"$T/jobs"
	grep -v Killed "$T/jobs"
	echo "$who was killed $KILLS times, $n_loaded times with BPF programs loaded"
	check "kill -9 of $who leaves nothing behind, and files that load" [ $n_problems = 0 ]
	check "most of the kills met a recording" [ $n_loaded -gt $((KILLS / 2)) ]
done
check "what was traced came to the right result" [ ! -e "$T/wrong" -a -s "$T/right" ]
