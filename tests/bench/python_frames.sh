#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a Python frame costs in a sample: what the BPF program takes longer for 100
# frames more. Pairs in one run, since other work on the machine is sampled too.
#
#	O=$PWD/build bash tests/bench/python_frames.sh
#
#	PYTHON=python3 PAIRS=7
. "$(dirname "$0")/../integration/lib.sh"

PYTHON=${PYTHON-/usr/bin/python3}
need "$PYTHON" python3
seconds=1 freq=999

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

bpf_ns() {
	tracectl status --json | "$PYTHON" -c 'import json, sys
print([s["bpf_ns"] for s in json.load(sys.stdin)["sources"] if s["name"] == "cpu"][0])'
}

cost() { # DEPTH
	local before
	before=$(bpf_ns)
	DEPTH=$1 WAIT=0.1 BURN_MS=${seconds}000 "$PYTHON" "$SRC/tests/integration/pystacks.py" \
		recursion >/dev/null
	echo $(($(bpf_ns) - before))
}

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -F $freq -o "$T/trace" 2>"$T/err"
record=$!
wait_for 60 is_recording || fail "the recording starts"
for ((i = 0; i < ${PAIRS-7}; i++)); do
	shallow=$(cost 5)
	echo $((($(cost 105) - shallow) / 100 / freq / seconds))
done | sort -n >"$T/ns"
kill -INT $record
wait $record
echo "ns a Python frame, of ${PAIRS-7} pairs: $(xargs <"$T/ns"); median $(sed -n "$(((${PAIRS-7} + 1) / 2))p" "$T/ns")"
