#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# HTTP requests in a trace against what clients have asked for and nginx has logged.
# timeout: 300
. "$(dirname "$0")/netlab.sh"

need curl
need ab apache2-utils
need h2load nghttp2-client
lab_net ""
resolve_by 10.77.0.1
lab_nginx
url=http://10.77.0.1:8080
h2c=http://10.77.0.1:8081

seen() { # COMMAND NAME ARGS... of its trace
	python3 "$here/net_http.py" "$1" "$T/$2.trace" "${@:3}"
}

logged() { # PORT
	seen log all "$T/access.log" "$(nginx_workers)" "$1"
}

pairs() { # PORT
	seen pairs all "$(nginx_workers)" "$1"
}

# ---- what there is of HTTP/1 ----

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

# ---- many ----

load() {
	ask ab -q -n 300 -c 4 "$url/s.txt"
	closing=$LAST
	ask ab -q -k -n 1500 -c 4 "$url/s.txt"
	keeping=$LAST
	ask ab -q -k -n 50 -c 2 "$url/big.bin"
	big=$LAST
}

# ---- HTTP/2 ----

streams() {
	ask h2load -n 1200 -c 4 -m 10 $h2c/s.txt
	small=$LAST
	ask h2load -n 60 -c 2 -m 4 $h2c/big.bin
	ask nghttp -n $h2c/s.txt $h2c/a/b/page.html $h2c/nothing
}

# ---- a proxy ----

chain() {
	at $S ab -q -n 200 -c 4 http://127.0.0.1:8091/s.txt >"$T/out" 2>&1
	at $S ab -q -n 30 -c 4 http://127.0.0.1:8091/big.bin >"$T/out" 2>&1
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

HAPROXY=
if command -v haproxy >/dev/null; then
	lab_haproxy
else
	echo "skip - a proxy: haproxy is not installed"
fi

all() {
	kinds
	load
	streams
	[ -z "$HAPROXY" ] || chain
}

start_tracerd
record all all
check "HTTP/1 is as in the server's log, to the byte" logged 8080
check "both sides agree, with a flow between them" pairs 8080
check "several on one connection" seen names all "$several" "GET /s.txt" "GET /big.bin" "GET /s.txt"
check "three in one send()" seen names all "$pipeliner" "GET /s.txt" "GET /204" "GET /a/b/page.html"
check "a connection for each" seen count all "$closing" "GET /s.txt" 300
check "kept connections" seen count all "$keeping" "GET /s.txt" 1500
check "bodies by sendfile()" seen count all "$big" "GET /big.bin" 50
check "HTTP/2: streams are as in the server's log" logged 8081
check "HTTP/2: both sides agree, with a flow between them" pairs 8081
check "HTTP/2: ten at a time" seen count all "$small" "GET /s.txt" 1200
check "arrows lead through both threads and both requests, and back" \
	seen arrows all "$closing" "$(nginx_workers)"
check "threads that send and receive have call stacks" seen stacks all "$closing" "$(nginx_workers)"
[ -z "$HAPROXY" ] || check "a proxy: both sides of either leg agree" seen pairs all "$HAPROXY" 8091
[ -z "$HAPROXY" ] || check "a proxy: what it asks for lies within what it is asked for" \
	seen chain all "$HAPROXY" 230
check "the trace keeps the rules" tracectl check "$T/all.trace"

# ---- joined late ----

: >"$T/access.log"
spawn_at $C "$prog/netclient" number 10.77.0.1 8080 60000
NUMBERS=$!
spawn_at $C h2load -D 60 --rps 500 -c 2 -m 4 $h2c/s.txt >"$T/out"
STREAMS=$!
both() { # are there
	grep -q 'GET /n/' "$T/access.log" && grep -q 'GET /s.txt' "$T/access.log"
}
wait_for 10 both || fail "what goes on for long begins"
record late sleep 0.5
kill $NUMBERS $STREAMS
check "HTTP/1 joined late: none is missing from the first that is seen" \
	seen numbered late $NUMBERS "$(nginx_workers)"
check "HTTP/2 joined late is marked, and has no wrong names" \
	seen late late "$(nginx_workers)" 8081 /s.txt
check "the trace keeps the rules" tracectl check "$T/late.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
