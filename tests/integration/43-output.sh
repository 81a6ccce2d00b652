#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What tracectl record does with its output, its terminal and its command, and what
# it says when something is wrong.
# timeout: 300
. "$(dirname "$0")/lib.sh"

need script bsdutils
start_tracerd
cd "$T" || exit 1
CTL="$O/tracectl --socket $SOCKET"

# Status, and a line of standard output and error that matches.
gives() { # STATUS PATTERN COMMAND...
	local status
	timeout -k 5 60 "${@:3}" >"$T/gives.out" 2>&1
	status=$?
	[ $status = "$1" ] && grep -aqE -- "$2" "$T/gives.out" && return
	echo "exit status $status:"
	cat -v "$T/gives.out"
	return 1
}

record() { # STATUS PATTERN ARGS...: with the daemon of this script
	gives "$1" "$2" "$O/tracectl" --socket "$SOCKET" record -d 200ms -s sched "${@:3}"
}

good() {
	"$O/tracectl" check "$1"
}

daemon_serves() {
	wait_for 10 sh -c "$CTL status --json | grep -q '\"sessions\":\\[\\]'"
}

# ---- where it goes ----

check "a new file" record 0 'nothing was lost|LOST' -o new
check "is good" good new
echo precious >old
check "an existing file is not overwritten" record 1 'cannot create old: File exists \(--force' -o old
check "and is as it was" grep -q precious old
check "unless asked" record 0 . -o old -f
check "then it is good" good old
echo precious >target
ln -s target link
ln -s nowhere dangling
for f in '' -f; do
	# shellcheck disable=SC2086
	check "a symbolic link is refused $f" record 1 'cannot create link: (File exists|Too many levels)' -o link $f
	# shellcheck disable=SC2086
	check "one that leads nowhere too $f" record 1 'cannot create dangling: (File exists|Too many)' -o dangling $f
done
check "what it points to is as it was" grep -q precious target
check "and was not made" [ ! -e nowhere ]
mkfifo fifo
check "a FIFO is refused" record 1 'fifo' -o fifo -f
check "a device too" record 1 'not a regular file' -o /dev/null -f
mkdir dir
check "a directory is refused" record 1 'cannot create dir: Is a directory' -o dir -f
check "without --force, too" record 1 'cannot create dir: Is a directory$' -o dir
check "a directory that is not there" record 1 'cannot create no/file: No such file' -o no/file
check "a name that is too long" record 1 'File name too long' -o "$(printf 'x%.0s' $(seq 300))"
check "the empty name" record 1 'cannot create : No such file' -o ''
check "a path that is too long" record 1 'File name too long' -o "$(printf 'x/%.0s' $(seq 3000))"
check "nothing has been left by these" [ -z "$(find . -type f ! -name new ! -name old ! -name target \
	! -name '*.out' ! -name tracerd.log ! -name lock)" ]
check "standard output to a pipe" \
	sh -c "$CTL record -q -d 200ms -s sched -o - | cat >piped && $O/tracectl check piped"
check "standard output to nobody ends with 1" \
	gives 1 'cannot write -: Broken pipe' bash -c "$CTL record -q -d 20s -o - | head -c 10; exit \${PIPESTATUS[0]}"
check "the daemon goes on" daemon_serves
check "a terminal gets no binary" \
	gives 1 'a trace is no text' script -qec "$CTL record -d 200ms -o -" /dev/null
mkdir ro
check "the default name tells host and time" sh -c "cd dir && $CTL record -q -d 200ms -s sched &&
	ls | grep -Eq '^[^/]+-[0-9]{8}-[0-9]{6}\\.perfetto-trace$'"

mkdir many
check "recordings that begin in one second have names of their own" sh -c "cd many &&
	for i in 1 2 3 4; do $CTL record -q -d 200ms -s sched & done; wait; [ \$(ls | wc -l) = 4 ]"
for args in status 'status --json' 'probe sets' 'check new' 'check --json new' --version --help; do
	# shellcheck disable=SC2086
	check "what nobody gets is an error: $args" \
		gives 1 'cannot write to standard output: No space left' sh -c "$CTL $args >/dev/full"
done

export CTL
check "a full disk ends with 1 and says so" gives 1 'cannot write dir/full: No space left on device' \
	unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs -o size=64k tmpfs dir || exit 77
		$CTL record -q -d 20s -o dir/full; status=$?; cp dir/full full; exit $status'
check "what fitted loads" good full
check "the daemon goes on" daemon_serves
check "a file that may not grow (ulimit -f) ends with 1 and says so" \
	gives 1 'cannot write limited: File too large' \
	bash -c "ulimit -f 64; exec $CTL record -q -d 20s -o limited"
check "what fitted loads" good limited
check "a file system that is read-only" gives 1 'cannot create ro/x: Read-only file system' \
	unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs -o ro tmpfs ro || exit 77
		$CTL record -q -d 1s -o ro/x'

# ---- when it ends ----

begun() { # FILE
	[ -s "$1" ]
}
# A shell without job control starts background commands with SIGINT ignored.
interrupt() { # FILE N: SIGINT, N times, to a recording that runs; returns its status
	local pid n
	rm -f "$1"
	env --default-signal=INT "$O/tracectl" --socket "$SOCKET" record -o "$1" >"$T/int.out" 2>&1 &
	pid=$!
	wait_for 20 begun "$1"
	for ((n = 0; n < $2; n++)); do
		kill -INT $pid
	done
	wait $pid
}
interrupt int 1
status=$?
check "Ctrl-C ends a recording well (status $status)" [ $status = 0 -o $status = 3 ]
check "with a summary" grep -q 'to see it: open https://ui.perfetto.dev' int.out
check "and a complete file" gives 0 'complete.*good$' "$O/tracectl" check int
interrupt twice 2
status=$?
check "Ctrl-C twice ends it in any case (status $status)" [ $status = 0 -o $status = 1 -o $status = 3 ]
check "its file loads" good twice
check "the daemon goes on" daemon_serves

elapsed_of() { # FILE: milliseconds between first and last moment
	"$O/tracectl" check --json "$1" | sed 's/.*"start_ns":\([0-9]*\),"end_ns":\([0-9]*\),.*/\1 \2/' |
		awk '{ printf "%d", ($2 - $1) / 1e6 }'
}
check "--duration 1s" record 0 . -d 1s -f -o timed
echo "--duration 1s lasted $(elapsed_of timed) ms"
check "is not shorter, nor much longer" [ "$(elapsed_of timed)" -ge 1000 -a "$(elapsed_of timed)" -lt 3000 ]

# Who gets no CPU until it is all over finds everything in one piece.
late() { # STATUS PATTERN COMMAND...
	rm -f late.sock
	spawn python3 "$SRC/tests/integration/relay.py" "$PWD/late.sock" "$SOCKET"
	wait_for 10 test -S late.sock && gives "$1" "$2" "$O/tracectl" --socket "$PWD/late.sock" "${@:3}"
}
check "a recorder that sees it all at once ends, too" \
	late 0 'nothing was lost' record -d 100ms -s sched -f -o late
check "with a good file" good late
check "so does who watches" late 0 watching watch -d 100ms -e exec -s proc

run() { # STATUS PATTERN -- COMMAND...
	gives "$1" "$2" "$O/tracectl" --socket "$SOCKET" record -s cpu -f -o command "${@:3}"
}
check "a command: until it ends" run 0 'to see it' -- sh -c 'echo its own output'
check "its output is its own" grep -q 'its own output' gives.out
check "a command that fails: its recording has not failed" run 0 'to see it' -- false
check "nor for one that is killed" run 0 'to see it' -- sh -c 'kill -9 $$'
for signal in XFSZ PIPE INT; do
	check "SIG$signal does to it what it does to any command" run 0 'to see it' -- \
		sh -c "kill -$signal \$\$; : >survived"
	check "it was killed" [ ! -e survived ]
	rm -f survived
done
check "the trace is good" good command
check "a command that does not exist is an error" \
	run 1 'cannot run nosuchcommand: No such file' -- nosuchcommand
check "of which there is no file" [ ! -e command ]
check "so is one that may not be run" run 1 'cannot run ./target: Permission denied' -- ./target
check "a command's own 127 is not" run 0 'to see it' -- sh -c 'exit 127'
check "a command that ignores SIGTERM outlives --duration" \
	run 0 'to see it' -d 300ms -- sh -c 'trap "" TERM INT HUP; echo $$ >ignorer; exec sleep 2'
check "and is left alone" kill -0 "$(cat ignorer)"
kill -KILL "$(cat ignorer)"
check "options end at the command" run 0 'to see it' echo --duration nonsense -o

# ---- what is said ----

check "quiet says nothing" sh -c "[ -z \"\$($CTL record -q -d 100ms -s sched -f -o quiet 2>&1)\" ]"
$CTL record -d 1s -f -o progress >plain 2>&1
check "no progress line in a file" sh -c '! grep -q "[[:cntrl:]]" plain'
script -qec "$CTL record -d 1500ms -f -o progress" /dev/null >onterm </dev/null
check "one on a terminal: time, bytes, events" grep -aqE '[0-9.]+ s  [0-9.]+ [KM]?B  [0-9,]+ events' onterm
check "--quiet: not even there" sh -c \
	"[ -z \"\$(script -qec '$CTL record -q -d 600ms -f -o progress' /dev/null </dev/null)\" ]"

while IFS='|' read -r args pattern; do
	# shellcheck disable=SC2086
	check "usage: record $args" gives 2 "$pattern" $CTL record $args
	check "  in one line" [ "$(wc -l <gives.out)" -le 2 ]
done <<'END'
--freq 0|--freq '0': want 1 to 100000
--freq -1|--freq '-1': want
--freq 99999999999999999999|--freq
--freq 12x|--freq '12x'
--period 0|--period '0'
--duration 0|--duration '0'
--duration 10y|--duration '10y': want a time such as
--duration -1s|--duration
--counters 1ms|--counters '1ms': want 10ms to 1h
--pid 0|--pid '0': not a process id
--pid 1,x|--pid 'x': not a process id
--pid 2147483647|--pid '2147483647': no such process
--user no-such-user|--user 'no-such-user': no such user
--cgroup /nosuch|--cgroup '/nosuch': No such file
--cgroup /tmp|--cgroup '/tmp': not the directory of a cgroup
--sources|requires an argument
--sources=|--sources '': want names
--sources=,|--sources ',': want names
--no=|--no '': want names
--pid=|--pid '': want process ids
--comm=|--comm '': want a name
--comm name-of-more-than-15|--comm 'name-of-more-than-15': names have at most 15 bytes: want 'name-of-more-th'
--freq 99 --period 1000|--period '': not beside --freq
--nosuch|unrecognized option
END
while IFS='|' read -r args pattern; do
	# shellcheck disable=SC2086
	check "refused: record $args" gives 1 "^tracectl: $pattern" $CTL record -d 100ms -f -o refused $args
	check "  leaves no file" [ ! -e refused ]
done <<'END'
--sources nosuch|there is no source 'nosuch': tracectl status lists them
--no nosuch|there is no source 'nosuch': tracectl status lists them
--event nosuch|cpu: there is no event 'nosuch': see tracectl record --event help
--event page-faults@0|cpu: event 'page-faults@': behind the @ is a number of events from 1 on
END
check "--event help lists events" gives 0 '^page-faults$' "$O/tracectl" --socket "$SOCKET" record --event help
check "--help is no error" gives 0 'Exit status: 0 complete' "$O/tracectl" record --help
check "no command at all is" gives 2 Usage "$O/tracectl"
check "so is an unknown one" gives 2 "there is no command 'nosuch'" "$O/tracectl" nosuch
check "an unknown option" gives 2 "unknown option '--nosuch'" "$O/tracectl" --nosuch
check "status takes no arguments" gives 2 Usage "$O/tracectl" status x

# ---- names that a terminal would obey ----

evil=$(printf 'ev\033[31m\033]0;pwned\007\302\233m\342\200\256')
cp "$(command -v sleep)" "$T/$evil"
"$T/$evil" 60 &
lib_pids+=($!)
no_control() { # FILE: but newlines, carriage returns and the progress line's erasing
	! sed 's/\r\x1b\[K//g; s/\r$//' "$1" | tr -d '\n' |
		grep -aqP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]'
}
script -qec "$CTL record -d 700ms -f -o '$T/$evil.perfetto-trace' -- '$T/$evil' 0.5" /dev/null \
	>evil.tty </dev/null
$CTL record -d 100ms -o "$T/no$evil/x" >evil.out 2>&1
$CTL record -d 100ms -f -o evil -s "$evil" >>evil.out 2>&1
$CTL record -d 100ms -f -o evil -e "$evil" >>evil.out 2>&1
$CTL record -d "$evil" >>evil.out 2>&1
$CTL record -u "$evil" >>evil.out 2>&1
$CTL record --cgroup "$evil" >>evil.out 2>&1
$CTL record -p "$evil" >>evil.out 2>&1
$CTL record -f -o evil -- "$T/no$evil" >>evil.out 2>&1
$CTL "$evil" >>evil.out 2>&1
"$O/tracectl" --socket "$T/no$evil" status >>evil.out 2>&1
$CTL status >>evil.out 2>&1
"$O/tracectl" check "$T/$evil.perfetto-trace" "$T/no$evil" >>evil.out 2>&1
for f in evil.tty evil.out; do
	check "names from elsewhere never reach the terminal raw (${f#evil.})" no_control $f || cat -v $f
done
check "the trace with such names is good" good "$T/$evil.perfetto-trace"
check "the daemon's log neither" no_control tracerd.log
check "the daemon ends when asked" stop_tracerd
