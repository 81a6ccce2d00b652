#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Generated code has names: from perf maps and jitdump files, those of their time;
# and what is no such file, or somebody else's, is left alone and hurts nobody.
# timeout: 300
#
#	JIT_MS=600		CPU time that each program burns
#	MODES='map dump'	only these situations
. "$(dirname "$0")/lib.sh"

need python3
jit=$O/tests/integration/prog/jit
ms=${JIT_MS-600}
mkdir "$T/dumps"
echo '1000 7fffffffffff stolen' >"$T/secret"
export SECRET=$T/secret

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

# Runs it for a while, and remembers who it was.
run() { # LABEL COMMAND...
	"${@:2}" >"$T/$1.said" &
	local pid=$!
	lib_pids+=("$pid")
	case $1 in
	*-inside) # its first process is the one we look for
		wait_for 10 sh -c "pgrep -P $pid >'$T/$1.pid'"
		;;
	*) echo $pid >"$T/$1.pid" ;;
	esac
	wait $pid
}

wanted() { # LABEL
	case " ${MODES-$1} " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

labels='map append memfd reuse dump unnamed rotate fifo symlink foreign sparse'
start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -s cpu -o "$T/trace" 2>"$T/err"
record=$!
wait_for 60 is_recording || fail "the recording starts"
for label in $labels; do
	wanted "$label" && run "$label" "$jit" "$label" "$ms" "$T/dumps"
done
if wanted forked-inside; then
	run forked-inside "$jit" forked "$ms"
	labels="$labels forked-inside"
fi
# Its pid is another one there, and so is its /tmp, whatever we have in ours.
if wanted map-inside && unshare -pmf true 2>/dev/null; then
	run map-inside unshare -pmf sh -c \
		"exec 9<'$jit'; mount -t tmpfs tmpfs /tmp && cp /proc/self/fd/9 /tmp/jit &&
		chmod +x /tmp/jit && exec 9<&- && exec /tmp/jit map $ms"
	labels="$labels map-inside"
fi
if wanted node && command -v node >/dev/null; then
	cat >"$T/burn.js" <<'JS'
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
function outer(ms) {
	const end = process.cpuUsage().user + ms * 1000;
	let x = 0;
	while (process.cpuUsage().user < end) x += inner(1e6);
	return x;
}
outer(+process.argv[2]);
JS
	cd "$T/dumps" || exit 1 # it leaves a log where it runs
	run node node --perf-basic-prof "$T/burn.js" $((ms * 2))
	run node-dump node --perf-prof "$T/burn.js" "$ms"
	rm -f "/tmp/perf-$(cat "$T/node.pid").map"
	cd "$SRC" || exit 1
fi
if wanted java && command -v jcmd >/dev/null; then
	cat >"$T/Burn.java" <<'JAVA'
public class Burn {
	static int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }
	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
		int x = 0;
		while (System.nanoTime() < end) x += inner(1000000);
		System.out.println(x);
	}
}
JAVA
	java -XX:+PreserveFramePointer "$T/Burn.java" $((ms * 5)) >"$T/java.said" &
	java=$!
	lib_pids+=("$java")
	echo $java >"$T/java.pid"
	# A snapshot: of what is compiled by then.
	wait_for 30 sh -c "jcmd $java Compiler.perfmap >/dev/null 2>&1 &&
		grep -q Burn.inner /tmp/perf-$java.map"
	wait $java
	rm -f "/tmp/perf-$java.map"
fi
tracectl status >"$T/status"
kill -INT $record
wait $record
status=$?
check "they are recorded (status $status)" [ $status = 0 -o $status = 3 ]
check "the trace is good" tracectl check "$T/trace"

for label in $labels; do
	[ -s "$T/$label.pid" ] || continue
	python3 "$SRC/tests/integration/jit.py" "$T/trace" "$(cat "$T/$label.pid")" "$T/$label.said" \
		>"$T/$label.seen"
	read -r right all lines wrong <"$T/$label.seen"
	what="$label: $right of $all samples have the name of their time, $lines a line"
	case $label in
	append) share=70 ;;        # told after they have begun to run
	reuse) share=75 ;;         # the map has no times: when it was noticed
	forked-inside) share=60 ;; # its own map has to be found first
	rotate) share=40 ;;        # the map is away now and then
	*) share=95 ;;             # but for the worst moments of a busy machine
	esac
	[ $label = dump ] || lines=${right}
	if [ "${all:-0}" -ge 50 ] && [ $((right * 100)) -ge $((all * share)) ] &&
		[ "$lines" = "$right" ]; then
		ok "$what"
	else
		fail "$what"
		cat "$T/$label.seen"
	fi
	# Without a name they may be, but not with another's.
	[ $label = reuse ] || check "$label: none has another function's name" \
		sh -c "! sed 1d '$T/$label.seen' | grep -qv \"^[0-9]* times '\[anon:exec\]'\""
done

named() { # LABEL PATTERN PERCENT: of the samples in the process
	[ -s "$T/$1.pid" ] || return 0
	python3 "$SRC/tests/integration/jit.py" "$T/trace" "$(cat "$T/$1.pid")" >"$T/$1.seen"
	read -r all _ <"$T/$1.seen"
	n=$(sed -n "s/^\([0-9]*\) times .*$2.*/\1/p" "$T/$1.seen" | awk '{ n += $1 } END { print n + 0 }')
	if [ "$all" -ge 50 ] && [ $((n * 100)) -ge $((all * $3)) ]; then
		ok "$1: $n of $all samples in generated code are in the function that burns"
	else
		fail "$1: $n of $all samples in generated code are in the function that burns"
		cat "$T/$1.seen"
	fi
}

named node 'inner .*burn.js:1' 80
named java 'Burn.inner' 20

if [ -z "${MODES-}" ]; then
	check "what was in the way is counted" grep -q '^generated code: ' "$T/status"
	check "nobody was followed out of /tmp" sh -c "! grep -qa stolen '$T/trace'"
	check "refused files are said" grep -q 'in place of its perf map is not read' "$T/tracerd.log"
fi
stop_tracerd
check "the daemon ends in order" [ $? = 0 ]
