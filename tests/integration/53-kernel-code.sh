#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Kernel code that comes and goes has the name that it had when it ran: BPF
# programs at one and the same place, one after the other.
# alone
. "$(dirname "$0")/lib.sh"

prog=$O/tests/integration/prog/bpf_names
"$prog" 1 probe >"$T/probe" 2>&1 || skip "BPF programs cannot be run here: $(cat "$T/probe")"
grep -q ' 0x[^0]' "$T/probe" || skip "where BPF programs are is not told here (no JIT)"

start_tracerd

record() { # NAME...: while programs of these names run, one after the other
	tracectl record -f -s cpu -o "$T/trace" -- "$prog" 300 "$@" >"$T/runs" 2>"$T/err" ||
		[ $? = 3 ] || { cat "$T/err"; return 1; }
}

# Samples in a program carry its name, and no stack of the process has a hole where
# the kernel has made code. Names of others of our time are others' business.
each_in_its_time() {
	"$O/tests/tools/tracedump" "$T/trace" | grep -a ';bpf_test_run' >"$T/samples"
	awk -F'\t' '
		FNR == NR { split($0, run, " "); begin[run[1]] = run[2]; end[run[1]] = run[3]; next }
		/;bpf_test_run;bpf_prog_[0-9a-f]*_/ && !/;bpf_test_run;bpf_prog_[0-9a-f]*_ksym_/ {
			print "another program: " $8; bad = 1
		}
		/;\[kernel\]/ { print "without a name: " $8; bad = 1 }
		{
			n = split($8, frames, ";")
			for (i = 1; i <= n; i++) {
				name = frames[i]
				if (name !~ /^bpf_prog_[0-9a-f]*_ksym_/)
					continue
				sub(/^bpf_prog_[0-9a-f]*_/, "", name)
				seen[name]++
				if (!(name in begin) || $1 < begin[name] || $1 > end[name]) {
					print name " at " $1; bad = 1
				}
			}
		}
		END {
			for (name in begin) {
				print name ": " seen[name] + 0 " samples"
				if (!seen[name])
					bad = 1
			}
			exit bad
		}' "$T/runs" "$T/samples"
}

check "programs are recorded" record ksym_a ksym_b ksym_c
check "the trace is good" "$O/tracectl" check "$T/trace"
check "each has its name, in its time" each_in_its_time
# What the daemon knew of the place is of yesterday.
"$prog" 1 ksym_nobody_looks >/dev/null
check "others are recorded" record ksym_d ksym_e
check "each of them has its name" each_in_its_time

# The kernel tells two of it, and the one that listens first last, at greater length.
record_beside() {
	tracectl record -q -f -s cpu -o "$T/trace" -- \
		"$O/tracectl" --private record -q -f -s cpu -o "$T/beside" -- \
		"$prog" 300 "$@" >"$T/runs" 2>"$T/err" ||
		[ $? = 3 ] || { cat "$T/err"; return 1; }
}
check "programs are recorded twice at a time" record_beside ksym_f ksym_g
check "for the first one each has its name" each_in_its_time
mv "$T/beside" "$T/trace"
check "for the second one too" each_in_its_time

# It was there before the recording, if after the daemon, and goes while it is recorded.
stop_tracerd
start_tracerd
sessions_are() {
	tracectl status --json | grep -q "\"sessions\":\[$1"
}
"$prog" 100000 ksym_before >"$T/runs" &
before=$!
lib_pids+=("$before")
"$O/tracectl" --socket "$SOCKET" record -q -f -s cpu -p "$before" -o "$T/trace" &
recorder=$!
lib_pids+=("$recorder")
wait_for 60 sessions_are '{' || fail "the recording starts"
sleep 2
kill "$before"
wait "$before"
kill -INT "$recorder" 2>/dev/null
wait "$recorder"
check "the trace is good" "$O/tracectl" check "$T/trace"
check "one that was there before has its name" each_in_its_time
stop_tracerd

# What the kernel hides (kptr_restrict) has no name, and takes no user frame with it.
sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >"$T/hidden"
unshare -m mount --bind "$T/hidden" /proc/kallsyms ||
	skip "another /proc/kallsyms cannot be mounted"
cat >"$T/tracerd" <<END
#!/bin/sh
mount --bind "$T/hidden" /proc/kallsyms && exec "$O/tracerd" "\$@"
END
chmod +x "$T/tracerd"
mkdir "$T/blind"
unshare -m "$T/tracerd" --socket "$T/blind/control.sock" >>"$T/tracerd.log" 2>&1 &
DAEMON=$!
SOCKET=$T/blind/control.sock
lib_pids+=("$DAEMON")
wait_for 20 daemon_listens
without_names() {
	"$O/tests/tools/tracedump" "$T/trace" | cut -f8 >"$T/stacks"
	awk -F';' '
		!/bpf_test_run|\[kernel\]/ { next }
		/bpf_test_run/ { print "a name of the kernel: " $0; bad = 1 }
		/;main;.*\[kernel\]/ { n++ }
		/bpf_prog_[0-9a-f]*_ksym_hidden/ { n_bpf++ }
		END {
			print n " from main() into the kernel, " n_bpf " of them in a BPF program"
			exit bad || !n || !n_bpf
		}' "$T/stacks"
}
check "a recording without symbols of the kernel" record ksym_hidden
check "it says so" grep -q 'kptr_restrict' "$T/err"
check "the trace is good" "$O/tracectl" check "$T/trace"
check "frames of the kernel have no names, those below have" without_names
