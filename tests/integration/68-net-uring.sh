#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests that are made by io_uring, with and without a thread of the kernel that submits.
. "$(dirname "$0")/netlab.sh"

lab_net ""
lab_nginx

seen() {
	python3 "$here/net_identity.py" "$@"
}

# Under distinct names: what one ring has asked for is not another's.
rings() {
	ask "$prog/neturing" 10.77.0.1 8080 /plain 3
	STATUS=$?
	cp "$T/out" "$T/plain"
	ask "$prog/neturing" 10.77.0.1 8080 /polled 3 sqpoll
	cp "$T/out" "$T/polled"
}

start_tracerd
record rings rings
[ "$STATUS" != 77 ] || skip "no io_uring: $(cat "$T/plain")"
[ "$STATUS" = 0 ] || { cat "$T/plain"; fail "io_uring works"; }
check "requests by io_uring are whole, and of the ring's owner" \
	seen uring "$T/rings.trace" "$T/plain"
check "so are those that a thread of the kernel submits" \
	seen uring "$T/rings.trace" "$T/polled"
check "the server's side is as in its log" python3 "$here/net_http.py" log "$T/rings.trace" \
	"$T/access.log" "$(nginx_workers)" 8080
check "the trace keeps the rules" tracectl check "$T/rings.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
