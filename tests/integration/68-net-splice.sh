#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What leaves a socket by splice(): it is counted to the byte, and the requests whose
# bodies go that way are whole.
. "$(dirname "$0")/netlab.sh"

need curl
lab_net ""
lab_nginx

seen() { # COMMAND ARGS...
	python3 "$here/net_http.py" "$1" "$T/all.trace" "${@:2}"
}

# A program that receives heads, and splices bodies: with a length, in chunks.
get() {
	ask "$prog/netsplice" get 10.77.0.1 8080 "$T/body" /s.txt /big.bin /numbers.txt /big.bin /s.txt
	GETTER=$LAST
	cp "$T/out" "$T/getter"
}

# One that only passes on, heads too, so that it has no requests: to a port whose are not compared.
relay() {
	spawn_at $C "$prog/netsplice" relay 8092 10.77.0.1 8090 >"$T/relay"
	RELAY=$!
	wait_for 10 listens $C t 8092 || fail "the relay starts"
	ask curl -s -o /dev/null http://127.0.0.1:8092/big.bin http://127.0.0.1:8092/s.txt
	wait $RELAY
}

lab_haproxy() {
	cat >"$T/haproxy.cfg" <<-EOF2
		defaults
		  mode http
		  timeout connect 3s
		  timeout client 10s
		  timeout server 10s
		  option splice-request
		  option splice-response
		frontend f
		  bind 127.0.0.1:8091
		  default_backend b
		backend b
		  server s 10.77.0.1:8080
	EOF2
	spawn_at $C haproxy -db -f "$T/haproxy.cfg"
	HAPROXY=$!
	wait_for 10 listens $C t 8091 || fail "haproxy starts"
}

proxy() {
	local url=http://127.0.0.1:8091
	head -c 3000000 /dev/zero | tr '\0' x >"$T/upload"
	for i in 1 2 3; do
		ask curl -s -o /dev/null "$url/huge.bin" "$url/s.txt" "$url/huge.bin"
		ask curl -s -o /dev/null --compressed "$url/numbers.txt"
		ask curl -s -o /dev/null -T "$T/upload" -X POST "$url/post"
	done
}

HAPROXY=
if command -v haproxy >/dev/null; then
	head -c 5000000 /dev/zero | tr '\0' x >"$T/www/huge.bin"
	lab_haproxy
else
	echo "skip - a proxy: haproxy is not installed"
fi

all() {
	get
	relay
	[ -z "$HAPROXY" ] || proxy
}

start_tracerd
record all all
check "bodies that are spliced are as in the server's log, to the byte" \
	seen log "$T/access.log" "$(nginx_workers)" 8080
check "both sides agree" seen pairs "$(nginx_workers)" 8080
check "who splices bodies has its requests" seen names "$GETTER" "GET /s.txt" "GET /big.bin" \
	"GET /numbers.txt" "GET /big.bin" "GET /s.txt"
check "what it has received is counted" seen received "$GETTER" "$(cut -d' ' -f2 "$T/getter")"
check "so is what is only passed on" seen received "$RELAY" "$(cut -d' ' -f2 "$T/relay")"
[ -z "$HAPROXY" ] || check "a proxy's requests are whole at both its sides" seen chain "$HAPROXY" 15
[ -z "$HAPROXY" ] || check "what it has moved is what they are" seen moved "$HAPROXY"
check "the trace keeps the rules" tracectl check "$T/all.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
