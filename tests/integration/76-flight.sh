#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The flight recorder: what it keeps, what a snapshot of it is, and who has to wait for whom.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

need python3
PROG=$O/tests/integration/prog

says() { # STATUS PATTERN COMMAND...
	local out status
	out=$("${@:3}" 2>&1)
	status=$?
	[ $status = "$1" ] && grep -qE -- "$2" <<<"$out" && return
	echo "exit status $status: $out"
	return 1
}

flight() { # KEY: what `status` says of the flight recorder
	tracectl status --json | python3 -c \
		'import json, sys; print(json.load(sys.stdin)["flight"][sys.argv[1]])' "$1"
}

above() { # KEY NUMBER
	[ "$(flight "$1")" -gt "$2" ]
}

is() { # KEY VALUE
	[ "$(flight "$1")" = "$2" ]
}

snapshot() { # NAME ARGS...: and is it a good trace?
	tracectl snapshot -q -o "$T/$1.perfetto-trace" "${@:2}" &&
		tracectl check "$T/$1.perfetto-trace"
}

begins() { # NAME [PID...]
	python3 "$SRC/tests/integration/flight.py" "$T/$1.perfetto-trace" "${@:2}"
}

# ---- off ----

AT=off start_tracerd
check "without a flight recorder it is said how to switch it on" \
	says 1 'enabled = yes in the section \[flight\] of .*tracerd.conf' \
	tracectl snapshot -o "$T/none.perfetto-trace"
check "and there is no file" [ ! -e "$T/none.perfetto-trace" ]
check "status says that it is off" says 0 '^flight recorder: off' tracectl status
check "a time that is none is a usage error" says 2 'want a time' tracectl snapshot --last 3x
printf '[flight]\nenabled = yes\nsources = cpu,nosuch\n' >"$T/bad.conf"
check "a source that does not exist is refused at start" says 1 'nosuch' \
	timeout 30 "$O/tracerd" --socket "$T/bad/control.sock" --config "$T/bad.conf"

# ---- on, and soon full ----

# So small that it is overwritten again and again.
cat >"$T/tracerd.conf" <<'END'
[daemon]
max_sessions = 1
client_queue = 1M
[flight]
enabled = yes
size = 3M
freq = 499
sources = cpu, sched, syscalls, markers, net
END
start_tracerd --config "$T/tracerd.conf"
wait_for 20 is recording True
check "it records from the start" is recording True
check "a snapshot of next to nothing is a good trace" snapshot young
# A call that begins before everything else, and goes on.
spawn python3 -c 'import socket; a, b = socket.socketpair(); a.recv(1)'
sleeper=$!
spawn "$PROG/flood" -t 2 -s 1000 -r 40000
short_lived() {
	while :; do
		/bin/true
	done
}
spawn short_lived
# Requests, each on a connection of its own, and on one that is kept for a while.
cat >"$T/requests.py" <<'END'
import http.client, http.server, threading, time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
while True:
    kept = http.client.HTTPConnection("127.0.0.1", server.server_port)
    for i in range(20):
        for client in (kept, http.client.HTTPConnection("127.0.0.1", server.server_port)):
            client.request("GET", f"/{i}")
            client.getresponse().read()
        time.sleep(0.02)
END
spawn python3 "$T/requests.py"
check "a recording has a slot beside it" \
	tracectl record -q -s cpu -d 300ms -o "$T/beside.perfetto-trace"
check "the oldest is given up for the newest" wait_for 60 above given_up 20
check "within its bounds" [ "$(flight held)" -le "$(flight size)" ]

# ---- snapshots while it is overwritten ----

check "a snapshot is a good trace" snapshot first
check "so is one of the last moment" snapshot moment --last 300ms
named() {
	begins moment "$sleeper" >"$T/moment.out" || {
		cat "$T/moment.out"
		return 1
	}
}
check "which begins where it says, and everybody in it has a name" named
check "a call that goes on across all of it begins where it does, and says so" \
	grep -q "^$sleeper recvfrom slice [1-9]" "$T/moment.out"
size_of() {
	stat -c %s "$T/$1.perfetto-trace"
}
check "there are requests in it" sh -c \
	'"$0" report --network "$1" | grep -q "GET .*127.0.0.1"' "$O/tracectl" "$T/first.perfetto-trace"
check "it is less than all there is" [ "$(size_of moment)" -lt "$(size_of first)" ]
at_once() {
	snapshot one >"$T/one.out" 2>&1 &
	snapshot two
	local status=$?
	cat "$T/one.out"
	wait $! && [ $status = 0 ]
}
check "two clients at once" at_once

# ---- slow clients ----

mkfifo "$T/never"
exec 7<>"$T/never" # whoever reads from it waits
stall() { # NUMBER
	exec "$PROG/rawclient" "$SOCKET" hello 1 snapshot trace wait <"$T/never" >"$T/stalled$1"
}
spawn stall 1
stalled1=$!
spawn stall 2
stalled2=$!
both_wait() {
	cat "$T/stalled1" "$T/stalled2" | grep -c ready | grep -q 2
}
check "two clients get a snapshot and do not read on" wait_for 20 both_wait
check "what they do not take is kept" above snapshot_bytes 1000000
check "a third one is told to wait" says 1 '2 snapshots are being taken' \
	tracectl snapshot -o "$T/third.perfetto-trace"
given_up=$(flight given_up)
check "the recorder goes on meanwhile" wait_for 60 above given_up $((given_up + 10))
kill "$stalled1" "$stalled2"
not_refused() {
	tracectl snapshot -q -f -o "$T/free.perfetto-trace" 2>/dev/null
}
check "when they have gone another can have it" wait_for 20 not_refused
check "and it is good" tracectl check "$T/free.perfetto-trace"
check "nothing is kept any more" is snapshot_bytes 0
nothing_held() { # workers for names and lines have been started meanwhile
	local pid
	! readlink "/proc/$DAEMON"/fd/* | grep tracer-snapshot || return 1
	for pid in $(children "$DAEMON"); do
		! grep '^State:.Z' "/proc/$pid/status" || return 1
	done
}
check "nor is any memory, or a process" nothing_held

# ---- the end ----

spawn stall 3
check "one more that does not read on" wait_for 20 grep -q ready "$T/stalled3"
stop() {
	stop_tracerd && gone "$DAEMON"
}
check "a stop does not wait for it" stop
