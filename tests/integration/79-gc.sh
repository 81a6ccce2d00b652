#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Which programs collect garbage, when, how long, how much heap before and after: CPython and
# OpenJDK against what they say of it themselves; as slices and counter tracks in a trace, and
# as a table that a handler of some lines makes of what `tracectl watch` prints.
# timeout: 240

. "$(dirname "$0")/lib.sh"

here=$SRC/tests/integration
python=$(readlink -f /usr/bin/python3)
keytool=$(readlink -f /usr/lib/jvm/java-*-openjdk-*/bin/keytool | head -n 1)
readelf -n "$python" 2>/dev/null | grep -q gc__start || skip "no python3 with USDT probes (Debian: python3)"
[ -x "$keytool" ] || skip "no OpenJDK (Debian: default-jre-headless)"

cat >"$T/garbage.py" <<'END'
import gc, os, sys, time


class Node:
    def __init__(self):
        self.me, self.text = self, "x" * 500


def said(phase, info):
    if phase == "stop" and go:
        print(info["generation"], info["collected"], flush=True)


go = False
gc.disable()
gc.callbacks.append(said)
while not os.path.exists(sys.argv[1]):
    gc.collect(0)
    time.sleep(0.05)
go = True
for i in range(4):
    junk = [Node() for _ in range(5000 * (i + 1))]
    del junk
    gc.collect(i % 3)
END

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -q -s probes --probe-set python-gc,jvm-gc -o "$T/trace"
record=$!
mkfifo "$T/pipe"
tee "$T/lines" <"$T/pipe" | /usr/bin/python3 "$here/gc_table.py" >"$T/table" &
table=$!
spawn "$O/tracectl" --socket "$SOCKET" watch --probe-set python-gc,jvm-gc >"$T/pipe" 2>"$T/err"
watch=$!
wait_for 30 grep -qs ^watching "$T/err" || fail "watching starts: $(cat "$T/err")"
wait_for 30 test -s "$T/trace" || fail "the recording starts"

# ---- until both are probed ----

spawn "$python" "$T/garbage.py" "$T/go" >"$T/python.said"
py=$!
lines_of() { # NAME PID: args.generation and args.collected, or a dot
	python3 - "$T/lines" "$@" <<'END'
import json, sys

for line in open(sys.argv[1]):
    e = json.loads(line) if line.endswith("\n") else {}
    if e.get("name") == sys.argv[2] and (e["pid"] == int(sys.argv[3]) or sys.argv[3] == "0"):
        print(e["args"].get("generation", "."), e["args"].get("collected", ""))
END
}
java() { # its pid is $jvm
	rm -f "$T/keys"
	"$keytool" -J-Xlog:gc:file="$T/java.log" -J-XX:+UseG1GC -J-Xmx12m -J-Xmn2m -genkeypair -keyalg RSA \
		-keysize 1024 -alias a -dname CN=a -storepass secret1 -keystore "$T/keys" >"$T/java.out" 2>&1 &
	jvm=$!
	wait $jvm
}
probed() {
	java
	[ -n "$(lines_of jvm-gc 0)" ] && [ -n "$(lines_of python-gc $py)" ]
}
check "who collects garbage is seen" wait_for 90 probed

# ---- what they say themselves ----

touch "$T/go"
wait $py
java
pauses=$(grep -c Pause "$T/java.log")
all_java() {
	[ "$pauses" -gt 0 ] && [ "$(lines_of jvm-gc $jvm | wc -l)" = "$pauses" ]
}
check "OpenJDK: each of its $pauses pauses for it is a line" wait_for 20 all_java
all_python() {
	lines_of python-gc $py >"$T/seen"
	python3 - "$T/python.said" "$T/seen" <<'END'
import sys

said, seen = ([line.strip() for line in open(name)] for name in sys.argv[1:])
assert len(said) == 4, said
assert any(seen[i : i + 4] == said for i in range(len(seen))), (said, seen[-6:])
END
}
check "CPython: so is each of its own, with how many objects it has freed" wait_for 20 all_python
kill -INT $watch $record
wait $watch
wait $record
wait $table

# ---- the table ----

freed() { # PID: a row of the table where more was there before than after
	awk -v pid="$1" '$2 == pid && $4 > 0 && $5 > $6 && $6 > 0 { n++ } END { exit !n }' "$T/table"
}
head -n 4 "$T/table"
check "the table says how much heap OpenJDK had before and after" freed $jvm
check "and CPython" freed $py

# ---- the trace ----

drawn() { # PID SLICE COUNTER: how often there are slices on a thread of PID, and counters
	"$O/tests/tools/slicedump" "$T/trace" | awk -F '\t' -v name="$2" -v counter="$3" '
		$1 == "track" && $6 == counter { is[$2] = 1 }
		$1 == "event" && $6 == name { n++ }
		$1 == "value" && is[$3] { values[$4] = 1 }
		END { for (v in values) different++; print n + 0, different + 0 }'
}
in_trace() {
	local n different
	read -r n different < <(drawn $jvm jvm-gc jvm_eden)
	[ "$n" -ge "$pauses" ] && [ "$different" -gt 1 ] || return 1
	read -r n different < <(drawn $py python-gc python_memory)
	[ "$n" -ge 4 ] && [ "$different" -gt 1 ]
}
check "slices and counter tracks in a trace" in_trace
check "the trace keeps the rules" tracectl check "$T/trace"
stop_tracerd
