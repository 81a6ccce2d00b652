#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks are whole and true: of programs built in every usual way, in every usual
# situation, each sample has exactly the frames that its thread says it must have.
# timeout: 240
# alone
#
#	FREQ=999 BURN_MS=150	samples per second; CPU time that each program burns
#	MIN_SAMPLES=20		below that a program shows nothing
#	STACKS='no-fp:signal'	only labels that match
. "$(dirname "$0")/lib.sh"

need python3
prog=$O/tests/integration/prog
export BURN_MS=${BURN_MS-150}

# Runs one, and prints what its stack must be. 77: not on this machine.
stacks() { # VARIANT MODE [ARGUMENT]
	local label=$1:$2${3:+-$3}
	# shellcheck disable=SC2254
	case $label in
	${STACKS-*}) ;;
	*) return ;;
	esac
	label=${label:0:15} # a thread's name is no longer
	"${RUN:-$prog/stacks${1:+-$1}}" ${AS:+"$AS"} "$label" "${@:2}" >"$T/said"
	case $? in
	0) awk -F'\t' -v OFS='\t' -v expect="${EXPECT-}" 'expect { $3 = expect } { print }' "$T/said" ;;
	77) ;;
	*) printf '%s\t0\tends in order\n' "$label" ;;
	esac
}

# All programs, one after the other; prints what is expected of whom.
everything() {
	# Depth and form of the frames.
	for variant in '' no-fp static static-pie no-pie debug-frame; do
		stacks "$variant" deep 30
	done
	stacks no-fp deep 127
	stacks no-fp deep 480
	# What the first samples of a process lead through is not all in their copy of the
	# stack, or no event has told of it: what is judged are those that follow.
	for mode in 'big 100' sigaltstack mremap; do
		# shellcheck disable=SC2086 # a mode and its argument
		BURN_MS=$((BURN_MS * 4)) stacks no-fp $mode
	done
	BURN_MS=$((BURN_MS * 4)) stacks static big 100
	for mode in alloca realigned noreturn tiny callback plt clock signal timer thread fork \
		vfork many-vforks mprotect; do
		stacks no-fp "$mode"
	done
	for mode in signal callback thread; do
		stacks static "$mode"
	done
	stacks no-fp uretprobe 20
	stacks no-pie resolve
	stacks no-pie plt
	# By frame pointers, where nothing better is known ...
	stacks no-cfi-fp deep 30
	stacks '' copied
	# ... and never by guessing.
	EXPECT='!' stacks no-cfi deep 30
	EXPECT=whole stacks stripped deep 30

	# Where the program came from.
	cp "$prog/stacks-no-fp" "$T/deleted"
	RUN=$T/deleted stacks no-fp deleted 30
	stacks no-fp memfd
	THEN=$prog/stacks-static stacks no-fp exec
	THEN=$prog/stacks-static stacks no-fp pid-reuse
	for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
		[ ! -x $loader ] || RUN=$loader AS=$prog/stacks-no-fp stacks ld.so deep 25
	done
	in_container
	replaced
}

# With its own mounts and pids, and a root where everything has another name.
in_container() {
	local root=$T/root lib
	mkdir -p "$root/opt"
	ldd "$prog/stacks-no-fp" | grep -o '/[^ ]*' | while read -r lib; do
		install -D "$lib" "$root$lib"
	done
	cp "$prog/stacks-no-fp" "$root/opt/p"
	RUN=$T/enter stacks box deep 25
}
cat >"$T/enter" <<-E
	#!/bin/sh
	exec unshare --mount --propagation unchanged --pid --fork chroot "$T/root" /opt/p "\$@"
E
chmod +x "$T/enter"

# Another file takes its place while it runs; then that one is cut off under it.
replaced() {
	cp "$prog/stacks-no-fp" "$T/replaced"
	cp "$prog/stacks-no-pie" "$T/new"
	(sleep 0.15 && mv "$T/new" "$T/replaced") &
	RUN=$T/replaced stacks replaced deep 25
	wait $!
	# A program's own file cannot be cut off while it runs; its libraries can.
	mkdir "$T/lib"
	ldd "$prog/stacks-no-fp" | grep -o '/[^ ]*/libc[.][^ ]*' | xargs -I@ cp @ "$T/lib"
	LD_LIBRARY_PATH=$T/lib BURN_MS=2000 stacks cut plt >/dev/null 2>&1 &
	sleep 0.4
	truncate -s 5000 "$T"/lib/*
	wait $!
}

# A program of 32 bits, by hand: jumps on the spot.
small_program() { # FILE
	printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0\124\200\4\10\64\0\0\0' >"$1"
	printf '\0\0\0\0\0\0\0\0\64\0\40\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\200\4\10' >>"$1"
	printf '\0\200\4\10\126\0\0\0\126\0\0\0\5\0\0\0\0\20\0\0\353\376' >>"$1"
	chmod +x "$1"
}

compat32() {
	small_program "$T/compat32"
	(timeout -s KILL 1 "$T/compat32") 2>/dev/null
	[ $? != 137 ] || printf 'compat32\t0\t!COMPAT32\n'
}

is_recording() {
	tracectl status --json | grep -q '"sessions":\[{'
}

start_tracerd
spawn "$O/tracectl" --socket "$SOCKET" record -s proc,cpu -F "${FREQ-999}" -p $$ -o "$T/trace" 2>"$T/err"
record=$!
wait_for 60 is_recording || fail "the recording starts"
{ everything; compat32; } >"$T/expected" 2>"$T/programs.err"
kill -INT $record
wait $record
status=$?
cat "$T/programs.err"
check "they are recorded (status $status)" [ $status = 0 -o $status = 3 ]
check "the trace is good" tracectl check "$T/trace"
check "its stacks can be read" sh -c \
	"python3 '$SRC/tests/integration/stacks.py' '$T/trace' '$T/expected' >'$T/seen'"

while IFS=$'\t' read -r label all good whole unseen others; do
	what="$label: $good of $all samples are as expected, $whole are whole"
	# What is left may be samples before main, or of a moment when nobody could know.
	share=75
	# By frame pointers, a sample between two instructions of a prologue misses a caller.
	[[ $label != no-cfi-fp:* ]] || share=50
	if [ "$all" -ge "${MIN_SAMPLES-20}" ] && [ $((good * 100)) -ge $((all * share)) ] && [ "$unseen" = 0 ]; then
		ok "$what"
	else
		fail "$what"
		echo "  $unseen patterns without samples; others: $others"
	fi
done <"$T/seen"

# A sample at each page fault. Copies of others' stacks may have left no room: until it works.
new_frames() {
	tracectl record -q -f -s proc,cpu -e page-faults -o "$T/faults" -- "$prog/new_frames"
	"$O/tests/tools/tracedump" "$T/faults" | cut -f 8 | grep 'new_frame;new_frame' >"$T/faulting"
	[ "$(wc -l <"$T/faulting")" -ge 3 ] && ! grep -v '^_start;.*;main;new_frame' "$T/faulting" >"$T/not-whole"
}
check "frames that lie on new pages are left" wait_for 60 new_frames
sed 's/^/  /' "$T/not-whole"
stop_tracerd
check "the daemon ends in order" [ $? = 0 ]
