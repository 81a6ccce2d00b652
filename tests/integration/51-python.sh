#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Functions of Python programs are in their stacks, at the right place between native
# frames, with file and line, and nothing was done to the programs.
# timeout: 240
#
#	PYTHON=python3		another interpreter
#	FREQ=999 BURN_MS=250	samples per second; CPU time that each program burns
#	MODES='plain sorted'	only these situations
. "$(dirname "$0")/lib.sh"

PYTHON=${PYTHON-/usr/bin/python3}
need "$PYTHON" python3
here=$SRC/tests/integration
export BURN_MS=${BURN_MS-250}
all='plain recursion too-deep sorted re libc generator in-between names thread task child exec'

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -F "${FREQ-999}" -p $$ -o "$T/trace" 2>"$T/err"
record=$!
wait_for 60 is_recording || fail "the recording starts"
# The worker looks into the interpreter's file, once, when it has time.
LABEL=first BURN_MS=1000 "$PYTHON" "$here/pystacks.py" plain >/dev/null
for mode in ${MODES-$all}; do
	"$PYTHON" "$here/pystacks.py" "$mode"
done >"$T/expected"
if [ -z "${MODES-}" ]; then
	"$PYTHON" -m venv --without-pip --symlinks "$T/venv" 2>/dev/null &&
		LABEL=venv "$T/venv/bin/python" "$here/pystacks.py" plain >>"$T/expected"
fi
# A program that is CPython itself is known from its first sample on.
if [ -z "${MODES-}" ] && ! ldd "$PYTHON" | grep -q libpython; then
	for _ in {1..20}; do
		LABEL=short WAIT=0 BURN_MS=20 "$PYTHON" "$here/pystacks.py" plain >>"$T/expected"
	done
fi
kill -INT $record
wait $record
status=$?
check "they are recorded (status $status)" [ $status = 0 -o $status = 3 ]
check "the trace is good" tracectl check "$T/trace"
check "its stacks can be read" sh -c \
	"python3 '$here/pystacks_check.py' '$T/trace' '$T/expected' 127 >'$T/seen'"

while IFS=$'\t' read -r mode all good others; do
	what="$mode: $good of $all samples have the Python frames they must have"
	# What is left may be of a moment in which a frame is made or given up.
	if [ "$all" -ge 20 ] && [ $((good * 100)) -ge $((all * 95)) ]; then
		ok "$what"
	else
		fail "$what"
		echo "  others: $others"
	fi
done <"$T/seen"

# Where it waits; in a second recording, for which what the first has learned is no more.
check "waits are recorded" tracectl record -s proc,offcpu -o "$T/waits" -- \
	"$PYTHON" "$here/pystacks.py" waits
n=$("$O/tests/tools/tracedump" "$T/waits" | grep -ac 'linux.offcpu.*;<module>;waits;.*nanosleep')
check "waits of a Python function have it in their stack ($n of 20)" [ "$n" -ge 15 ]
# And where it allocates.
check "allocations are recorded" tracectl record -s proc,alloc -o "$T/allocations" -- \
	"$PYTHON" "$here/pystacks.py" allocates
n=$("$O/tests/tools/tracedump" "$T/allocations" | grep -ac 'linux.alloc.*;<module>;allocates;')
check "allocations of a Python function have it in their stack ($n of 150)" [ "$n" -ge 20 ]
stop_tracerd
check "the daemon ends in order" [ $? = 0 ]
