#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracerd's own life: start, stop, signals, what it says about a bad start, and
# a machine that refuses what it asks for.
# timeout: 300
# alone
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

need strace
need prlimit util-linux
need setpriv util-linux
RAW=$O/tests/integration/prog/rawclient

# Exit status and output of a command that must end by itself.
refuses() { # STATUS PATTERN COMMAND...
	local out status
	out=$(timeout -k 5 30 "${@:3}" 2>&1)
	status=$?
	[ $status = "$1" ] && grep -qE -- "$2" <<<"$out" && return
	echo "exit status $status: $out"
	return 1
}

# ---- at the end: what it kept open for a recording, it has closed by then ----

AT=idle start_tracerd
idle=$DAEMON
tracectl record -q -d 200ms -o "$T/idle.perfetto-trace"
files_of() { # PID: files of code that it holds open
	readlink "/proc/$1"/fd/* | grep -c '^/.*/lib.*\.so'
}
no_files() {
	[ "$(files_of "$idle")" = 0 ]
}
check "a recording keeps files of code open" [ "$(files_of "$idle")" -gt 0 ]

# ---- options and configuration ----

check "unknown options are usage errors" refuses 2 Usage "$O/tracerd" --nosuch
check "so are arguments" refuses 2 Usage "$O/tracerd" start
n=0
while IFS='|' read -r line pattern; do
	n=$((n + 1))
	printf '# one\n[daemon]\n\n%b\n' "$line" >"$T/bad.conf"
	check "configuration '${line:0:30}' is refused, with file and line" \
		refuses 1 "$T/bad.conf:4: .*$pattern" \
		"$O/tracerd" --socket "$T/never/control.sock" --config "$T/bad.conf"
done <<'END'
nosuch = 1|unknown key 'nosuch'
ring_size|key = value
ring_size = 12 apples|between
ring_size = 1|between
max_clients = 0|between
max_sessions = 99999|between
max_clients = 18446744073709551617|between
[client]|unknown section
\033]0;x\007 = 1|unknown key '.x1b]0;x.x07'
END
awk 'BEGIN { for (i = 0; i < 600; i++) printf "x"; print "" }' >"$T/bad.conf"
check "a line without an end is refused" refuses 1 'bad.conf:1: line is too long' \
	"$O/tracerd" --socket "$T/never/control.sock" --config "$T/bad.conf"
check "a directory is no configuration" refuses 1 "$T: Is a directory" \
	"$O/tracerd" --socket "$T/never/control.sock" --config "$T"
check "none of these made a socket" [ ! -e "$T/never" ]
check "a socket where no directory can be made" refuses 1 'No such file or directory' \
	"$O/tracerd" --socket "$T/a/b/control.sock"
long=$T/$(printf 'x%.0s' $(seq 120))
check "a path that is too long for a socket" refuses 1 'name too long' \
	"$O/tracerd" --socket "$long/control.sock"

# ---- --control-fd ----

check "--control-fd wants a number" refuses 2 'wants a descriptor' "$O/tracerd" --control-fd x
check "not one of the standard three" refuses 2 'wants a descriptor' "$O/tracerd" --control-fd 1
check "a descriptor that is not open is an error" \
	refuses 1 'descriptor 9[^0-9]' "$O/tracerd" --control-fd 9
check "so is one that is no socket" refuses 1 'descriptor 9[^0-9]' \
	sh -c 'exec 9</dev/null; exec "$0" --control-fd 9' "$O/tracerd"

# ---- one daemon, its socket, its end ----

start_tracerd
first=$DAEMON
check "a second daemon says the pid of the first, exit status 1" \
	refuses 1 "another tracerd is running \(pid $first\)" "$O/tracerd" --socket "$SOCKET"
check "the first is unharmed" tracectl status
kill -HUP "$first"
check "SIGHUP changes nothing" tracectl status
check "and is answered in the log" grep -q 'SIGHUP: the configuration is read at start only' \
	"$T/tracerd.log"
check "SIGTERM ends it with status 0" stop_tracerd
check "its socket is gone" [ ! -e "$SOCKET" ]
AT=int start_tracerd
kill -INT "$DAEMON"
check "so does SIGINT" wait "$DAEMON"
AT=killed start_tracerd
kill -KILL "$DAEMON"
wait "$DAEMON" 2>/dev/null
check "after kill -9 there is a stale socket" [ -S "$SOCKET" ]
AT=killed start_tracerd
check "it is no obstacle" tracectl status
rm "$SOCKET"
check "a socket that was removed: the client is told" \
	refuses 1 "no tracerd listens at" "$O/tracectl" --socket "$SOCKET" status
check "the daemon can be stopped all the same" stop_tracerd
mkdir "$T/taken" "$T/taken/control.sock"
check "a directory in its place is an error" refuses 1 'control socket .*: Is a directory' \
	"$O/tracerd" --socket "$T/taken/control.sock"

recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}
for signal in TERM INT; do
	AT=stop start_tracerd
	"$O/tracectl" --socket "$SOCKET" record -d 60s -f -o "$T/stop.perfetto-trace" 2>"$T/err" &
	client=$!
	check "a recording runs" wait_for 40 recording
	start=${EPOCHREALTIME/[.,]/}
	kill -$signal "$DAEMON"
	wait "$DAEMON"
	status=$?
	took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
	wait "$client"
	client_status=$?
	echo "SIG$signal: over in $took ms"
	check "SIG$signal ends the daemon with status 0" [ $status = 0 ]
	check "the client says why, and ends with 1" \
		test $client_status = 1 -a -n "$(grep 'ended early: tracerd was stopped' "$T/err")"
	check "with a summary" grep -q 'nothing was lost\|LOST' "$T/err"
	check "its file is complete and good" \
		refuses 0 ' complete, .*good$' "$O/tracectl" check "$T/stop.perfetto-trace"
done

# Names and lines that do not come are no reason for a file without an end.
AT=mute start_tracerd
cp "$O/tests/integration/prog/deep" "$T/unknown"
"$O/tracectl" --socket "$SOCKET" record -d 60s -f -o "$T/mute.perfetto-trace" 2>"$T/err" &
client=$!
check "a recording runs" wait_for 40 recording
# shellcheck disable=SC2046
kill -STOP $(children "$DAEMON")
timeout -s KILL 1 "$T/unknown" >/dev/null
check "with its workers at a standstill the daemon ends as well" stop_tracerd
wait "$client"
check "the client is told" grep -q 'ended early: tracerd was stopped' "$T/err"
check "its file is complete and good" \
	refuses 0 ' complete, .*good$' "$O/tracectl" check "$T/mute.perfetto-trace"

# ---- what the machine refuses ----

AT=few start_tracerd
prlimit --pid "$DAEMON" --nofile=64:64
check "with 64 descriptors it answers" tracectl status
tracectl record -q -d 500ms -f -o "$T/few.perfetto-trace" >"$T/few.out" 2>&1
status=$?
case $status in
0 | 3) check "and records: the file is good" tracectl check "$T/few.perfetto-trace" ;;
1) check "or says what it lacks" grep -q 'too many open files: raise LimitNOFILE' "$T/few.out" ;;
*) fail "and records or says what it lacks ($status: $(cat "$T/few.out"))" ;;
esac
cat "$T/few.out"
check "more clients than descriptors are told so" \
	refuses 0 'error: (tracerd has no free file descriptors|too many clients)' \
	"$RAW" "$SOCKET" repeat 60 another hello 1 reply
check "it recovers when they are gone" wait_for 10 tracectl status
check "and stops" stop_tracerd

# Root as it is in many a container: no limit can be raised, no memory locked.
bare() {
	prlimit --memlock=0:0 -- setpriv --bounding-set=-ipc_lock,-sys_resource \
		--inh-caps=-all "$@"
}
check "without locked memory it records, or says what is missing" \
	bare "$O/tracectl" --private record -q -d 300ms -f -o "$T/memlock.perfetto-trace"
check "what it recorded is good" "$O/tracectl" check "$T/memlock.perfetto-trace"
none=(setpriv --bounding-set=-all --inh-caps=-all)
check "without any capability: status says for each source what is missing" \
	refuses 0 'CAP_|permission|Operation not permitted' "${none[@]}" "$O/tracectl" --private status
check "it records what needs none, and says what else is missing" \
	refuses 0 'tracectl: .*cpu.* off: .*needs CAP_BPF and CAP_PERFMON' \
	"${none[@]}" "$O/tracectl" --private record -q -d 100ms -o "$T/none.perfetto-trace"
check "what it recorded is good" "$O/tracectl" check "$T/none.perfetto-trace"
rm -f "$T/none.perfetto-trace"
check "when nothing of what is wanted can be had, it is refused with the reason" \
	refuses 1 'tracectl: cpu: .*needs CAP_BPF and CAP_PERFMON' \
	"${none[@]}" "$O/tracectl" --private record -s cpu -d 100ms -o "$T/none.perfetto-trace"
check "and leaves no file" [ ! -e "$T/none.perfetto-trace" ]

without_tracefs() {
	unshare --mount sh -c '
		mount --make-rprivate /
		for d in /sys/kernel/tracing /sys/kernel/debug; do
			[ ! -d $d ] || mount -t tmpfs tmpfs $d || exit 77
		done
		exec "$@"' sh "$@"
}
check "without tracefs it records" without_tracefs "$O/tracectl" --private record -q -d 300ms \
	-f -o "$T/tracefs.perfetto-trace"
check "what it recorded is good" "$O/tracectl" check "$T/tracefs.perfetto-trace"

# As in a directory that somebody has called chroot on: the first argument is hidden.
without=(unshare --mount sh -c '
	mount --make-rprivate / && mount -t tmpfs tmpfs "$1" || exit 77
	shift
	exec "$@"' sh)
check "without /sys it says what to do" \
	refuses 0 'tracectl: proc is off: /sys is not mounted: mount -t sysfs' \
	"${without[@]}" /sys "$O/tracectl" --private record -q -d 100ms -o "$T/sys.perfetto-trace"
"${without[@]}" /sys "$O/tracectl" --private record -d 100ms -f -o "$T/sys.perfetto-trace" 2>"$T/sys.err"
check "each reason once" [ "$(grep -c '^tracectl: .* off: ' "$T/sys.err")" = 2 ]
check "and nothing twice" sh -c "! grep '^tracerd: .*: /sys is not' '$T/sys.err'"
check "without /proc, too" refuses 1 'tracectl: /proc is not mounted: mount -t proc' \
	"${without[@]}" /proc "$O/tracectl" --private record -d 100ms -o "$T/proc.perfetto-trace"

cp "$O/tracectl" "$O/tracerd" "$T"
chmod 755 "$T"
check "a user without a daemon is told what to do" \
	refuses 1 'no tracerd is running and only root can start one: run as root, or' \
	setpriv --reuid 65534 --regid 65534 --clear-groups "$T/tracectl" --private record -d 1s

# ---- every call that may fail, one after the other ----

# LeakSanitizer cannot work under strace, and ends what it is in with status 1:
# then nothing would be tested here.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}detect_leaks=0"

# The n-th call and all that follow fail; and the n-th alone.
inject() { # CALL ERROR N
	local status it=$T/inject-$3
	timeout -k 5 60 strace -f -qqq -o /dev/null -e trace="$1" \
		-e inject="$1:error=$2:when=$3" \
		"$O/tracectl" --private record -q -d 100ms -f -o "$it.perfetto-trace" \
		>"$it.out" 2>&1
	status=$?
	case $status in
	# Counters are read through bpf(2) as well: only the account may be wrong, and switches
	# be missing that it does not know of.
	0 | 3) "$O/tracectl" check "$it.perfetto-trace" >"$it.check" 2>&1 && return
		[ "$1" != bpf ] || sed -i '/^S sample-not-running/d' "$it.check"
		grep -v '^L \|^/' "$it.check" || return 0
		echo "$1 $2 when=$3: a bad trace" ;;
	1) [ -s "$it.out" ] && return
		echo "$1 $2 when=$3: exit status 1 without a message" ;;
	124) echo "$1 $2 when=$3: hangs" ;;
	*) echo "$1 $2 when=$3: exit status $status"
		cat "$it.out" ;;
	esac
	return 1
}
# Two at a time: they mostly wait.
injections() { # CALL ERROR N...
	local n pid bad=0
	local -A running=()
	for n in "${@:3}" ""; do
		while [ ${#running[@]} = 2 ] || { [ -z "$n" ] && [ ${#running[@]} != 0 ]; }; do
			wait -n -p pid "${!running[@]}" || bad=1
			unset "running[$pid]"
		done
		[ -n "$n" ] || break
		inject "$1" "$2" "$n" &
		running[$!]=$n
	done
	rm -f "$T"/inject-*
	return $bad
}
calls() { # CALL: how many a recording makes
	strace -f -qqq -o "$T/calls" -e trace="$1" \
		"$O/tracectl" --private record -q -d 100ms -f -o "$T/inject.perfetto-trace"
	grep -c "$1(" "$T/calls"
}
n_perf=$(calls perf_event_open) n_bpf=$(calls bpf)
echo "a recording makes $n_perf calls of perf_event_open, $n_bpf of bpf"
# shellcheck disable=SC2046
{
	check "perf_event_open failing at any call: degraded or refused, never worse" \
		injections perf_event_open EACCES 1+ $(seq 1 "$n_perf")
	check "bpf failing at any call: degraded or refused, never worse" \
		injections bpf EPERM 1+ 36 38 $(seq 2 $((n_bpf / 12 + 1)) "$n_bpf")
	check "bpf failing from any call on" \
		injections bpf ENOMEM $(seq -f %g+ 3 $((n_bpf / 8 + 1)) "$n_bpf")
}

# The walker's maps are the largest by far: where there is no room for them, stacks are
# walked by frame pointers, which nobody calls whole.
# In the daemon's own thread, which makes them: others load programs meanwhile, and strace
# counts the calls of each by itself.
recorded_under() { # OPTIONS...: of strace
	local strace
	start_tracerd
	strace -qqq -o "$T/calls" -e trace=bpf "$@" -p "$DAEMON" &
	strace=$!
	attached() {
		! grep -q '^TracerPid:[[:space:]]*0$' "/proc/$DAEMON/status"
	}
	wait_for 20 attached
	tracectl record -s cpu -d 500ms -f -o "$T/fp.perfetto-trace" 2>"$T/fp.out"
	stop_tracerd
	wait "$strace"
}
by_frame_pointers() {
	local i when=60000
	# Which thread asks first what the kernel can is chance: its call may be another one.
	for i in {1..10}; do
		# None: another call failed, and there were no maps.
		recorded_under -e inject=bpf:error=ENOMEM:when="${when:-60000}"
		grep -q 'unwind_.*INJECTED' "$T/calls" && break
		when=$(grep -n unwind_data "$T/calls" | head -1 | cut -d: -f1)
	done
	grep -q 'cpu: stacks by frame pointers: Cannot allocate memory' "$T/tracerd.log" &&
		grep -q 'stacks of samples: 0.0 % whole; the others end: [0-9,]* FP_ONLY' "$T/fp.out" && return
	cat "$T/fp.out"
	return 1
}
check "without room for the walker's maps stacks are by frame pointers, and it is said" by_frame_pointers
check "and the trace is good" "$O/tracectl" check "$T/fp.perfetto-trace"

# No perf event can be opened at all. That something was lost is no concern here.
without_perf() { # STATUS PATTERN OPTIONS...
	local status
	timeout -k 5 60 strace -f -qqq -o /dev/null -e trace=perf_event_open \
		-e inject=perf_event_open:error=EACCES:when=1+ \
		"$O/tracectl" --private record -d 300ms -f -o "$T/without.perfetto-trace" "${@:3}" \
		>"$T/without.out" 2>&1
	status=$?
	[ $status != 3 ] || status=0
	[ $status = "$1" ] && grep -q "$2" "$T/without.out" && return
	cat "$T/without.out"
	return 1
}
check "without perf events the rest is recorded, and it is said why" \
	without_perf 0 'cpu is off: perf_event_open: Permission denied'
check "and the trace is good" "$O/tracectl" check "$T/without.perfetto-trace"
check "but samples that were asked for are not left out" \
	without_perf 1 'perf_event_open: Permission denied' --freq 99

# ---- the idle daemon of the beginning ----

check "an idle daemon holds no file of code" wait_for 90 no_files
