#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Java stacks are whole, and have the names of methods, without a flag or an agent.
# timeout: 240
#
#	JAVA=java		another JVM
#	JAVA_MS=4000		how long each program runs
#	MODES='started late'	only these situations
. "$(dirname "$0")/lib.sh"

JAVA=${JAVA-java}
need "$JAVA" default-jre-headless
need python3
ms=${JAVA_MS-4000}
here=$SRC/tests/integration
check "a program can be made" python3 "$here/hotspot_class.py" "$T"

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

run() { # LABEL OPTION...: runs it, and remembers who it was
	"$JAVA" "${@:2}" -cp "$T" Chain "$ms" &
	local pid=$!
	lib_pids+=("$pid")
	echo $pid >"$T/$1.pid"
	wait $pid
}

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -p $$ -o "$T/trace" 2>"$T/err"
record=$!
wait_for 60 is_recording || fail "the recording starts"
for mode in ${MODES-plain one-compiler interpreter small-cache}; do
	case $mode in
	plain) run plain ;;
	one-compiler) run one-compiler -XX:TieredStopAtLevel=1 ;;
	interpreter) run interpreter -Xint ;;
	# One heap for all code.
	small-cache) run small-cache -XX:-SegmentedCodeCache ;;
	esac
done
kill -INT $record
wait $record
status=$?
check "they are recorded (status $status)" [ $status = 0 -o $status = 3 ]
check "the trace is good" tracectl check "$T/trace"

# And of one that runs already.
if [ -z "${MODES-}" ]; then
	"$JAVA" -cp "$T" Chain $((ms * 2)) &
	java=$!
	lib_pids+=("$java")
	echo $java >"$T/late.pid"
	# Until it has compiled what it is about: its code cache is the largest memory of its kind.
	sleep 1
	check "one that runs is recorded" tracectl record -s cpu -p $java -d 2s -o "$T/late.trace"
	wait $java
fi

for mode in plain one-compiler interpreter small-cache late; do
	[ -s "$T/$mode.pid" ] || continue
	trace=$T/trace
	[ $mode != late ] || trace=$T/late.trace
	python3 "$here/hotspot.py" "$trace" "$(cat "$T/$mode.pid")" >"$T/$mode.seen"
	read -r all whole chain right full <"$T/$mode.seen"
	what="$mode: of ${all:=0} samples ${whole:=0} are whole; of ${chain:=0} in its methods"
	what="$what ${right:=0} have the right ones, ${full:=0} with all their names"
	# What is left is of its first moments, mostly.
	if [ "$all" -ge 20 ] && [ $((whole * 100)) -ge $((all * 90)) ] &&
		[ $((right * 100)) -ge $((chain * 95)) ] && [ "$full" -ge 5 ]; then
		ok "$what"
	else
		fail "$what"
		sed 1d "$T/$mode.seen"
	fi
done
stop_tracerd
check "the daemon ends in order" [ $? = 0 ]
