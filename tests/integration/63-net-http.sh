#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# HTTP requests in a trace against what clients have asked for and nginx has logged.
. "$(dirname "$0")/netlab.sh"

need curl
need ab apache2-utils
need h2load nghttp2-client
lab_net ""
resolve_by 10.77.0.1
lab_nginx
url=http://10.77.0.1:8080

start_tracerd

seen() {
	python3 "$here/net_http.py" "$@"
}

logged() { # TRACE PORT...
	seen log "$T/$1.trace" "$T/access.log" "$(nginx_workers)" "${@:2}"
}

pairs() { # TRACE PORT...
	seen pairs "$T/$1.trace" "$(nginx_workers)" "${@:2}"
}

# ---- HTTP/1, what there is of it ----

kinds() {
	local page
	for page in / /204 /500 /moved /s.txt?token=1 /a/b/page.html /big.bin; do
		ask curl -s -o /dev/null "$url$page"
	done
	ask curl -s -I "$url/s.txt"
	ask curl -s -o /dev/null -z '2037-01-01' "$url/s.txt"
	ask curl -s -o /dev/null -d "$(printf %04000d 0)" -H 'Expect: 100-continue' "$url/post"
	ask curl -s -o /dev/null --compressed "$url/numbers.txt"
	ask curl -s -o /dev/null --compressed -0 "$url/numbers.txt"
	ask curl -s -o /dev/null "http://[fd77::1]:8080/s.txt"
	ask curl -s -o /dev/null "$url/s.txt" "$url/big.bin" "$url/s.txt"
	several=$LAST
	ask "$prog/netclient" pipeline 10.77.0.1 8080 /s.txt /204 /a/b/page.html
	pipeliner=$LAST
}

record kinds kinds
check "requests of all kinds are as in the server's log, to the byte" logged kinds 8080
check "both sides agree, with a flow between them" pairs kinds 8080
check "several on one connection" seen names "$T/kinds.trace" "$several" \
	"GET /s.txt" "GET /big.bin" "GET /s.txt"
check "three in one send()" seen names "$T/kinds.trace" "$pipeliner" \
	"GET /s.txt" "GET /204" "GET /a/b/page.html"
check "the trace keeps the rules" tracectl check "$T/kinds.trace"

# ---- many ----

load() {
	ask ab -q -n 300 -c 4 "$url/s.txt"
	closing=$LAST
	ask ab -q -k -n 1500 -c 4 "$url/s.txt"
	keeping=$LAST
	ask ab -q -k -n 50 -c 2 "$url/big.bin"
	big=$LAST
}

record load load
check "as many as the server's log has" logged load 8080
check "both sides of all, with flows" pairs load 8080
check "a connection for each" seen count "$T/load.trace" "$closing" "GET /s.txt" 300
check "kept connections" seen count "$T/load.trace" "$keeping" "GET /s.txt" 1500
check "bodies by sendfile()" seen count "$T/load.trace" "$big" "GET /big.bin" 50
check "the trace keeps the rules" tracectl check "$T/load.trace"

# ---- HTTP/2 ----

streams() {
	ask h2load -n 1200 -c 4 -m 10 http://10.77.0.1:8081/s.txt
	small=$LAST
	ask h2load -n 60 -c 2 -m 4 http://10.77.0.1:8081/big.bin
	ask nghttp -n http://10.77.0.1:8081/s.txt http://10.77.0.1:8081/a/b/page.html http://10.77.0.1:8081/nothing
}

record streams streams
check "HTTP/2: streams are as in the server's log" logged streams 8081
check "HTTP/2: both sides agree" pairs streams 8081
check "HTTP/2: ten at a time" seen count "$T/streams.trace" "$small" "GET /s.txt" 1200
check "the trace keeps the rules" tracectl check "$T/streams.trace"

# ---- a proxy ----

chain() {
	at $S "$1" -q -n 200 -c 4 http://127.0.0.1:8091/s.txt >"$T/out" 2>&1
	at $S "$1" -q -n 30 -c 4 http://127.0.0.1:8091/big.bin >"$T/out" 2>&1
}

lab_haproxy() {
	cat >"$T/haproxy.cfg" <<-EOF2
		defaults
		  mode http
		  timeout connect 3s
		  timeout client 10s
		  timeout server 10s
		  option splice-auto
		frontend f
		  bind 127.0.0.1:8091
		  default_backend b
		backend b
		  server s 127.0.0.1:8080
	EOF2
	spawn_at $S haproxy -db -f "$T/haproxy.cfg"
	HAPROXY=$!
	wait_for 10 listens $S t 8091 || fail "haproxy starts"
}

if command -v haproxy >/dev/null; then
	lab_haproxy
	record chain chain ab
	check "a proxy: what it asks for lies within what it is asked for" \
		seen chain "$T/chain.trace" "$HAPROXY" 230
	check "and the last server's side is as in its log" logged chain 8080
	check "four ends of each" pairs chain 8080
	check "the trace keeps the rules" tracectl check "$T/chain.trace"
else
	echo "skip - a proxy: haproxy is not installed"
fi

# ---- joined late ----

late() { # NAME COMMAND... goes on from before the recording begins until it has ended
	: >"$T/access.log"
	spawn_at $C "${@:2}"
	LATE=$!
	wait_for 10 test -s "$T/access.log" || fail "$2 begins"
	begin "$1"
	sleep 0.5
	end_recording || fail "recording what has begun before: exit status $?"
	kill "$LATE"
	wait "$LATE"
}

late late1 "$prog/netclient" number 10.77.0.1 8080 30000
check "HTTP/1: none is missing from the first that is seen" \
	seen numbered "$T/late1.trace" "$LATE" "$(nginx_workers)"
check "the trace keeps the rules" tracectl check "$T/late1.trace"
late late2 h2load -D 30 -c 2 -m 4 http://10.77.0.1:8081/s.txt >"$T/out"
check "HTTP/2 joined late is marked, and has no wrong names" \
	seen late "$T/late2.trace" "$(nginx_workers)" 8081 /s.txt
check "the trace keeps the rules" tracectl check "$T/late2.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
