#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# More events than anybody can take: each one is delivered or counted as lost, to
# the last, while the daemon answers and another client's trace is whole.
# timeout: 240
# alone
. "$(dirname "$0")/lib.sh"

need python3
flood=$O/tests/integration/prog/flood
cpus=$(nproc)

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# The ledger of a source in a complete trace: "produced lost written", and what all
# sources have lost together.
ledger() { # FILE SOURCE
	python3 tests/integration/attributes.py "$1" | awk -v source="ledger.$2." '
		{ found[$1] = $2 }
		/^ledger.*\.(lost|dropped|malformed) / { lost += $2 }
		END { print found[source "produced"], found[source "lost"], found[source "written"], lost + 0 }'
}

is_recording() {
	"$O/tracectl" --socket "$SOCKET" status --json | grep -q '"sessions":\[{'
}

both_record() {
	[ "$("$O/tracectl" --socket "$SOCKET" status --json | grep -o '"elapsed_ns"' | wc -l)" = 2 ]
}

# Floods under a recording; $T/NAME.trace, $T/NAME.other, $T/NAME.calls, $T/NAME.status.
run_flood() { # NAME
	"$O/tracectl" --socket "$SOCKET" record -q --sources sched,counters -o "$T/$1.other" 2>"$T/$1.other.err" &
	local other=$!
	"$O/tracectl" --socket "$SOCKET" record -q --net syscalls -o "$T/$1.trace" 2>"$T/$1.err" &
	local record=$! start
	lib_pids+=("$other" "$record")
	wait_for 60 both_record || fail "the recordings start"
	"$flood" -t "$cpus" -s 4 >"$T/$1.calls" &
	local load=$!
	slowest=0
	while ! gone $load; do
		start=$(now_ms)
		is_recording || fail "status answers during the flood"
		start=$(($(now_ms) - start))
		[ $start -le $slowest ] || slowest=$start
		sleep 0.2
	done
	wait $load
	kill -INT $record $other
	wait $record
	echo $? >"$T/$1.status"
	wait $other
	echo $? >"$T/$1.other.status"
}

cd "$SRC" || exit 2
for ring in 64K 16M; do
	printf '[daemon]\nring_size = %s\n' $ring >"$T/$ring.conf"
	AT=$ring
	mkdir "$T/$ring"
	AT=$ring start_tracerd --config "$T/$ring.conf"
	run_flood $ring
	calls=$(awk '{ print $2 }' "$T/$ring.calls")
	read -r produced lost written lost_in_all < <(ledger "$T/$ring.trace" syscalls)
	echo "# ring of $ring: $calls calls made, $produced produced, $lost lost, $written written;" \
		"status took $slowest ms at most"

	check "ring of $ring: the trace and its account are good" "$O/tracectl" check "$T/$ring.trace"
	# The recording began before the flood and ended after it: it has seen every call.
	check "ring of $ring: no call is unaccounted for" [ "$produced" -ge "$calls" ]
	check "ring of $ring: produced = lost + written" [ $((lost + written)) = "$produced" ]
	check "ring of $ring: the exit status says whether something was lost" \
		[ "$(cat "$T/$ring.status")" = "$([ "$lost_in_all" = 0 ] && echo 0 || echo 3)" ]
	check "ring of $ring: status answers within 2 s" [ "$slowest" -lt 2000 ]
	check "ring of $ring: the other client's trace is good" "$O/tracectl" check "$T/$ring.other"
	[ $ring = 16M ] || check "a ring of 64K loses some, or this test shows nothing" [ "$lost" -gt 0 ]
	stop_tracerd
done
