#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is recorded is what was asked for: events, rates, sources, and whose samples.
# timeout: 300
# alone
. "$(dirname "$0")/lib.sh"

DUMP=$O/tests/tools/tracedump
start_tracerd
cd "$T" || exit 1

gives() { # STATUS PATTERN COMMAND...
	local status
	timeout -k 5 60 "${@:3}" >"$T/gives.out" 2>&1
	status=$?
	[ $status = "$1" ] && grep -aqE -- "$2" "$T/gives.out" && return
	echo "exit status $status:"
	cat -v "$T/gives.out"
	return 1
}

# Records into $T/trace, which must be good; its samples are in $T/samples.
record() {
	tracectl record -q -f -o trace "$@"
	case $? in
	0 | 3) ;;
	*) return 1 ;;
	esac
	"$O/tracectl" check --json trace >json && "$DUMP" trace >samples && return
	"$O/tracectl" check trace
	return 1
}

# Columns of tracedump: 2 is the process, 6 the event, 7 the weight.
count() { # FIELD OF tracectl check --json
	sed "s/.*\"$1\":\\([0-9]*\\).*/\\1/" json
}
only() { # COLUMN VALUE...: each sample has one of the values in it, and each is there
	local column=$1 found
	shift
	found=$(cut -f "$column" samples | sort -u)
	[ "$found" = "$(printf '%s\n' "$@" | sort -u)" ] && return
	printf 'found in column %s: %s, and not: %s\n' "$column" "${found//$'\n'/, }" "$*"
	return 1
}
has() { # COLUMN VALUE
	cut -f "$1" samples | grep -qFx -- "$2"
}

SPIN='while :; do :; done'
spin() { # COMMAND...: runs a shell that is busy until the end of this script; $! is its pid
	"$@" -c "$SPIN" &
	lib_pids+=($!)
}

# ---- what is sampled ----

check "cpu-clock is the default, at 999 Hz" record -d 500ms -s cpu
check "each sample stands for a period" only 7 1001001
check "as its name says" only 6 'cpu-clock 999 Hz'
faults() {
	record -e page-faults -- sh -c 'for i in 1 2 3 4 5; do sh -c :; done' && [ -s samples ] && only 7 1
}
check "page-faults: each one of a command" faults
switches() {
	record -e context-switches -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done' && [ -s samples ]
}
check "context-switches: those of a command" switches
check "--period 3: every third" record -e context-switches --period 3 -d 500ms -s cpu
check "each stands for three" only 7 3
# A timer that comes less often than asked for tells nobody. Events count on, so that what was
# due is known, and who wants more than the machine has time for is told how much they got.
due_and_taken() { # FILE
	python3 "$SRC/tests/integration/attributes.py" "$1" |
		awk '$1 == "sampling.due" { due = $2 } $1 == "sampling.taken" { taken = $2 }
			END { print due + 0, taken + 0 }'
}
says_how_many() { # HZ: never more than were due, and in words where much is missing
	local due taken said
	"$O/tracectl" --socket "$SOCKET" record -s cpu -F "$1" -d 1s -f -o due 2>due.out
	read -r due taken <<<"$(due_and_taken due)"
	said=$(grep -c 'only [0-9.]* % of the samples that were due were taken' due.out)
	"$O/tracectl" report due 2>&1 | grep -q 'Only [0-9.]* % of the samples' && said=$((said + 1))
	echo "$1 Hz: $taken of $due samples that were due, said $said times"
	[ "$due" -gt 0 ] && [ "$taken" -gt 0 ] && [ "$taken" -le $((due + due / 50 + 100)) ] || return 1
	[ $((taken * 10)) -ge $((due * 9)) ] || [ "$said" -ge 1 ] || return 1
	[ $((taken * 10)) -lt $((due * 9)) ] || [ "$said" = 0 ]
}
check "what was due and what was taken, at the default rate" says_how_many 999
check "and where the machine may be too slow" says_how_many "$(sysctl -n kernel.perf_event_max_sample_rate)"

# What programs have run that are no longer loaded counts as well: no cost below zero.
cost_of_two() {
	"$O/tracectl" --socket "$SOCKET" record -q -s sched -d 1s -f -o first &
	"$O/tracectl" --socket "$SOCKET" record -s cpu -d 2500ms -f -o second 2>cost.out
	wait $!
	grep -q 'cost: [0-9.]* % of one CPU for tracerd, [0-9]\{1,3\}\.[0-9] % for its BPF programs' cost.out && return
	cat cost.out
	return 1
}
check "another's sources end: the cost is still one" cost_of_two

# 30 forks of one shell; those who it has forked do not fork.
FORKS='i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i + 1)); done; :'
samples_of() { # EVENT: how many
	cut -f 6 samples | grep -cFx -- "$1"
}
check "a tracepoint: each time" record -s cpu -e sched:sched_process_fork -- sh -c "$FORKS"
check "has as many samples as there were" [ "$(samples_of 'sched:sched_process_fork every 1')" = 30 ]
check "with a period" record -s cpu -e sched:sched_process_fork@10 -- sh -c "$FORKS"
check "has fewer, that stand for more" only 7 10
check "several events in one recording" record -s cpu -e cpu-clock -e page-faults -e sched:sched_process_fork \
	-e context-switches@2 -- sh -c "$FORKS; $FORKS; $FORKS"
each_has() {
	[ "$(samples_of 'sched:sched_process_fork every 1')" = 90 ] &&
		[ "$(samples_of 'page-faults every 1')" -gt 90 ] && [ "$(samples_of 'cpu-clock 999 Hz')" -gt 0 ]
}
check "each has its samples" each_has
check "and nothing else" only 6 'cpu-clock 999 Hz' 'page-faults every 1' 'sched:sched_process_fork every 1' \
	'context-switches every 2'
check "two that count time are no more CPU time than one" record -s cpu -e cpu-clock -e task-clock -d 500ms
# Of a tracepoint that never makes a sample, the program has a cost all the same.
tracepoint_costs() {
	"$O/tracectl" --socket "$SOCKET" record -q -s cpu -e sched:sched_switch@1000000000 -d 20s -f -o costs &
	local pid=$! r
	wait_for 30 sh -c "$O/tracectl --socket $SOCKET status --json |
		grep -o '\"name\":\"cpu\"[^}]*' | grep -q '\"bpf_runs\":[1-9]'"
	r=$?
	kill -INT $pid
	wait $pid
	return $r
}
check "the program of a tracepoint counts as cost" tracepoint_costs
check "a tracepoint that does not exist is refused, and where to look" gives 1 \
	"cpu: this kernel has no tracepoint 'sched:nosuch': see /sys/kernel/tracing/available_events" \
	"$O/tracectl" --socket "$SOCKET" record -e sched:nosuch -d 300ms -f -o none
check "so is one event too many" gives 2 "8 at most" "$O/tracectl" record -e a -e a -e a -e a -e a -e a -e a -e a -e a
task_clock() {
	record -e task-clock -d 500ms -s cpu && [ -s samples ] && only 6 'task-clock 999 Hz'
}
spin sh
noise=$!
check "task-clock" task_clock
check "--freq 4000" record -F 4000 -d 300ms -s cpu
check "each stands for 250 us" only 7 250000
# On each CPU somebody: of so few samples none may fall on nobody, or on us.
spinners=()
for ((i = 0; i < $(nproc); i++)); do
	spin sh
	spinners+=($!)
done
check "--freq 1" record -F 1 -d 2500ms -s cpu
check "each stands for a second" only 7 1000000000
kill "${spinners[@]}"
if [ -d /sys/bus/event_source/devices/cpu ] || [ -d /sys/bus/event_source/devices/cpu_core ]; then
	check "cycles, where there is a counter of them" record -e cycles -d 300ms
else
	check "cycles, where there is no counter of them: an error that says what to do" \
		gives 1 "no hardware counter for 'cycles'.*use --event cpu-clock" \
		"$O/tracectl" --socket "$SOCKET" record -e cycles -d 300ms -f -o none
	check "in one line" [ "$(wc -l <gives.out)" = 1 ]
	check "without a file" [ ! -e none ]
fi
check "a raw code is taken or refused with a reason" \
	sh -c "$O/tracectl --socket $SOCKET record -q -e r1a8 -d 100ms -f -o raw 2>raw.out ||
		grep -q 'no hardware counter\|does not take event' raw.out"
check "a rate above the kernel's limit is refused, and how to raise it" gives 1 \
	"999 Hz is above this kernel's limit of 500: lower --freq or raise kernel.perf_event_max_sample_rate" \
	unshare --mount sh -c 'mount --make-rprivate / && echo 500 >rate &&
		mount --bind rate /proc/sys/kernel/perf_event_max_sample_rate || exit 77
		exec "$@"' sh "$O/tracectl" --private record -F 999 -d 300ms -f -o none
check "who names no rate gets the limit, and is told" gives 0 "recording cpu-clock 500 Hz" \
	unshare --mount sh -c 'mount --make-rprivate / && echo 500 >rate &&
		mount --bind rate /proc/sys/kernel/perf_event_max_sample_rate || exit 77
		exec "$@"' sh "$O/tracectl" --private record -d 300ms -f -o none
check "below it all is well" gives 0 . \
	unshare --mount sh -c 'mount --make-rprivate / && echo 500 >rate &&
		mount --bind rate /proc/sys/kernel/perf_event_max_sample_rate || exit 77
		exec "$@"' sh "$O/tracectl" --private record -F 499 -d 300ms -f -o none

# ---- which sources ----

check "--no cpu" record --no cpu -d 300ms
check "has no sample" [ "$(count samples)" = 0 ]
check "and context switches" [ "$(count switches)" -gt 0 ]
check "--sources cpu" record -s cpu -d 300ms
check "has samples" [ "$(count samples)" -gt 0 ]
check "and no context switch" [ "$(count switches)" = 0 ]
check "--sources sched,syscalls" record -s sched,syscalls -d 300ms
check "has context switches" [ "$(count switches)" -gt 0 ]
check "and no sample" [ "$(count samples)" = 0 ]
check "--sources a --sources b adds up" record -s cpu -s sched -d 300ms
check "both are there" [ "$(count samples)" -gt 0 -a "$(count switches)" -gt 0 ]
check "everything left out is refused or empty, not a crash" \
	sh -c "$O/tracectl --socket $SOCKET record -q -d 100ms -f -o none \
		--no cpu,sched,syscalls,counters,proc; [ \$? -le 3 ]"

# ---- whose samples ----

# A parent with a child that is there before, and one that comes while it is recorded.
cat >family.sh <<END
sh -c '$SPIN' &
echo \$! >child
read line
sh -c '$SPIN' &
echo \$! >late
wait
END
mkfifo begin
sh family.sh <begin &
parent=$!
exec 9>begin
wait_for 10 test -s child
lib_pids+=("$parent" "$(cat child)")
late() {
	wait_for 10 test -s trace
	echo >&9
	wait_for 10 test -s late
	lib_pids+=("$(cat late)")
}
rm -f trace
(late) &
check "--pid" record -p $parent -d 1s -s cpu
wait $!
lib_pids+=("$(cat late)")
check "has the children, old and new" has 2 "$(cat child)"
check "and nobody else's" sh -c \
	"! cut -f2 samples | grep -vx -e $parent -e $(cat child) -e $(cat late)"
check "with the one that came later" has 2 "$(cat late)"
kill "$(cat child)" "$(cat late)"

check "two pids" record -p "$noise,$$" -d 1s -s cpu
check "has both or the busy one" sh -c "cut -f2 samples | sort -u | grep -qx $noise"
check "nobody else" sh -c "! cut -f2 samples | grep -vx -e $noise -e $$"

cp "$(command -v dash || command -v sh)" spinner
spin ./spinner
spinner=$!
check "--comm GLOB" record --comm 'spin[n]*' -d 1s -s cpu
check "has those of that name only" only 2 $spinner
check "--comm that nobody has" record --comm 'nobody-is-that' -d 300ms -s cpu
check "has no sample" [ ! -s samples ]
check "filters add up" record --comm 'spin*' -p $noise -d 1s -s cpu
check "to nobody here" [ ! -s samples ]

# One that has nothing else to do on this machine.
user=games
uid=$(id -u $user)
spin setpriv --reuid "$uid" --regid "$uid" --clear-groups sh
gamer=$!
wait_for 10 sh -c "grep -q '^Uid:.$uid' /proc/$gamer/status"
check "--user" record -u $user -d 1s -s cpu
check "has those of the user only" only 2 $gamer
check "--user with a number" record -u "$uid" -d 1s -s cpu
check "is the same" only 2 $gamer
kill $gamer $spinner

cgroup_root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$cgroup_root/tracer-test.$$
if [ -n "$cgroup_root" ] && mkdir -p "$cgroup/below" 2>/dev/null; then
	spin sh
	inside=$!
	spin sh
	below=$!
	no_cgroup() {
		rmdir "$cgroup/below" "$cgroup" 2>/dev/null
		rmdir "$cgroup" 2>/dev/null
		[ ! -d "$cgroup" ]
	}
	end() {
		local status=$?
		kill $inside $below 2>/dev/null
		wait_for 10 no_cgroup
		(exit $status)
		lib_end
	}
	trap end EXIT
	echo $inside >"$cgroup/cgroup.procs"
	echo $below >"$cgroup/below/cgroup.procs"
	check "--cgroup" record --cgroup "$cgroup" -d 500ms -s cpu
	check "has those in it and below it only" only 2 $inside $below
	check "--cgroup relative to the root of cgroups" record --cgroup "$cgroup/below" -d 500ms -s cpu
	check "has those in that one only" only 2 $below
else
	echo "skip - no cgroup2 hierarchy to make a group in"
fi

# ---- of a command ----

WORK='echo $$ >pid; i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done
	sh -c "echo \$\$ >pid2; i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done; :"; :'
check "a command" record -s cpu -- sh -c "$WORK"
check "has its samples and those of its children only" only 2 "$(cat pid)" "$(cat pid2)"
check "-a with a command" record -a -s cpu -- sh -c "$WORK"
check "has its samples" has 2 "$(cat pid)"
check "and those of everybody else" has 2 $noise
calls() {
	record -s syscalls -- "$O/tests/integration/prog/netcalls" >calls.out && [ "$(count slices)" -gt 0 ]
}
check "system calls of a command" calls
# Whoever is sampled is named, also when the scan of /proc lasts longer than the recording.
coproc "$O/tests/integration/prog/crowd" 5000 0
lib_pids+=("$COPROC_PID")
read -r -u "${COPROC[0]}" _
spin sh
busy=$!
check "in a crowd of 5000 a short recording is good" record -s cpu -d 100ms
# On a machine that is busy itself it may not have run in so short a time.
record -s cpu -d 1s
check "one that is not so short has the busy one" has 2 "$busy"
kill "$COPROC_PID"
check "the daemon ends when asked" stop_tracerd
