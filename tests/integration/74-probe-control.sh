#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Probes by tracectl: added, listed, removed, in recordings that go on and in those to come; of
# one recording alone; what is said of mistakes; slices, instants, counters and stacks of them
# in a trace that keeps the rules.
# timeout: 200

. "$(dirname "$0")/lib.sh"

need gcc
need python3

cat >"$T/prog.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) int inner(int n, const char *text) { __asm__ volatile("" ::: "memory"); return n * (text != 0); }
__attribute__((noinline)) int outer(int n) { return n ? outer(n - 1) + inner(n, "inside") : 7; }

int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		outer(2);
		if (argc > 2)
			usleep(atoi(argv[2]));
	}
	return 0;
}
END
check "a program to be probed" gcc -O1 -fno-optimize-sibling-calls -o "$T/prog" "$T/prog.c"
prog=$T/prog

says() { # WHAT COMMAND...: it is refused with status 1 or 2, in one line that has WHAT
	local what=$1
	shift
	"$@" >"$T/out" 2>"$T/said"
	[[ $? =~ ^[12]$ ]] && [ "$(wc -l <"$T/said")" = 1 ] && grep -qF -- "$what" "$T/said" || {
		cat "$T/out" "$T/said"
		return 1
	}
}

# "TYPE NAME ARG=VALUE..." of what probes have said, in time.
probe_lines() { # TRACE
	"$O/tests/tools/slicedump" "$1" | awk -F '\t' '
		$1 == "event" && $5 == "probe" {
			line = $2 " " $3 " " $6
			for (i = 9; i <= NF; i++) line = line " " $i
			print line
		}' | sort -n | cut -d' ' -f2-
}

check "without a daemon nobody could keep a probe" says "no daemon is running" \
	"$O/tracectl" --private probe add p --at "uprobe:$prog:inner"
start_tracerd
field() { # NAME FIELD
	tracectl probe list --json | python3 -c '
import json, sys
print(next(p[sys.argv[2]] for p in json.load(sys.stdin)["probes"] if p["name"] == sys.argv[1]))' "$@"
}
is_field() { # NAME FIELD VALUE
	[ "$(field "$1" "$2" 2>/dev/null)" = "$3" ]
}

# ---- mistakes ----

check "an unknown function: the nearest name is told" says "inner" \
	tracectl probe add p --at "uprobe:$prog:iner"
check "a file that is not there" says "No such file" tracectl probe add p --at "uprobe:/no/such:f"
check "no such kind of place" says "a place begins with" tracectl probe add p --at "probe:$prog:inner"
check "an expression that is none" says "arg0 +" \
	tracectl probe add p --at "uprobe:$prog:inner" --arg "n=arg0 +"
check "a name that is a number" says "no number" tracectl probe add 12 --at "uprobe:$prog:inner"
check "a recording with such a probe does not begin" says "near it: inner" \
	tracectl record -q -o "$T/none.trace" --probe "p at uprobe:$prog:iner" -- true
check "and leaves no file" test ! -e "$T/none.trace"
check "all of several or none" says "probe b" \
	tracectl probe add --probe "a at uprobe:$prog:inner" --probe "b at uprobe:$prog:no"
none() { [ -z "$(tracectl probe list)" ]; }
check "nothing was added" none
check "there is nothing to remove" says "there is no probe" tracectl probe remove p

# ---- slices and what they say ----

cat >"$T/two.probe" <<END
# Both functions.
outer at uprobe:$prog:outer	# calls itself
	end uretprobe:$prog:outer
	arg n=arg0:s32
	arg result=retval:s32
inner at uprobe:$prog:inner
	arg text=str(arg1)
	counter level=arg0:s32
END
check "a recording has probes of a file" \
	tracectl record -q -s probes -o "$T/own.trace" --probe-file "$T/two.probe" -- "$prog" 1
cat >"$T/want" <<-END
	begin outer n=2 result=10
	begin outer n=1 result=8
	begin outer n=0 result=7
	instant inner text=inside
	instant inner text=inside
END
is_as_it_was() {
	probe_lines "$T/own.trace" >"$T/seen"
	diff -u "$T/want" "$T/seen" &&
		[ "$("$O/tests/tools/slicedump" "$T/own.trace" | awk -F '\t' '
			$1 == "track" && $6 == "level" { is[$2] = 1 }
			$1 == "value" && is[$3] { print $4 }' | xargs)" = "1 2" ]
}
check "slices nest, a counter has its values: from the first call on" is_as_it_was
check "the trace keeps the rules" tracectl check "$T/own.trace"
check "its probes are gone with it" none

# ---- probes that stay ----

"$prog" 1000000 1000 &
pid=$!
lib_pids+=("$pid")
check "a probe is added while nobody records" \
	tracectl probe add calls --at "uprobe:$prog:inner" --arg n=arg0:s32 --if "arg0 == 2" --stack
spawn "$O/tracectl" --socket "$SOCKET" record -q -s proc,probes -o "$T/first.trace"
first=$!
spawn "$O/tracectl" --socket "$SOCKET" record -q -s proc,probes -o "$T/second.trace" --probe "own at uprobe:$prog:outer"
second=$!
wait_for 30 is_field own state on || fail "two recordings go on"
check "a probe is added while they do" \
	tracectl probe add later --at "uprobe:$prog:inner" --end "uretprobe:$prog:inner" --arg result=retval:s32
check "of that name there is one" says "there is a probe 'later' already" \
	tracectl probe add later --at "uprobe:$prog:inner"
hits() { [ "$(field "$1" hits)" -ge 20 ]; }
check "hits are counted" eval "wait_for 30 hits later && wait_for 30 hits calls && wait_for 30 hits own"
check "so are those that are not wanted" test "$(field calls unwanted)" -ge 10
check "a recording's own probe is not to be removed" says "a recording's own" tracectl probe remove "$(field own id)"
check "status shows them" eval "tracectl status | grep -q 'later at uprobe:'"
check "one is removed by its name" tracectl probe remove later
check "and is gone" eval "! tracectl probe list | grep -q later"
kill -INT $first $second
wait $first && wait $second || fail "the recordings end"
both_have() {
	probe_lines "$T/first.trace" >"$T/seen.first"
	probe_lines "$T/second.trace" >"$T/seen.second"
	for seen in first second; do
		[ "$(grep -c '^instant calls n=2$' "$T/seen.$seen")" -ge 20 ] || return 1
		[ "$(grep -cE '^begin later result=[12]$' "$T/seen.$seen")" -ge 20 ] || return 1
	done
	"$O/tests/tools/slicedump" "$T/first.trace" | grep -q '	calls	.*;main;outer;inner	n=2' &&
		! grep -q own "$T/seen.first" && grep -q '^instant own$' "$T/seen.second"
}
check "both traces have what is in all, and one its own" both_have
check "they keep the rules" tracectl check "$T/first.trace" "$T/second.trace"
check "the probe that stays waits for the next recording" is_field calls state waits
third_has() {
	tracectl record -q -s probes -d 1s -o "$T/third.trace" && probe_lines "$T/third.trace" | grep -q '^instant calls n=2$'
}
check "which has it" third_has
check "all are removed" eval "tracectl probe remove --all && none"
check "the program has taken no harm" kill -0 $pid

# A name with a mistake in it is no mistake: a program may come that has such a file.
waits() {
	tracectl record -s probes -d 300ms -f -o "$T/waits.trace" --probe 'w at uprobe:nobody-has-this.so:f' \
		2>"$T/said" && grep -q "^tracectl: probes: probe 'w' waits: no process has mapped its file" "$T/said"
}
check "a probe on a file that nobody has is told to wait" waits
here() {
	tracectl record -s probes -d 300ms -f -o "$T/waits.trace" --probe "w at uprobe:$prog:outer" 2>"$T/said" &&
		! grep "' waits:" "$T/said"
}
check "one on a file that is there is not" here

# ---- sets ----

check "sets are listed" eval "tracectl probe sets | grep -q 'libc-malloc  .*libc'"
check "one is shown" eval "tracectl probe sets openssl | grep -q '^ssl-read at uprobe:libssl'"
check "there is no other" says "there is no set of probes 'none'" tracectl probe add --probe-set none

stop_tracerd
check "the daemon stops cleanly" test $? = 0
