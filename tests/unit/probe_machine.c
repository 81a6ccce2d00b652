/* SPDX-License-Identifier: Apache-2.0 */
/* probe_machine.c - runs the code of a probe over memory of a test. */
#include "probe_machine.h"

#include <string.h>

struct run {
	struct machine *m;
	const struct probe_code *code;
	uint64_t r[PROBES_REGISTERS];
	bool failed; /* a load, in this expression */
	bool is_bad;
};

void machine_memory(struct machine *m, uint64_t at, const void *bytes, size_t len)
{
	m->regions[m->n_regions].at = at;
	m->regions[m->n_regions].bytes = bytes;
	m->regions[m->n_regions++].len = len;
}

void machine_register(struct machine *m, unsigned offset, uint64_t value)
{
	memcpy(m->regs + offset, &value, sizeof(value));
}

static bool read_memory(const struct machine *m, uint64_t at, void *dst, size_t len)
{
	if (m->read)
		return m->read(m->read_ctx, at, dst, len);
	for (size_t i = 0; i < m->n_regions; i++) {
		uint64_t from = at - m->regions[i].at;

		if (from >= m->regions[i].len || m->regions[i].len - from < len)
			continue;
		memcpy(dst, (const uint8_t *)m->regions[i].bytes + from, len);
		return true;
	}
	if (!m->record || at - m->record_at >= m->record_len ||
	    m->record_len - (at - m->record_at) < len)
		return false;
	memcpy(dst, (const uint8_t *)m->record + (at - m->record_at), len);
	return true;
}

static uint64_t extend(uint64_t x, unsigned size, bool is_signed)
{
	unsigned shift = 64 - 8 * size;

	if (is_signed)
		return (uint64_t)((int64_t)(x << shift) >> shift);
	return x << shift >> shift;
}

static bool size_valid(struct run *run, const struct probes_insn *insn)
{
	if (insn->size != 1 && insn->size != 2 && insn->size != 4 && insn->size != 8)
		run->is_bad = true;
	return !run->is_bad;
}

static uint64_t load(struct run *run, uint64_t at, const struct probes_insn *insn)
{
	uint64_t x = 0;

	if (!size_valid(run, insn))
		return 0;
	if (!read_memory(run->m, at, &x, insn->size)) {
		run->failed = true;
		return 0;
	}
	return extend(x, insn->size, insn->flags & PROBES_SIGNED);
}

static void read_text(struct run *run, uint64_t at, size_t max, char dst[PROBES_TEXT + 1])
{
	size_t n = 0;

	if (!read_memory(run->m, at, dst, 1))
		run->failed = true;
	while (n < max && n < PROBES_TEXT && read_memory(run->m, at + n, dst + n, 1) && dst[n])
		n++;
	dst[n] = '\0';
}

static size_t text_max(const struct run *run, const struct probes_insn *insn, size_t max)
{
	uint64_t n = run->r[insn->b];

	return insn->flags & PROBES_SIZED && n < max ? n : max;
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (b == 0)
		return 0;
	if (is_signed && b == UINT64_MAX)
		return rest ? 0 : 0 - a;
	if (is_signed)
		return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
	return rest ? a % b : a / b;
}

static bool compare(const struct probes_insn *insn, uint64_t a, uint64_t b)
{
	bool is_signed = insn->flags & PROBES_SIGNED;
	int order = a == b ? 0 : (is_signed ? (int64_t)a < (int64_t)b : a < b) ? -1 : 1;

	switch (insn->op) {
	case PROBES_EQ:
		return order == 0;
	case PROBES_NE:
		return order != 0;
	case PROBES_LT:
		return order < 0;
	case PROBES_LE:
		return order <= 0;
	case PROBES_GT:
		return order > 0;
	default:
		return order >= 0;
	}
}

static uint64_t calculate(const struct probes_insn *insn, uint64_t a, uint64_t b)
{
	bool is_signed = insn->flags & PROBES_SIGNED;

	switch (insn->op) {
	case PROBES_ADD:
		return a + b;
	case PROBES_SUB:
		return a - b;
	case PROBES_MUL:
		return a * b;
	case PROBES_DIV:
	case PROBES_MOD:
		return divide(a, b, is_signed, insn->op == PROBES_MOD);
	case PROBES_AND:
		return a & b;
	case PROBES_OR:
		return a | b;
	case PROBES_XOR:
		return a ^ b;
	case PROBES_SHL:
		return b > 63 ? 0 : a << b;
	case PROBES_SHR:
		if (is_signed)
			return (uint64_t)((int64_t)a >> (b > 63 ? 63 : b));
		return b > 63 ? 0 : a >> b;
	default:
		return compare(insn, a, b);
	}
}

static uint64_t text_eq(struct run *run, const struct probes_insn *insn)
{
	char text[PROBES_TEXT + 1];
	const char *with;

	if (insn->imm < 0 || insn->imm >= PROBES_TEXTS) {
		run->is_bad = true;
		return 0;
	}
	with = run->code->texts[insn->imm];
	read_text(run, run->r[insn->a], text_max(run, insn, PROBES_COMPARED), text);
	return insn->flags & PROBES_PREFIX ? strncmp(text, with, strlen(with)) == 0
					   : strcmp(text, with) == 0;
}

/* What a value becomes; false: the hit is not wanted. */
static bool put(struct run *run, const struct probes_insn *insn)
{
	struct machine *m = run->m;
	bool failed = run->failed;
	uint64_t a = run->r[insn->a];

	run->failed = false;
	if (insn->op == PROBES_FILTER) {
		m->is_unwanted = failed || a == 0;
		return !m->is_unwanted;
	}
	if (insn->op == PROBES_KEY && !failed) {
		m->has_key = true;
		m->key = a;
	} else if (insn->op == PROBES_COUNTER && !failed) {
		m->has_counter = true;
		m->counter = a;
	} else if (insn->op == PROBES_EMIT || insn->op == PROBES_EMIT_TEXT) {
		size_t i = m->n_values++;

		if (i >= PROBES_ARGS || insn->imm > PROBES_TEXT) {
			run->is_bad = true;
			return false;
		}
		m->values[i].number = a;
		m->values[i].is_text = insn->op == PROBES_EMIT_TEXT;
		if (m->values[i].is_text && !failed) {
			read_text(run, a, text_max(run, insn, (size_t)insn->imm),
				  m->values[i].text);
			failed = run->failed;
			run->failed = false;
		}
		m->values[i].is_unreadable = failed;
	}
	return true;
}

static void step(struct run *run, const struct probes_insn *insn)
{
	struct machine *m = run->m;
	uint64_t *dst = &run->r[insn->dst], a = run->r[insn->a], b = run->r[insn->b];

	if (run->failed)
		return;
	switch (insn->op) {
	case PROBES_CONST:
		*dst = (uint64_t)insn->imm;
		break;
	case PROBES_REGISTER:
		if (insn->imm < 0 || (size_t)insn->imm > sizeof(m->regs) - 8)
			run->is_bad = true;
		else
			memcpy(dst, m->regs + insn->imm, 8);
		break;
	case PROBES_FIELD:
		if (!m->record || insn->imm < 0 || !size_valid(run, insn) ||
		    (size_t)insn->imm + insn->size > m->record_len) {
			run->failed = true;
			break;
		}
		memcpy(dst, (const uint8_t *)m->record + insn->imm, insn->size);
		*dst = extend(*dst, insn->size, insn->flags & PROBES_SIGNED);
		break;
	case PROBES_RECORD:
		*dst = m->record_at + (uint64_t)insn->imm;
		break;
	case PROBES_TASK:
		if (insn->imm < 0 || insn->imm > 4)
			run->is_bad = true;
		else
			*dst = m->task[insn->imm];
		break;
	case PROBES_LOAD:
		*dst = load(run, a + (uint64_t)insn->imm, insn);
		break;
	case PROBES_EXTEND:
		*dst = extend(a, insn->size, insn->flags & PROBES_SIGNED);
		break;
	case PROBES_TEXT_EQ:
		*dst = text_eq(run, insn);
		break;
	default:
		if (insn->op < PROBES_ADD || insn->op > PROBES_GE)
			run->is_bad = true;
		*dst = calculate(insn, a, insn->flags & PROBES_IMM ? (uint64_t)insn->imm : b);
	}
}

static bool is_jump(const struct run *run, const struct probes_insn *insn)
{
	return insn->op == PROBES_JUMP || (insn->op == PROBES_JUMP_IF && run->r[insn->a]) ||
	       (insn->op == PROBES_JUMP_UNLESS && !run->r[insn->a]);
}

bool machine_run(struct machine *m, const struct probe_code *code)
{
	struct run run = { .m = m, .code = code };

	for (uint32_t pc = 0; pc < code->n && pc < PROBES_CODE && !run.is_bad; pc++) {
		const struct probes_insn *insn = &code->insns[pc];

		if (insn->dst >= PROBES_REGISTERS || insn->a >= PROBES_REGISTERS ||
		    insn->b >= PROBES_REGISTERS)
			return false;
		if (insn->op == PROBES_END)
			return pc + 1 == code->n;
		if (insn->op >= PROBES_FILTER) {
			if (!put(&run, insn))
				return !run.is_bad;
		} else if (insn->op >= PROBES_JUMP && insn->op <= PROBES_JUMP_UNLESS) {
			if (insn->imm < 0 || insn->imm >= PROBES_CODE)
				return false;
			if (!run.failed && is_jump(&run, insn))
				pc += (uint32_t)insn->imm;
		} else {
			step(&run, insn);
		}
	}
	return false;
}
