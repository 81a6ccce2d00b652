#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracectl watch: what happens as lines of JSON, as it happens, of whom it is asked for; who
# reads slowly holds nobody up and is told what is missing.
# timeout: 200

. "$(dirname "$0")/lib.sh"

need python3
prog=$O/tests/integration/prog/markers
lines() { python3 "$SRC/tests/integration/watch.py" "$@"; }

start_tracerd


watch() { # NAME ARGS...: into $T/NAME, until end
	spawn "$O/tracectl" --socket "$SOCKET" watch "${@:2}" >"$T/$1" 2>"$T/$1.err"
	client=$!
	wait_for 30 grep -qs ^watching "$T/$1.err" || fail "watching starts: $(cat "$T/$1.err")"
}

end() {
	kill -INT $client
	wait $client
}

has() { # N FILE FIELD=VALUE...
	[ "$(lines "${@:2}")" = "$1" ]
}

# ---- what is in a line ----

# Whose file is known and watched, other recorders or not.
spawn "$prog" busy 300
watch nest -e source:markers
wait_for 60 grep -qs '"name":"busy"' "$T/nest" || fail "what is busy is watched"
"$prog" nest &
pid=$!
wait $pid
# While it still watches: nobody has to wait for the end.
check "an event is there while it is watched" wait_for 20 has 1 "$T/nest" name=now
end
check "every line is as it is documented" lines "$T/nest"
check "a slice has its thread, its process and its payload" \
	has 1 "$T/nest" type=slice name=outer pid=$pid tid=$pid process=markers source=markers \
	category=marker args.i=-5 args.u=9223372036854775808 args.f=2.5 args.s=text args.b=True
check "so has one of another thread" has 1 "$T/nest" type=slice name=threaded pid=$pid args.thread=1
check "an instant" has 1 "$T/nest" type=instant name=now args.n=1
check "a counter" has 1 "$T/nest" type=counter name=load value=0.75
check "what is asynchronous" has 1 "$T/nest" type=slice name=request args.path=/
check "what goes on at the end" has 1 "$T/nest" type=slice "name=left open" args.unfinished=True
check "nothing else was asked for" has 0 "$T/nest" source=proc

# ---- hostile names ----

cat >"$T/hostile.py" <<'END'
import ctypes, json, os, socket, sys

ctypes.CDLL(None).prctl(15, b'\xff"\\\n\x1b[2J\xc3', 0, 0, 0)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for n, name in enumerate(['"', "\\", "}\n{", "\x1b[2J", "\u202e", "\x7f\x9b", "\U0001f600" * 8]):
    s.sendto(json.dumps({"name": name, "phase": "instant", "args": {name: name, "n": n}}).encode(),
             sys.argv[1])
os.execv(b"/bin/sh", [b'\xff"\n', b"-c", b": '\xf0\x9f\x98'; exec sleep 0.31"])
END
watch hostile -s markers
python3 "$T/hostile.py" "$T/marker.sock"
check "names that mean no good" wait_for 20 has 7 "$T/hostile" source=markers type=instant
end
check "break no line" lines "$T/hostile"
check "the command line of who was executed is a line" has 1 "$T/hostile" name=exec args.file=/usr/bin/sleep "args.cmdline=sleep 0.31"

# ---- who and what ----

watch mine -s markers -e 'name:a*' -p $$
watch_mine=$client
spawn sleep 300
watch yours -s markers -p $!
"$O/tracectl" --socket "$SOCKET" mark abc n=1
"$O/tracectl" --socket "$SOCKET" mark xyz
check "a pattern of names" wait_for 20 has 1 "$T/mine" name=abc
end
client=$watch_mine
end
check "and of nothing else" has 0 "$T/mine" name=xyz
check "whom nobody has asked for is not told of" has 0 "$T/yours"

no_such() { # WORDS ARGS...: refused, with a word
	local status=0
	tracectl watch "${@:2}" >"$T/out" 2>"$T/err" || status=$?
	[ $status != 0 ] && [ ! -s "$T/out" ] && grep -q "$1" "$T/err"
}
check "a source that is none" no_such "there is no source 'nothing'" -e source:nothing
check "one without lines" no_such 'no lines of source cpu' -s cpu
check "a probe that is none" no_such "there is no probe 'nothing'" --probe nothing
check "what is no time" no_such "want a time" --min soon

by_itself() { # with a command: while it runs
	tracectl watch -q -s markers -e exec -- sh -c 'true; exec sleep 0.2' >"$T/command" 2>"$T/err" &&
		has 1 "$T/command" name=exec "args.cmdline=sleep 0.2" && diff /dev/null "$T/err"
}
check "a command is watched while it runs" by_itself

long_ones() {
	tracectl watch -q -e source:markers --min 15ms -- "$prog" busy 0.3 >"$T/long" &&
		[ "$(lines "$T/long" name=busy)" -gt 2 ] && [ "$(lines "$T/long" type=slice)" = "$(lines "$T/long")" ]
}
check "slices that last" long_ones

# ---- probes ----

probed() {
	tracectl watch -q --probe 'first at uprobe:libc.so.6:ffs arg n=arg0:s32 if arg0 > 7' -- \
		python3 -c 'import ctypes; [ctypes.CDLL(None).ffs(i) for i in range(11)]' >"$T/probed" &&
		has 1 "$T/probed" name=first args.n=10 && has 3 "$T/probed"
}
check "hits of a probe of one's own, and nothing else" probed

# ---- who reads slowly, and who goes ----

n=400000
mkfifo "$T/pipe"
exec 9<>"$T/pipe" # holds the pipe and does not read
spawn "$O/tracectl" --socket "$SOCKET" watch -s markers -e burst -e after >"$T/pipe" 2>"$T/slow.err" 9>&-
client=$!
wait_for 30 grep -qs ^watching "$T/slow.err"
wait_for 30 grep -qs '"name":"busy"' <(exec timeout 30 "$O/tracectl" --socket "$SOCKET" watch -q -s markers -e busy | head -n 1)
"$prog" burst $n >"$T/made" &
pid=$!
wait_for 60 test -s "$T/made"
check "whoever is watched is done, though nobody reads" grep -qx $n "$T/made"
wait $pid
cat "$T/pipe" >"$T/slow" 9>&- &
lib_pids+=($!)
cat=$!
wait_for 30 test -s "$T/slow"
exec 9>&-
"$O/tracectl" --socket "$SOCKET" mark after
check "it goes on when he reads again" wait_for 30 eval "grep -q '\"name\":\"after\"' '$T/slow'"
kill -INT $client
wait $client
status=$?
wait $cat
said() { # what the kernel's ring had no room for may be others' as well
	local got queue ring
	got=$(lines "$T/slow" name=burst) &&
		queue=$(lines "$T/slow" --sum lost type=lost "reason=reader too slow") &&
		ring=$(lines "$T/slow" --sum lost type=lost source=markers) || return 1
	echo "# $n made, $got lines, $queue and $ring lost, exit status $status"
	[ $((got + queue)) -le $n ] && [ $((got + queue + ring)) -ge $n ] && [ "$queue" -gt 0 ] && [ $status = 3 ]
}
check "each of $n is a line, or counted in one that says what is missing" said

"$O/tracectl" --socket "$SOCKET" watch -q -s markers | head -n 1 >"$T/first" &
client=$!
ended() {
	"$O/tracectl" --socket "$SOCKET" mark tick
	gone $client
}
check "it ends when nobody reads any more" wait_for 30 ended

stop_tracerd
