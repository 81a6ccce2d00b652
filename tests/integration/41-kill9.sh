#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 at random moments of a recording, from its start on: tracerd 30 times,
# tracectl with its private daemon 30 times. Nothing of ours is left, the file
# loads, and what was traced comes to the right result.
# timeout: 300
# alone
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

KILLS=${KILLS-30}

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

# ---- a kill ----

# $D is the directory of one of two loops, which run side by side.

pause() { # at most 0.2 s
	sleep "0.$(printf %03d $((RANDOM % 200)))"
}

problem() {
	n_problems=$((n_problems + 1))
	echo "kill $i of $who: $*"
}

start_private() {
	"$O/tracectl" --private record -q -d 60s -o "$FILE" 2>"$D/err" &
	client=$!
	has_child() {
		daemon=$(children $client)
		[ -n "$daemon" ]
	}
	wait_for 10 has_child
}

start_shared() {
	SOCKET=$D/shared/control.sock
	"$O/tracerd" --socket "$SOCKET" 2>"$D/daemon.err" &
	daemon=$!
	# shellcheck disable=SC2034
	DAEMON=$daemon
	wait_for 10 daemon_listens
	"$O/tracectl" --socket "$SOCKET" record -q -d 60s -o "$FILE" 2>"$D/err" &
	client=$!
}

# Stopped, it can be looked at in the very moment in which it dies.
kill_looking() { # WHOM
	kill -STOP "$daemon"
	bpf_held "$daemon" >"$D/held"
	(
		echo "$daemon"
		children "$daemon"
	) >"$D/pids"
	[ ! -s "$D/held" ] || n_loaded=$((n_loaded + 1))
	kill -KILL "$1"
}

check_left() {
	wait_for 10 none_alive "$D/pids" || problem "alive: $(tr '\n' ' ' <"$D/pids")"
	wait_for 10 no_bpf_left "$D/held" || problem "in the kernel: $(bpf_left "$D/held" | tr '\n' ' ')"
	if [ -s "$FILE" ]; then
		"$O/tracectl" check "$FILE" >"$D/check" 2>&1 || problem "file: $(cat "$D/check")"
	fi
}

check_client() { # STATUS: of a client whose daemon was killed
	local how=
	# Its own one's end it can see, and nobody else would tell of it.
	[ -e "$D/is_shared" ] || how=', killed by signal 9.*'
	case $1 in
	4) grep -q "tracerd is gone$how; .* holds what came before and can be opened" "$D/err" ||
		problem "said: $(cat "$D/err")" ;;
	1) grep -q "it ended before the recording began$how\|it closed the connection$how" "$D/err" ||
		problem "said: $(cat "$D/err")"
		[ ! -e "$FILE" ] || problem "left a file without a recording" ;;
	*) problem "exit status $1: $(cat "$D/err")" ;;
	esac
}

round() { # WHO: tracerd or tracectl
	rm -f "$FILE"
	rm -f "$D/is_shared"
	if [ "$1" = tracerd ] && [ $((i % 2)) = 0 ]; then
		touch "$D/is_shared"
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

kills() { # WHO SEED
	local who=$1 i n_problems=0 n_loaded=0
	local D=$T/$who
	local FILE=$D/killed.perfetto-trace
	mkdir "$D"
	RANDOM=$2
	for ((i = 0; i < KILLS; i++)); do
		round "$who"
	done
	echo "$who was killed $KILLS times, $n_loaded times with BPF programs loaded"
	echo "$n_problems $n_loaded" >"$D/result"
}

for who in tracerd tracectl; do
	# The shell says whom it has lost.
	kills $who "${#who}${SEED-815}" 2>"$T/$who.jobs" &
	loops+=($!)
done
wait "${loops[@]}"
for who in tracerd tracectl; do
	grep -v Killed "$T/$who.jobs"
	read -r n_problems n_loaded <"$T/$who/result"
	check "kill -9 of $who leaves nothing behind, and files that load" [ "$n_problems" = 0 ]
	check "most of the kills met a recording" [ "$n_loaded" -gt $((KILLS / 2)) ]
done
check "what was traced came to the right result" [ ! -e "$T/wrong" -a -s "$T/right" ]
