# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - what an integration test needs. Source it first:
#
#	. "$(dirname "$0")/lib.sh"
#
# A script runs as root with $O, the build directory, and gets:
#
#   $T                        a directory of its own, gone at the end
#   ok WHAT, fail WHAT        one result line; fail goes on, the script exits 1 at its end
#   check WHAT COMMAND...     ok or fail, with the command's output when it fails
#   skip REASON               ends the script: this machine cannot do it
#   need COMMAND PACKAGE      skips when COMMAND is not there
#   spawn COMMAND...          in the background; $! is its pid; killed at the end
#   wait_for SECONDS COMMAND  until COMMAND succeeds; fails after SECONDS
#   start_tracerd [ARGS...]   a private daemon; $DAEMON is its pid, $SOCKET its socket
#   AT=DIR start_tracerd      the same, beside another one
#   stop_tracerd              SIGTERM; waits; returns the daemon's exit status
#   tracectl ARGS...          talks to that daemon; before one was started, to one of its own
#
# Signals go to pids that the script started itself, never to a name.

set -u
if [ ! -d "${O-}" ]; then
	echo "O=BUILD_DIR is not set: run 'make check-root' or 'O=\$PWD/build bash $0'" >&2
	exit 2
fi
O=$(realpath "$O")
# shellcheck disable=SC2034
SRC=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
T=$(mktemp -d "${TMPDIR:-/tmp}/tracer-test.XXXXXX")
SOCKET=
DAEMON=
lib_pids=()
lib_failed=0

lib_end() {
	local status=$? pid
	trap - EXIT INT TERM
	# What was started last may depend on what was started first.
	for ((i = ${#lib_pids[@]} - 1; i >= 0; i--)); do
		pid=${lib_pids[i]}
		kill "$pid" 2>/dev/null && wait_for 5 gone "$pid"
		kill -KILL "$pid" 2>/dev/null
	done
	if [ $lib_failed != 0 ] && [ -s "$T/tracerd.log" ]; then
		echo "--- tracerd.log"
		tail -n 100 "$T/tracerd.log"
	fi
	rm -rf "$T"
	[ $lib_failed = 0 ] || status=1
	exit $status
}
trap lib_end EXIT
trap 'exit 143' INT TERM

ok() {
	echo "ok - $*"
}

fail() {
	echo "not ok - $*"
	lib_failed=1
}

skip() {
	echo "skip - $*"
	exit 77
}

need() { # COMMAND PACKAGE
	command -v "$1" >/dev/null || skip "$1 is not installed (Debian: ${2-$1})"
}

check() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@" >"$T/check.out" 2>&1; then
		ok "$what"
	else
		fail "$what ($?: $*)"
		tail -n 50 "$T/check.out"
		return 1
	fi
}

spawn() {
	"$@" &
	lib_pids+=($!)
}

gone() { # PID: ended, if only as a zombie that nobody has waited for
	[ ! -e "/proc/$1" ] || grep -q '^State:.[ZX]' "/proc/$1/status" 2>/dev/null
}

wait_for() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# A file alone says nothing: one who was killed leaves it behind.
daemon_listens() {
	gone "$DAEMON" || grep -q " 00010000 .* $SOCKET\$" /proc/net/unix
}

start_tracerd() {
	SOCKET=$T/${AT:+$AT/}control.sock
	"$O/tracerd" --socket "$SOCKET" "$@" >>"$T/tracerd.log" 2>&1 &
	DAEMON=$!
	lib_pids+=("$DAEMON")
	if ! wait_for 20 daemon_listens || gone "$DAEMON"; then
		fail "tracerd starts"
		exit 1
	fi
}

stop_tracerd() {
	kill "$DAEMON" 2>/dev/null
	wait "$DAEMON"
}

tracectl() {
	if [ -n "$SOCKET" ]; then
		"$O/tracectl" --socket "$SOCKET" "$@"
	else
		"$O/tracectl" --private "$@"
	fi
}
