#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The service under a real systemd: tests/systemd/box boots one, our build is
# installed in it, and it is activated, killed, stopped, and refused to strangers.
# Recording there is 81-hardening.sh's: the box has pids of its own.
# timeout: 300
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/../systemd/lib.sh"
start_box

is_active() {
	[ "$(show ActiveState)" = active ]
}

# Settings for one test; systemd reads them at the next start.
set_option() { # NAME VALUE
	in_box sh -c "mkdir -p /run/systemd/system/tracer.service.d &&
		printf '[Service]\n%s=%s\n' '$1' '$2' >/run/systemd/system/tracer.service.d/$1.conf &&
		systemctl daemon-reload"
}

# ---- activation ----

verdict "the socket belongs to the group and to nobody else" \
	[ "$(in_box stat -c '%a %U %G' /run/tracer/control.sock)" = "660 root tracer" ]
verdict "the daemon waits until somebody asks" [ "$(show ActiveState)" = inactive ]
verdict "tracectl status starts it" in_box tracectl status
verdict "it has told systemd that it is ready" is_active

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

# BPF programs see the host's pids and /proc here shows others: rather none than wrong.
refuses_other_pids() {
	local status
	in_box tracectl record --duration 1s -o /tmp/box.perfetto-trace >"$T/pids" 2>&1
	status=$?
	cat "$T/pids"
	[ $status = 1 ] && grep -q 'pid namespace' "$T/pids"
}
verdict "in a pid namespace it says why it cannot record" refuses_other_pids

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
	in_box sh -c "kill -KILL $pid" || return 1
	# Waits in the socket's queue while systemd starts the next one.
	in_box tracectl status || return 1
	[ "$(show MainPID)" != "$pid" ]
}
for i in 1 2 3; do
	verdict "after kill -9 ($i) the next client is served by a new daemon" killed_and_served
done

# systemd itself says whether it had to use force.
stops() {
	systemctl stop tracer.service && [ "$(show Result)" = success ] &&
		[ "$(show ExecMainStatus)" = 0 ]
}
set_option TimeoutStopSec 2s
systemctl restart tracer.service
verdict "it stops by itself within 2 seconds" stops

# ---- watchdog ----

hangs_and_served() {
	local pid restarts
	# shellcheck disable=SC2317
	systemctl restart tracer.service || return 1
	pid=$(show MainPID)
	restarts=$(show NRestarts)
	in_box sh -c "kill -STOP $pid" || return 1
	restarted() {
		[ "$(show NRestarts)" -gt "$restarts" ] && is_active
	}
	wait_for 40 restarted || return 1
	[ "$(show MainPID)" != "$pid" ] && in_box tracectl status
}
set_option WatchdogSec 2s
verdict "a daemon that hangs is replaced" hangs_and_served
still_the_same() {
	local pid heard
	pid=$(show MainPID)
	# systemd knows when it last heard of it: three times within its patience.
	for _ in 1 2 3; do
		heard=$(show WatchdogTimestampMonotonic)
		heard_again() {
			[ "$(show WatchdogTimestampMonotonic)" != "$heard" ]
		}
		wait_for 10 heard_again || return 1
	done
	[ "$(show MainPID)" = "$pid" ]
}
verdict "one that works is left alone" still_the_same

verdict "stopping the socket removes it" \
	in_box sh -c 'systemctl stop tracer.socket tracer.service && ! [ -e /run/tracer/control.sock ]'
