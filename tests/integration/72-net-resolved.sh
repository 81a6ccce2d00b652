#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names that are asked of systemd-resolved over its own socket: a program of ours serves it.
# Of all other UNIX sockets, whatever is said on them, nothing is read.
# timeout: 120
. "$(dirname "$0")/netlab.sh"

lab_net ""
spawn_at $S python3 -c 'import signal, socket; s = socket.create_server(("10.77.0.1", 8080)); signal.pause()'
wait_for 10 listens $S t 8080 || fail "somebody listens"
path=/run/systemd/resolve/io.systemd.Resolve
mkdir -p /run/systemd # what is in it is seen by this script alone
mount -t tmpfs none /run/systemd || skip "cannot mount"
mkdir -p /run/systemd/resolve "$T/root/run/systemd/resolve" "$T/run/systemd/resolve"

serve() { # DIRECTORY PATH: as seen from there
	spawn_at $C sh -c 'cd "$1" && exec python3 "$2" serve "$3"' sh "$1" "$here/resolved.py" "$2"
	wait_for 10 sh -c 'cd "$1" && test -S "$2"' sh "$1" "$2" || fail "somebody serves $2"
}
serve / $path
# Names of which the wanted one is a part, or that are parts of it.
serve / ${path}2
serve / "$T$path"
serve "$T/root" "${path#/}"

declare -A PID
as() { # KEY ARGS...
	ask python3 "$here/resolved.py" "${@:2}"
	PID[$1]=$LAST
	cat "$T/out" >>"$T/said"
}

questions() {
	as both ask $path WWW.test.lan
	as v4 ask $path www.test.lan 2
	as v6 ask $path v4.test.lan 10
	as nx ask $path nx.test.lan
	as down ask $path elsewhere.example
	as reverse reverse $path 10.77.0.1
	as connect connect $path www.test.lan 8080
	as longer ask ${path}2 planted1.test.lan
	as deeper ask "$T$path" planted2.test.lan
	cd "$T/root" || exit
	as relative ask "${path#/}" planted3.test.lan
	cd / || exit
}

seen() { # COMMAND ARGS...
	python3 "$here/net_dns.py" "$1" "$T/all.trace" "${@:2}"
}

asked() { # KEY TYPE NAME RCODE ANSWERS ARG=VALUE...
	seen query "${PID[$1]}" "$2" "$3" "$4" "$5" server=systemd-resolved proto=varlink "${@:6}"
}

start_tracerd
record all questions
sed 's/^/# /' "$T/said"
check "both kinds of addresses" asked both A+AAAA www.test.lan NOERROR 10.77.0.1,fd77::1
check "those of IPv4" asked v4 A www.test.lan NOERROR 10.77.0.1
check "there is none of IPv6" asked v6 AAAA v4.test.lan NOERROR ""
check "a name that is not there" asked nx A+AAAA nx.test.lan NXDOMAIN ""
check "an error of its own" seen error "${PID[down]}" A+AAAA elsewhere.example NetworkDown
check "an address's name" asked reverse PTR 1.0.77.10.in-addr.arpa NOERROR "PTR www.test.lan"
check "a connection has the name that was asked for" seen named "${PID[connect]}" www.test.lan 8080
check "other sockets are not read" eval '! tracectl report --network --json "$T/all.trace" | grep planted'
check "the trace keeps the rules" tracectl check "$T/all.trace"
stop_tracerd
check "the daemon stops cleanly" test $? = 0
