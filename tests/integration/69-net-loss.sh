#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Segments that get lost: the retransmissions in a trace against the kernel's count.
. "$(dirname "$0")/netlab.sh"

need curl
need clang
need ss iproute2
lab_net ""
lab_nginx

# Every 25th packet that comes to the client with a body is not for it.
cat >"$T/drop.bpf.c" <<'EOF2'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static __u32 n;

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	if (ctx->data_end - ctx->data < 1000 || n++ % 25 != 7)
		return XDP_PASS;
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
EOF2
clang -g -O2 -target bpf -idirafter "/usr/include/$(cc -print-multiarch)" -c "$T/drop.bpf.c" \
	-o "$T/drop.o" 2>"$T/clang.out" || { cat "$T/clang.out"; fail "a program that drops compiles"; exit 1; }
ip -n $C link set veth0 xdpgeneric obj "$T/drop.o" sec xdp 2>"$T/out" ||
	skip "packets cannot be dropped: $(head -n 1 "$T/out")"

retransmitted() { # by the server's side
	awk '/^Tcp:/ { if (!n) { for (i = 2; i <= NF; i++) if ($i == "RetransSegs") n = i } else print $n }' \
		/proc/net/snmp
}
counted() {
	nsenter --net="/run/netns/$S" -- bash -c "$(declare -f retransmitted); retransmitted"
}

seen() {
	python3 "$here/net_loss.py" "$@"
}

fetch() {
	local i
	BEFORE=$(counted)
	for i in $(seq 12); do
		ask curl -s -o /dev/null http://10.77.0.1:8080/big.bin
	done
	# What was not acknowledged when a client has gone is sent again, too.
	wait_for 5 settled
	AFTER=$(counted)
}

settled() { # nobody has anything unacknowledged
	! at $S ss -Htn state established state fin-wait-1 state last-ack state closing \
		'sport = :8080' | awk '$2 > 0' | grep -q .
}

start_tracerd
record loss fetch
[ $((AFTER - BEFORE)) -gt 5 ] || fail "packets get lost: $BEFORE, $AFTER retransmissions"
check "as many segments are sent again as the kernel has counted" \
	seen retransmits "$T/loss.trace" "$(nginx_workers)" $((AFTER - BEFORE))
check "and there are marks where" seen marks "$T/loss.trace" "$(nginx_workers)"
check "requests are whole all the same" python3 "$here/net_http.py" log "$T/loss.trace" \
	"$T/access.log" "$(nginx_workers)" 8080
check "the trace keeps the rules" tracectl check "$T/loss.trace"

stop_tracerd
check "the daemon stops cleanly" test $? = 0
