#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who is who in a trace, and whose code a sample is in: tasks that are easily
# confused, storms of them, a crowd, and programs that are gone before anybody
# looks.
# timeout: 300
# alone
. "$(dirname "$0")/lib.sh"

need python3
prog=$O/tests/integration/prog

# Keeps $1, a program that runs until its input ends, with its output in $2.
keep() { # FIFO OUTPUT COMMAND...
	local fifo=$T/$1 out=$T/$2
	shift 2
	mkfifo "$fifo"
	"$@" <"$fifo" >"$out" &
	lib_pids+=($!)
	# shellcheck disable=SC2034 # stays open until this script ends
	exec {keep_fd}>"$fifo"
	wait_for 30 test -s "$out" || fail "$* says that it is ready"
}

who_is_who() { # NAME: $T/NAME.trace to $T/NAME.who
	python3 "$SRC/tests/integration/processes.py" "$T/$1.trace" >"$T/$1.who"
}

process_is() { # FILE PID PARENT NAME
	# Not with -v: awk would take the backslashes of an escaped name for its own.
	NAME=$4 awk -F'\t' -v pid="$2" -v parent="$3" '
		$1 == "process" && $2 == pid { seen = $3 " " $6
			if ((parent == "any" || $3 == parent) && $6 == ENVIRON["NAME"]) found = 1 }
		END { if (!found) print "process " pid ": " seen; exit !found }' "$T/$1.who"
}

thread_is() { # FILE TID PID NAME; TID may be "any"
	awk -F'\t' -v tid="$2" -v pid="$3" -v name="$4" '
		$1 == "thread" && (tid == "any" || $2 == tid) && $3 == pid && $5 == name { found = 1 }
		END { exit !found }' "$T/$1.who"
}

says() { # KIND FIELD: of the line that the program of this kind has printed
	awk -v kind="$1" -v field="$2" '$1 == kind { print $field }' "$T/tasks.out"
}

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

start_tracerd

# ---- tasks that are easily confused ----

for kind in rename thread-exec vfork orphan pidns names; do
	cat <<-EOF
		sleep 0.2 | "$prog/tasks" $kind
	EOF
done >"$T/kinds.sh"
keep before.in before.out "$prog/tasks" rename
before=$(awk '{ print $2 }' "$T/before.out")
tracectl record -q -f -a -o "$T/tasks.trace" -- bash "$T/kinds.sh" >"$T/tasks.out" ||
	fail "recording the tasks: exit status $?"
check "nobody is there twice, or without a name" who_is_who tasks
check "the trace keeps the rules" tracectl check "$T/tasks.trace"
check "a process from before is listed" process_is tasks "$before" $$ "$prog/tasks"
check "and its threads" thread_is tasks any "$before" second-name
check "a process keeps its name when its main thread takes another" \
	process_is tasks "$(says rename 2)" any "$prog/tasks"
check "which the thread has then" \
	thread_is tasks "$(says rename 2)" "$(says rename 2)" main-name
check "another thread has its new name too" \
	thread_is tasks any "$(says rename 2)" second-name
check "an exec from a thread names the process anew" \
	process_is tasks "$(says thread-exec 2)" any after-thread-exec
check "its leader lives on" \
	thread_is tasks "$(says thread-exec 2)" "$(says thread-exec 2)" exe
check "a child that shared its parent's memory is a process" \
	process_is tasks "$(says vfork 3)" "$(says vfork 2)" after-vfork
check "its parent keeps its name" process_is tasks "$(says vfork 2)" any "$prog/tasks"
check "an orphan is named by its exec" process_is tasks "$(says orphan 2)" any after-orphan
check "and keeps the parent that it had" \
	eval '! process_is tasks "$(says orphan 2)" 1 after-orphan >"$T/orphan"'
check "a process in a pid namespace has both its pids" \
	eval 'grep -q "^process	$(says pidns 3)	$(says pidns 2)	0	\[1\]" "$T/tasks.who"'
check "what is no text is made text" \
	process_is tasks "$(says names 2)" any '\x1b]0;pwned\x07\ufffd\ufffd'

# ---- a process from before the recording, whose pid is another's at once ----

keep reuse.in reuse.out "$prog/tasks" reuse
reuse=$!
first=$(awk '{ print $3 }' "$T/reuse.out")
spawn "$O/tracectl" --socket "$SOCKET" record -q -f -a -o "$T/reuse.trace"
record=$!
wait_for 60 is_recording || fail "the recording of a reused pid starts"
kill -USR1 "$first"
wait_for 30 gone $reuse
kill -INT $record
wait $record
check "a pid that is reused is recorded" [ $? = 0 ]
wait $reuse
status=$?
if [ $status = 77 ]; then
	echo "skip - somebody else took the pid"
else
	check "both owners of the pid are told apart" who_is_who reuse
	check "the first one ends before the second begins" tracectl check "$T/reuse.trace"
	check "the first one has its name" process_is reuse "$first" "$reuse" "$prog/tasks"
	check "and the second one" process_is reuse "$first" "$reuse" after-reuse
fi

# ---- storms: pids are used again and again ----

cat >"$T/storm.sh" <<-EOF
	"$prog/task_storm" 2 fork 2
	"$prog/task_storm" 2 thread 2
	"$prog/task_storm" 2 exec 2
EOF
tracectl record -q -f -a -s sched -o "$T/storm.trace" -- bash "$T/storm.sh" >"$T/storm.out"
status=$?
n_tasks=$(awk '{ n += $1 } END { print n }' "$T/storm.out")
if [ $status = 0 ]; then
	check "all $n_tasks tasks of a storm are told apart" who_is_who storm
	n_seen=$(grep -c '' "$T/storm.who")
	check "and there ($n_seen lines)" [ "$n_seen" -gt "$n_tasks" ]
else
	check "a storm that is too much for the ring is complete but for its losses" [ $status = 3 ]
fi

# ---- a crowd ----

keep crowd.in crowd.out "$prog/crowd" 3000 1500
crowd=$(awk '{ print $2 }' "$T/crowd.out")
tracectl record -q -f -a -s sched -d 4s -o "$T/crowd.trace" ||
	fail "recording a crowd: exit status $?"
check "a crowd is listed without doubles" who_is_who crowd
check "all 3,000 processes of it" \
	[ "$(awk -F'\t' -v p="$crowd" '$1 == "process" && $3 == p' "$T/crowd.who" | wc -l)" = 3000 ]
check "all 1,501 threads of one" \
	[ "$(awk -F'\t' -v p="$crowd" '$1 == "thread" && $3 == p' "$T/crowd.who" | wc -l)" = 1501 ]

# ---- whose code ----

dump() { # NAME
	"$O/tests/tools/tracedump" "$T/$1.trace" >"$T/$1.samples"
}

# Of the samples in such code, 95 % carry the function's name. Code without one
# reads "[file+0x...]" or "[unknown]"; the loader's and the kernel's is not meant.
named() { # NAME FUNCTION FILE-PATTERN
	awk -F'\t' -v fn="$2" -v file="$3" '
		{ n = split($8, f, ";") }
		$8 ~ fn { good++; next }
		f[n] ~ "^\\[" file || (f[n] == "[unknown]" && $8 ~ file) { bad++ }
		END { printf "%d named, %d not\n", good, bad
		      exit !(good > 0 && good >= 0.95 * (good + bad)) }' "$T/$1.samples"
}

tracectl record -q -f -s cpu -o "$T/short.trace" -- "$prog/short_lived" 200 10 >"$T/short.out" ||
	fail "recording short-lived programs: exit status $?"
check "200 short-lived copies ran" [ "$(cat "$T/short.out")" = 200 ]
check "their samples are read" dump short
check "and named, though their files were deleted as they ran" \
	named short busy_in_a_copy copy

keep many.in many.out "$prog/many_mappings" 65000
tracectl record -q -f -s cpu -p "$(awk '{ print $2 }' "$T/many.out")" -d 3s -o "$T/many.trace" ||
	fail "recording many mappings: exit status $?"
check "samples of a process with 65,000 mappings are read" dump many
check "and named" named many busy_in_a_mapping many_mappings

mkdir "$T/fuse"
spawn "$prog/dead_fuse" "$T/fuse" 8 >"$T/fuse.out"
fuse=$!
if wait_for 10 grep -q '^deaf' "$T/fuse.out"; then
	check "a program on a file system that answers no open() does not stop a recording" \
		tracectl record -q -f -a -s cpu -d 2s -o "$T/fuse.trace"
	check "the daemon answers after it" tracectl status
elif ! gone $fuse; then
	fail "a file system that goes deaf starts"
fi

stop_tracerd || fail "tracerd ends with exit status $?"
exit 0
