#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The flight recorder: what it keeps, what a snapshot of it is, and who has to wait for whom.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

need python3
PROG=$O/tests/integration/prog

says() { # STATUS PATTERN COMMAND...
	local out status
	out=$("${@:3}" 2>&1)
	status=$?
	[ $status = "$1" ] && grep -qE -- "$2" <<<"$out" && return
	echo "exit status $status: $out"
	return 1
}

flight() { # KEY: what `status` says of the flight recorder
	tracectl status --json | python3 -c \
		'import json, sys; print(json.load(sys.stdin)["flight"][sys.argv[1]])' "$1"
}

above() { # KEY NUMBER
	[ "$(flight "$1")" -gt "$2" ]
}

is() { # KEY VALUE
	[ "$(flight "$1")" = "$2" ]
}

snapshot() { # NAME ARGS...: and is it a good trace?
	tracectl snapshot -q -o "$T/$1.perfetto-trace" "${@:2}" &&
		tracectl check "$T/$1.perfetto-trace"
}

begins() { # NAME [PID...]
	python3 "$SRC/tests/integration/flight.py" "$T/$1.perfetto-trace" "${@:2}"
}

# ---- off ----

AT=off start_tracerd
check "without a flight recorder it is said how to switch it on" \
	says 1 'enabled = yes in the section \[flight\] of .*tracerd.conf' \
	tracectl snapshot -o "$T/none.perfetto-trace"
check "and there is no file" [ ! -e "$T/none.perfetto-trace" ]
check "status says that it is off" says 0 '^flight recorder: off' tracectl status
check "a time that is none is a usage error" says 2 'want a time' tracectl snapshot --last 3x
printf '[flight]\nenabled = yes\nsources = cpu,nosuch\n' >"$T/bad.conf"
check "a source that does not exist is refused at start" says 1 'nosuch' \
	timeout 30 "$O/tracerd" --socket "$T/bad/control.sock" --config "$T/bad.conf"

# ---- on, and soon full ----

# So small that it is overwritten again and again.
cat >"$T/tracerd.conf" <<'END'
[daemon]
max_sessions = 1
client_queue = 1M
[flight]
enabled = yes
size = 2M
freq = 499
sources = cpu, sched, syscalls, markers
END
spawn sleep 1000 # a call that began before everything else, and goes on
sleeper=$!
start_tracerd --config "$T/tracerd.conf"
wait_for 20 is recording True
check "it records from the start" is recording True
check "a snapshot of next to nothing is a good trace" snapshot young
descriptors "$DAEMON" >"$T/descriptors"
spawn "$PROG/flood" -t 2 -s 1000 -r 40000
spawn "$PROG/task_storm" 1000 exec 1
check "a recording has a slot beside it" \
	tracectl record -q -s cpu -d 300ms -o "$T/beside.perfetto-trace"
check "the oldest is given up for the newest" wait_for 60 above given_up 40
check "within its bounds" [ "$(flight held)" -le "$(flight size)" ]

# ---- snapshots while it is overwritten ----

check "a snapshot is a good trace" snapshot first
check "it begins where it says, and everybody has a name" begins first
check "another one, too" snapshot second
check "and it is of a later time" [ "$(begins second | head -n 1)" ]
early() {
	begins first "$sleeper" >"$T/early" && grep -q "^$sleeper .* slice [1-9]" "$T/early"
}
check "a call that goes on across all of it begins where it does, and says so" early
at_once() {
	snapshot one >"$T/one.out" 2>&1 &
	snapshot two
	local status=$?
	cat "$T/one.out"
	wait $! && [ $status = 0 ]
}
check "two clients at once" at_once
span_ns() {
	begins "$1" | head -n 1 | tr -d . | awk '{ print $1 }'
}
check "no more than what was asked for" snapshot last --last 10ms
check "which is less than all" [ "$(span_ns last)" -lt "$(span_ns second)" ]

# ---- slow clients ----

mkfifo "$T/never"
exec 7<>"$T/never" # whoever reads from it waits
stall() {
	spawn "$PROG/rawclient" "$SOCKET" hello 1 snapshot trace wait <"$T/never" 7<&- >"$T/stalled$1"
}
stall 1
stalled=$!
stall 2
check "two clients get a snapshot and do not read on" \
	wait_for 20 grep -q trace "$T/stalled1" "$T/stalled2"
both_wait() {
	grep -q ready "$T/stalled1" && grep -q ready "$T/stalled2" && above snapshot_bytes 2000000
}
check "what they do not take is kept" wait_for 20 both_wait
check "a third one is told to wait" says 1 '2 snapshots are being taken' \
	tracectl snapshot -o "$T/third.perfetto-trace"
given_up=$(flight given_up)
check "the recorder goes on meanwhile" wait_for 60 above given_up $((given_up + 20))
kill "$stalled"
nobody_waits() {
	tracectl snapshot -q -o "$T/free.perfetto-trace"
}
check "when one has gone another can have it" wait_for 20 nobody_waits
check "and it is good" tracectl check "$T/free.perfetto-trace"

# ---- the end ----

stop_beside_a_snapshot() { # the other one still waits
	stop_tracerd
	local status=$?
	gone "$DAEMON" && [ $status = 0 ]
}
check "no events were lost" is lost 0
descriptors "$DAEMON" >"$T/descriptors.after"
check "no descriptors are left over but those of clients" \
	no_more_descriptors_but 3 "$T/descriptors" "$T/descriptors.after"
check "a stop does not wait for who does not read" stop_beside_a_snapshot
check "the one who waited is told" grep -q 'snapshot' "$T/stalled2"
