#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# TLS as it is seen on the wire, of every library there is, against what nginx has logged.
# timeout: 300
. "$(dirname "$0")/netlab.sh"

need curl
need openssl
lab_net ""
lab_nginx
lab_dns
https=https://www.test.lan

seen() { # COMMAND ARGS...
	python3 "$here/net_tls.py" "$1" "$T/all.trace" "${@:2}"
}

# ---- clients ----

cat >"$T/get.py" <<'EOF2'
# PORT [OTHER]: by the ssl module; OTHER: "pieces" sends the ClientHello in three, "twice" resumes,
# a number is the port it comes from.
import socket, ssl, sys, time
port, other = int(sys.argv[1]), sys.argv[2:]
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
request = b"GET /s.txt HTTP/1.1\r\nHost: www.test.lan\r\nConnection: close\r\n\r\n"

def connect():
    if not other or not other[0].isdigit():
        return socket.create_connection(("www.test.lan", port))
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("10.77.0.2", int(other[0])))
    s.connect(("10.77.0.1", port))
    return s

def get(session=None):
    s = context.wrap_socket(connect(), server_hostname="www.test.lan", session=session)
    s.sendall(request)
    while s.recv(4096):
        pass
    return s.session

def pieces():
    raw = socket.create_connection(("www.test.lan", port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(into, out, server_hostname="www.test.lan")
    first = True
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            data = out.read()
            for part in (data[:3], data[3:70], data[70:]) if first else (data,):
                raw.sendall(part)
                time.sleep(0.02)
            first = False
            into.write(raw.recv(65536))
    tls.write(request)
    raw.sendall(out.read())
    while raw.recv(4096):
        pass

if other == ["pieces"]:
    pieces()
else:
    session = get()
    if other == ["twice"]:
        get(session)
EOF2
cat >"$T/get.js" <<'EOF2'
require("https").get({ host: "www.test.lan", port: 8444, path: "/s.txt", rejectUnauthorized: false, agent: false },
	(r) => r.resume());
EOF2
cat >"$T/Get.java" <<'EOF2'
import java.net.*;
import java.security.cert.X509Certificate;
import javax.net.ssl.*;

public class Get {
	public static void main(String[] args) throws Exception {
		TrustManager all = new X509TrustManager() {
			public void checkClientTrusted(X509Certificate[] c, String a) {}
			public void checkServerTrusted(X509Certificate[] c, String a) {}
			public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
		};
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(null, new TrustManager[] { all }, null);
		HttpsURLConnection c = (HttpsURLConnection) new URL("https://www.test.lan:8444/s.txt").openConnection();
		c.setSSLSocketFactory(context.getSocketFactory());
		c.getInputStream().readAllBytes();
	}
}
EOF2
printf 'GET /s.txt HTTP/1.1\r\nHost: www.test.lan\r\nConnection: close\r\n\r\n' >"$T/request"

# Each is a line of the table: who, what it offers (ALPN), which name it asks for, how often.
client() { # OFFER SNI N COMMAND...
	[ -n "$(command -v "$4")" ] || return 0
	ask "${@:4}" <"${STDIN-/dev/null}"
	printf '%s\t%s\t%s\t%s\t%s\n' "$LAST" "$1" "$2" "$3" "${*:4}" >>"$T/clients"
}

clients() {
	: >"$T/clients"
	client h2,http/1.1 www.test.lan 1 curl -sk $https:8443/s.txt
	client h2,http/1.1 www.test.lan 1 curl -sk --tls-max 1.2 $https:8443/s.txt
	client http/1.1 www.test.lan 1 curl -sk --http1.1 $https:8444/s.txt
	client "" www.test.lan 1 curl -sk --no-alpn $https:8445/s.txt
	client h2,http/1.1 "" 1 curl -sk https://10.77.0.1:8444/s.txt
	client "" www.test.lan 1 wget -qO /dev/null --no-check-certificate $https:8444/s.txt
	STDIN=$T/request client "" www.test.lan 1 gnutls-cli --insecure --port 8444 www.test.lan
	STDIN=$T/request client http/1.1 other.test.lan 1 openssl s_client -quiet -connect 10.77.0.1:8444 \
		-servername other.test.lan -alpn http/1.1
	STDIN=$T/request client "" www.test.lan 1 openssl s_client -quiet -connect www.test.lan:8444 -tls1_2 \
		-cipher ECDHE-ECDSA-CHACHA20-POLY1305
	STDIN=$T/request client "" www.test.lan 1 tstclnt -h www.test.lan -p 8444 -o -D -4
	client "" www.test.lan 1 gron -k $https:8444/s.txt
	# Whose first key the server does not take: it is asked for another.
	STDIN=$T/request client "" www.test.lan 1 openssl s_client -quiet -connect www.test.lan:8443 \
		-groups P-384:X25519
	client "" www.test.lan 1 python3 "$T/get.py" 8444
	client "" www.test.lan 1 python3 "$T/get.py" 8444 pieces
	client "" www.test.lan 2 python3 "$T/get.py" 8444 twice
	client "" www.test.lan 2 python3 "$T/get.py" 8445 twice
	client "" www.test.lan 1 python3 "$T/get.py" 8444 20000 # one port, two servers: below those
	client "" www.test.lan 1 python3 "$T/get.py" 8445 20000 # that the kernel gives out
	client "" www.test.lan 1 node "$T/get.js"
	client "" www.test.lan 1 java -XX:TieredStopAtLevel=1 -Xshare:auto "$T/Get.java"
	client h2,h2-16,h2-14,http/1.1 "" 1 h2load -n 20 -c 1 https://10.77.0.1:8443/s.txt
}

failures() {
	ask curl -s --tls-max 1.2 $https:8444/s.txt # whose certificate it does not know
	UNKNOWN=$LAST
	ask openssl s_client -connect 10.77.0.1:8445 -tls1_3 # which the server does not speak
	OLD=$LAST
	ask curl -sk https://www.test.lan:8080/ # which is no TLS
	PLAIN=$LAST
}

many() {
	ask h2load -n 200 -c 50 -m 1 https://10.77.0.1:8443/s.txt
	MANY=$LAST
}

all() {
	clients
	failures
	many
}

openssl ciphers -stdname ALL >"$T/ciphers"
start_tracerd
record all all
check "name, versions, cipher, ALPN of each library are as nginx says, at both ends" \
	seen clients "$T/access.log" "$T/ciphers" "$T/clients" "$(nginx_workers)"
check "what is encrypted is there as turns" seen turns "$T/clients"
check "a certificate that a client does not take" \
	seen alert "$UNKNOWN" 10.77.0.1:8444 unknown_ca
check "a version that a server does not take" \
	seen alert "$OLD" 10.77.0.1:8445 protocol_version
check "a server that does not speak TLS" seen no_tls "$PLAIN"
check "each of many handshakes" seen many "$MANY" "$(nginx_workers)" 50
check "the trace keeps the rules" tracectl check "$T/all.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
