#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# DNS queries and connections in a trace against what programs have asked for, what dig
# says it was told and what dnsmasq has logged.
# timeout: 300
. "$(dirname "$0")/netlab.sh"

need curl
need dig bind9-dnsutils
lab_net ""
lab_nginx
lab_dns

seen() { # COMMAND ARGS...
	python3 "$here/net_dns.py" "$1" "$T/all.trace" "${@:2}"
}

# Somebody who listens and never answers; 10.77.0.77 is nobody, whom packets are sent to.
ip -n $S addr add 10.77.0.9/24 dev veth0
cat >"$T/silent.py" <<'EOF2'
import signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.9", 53))
signal.pause()
EOF2
spawn_at $S python3 "$T/silent.py"
wait_for 10 at $S sh -c "ss -Hlnu 'src 10.77.0.9' | grep -q ." || fail "somebody listens"
ip -n $C neigh add 10.77.0.77 lladdr 02:00:00:00:00:77 dev veth0
# So is 10.77.0.99, whom nobody answers for: it is asked for once.
at $C sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
	echo 1 >/proc/sys/net/ipv4/neigh/veth0/mcast_solicit
	echo 100 >/proc/sys/net/ipv4/neigh/veth0/retrans_time_ms'

# ---- DNS ----

declare -A PID
as() { # KEY COMMAND...
	ask "${@:2}"
	PID[$1]=$LAST
}

# ---- resolvers that are not libc's ----

# musl's, in a static program: nothing of libc is in it, and no library to put a probe in.
cat >"$T/musl.c" <<'EOF2'
#include <netdb.h>
int main(int argc, char **argv)
{
	struct addrinfo *found, want = { .ai_socktype = SOCK_STREAM };
	for (int i = 1; i < argc; i++)
		getaddrinfo(argv[i], "80", &want, &found);
}
EOF2
# c-ares: what node has for dns.resolve*().
cat >"$T/cares.js" <<'EOF2'
const dns = require("dns");
dns.resolve4("alias.test.lan", () => dns.resolve6("www.test.lan", () => dns.resolveTxt("big.test.lan", () => {})));
EOF2
# Java's own, for JNDI.
cat >"$T/Names.java" <<'EOF2'
import java.util.Hashtable;
import javax.naming.directory.*;

public class Names {
	public static void main(String[] args) throws Exception {
		Hashtable<String, String> env = new Hashtable<>();
		env.put("java.naming.factory.initial", "com.sun.jndi.dns.DnsContextFactory");
		env.put("java.naming.provider.url", "dns://10.77.0.1");
		DirContext c = new InitialDirContext(env);
		c.getAttributes("v4.test.lan", new String[] { "A" });
		c.getAttributes("big.test.lan", new String[] { "TXT" });
		java.net.InetAddress.getAllByName("www.test.lan");
	}
}
EOF2
MUSL= GO= NODE= JAVA=
[ -z "$(command -v musl-gcc)" ] || musl-gcc -static -o "$T/musl" "$T/musl.c" && MUSL=yes
[ -z "$(command -v gron)" ] || GO=yes # JSON's grep, which asks for an URL by Go's net
[ -z "$(command -v node)" ] || NODE=yes
[ -z "$(command -v java)" ] || JAVA=yes
echo '{}' >"$T/www/a.json"

resolvers() {
	[ -z "$MUSL" ] || as musl "$T/musl" www.test.lan nx.test.lan
	[ -z "$GO" ] || as go env GODEBUG=netdns=go gron http://www.test.lan:8080/a.json
	[ -z "$GO" ] || as gonx env GODEBUG=netdns=go gron http://nx.test.lan:8080/a.json
	[ -z "$NODE" ] || as cares node "$T/cares.js"
	[ -z "$NODE" ] || as node node -e 'require("dns").lookup("www.test.lan", { all: true }, () => {})'
	[ -z "$JAVA" ] || as java java -XX:TieredStopAtLevel=1 -Xshare:auto "$T/Names.java"
}

questions() {
	local server
	as a dig +tries=1 @10.77.0.1 www.test.lan A
	as aaaa dig +tries=1 @10.77.0.1 www.test.lan AAAA
	as v6 dig +tries=1 @fd77::1 v4.test.lan A
	as tcp dig +tries=1 +tcp @10.77.0.1 many.test.lan A
	as cname dig +tries=1 @10.77.0.1 alias.test.lan A
	as reverse dig +tries=1 @10.77.0.1 -x 10.77.0.1
	as tcp6 dig +tries=1 +tcp @fd77::1 www.test.lan AAAA
	as several dig +tries=1 +tcp +keepopen @10.77.0.1 v4.test.lan A many.test.lan A nx.test.lan A
	as big dig +tries=1 +noedns @10.77.0.1 big.test.lan TXT
	as edns dig +tries=1 +bufsize=1232 +dnssec @10.77.0.1 mid.test.lan TXT
	as nx dig +tries=1 @10.77.0.1 nx.test.lan A
	as refused dig +tries=1 @10.77.0.1 www.other.example A
	as silent dig +tries=1 +time=1 @10.77.0.9 www.test.lan A
	as curl curl -s -o /dev/null http://www.test.lan:8080/s.txt
	printf 'nameserver 10.77.0.9\nnameserver 10.77.0.1\noptions timeout:1 attempts:1\n' >"$T/resolv.conf"
	as second getent ahosts v4.test.lan
	echo "nameserver 10.77.0.1" >"$T/resolv.conf"
	as python python3 -c 'import socket; print(socket.getaddrinfo("www.test.lan", 80))'
	: >"$T/asked"
	for server in 1 2 3; do
		ask "$prog/netclient" ask 10.77.0.1 n$server.test.lan o$server.test.lan p$server.test.lan
		cat "$T/out" >>"$T/asked"
	done
}

# ---- connections ----

cat >"$T/connect.py" <<'EOF2'
# Without a request: the name can only be that of DNS.
import socket, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
time.sleep(0.1)
s.close()
EOF2

connects() {
	as refused4 curl -s http://10.77.0.1:9999/
	as refused6 curl -s 'http://[fd77::1]:9999/'
	as unreachable curl -s http://10.77.0.99:80/
	as nobody curl -s http://10.77.0.77:80/
	as other python3 -c 'import socket
try: socket.create_connection(("fd77::1", 8444))
except OSError: socket.create_connection(("10.77.0.1", 8444)).close()'
	as named python3 "$T/connect.py" www.test.lan 8080
	as given_up curl -s --max-time 0.5 http://10.77.0.77:81/
}

query() { # KEY TYPE NAME RCODE ANSWERS [ARG=VALUE...]
	seen query "${PID[$1]}" "${@:2}"
}

failed() { # KEY REMOTE ERROR
	seen connect "${PID[$1]}" "${@:2}"
}

quic() { # VERSION: both ends are told
	[ "$("$SLICEDUMP" "$T/all.trace" | grep -c "	udp	connection	.*protocol=QUIC	quic_version=$1	quic_destination_id_bytes=8	quic_source_id_bytes=5")" = 2 ]
}

all() {
	questions
	resolvers
	connects
	ask python3 "$here/quic.py" 1
	ask python3 "$here/quic.py" 2
}

start_tracerd --verbose
record all all

check "A" query a A www.test.lan NOERROR 10.77.0.1 proto=UDP server=10.77.0.1:53
check "AAAA" query aaaa AAAA www.test.lan NOERROR fd77::1 proto=UDP
check "over IPv6" query v6 A v4.test.lan NOERROR 10.77.0.1 'server=[fd77::1]:53'
check "over TCP" query tcp A many.test.lan NOERROR 10.77.1.1,10.77.1.7 proto=TCP
check "CNAME" query cname A alias.test.lan NOERROR "CNAME www.test.lan,10.77.0.1"
check "NXDOMAIN" query nx A nx.test.lan NXDOMAIN ""
check "REFUSED" query refused A www.other.example REFUSED ""
check "no answer" query silent A www.test.lan "" "" server=10.77.0.9:53
check "the resolver of libc asks for A" query curl A www.test.lan NOERROR 10.77.0.1
check "and, in the same call, for AAAA" query curl AAAA www.test.lan NOERROR fd77::1
check "a server that does not answer is waited for until another is asked" \
	seen waited "${PID[second]}" A v4.test.lan 10.77.0.9:53 10.77.0.1:53
check "python's as well" query python AAAA www.test.lan NOERROR fd77::1
check "what is too long is asked for again by TCP" seen truncated "${PID[big]}" TXT big.test.lan
check "... which EDNS makes unnecessary" query edns TXT mid.test.lan NOERROR "TXT 201 bytes" proto=UDP truncated=
check "over TCP and IPv6" query tcp6 AAAA www.test.lan NOERROR fd77::1 'server=[fd77::1]:53' proto=TCP
several() { # NAME RCODE ANSWER
	query several A "$@" proto=TCP
}
check "several over one connection" eval 'several v4.test.lan NOERROR 10.77.0.1 &&
	several many.test.lan NOERROR 10.77.1.9 && several nx.test.lan NXDOMAIN ""'
[ -z "$MUSL" ] || check "musl's resolver, in a static program" eval '
	query musl A www.test.lan NOERROR 10.77.0.1 && query musl AAAA www.test.lan NOERROR fd77::1 &&
	query musl A nx.test.lan NXDOMAIN ""'
[ -z "$GO" ] || check "Go's" eval '
	query go A www.test.lan NOERROR 10.77.0.1 && query go AAAA www.test.lan NOERROR fd77::1 &&
	query gonx A nx.test.lan NXDOMAIN "" && query gonx AAAA nx.test.lan NXDOMAIN ""'
[ -z "$NODE" ] || check "c-ares" eval '
	query cares A alias.test.lan NOERROR "CNAME www.test.lan,10.77.0.1" &&
	query cares AAAA www.test.lan NOERROR fd77::1 &&
	seen truncated "${PID[cares]}" TXT big.test.lan'
[ -z "$NODE" ] || check "node's lookup(), by threads" eval '
	query node A www.test.lan NOERROR 10.77.0.1 && query node AAAA www.test.lan NOERROR fd77::1'
[ -z "$JAVA" ] || check "Java's, and what it asks libc" eval '
	query java A v4.test.lan NOERROR 10.77.0.1 && query java A www.test.lan NOERROR 10.77.0.1 &&
	seen truncated "${PID[java]}" TXT big.test.lan'
check "dnsmasq's side, while somebody asks" seen served "$DNSMASQ" PTR 1.0.77.10.in-addr.arpa NOERROR
check "sockets that follow one another: each query is its process's" seen whose "$T/asked"
cost=$(sed -n 's/.*net: a probe costs \([0-9]*\) ns.*/\1/p' "$T/tracerd.log")
if [ "${cost:-5000}" -lt 5000 ]; then
	check "getaddrinfo() is around its queries" seen lookup "${PID[python]}" www.test.lan
else
	echo "skip - getaddrinfo() is not probed where that costs ${cost:-?} ns"
fi
check "all that dnsmasq has logged" seen all "$DNSMASQ" "$T/dnsmasq.log"
check "a port that is closed" failed refused4 10.77.0.1:9999 ECONNREFUSED
check "one of IPv6" failed refused6 '[fd77::1]:9999' ECONNREFUSED
check "somebody who does not answer" failed nobody 10.77.0.77:80 ETIMEDOUT
check "nobody on the link" failed unreachable 10.77.0.99:80 EHOSTUNREACH
check "IPv6 is refused ..." failed other '[fd77::1]:8444' ECONNREFUSED
check "... and IPv4 then is not" seen connected "${PID[other]}" 10.77.0.1:8444
check "a connection has the name that DNS was asked for" \
	seen named "${PID[named]}" www.test.lan 8080
check "one that is given up is there" seen given_up "${PID[given_up]}" 10.77.0.77:81
check "QUIC is known by its first packets" quic 1
check "so is its second version" quic 2
check "the trace keeps the rules" tracectl check "$T/all.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
