/* SPDX-License-Identifier: Apache-2.0 */
/* code_boundary.c - where instructions begin. */
#include "code_boundary.h"

#if defined(__x86_64__)
#include <Zydis/Zydis.h>

uint64_t code_boundary(const uint8_t *code, size_t len, uint64_t offset)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	uint64_t at = 0;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return UINT64_MAX;
	while (at < len) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, len - at,
								&insn)))
			return UINT64_MAX;
		if (at + insn.length > offset)
			return at;
		at += insn.length;
	}
	return UINT64_MAX;
}
#else
/* Of arm64 all have 4 bytes. */
uint64_t code_boundary(const uint8_t *code, size_t len, uint64_t offset)
{
	(void)code;
	return offset < len ? offset & ~3ull : UINT64_MAX;
}
#endif
