#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Users who may record their own processes alone: what is theirs is in their traces, and
# nothing of what others do, who have been given names that are looked for; not of
# programs with the set-user-id bit that they start, nor of what was root's before.
# timeout: 300
. "$(dirname "$0")/lib.sh"

need python3
need setpriv util-linux
WHOSE=$SRC/tests/integration/whose.py
GROUP=games # any group that neither is in stands for the group tracer
grep -q "^$GROUP:" /etc/group || skip "there is no group $GROUP"
ME=65533 OTHER=65532
chmod 755 "$T"
cp "$O/tracectl" "$T"
cd "$T" || exit 1

as() { # UID ARGS... of tracectl
	exec setpriv --reuid "$1" --regid "$1" --clear-groups "$T/tracectl" \
		--socket "$SOCKET" "${@:2}"
}
asks() {
	(as "$@")
}
gives() { # STATUS PATTERN COMMAND...: and one line of output
	local status
	"${@:3}" >gives.out 2>&1
	status=$?
	[ $status = "$1" ] && grep -qE -- "$2" gives.out && return
	echo "exit status $status:"
	cat -v gives.out
	return 1
}

# ---- nobody else, unless that is allowed ----

printf 'group = %s\n' $GROUP >closed.conf
start_tracerd --config closed.conf
check "the socket is for the group" test "$(stat -c %a "$SOCKET")" = 660
chmod 666 "$SOCKET"
check "others are refused" gives 1 'permission denied: only root and members' asks $ME status
stop_tracerd

printf 'group = %s\nusers = own\nmax_sessions = 8\n' $GROUP >tracerd.conf
start_tracerd --config tracerd.conf
check "with users = own the socket is for all" test "$(stat -c %a "$SOCKET")" = 666

# ---- what they may not have ----

check "no GPUs" gives 1 'source gpu is not for users who see' asks $ME record -s gpu -d 1s -o -
check "no counters" gives 1 'source counters is not for' asks $ME record -s counters,cpu -d 1s -o -
check "nothing inside TLS" gives 1 'leave out --tls-plaintext' \
	asks $ME record --tls-plaintext comm:node -d 1s -o -
check "no tracepoints" gives 1 'may sample clocks, cycles and software events, not sched' \
	asks $ME record -e sched:sched_switch -d 1s -o -
check "no 4000 Hz" gives 1 'may sample 1000 times a second' asks $ME record -F 4000 -d 1s -o -
check "status says so" gives 0 'your own processes' asks $ME status
check "and nothing of the machine" sh -c '! grep -qE "clients|counters|symbols:" gives.out'

# ---- processes of all kinds, each with a name ----

plant() { # NAME UID ARGS...: in a file of that name; $! is its pid
	[ -e "$1" ] || cp "$O/tests/integration/prog/whose" "$1"
	chmod "${mode:-755}" "$1"
	spawn setpriv --reuid "$2" --regid "$2" --clear-groups "$T/$1" "$1" "${@:3}"
}
plant minewait $ME wait >minewait.out
waiter=$!
wait_for 10 grep -q waits minewait.out
plant mineown $ME
own=$!
plant secretoth $OTHER
others=($!)
plant secretroot 0 wake $waiter
others+=($!)
plant secretdrop 0 drop $ME $ME
others+=($!)
plant secretbec 0 become $ME $ME
became=$!
mode=4755 plant secretsuid $ME
others+=($!)
suid=$!
mode=2755 plant secretsgid $ME
others+=($!)
cp "$O/tests/integration/prog/whose" minenamesp
nested=()
if setpriv --reuid $ME --regid $ME --clear-groups unshare -Ur true 2>/dev/null; then
	spawn setpriv --reuid $ME --regid $ME --clear-groups unshare -Ur "$T/minenamesp" minenamesp
	nested=(minenamespcomm minenamesp-url)
else
	echo "# no user namespaces for users here"
fi
was_set() { grep -q "^Uid:.$ME.0" /proc/$suid/status; }
wait_for 5 was_set || echo "# the set-user-id bit does nothing here"

# ---- three recordings at once ----

sources=cpu,sched,syscalls,offcpu,net,markers
"$O/tracectl" --socket "$SOCKET" record -f -s $sources -o all.trace 2>all.err &
clients=($!)
as $ME record -s $sources -o - >me.trace 2>me.err &
clients+=($!)
as $OTHER record -s $sources -o - >other.trace 2>other.err &
clients+=($!)
as $ME record -o - >default.trace 2>default.err &
clients+=($!)
lib_pids+=("${clients[@]}")
n_sessions() { # UID N
	asks "$1" status --json >status.json && python3 -c 'import json, sys
sys.exit(len(json.load(open("status.json"))["sessions"]) != int(sys.argv[1]))' "$2"
}
all_sessions() { tracectl status --json | python3 -c 'import json, sys
sys.exit(len(json.load(sys.stdin)["sessions"]) != 4)'; }
check "recordings of two users and of root" wait_for 30 all_sessions
check "each is told of their own: two" n_sessions $ME 2
check "and one" n_sessions $OTHER 1
check "a third of one user is too many" gives 1 'a user has at most 2 recordings' \
	asks $ME record -d 1s -o -
sleep 1
touch secretdrop.go secretbec.go
asks $ME mark mine-datagram
asks $OTHER mark secret-datagram
sleep 2
for pid in "${clients[@]}"; do
	kill -INT "$pid"
	wait "$pid"
done
for name in all me other default; do
	check "the trace is good: $name" "$O/tracectl" check $name.trace
done

# ---- who is in them ----

kinds=(comm -marker -url .host -socket) # of each process
every() { # SIGN NAME...: what whose.py wants of them
	local name
	for name in "${@:2}"; do
		printf -- "$1$name%s " "" "${kinds[@]}"
	done
}
these() { # SIGN WORD...
	printf -- "${1/\%/%%}%s " "${@:2}"
}
check "root's has everybody" python3 "$WHOSE" all.trace +mine-datagram +secret-datagram \
	$(every + mineown secretoth secretroot secretdrop secretbec secretsuid secretsgid) +secretbec2comm \
	"+$T/secretoth" +busy_work
mine=(mineowncomm mineownthr mineown-marker mineown-url mineown.host)
secrets=(secretoth secretroot secretdrop secretsuid secretsgid secret-datagram secretbecc secretbec- secretbec.
	tracerd irq/ swapper kworker)
check "mine has what is mine, and what root's process has become, and nothing of others" \
	python3 "$WHOSE" me.trace $(these + "${mine[@]}" "${nested[@]}") +minewaitcomm +mineown-socket \
	"+another user's thread" 	+mine-datagram "+$T/mineown" +busy_work +secretbec2comm +secretbec2-marker \
	+secretbec2-url $(these - "${secrets[@]}") $(these % "${others[@]}")
check "its processes are there" sh -c "! python3 $WHOSE me.trace %$own"
check "so by default" python3 "$WHOSE" default.trace $(these + "${mine[@]}") \
	$(these - "${secrets[@]}") $(these % "${others[@]}")
check "the other one has theirs, and nothing of mine" python3 "$WHOSE" other.trace \
	$(every + secretoth) +secret-datagram $(these - mine secretroot secretdrop secretbec \
	secretsuid secretsgid tracerd swapper) $(these % $own $waiter $became)
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 1 ]; then
	check "no function of the kernel, but that they were there" python3 "$WHOSE" me.trace \
		-do_syscall -entry_SYSCALL -schedule -x64_sys '+[kernel]'
fi

# ---- how often ----

stop_tracerd
printf 'group = %s\nusers = own\nuser_starts = 2\n' $GROUP >tracerd.conf
start_tracerd --config tracerd.conf
started() { # UID: how often, of 12 times
	local n
	for ((n = 0; n < 12; n++)); do
		asks "$1" record -q -s cpu -d 10ms -f -o - >/dev/null 2>often.out || break
	done
	echo "$n recordings"
	[ $n -ge 2 ] && grep -q 'this user has started 2 recordings within a minute: try again in' often.out
}
check "two recordings a minute, and no loop of them" started $ME
check "the other user has two, too" started $OTHER
check "root as many as it likes" gives 0 . "$O/tracectl" --socket "$SOCKET" record -d 10ms -f -o often.trace
check "the daemon ends when asked" stop_tracerd
