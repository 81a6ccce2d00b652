#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `tracectl report --network` says of requests that were made here, and the options
# that say how much of the network is recorded.
. "$(dirname "$0")/netlab.sh"

need curl
lab_net ""
start_tracerd
lab_nginx
lab_dns

report() { # NAME OPTIONS...
	"$O/tracectl" report --network "${@:2}" "$T/$1.trace"
}

cat >"$T/count.py" <<'PY'
"""KIND=N PROCESS=NAME NAME=VALUE...: so many of them have these arguments."""
import json, sys
want = dict(a.split("=", 1) for a in sys.argv[1:])
kind, process = want.pop("KIND"), want.pop("PROCESS")
print(sum(i["kind"] == kind and i.get("process") == process and
          all(str(i["args"].get(k)) == v for k, v in want.items())
          for i in json.load(sys.stdin)["items"]))
PY
counts() { # N NAME KIND=... PROCESS=...
	local n
	n=$(report "$2" --json | python3 "$T/count.py" "${@:3}")
	[ "$n" = "$1" ] || { echo "# $n of $*"; return 1; }
}

says() { # NAME PATTERN OPTIONS...
	report "$1" "${@:3}" >"$T/text" && grep -Eq "$2" "$T/text" || { cat "$T/text"; return 1; }
}

silent() { # NAME PATTERN OPTIONS...
	report "$1" "${@:3}" >"$T/text" && ! grep -E "$2" "$T/text"
}

load() {
	for i in $(seq 30); do
		echo "url = \"http://www.test.lan:8080/a/b/page.html?user=$i\"" && echo "output = $T/page"
	done >"$T/pages.conf"
	ask curl -4 -s -K "$T/pages.conf"
	ask curl -4 -s -o "$T/page" http://www.test.lan:8080/missing
	ask curl -4 -s -m 2 -o "$T/page" http://v4.test.lan:9/
	ask curl -4 -s -m 2 -o "$T/page" http://nothing.test.lan/
	ask curl -4 -s -k -o "$T/page" https://www.test.lan:8443/s.txt
}

record whole load
check "the recording is good" "$O/tracectl" check "$T/whole.trace"
check "each request is told of, at both ends" eval '
	counts 31 whole KIND=request PROCESS=curl side=client host=www.test.lan:8080 &&
	counts 31 whole KIND=request PROCESS=nginx side=server host=www.test.lan:8080 &&
	counts 1 whole KIND=request PROCESS=curl status=404 host=www.test.lan:8080'
check "the lookups are, and the connection that failed" eval '
	counts 1 whole KIND=dns PROCESS=curl name=nothing.test.lan rcode=NXDOMAIN &&
	counts 1 whole "KIND=failed connect" PROCESS=curl error=ECONNREFUSED'
check "a line says method, URL, status, type, size, remote, time" \
	says whole '^ +[0-9.]+ +GET www\.test\.lan:8080/a/b/page\.html\?… +200 +text/html +[0-9.]+ K?B +10\.77\.0\.1:8080 +[0-9.]+ .s \|.*w.*\|$' --top 50
check "what failed is told" eval '
	says whole "GET www.test.lan:8080/missing +404 " &&
	says whole "A nothing.test.lan NXDOMAIN +NXDOMAIN " &&
	says whole "connect v4.test.lan:9 ECONNREFUSED +failed .*x.*" &&
	says whole "TLS exchange www.test.lan:8443 .*t.*"'
# One of its workers serves the pages, the same one or the other what is missing.
check "the server's side is told, and its sums" eval '
	says whole "^ +[0-9.]+ < GET www.test.lan:8080/missing +404 " --comm nginx &&
	says whole "^ +[0-9]+ +[01] .* nginx \[[0-9]+\], serves :8080$" --comm nginx'
check "what is too much is counted" says whole '^ +11 more: see --top' --comm curl
check "who is not meant is left out" silent whole 'nginx' --comm curl
check "no query is in it" silent whole 'user' --top 1000

only_page() {
	ask curl -4 -s -o "$T/page" "http://www.test.lan:8080/s.txt?user=7"
}
for how in keys keep drop; do
	begin $how --query $how
	only_page
	sleep 0.2
	end_recording
	check "--query $how: the recording is good" "$O/tracectl" check "$T/$how.trace"
done
check "--query keys" says keys 'GET www.test.lan:8080/s.txt\?user=… +200'
check "--query keep" says keep 'GET www.test.lan:8080/s.txt\?user=7 +200'
check "--query drop" says drop 'GET www.test.lan:8080/s.txt +200'
begin hash --names hash
only_page
sleep 0.2
end_recording
check "--names hash" eval "says hash 'GET #[0-9a-f]{16}' && silent hash 'test\.lan|s\.txt'"

begin health --net health
only_page
ask "$prog/netclient" number 10.77.0.1 8080 2500
end_recording
check "--net health: connections, no requests" eval '
	says health "TCP 10.77.0.1:8080" --comm curl && counts 0 health KIND=request PROCESS=curl'
check "--net health: round trips, although nobody watches what is moved" eval "
	'$SLICEDUMP' '$T/health.trace' | awk -F '\t' '
		\$1 == \"track\" && \$6 == \"rtt\" { rtt[\$2] } \$1 == \"value\" && \$3 in rtt { n++ } END { exit !n }'"
begin calls --net syscalls
only_page
ask curl -s http://192.0.2.1/ # for which there is no route
sleep 0.2
end_recording
check "--net syscalls: also the calls" eval "
	counts 1 calls KIND=request PROCESS=curl && '$SLICEDUMP' '$T/calls.trace' >'$T/calls' &&
	grep -q '	recvfrom	' '$T/calls' && grep -q '	connect	.*=192.0.2.1:80.*=ENETUNREACH' '$T/calls'"
tracectl record -q -f -s sched -d 100ms -o "$T/none.trace"
none=$(report none 2>&1)
check "why there is nothing is said" eval "[ $? = 1 ] && [ -z \"${none##*off: not asked for*}\" ]"
