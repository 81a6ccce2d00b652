#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Records of the network as they leave the kernel, without a daemon: what is copied of
# messages whose bodies are secrets, where in its stream each call belongs, and how
# many messages one call moves.
# timeout: 120
. "$(dirname "$0")/lib.sh"

need python3

# Records of whatever COMMAND does, into $T/dump.
dump_while() { # COMMAND...
	: >"$T/dump.err"
	"$O/tests/tools/netdump" -x 60 >"$T/dump" 2>"$T/dump.err" &
	dump=$!
	lib_pids+=("$dump")
	wait_for 20 grep -q started "$T/dump.err" || fail "netdump starts: $(cat "$T/dump.err")"
	"$@" || fail "$*: exit status $?"
	kill -TERM $dump
	wait $dump
	status=$?
}

cat >"$T/messages.py" <<'EOT'
import re, socket, sys, threading

def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"

ANSWERS = {
    b"/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunked(b"SECRET" * 10, b"SECRET" * 5000, b"S"),
    b"/length": b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nSECRETSECRET",
    b"/none": b"HTTP/1.1 204 No Content\r\n\r\n",
    b"/continue": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:6\r\n\r\nSECRET",
    b"/close": b"HTTP/1.0 200 OK\r\n\r\n" + b"SECRET" * 1000,
}

def serve(listener):
    while True:
        c = listener.accept()[0]
        threading.Thread(target=answer, args=(c,), daemon=True).start()

def answer(c):
    asked = b""
    while True:
        got = c.recv(65536)
        if not got:
            c.close()
            return
        asked += got
        out = b""
        while b"\r\n\r\n" in asked:
            head, asked = asked.split(b"\r\n\r\n", 1)
            n = re.search(rb"Content-Length: (\d+)", head)
            if n:
                asked = asked[int(n[1]):]
            out += ANSWERS[head.split()[1]]
        if out:
            c.sendall(out)
        if b"HTTP/1.0" in out:
            c.close()
            return

def ask(port, requests, n):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(requests)
    while n > 0:
        n -= len(s.recv(65536))
    s.close()

listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
threading.Thread(target=serve, args=(listener,), daemon=True).start()

order = [b"/chunks", b"/length", b"/none", b"/continue", b"/length"]
get = lambda p: b"GET " + p + b" HTTP/1.1\r\nHost: a\r\n\r\n"
ask(port, b"".join(map(get, order)), sum(len(ANSWERS[p]) for p in order))
ask(port, b"POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nSECRET" + get(b"/none"),
    len(ANSWERS[b"/length"]) + len(ANSWERS[b"/none"]))
ask(port, get(b"/close"), len(ANSWERS[b"/close"]))
unknown = socket.create_connection(("127.0.0.1", port))
unknown.sendall(b"SECRET of a protocol that nobody knows")
unknown.shutdown(socket.SHUT_WR)
assert unknown.recv(1) == b"" # the other end has read it
print(port)
EOT

io() { # of the server's port: direction, offset, length, runs
	grep -a "^io .*:$port" "$T/dump" | grep -ao ' \(sent\|received\) .*'
}

heads() { # how many of these are in the payload of what was MOVED
	io | grep -a "^ $1 " | grep -ao "$2" | wc -l
}

both_ends() { # each head once where it was sent, once where it was received
	[ "$(heads sent "$1")" = "$2" ] && [ "$(heads received "$1")" = "$2" ]
}

# Of each connection and direction, calls follow each other without a gap.
no_gaps() {
	grep -a "^io .*:$port" "$T/dump" | sed 's/"/ /' | awk '{
		for (i = 1; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] }
		key = $3 " " v["sock"]
		if (v["off"] != end[key] + 0) { print "gap: " $0; bad = 1 }
		end[key] = v["off"] + v["len"]
		n++
	} END { exit bad || n < 10 }'
}

same_pair() { # at both ends of each connection, and at no other
	grep -a "^io .*:$port" "$T/dump" | grep -ao 'sock=[0-9]*\|pair=[0-9a-f]*' | paste - - | sort -u |
		awk '{ if ($2 == "pair=00000000") exit 1; n[$2]++ } END { for (p in n) if (n[p] != 2) exit 1; exit NR == 0 }'
}

dump_while python3 "$T/messages.py" >"$T/port"
port=$(cat "$T/port")
check "every record is valid (exit status $status)" [ $status = 0 ]
check "heads of requests are there at both ends" both_ends 'GET /[a-z]* HTTP/1.1' 7
check "heads of responses are there at both ends" both_ends 'HTTP/1.[01] [0-9][0-9]* [A-Z]' 9
check "so are the lines before chunks" both_ends '3c\\x0d\\x0a7530\\x0d\\x0a1\\x0d\\x0a0\\x0d\\x0a\\x0d\\x0a' 1
check "no byte of a body is" eval '! grep -aq SECRET "$T/dump"'
check "what calls have moved is all of the streams" no_gaps
check "both ends of a connection have its number" same_pair

# ---- many messages of one call ----

cat >"$T/datagrams.py" <<'EOT'
import ctypes, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)

class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
class msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(iovec)),
                ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                ("flags", ctypes.c_int)]
class mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", msghdr), ("len", ctypes.c_uint)]

def query(name):
    return b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + bytes([len(name)]) + name + b"\3lan\0\0\1\0\1"

def many(names, to):
    all = (mmsghdr * len(names))()
    keep = []
    for m, name in zip(all, names):
        data = ctypes.create_string_buffer(query(name), len(query(name)))
        keep += [data, iovec(ctypes.addressof(data), len(data)), to]
        m.hdr.iov, m.hdr.iovlen = ctypes.pointer(keep[-2]), 1
        if to:
            m.hdr.name, m.hdr.namelen = ctypes.addressof(to), len(to)
    return all, keep

server = ctypes.create_string_buffer(struct.pack("=H", socket.AF_INET) + struct.pack("!H", 53) +
                                     socket.inet_aton("127.0.0.1") + bytes(8), 16)
unconnected = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for names in ([b"first", b"second", b"third"], [b"fourth", b"fifth"]):
    all, keep = many(names, server)
    n = libc.sendmmsg(unconnected.fileno(), all, len(all), 0)
    assert n == len(names), n
EOT

dump_while python3 "$T/datagrams.py"
names() {
	grep -a "^io .* sent dns .*-127.0.0.1:53 " "$T/dump" | grep -aoE 'first|second|third|fourth|fifth' | xargs
}
check "each of many messages is the one that was sent" test "$(names)" = "first second third fourth fifth"
