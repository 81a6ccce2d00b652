#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Functions of JavaScript programs are in their stacks, with script and line, at the
# right place between native frames; node was given no flag, and nothing was done to it.
# timeout: 240
#
#	NODE=node		another one
#	FREQ=999 BURN_MS=300	samples per second; CPU time that each situation burns
. "$(dirname "$0")/lib.sh"

NODE=${NODE-node}
need "$NODE" nodejs
need python3
here=$SRC/tests/integration

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -F "${FREQ-999}" -p $$ -o "$T/trace" 2>"$T/err"
record=$!
wait_for 60 is_recording || fail "the recording starts"
mkdir "$T/d"
# What is known of node's file, its unwind table and its variables, is so from its first program on.
knows_functions() {
	tracectl status | grep -q '^v8: [1-9][0-9]* processes, [1-9]'
}
spawn "$NODE" -e 'function first(x) { return x % 7; } for (let i = 0;; i++) first(i);'
first=$!
wait_for 60 knows_functions || fail "functions of a program that runs become known"
kill $first
wait $first 2>/dev/null
"$NODE" "$here/v8stacks.js" "$T/d" "${BURN_MS-300}" >"$T/expected" 2>"$T/node.err" &
node=$!
wait $node
check "node runs to its end (status $?)" [ ! -s "$T/node.err" ]
tracectl status >"$T/status"
kill -INT $record
wait $record
status=$?
check "it is recorded (status $status)" [ $status = 0 -o $status = 3 ]
check "the trace is good" tracectl check "$T/trace"
check "status knows of V8" grep -q '^v8: [0-9]* processes, [0-9]* functions' "$T/status"
check "its stacks can be read" sh -c \
	"python3 '$here/v8stacks_check.py' '$T/trace' $node '$T/expected' >'$T/seen'"

while IFS=$'\t' read -r mode all good wrong others; do
	what="$mode: $good of $all samples have"
	if [ "$mode" = all ]; then
		what="$what a name for all of their JavaScript"
	else
		check "$mode: none of $all samples has a function, line or order that cannot be" [ "$wrong" = 0 ]
		what="$what the functions they must have"
	fi
	# The rest is of the time until the daemon had its tables, and of moments in which a
	# function is compiled, or garbage collected.
	if [ "$all" -ge 20 ] && [ $((good * 100)) -ge $((all * 75)) ]; then
		ok "$what"
	else
		fail "$what"
		echo "  others: $others"
	fi
done <"$T/seen"
check "all situations were seen" [ "$(wc -l <"$T/seen")" = 9 ]

# Where objects move all the time, names are missing rather than wrong.
if "$NODE" --stress-compaction --gc-interval=2000 -e 0 2>/dev/null; then
	spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -F 999 -p $$ -o "$T/moving" 2>"$T/err"
	record=$!
	wait_for 60 is_recording
	"$NODE" --stress-compaction --gc-interval=2000 "$here/v8stacks.js" "$T/d" 100 >"$T/expected" &
	node=$!
	wait $node
	kill -INT $record
	wait $record
	python3 "$here/v8stacks_check.py" "$T/moving" $node "$T/expected" >"$T/seen"
	check "nothing is wrong while objects move" awk -F '\t' \
		'{ n += $2; wrong += $4; print } END { exit !(n > 300 && wrong == 0) }' "$T/seen"
fi

# A module of today, whose name is its address; and one that dies.
cat >"$T/d/module.mjs" <<-'JS'
	export function burnModule(ms) {
		const until = process.cpuUsage().user + ms * 1000;
		let x = 0;
		while (process.cpuUsage().user < until) for (let i = 0; i < 1e4; i++) x += i % 7;
		return x;
	}
	burnModule(Number(process.argv[2]));
JS
check "a module is recorded" tracectl record -s proc,cpu -F 999 -o "$T/module" -- \
	"$NODE" "$T/d/module.mjs" 1500
n=$("$O/tests/tools/tracedump" "$T/module" | grep -ac ';burnModule')
check "samples of its function have that name ($n of about 1500)" [ "$n" -ge 300 ]
tracectl report --by line "$T/module" >"$T/report"
check "with its file, and the line" grep -q "burnModule (module.mjs:1)" "$T/report"
"$NODE" "$T/d/module.mjs" 60000 &
victim=$!
spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -F 999 -p $victim -o "$T/died" 2>"$T/err"
record=$!
wait_for 60 is_recording
sleep 1
kill -KILL $victim
wait $victim 2>/dev/null
kill -INT $record
wait $record
status=$?
check "a process that is killed is recorded (status $status)" [ $status = 0 -o $status = 3 ]
check "its trace is good" tracectl check "$T/died"

# Where it waits.
cat >"$T/d/waits.js" <<-'JS'
	function waitsHere() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20); }
	for (let i = 0; i < 150; i++) waitsHere();
JS
check "waits are recorded" tracectl record -s proc,offcpu -o "$T/waits" -- "$NODE" "$T/d/waits.js"
n=$("$O/tests/tools/tracedump" "$T/waits" | grep -ac 'linux.offcpu.*;waitsHere;')
check "waits of a function have it in their stack ($n of 150)" [ "$n" -ge 15 ]
stop_tracerd
check "the daemon ends in order" [ $? = 0 ]
