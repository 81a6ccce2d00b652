# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# flight.sh - what a flight recorder costs a busy machine, for tests/bench/run: CPU time of the
# daemon, its workers and its BPF programs, as a part of all CPUs; memory; and whether what it
# has is good, while it is overwritten. FLIGHT_SECONDS=120 for each.

flight_daemon=

flight_stop() {
	[ -z "$flight_daemon" ] || kill "$flight_daemon" 2>/dev/null
	[ -z "$flight_daemon" ] || wait "$flight_daemon" 2>/dev/null
	flight_daemon=
}

flight_start() { # CONFIGURATION...
	printf '[flight]\nenabled = yes\n' >"$dir/flight.conf"
	printf '%s\n' "$@" >>"$dir/flight.conf"
	"$O/tracerd" --config "$dir/flight.conf" --socket "$dir/flight.sock" 2>"$dir/flight.log" &
	flight_daemon=$!
}

flight_ctl() {
	"$O/tracectl" --socket "$dir/flight.sock" "$@"
}

# "NS SECONDS": CPU time so far, with that of BPF programs, and when.
flight_cost() {
	flight_ctl status --json | /usr/bin/python3 -c '
import json, sys, time
s = json.load(sys.stdin)
print(s["cpu_ns"] + sum(x["bpf_ns"] for x in s["sources"]), time.monotonic())'
}

flight_says() { # KEY
	flight_ctl status --json | /usr/bin/python3 -c \
		'import json, sys; print(json.load(sys.stdin)["flight"][sys.argv[1]])' "$1"
}

flight_measure() { # WHAT GOAL CONFIGURATION...
	local what=$1 limit=$2 before after good=0 n=0 anon
	flight_start "${@:3}"
	sleep 15 # names and tables of what runs are read once
	read -ra before <<<"$(flight_cost)"
	while [ $((n * 20)) -lt "$flight_seconds" ]; do
		sleep 20
		n=$((n + 1))
		[ "$n" != 1 ] || anon=$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$flight_daemon/status")
	done
	read -ra after <<<"$(flight_cost)"
	goal "$what: of the CPU time of all CPUs" "$(awk -v a="${before[0]}" -v b="${after[0]}" \
		-v s="${before[1]}" -v t="${after[1]}" -v n="$(nproc)" \
		'BEGIN { printf "%.3f", (b - a) / 1e7 / (t - s) / n }')" % le "$limit"
	for _ in 1 2 3; do
		flight_ctl snapshot -q -f -o "$dir/flight.data" && flight_ctl check -q "$dir/flight.data" &&
			good=$((good + 1))
	done
	goal "$what: good snapshots of 3, while it goes on" "$good" "" ge 3
	goal "$what: held, of its size" "$(percent "$(flight_says held)" "$(flight_says size)")" % le 100
	goal "$what: memory of the daemon beside, grown since" "$(($(awk '$1 == "RssAnon:" { print $2 }' \
		"/proc/$flight_daemon/status") - anon))" KB le 32768
	printf '  %s: the last %.1f s in %.1f MB, %s events lost\n' "$what" \
		"$(calc "$(flight_says span_ns) / 1e9")" "$(calc "$(flight_says held) / 1e6")" \
		"$(flight_says lost)"
	flight_stop
}

part_flight() {
	local flight_seconds=${FLIGHT_SECONDS:-120}
	say "flight recorder: the mix of programs on all CPUs, $flight_seconds s each"
	mix_prepare "$dir"
	mix_start
	sleep 3
	flight_measure "99 Hz, cpu and counters, 8M" 1 'size = 8M'
	flight_measure "and switches, 8M" 5 'size = 8M' 'sources = cpu,sched,counters,markers'
	mix_stop
}
