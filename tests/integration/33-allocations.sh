#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Allocations in a trace against what the program that made them says.
# timeout: 120
. "$(dirname "$0")/lib.sh"

need python3
prog=$O/tests/integration/prog/allocs
dump=$O/tests/tools/tracedump

start_tracerd
tracectl record -q -f -s alloc -o "$T/alloc.trace" -- "$prog" >"$T/did" ||
	fail "recording allocations: exit status $?"
[ -s "$T/did" ] || fail "allocs did not get to its end"
"$dump" "$T/alloc.trace" >"$T/samples"

# Each thread's samples are less than one step before or behind what it has asked for.
same_bytes() {
	python3 - "$T/did" "$T/samples" <<-'PY'
		import sys
		did = {name: int(n) for name, n in map(str.split, open(sys.argv[1]))}
		seen = dict.fromkeys(did, 0)
		for line in open(sys.argv[2]):
		    _, _, _, _, source, _, weight, stack = line.rstrip("\n").split("\t")
		    if source != "linux.alloc":
		        sys.exit("samples of " + source)
		    for name in did:
		        if name in stack.split(";"):
		            seen[name] += int(weight)
		print(did, seen)
		bad = [n for n in did if abs(seen[n] - did[n]) > 4 * 512 * 1024]
		sys.exit(" ".join(bad) or 0)
	PY
}
check "each function has asked for as many bytes as it says, in threads and children" same_bytes

whole() { # from the thread's first function to the allocator's
	cut -f 8 "$T/samples" | sort | uniq -c
	cut -f 8 "$T/samples" | grep -v 'stack ends' | grep -q ';ask_for_small;calloc$' &&
		cut -f 8 "$T/samples" | grep -q '_start;.*main;ask_for_aligned;posix_memalign$'
}
check "their stacks are whole" whole
check "the trace keeps the rules" tracectl check "$T/alloc.trace"

finer() {
	tracectl record -q -f -s alloc --alloc-bytes 64K -o "$T/fine.trace" -- "$prog" >/dev/null &&
		"$dump" "$T/fine.trace" >"$T/fine" && echo "$(wc -l <"$T/samples") $(wc -l <"$T/fine")" &&
		[ "$(wc -l <"$T/fine")" -gt $((2 * $(wc -l <"$T/samples"))) ]
}
check "a smaller step gives more samples" finer

refused() {
	! tracectl record -q -f -s alloc -d 1s -o "$T/none.trace" 2>"$T/err" &&
		grep -q -- "--pid" "$T/err"
}
check "of the whole machine they are refused, with what to do" refused

unprobed() { # breakpoints are gone with the recording
	spawn sleep 1000
	local pid=$!
	tracectl record -q -f -s alloc -d 500ms -p $pid -o "$T/sleep.trace" &&
		tracectl status --json | grep -o '"name":"alloc"[^}]*"state":"idle"'
}
check "with the recording the probes end" unprobed
stop_tracerd
check "the daemon stops cleanly" test $? = 0
