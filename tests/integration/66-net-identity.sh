#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whose sockets are: shared, passed on, reused, the same addresses twice; and how
# connections end.
# timeout: 300
. "$(dirname "$0")/netlab.sh"

need curl
lab_net ""
lab_net other # with the very same addresses
lab_nginx
spawn_at others python3 -m http.server --directory "$T/www" --bind 10.77.0.1 8080 >"$T/other.log" 2>&1
wait_for 10 listens others t 8080 || fail "a second server starts"
netns() { # NAME: as the kernel numbers it
	stat -L -c %i "/run/netns/$1"
}

seen() { # COMMAND ARGS...
	python3 "$here/net_identity.py" "$1" "$T/all.trace" "${@:2}"
}

# Closes what it has read a request from: reset by what it has not read.
cat >"$T/resets.py" <<'EOF2'
import socket, struct, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.77.0.1", 8300))
s.listen()
while True:
    c, _ = s.accept()
    c.recv(4096)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
EOF2
spawn_at $S python3 "$T/resets.py"
RESETS=$!
wait_for 10 listens $S t 8300 || fail "a server that resets starts"

# Takes a connection, and then nothing that is sent to it.
cat >"$T/filters.py" <<'EOF2'
import ctypes, signal, socket, struct
s = socket.create_server(("10.77.0.1", 8301))
c, _ = s.accept()
nothing = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
SO_ATTACH_FILTER = 26
c.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(nothing)))
c.sendall(b"x")
signal.pause()
EOF2
cat >"$T/sends.py" <<'EOF2'
import socket, time
s = socket.create_connection(("10.77.0.1", 8301))
s.recv(1)
s.sendall(b"for nobody")
time.sleep(0.1)
EOF2
spawn_at $S python3 "$T/filters.py"
FILTERS=$!
wait_for 10 listens $S t 8301 || fail "a server that filters starts"

# Keeps what is idle.
cat >"$T/idle.py" <<'EOF2'
import socket, sys
s = socket.create_connection(("10.77.0.1", 8080))
s.sendall(b"GET /s.txt HTTP/1.1\r\nHost: a\r\n\r\n")
s.recv(4096)
print("ready", flush=True)
open(sys.argv[1]).read()
EOF2

# ---- shared, passed on ----

: >"$T/did"
shares() {
	ask "$prog/netclient" fork 10.77.0.1 8080
	cat "$T/out" >>"$T/did"
	ask "$prog/netclient" pass 10.77.0.1 8080
	cat "$T/out" >>"$T/did"
}

# ---- one descriptor, many connections ----

reuses() {
	ask "$prog/netclient" reuse 10.77.0.1 8080 8081 2000
	cp "$T/out" "$T/reused"
}

# ---- the same addresses twice, at the same time ----

twins() {
	at $C "$prog/netclient" twin 10.77.0.1 8080 5555 /s.txt >"$T/one" &
	at otherc "$prog/netclient" twin 10.77.0.1 8080 5555 /a/b/page.html >"$T/two"
	wait $!
}

# ---- resets ----

resets() {
	ask "$prog/netclient" reset 10.77.0.1 8080 /s.txt
	RESETTER=$LAST
	ask curl -s http://10.77.0.1:8300/never
	VICTIM=$LAST
	ask python3 "$T/sends.py"
}

# ---- in a container ----

cgroup_root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
id=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
group=$cgroup_root/docker-$id.scope
CONTAINED=
contained() {
	[ -n "$cgroup_root" ] && mkdir "$group" 2>/dev/null || return
	ask sh -c 'echo $$ >"$1/cgroup.procs" && exec curl -s -o /dev/null http://10.77.0.1:8080/s.txt' sh "$group"
	CONTAINED=$LAST
}

all() {
	contained
	shares
	sleep 1 # for as long a connection has no counters of its own
	reuses
	twins
	resets
}

# ---- there before, and still there afterwards ----

mkfifo "$T/hold"
exec 9<>"$T/hold"
spawn_at $C python3 "$T/idle.py" "$T/hold" 9<&- >"$T/idle.out"
IDLE=$!
wait_for 10 grep -q ready "$T/idle.out" || fail "an idle connection is there"

# One that is used all the time.
spawn_at $C "$prog/netclient" number 10.77.0.1 8080 60000
BUSY=$!

start_tracerd
record all all
kill $BUSY
exec 9>&-
[ -z "$CONTAINED" ] || rmdir "$group"
[ -z "$CONTAINED" ] || check "a container is told by its id" seen contained "$CONTAINED" "${id:0:12}"
check "each request is of the thread that has sent it, on one connection" seen requests "$T/did"
check "the bytes that a process has sent are its own" seen bytes "$T/did"
check "a descriptor's connections are told apart, none is longer than it was" \
	seen connections "$T/reused"
check "the same addresses in two namespaces are two connections" \
	seen twins "$T/one" "$(netns s)" "$T/two" "$(netns others)"
check "an idle connection is listed, from before the recording until after it" \
	seen idle $IDLE "$(nginx_workers)"
check "one that lasts has counters of its round trips and its window" seen counters $BUSY
check "a client that resets its connection: sent here, received there" \
	seen reset "$RESETTER" "$(nginx_workers)"
# Since then the kernel says whose a packet was that it drops.
if [ "$(printf '6.11\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.11 ]; then
	check "packets that are dropped, and why" seen drops $FILTERS SOCKET_FILTER
	check "why a connection is reset" seen why
fi
check "a server that does: the request is there, and failed" \
	seen reset_request "$VICTIM" $RESETS /never
check "the trace keeps the rules" tracectl check "$T/all.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
