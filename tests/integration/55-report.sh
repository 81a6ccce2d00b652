#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `tracectl report` says of a recording is what was recorded: of a program
# whose functions and threads are known, and against a reader of its own.
. "$(dirname "$0")/lib.sh"
need python3

trace=$T/t.perfetto-trace
# As long on the CPU on an idle machine as on a crowded one.
tracectl record -o "$trace" -- "$O/tests/integration/prog/two_threads" 1200 400 2>"$T/err"
status=$?
check "the program is recorded (status $status)" [ $status = 0 -o $status = 3 ]

report() {
	"$O/tracectl" report "$@" "$trace"
}

report >"$T/text" || fail "there is a report"
first() { # of a column of the first row of the table
	awk '/ self +total /{ getline; print $NF; exit }' "$T/text"
}
check "the top function is the one that computes the longest ($(first))" [ "$(first)" = hot_left ]
check "its callers are above it in the tree" grep -Eq 'work > hot_left|left > work' "$T/text"

echo "# threads, under the names they had"
report --by thread --json >"$T/json"
cat >"$T/threads.py" <<'PY'
import json, sys
with open(sys.argv[1]) as f:
    r = json.load(f)
by = {}
for g in r["groups"]:
    by[g["comm"]] = by.get(g["comm"], 0) + g["total_samples"]
hot = {f["function"]: f["total_samples"] for f in r["functions"] if "function" in f}
print(by, hot)
whole = r["samples"]
ok = sum(by.values()) == whole == sum(g["total_samples"] for g in r["groups"])
# 1200 : 400 : 100; what a thread does beside its work is little.
ok = ok and 2.2 < by["left"] / by["right"] < 4
ok = ok and by["two-renamed"] > 0
ok = ok and 0.8 * by["left"] < hot["hot_left"] <= by["left"]
sys.exit(not ok)
PY
check "each thread has its share" python3 "$T/threads.py" "$T/json"

echo "# against another reader"
report --folded --no-inline --by thread | LC_ALL=C sort >"$T/ours"
python3 "$SRC/tests/integration/folded.py" "$trace" | LC_ALL=C sort >"$T/theirs"
check "folded stacks are those of another reader, line by line ($(wc -l <"$T/ours"))" \
	diff "$T/ours" "$T/theirs"
check "they are some" [ -s "$T/ours" ]

total() {
	awk '{ n += $NF } END { print n + 0 }'
}
all=$(total <"$T/ours")
for by in function module process thread cpu; do
	n=$(report --folded --by $by | total)
	check "by $by all samples are there ($n of $all)" [ "$n" = "$all" ]
done
half=$(report --json | python3 -c 'import json, sys
r = json.load(sys.stdin)
print((r["end_ns"] - r["start_ns"]) / 2e9)')
before=$(report --folded --to "$half" 2>/dev/null | total)
after=$(report --folded --from "$half" 2>/dev/null | total)
check "a time splits them without a rest ($before and $after)" [ $((before + after)) = "$all" ]

echo "# the ways to report"
check "a flame graph has the function" sh -c "'$O/tracectl' report --flame '$trace' | grep -q '\[hot_left *\]'"
check "stacks are accounted for" sh -c "'$O/tracectl' report --completeness '$trace' | grep -q '% .* all'"
cat >"$T/whole.py" <<'PY'
import json, sys
c = json.load(sys.stdin)["completeness"]
print(100 * c["whole"] / (c["samples"] - c["without_user_stack"]))
PY
said=$(sed -n 's/.*stacks of samples: \([0-9.]*\) % whole.*/\1/p' "$T/err")
counted=$(report --json | python3 "$T/whole.py")
check "as many stacks are whole as the recorder said ($said %, $counted %)" \
	awk -v a="$said" -v b="$counted" 'BEGIN { d = a - b; exit !(a > 0 && d * d < 0.01) }'
missing=$(report --source linux.none 2>&1)
status=$?
check "a source that is not there has status 1, and what there is is said" \
	[ $status = 1 -a "${missing%linux.perf*}" != "$missing" ]
tail -n +2 "$T/text" >"$T/rest"
check "standard input is a file like any other" sh -c \
	"'$O/tracectl' report - <'$trace' | tail -n +2 | cmp - '$T/rest'"

echo "# the samples in slices of a name"
cat >"$T/burn.py" <<'PY'
import os, random, socket, time
SIZE = 4 << 20
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, 32, 4 * SIZE)  # SO_SNDBUFFORCE
data, into = bytes(SIZE), bytearray(SIZE)
inside = calls = 0

def compute(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for _ in range(1000):
            pass

while time.process_time_ns() < 2000000000:
    for _ in range(10):
        begin = time.thread_time_ns()
        n = a.send(data)
        spent = time.thread_time_ns() - begin
        inside += spent
        calls += 1
        while n > 0:
            n -= b.recv_into(into, n)
        compute(int(random.uniform(0.2, 3.8) * spent))  # in no step with the samples
print(os.getpid(), calls, 100 * inside / time.process_time_ns())
PY
trace=$T/slices.perfetto-trace
tracectl record -q -f -s syscalls,cpu -o "$trace" -- python3 "$T/burn.py" >"$T/said"
status=$?
check "a program that computes in calls and between them is recorded (status $status)" \
	[ $status = 0 -o $status = 3 ]
cat >"$T/share.py" <<'PY'
import json, sys
_, calls, percent = open(sys.argv[1]).read().split()
inside, whole = (json.load(open(name)) for name in sys.argv[2:])
s = inside["slices"]
share = 100 * inside["weight"] / whole["weight"]
print("said", calls, percent, "seen", s, share)
ok = s["count"] == s["of_threads"] == int(calls)
ok = ok and abs(share - float(percent)) < 8
ok = ok and inside["weight"] < 1.2 * s["total_ns"] and s["p50_ns"] <= s["p99_ns"] <= s["longest_ns"]
# It computes elsewhere.
names = [{f["function"] for f in r["functions"] if f["total_samples"]} for r in (inside, whole)]
ok = ok and "compute" in names[1] and "compute" not in names[0]
sys.exit(not ok)
PY
pid=$(cut -d ' ' -f 1 "$T/said")
report --json --pid "$pid" >"$T/whole.json"
report --json --pid "$pid" --slice sendto >"$T/inside.json"
check "as much of its CPU time as it says is in its calls ($(cut -d ' ' -f 2- "$T/said"))" \
	python3 "$T/share.py" "$T/said" "$T/inside.json" "$T/whole.json"
report --slice 'send*' --pid "$pid" >"$T/text"
check "their number and durations are above the call tree" \
	grep -q "^In slices 'send\*': [0-9,]* on threads; " "$T/text"
near=$(report --slice sendtoo 2>&1)
status=$?
check "a name that is not there has status 1, and the nearest is said" \
	[ $status = 1 -a "${near%sendto (*}" != "$near" ]
