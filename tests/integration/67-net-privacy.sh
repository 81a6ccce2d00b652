#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What must not be kept of requests is not: not in the trace, and not in the memory that
# the daemon can write to while it records and afterwards. Only the ring, which the kernel
# writes, holds what was copied until it is written over.
# timeout: 300
# alone
. "$(dirname "$0")/netlab.sh"

need curl
lab_net ""
lab_nginx
lab_dns

# Not as arguments: those of a process are in the trace, by another source.
s=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \n')
echo "$s" >"$T/secret"
options() { # FILE URL
	cat >"$T/$1.conf" <<-EOF2
		silent
		insecure
		output = /dev/null
		url = "$2?token=QUERY-$s&user=QUERY-$s"
		header = "Authorization: Bearer AUTH-$s"
		header = "Proxy-Authorization: Basic PROXY-$s"
		header = "X-Api-Key: KEY-$s"
		header = "Cookie: session=COOKIE-$s"
		data = "BODY-$s $(printf %03000d 0)"
	EOF2
}

options http1 http://www.test.lan:8080/post
options http2 http://www.test.lan:8081/s.txt
echo http2-prior-knowledge >>"$T/http2.conf"
options tls http://www.test.lan:8443/s.txt
sed -i 's|http://|https://|' "$T/tls.conf"

# An answer with a cookie and a page; and bytes of a protocol that nobody knows.
cat >"$T/answers.py" <<'EOF2'
import http.server, socket, sys, threading
secret = open(sys.argv[1]).read().strip()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"PAGE-{secret}".encode() * 100
        self.send_response(302)
        self.send_header("Set-Cookie", f"session=SETCOOKIE-{secret}")
        self.send_header("Location", f"/elsewhere?token=LOCATION-{secret}")
        self.send_header("Content-Type", f"text/html; boundary=TYPE-{secret}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

def echo():
    s = socket.socket()
    s.bind(("10.77.0.1", 8301))
    s.listen()
    while True:
        c, _ = s.accept()
        c.sendall(c.recv(4096))
        c.close()

threading.Thread(target=echo, daemon=True).start()
http.server.ThreadingHTTPServer(("10.77.0.1", 8302), Handler).serve_forever()
EOF2
spawn_at $S python3 "$T/answers.py" "$T/secret"
wait_for 10 listens $S t 8302 || fail "a server with secrets starts"
cat >"$T/asks.py" <<'EOF2'
import socket, sys
secret = open(sys.argv[1]).read().strip()

def say(port, *parts):
    s = socket.create_connection(("10.77.0.1", port))
    for part in parts:
        s.sendall(part.encode())
    while s.recv(4096):
        pass

say(8301, f"HELO UNKNOWN-{secret}\r\n")
# The head is over in the middle of what is sent; userinfo; and what looks like a token.
jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx%s.c2lnbmF0dXJl" % secret
say(8080, f"POST http://USER-{secret}:PASS-{secret}@www.test.lan/{jwt}/post HTTP/1.1\r\nHost: www.test.lan\r\n"
    f"Cookie: a=COOKIE-{secret}\r\nConnection: close\r\nContent-Length: 300\r\n\r\n" + f"BODY-{secret}".ljust(300, "-"))
# Heads that never end.
for n in range(20):
    s = socket.create_connection(("10.77.0.1", 8080))
    s.sendall(f"GET /s.txt HTTP/1.1\r\nHost: {'a' * n * 40}\r\nAuthorization: CUT-{secret}".encode())
    s.close()
s = socket.create_connection(("10.77.0.1", 8302))
s.sendall(f"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
while s.recv(4096):
    pass
EOF2

seen() {
	python3 "$here/net_privacy.py" "$@"
}

talk() {
	for kind in http1 http2 tls; do
		ask curl -K "$T/$kind.conf"
	done
	ask python3 "$T/asks.py" "$T/secret"
}

# While the recording goes on, after the parsers have had it. A piece of a stack, on which
# anything may lie, is kept until it has been walked, which may take a table some seconds.
during() {
	local i
	talk
	for ((i = 0; i < 20; i++)); do
		sleep 0.5
		seen memory "$DAEMON" "$T/secret" >"$T/during.out" 2>&1
		DURING=$?
		[ $DURING != 0 ] || break
	done
}

start_tracerd
record secrets during
check "requests with secrets are in the trace" seen there "$T/secrets.trace" /post
check "their secrets are not" seen absent "$T/secrets.trace" "$T/secret"
check "nor are they in the daemon's memory while it records" sh -c "cat '$T/during.out'; exit $DURING"
check "nor afterwards" seen memory "$DAEMON" "$T/secret"
check "the trace keeps the rules" tracectl check "$T/secrets.trace"

# The search itself: it finds what is there.
spawn python3 -c 'import sys, time
kept = open(sys.argv[1]).read().strip() + "KEPT"
print("ready", flush=True)
time.sleep(60)' "$T/secret" >"$T/keeper"
wait_for 10 grep -q ready "$T/keeper"
finds() { # PID
	! seen memory "$1" "$T/secret"
}
check "(the search of memory finds what is there)" finds $!

# ---- what is asked for ----

begin keys --query keys
talk
sleep 0.2
end_recording || fail "recording with --query keys: exit status $?"
check "--query keys: keys, but no values" \
	seen keys "$T/keys.trace" "$T/secret" '/post?token=…&user=…'
begin hashed --names hash
talk
sleep 0.2
end_recording || fail "recording with --names hash: exit status $?"
check "--names hash: no names" seen hashed "$T/hashed.trace" "$T/secret" www.test.lan /post
begin keep --query keep
talk
sleep 0.2
end_recording || fail "recording with --query keep: exit status $?"
check "--query keep: the query, and nothing else" seen kept "$T/keep.trace" "$T/secret"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
