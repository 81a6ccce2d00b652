#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the kernel does where a probe is: each hit of functions, returns, USDT probes and
# tracepoints is recorded, from the first one on, with what was asked for, or is counted as
# what else became of it; also in libraries of programs that begin later and in containers. A
# thousand probes that come and go leave nothing behind, and nobody takes harm.
# timeout: 300

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

need python3
need chrt util-linux
prog=$O/tests/integration/prog/probes

# Of one recording; its slices and instants end in $T/seen: "NAME ARG=VALUE...", in time.
record() { # PROBE COMMAND...
	local probe=$1
	shift
	"$O/tracectl" record -q -f -s proc,probes --probe "$probe" -o "$T/one.trace" -- "$@" >"$T/out" 2>"$T/err" || {
		cat "$T/err"
		return 1
	}
	"$O/tests/tools/slicedump" "$T/one.trace" | awk -F '\t' '
		$1 == "event" && $3 != "end" && $5 == "probe" {
			line = $2 " " $6
			for (i = 9; i <= NF; i++) line = line " " $i
			print line
		}' | sort -n | cut -d' ' -f2- >"$T/seen"
}

same() { # as in $T/want
	diff -u "$T/want" "$T/seen"
}

field() { # NAME FIELD: of a probe that is there
	tracectl probe list --json | python3 -c '
import json, sys
print(next(p[sys.argv[2]] for p in json.load(sys.stdin)["probes"] if p["name"] == sys.argv[1]))' "$@"
}

is_field() { # NAME FIELD VALUE
	[ "$(field "$1" "$2" 2>/dev/null)" = "$3" ]
}

# ---- what a hit says ----

record "probed at uprobe:$prog:probed arg n=arg0 arg text=str(arg1)" "$prog" calls 300
check "the program has run" grep -qx "300 calls" "$T/out"
seq 0 299 | sed 's/.*/probed n=& text=call &/' >"$T/want"
check "each call is there, from the first one on" same

record "probed at uprobe:$prog:probed arg n=arg0 if arg0 % 100 == 7 && str(arg1) != \"call 107\"" "$prog" calls 300
printf 'probed n=%s\n' 7 207 >"$T/want"
check "a condition chooses" same

record "cut at uprobe:$prog:probed arg text=str(arg1):str(4) arg bad=*(u64 *)8 arg d=(arg0 - 7) / 2 arg m=(arg0 - 7) % 4 arg s=(arg0 - 7) >> 1 arg c=(arg0 < 1) + 2 * (arg0 >= 1 || arg0 == 0) arg x=arg0 * 3 ^ 5" "$prog" calls 2
sed 's/cut text=call[^ ]* /cut /' "$T/seen" >"$T/seen.rest"
cut_text() {
	grep -c '^cut text=call' "$T/seen" | grep -qx 2
}
check "a string is cut where it shall be" cut_text
arithmetic() {
	cat "$T/seen"
	grep -q ' d=-3 m=-3 s=-4 c=3 x=5$' "$T/seen" && grep -q ' d=-3 m=-2 s=-3 c=2 x=6$' "$T/seen"
}
check "numbers are what they are in C" arithmetic

# ---- begins and ends ----

record "outer at uprobe:$prog:outer end uretprobe:$prog:outer arg n=arg0 arg sum=retval" "$prog" nest 3
printf 'outer n=%s sum=%s\n' 3 10 2 6 1 3 0 1 >"$T/want"
check "a function that calls itself is as many slices, each with its result" same
record "outer at uprobe:$prog:outer end uretprobe:$prog:outer arg n=arg0 arg sum=retval if arg0 % 2 == 0" "$prog" nest 5
printf 'outer n=%s sum=%s\n' 4 15 2 6 0 1 >"$T/want"
check "those that were not wanted take their ends along" same

# ---- USDT, tracepoints, stacks ----

record "sell at usdt:$prog:shop:sell arg n=arg0 arg name=str(arg1)" "$prog" usdt 100
seq 0 99 | sed 's/.*/sell n=& name=item &/' >"$T/want"
check "each sale is there, from the first one on" same
check "the program knew that somebody looks" grep -qx "100 sales" "$T/out"
check "and that nobody does any more" eval '[ "$("$prog" usdt 100)" = "0 sales" ]'

record "run at tracepoint:sched:sched_process_exec arg file=filename if pid == tid" /bin/true
check "a tracepoint has its fields" grep -q '^run file=/.*true$' "$T/seen"

record "sell at usdt:$prog:shop:sell stack" "$prog" usdt 2
stack() {
	"$O/tests/tools/slicedump" "$T/one.trace" | awk -F '\t' '$1 == "event" && $5 == "probe" { print $8 }' >"$T/stacks"
	cat "$T/stacks"
	[ "$(grep -c ';main;sales;sell$\|;main;sell$' "$T/stacks")" = 2 ]
}
check "a hit has its stack" stack
check "the trace keeps the rules" tracectl check "$T/one.trace"

# ---- a daemon's ----

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -q -f -s proc,probes -o "$T/all.trace"
client=$!
wait_for 30 test -s "$T/all.trace" || fail "a recording of the machine starts"

tracectl probe add letter --at uprobe:libc.so.6:a64l >"$T/add" || cat "$T/add"
check "a library that is known by its name is probed at once" is_field letter state on
"$prog" libc 20 0 >"$T/out"
check "the calls of a program that begins later are all there" wait_for 20 is_field letter hits 20
# Another file of that name, which only a process in its own root has.
mkdir -p "$T/root"
for file in $(ldd "$prog" | grep -o '/[^ ]*') "$prog"; do
	install -D "$(realpath "$file")" "$T/root$file"
done
spawn chroot "$T/root" "$prog" libc 2000 20
inside=$!
more() {
	[ "$(field letter hits)" -gt 25 ]
}
check "so are those in a container, with a library of its own" wait_for 40 more
kill $inside
check "it is removed" tracectl probe remove letter

# Of each hit one thing becomes.
tracectl probe add some --at "uprobe:$prog:probed" --arg n=arg0 --if 'arg0 % 4 != 3' --rate 100 >/dev/null
"$prog" threads 4 300 >"$T/out"
counted() {
	local hits over unwanted
	hits=$(field some hits) over=$(field some over) unwanted=$(field some unwanted)
	echo "$hits + $over + $unwanted"
	[ $((hits + over + unwanted)) = 1200 ] && [ "$unwanted" = 300 ] && [ "$hits" -gt 0 ] && [ "$over" -gt 0 ]
}
check "recorded, too many and unwanted are all" wait_for 10 counted
tracectl probe remove some >/dev/null

# With a daemon that does not read for a while, the ring is full.
printf '[daemon]\nring_size = 64K\n' >"$T/small.conf"
mkdir "$T/small"
small() { "$O/tracectl" --socket "$T/small/control.sock" "$@"; }
spawn "$O/tracerd" --config "$T/small.conf" --socket "$T/small/control.sock"
small_pid=$!
wait_for 20 small status >/dev/null 2>&1
spawn "$O/tracectl" --socket "$T/small/control.sock" record -q -f -s proc,probes -o "$T/small.trace"
small_client=$!
wait_for 30 test -s "$T/small.trace"
small probe add all --at "uprobe:$prog:probed" --arg n=arg0 --arg 't=str(arg1)' >/dev/null
kill -STOP $small_pid
"$prog" threads 2 1000 >"$T/out"
kill -CONT $small_pid
none_missing() {
	small probe list --json | python3 -c '
import json, sys
p = json.load(sys.stdin)["probes"][0]
print(p)
sys.exit(p["lost"] == 0 or p["hits"] == 0 or p["hits"] + p["lost"] != 2000)'
}
check "with a full ring the lost ones are counted" wait_for 10 none_missing
kill -INT $small_client
wait $small_client
check "and the recording says so (status $?)" [ $? = 3 ]
kill $small_pid

# ---- what costs too much ----

tracectl probe add hot --at "uprobe:$prog:probed" >/dev/null
spawn chrt -f 1 "$prog" busy 120 # also where others want all of the CPUs
busy=$!
limited() {
	tracectl probe list | grep -q 'limited: its hits take more than'
}
check "a probe that takes too much of a CPU is limited, with a message" wait_for 20 limited
kill $busy
wait $busy
check "who runs into it goes on, unharmed (status $?)" [ $? = 0 ]
tracectl probe remove hot >/dev/null

# ---- they come and go, 1000 times ----

for i in 1 2 3 4; do
	cat <<-END
		a$i at uprobe:$prog:probed arg n=arg0 rate 10$i
		b$i at uprobe:$prog:outer end uretprobe:$prog:outer if arg0 % 2 == 0
		c$i at uprobe:$prog:inner arg n=arg0 + $i
		d$i at usdt:$prog:shop:sell
	END
done >"$T/many.probe"
for event in exec exit fork free; do
	echo "$event at tracepoint:sched:sched_process_$event"
done >>"$T/many.probe"
spawn "$prog" busy 120
busy=$!
turn() {
	tracectl probe add --probe-file "$T/many.probe" >"$T/add" && tracectl probe remove --all >"$T/remove" || {
		cat "$T/add" "$T/remove"
		return 1
	}
}
rss() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$DAEMON/status"
}
turn || fail "probes come and go"
wait_for 10 eval '! grep -q "^link" <(bpf_held $DAEMON)'
descriptors $DAEMON >"$T/descriptors"
bpf_held $DAEMON >"$T/held"
before=$(rss)
for _ in $(seq 49); do
	turn || { fail "probes come and go"; break; }
done
held_as_before() {
	bpf_held $DAEMON | diff "$T/held" -
}
check "of 1000 probes that came and went nothing is left in the kernel" wait_for 20 held_as_before
check "nor a descriptor" wait_for 20 no_more_descriptors $DAEMON "$T/descriptors"
after=$(rss)
grep -qas __asan_init "$O/tracerd" || # which keeps what is freed
	check "nor memory ($before, then $after KB)" [ "$after" -lt $((before + 8192)) ]
kill $busy
wait $busy
check "their target goes on, unharmed (status $?)" [ $? = 0 ]
check "its code is what it was" eval '[ "$("$prog" calls 1000)" = "1000 calls" ]'

kill -INT $client
wait $client
check "the recording ends as it should (status $?)" [ $? = 0 ]
check "its trace keeps the rules" tracectl check "$T/all.trace"
ledger() {
	python3 "$SRC/tests/integration/attributes.py" "$T/all.trace" | awk '
		/^ledger.probes\./ { sub(/^ledger.probes\./, "", $1); n[$1] = $2; print }
		END { exit n["produced"] + 0 == 0 || n["lost"] + n["dropped"] + n["malformed"] > 0 || n["produced"] != n["written"] + n["filtered"] }'
}
check "every record of a hit is in it" ledger
stop_tracerd
check "the daemon ends (status $?)" [ $? = 0 ]
