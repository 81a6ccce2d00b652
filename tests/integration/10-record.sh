#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job: a machine with everything a machine does is recorded, and the
# trace is complete, true to its own account, and about what really happened.
# alone
. "$(dirname "$0")/lib.sh"

# Nothing is lost, or the loss is said (status 3): on a crowded machine both are right.
recorded() { # STATUS
	[ "$1" = 0 ] || [ "$1" = 3 ]
}

# A bit of everything for about SECONDS: processes, threads, sockets, files, sleep and CPU.
busy() { # SECONDS
	local end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ]; do
		"$O/tests/integration/prog/netcalls" >/dev/null 2>&1
		find /usr/include -name 'a*.h' >/dev/null
		head -c 2000000 /dev/urandom | gzip -1 >/dev/null
		"$O/tests/bench/work" 2 20 20 >/dev/null
	done
}

echo "# without a daemon: tracectl starts one of its own, and it is gone afterwards"
busy 6 &
load=$!
tracectl record --duration 4s -o "$T/a.perfetto-trace" 2>"$T/err"
status=$?
check "a private daemon records (status $status)" recorded $status
check "the trace keeps every invariant" "$O/tracectl" check "$T/a.perfetto-trace"
check "it says what it cost" grep -q 'cost: ' "$T/err"
check "it says how to open the file" grep -q 'ui.perfetto.dev' "$T/err"
check "it names the source of the samples" grep -q 'cpu-clock 999 Hz' "$T/err"
wait $load

echo "# with a daemon: two clients at once, at two rates"
start_tracerd
busy 7 &
load=$!
tracectl record --duration 5s --freq 99 --sources cpu,sched -o "$T/slow.perfetto-trace" 2>"$T/slow.err" &
slow=$!
tracectl record --duration 5s --freq 1999 -o "$T/fast.perfetto-trace" 2>"$T/fast.err"
status=$?
check "one of them (status $status)" recorded $status
wait $slow
status=$?
check "the other (status $status)" recorded $status
wait $load
for name in slow fast; do
	check "the trace of $name is good" "$O/tracectl" check "$T/$name.perfetto-trace"
done

samples() {
	grep -Eo '[0-9,]+ samples' "$1" | tr -dc 0-9
}
# Both saw the same machine: the numbers differ as the rates do. Exactness is
# per CPU second, and CPU seconds are not equal to the last one.
a=$(samples "$T/slow.err") b=$(samples "$T/fast.err")
check "each has samples at its own rate ($a at 99 Hz, $b at 1999 Hz)" \
	awk -v a="$a" -v b="$b" 'BEGIN { r = b / a; exit !(r > 15 && r < 26) }'

echo "# what the file says about itself"
check "status lists the sources and no session" sh -c \
	"'$O/tracectl' --socket '$SOCKET' status | grep -q 'sessions: none'"
check "status as JSON is JSON" sh -c \
	"'$O/tracectl' --socket '$SOCKET' status --json | python3 -m json.tool"
check "a recording can be cut anywhere and still be read" sh -c "
	size=\$(stat -c %s '$T/fast.perfetto-trace')
	for part in 3 5 7 9; do
		head -c \$((size * part / 10)) '$T/fast.perfetto-trace' >'$T/cut'
		'$O/tracectl' check '$T/cut' || exit 1
	done"
stop_tracerd
check "the daemon ends in order" [ $? = 0 ]
