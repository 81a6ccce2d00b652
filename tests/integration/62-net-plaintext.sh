#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests within TLS, as its libraries are given them, against what programs say that
# they have asked and nginx that it was asked; of whom it was asked for, and of nobody else.
# timeout: 300
. "$(dirname "$0")/netlab.sh"

need curl
need openssl
lab_net ""
lab_nginx
lab_dns
https=https://www.test.lan:8444

seen() {
	python3 "$here/net_plaintext.py" "$@"
}

# What the daemon has said since the recording was begun.
logged() { # PATTERN
	tail -n +"$LINES_BEFORE" "$T/tracerd.log" | grep -q "$1"
}

# Others may use the network so much that something is lost: then once more, if it must be.
whole() { # NAME FUNCTION ARGS... of the recording
	for _ in 1 2 3; do
		: >"$T/access.log"
		LINES_BEFORE=$(($(wc -l <"$T/tracerd.log") + 1))
		begin "$1" --query keep "${@:3}"
		"$2"
		sleep 0.2
		kill -INT "$RECORDING"
		wait "$RECORDING"
		[ $? = 3 ] || return 0
	done
}

# ---- clients: each says "PATH LOCAL_PORT", where it knows the latter ----

cat >"$T/three.js" <<'EOF2'
// Three connections at once, whose bytes it moves between OpenSSL and sockets itself.
const https = require("https");
const agent = new https.Agent({ keepAlive: true, maxSockets: 3 });
let left = 30;
for (let i = 0; i < 30; i++) {
	const path = "/s.txt?node=" + i;
	const r = https.get({ host: "www.test.lan", port: 8444, path, agent, rejectUnauthorized: false }, (answer) => {
		answer.resume();
		answer.on("end", () => {
			console.log(path, r.socket.localPort);
			if (--left === 0) agent.destroy();
		});
	});
}
EOF2
cat >"$T/three.py" <<'EOF2'
# Three connections at once, by asyncio, which does the same.
import asyncio, ssl

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

async def ask(k):
    reader, writer = await asyncio.open_connection("www.test.lan", 8444, ssl=context)
    port = writer.get_extra_info("sockname")[1]
    for i in range(8):
        path = f"/s.txt?asyncio={k}.{i}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: www.test.lan\r\n\r\n".encode())
        await reader.readuntil(b"a small page\n")
        print(path, port)
    writer.close()

async def main():
    await asyncio.gather(*(ask(k) for k in range(3)))

asyncio.run(main())
EOF2
cat >"$T/get.py" <<'EOF2'
# By the ssl module on a socket, which calls SSL_read_ex() and SSL_write_ex().
import http.client, ssl

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
c = http.client.HTTPSConnection("www.test.lan", 8444, context=context)
for i in range(5):
    path = f"/s.txt?python={i}"
    c.request("GET", path)
    port = c.sock.getsockname()[1]
    c.getresponse().read()
    print(path, port)
EOF2

client() { # LINKS OUTPUT COMMAND...: OUTPUT "-": what the command says
	[ -n "$(command -v "$3")" ] || return 0
	ask "${@:3}" <"${STDIN-/dev/null}"
	if [ "$2" = - ]; then
		awk -v pid="$LAST" -v links="$1" 'BEGIN { OFS = "\t" } { print pid, $1, $2, links }' "$T/out"
	else
		printf '%s\t%s\t-\t%s\n' "$LAST" "$2" "$1"
	fi >>"$T/asked"
}

request() { # PATH
	printf 'GET %s HTTP/1.1\r\nHost: www.test.lan\r\nConnection: close\r\n\r\n' "$1" >"$T/request"
}

# On a busy machine it takes a while until it is known where functions are.
all_probed() { # LIBRARY
	logged "all processes have probes in .*$1"
}

clients() {
	: >"$T/asked"
	wait_for 10 all_probed libssl || fail "OpenSSL is probed"
	[ -z "$(command -v gnutls-cli)" ] || wait_for 10 all_probed libgnutls || fail "GnuTLS is probed"
	[ -z "$(command -v tstclnt)" ] || wait_for 10 all_probed libnspr4 || fail "NSPR is probed"
	# There are such that contain OpenSSL, and such that use the library.
	[ -z "$(command -v node)" ] || ldd "$(command -v node)" | grep -q libssl ||
		wait_for 10 all_probed node || fail "node is probed"
	client nested "/s.txt?curl" curl -sk --http1.1 "$https/s.txt?curl"
	client nested "/s.txt?h2" curl -sk "https://www.test.lan:8443/s.txt?h2"
	client nested "/numbers.txt?big" curl -sk --http2 -o /dev/null "https://www.test.lan:8443/numbers.txt?big"
	client nested "/s.txt?tls12" curl -sk "https://www.test.lan:8445/s.txt?tls12"
	client nested - python3 "$T/get.py"
	client last,guess - python3 "$T/three.py"
	client last,guess - node "$T/three.js"
	request "/s.txt?gnutls"
	STDIN=$T/request client nested "/s.txt?gnutls" gnutls-cli --insecure --port 8444 www.test.lan
	request "/s.txt?openssl"
	STDIN=$T/request client nested "/s.txt?openssl" openssl s_client -quiet -connect www.test.lan:8444
	request "/s.txt?nss"
	STDIN=$T/request client nested "/s.txt?nss" tstclnt -h 10.77.0.1 -p 8444 -o -D
	ask wget -qO /dev/null --no-check-certificate "$https/s.txt?nobody" # nobody has asked for it
}

python=$(basename "$(readlink -f "$(command -v python3)")")
whom=()
for comm in curl "${python:0:15}" "python[3]*" "nod?" gnutls-cli "open*" tstclnt; do
	whom+=(--tls-plaintext "comm:$comm")
done

start_tracerd --verbose
whole clients clients "${whom[@]}"
check "each request is there once, with the connection that it went over" \
	seen clients "$T/clients.trace" "$T/asked"
check "who was not asked for has none" seen nobody "$T/clients.trace" nobody
check "names that were looked up have their time" seen lookups "$T/clients.trace" www.test.lan
check "the trace keeps the rules" tracectl check "$T/clients.trace"

# ---- servers ----

probed() { # PID
	logged "process $1 has probes in .*libssl"
}

load() {
	for pid in $(pgrep -P "$NGINX"); do
		wait_for 10 probed "$pid" || fail "worker $pid is probed"
	done
	ask h2load -n 300 -c 3 -m 5 "https://10.77.0.1:8443/s.txt?many"
	ask ab -q -k -n 300 -c 3 "https://10.77.0.1:8444/s.txt?ab"
}

whole server load --tls-plaintext "pid:$NGINX"
check "a process and its children: each request is there, on its connection" \
	seen server "$T/server.trace" "$T/access.log" "$(nginx_workers)" many,ab
check "clients that were not asked for have none" seen only "$T/server.trace" "$(nginx_workers)"
check "the trace keeps the rules" tracectl check "$T/server.trace"

record unasked ask curl -sk "$https/s.txt?unasked"
check "without being asked for nothing is read" seen nobody "$T/unasked.trace" s.txt

# ---- a library that was replaced ----

mkdir "$T/lib"
cp "$(ldd "$(command -v nginx)" | awk '/libssl/ { print $3 }')" "$T/lib/libssl.so.3"
cat >"$T/old.conf" <<-EOF2
	daemon off;
	master_process off;
	user root;
	pid $T/old.pid;
	error_log $T/old.log;
	events { }
	http {
		access_log off;
		client_body_temp_path $T/ng6; proxy_temp_path $T/ng7; fastcgi_temp_path $T/ng8;
		uwsgi_temp_path $T/ng9; scgi_temp_path $T/ng10;
		server {
			listen 8500 ssl;
			ssl_certificate $T/cert.pem;
			ssl_certificate_key $T/key.pem;
			location / { return 200 "old"; }
		}
	}
EOF2
LD_LIBRARY_PATH=$T/lib spawn_at $S nginx -p "$T" -e "$T/old.log" -c "$T/old.conf"
OLD=$!
wait_for 10 listens $S t 8500 || fail "a second nginx starts"
cp "$T/lib/libssl.so.3" "$T/lib/new" && mv "$T/lib/new" "$T/lib/libssl.so.3"
grep -q 'libssl.so.3 (deleted)' "/proc/$OLD/maps" || fail "the server's library is replaced"

# The file that is there now, and the one that was.
both_probed() {
	[ "$(grep -c "all processes have probes in $T/lib/libssl.so.3" "$T/tracerd.log")" = 2 ]
}

begin replaced --query keep --tls-plaintext "pid:$OLD"
wait_for 10 probed "$OLD" || fail "the server is probed"
ask curl -sk --http1.1 https://10.77.0.1:8500/replaced
sleep 0.2
end_recording
check "a library that is replaced under a running server, by the server" \
	seen one "$T/replaced.trace" "$OLD" /replaced
begin replaced --query keep --tls-plaintext "lib:$T/lib/libssl.so.3"
wait_for 10 both_probed || fail "both are probed"
ask curl -sk --http1.1 https://10.77.0.1:8500/replaced
sleep 0.2
end_recording
check "the same, by the library" seen one "$T/replaced.trace" "$OLD" /replaced

# ---- a program made by Go, which a probe on the way out would end ----

cat >"$T/go.c" <<'EOF2'
#include <unistd.h>
__attribute__((section(".go.buildinfo"), used)) static const char mark[] = "go";
__attribute__((noinline)) int SSL_write(void *s, const void *buf, int n) { return s && buf ? n : 0; }
int main(void) { for (;;) { SSL_write((void *)mark, mark, 1); usleep(1000); } }
EOF2
if gcc -O1 -o "$T/goish" "$T/go.c" 2>/dev/null; then
	spawn "$T/goish"
	begin go --tls-plaintext "pid:$!"
	wait_for 10 grep -q "made by Go is not probed" "$T/tracerd.log"
	end_recording
	check "a program made by Go is not probed" grep "made by Go is not probed" "$T/tracerd.log"
fi

stop_tracerd
check "the daemon stops cleanly" test $? = 0
