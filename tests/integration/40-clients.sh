#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Clients that are strangers, confused, hostile, silent or dead: each costs itself
# only. The daemon serves the others, and what it had for the client is gone.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/leaks.sh"

need setpriv util-linux
RAW=$O/tests/integration/prog/rawclient
FLOOD=$O/tests/integration/prog/flood

# Any group that nobody is not in stands for the group tracer.
GROUP=games
gid=$(getent group $GROUP | cut -d: -f3)
[ -n "$gid" ] || skip "there is no group $GROUP"
printf 'group = %s\nclient_queue = 1M\nmax_clients = 16\n' $GROUP >"$T/tracerd.conf"
start_tracerd --config "$T/tracerd.conf"
# As another user, from where that user can reach it.
chmod 755 "$T"
cp "$O/tracectl" "$RAW" "$T"

raw() {
	"$RAW" "$SOCKET" "$@"
}

says() { # PATTERN COMMAND...: its output has a line that matches
	local out
	out=$("${@:2}" 2>&1)
	grep -qE -- "$1" <<<"$out" || {
		echo "$out"
		return 1
	}
}

fails_with() { # STATUS PATTERN COMMAND...
	local out status
	out=$("${@:3}" 2>&1)
	status=$?
	echo "$out"
	[ $status = "$1" ] && grep -qE -- "$2" <<<"$out"
}

as_user() { # GROUPS COMMAND...
	setpriv --reuid 65534 --regid 65534 "$1" "${@:2}"
}

# ---- one that never reads, beside one that does ----

# It is dropped after 30 s: with a daemon of its own, so that the rest of this goes on.
anon_kb() {
	awk '$1 == "RssAnon:" { print $2 }' "/proc/$DAEMON/status"
}
sessions_are() { # PATTERN
	tracectl status --json | grep -q "\"sessions\":\[$1"
}
check "a recording warms the daemon up" \
	tracectl record -q -d 200ms -s syscalls -o "$T/warm.perfetto-trace"
descriptors "$DAEMON" >"$T/stalled.baseline"
before_kb=$(anon_kb)
coproc "$RAW" "$SOCKET" hello 1 start syscalls,sched trace wait 2>&1
stalled=$COPROC_PID
stalled_daemon=$DAEMON stalled_socket=$SOCKET
read -r -u "${COPROC[0]}" line
check "a session streams to a client that then reads no more" [ "$line" = trace ]
spawn "$FLOOD" -t 2 -s 4 -r 60000
stalls() {
	tracectl status --json | grep -q '"dropped":[1-9]'
}
check "what it does not take is dropped, and counted" wait_for 20 stalls
tracectl record -d 1s -s syscalls -o "$T/beside.perfetto-trace" >"$T/beside.out" 2>&1
status=$?
if [ $status = 0 ] || [ $status = 3 ]; then
	ok "another client records meanwhile"
else
	fail "another client records meanwhile ($status)"
	cat "$T/beside.out"
fi
check "its trace is good and accounts for every event" \
	says ' good$' tracectl check "$T/beside.perfetto-trace"
check "and lost nothing to the silent one" \
	says '"dropped":0,' tracectl check --json "$T/beside.perfetto-trace"
after_kb=$(anon_kb)
echo "memory: $before_kb KiB before, $after_kb KiB with a silent client"
# With sanitizers memory is kept back after it was freed.
grep -qa __asan_init "$O/tracerd" ||
	check "the daemon's memory is bounded" [ $((after_kb - before_kb)) -lt 24576 ]
# Its output stays open when the next one is started.
# shellcheck disable=SC2034
exec {stalled_out}<&"${COPROC[0]}"

AT=second start_tracerd --config "$T/tracerd.conf"
# The first recording leaves some descriptors behind, for the next.
check "a recording warms this daemon up" \
	tracectl record -q -d 200ms -o "$T/warm.perfetto-trace" -f
descriptors "$DAEMON" >"$T/baseline"
serves() {
	timeout 10 "$O/tracectl" --socket "$SOCKET" status >/dev/null
}
# Who is in /proc is read on until 10 s after the last recording.
unharmed() {
	wait_for 20 no_more_descriptors "$DAEMON" "$T/baseline" >/dev/null && serves && return
	no_more_descriptors "$DAEMON" "$T/baseline"
	return 1
}

# ---- who may ----

check "a stranger cannot open the socket, and is told whose it is" \
	fails_with 1 'permission denied.*group tracer' \
	as_user --clear-groups "$T/tracectl" --socket "$SOCKET" status
chmod 666 "$SOCKET"
check "a stranger who reaches the socket is refused" \
	fails_with 1 'permission denied.*only root and members' \
	as_user --clear-groups "$T/tracectl" --socket "$SOCKET" status
check "the log has a line about it" grep -q 'refused a client of uid 65534' "$T/tracerd.log"
check "a stranger gets nothing by not asking" \
	says '^closed$' as_user --clear-groups "$T/rawclient" "$SOCKET" reply reply
check "a member of the group is served" \
	as_user --groups=$gid "$T/tracectl" --socket "$SOCKET" status
check "one user gets 4 clients at a time" says 'error: too many clients of this user: close one, 4 is the most' \
	as_user --groups=$gid "$T/rawclient" "$SOCKET" repeat 4 another hello 1 reply
chmod 660 "$SOCKET"
check "all users together get 16" says 'error: too many clients: close one or raise max_clients' \
	raw repeat 16 another hello 1 reply
check "they left nothing behind" unharmed

# ---- what they say ----

check "another version of the protocol is refused, both versions are named" \
	says 'error: tracerd .* speaks protocol 1, the client 7: install' raw hello 7 reply
check "a request may come byte by byte" says '^hello$' raw slowly hello 1 reply
check "a length of 1 GiB ends the client" says '^ended$' raw head 0x40000000 1 end
check "with a message" says 'error: a request has at most 64 KiB' raw head 0x40000000 1 reply
check "the largest request that may be, never sent, is waited for" \
	says '^hello$' raw head 65536 1 connect hello 1 reply
check "garbage ends the client" says "error: this is not tracer's control protocol" \
	raw random 4000 1 reply
garbage() {
	local seed
	for seed in $(seq 40); do
		raw random $((seed * 97)) "$seed" connect random 8 "$seed" end || return
	done | grep -c ended | grep -qx 40
}
check "so does other garbage, 40 times" garbage
check "three mistakes end the client" says '^ended$' raw head 0 3 head 0 3 head 0 3 end
two_mistakes() {
	[ "$(raw head 0 3 reply head 0 3 reply hello 1 reply | grep -c '^error: only requests')" = 2 ]
}
check "two do not" two_mistakes
check "an empty request is unknown" says 'error: unknown request' raw head 0 1 reply
check "a source that is not there" says "error: there is no source 'nosuch'" \
	raw hello 1 reply start nosuch reply
check "a second session for one client is refused" says 'error: this client has a session' \
	raw hello 1 start proc reply reply start proc reply
check "nothing to stop" says 'error: this client has no session' raw hello 1 reply stop reply
check "253 descriptors in one message are not kept" says '^hello$' raw fds 253 hello 1 reply
many_fds() {
	raw repeat 20 fds 253 hello 1 reply | grep -c hello | grep -qx 20
}
check "nor 20 times as many" many_fds
check "10000 connections in a row" raw repeat 10000 connect
check "they left nothing behind but their end" unharmed
for state in ready 'head 8 1 wait' 'start sched hello 1 wait'; do
	# shellcheck disable=SC2086
	coproc "$RAW" "$SOCKET" ${state/ready/wait} 2>&1
	read -r -u "${COPROC[0]}" line
	check "while a client is silent (${state/ready/said nothing}), others are served" serves
	kill -KILL "$COPROC_PID"
	wait "$COPROC_PID" 2>/dev/null
done
check "silent clients that died left nothing behind" unharmed
check "no BPF program is left" holds_no_bpf "$DAEMON"

# ---- status under a flood, and death by kill -9 ----

spawn "$FLOOD" -t 2 -s 60
flood=$!
spawn "$O/tracectl" --socket "$SOCKET" record -q -d 60s -s syscalls,sched -f -o "$T/flood.perfetto-trace"
recorder=$!
check "a flood is recorded" wait_for 20 sessions_are '{'
worst=0
for ((i = 0; i < 10; i++)); do
	start=${EPOCHREALTIME/[.,]/}
	serves || fail "status under flood"
	took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
	[ $took -le $worst ] || worst=$took
done
echo "status under flood: at worst $worst ms of 10"
check "status answers under flood ($worst ms)" [ $worst -lt 2000 ]
kill "$flood"
kill -KILL "$recorder"
wait "$flood" "$recorder" 2>/dev/null
check "a recording that was killed while flooded is over" wait_for 10 sessions_are '\]'
check "its file loads" says 'good$' tracectl check "$T/flood.perfetto-trace"
rm -f "$T/flood.perfetto-trace"

RANDOM=4711
n_bad=0 n_empty=0
for ((i = 0; i < 50; i++)); do
	file=$T/killed.perfetto-trace
	rm -f "$file"
	"$O/tracectl" --socket "$SOCKET" record -q -d 60s -o "$file" 2>/dev/null &
	pid=$!
	# One in four while it starts.
	[ $((i % 4)) = 0 ] || wait_for 10 test -s "$file"
	sleep "0.$(printf %03d $((RANDOM % 200)))"
	kill -KILL $pid
	wait $pid 2>/dev/null
	if [ ! -s "$file" ]; then
		n_empty=$((n_empty + 1))
	elif ! out=$(tracectl check "$file" 2>&1); then
		n_bad=$((n_bad + 1))
		echo "$out"
	fi
done
echo "of 50 recordings that were killed, $n_empty had not begun"
check "each of 50 files of killed recordings loads" [ $n_bad = 0 ]
check "most had begun" [ $n_empty -lt 20 ]
check "no session is left" wait_for 10 sessions_are '\]'
check "nor a descriptor" unharmed
check "nor a BPF program, map or link" wait_for 5 holds_no_bpf "$DAEMON"
check "the daemon ends when asked" stop_tracerd

# ---- the one that never reads, 30 s later ----

DAEMON=$stalled_daemon SOCKET=$stalled_socket
check "the silent client is dropped after 30 s" wait_for 45 sessions_are '\]'
check "the log says so" grep -q "dropped the client with pid $stalled" "$T/tracerd.log"
check "it left nothing behind" wait_for 20 no_more_descriptors "$DAEMON" "$T/stalled.baseline"
kill "$stalled" 2>/dev/null
check "this daemon ends as well" stop_tracerd
