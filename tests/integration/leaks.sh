# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# leaks.sh - what a daemon holds in the kernel, and what is left of it. Source it
# after lib.sh. Other daemons of the machine do not matter: everything is by the
# ids of what one process held.
#
#   bpf_held PID         programs, maps and links that it holds: "prog 12", one a line
#   bpf_left FILE        those listed in FILE that the kernel still has
#   descriptors PID      its open descriptors by kind: "3 socket"; without the files
#                        of code (memfds are such, too), which stay open for a while
#                        after they were mapped
#   no_more_descriptors PID FILE   of no kind there are more than FILE says
#   children PID         its children
#   any_alive FILE       whether a process listed in FILE lives

need bpftool

bpf_held() {
	cat "/proc/$1"/fdinfo/* 2>/dev/null | awk '
		$1 == "link_id:" { link[$2]; in_link = 1 }
		$1 == "map_id:" { print "map", $2 }
		$1 == "pos:" { in_link = 0 }
		$1 == "prog_id:" && !in_link { print "prog", $2 }
		END { for (id in link) print "link", id }' | sort -u
}

bpf_all() {
	local kind
	for kind in prog map link; do
		bpftool --json "$kind" list 2>/dev/null | grep -o '"id":[0-9]*' |
			sed "s/.*:/$kind /"
	done | sort -u
}

bpf_left() {
	bpf_all | comm -12 - "$1"
}

no_bpf_left() {
	[ -z "$(bpf_left "$1")" ]
}

holds_no_bpf() {
	[ -z "$(bpf_held "$1")" ]
}

descriptors() {
	local fd
	for fd in "/proc/$1"/fd/*; do
		readlink "$fd"
	done 2>/dev/null | sed -n 's/:\[[0-9]*\]$//; /^[^/]/p; s|^/proc/.*|proc|p' |
		sort | uniq -c
}

no_more_descriptors() {
	descriptors "$1" | awk '
		NR == FNR { had[$2] = $1; next }
		$1 > had[$2] + 0 { print "more than " had[$2] + 0 ": " $0; more = 1 }
		END { exit more }' "$2" -
}

children() {
	local task
	for task in "/proc/$1"/task/*; do
		cat "$task/children"
	done 2>/dev/null | tr ' ' '\n' | grep .
}

any_alive() {
	local pid
	while read -r pid; do
		gone "$pid" || return 0
	done <"$1"
	return 1
}

none_alive() {
	! any_alive "$1"
}
