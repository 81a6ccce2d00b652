#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Snapshots that wait for something that really happens: a slow system call, a marker, an
# answer 500, a crash, an exit code, pressure, a probe, SIGUSR2; and files that the
# configuration asks for.
# timeout: 120

. "$(dirname "$0")/lib.sh"

need python3
state=$T/state
cat >"$T/conf" <<-END
	[flight]
	enabled = yes
	size = 24M
	sources = syscalls,net,markers,probes
	[trigger by-signal]
	on = sigusr2
	on = marker:in the configuration,min_interval=0s
	last = 5s
	min_interval = 24h
	[trigger never]
	on = slice:*>24h
END
STATE_DIRECTORY=$state start_tracerd --config "$T/conf"
recording() { tracectl status --json | grep -q '"flight":{"enabled":true,"recording":true'; }

# Of an instant on the track "Triggers" of a snapshot: "NAME ARG=VALUE..."
marks() { # TRACE
	"$O/tests/tools/slicedump" "$1" | awk -F '\t' '
		$1 == "track" && $6 == "Triggers" { is[$2] = 1 }
		$1 == "event" && $3 == "instant" && is[$4] {
			line = $6
			for (i = 9; i <= NF; i++) line = line " " $i
			print line
		}'
}

# Waits for triggers in the background; what it says is in $T/NAME.said.
await() { # NAME ARGS...
	spawn "$O/tracectl" --socket "$SOCKET" snapshot --last 5s -f -o "$T/$1.trace" "${@:2}" 2>"$T/$1.said"
	client=$!
	wait_for 30 grep -q 'waiting for' "$T/$1.said" || fail "it is waited for $1: $(cat "$T/$1.said")"
}

# The snapshot is there, was taken for SPEC and by what TEXT says, and shows that.
fired() { # NAME SPEC TEXT
	wait_for 60 gone $client || kill -INT $client
	wait $client && grep -qF "$2: $3" "$T/$1.said" && marks "$T/$1.trace" >"$T/marks" &&
		grep -qF "$2 " "$T/marks" && grep -qF "$3" "$T/marks"
}

# ---- what is wrong is told ----

refused() { # TEXT ARGS...
	tracectl snapshot -o "$T/refused" "${@:2}" 2>"$T/said"
	[ $? = 1 ] && grep -qF "$1" "$T/said" && [ ! -e "$T/refused" ]
}
wait_for 30 recording || fail "the flight recorder records"
check "a SPEC that is none is refused with what there is" refused "there is no such kind: slice:NAME>10ms" --on slcie:x
check "so is one without a limit" refused "no limit: slice:NAME>10ms" --on slice:read
check "and one whose source is not recorded" refused "needs source gpu, which the flight recorder does not have" --on late-frame

# ---- a slow system call, of this program alone ----

receive() { # SECONDS until there is something to receive
	python3 -c "
import os, socket, sys, time
a, b = socket.socketpair()
if os.fork() == 0:
    time.sleep(float(sys.argv[1]))
    b.send(b'x')
    os._exit(0)
a.recv(1)
os.wait()" "$1"
}
spec='slice:recv*>1200ms,comm=python*'
await slow --on "$spec"
receive 0
receive 1.3
check "a slow system call" fired slow "$spec" "'recvfrom' took "
check "is the one that was slow" grep -q 'by python[0-9.]* (' "$T/slow.said"

# ---- markers, and what follows ----

await marker --on 'exit:nobody' --on 'marker:job=n>=3,min_interval=0s' --after 1s
tracectl mark job n=2
tracectl mark -b job n=3 && tracectl mark -e job
wait_for 30 grep -q 'fired: ' "$T/marker.said"
tracectl mark 'in the aftermath'
check "a marker by its argument" fired marker 'marker:job=n>=3,min_interval=0s' "'job' took "
aftermath() {
	"$O/tests/tools/slicedump" "$T/marker.trace" | grep -q '	in the aftermath	' &&
		[ "$(grep -c 'fired: ' "$T/marker.said")" = 1 ]
}
check "what follows is in the snapshot" aftermath

# ---- HTTP ----

cat >"$T/answers.py" <<'END'
import http.server
import socketserver


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")


server = socketserver.TCPServer(("127.0.0.1", 0), Handler)  # looks nothing up
print(server.server_address[1], flush=True)
server.serve_forever()
END
spawn python3 "$T/answers.py" >"$T/port" 2>"$T/http.log"
wait_for 30 test -s "$T/port"
get() {
	python3 -c "
import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
c.request('GET', sys.argv[2])
c.getresponse().read()" "$(cat "$T/port")" "$1"
}
await http --on 'http:status>=500'
get /good
get /broken
check "an answer 500" fired http 'http:status>=500' "'GET /broken 500' took "

# ---- ends of programs ----

cp "$(command -v bash)" "$T/crasher"
await crash --on 'signal:crasher=SIGSEGV'
for signal in TERM SEGV; do
	bash -c '"$1" -c "kill -$2 \$\$"; :' - "$T/crasher" $signal 2>/dev/null
done
check "a crash" fired crash 'signal:crasher=SIGSEGV' "crasher was killed by SIGSEGV"

await exit --on 'exit:crasher=7'
"$T/crasher" -c 'exit 3'
"$T/crasher" -c 'exit 7'
check "an exit code" fired exit 'exit:crasher=7' "crasher exited with 7"

# ---- pressure ----

if [ -r /proc/pressure/cpu ] && cat /proc/pressure/cpu >/dev/null 2>&1; then
	await psi --on 'psi:cpu>5%'
	for ((i = 0; i <= $(nproc); i++)); do
		spawn sh -c 'while :; do :; done'
		busy+=($!)
	done
	wait_for 60 grep -q 'fired: ' "$T/psi.said"
	kill "${busy[@]}" && wait "${busy[@]}" 2>/dev/null
	check "pressure" fired psi 'psi:cpu>5%' "some task was stalled for want of CPU"
fi

# ---- a probe ----

await probe --on 'probe:of-exec=n=42'
cat >"$T/probed.c" <<-'END'
	#include <stdlib.h>
	__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n; }
	int main(int argc, char **argv) { return argc > 1 && work(atoi(argv[1])) < 0; }
END
check "a program to probe" gcc -O1 -o "$T/probed" "$T/probed.c"
check "a probe" tracectl probe add of-exec --at "uprobe:$T/probed:work" --arg n=arg0:s32
"$T/probed" 41
"$T/probed" 42
check "a probe by its argument" fired probe 'probe:of-exec=n=42' "'of-exec', n 42"

# ---- SIGUSR2, and files ----

written() { ls "$state"/by-signal-*.perfetto-trace 2>/dev/null | wc -l; }
one_is_written() { [ "$(written)" = 1 ]; }
kill -USR2 "$DAEMON"
check "SIGUSR2 writes a file" wait_for 30 one_is_written
file=$(ls "$state"/by-signal-*)
shown() { marks "$file" | grep -q "^sigusr2 .*tracerd got SIGUSR2.*\[trigger by-signal\]" && tracectl check "$file"; }
check "that shows it" shown
tracectl mark 'in the configuration'
counted() { tracectl status --json | grep -q '"name":"by-signal","files":1,"too_soon":1,"failed":0'; }
check "not more often than allowed, which is counted" wait_for 30 counted
check "and one it is" one_is_written
check "status shows them" eval "tracectl status | grep -q '  slice:\*>24h, for \[trigger never\]: fired 0 times'"

# ---- the end of a wait ----

await never --on 'slice:*>24h'
kill -INT $client
wait $client
check "^C ends it, without a file" test $? = 1 -a ! -e "$T/never.trace"
check "and says so" grep -q 'nothing has fired' "$T/never.said"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
