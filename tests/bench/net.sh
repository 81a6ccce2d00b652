# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# net.sh - what recording the network costs programs that use it, and those that do not.
# Sourced by run. An operation's CPU time is that of everyone who has a part in it: client
# and servers. Runs without and with a recorder follow each other; what counts is the
# ratio of the least of each, since others on the machine only add to it. Clients and
# servers have a CPU each: where the scheduler puts two busy threads beside a third one
# differs from run to run by more than what is measured here.
#
# shellcheck disable=SC2154

net_pids=()

net_spawn() {
	"$@" >"$dir/net.said" 2>&1 &
	net_pids+=($!)
}

net_stop() {
	[ ${#net_pids[@]} = 0 ] || kill "${net_pids[@]}" 2>/dev/null
	wait "${net_pids[@]}" 2>/dev/null
	net_pids=()
}

net_prepare() {
	local command
	for command in nginx ab redis-benchmark; do
		command -v $command >/dev/null || [ -x /usr/sbin/$command ] ||
			{ echo "net: without $command (tests/deps --bench installs it)"; return 1; }
	done
	mkdir -p "$dir/www"
	head -c 200 /dev/zero | tr '\0' x >"$dir/www/s.txt"
	cat >"$dir/net.conf" <<-EOF2
		daemon off; user root; worker_processes 1; pid $dir/net.pid; error_log $dir/net.err;
		events { worker_connections 1024; }
		http {
			access_log off; keepalive_requests 100000000; sendfile on; root $dir/www;
			client_body_temp_path $dir/n1; proxy_temp_path $dir/n2; fastcgi_temp_path $dir/n3;
			uwsgi_temp_path $dir/n4; scgi_temp_path $dir/n5;
			server { listen 127.0.0.1:18080; }
		}
	EOF2
	net_spawn "$(command -v nginx || echo /usr/sbin/nginx)" -p "$dir" -e "$dir/net.err" -c "$dir/net.conf"
	# The server is in the package of its tools, under another name.
	ln -sf "$(readlink -f "$(command -v redis-check-rdb)")" "$dir/redis-server"
	net_spawn "$dir/redis-server" --port 16379 --bind 127.0.0.1 --save '' --appendonly no --dir "$dir"
	sleep 1
	net_servers="$(pgrep -P "${net_pids[0]}") ${net_pids[1]}"
	local pid
	for pid in $net_servers; do
		taskset -a -c -p "$(($(nproc) > 1))" "$pid" >/dev/null
	done
}

# User and system time of processes so far, in ticks.
net_ticks() { # PID...
	local pid total=0
	for pid in "$@"; do
		total=$((total + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')))
	done
	echo $total
}

# shellcheck disable=SC2046
net_load() { # NAME: operations of about a second
	case $1 in
	keep) echo 15000 ab -q -k -n 15000 -c 4 http://127.0.0.1:18080/s.txt ;;
	new) echo 5000 ab -q -n 5000 -c 4 http://127.0.0.1:18080/s.txt ;;
	redis) echo 60000 redis-benchmark -p 16379 -t get -n 60000 -c 8 -q ;;
	none) echo 1 sha256sum $(yes "$dir/net.data" | head -n 40) ;;
	rw) echo 2000000 dd if=/dev/zero of=/dev/null bs=1 count=2000000 ;;
	esac
}

# Prints microseconds of CPU time an operation.
net_operation() { # NAME
	local ops before after command
	read -r ops command < <(net_load "$1")
	# shellcheck disable=SC2086
	before=$(net_ticks $net_servers)
	# shellcheck disable=SC2086
	taskset -c 0 "$bin/cputime" $command 3>"$dir/net.seconds" >/dev/null 2>&1
	# shellcheck disable=SC2086
	after=$(net_ticks $net_servers)
	calc "(($after - $before) / $(getconf CLK_TCK) + $(cat "$dir/net.seconds")) * 1e6 / $ops"
}

net_recorder_on() {
	"$O/tracectl" --socket "$dir/control.sock" record -f -a -s net -o "$dir/net.trace" 2>"$dir/net.recorded" &
	net_record=$!
	until [ -s "$dir/net.trace" ]; do sleep 0.05; done
	sleep 0.2
}

net_recorder_off() {
	kill -INT "$net_record"
	wait "$net_record"
	rm -f "$dir/net.trace"
}

least() { # FIELD
	cut -d' ' -f"$1" "$dir/net.pairs" | sort -g | head -n 1
}

# The pairs of one load.
net_pairs() { # NAME WHAT LIMIT
	local round off
	rm -f "$dir/net.pairs"
	for round in $(seq "$((ROUNDS + 2))"); do
		off=$(net_operation "$1")
		net_recorder_on
		echo "$off $(net_operation "$1")" >>"$dir/net.pairs"
		net_recorder_off
	done
	printf '  %-58s %10.2f us, with a recording %.2f\n' "$2: an operation" "$(least 1)" "$(least 2)"
	goal "$2: so many times as much" "$(calc "$(least 2) / $(least 1)")" x le "$3"
}

# The daemon's time for an event, and events that are lost, at a rate.
net_rate() {
	local daemon=$1 begin before after events
	begin=$(net_ticks "$daemon")
	net_recorder_on
	before=$(net_ticks "$daemon")
	"$bin/netload" rate "$(nproc)" 50000 4 >"$dir/net.rate"
	sleep 0.5
	net_recorder_off
	after=$(net_ticks "$daemon")
	events=$(awk '{ print $2 }' "$dir/net.rate")
	echo "  the daemon's CPU time for a recording's start: $(((before - begin) * 1000 / $(getconf CLK_TCK))) ms"
	echo "  $(cat "$dir/net.rate"); lost: $(grep -o '[0-9,]* .*LOST.*' "$dir/net.recorded" || echo nothing)"
	goal "the daemon's time for an event" \
		"$(calc "($after - $before) / $(getconf CLK_TCK) * 1e6 / $events")" us le 1
	goal "recordings at 50,000 events a second that lost some" \
		"$(grep -c LOST "$dir/net.recorded")" "" le 0
}

net_memory() {
	local daemon=$1 before after holder
	net_recorder_on
	before=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status")
	mkfifo "$dir/net.hold"
	"$bin/netload" hold 5000 <"$dir/net.hold" >"$dir/net.held" &
	holder=$!
	exec 7>"$dir/net.hold"
	until grep -q ready "$dir/net.held" || ! kill -0 $holder 2>/dev/null; do sleep 0.1; done
	sleep 1
	after=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status")
	exec 7>&-
	wait $holder || echo "  netload: exit status $?"
	net_recorder_off
	echo "  10,000 ends of connections: the daemon has $before KiB before, then $after"
	goal "memory that they take" "$(calc "($after - $before) / 1024")" MiB le 64
}

net_daemon() {
	"$O/tracerd" --socket "$dir/control.sock" 2>"$dir/daemon.said" &
	net_daemon=$!
	until grep -q "$dir/control.sock" /proc/net/unix; do sleep 0.05; done
}

net_daemon_stop() {
	kill "$net_daemon"
	wait "$net_daemon"
}

part_net() {
	say "net: what recording the network costs; $((ROUNDS + 2)) pairs of runs without and with it"
	net_prepare || return
	head -c 6000000 "$O/tracerd" >"$dir/net.data"
	net_daemon
	net_pairs keep "HTTP on connections that are kept" 1.15
	net_pairs new "HTTP, a connection each" 1.25
	net_pairs redis "redis GET" 1.15
	net_pairs none "a program without network" 1.02
	net_pairs rw "reads and writes of single bytes, no sockets" 1.02
	net_rate "$net_daemon"
	net_daemon_stop
	net_daemon # what the last one had, it keeps
	net_memory "$net_daemon"
	net_daemon_stop
	net_stop
}
