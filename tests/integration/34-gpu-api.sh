#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Calls of GPU APIs in a trace against what the programs that made them say: of stub
# libraries under the vendors' names, and of real ones where there are some.
# timeout: 300

# A mount namespace of its own: the stubs are libraries of the system in it.
if [ -z "${GPU_API_TEST-}" ] && unshare -m true 2>/dev/null; then
	GPU_API_TEST=1 exec unshare -m --propagation private bash "$0"
fi
. "$(dirname "$0")/lib.sh"
[ -n "${GPU_API_TEST-}" ] || skip "no mount namespace"

need python3
here=$SRC/tests/integration/gpu
dump=$O/tests/tools/tracedump

slices() { # FILE: TID NAME ARG=VALUE... of calls, each thread's in their order
	python3 "$SRC/tests/integration/slices.py" --nested "$1" |
		awk -F '\t' '$4 == "gpu-api" { printf "%s", $1
			for (i = 5; i <= NF; i++) printf " %s", $i
			print "" }' | sort -s -n -k1,1
}

# ---- stubs ----

mkdir "$T/lib" "$T/other"
cp "$O"/tests/integration/gpu/* "$T/lib" && chmod 755 "$T/lib" "$T/lib"/*
cp "$T/lib/libcuda.so.1" "$T/other"
calls=$T/lib/calls
mkdir -p /usr/local/lib 2>/dev/null
mount --bind "$T/lib" /usr/local/lib || skip "cannot mount"

start_tracerd

same_calls() { # WHAT THE PROGRAM SAYS, TRACE
	sort -s -n -k1,1 "$1" >"$T/want"
	slices "$2" >"$T/seen" && diff -u "$T/want" "$T/seen"
}

tracectl record -q -f -s gpu-api -o "$T/calls.trace" -- "$calls" >"$T/did" ||
	fail "recording calls: exit status $?"
[ "$(wc -l <"$T/did")" -gt 20 ] || fail "calls did not get to its end"
check "each call, the first one too, is a slice with its arguments and result" \
	same_calls "$T/did" "$T/calls.trace"
check "the trace keeps the rules" tracectl check "$T/calls.trace"

stacks() { # of launches from the program's first function on; the runtime's has none inside
	tracectl record -q -f -s gpu-api -o "$T/stacks.trace" -- "$calls" often 200 >/dev/null &&
		"$dump" "$T/stacks.trace" | grep linux.gpu_api >"$T/samples" || return 1
	cut -f 8 "$T/samples" | sort | uniq -c
	grep -q '_start;.*main;call_driver;cuLaunchKernel$' "$T/samples" &&
		grep -q '_start;.*main;call_runtimes;cudaLaunchKernel$' "$T/samples" &&
		! grep -q 'cudaLaunchKernel;' "$T/samples"
}
check "launches have their stacks" stacks

tracectl record -q -f -s gpu-api -o "$T/leave.trace" -- "$calls" leave >"$T/did" ||
	fail "recording calls that do not return: exit status $?"
check "calls that are left by a jump, with their thread, process or program, end there" \
	same_calls "$T/did" "$T/leave.trace"
check "their trace keeps the rules" tracectl check "$T/leave.trace"

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

# It says which thread it is before it waits for good.
inside() {
	grep -q . "$T/endless" && grep -q '^State:.S' "/proc/$1/status"
}

begin "$T/endless.trace" -s gpu-api
spawn "$calls" endless >"$T/endless"
endless=$!
wait_for 30 inside $endless || fail "a program is in an endless call"
end || [ $? = 3 ] || fail "recording an endless call: exit status $?"
unfinished() {
	slices "$T/endless.trace" | tee "$T/seen" | grep "^$endless " >"$T/mine"
	cat "$T/seen"
	[ "$(wc -l <"$T/mine")" = 2 ] && [ "$(grep -c 'unfinished=true$' "$T/mine")" = 2 ] &&
		head -n 1 "$T/mine" | grep -q "^$endless cuStreamSynchronize .*stream=1638 "
}
check "a call that goes on at the end is shown, and the one around it" unfinished
check "their trace keeps the rules" tracectl check "$T/endless.trace"
kill $endless

nested() { # system calls are within the calls that make them
	tracectl record -q -f -s gpu-api,syscalls -o "$T/nested.trace" -- "$calls" >/dev/null &&
		tracectl check "$T/nested.trace" &&
		python3 "$SRC/tests/integration/slices.py" --nested "$T/nested.trace" >"$T/nested" || return 1
	awk -F '\t' '
		$5 == "cuStreamSynchronize" { begin = $2; end = $3 }
		$5 == "sendto" || $5 == "recvfrom" { n++; if (!first) first = $2; last = $3 }
		END {
			print begin, first, last, end, n
			exit !(n == 2 && begin < first && last < end)
		}' "$T/nested"
}
check "system calls are within the calls that make them" nested

only_copies() {
	tracectl record -q -f -s gpu-api --gpu-api=copy -o "$T/copy.trace" -- "$calls" >/dev/null &&
		slices "$T/copy.trace" | cut -d' ' -f2 | sort | uniq -c | tee "$T/seen"
	[ "$(awk '{ print $2 }' "$T/seen" | tr '\n' ' ')" = "cuMemcpyDtoHAsync cuMemcpyHtoD cudaMemcpy " ]
}
check "of classes that are named, and of no others" only_copies

with_others() {
	tracectl record -q -f --gpu-api -d 200ms -o "$T/both.trace" 2>"$T/err" &&
		tracectl status --json | grep -q '"name":"gpu-api"' &&
		tracectl check "$T/both.trace"
}
check "beside the sources that are there anyhow" with_others

refused() {
	! tracectl record -q -f --gpu-api=copies -d 1s -o "$T/none.trace" 2>"$T/err" &&
		grep -q "launch, submit" "$T/err"
}
check "a class that does not exist is refused, with those that do" refused

others_only() { # PID
	tracectl record -q -f -s gpu-api -o "$T/filter.trace" -- true && ! slices "$T/filter.trace" | grep .
}
spawn "$calls" again "$T/lib/libcuda.so.1"
busy=$!
check "calls of those who are not meant are left out" others_only
kill $busy

# ---- a library that comes later, from nowhere ----

begin "$T/later.trace" -s gpu-api
spawn "$calls" again "$T/other/libcuda.so.1"
later=$!
seen_later() { # FUNCTION
	slices "$T/later.trace" 2>/dev/null | grep -Eq "^$later $1( |\$)"
}
# The file can be read while it is written; blocks come each 250 ms.
check "a library that is mapped during the recording is probed" \
	wait_for 60 seen_later cuCtxSynchronize
check "and so is a function that no symbol names, when a program has asked for it" \
	wait_for 60 seen_later "cuEventRecord api=cuda event=17 stream=34"
kill $later
end || [ $? = 3 ] || fail "recording it: exit status $?"
check "their trace keeps the rules" tracectl check "$T/later.trace"

# ---- more calls than can be written down ----

flood() {
	tracectl record -q -f -s gpu-api -o "$T/flood.trace" -- "$calls" flood 60000 >"$T/made"
	local status=$? made seen
	made=$(cat "$T/made")
	seen=$(slices "$T/flood.trace" | wc -l)
	echo "made $made, seen $seen, exit status $status"
	if [ $status = 0 ]; then
		[ "$seen" = "$made" ]
	else
		[ $status = 3 ] && [ "$seen" -lt "$made" ]
	fi && tracectl check "$T/flood.trace"
}
check "a flood of launches is accounted for" flood

weights() { # each stack stands for the launches since the last one; those of the last 1 ms are left
	"$dump" "$T/flood.trace" | awk -F '\t' '$5 == "linux.gpu_api" { n++; sum += $7 }
		END { print n, sum; exit !(n > 1 && sum > n && sum <= 120000) }'
}
check "its stacks stand for the launches between them" weights

# ---- real libraries ----

real() { # NAME SOURCE LIBRARIES...
	cc -O1 -g -fno-optimize-sibling-calls -o "$T/$1" "$here/$2" "${@:3}" >"$T/cc.out" 2>&1
}

# What the program says it has called is there, in its order.
in_order() { # WHAT IT SAYS, SLICES
	python3 - "$1" "$2" <<-'PY'
		import sys
		seen = [line.split()[1:] for line in open(sys.argv[2])]
		for line in open(sys.argv[1]):
		    want = line.split()
		    while seen and (seen[0][0] != want[0] or not set(want) <= set(seen[0])):
		        seen.pop(0)
		    if not seen:
		        sys.exit("not seen: " + line)
		    seen.pop(0)
	PY
}

as_it_says() { # NAME ARGS...
	tracectl record -q -f -s gpu-api -o "$T/$1.trace" -- "$T/$1" "${@:2}" >"$T/did"
	status=$?
	[ $status != 77 ] || return 77
	[ $status = 0 ] && tracectl check "$T/$1.trace" && slices "$T/$1.trace" >"$T/seen" &&
		in_order "$T/did" "$T/seen"
}

# The first program teaches the daemon where the driver's functions are.
learnt() {
	"$T/vulkan" device >/dev/null && sleep 0.3 &&
		slices "$T/device.trace" 2>/dev/null | grep -q " vkQueueSubmit "
}

driver_functions() {
	local pid
	"$T/vulkan" device >"$T/out" 2>&1
	[ $? != 77 ] || { echo "skip - Vulkan: no device"; return; }
	begin "$T/device.trace" -s gpu-api
	wait_for 120 learnt || fail "functions of a driver are probed when a program has asked for them"
	"$T/vulkan" device >"$T/did" &
	pid=$!
	wait $pid
	end || [ $? = 3 ] || fail "recording it: exit status $?"
	slices "$T/device.trace" | grep "^$pid " >"$T/seen"
	check "Vulkan, by vkGetDeviceProcAddr() from the driver" in_order "$T/did" "$T/seen"
}

try() { # WHAT NAME ARGS...
	local what=$1
	as_it_says "${@:2}" >"$T/check.out" 2>&1
	case $? in
	0) ok "$what" ;;
	77) echo "skip - $what: no device" ;;
	*) fail "$what"; tail -n 50 "$T/check.out" "$T/seen" ;;
	esac
}

if real vulkan vulkan.c -lvulkan; then
	try "Vulkan, as the program says" vulkan loader
	driver_functions
else
	echo "skip - Vulkan: not installed (tests/deps --gpu)"
fi
if real egl egl.c -lEGL -lGLESv2; then
	try "EGL, as the program says" egl
else
	echo "skip - EGL: not installed (tests/deps --gpu)"
fi
if real opencl opencl.c -lOpenCL; then
	try "OpenCL, as the program says" opencl
else
	echo "skip - OpenCL: not installed (tests/deps --gpu)"
fi

stop_tracerd
check "the daemon stops cleanly" test $? = 0
