#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Within the unit's limits (a user of its own, seven capabilities, system calls
# filtered, hardly any file system) the daemon records all that root would.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../systemd/lib.sh"

need python3
need setpriv util-linux
start_box --host-pids

verdict "systemd starts the service with all its limits" systemctl start tracer.service
pid=$(show MainPID)
field() {
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status"
}
verdict "it is not root" [ "$(field Uid | cut -f1)" != 0 ]
verdict "its system calls are filtered" [ "$(field Seccomp)" = 2 ]
# As root, with the daemon's view of the file systems: whoever it is, that is all.
in_its_place() {
	in_box nsenter --mount --root --target "$pid" "$@"
}
# shellcheck disable=SC2016
verdict "home directories are out of its sight" in_its_place sh -c '[ -z "$(ls -A /root)" ]'
for path in / /usr /etc /root /proc/sys/kernel/core_pattern /sys/kernel; do
	verdict "it cannot write to $path" in_its_place sh -c "[ -e $path ] && [ ! -w $path ]"
done
verdict "but it can write where its socket is" in_its_place test -w /run/tracer

# ---- sources ----

# "NAME STATE WHY" of the sources while all are in use.
print_states='
import json, sys
status = json.load(sys.stdin)
for s in status["sources"]:
    if s["by_default"] and status["sessions"]:
        print(s["name"], s["state"], s["why"])'
has_states() { # OUTPUT TRACECTL...
	"${@:2}" status --json | python3 -c "$print_states" >"$1" && [ -s "$1" ]
}
states_of() { # OUTPUT TRACECTL...
	"${@:2}" record -q -f --duration 5s -o - >/dev/null &
	wait_for 20 has_states "$@"
	wait $!
	cat "$1"
	grep -q '^cpu on' "$1"
}
start_tracerd
check "root's own daemon has states to compare with" states_of "$T/free" tracectl
stop_tracerd
verdict "the service has states" states_of "$T/limited" in_box tracectl
same_states() {
	[ -s "$T/free" ] && diff "$T/free" "$T/limited"
}
verdict "every source works as well as without limits" same_states

# ---- what it gets to see ----

# Somebody else's program, in a directory that only they can enter, deleted when it runs.
mkdir -m 700 "$T/private"
chmod 711 "$T"
cp "$O/tests/integration/prog/short_lived" "$T/private/"
chown -R 65534 "$T/private"
spawn setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \
	"cd '$T/private' && exec ./short_lived 1000000 100"
records() {
	local status
	in_box tracectl record -q -f --duration 5s -o /tmp/all.perfetto-trace
	status=$?
	# 3: complete, but something was lost, on a machine that may be busy
	[ $status = 0 ] || [ $status = 3 ] || return 1
	in_box cat /tmp/all.perfetto-trace >"$T/all.perfetto-trace"
}
verdict "it records" records
verdict "the trace is good" "$O/tracectl" check "$T/all.perfetto-trace"
"$O/tests/tools/tracedump" "$T/all.perfetto-trace" >"$T/samples"
verdict "functions of another user's deleted program have their names" \
	grep -q ';busy_in_a_copy' "$T/samples"
# The kernel's addresses are hidden from whoever has no CAP_SYSLOG.
verdict "functions of the kernel have their names" grep -Eq ';(do_syscall_64|el0_svc)' "$T/samples"

# ---- what it writes itself ----

in_box sh -c 'cat >>/etc/tracer/tracerd.conf' <<'END'
[flight]
enabled = yes
size = 8M
[trigger asked-for]
on = sigusr2
END
flies() {
	in_box tracectl status --json | grep -q '"recording":true'
}
has_written() {
	in_box tracectl status --json | sed -n 's/.*"last":"\([^"]*asked-for-[^"]*\)".*/\1/p' >"$T/written"
	[ -s "$T/written" ]
}
writes_a_snapshot() {
	local pid file
	systemctl restart tracer.service && wait_for 30 flies || return 1
	pid=$(show MainPID)
	systemctl kill -s USR2 tracer.service # its workers, too, who do not mind
	wait_for 60 has_written || { in_box tracectl status; return 1; }
	file=$(cat "$T/written")
	[ "$(in_box stat -c '%a %U %G' "$file")" = "640 tracer tracer" ] && [ "$(show MainPID)" = "$pid" ] || return 1
	in_box tracectl status | grep 'worker restarted [1-9]' && return 1
	in_box cat "$file" >"$T/asked-for.perfetto-trace"
	"$O/tracectl" check "$T/asked-for.perfetto-trace"
}
verdict "a trigger of its configuration writes a snapshot" writes_a_snapshot

# ---- the end ----

systemctl --quiet start tracer.service
in_box tracectl record -q -f --duration 60s -o /tmp/cut.perfetto-trace >"$T/cut.out" 2>&1 &
recorder=$!
lib_pids+=("$recorder")
has_begun() {
	in_box test -s /tmp/cut.perfetto-trace
}
stops_a_recording() {
	local status
	wait_for 20 has_begun || return 1
	systemctl stop tracer.service || return 1
	# Otherwise systemd had to kill it.
	[ "$(show Result)" = success ] && [ "$(show ExecMainStatus)" = 0 ] || return 1
	wait "$recorder"
	status=$?
	cat "$T/cut.out"
	[ $status != 0 ] || return 1
	in_box cat /tmp/cut.perfetto-trace >"$T/cut.perfetto-trace"
	"$O/tracectl" check "$T/cut.perfetto-trace"
}
verdict "stopped while it records, it ends the trace in good order" stops_a_recording
