# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# mix.sh - what machines do, all at once and for ever. Source it, with $O, $bin and
# $bench set:
#
# shellcheck disable=SC2154
#
#	mix_prepare DIR		writes and builds what is needed; says what is left out
#	mix_start		each program in a process group of its own
#	mix_roots		its processes, which have started all others
#	mix_stop
#	churn DIR		programs that are over within 5 to 50 ms, one after the other

mix_pids=()

have() { # COMMAND
	command -v "$1" >/dev/null && return
	echo "mix: without $1 (tests/deps --bench installs it)"
	return 1
}

mix_prepare() { # DIR
	mix_dir=$1
	cat >"$mix_dir/work.py" <<-'PY'
		import json, re
		def walk(tree, depth):
		    return [walk(tree, depth - 1) for _ in range(2)] if depth else sorted(tree, key=lambda x: -x)
		while True:
		    walk(list(range(50)), 7)
		    re.findall(r"(\d+)-(\w+)", json.dumps({str(i): i for i in range(500)}))
	PY
	cat >"$mix_dir/work.js" <<-'JS'
		function Tree(n) { this.left = n ? new Tree(n - 1) : null; this.right = n ? new Tree(n - 1) : null; }
		Tree.prototype.count = function () { return 1 + (this.left ? this.left.count() + this.right.count() : 0); };
		for (;;) { new Tree(12).count(); JSON.parse(JSON.stringify([...Array(1000).keys()])).sort((a, b) => b - a); }
	JS
	cat >"$mix_dir/Work.java" <<-'JAVA'
		import java.util.*;
		public class Work {
			static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
			public static void main(String[] args) {
				for (long sum = 0;;) {
					sum += fib(25);
					Map<String, Integer> m = new TreeMap<>();
					for (int i = 0; i < 2000; i++) m.put("k" + i * 31 % 997, i);
					sum += m.hashCode();
				}
			}
		}
	JAVA
	if have javac; then
		javac -d "$mix_dir" "$mix_dir/Work.java"
	fi
	cat >"$mix_dir/nginx.conf" <<-E
		pid $mix_dir/nginx.pid; error_log /dev/null; worker_processes 1;
		events { }
		http { access_log off;
			client_body_temp_path $mix_dir/a; proxy_temp_path $mix_dir/b; fastcgi_temp_path $mix_dir/c;
			uwsgi_temp_path $mix_dir/d; scgi_temp_path $mix_dir/e;
			server { listen unix:$mix_dir/nginx.sock; root $mix_dir; } }
	E
	cat >"$mix_dir/client.py" <<-'PY'
		import socket, sys
		while True:
		    with socket.socket(socket.AF_UNIX) as s:
		        s.connect(sys.argv[1])
		        for _ in range(200):
		            s.sendall(b"GET /work.js HTTP/1.1\r\nHost: x\r\n\r\n")
		            s.recv(65536)
	PY
	head -c 3000000 "$O/tracerd" >"$mix_dir/data"
	have node || true
	have nginx || true
	have xz || true
}

mix_one() { # COMMAND...
	setsid "$@" >/dev/null 2>&1 </dev/null &
	mix_pids+=($!)
}

mix_start() {
	mix_one "$bin/deep" 48
	mix_one /usr/bin/python3 "$mix_dir/work.py"
	command -v node >/dev/null && mix_one node "$mix_dir/work.js"
	[ -e "$mix_dir/Work.class" ] && mix_one java -XX:+PreserveFramePointer -cp "$mix_dir" Work
	mix_one sh -c "while :; do gcc -O2 -c '$bench/work.c' -o /dev/null; done"
	mix_one sh -c "while :; do xz -1 <'$mix_dir/data' | sha256sum; ls -lR /usr/lib/gcc | sort -R | sort; done"
	if command -v nginx >/dev/null; then
		mix_one nginx -p "$mix_dir" -c "$mix_dir/nginx.conf" -g 'daemon off;'
		sleep 0.5
		mix_one /usr/bin/python3 "$mix_dir/client.py" "$mix_dir/nginx.sock"
	fi
}

mix_roots() {
	(IFS=,; echo "${mix_pids[*]}")
}

mix_stop() {
	local pid
	for pid in "${mix_pids[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	mix_pids=()
}

churn() { # DIR
	local i=0
	while :; do
		"$bin/deep" 48 5
		"$bin/deep" 30 20
		"$bin/deep" 48 50
		ls -l /usr/bin >/dev/null
		gcc -O1 -c "$bench/cputime.c" -o /dev/null
		# A program that nobody has seen before.
		cp "$bin/deep" "$1/new$((i++ % 64))"
		echo $i >>"$1/new$(((i - 1) % 64))"
		"$1/new$(((i - 1) % 64))" 48 20
	done
}
