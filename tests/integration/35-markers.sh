#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Markers of programs in a trace, by <tracer/marker.h> in C and C++ and by datagrams, against
# what the programs did: names, payloads, nesting, times, and that none is lost in silence.
# timeout: 300
# alone

. "$(dirname "$0")/lib.sh"

need python3
need g++
prog=$O/tests/integration/prog/markers
dump() { "$O/tests/tools/slicedump" "$1"; }

start_tracerd
marks=$T/marker.sock

# A recording of the machine until it is told to stop.
begin() { # TRACE ARGS...
	spawn "$O/tracectl" --socket "$SOCKET" record -q -f -a -o "$@"
	client=$!
	wait_for 30 test -s "$1" || fail "a recording of the machine starts"
}

end() {
	kill -INT $client
	wait $client
}

# "NAME ARG=VALUE..." of slices and instants, in the order of their begins, of the track
# of a thread PID or of one that is called NAME.
marker_lines() { # TRACE PID|NAME
	dump "$1" | awk -F '\t' -v whose="$2" '
		$1 == "track" && ($5 == whose || $6 == whose) { is[$2] = 1 }
		$1 == "event" && $3 != "end" && is[$4] && $5 == "marker" {
			line = $2 " " $6
			for (i = 9; i <= NF; i++) line = line " " $i
			print line
		}' | sort -n | cut -d' ' -f2-
}

ledger() { # TRACE: "produced lost written filtered" of the markers
	python3 "$SRC/tests/integration/attributes.py" "$1" | awk '
		/^ledger.markers\./ { sub(/^ledger.markers\./, "", $1); n[$1] = $2 }
		END { print n["produced"] + 0, n["lost"] + n["dropped"] + 0, n["written"] + 0, n["filtered"] + 0 }'
}

# ---- C ----

"$prog" nest &
pid=$!
begin "$T/nest.trace" -s markers
wait $pid || fail "the program has made its markers"
end
long=$(printf 'x%.0s' $(seq 255))
cat >"$T/want" <<-END
	outer i=-5 u=9223372036854775808 f=2.5 s=text b=true end=3
	inner long=$long null= result=good
	now n=1
	left open unfinished=true
	(no name)
	to the end unfinished=true
END
same() { # TRACE PID|NAME: as in $T/want
	marker_lines "$1" "$2" >"$T/seen" && diff -u "$T/want" "$T/seen"
}
check "slices and instants are on their thread, as they were made" same "$T/nest.trace" $pid
others() { # an end without a begin, counters, an asynchronous slice, another thread's
	dump "$T/nest.trace" >"$T/dump"
	[ "$(marker_lines "$T/nest.trace" Markers)" = "ends without a begin count=1" ] &&
		[ "$(marker_lines "$T/nest.trace" request)" = "request path=/ status=ok" ] &&
		grep -q "	threaded	-	-	thread=1$" "$T/dump" &&
		[ "$(awk -F '\t' '$1 == "track" && ($6 == "queue" || $6 == "load") { is[$2] = 1 }
			$1 == "value" && is[$3] { print $4 }' "$T/dump" | xargs)" = "4 -2 0.75" ]
}
check "so are counters and what is asynchronous; an end without a begin is counted" others
check "the trace keeps the rules" tracectl check "$T/nest.trace"

# ---- none is lost in silence ----

burst() { # N
	local produced lost written filtered
	"$prog" burst "$1" >"$T/made" &
	pid=$!
	begin "$T/burst.trace" -s markers
	wait $pid
	end
	read -r produced lost written filtered < <(ledger "$T/burst.trace")
	echo "# $(cat "$T/made") made, $produced produced, $lost lost, $written written"
	[ "$produced" = "$1" ] && [ $((lost + written + filtered)) = "$produced" ] &&
		[ "$(dump "$T/burst.trace" | grep -c '	instant	.*	burst	')" = "$written" ]
}
check "of 1,000,000 in a burst each one is written or counted as lost" burst 1000000
check "their trace keeps the rules" tracectl check "$T/burst.trace"

# ---- C++, installed, in another mount namespace ----

check "make install has the header" make -C "$SRC" -s O="$O" DESTDIR="$T/root" PREFIX=/usr install
cat >"$T/cxx.cc" <<'END'
#include <string>
#include <unistd.h>
#include <tracer/marker.h>

int main()
{
	std::string codec("av1");

	for (int i = 0; i < 20000 && !tracer_enabled(); i++)
		usleep(1000);
	tracer_begin("c++", tracer_str("codec", codec.c_str()), tracer_f64("f", 1.5));
	tracer_end("c++", tracer_bool("ok", true));
	return 0;
}
END
for std in c++98 c++20; do
	check "it is $std" g++ -std=$std -Wall -Wextra -Werror -I"$T/root/usr/include" -O2 -o "$T/cxx" "$T/cxx.cc"
done
printf '#include <tracer/marker.h>\nint main(void)\n{\n\ttracer_begin("c");\n\ttracer_end("c");\n\treturn 0;\n}\n' >"$T/c.c"
check "and C89 and C11" eval "gcc -std=c89 -Wall -Wextra -Werror -I'$T/root/usr/include' -o '$T/c' '$T/c.c' &&
	gcc -std=c11 -pedantic -Wall -Wextra -Werror -I'$T/root/usr/include' -o '$T/c' '$T/c.c'"
printf 'c++ codec=av1 f=1.5 ok=true\n' >"$T/want"
mkdir "$T/inside"
# The path is in that namespace alone, as in a container.
unshare -m --propagation private sh -c "mount -t tmpfs none '$T/inside' && cp '$T/cxx' '$T/inside/prog' &&
	echo \$\$ >'$T/pid' && exec '$T/inside/prog'" &
pid=$!
begin "$T/cxx.trace" -s markers
wait $pid
end
check "a C++ program in a mount namespace of its own" same "$T/cxx.trace" "$(cat "$T/pid")"

# ---- datagrams ----

cat >"$T/send.py" <<'END'
import json, os, socket, sys, time

s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def mark(name, phase, **args):
    s.sendto(json.dumps({"name": name, "phase": phase, "args": args}).encode(), sys.argv[1])


mark("job", "begin", n=1, text="\u00e4\n")
mark("step", "begin")
time.sleep(0.05)
mark("step", "end", ok=True)
mark("tick", "instant", f=0.5)
for bad in b"", b"{", b"[]", b'{"name":1}', b"\xff" * 100, b"x" * 20000, b"{" * 8000:
    s.sendto(bad, sys.argv[1])
mark("job", "end")
print(os.getpid())
END
begin "$T/python.trace" -s markers
check "a Python program sends datagrams" eval "python3 '$T/send.py' '$marks' >'$T/pid'"
check "tracectl mark sends one" tracectl mark deploy version=1.2.3 parts=4 ok=true
check "and a counter" tracectl mark --counter 2.5 depth
check "and a slice of this shell's" eval "tracectl mark -b build target=all && tracectl mark -e build status=0"
end
printf 'job n=1 text=\xc3\xa4\\x0a\nstep ok=true\ntick f=0.5\ndeploy version=1.2.3 parts=4 ok=true\nbuild target=all status=0\n' >"$T/want"
check "datagrams are on a track of their process" same "$T/python.trace" markers
times() { # a slice is as long as its program waited
	dump "$T/python.trace" | awk -F '\t' '$6 == "step" { b = $2; t = $4 } b && $3 == "end" && $4 == t {
		ms = ($2 - b) / 1e6; print ms; exit !(ms >= 50 && ms < 150) }'
}
check "at the time when they were sent" times
check "what is no marker is counted" eval "[ '$(marker_lines "$T/python.trace" Markers)' = 'datagrams that are no markers count=7' ]"
check "their trace keeps the rules" tracectl check "$T/python.trace"
nobody() {
	tracectl mark nothing 2>"$T/said"
	[ $? = 1 ] && grep -q 'nobody records' "$T/said"
}
check "while nobody records tracectl mark says so" nobody

# ---- with samples and system calls of the same time ----

"$prog" busy 2 &
pid=$!
begin "$T/busy.trace" -s markers,cpu,syscalls
wait $pid
end
inside() { # samples of busy_work() lie in slices "busy", but for the edges
	dump "$T/busy.trace" | awk -F '\t' -v pid=$pid '
		$1 == "track" && $5 == pid { t = $2 }
		$1 == "event" && $4 == t && $6 == "busy" { b = $2; next }
		$1 == "event" && $4 == t && $3 == "end" && b { print b, $2; b = 0 }' >"$T/slices"
	"$O/tests/tools/tracedump" "$T/busy.trace" | awk -F '\t' -v pid=$pid '
		$3 == pid && $8 ~ /busy_work/ { print $1 }' >"$T/samples"
	awk 'NR == FNR { b[NR] = $1; e[NR] = $2; n = NR; next }
		{ all++; for (i = 1; i <= n; i++) if ($1 >= b[i] && $1 <= e[i]) { good++; break } }
		END { print n " slices, " all " samples, " good " inside"; exit !(n >= 20 && all >= 100 && good >= 0.99 * all) }' \
		"$T/slices" "$T/samples"
}
check "samples of what a slice is about lie within it" inside
check "slices of markers and of system calls nest" tracectl check "$T/busy.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
check "its socket is gone" test ! -e "$marks"
