#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The service under a real systemd: tests/systemd/box boots one, our build is
# installed in it, and it is activated, killed, stopped, and refused to strangers.
# timeout: 400
. "$(dirname "$0")/lib.sh"

need mmdebstrap
need nsenter util-linux
if grep -qa __asan_init "$O/tracerd"; then
	skip "a build with sanitizers is not one to install"
fi

box=$SRC/tests/systemd/box
"$box" root >"$T/root.out" 2>&1 || {
	tail -n 5 "$T/root.out"
	skip "mmdebstrap cannot make a Debian root here"
}
make --no-print-directory -C "$SRC" O="$O" DESTDIR="$T/layer" PREFIX=/usr install >"$T/install.out" 2>&1 || {
	cat "$T/install.out"
	fail "make install"
	exit 1
}

end() {
	[ ! -d "$T/box" ] || "$box" stop "$T/box"
	lib_end
}
trap end EXIT
if ! "$box" start "$T/box" "$T/layer" >"$T/start.out" 2>&1; then
	cat "$T/start.out"
	skip "systemd does not boot in namespaces here"
fi

in_box() {
	"$box" run "$T/box" "$@"
}

show() { # PROPERTY
	in_box systemctl show --property "$1" --value tracer.service
}

is_active() {
	[ "$(show ActiveState)" = active ]
}

# Settings for one test; systemd reads them at the next start.
set_option() { # NAME VALUE
	in_box sh -c "mkdir -p /run/systemd/system/tracer.service.d &&
		printf '[Service]\n%s=%s\n' '$1' '$2' >/run/systemd/system/tracer.service.d/$1.conf &&
		systemctl daemon-reload"
}

# What the journal says when something went wrong.
journal() {
	in_box journalctl --no-pager --quiet --unit tracer.service --unit tracer.socket | tail -n 40
}

verdict() { # WHAT COMMAND...
	check "$@" || journal
}

# ---- activation ----

verdict "the socket belongs to the group and to nobody else" \
	[ "$(in_box stat -c '%a %U %G' /run/tracer/control.sock)" = "660 root tracer" ]
verdict "the daemon waits until somebody asks" [ "$(show ActiveState)" = inactive ]
verdict "tracectl status starts it" in_box tracectl status
verdict "it has told systemd that it is ready" is_active
verdict "its status says so" [ -n "$(show StatusText)" ]

# ---- how it runs ----

status_field() { # NAME
	in_box sed -n "s/^$1:[[:space:]]*//p" "/proc/$(show MainPID)/status"
}
uid=$(in_box id -u tracer)
verdict "it runs as the user tracer" [ "$(status_field Uid | cut -f1)" = "$uid" ]
verdict "it can gain no privileges" [ "$(status_field NoNewPrivs)" = 1 ]
verdict "its system calls are filtered" [ "$(status_field Seccomp)" = 2 ]
# dac_read_search 2, sys_ptrace 19, sys_admin 21, syslog 34, perfmon 38, bpf 39, checkpoint_restore 40
allowed=$((1 << 2 | 1 << 19 | 1 << 21 | 1 << 34 | 1 << 38 | 1 << 39 | 1 << 40))
has=$((16#$(status_field CapBnd) | 16#$(status_field CapPrm)))
verdict "it has no capability beyond the seven" [ $((has & ~allowed)) = 0 ]

# ---- recording ----

record() {
	local status
	in_box tracectl record --duration 3s -o /tmp/box.perfetto-trace
	status=$?
	# 3: complete, but something was lost, on a machine that may be busy
	[ $status = 0 ] || [ $status = 3 ]
}
verdict "tracectl record records through the service" record
verdict "the trace it makes is good" in_box tracectl check /tmp/box.perfetto-trace

# ---- who may ----

# As nobody, whose only other groups are those given.
as_nobody() { # GROUPS COMMAND...
	in_box setpriv --reuid=65534 --regid=65534 "--groups=$1" "${@:2}"
}
refused() {
	local status
	as_nobody 65534 tracectl status >"$T/refused" 2>&1
	status=$?
	cat "$T/refused"
	[ $status != 0 ] && grep -q 'group' "$T/refused" && grep -q 'tracer' "$T/refused"
}
verdict "a user who is not in the group is told so" refused
verdict "a member of the group is served" as_nobody "$(in_box id -g tracer)" tracectl status

# ---- the end, wanted and unwanted ----

killed_and_served() {
	local pid
	pid=$(show MainPID)
	[ "$pid" != 0 ] || return 1
	in_box kill -KILL "$pid" || return 1
	# Waits in the socket's queue while systemd starts the next one.
	in_box tracectl status || return 1
	[ "$(show MainPID)" != "$pid" ]
}
for i in 1 2 3; do
	verdict "after kill -9 ($i) the next client is served by a new daemon" killed_and_served
done

# systemd itself says whether it had to use force.
stops() {
	in_box systemctl stop tracer.service && [ "$(show Result)" = success ] &&
		[ "$(show ExecMainStatus)" = 0 ]
}
set_option TimeoutStopSec 2s
in_box systemctl restart tracer.service
verdict "it stops by itself within 2 seconds" stops

in_box systemctl start tracer.service
in_box tracectl record --duration 60s -o /tmp/cut.perfetto-trace >"$T/cut.out" 2>&1 &
recorder=$!
lib_pids+=("$recorder")
recording() {
	in_box test -s /tmp/cut.perfetto-trace
}
stops_a_recording() {
	wait_for 20 recording || return 1
	stops || return 1
	wait "$recorder"
	status=$?
	cat "$T/cut.out"
	[ $status != 0 ] || return 1
	in_box tracectl check /tmp/cut.perfetto-trace
}
verdict "with a recording, too, and what was recorded can be read" stops_a_recording

# ---- watchdog ----

hangs_and_served() {
	local pid restarts
	in_box systemctl restart tracer.service || return 1
	pid=$(show MainPID)
	restarts=$(show NRestarts)
	in_box kill -STOP "$pid"
	restarted() {
		[ "$(show NRestarts)" -gt "$restarts" ] && is_active
	}
	wait_for 40 restarted || return 1
	[ "$(show MainPID)" != "$pid" ] && in_box tracectl status
}
set_option WatchdogSec 2s
verdict "a daemon that hangs is replaced" hangs_and_served
still_the_same() {
	local pid
	pid=$(show MainPID)
	# Longer than the watchdog's patience.
	in_box tracectl record --duration 5s -o /tmp/idle.perfetto-trace
	[ "$(show MainPID)" = "$pid" ]
}
verdict "one that works is left alone" still_the_same

verdict "stopping the socket removes it" \
	in_box sh -c 'systemctl stop tracer.socket tracer.service && ! [ -e /run/tracer/control.sock ]'
