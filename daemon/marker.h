/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <tracer/marker.h> - what a program itself says of what it does, for tracectl(1)'s
 * recordings: slices, instants and counters on the thread that makes them.
 *
 *	#include <tracer/marker.h>
 *
 *	tracer_begin("decode", tracer_i64("frame", n), tracer_str("codec", "av1"));
 *	...
 *	tracer_end("decode", tracer_u64("bytes", size));
 *
 * There is nothing to link. While nobody records, a marker is one load and a branch that
 * is not taken: what is between the parentheses behind the name is not even evaluated.
 * While somebody does, it is a USDT probe, `tracer:begin` and so on: other tools can use
 * them, too (name, payload, its length, id or value).
 *
 * For C89 with GNU extensions and later, and C++98 and later; gcc and clang; x86-64 and
 * arm64. Elsewhere markers are nothing. Begin and end are of a thread and nest with its
 * calls; what does not is asynchronous.
 */
#ifndef TRACER_MARKER_H
#define TRACER_MARKER_H

#if defined(__GNUC__)
#pragma GCC system_header /* for those who compile with -pedantic */
#endif

/*
 * A name, and of each pair the key and a string, end with a NUL. Recorded are of a name
 * 127 bytes, of a key 47, of a string 255; of one marker 12 pairs and 1,500 bytes. Names
 * should be few: what varies belongs in the payload.
 *
 *	tracer_begin(NAME, PAIRS...)		a slice begins
 *	tracer_end(NAME, PAIRS...)		the innermost one of that name ends, and what is
 *						open within it; of name "": the innermost one
 *	tracer_instant(NAME, PAIRS...)		something happens
 *	tracer_counter(NAME, INTEGER)		a value, of the process
 *	tracer_counter_f64(NAME, DOUBLE)
 *	tracer_async_begin(NAME, ID, PAIRS...)	a slice that may end on another thread of the
 *	tracer_async_end(NAME, ID, PAIRS...)	process; NAME and ID say which
 *	tracer_enabled()			does somebody record?
 */
struct tracer_kv {
	const char *key;
	unsigned long long type; /* enum tracer_type */
	union {
		long long i;
		unsigned long long u;
		double d;
		const char *s;
	} v;
};

enum tracer_type { TRACER_I64 = 1, TRACER_U64, TRACER_F64, TRACER_STR, TRACER_BOOL };

#if defined(__GNUC__)
#define TRACER_UNUSED_ __attribute__((unused))
#else
#define TRACER_UNUSED_
#define __inline__ inline
#endif

/* Within macros `long long` would be a warning of the user's in C89 and C++98. */
typedef long long tracer_signed_;
typedef unsigned long long tracer_word_;

static __inline__ TRACER_UNUSED_ struct tracer_kv tracer_i64(const char *key, long long v)
{
	struct tracer_kv kv;

	kv.key = key;
	kv.type = TRACER_I64;
	kv.v.i = v;
	return kv;
}

static __inline__ TRACER_UNUSED_ struct tracer_kv tracer_u64(const char *key, unsigned long long v)
{
	struct tracer_kv kv;

	kv.key = key;
	kv.type = TRACER_U64;
	kv.v.u = v;
	return kv;
}

static __inline__ TRACER_UNUSED_ struct tracer_kv tracer_f64(const char *key, double v)
{
	struct tracer_kv kv;

	kv.key = key;
	kv.type = TRACER_F64;
	kv.v.d = v;
	return kv;
}

static __inline__ TRACER_UNUSED_ struct tracer_kv tracer_str(const char *key, const char *v)
{
	struct tracer_kv kv;

	kv.key = key;
	kv.type = TRACER_STR;
	kv.v.s = v;
	return kv;
}

static __inline__ TRACER_UNUSED_ struct tracer_kv tracer_bool(const char *key, int v)
{
	struct tracer_kv kv;

	kv.key = key;
	kv.type = TRACER_BOOL;
	kv.v.u = v != 0;
	return kv;
}

#if defined(__linux__) && defined(__ELF__) && defined(__GNUC__) && defined(__LP64__) && \
	(defined(__x86_64__) || defined(__aarch64__))

#if defined(__x86_64__)
/* Two, of which a kernel with Linux 6.18's short way for probes can use the second one. */
#define TRACER_NOP_  "nop\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define TRACER_ARGS_ "8@%rdi 8@%rsi 8@%rdx 8@%rcx"
#else
#define TRACER_NOP_  "nop\n"
#define TRACER_ARGS_ "8@x0 8@x1 8@x2 8@x3"
#endif

/*
 * A probe is a function that does nothing; with its note (systemtap's, version 3) it is
 * in a group of which the linker keeps one in each program or library.
 */
#define TRACER_GROUP_ "tracer_marker,comdat\n"
#define TRACER_PROBE_(name)                                                   \
	".pushsection .text.tracer_marker,\"axG\",@progbits," TRACER_GROUP_   \
	".weak tracer_marker_" name "\n"                                      \
	".hidden tracer_marker_" name "\n"                                    \
	".type tracer_marker_" name ", @function\n"                           \
	"tracer_marker_" name ":\n"                                           \
	".cfi_startproc\n"                                                    \
	"990: " TRACER_NOP_ "ret\n"                                           \
	".cfi_endproc\n"                                                      \
	".size tracer_marker_" name ", . - tracer_marker_" name "\n"          \
	".popsection\n"                                                       \
	".pushsection .note.stapsdt,\"G\",@note," TRACER_GROUP_ ".balign 4\n" \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                \
	"991: .asciz \"stapsdt\"\n"                                           \
	"992: .balign 4\n"                                                    \
	"993: .8byte 990b, _.stapsdt.base, tracer_marker_semaphore\n"         \
	".asciz \"tracer\"\n"                                                 \
	".asciz \"" name "\"\n"                                               \
	".asciz \"" TRACER_ARGS_ "\"\n"                                       \
	"994: .balign 4\n"                                                    \
	".popsection\n"

__asm__(".ifndef _.stapsdt.base\n"
	".pushsection .stapsdt.base,\"aG\",@progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n"
	".popsection\n"
	".endif\n"
	".ifndef tracer_marker_semaphore\n"
	".pushsection .probes,\"awG\",@progbits," TRACER_GROUP_ ".balign 2\n"
	".weak tracer_marker_semaphore\n"
	".hidden tracer_marker_semaphore\n"
	".type tracer_marker_semaphore, @object\n"
	"tracer_marker_semaphore: .2byte 0\n"
	".size tracer_marker_semaphore, 2\n"
	".popsection\n" TRACER_PROBE_("begin") TRACER_PROBE_("end") TRACER_PROBE_("instant")
		TRACER_PROBE_("counter") TRACER_PROBE_("counter_f64") TRACER_PROBE_("async_begin")
			TRACER_PROBE_("async_end") ".endif\n");

#define TRACER_DECLARE_(name)                                            \
	__attribute__((visibility("hidden"))) void tracer_marker_##name( \
		const char *, const struct tracer_kv *, unsigned long, unsigned long long)

#ifdef __cplusplus
extern "C" {
#endif
extern unsigned short tracer_marker_semaphore __attribute__((visibility("hidden")));
TRACER_DECLARE_(begin);
TRACER_DECLARE_(end);
TRACER_DECLARE_(instant);
TRACER_DECLARE_(counter);
TRACER_DECLARE_(counter_f64);
TRACER_DECLARE_(async_begin);
TRACER_DECLARE_(async_end);
#ifdef __cplusplus
}
#endif

#define tracer_enabled() \
	__builtin_expect(*(volatile unsigned short *)&tracer_marker_semaphore != 0, 0)

static __inline__ TRACER_UNUSED_ tracer_word_ tracer_bits_(double v)
{
	struct tracer_kv kv = tracer_f64(0, v);

	return kv.v.u;
}

/* The first pair is none: there may be no others. */
#define TRACER_MARK_(probe, name, id, ...)                                                         \
	do {                                                                                       \
		if (tracer_enabled()) {                                                            \
			const struct tracer_kv tracer_kv_[] = { tracer_bool(0, 0),                 \
								##__VA_ARGS__ };                   \
			tracer_marker_##probe(name, tracer_kv_ + 1,                                \
					      sizeof(tracer_kv_) / sizeof(tracer_kv_[0]) - 1, id); \
		}                                                                                  \
	} while (0)

#define TRACER_COUNT_(probe, name, value)                         \
	do {                                                      \
		if (tracer_enabled())                             \
			tracer_marker_##probe(name, 0, 0, value); \
	} while (0)

#define tracer_begin(name, ...)	  TRACER_MARK_(begin, name, 0, ##__VA_ARGS__)
#define tracer_end(name, ...)	  TRACER_MARK_(end, name, 0, ##__VA_ARGS__)
#define tracer_instant(name, ...) TRACER_MARK_(instant, name, 0, ##__VA_ARGS__)
#define tracer_async_begin(name, id, ...) \
	TRACER_MARK_(async_begin, name, (tracer_word_)(id), ##__VA_ARGS__)
#define tracer_async_end(name, id, ...) \
	TRACER_MARK_(async_end, name, (tracer_word_)(id), ##__VA_ARGS__)
#define tracer_counter(name, value) \
	TRACER_COUNT_(counter, name, (tracer_word_)(tracer_signed_)(value))
#define tracer_counter_f64(name, value) TRACER_COUNT_(counter_f64, name, tracer_bits_(value))

#else /* no markers here */

#define tracer_enabled()		  0
#define tracer_begin(name, ...)		  ((void)0)
#define tracer_end(name, ...)		  ((void)0)
#define tracer_instant(name, ...)	  ((void)0)
#define tracer_async_begin(name, id, ...) ((void)0)
#define tracer_async_end(name, id, ...)	  ((void)0)
#define tracer_counter(name, value)	  ((void)0)
#define tracer_counter_f64(name, value)	  ((void)0)

#endif

#endif
