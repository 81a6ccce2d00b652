# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - for tests in a box; source it after tests/integration/lib.sh.
#
#   start_box [--host-pids]   boots one with our build installed; gone at the end
#   in_box COMMAND...         as root
#   show PROPERTY             of tracer.service
#   systemctl ARGS...         the box's
#   verdict WHAT COMMAND...   check; with the service's log when it fails

need mmdebstrap
need nsenter util-linux
box=$SRC/tests/systemd/box
box_kind=--system

start_box() {
	if grep -qa __asan_init "$O/tracerd"; then
		skip "a build with sanitizers is not one to install"
	fi
	if ! "$box" root >"$T/root.out" 2>&1; then
		tail -n 5 "$T/root.out"
		skip "mmdebstrap cannot make a Debian root here"
	fi
	if ! make --no-print-directory -C "$SRC" O="$O" DESTDIR="$T/layer" PREFIX=/usr install \
		>"$T/install.out" 2>&1; then
		cat "$T/install.out"
		fail "make install"
		exit 1
	fi
	trap box_end EXIT
	[ $# = 0 ] || box_kind=--user
	if ! "$box" start "$@" "$T/box" "$T/layer" >"$T/start.out" 2>&1; then
		cat "$T/start.out"
		skip "systemd does not boot in namespaces here"
	fi
}

box_end() {
	[ ! -d "$T/box" ] || "$box" stop "$T/box"
	lib_end
}

in_box() {
	"$box" run "$T/box" "$@"
}

systemctl() {
	in_box systemctl $box_kind "$@"
}

show() {
	systemctl show --property "$1" --value tracer.service
}

verdict() {
	check "$@" && return
	if [ $box_kind = --system ]; then
		in_box journalctl --no-pager --quiet --unit tracer.service --unit tracer.socket |
			tail -n 40
	else
		tail -n 40 "$T/box/log"
	fi
	return 1
}
