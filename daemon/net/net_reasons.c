/* SPDX-License-Identifier: Apache-2.0 */
/* net_reasons.c - why the running kernel has dropped something, or sent a reset. */
#include <string.h>

#include "bpf_load.h"
#include "net_encode_impl.h"

const char *net_reason_name(enum net_tcp_kind kind, uint32_t reason)
{
	static const char drop[] = "SKB_DROP_REASON_", reset[] = "SK_RST_REASON_";
	static struct bpf_kernel_enum drops = { .type = "skb_drop_reason" };
	static struct bpf_kernel_enum resets = { .type = "sk_rst_reason" };
	bool is_drop = kind == NET_TCP_DROP;
	const char *prefix = is_drop ? drop : reset;
	const char *name = bpf_enumerator(is_drop ? &drops : &resets, reason);

	if (!name || strncmp(name, prefix, strlen(prefix)) != 0)
		return name;
	return name + strlen(prefix);
}
