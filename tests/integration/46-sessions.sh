#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Recordings at the same time, of several users: each has what it asked for and nothing
# else, at its own rate, and does not notice when another begins, ends or dies.
# timeout: 400
. "$(dirname "$0")/lib.sh"

need python3
need setpriv util-linux
DUMP=$O/tests/tools/tracedump
RATE=$SRC/tests/integration/session_rate.py
PROG=$O/tests/integration/prog

GROUP=games # any group that nobody is not in stands for the group tracer
gid=$(getent group $GROUP | cut -d: -f3)
[ -n "$gid" ] || skip "there is no group $GROUP"
printf 'group = %s\n' $GROUP >"$T/tracerd.conf"
start_tracerd --config "$T/tracerd.conf"
chmod 755 "$T"
cp "$O/tracectl" "$T"
cd "$T" || exit 1

gives() { # STATUS PATTERN COMMAND...: and one line of output
	local status
	timeout -k 5 60 "${@:3}" >gives.out 2>&1
	status=$?
	[ $status = "$1" ] && grep -qE -- "$2" gives.out && [ "$(wc -l <gives.out)" = 1 ] && return
	echo "exit status $status:"
	cat -v gives.out
	return 1
}

# Recordings in the background, each with a name: its file, its log, its pid.
declare -A recorder
record() { # NAME ARGS...
	"$T/tracectl" --socket "$SOCKET" record -f -o "$1" "${@:2}" 2>"$1.err" &
	recorder[$1]=$!
	lib_pids+=($!)
}
# A member of the group; what the file is, is the shell's business.
record_as_member() { # NAME UID ARGS...
	setpriv --reuid "$2" --regid "$2" --groups "$gid" "$T/tracectl" --socket "$SOCKET" record \
		-o - "${@:3}" >"$1" 2>"$1.err" &
	recorder[$1]=$!
	lib_pids+=($!)
}
# On a machine that is busy beside, events may be lost, which is said then.
finish() { # NAME: it has ended well
	local status
	wait "${recorder[$1]}"
	status=$?
	[ $status = 0 ] || [ $status = 3 ] && return
	echo "$1 ended with status $status"
	cat -v "$1.err"
	return 1
}
# None is left to a duration: how fast they begin is the machine's affair.
stop() { # NAME
	kill -INT "${recorder[$1]}"
	finish "$1"
}
ask_status() {
	tracectl status --json >status.json
}
sessions() { # PYTHON, about the list `s` of what was asked last
	python3 -c 'import json, sys
s = json.load(open("status.json"))["sessions"]
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}
n_sessions_is() {
	ask_status && sessions "len(s) == $1"
}
is_good() { # NAME: samples go to NAME.samples, numbers to NAME.json
	"$O/tracectl" check --json "$1" >"$1.json" && "$DUMP" "$1" >"$1.samples" && return
	"$O/tracectl" check "$1"
	return 1
}

only() { # NAME COLUMN VALUE...: each sample has one of the values in it, and each is there
	local name=$1 column=$2 found
	shift 2
	found=$(cut -f "$column" "$name.samples" | sort -u)
	[ "$found" = "$(printf '%s\n' "$@" | sort -u)" ] && return
	printf 'found in column %s: %s, and not: %s\n' "$column" "${found//$'\n'/, }" "$*"
	return 1
}
rate() { # NAME HZ: what it saw of $busy; says the numbers
	python3 "$RATE" marks "$1.samples" "$busy" "$2" >rate.out 2>&1
	local status=$?
	sed "s/^/# $1: /" rate.out >&3
	return $status
}
exec 3>&1

# ---- two rates on one thread, while others come and go ----

spawn "$PROG/busy_marks" $(($(nproc) - 1)) 120 >marks
busy=$!
record slow -F 99 -s cpu
check "a recording at 99 Hz" wait_for 20 n_sessions_is 1
record fast -F 4000 -s cpu
check "one at 4000 Hz beside it" wait_for 20 n_sessions_is 2
record third -F 499 -s cpu,sched,syscalls
check "and a third one with other sources" wait_for 20 n_sessions_is 3
sleep 0.5
check "the third is stopped" stop third
record killed -F 999 -s cpu -e cpu-clock -e page-faults
check "a fourth comes" wait_for 20 n_sessions_is 3
{
	kill -KILL "${recorder[killed]}"
	wait "${recorder[killed]}"
} 2>/dev/null
check "and is killed" wait_for 10 n_sessions_is 2
sleep 1
check "the fast one is stopped" stop fast
check "the slow one goes on" n_sessions_is 1
sleep 2
check "and is stopped in its turn" stop slow
kill "$busy"
wait "$busy" 2>/dev/null
for name in slow fast third; do
	check "the trace of the $name one is good" is_good $name
done
check "the slow one has 99 samples for a second of CPU time" rate slow 99
check "the fast one has 4000" rate fast 4000
check "the third one has its own as well" only third 6 'cpu-clock 499 Hz'

# ---- sixteen of several users ----

# A shell that is busy every 50 ms until the end of this script; $! is its pid. All of
# them at once leave room for the recorders.
mkfifo -m 666 nothing
spin() { # COMMAND...
	"$@" -c 'exec 9<>nothing
		while :; do
			for ((n = 0; n < 2000; n++)); do :; done
			read -rt 0.05 -u 9
		done' &
	lib_pids+=($!)
}
games=$(id -u games)
cp "$(command -v bash)" spinner
spin ./spinner
spinner=$!
spin setpriv --reuid "$games" --regid "$games" --clear-groups bash
gamer=$!
# Forks, calls, faults and waits; its children do not fork.
cat >calls.sh <<'EOF'
while :; do
	"$0" >/dev/null 2>&1
	[ "$0" = /bin/true ] || sleep 0.2
done
EOF
spawn sh calls.sh "$PROG/netcalls"
wait_for 10 grep -q "^Uid:.$games" "/proc/$gamer/status"
filters=()
cgroup_root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$cgroup_root/tracer-test.$$
if [ -n "$cgroup_root" ] && mkdir "$cgroup" 2>/dev/null; then
	no_cgroup() {
		rmdir "$cgroup" 2>/dev/null
		[ ! -d "$cgroup" ]
	}
	end() {
		local status=$?
		kill $inside 2>/dev/null
		wait_for 10 no_cgroup
		(exit $status)
		lib_end
	}
	spin bash
	inside=$!
	trap end EXIT
	echo $inside >"$cgroup/cgroup.procs"
	filters=(--cgroup "$cgroup")
else
	echo "# no cgroup2 hierarchy to make a group in: the pid instead"
	spin bash
	inside=$!
	filters=(-p "$inside")
fi

sixteen=(hertz1 hertz99 hertz4000 pid comm user cgroup faults switches forks two sched syscalls
	counters offcpu all)
record hertz1 -F 1 -s cpu
record hertz99 -F 99 -s cpu
record hertz4000 -F 4000 -s cpu
record pid -s cpu -p $inside
record comm -F 499 -s cpu --comm 'spin[n]*'
record user -F 499 -s cpu -u games
record cgroup -F 997 -s cpu "${filters[@]}"
record faults -s cpu -e page-faults
record switches -s cpu -e context-switches@2
record forks -s cpu -e sched:sched_process_fork
record two -s cpu -e cpu-clock -e task-clock@2000000 -p $inside,$spinner
record sched -s sched
record_as_member syscalls 65534 -s syscalls
record_as_member counters 65534 -s counters
record_as_member offcpu 65533 -s offcpu
record_as_member all 65533 -F 1999
check "sixteen recordings at a time" wait_for 60 n_sessions_is 16
check "a seventeenth is told so" gives 1 \
	'^tracectl: all 16 sessions are in use: stop one or raise max_sessions in tracerd.conf$' \
	"$O/tracectl" --socket "$SOCKET" record -d 1s -f -o none
check "and has no file" [ ! -e none ]
sleep 0.5

# ---- what status says of them ----

check "status is answered" ask_status
check "it says whose they are" sessions '{x["user"] for x in s} >= {"root", "nobody"} and
	{x["uid"] for x in s} == {0, 65533, 65534}'
pids=$(for name in "${sixteen[@]}"; do echo -n "${recorder[$name]},"; done)
check "by which process" sessions "{x['pid'] for x in s} == {$pids}"
check "at which rate" sessions '{"cpu-clock 1 Hz", "cpu-clock 99 Hz", "cpu-clock 4000 Hz",
	"page-faults every 1", "cpu-clock 999 Hz, task-clock every 2000000"} <= {x["sampling"] for x in s}'
check "from which sources" sessions '{("proc", "cpu"), ("proc", "sched"), ("proc", "syscalls")} <=
	{tuple(x["sources"]) for x in s}'
check "what they have so far" sessions 'all(x["bytes"] > 0 and "lost" in x and "dropped" in x
	for x in s) and sum(x["events"] > 0 for x in s) >= 14'
says() { # PATTERN
	tracectl status >status.out && grep -qE -- "$1" status.out && return
	cat status.out
	return 1
}
check "and it says so in words" says \
	"^  [0-9]+ +root, pid ${recorder[hertz99]}, [0-9.]+ s: cpu-clock 99 Hz; [0-9]+ bytes, [0-9]+ events, [0-9]+ lost, 0 dropped\$"

# ---- half of them end, the others do not notice ----

half=(hertz1 comm faults two counters sched offcpu forks)
others=(hertz99 hertz4000 pid user cgroup switches syscalls all)
for name in "${half[@]}"; do
	check "one ends: $name" stop "$name"
done
check "eight are left" n_sessions_is 8
record late -F 99 -s cpu -d 1s
check "there is room again" finish late
for name in "${others[@]}"; do
	check "one ends: $name" stop "$name"
done
check "none is left" wait_for 10 n_sessions_is 0

# ---- each has what it asked for ----

for name in "${sixteen[@]}" late; do
	check "the trace is good: $name" is_good "$name"
done
check "1 Hz is 1 Hz" only hertz1 6 'cpu-clock 1 Hz'
check "99 Hz is 99 Hz" only hertz99 6 'cpu-clock 99 Hz'
check "4000 Hz is 4000 Hz" only hertz4000 6 'cpu-clock 4000 Hz'
check "a pid alone" only pid 2 $inside
check "a name alone" only comm 2 $spinner
check "a user alone" only user 2 $gamer
check "a cgroup alone" only cgroup 2 $inside
check "page faults alone" only faults 6 'page-faults every 1'
check "context switches alone" only switches 6 'context-switches every 2'
check "forks alone" only forks 6 'sched:sched_process_fork every 1'
check "two events" only two 6 'cpu-clock 999 Hz' 'task-clock every 2000000'
check "of two processes" only two 2 $inside $spinner
has() { # NAME [no] samples|switches|slices...: numbers of tracectl check
	local what none=
	for what in "${@:2}"; do
		if [ "$what" = no ]; then
			none=1
			continue
		fi
		grep -q "\"$what\":0[,}]" "$1.json" && [ -z "$none" ] && echo "no $what" && return 1
		grep -q "\"$what\":[1-9]" "$1.json" && [ -n "$none" ] && echo "there are $what" && return 1
	done
	return 0
}
for name in hertz1 hertz99 hertz4000 pid comm user cgroup faults switches forks two; do
	check "samples, no switches, no calls: $name" has $name samples no switches slices
done
check "switches, no samples, no calls" has sched switches no samples slices
check "calls, no samples, no switches" has syscalls slices no samples switches
check "counters and nothing else" has counters no samples switches slices
check "waits without samples and switches" has offcpu slices no switches
check "all there is by default" has all samples switches slices
check "the daemon ends when asked" stop_tracerd

# ---- one that samples more than can be read makes no other one lose ----

printf 'ring_size = 1M\n' >small.conf
start_tracerd --config small.conf
record calm -F 99 -s cpu
record flood -s cpu -e page-faults
check "a calm recording and one of many samples" wait_for 20 n_sessions_is 2
kill -STOP "$DAEMON" # nobody reads
spawn sh calls.sh /bin/true
more_faults() { # than there is room for: each has a record of 200 bytes at least
	local n
	n=$(awk '/^pgfault/ { print $2 }' /proc/vmstat)
	[ $((n - faults)) -gt 20000 ]
}
faults=$(awk '/^pgfault/ { print $2 }' /proc/vmstat)
check "there are more samples than room" wait_for 30 more_faults
kill -CONT "$DAEMON"
lost() { # PYTHON, about `lost` by rate
	ask_status && sessions "(lambda lost: $1)({x['sampling']: x['lost'] for x in s})"
}
check "the one has lost" wait_for 20 lost 'lost["page-faults every 1"] > 0'
check "the other has not" lost 'lost["cpu-clock 99 Hz"] == 0'
check "both end well" eval 'stop calm && stop flood'
check "with all samples of the one" grep -q 'nothing was lost' calm.err
stop_tracerd
