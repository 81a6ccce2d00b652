#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What of HTTP nginx does not do: caches' fields, hints before an answer, trailers, bodies
# that end with the connection or are cut off, tunnels, WebSockets, gRPC. node serves it;
# curl and node ask. And what is said over UNIX sockets, link-local and v4-mapped addresses.
# timeout: 120
. "$(dirname "$0")/netlab.sh"

need curl
need node nodejs
lab_net ""
lab_nginx

cat >"$T/serve.js" <<'EOF2'
const http = require("http"), http2 = require("http2"), net = require("net"), crypto = require("crypto");
const address = "10.77.0.1";

const pages = {
	"/age": (q, a) => a.writeHead(200, { Age: 17, "Content-Length": 4 }).end("old\n"),
	"/hit": (q, a) => a.writeHead(200, { "X-Cache": "HIT from lab", "Content-Length": 4 }).end("hit\n"),
	"/same": (q, a) => a.writeHead(304).end(),
	"/hints": (q, a) => {
		a.writeProcessing();
		a.writeEarlyHints({ link: "</s.css>; rel=preload" }, () => a.writeHead(200, { "Content-Length": 3 }).end("ok\n"));
	},
	"/expect": (q, a) => q.resume().on("end", () => a.writeHead(201, { "Content-Length": 0 }).end()),
	"/trailers": (q, a) => {
		a.writeHead(200, { Trailer: "X-Sum", "Transfer-Encoding": "chunked" });
		a.write("one\n");
		a.addTrailers({ "X-Sum": "a sum" });
		a.end("two\n");
	},
	"/close": (q, a) => {
		a.useChunkedEncodingByDefault = false;
		a.writeHead(200, { Connection: "close" });
		a.write("x".repeat(5000));
		setTimeout(() => a.end("y".repeat(5000)), 20);
	},
	"/cut": (q, a) => {
		a.writeHead(200, { "Content-Length": 1000 });
		a.write("part");
		setTimeout(() => a.destroy(), 20);
	},
};
const server = http.createServer((q, a) => pages[q.url.split("?")[0]](q, a));
server.on("upgrade", (q, s) => {
	const accept = crypto.createHash("sha1").update(q.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	s.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: " + accept.digest("base64") + "\r\n\r\n");
	s.on("data", () => s.write(Buffer.from([0x81, 2, 111, 107]))).on("end", () => s.end());
});
server.on("connect", (q, s) => {
	const [host, port] = q.url.split(":");
	const to = net.connect(port, host, () => {
		s.write("HTTP/1.1 200 Connection Established\r\n\r\n");
		to.pipe(s).pipe(to);
	});
	to.on("error", () => s.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"));
});
server.listen(8400, address);

const h2 = http2.createServer();
h2.on("stream", (s, h) => {
	s.on("error", () => {});
	const path = h[":path"];
	if (path === "/lab.Calls/Refused")
		return s.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": 12 }, { endStream: true });
	if (path === "/lab.Calls/Reset")
		return s.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
	s.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
	s.on("wantTrailers", () => s.sendTrailers({ "grpc-status": path.endsWith("Failed") ? 5 : 0 }));
	s.end(Buffer.from([0, 0, 0, 0, 1, 65]));
});
h2.listen(8401, address);
EOF2
cat >"$T/ask.js" <<'EOF2'
// A WebSocket, on which 5 frames are sent, each when the one before it is answered; then calls.
const http = require("http"), http2 = require("http2");
const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 104, 105]);
const q = http.request("http://10.77.0.1:8400/ws?token=x", { headers: { Connection: "Upgrade", Upgrade: "websocket",
	"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": 13 } });
q.on("upgrade", (a, s) => {
	let n = 0;
	s.on("data", () => (++n < 5 ? s.write(frame) : s.end())).on("close", calls);
	s.write(frame);
}).end();

function calls() {
	const c = http2.connect("http://10.77.0.1:8401");
	let left = 4;
	for (const name of ["Good", "Failed", "Refused", "Reset"]) {
		const s = c.request({ ":method": "POST", ":path": "/lab.Calls/" + name, "content-type": "application/grpc" });
		s.on("error", () => {}).on("close", () => --left || c.close()).resume();
		s.end(Buffer.from([0, 0, 0, 0, 0]));
	}
}
EOF2
spawn_at $S node "$T/serve.js"
SERVER=$!
wait_for 10 listens $S t 8401 || fail "node serves"
link=$(ip -n $S -6 -o addr show dev veth0 scope link | awk '{ sub("/.*", "", $4); print $4 }')

declare -A PID
as() { # KEY COMMAND...
	ask "${@:2}"
	PID[$1]=$LAST
}

cat >"$T/mapped.py" <<'EOF2'
import socket
s = socket.socket(socket.AF_INET6)
s.connect(("::ffff:10.77.0.1", 8080))
s.sendall(b"GET /s.txt HTTP/1.1\r\nHost: mapped\r\nConnection: close\r\n\r\n")
while s.recv(4096):
    pass
EOF2

all() {
	local page method proxy=http://10.77.0.1:8400
	for page in age hit same hints trailers close cut; do
		as $page curl -s -o /dev/null http://10.77.0.1:8400/$page
	done
	as head curl -s -I http://10.77.0.1:8400/age
	as expect curl -s -d hello -H 'Expect: 100-continue' http://10.77.0.1:8400/expect
	# curl reads the answer to CONNECT a byte at a time.
	as tls curl -sk -x $proxy https://10.77.0.1:8444/s.txt
	as plain curl -s -p -x $proxy http://10.77.0.1:8080/s.txt
	as refused curl -s -p -x $proxy http://10.77.0.1:9/s.txt
	as node node "$T/ask.js"
	for method in PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK REPORT SEARCH PURGE; do
		as $method curl -s -o /dev/null -X $method http://10.77.0.1:8080/s.txt
	done
	as scoped curl -s -o /dev/null "http://[$link%veth0]:8080/s.txt"
	as mapped python3 "$T/mapped.py"
	as unix curl -s -o /dev/null --unix-socket "$T/web.sock" http://u/s.txt
}

seen() { # COMMAND ARGS...
	python3 "$here/net_http.py" "$1" "$T/all.trace" "${@:2}"
}

is() { # KEY NAME ARG=VALUE...
	seen request "${PID[$1]}" "${@:2}"
}

start_tracerd
record all all
check "what a cache says" eval '
	is age "GET /age" "cache=age 17" response_body=4 && is hit "GET /hit" "cache=HIT from lab" &&
	is same "GET /same" status=304 "cache=not modified" response_body=0'
check "HEAD" is head "HEAD /age" status=200 response_body=0 "cache=age 17"
check "answers before the answer" eval '
	is hints "GET /hints" status=200 response_body=3 && is expect "POST /expect" status=201 response_body=0'
check "trailers" is trailers "GET /trailers" status=200 response_body=8
check "a body that ends with the connection" is close "GET /close" status=200 response_body=10000 error=
check "one that is cut off" is cut "GET /cut closed" status=200 "error=connection closed"
check "a tunnel, and TLS within it" eval '
	is tls "CONNECT 10.77.0.1:8444" status=200 response_body=0 lost= &&
	is tls "tunnel 10.77.0.1:8444" proto=tunnel &&
	python3 "$here/net_tls.py" handshake "$T/all.trace" "${PID[tls]}" "TLS 1.3"'
check "a tunnel, and HTTP within it" eval '
	is plain "CONNECT 10.77.0.1:8080" status=200 && is plain "GET /s.txt" status=200 response_body=13'
check "a tunnel that is none" is refused "CONNECT 10.77.0.1:9 502" status=502
check "a WebSocket" eval '
	is node "GET /ws?…" status=101 upgrade=websocket &&
	is node "WebSocket /ws?…" proto=WebSocket request_bytes=40 response_bytes=20'
check "calls of gRPC" eval '
	is node "POST /lab.Calls/Good" grpc_status=0 status=200 content_type=application/grpc &&
	is node "POST /lab.Calls/Failed" grpc_status=5 status=200 && is node "POST /lab.Calls/Refused" grpc_status=12 &&
	is node "POST /lab.Calls/Reset reset" status= "error=stream reset: 2"'
check "both ends say the same" seen pairs "$SERVER" 8400
check "of HTTP/2, too" seen pairs "$SERVER" 8401
scope=$(ip -n $C -o link show veth0 | cut -d: -f1)
methods() {
	for method in PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK REPORT SEARCH PURGE; do
		is $method "$method /s.txt 405" status=405 || return 1
	done
}
check "methods of WebDAV and of caches" methods
check "a link-local address" is scoped "GET /s.txt" status=200 "remote=[$link%$scope]:8080"
check "one of IPv4 in a socket of IPv6" is mapped "GET /s.txt" status=200 remote=10.77.0.1:8080
check "a UNIX socket: its bytes alone, as long as its process" seen unix "${PID[unix]}" "$T/web.sock" 249
check "the trace keeps the rules" tracectl check "$T/all.trace"

report() {
	tracectl report --network --top 100 "$T/all.trace" >"$T/report"
	for line in "CONNECT 10.77.0.1:8444 +200 " "tunnel 10.77.0.1:8444 +200 " "WebSocket 10.77.0.1:8400/ws.… +101 " \
		"10.77.0.1:8400/cut +closed " "lab.Calls/Failed +grpc 5 " "lab.Calls/Reset +reset: 2 "; do
		grep -Eq "$line" "$T/report" || { echo "not there: $line" && cat "$T/report" && return 1; }
	done
}
check "and the report says it" report

stop_tracerd
check "the daemon stops cleanly" test $? = 0
