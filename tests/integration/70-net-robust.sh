#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What nobody should send: the daemon bears it, says nothing that is not so, and keeps
# within its memory.
# timeout: 300
. "$(dirname "$0")/netlab.sh"

need curl
lab_net ""
lab_nginx
lab_dns
# Takes whatever comes, on the ports that protocols are guessed by.
cat >"$T/sink.py" <<'EOF2'
import selectors, socket
ports = selectors.DefaultSelector()
for port in 9080, 9443, 9053:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("10.77.0.1", port))
    s.listen(512)
    ports.register(s, selectors.EVENT_READ)
while True:
    for key, _ in ports.select():
        s = key.fileobj
        try:
            if s.getsockname()[1] in (9080, 9443, 9053) and key.data is None:
                c, _ = s.accept()
                ports.register(c, selectors.EVENT_READ, "client")
            elif not s.recv(65536):
                ports.unregister(s)
                s.close()
        except OSError:
            ports.unregister(s)
            s.close()
EOF2
spawn_at $S python3 "$T/sink.py"
wait_for 10 listens $S t 9053 || fail "a sink listens"

seen() {
	python3 "$here/net_http.py" "$@"
}

memory() { # KiB
	awk '/^RssAnon/ { print $2 }' "/proc/$DAEMON/status"
}

nonsense() {
	ask python3 "$here/net_nonsense.py" 10.77.0.1 "$@"
	NONSENSE=$LAST
}

start_tracerd
begin robust
ask curl -s -o /dev/null http://10.77.0.1:8080/s.txt
FIRST=$(memory)
nonsense 8080 8081 8443 9080 9443 9053 53
cat "$T/out"
check "nonsense is sent to the end" grep -q '^done' "$T/out"
ask curl -s -o /dev/null http://10.77.0.1:8080/a/b/page.html
LASTCURL=$LAST
sleep 0.3
LAST_MEMORY=$(memory)
end_recording || fail "recording nonsense: exit status $?"
check "requests behind it are seen as ever" seen names "$T/robust.trace" "$LASTCURL" "GET /a/b/page.html"
check "of nonsense no request is made up" seen none "$T/robust.trace" "$NONSENSE"
room=65536
! grep -qas __asan_init "$O/tracerd" || room=$((room * 8)) # which keeps what is freed
bounded() {
	echo "$FIRST KiB before, $LAST_MEMORY KiB after"
	[ "$LAST_MEMORY" -lt $((FIRST + room)) ]
}
check "memory stays within its bounds" bounded
check "the trace keeps the rules" tracectl check "$T/robust.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
