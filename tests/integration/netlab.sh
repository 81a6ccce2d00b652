# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# netlab.sh - two machines on one, for tests of the source "net". Source it instead of
# lib.sh, which it sources:
#
#	. "$(dirname "$0")/netlab.sh"
#
#   lab_net NAME              namespaces NAMEs with 10.77.0.1, fd77::1 and NAMEc with .2, ::2
#   at NAMESPACE COMMAND...   runs it there, in the foreground
#   spawn_at NAMESPACE CMD... as spawn
#   ask COMMAND...            runs it in $C, with its output in $T/out; $LAST is its pid
#   lab_nginx                 in $S, ports as below; $NGINX is its pid, $T/access.log its log
#   lab_dns                   dnsmasq in $S; what it knows is below
#   record NAME COMMAND...    the whole machine while COMMAND runs, into $T/NAME.trace
#   begin NAME, end_recording the same, from here to there
#
# $S and $C are the namespaces of lab_net "", the server's and the client's.
#
# Everything is in mount and network namespaces of this script alone, which end with it:
# the host's resolv.conf, routes, services and /run/netns are not touched.

if [ -z "${NETLAB-}" ] && unshare -m true 2>/dev/null; then
	NETLAB=1 exec unshare -m --propagation private bash "$0"
fi
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -n "${NETLAB-}" ] || skip "no mount namespace"
PATH=$PATH:/usr/sbin:/sbin:/var/lib/tracer-tests/usr/sbin
export LC_ALL=C.UTF-8

need python3
need ip iproute2
need nsenter util-linux
chmod 755 "$T"
# shellcheck disable=SC2034 # for the scripts
{
	here=$SRC/tests/integration
	prog=$O/tests/integration/prog
	S=s C=c
}
export SLICEDUMP=$O/tests/tools/slicedump

# ---- namespaces ----

mkdir -p /run/netns 2>/dev/null
mount -t tmpfs -o mode=755 none /run/netns || skip "cannot mount"
ip netns add probe 2>/dev/null || skip "no network namespaces"
ip netns delete probe

at() {
	nsenter --net="/run/netns/$1" -- "${@:2}"
}

spawn_at() {
	spawn nsenter --net="/run/netns/$1" -- "${@:2}"
}

ask() { # COMMAND...
	nsenter --net="/run/netns/$C" -- "$@" <&0 >"$T/out" 2>&1 &
	LAST=$!
	wait $LAST
}

lab_net() { # NAME
	local s=$1s c=$1c
	ip netns add "$s"
	ip netns add "$c"
	ip -n "$s" link add veth0 type veth peer name veth0 netns "$c" || skip "no virtual Ethernet"
	for ns in "$s" "$c"; do
		# No duplicate address detection: addresses are there at once.
		at "$ns" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
			echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad' 2>/dev/null
		ip -n "$ns" link set lo up
		ip -n "$ns" link set veth0 up
	done
	ip -n "$s" addr add 10.77.0.1/24 dev veth0
	ip -n "$c" addr add 10.77.0.2/24 dev veth0
	ip -n "$s" addr add fd77::1/64 dev veth0 nodad
	ip -n "$c" addr add fd77::2/64 dev veth0 nodad
}

# Programs of the lab ask its name server, and no other.
resolve_by() { # ADDRESS
	echo "nameserver $1" >"$T/resolv.conf"
	echo "hosts: files dns" >"$T/nsswitch.conf"
	for file in resolv.conf nsswitch.conf; do
		mount --bind "$T/$file" "/etc/$file" || skip "no /etc/$file to mount over"
	done
}

# ---- servers ----

listens() { # NAMESPACE PROTOCOL PORT
	at "$1" ss -Hln"$2" "sport = :$3" | grep -q .
}

# Expectations in the tests are made of what is said here.
lab_files() {
	mkdir -p "$T/www/a/b"
	echo "a small page" >"$T/www/s.txt"
	echo "a page of another folder" >"$T/www/a/b/page.html"
	head -c 300000 /dev/zero | tr '\0' 'x' >"$T/www/big.bin"
	seq 20000 >"$T/www/numbers.txt"
	chmod -R a+rX "$T/www"
}

lab_certificate() {
	need openssl
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj /CN=test.lan -addext 'subjectAltName=DNS:*.test.lan,DNS:test.lan,IP:10.77.0.1' \
		-keyout "$T/key.pem" -out "$T/cert.pem" 2>/dev/null || fail "openssl makes a certificate"
}

# Port 8080 HTTP/1, 8081 HTTP/2 in clear text, 8443 TLS with HTTP/2, 8444 TLS with HTTP/1,
# 8445 TLS 1.2 alone; 8090 a proxy before 8080; unix:$T/web.sock.
lab_nginx() {
	need nginx nginx-light
	[ -e "$T/www" ] || lab_files
	[ -e "$T/cert.pem" ] || lab_certificate
	cat >"$T/nginx.conf" <<-EOF2
		daemon off;
		user root;
		worker_processes 2;
		pid $T/nginx.pid;
		error_log $T/error.log;
		events { worker_connections 1024; }
		http {
			types { text/html html; text/plain txt; application/octet-stream bin; }
			log_format lab '\$pid \$connection \$connection_requests \$remote_addr \$remote_port \$server_port'
				' \$request_method \$request_uri \$status \$bytes_sent \$body_bytes_sent \$request_length'
				' \$server_protocol \$ssl_protocol \$ssl_cipher \$ssl_server_name \$ssl_session_reused'
				' \$ssl_alpn_protocol';
			access_log $T/access.log lab;
			sendfile on;
			tcp_nopush on;
			keepalive_requests 1000000;
			gzip_types text/plain;
			gzip_http_version 1.0;
			client_max_body_size 10m;
			client_body_temp_path $T/ng1; proxy_temp_path $T/ng2; fastcgi_temp_path $T/ng3;
			uwsgi_temp_path $T/ng4; scgi_temp_path $T/ng5;
			ssl_certificate $T/cert.pem;
			ssl_certificate_key $T/key.pem;
			ssl_protocols TLSv1.2 TLSv1.3;
			ssl_ecdh_curve X25519:prime256v1;
			upstream page { server 127.0.0.1:8080; keepalive 8; }
			server {
				listen 8080;
				listen [::]:8080;
				listen 8081 http2;
				listen 8443 ssl http2;
				listen [::]:8443 ssl http2;
				listen 8444 ssl;
				listen unix:$T/web.sock;
				root $T/www;
				location = /204 { return 204; }
				location = /500 { return 500; }
				location = /moved { return 302 /s.txt; }
				location = /post {
					proxy_pass http://page/s.txt;
					proxy_method GET;
					proxy_pass_request_body off;
					proxy_set_header Content-Length "";
				}
				location = /numbers.txt { gzip on; }
			}
			server {
				listen 8445 ssl;
				ssl_protocols TLSv1.2;
				root $T/www;
			}
			server {
				listen 8090;
				location / { proxy_pass http://page; proxy_http_version 1.1; proxy_set_header Connection ""; }
			}
		}
	EOF2
	: >"$T/access.log"
	spawn_at $S nginx -p "$T" -e "$T/error.log" -c "$T/nginx.conf"
	NGINX=$!
	wait_for 10 listens $S t 8090 || { cat "$T/error.log"; fail "nginx starts"; exit 1; }
}

nginx_workers() {
	pgrep -P "$NGINX" | paste -sd, -
}

# Of test.lan it knows www (A, AAAA), v4 (A), alias (CNAME www), many (20 A), mid and big (TXT,
# 800 and 1,200 bytes); other names of it do not exist, all else is refused.
lab_dns() {
	need dnsmasq dnsmasq-base
	{
		echo "user=root"
		echo "pid-file="
		echo "no-resolv"
		echo "no-hosts"
		echo "no-poll"
		echo "log-queries"
		echo "bind-interfaces"
		echo "listen-address=10.77.0.1,fd77::1"
		echo "local=/test.lan/"
		echo "host-record=www.test.lan,10.77.0.1,fd77::1"
		echo "host-record=v4.test.lan,10.77.0.1"
		echo "host-record=v6first.test.lan,10.77.0.1,fd77::1"
		echo "cname=alias.test.lan,www.test.lan"
		for i in $(seq 20); do
			echo "host-record=many.test.lan,10.77.1.$i"
		done
		for i in $(seq 6); do
			echo "txt-record=big.test.lan,$(printf '%0200d' "$i")"
			[ "$i" -gt 4 ] || echo "txt-record=mid.test.lan,$(printf '%0200d' "$i")"
		done
	} >"$T/dnsmasq.conf"
	# It stays one process, and says on stderr what it is asked.
	spawn_at $S dnsmasq -d -C "$T/dnsmasq.conf" 2>"$T/dnsmasq.log"
	# shellcheck disable=SC2034
	DNSMASQ=$!
	wait_for 10 listens $S u 53 || { cat "$T/dnsmasq.log"; fail "dnsmasq starts"; exit 1; }
	resolve_by 10.77.0.1
}

# ---- recordings ----

begin() { # NAME ARGS...
	[ ! -e "$T/access.log" ] || : >"$T/access.log"
	spawn "$O/tracectl" --socket "$SOCKET" record -q -f -a -s net -o "$T/$1.trace" "${@:2}"
	RECORDING=$!
	wait_for 30 test -s "$T/$1.trace" || fail "recording $1 begins"
}

# Exit status 3: something was lost, which the trace says; that it says so is another's test.
end_recording() {
	kill -INT "$RECORDING"
	wait "$RECORDING" || [ $? = 3 ]
}

record() { # NAME COMMAND...
	begin "$1"
	"${@:2}"
	sleep 0.2 # servers are done with it, too
	end_recording || fail "recording $1: exit status $?"
}

