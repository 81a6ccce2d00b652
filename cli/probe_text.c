/* SPDX-License-Identifier: Apache-2.0 */
/* probe_text.c - probes as text: the grammar of a definition. */
#include "probe_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define MAX_ARGS 64 /* the daemon says what too many are */

/* The words that begin a part, in the order in which they are told. */
enum part { PART_AT, PART_END, PART_ARG, PART_IF, PART_KEY, PART_COUNTER, PART_STACK, PART_RATE };
static const char *const words[] = { "at", "end", "arg", "if", "key", "counter", "stack", "rate" };
#define N_WORDS (sizeof(words) / sizeof(words[0]))

/* One definition, while it is read. */
struct reader {
	const char *at;
	ProbeDef *def;
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *rd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rd->err, rd->err_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

void probe_list_done(struct probe_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		probe_def__free_unpacked(list->defs[i], NULL);
	*list = (struct probe_list){ 0 };
}

int probe_rate_parse(const char *text, uint32_t *ret)
{
	size_t len = strlen(text);
	char number[16];
	uint64_t n;

	if (len > 2 && strcmp(text + len - 2, "/s") == 0)
		len -= 2;
	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (text_u64(number, 1, 1000000000, &n) < 0)
		return -EINVAL;
	*ret = (uint32_t)n;
	return 0;
}

/* ---- words ---- */

static void skip_blanks(struct reader *rd)
{
	while (isspace((unsigned char)*rd->at))
		rd->at++;
}

static size_t word_len(const char *s)
{
	size_t n = 0;

	while (s[n] && !isspace((unsigned char)s[n]))
		n++;
	return n;
}

/* The part that begins at `s`, or -1. */
static int part_at(const char *s)
{
	size_t len = word_len(s);

	for (size_t i = 0; i < N_WORDS; i++)
		if (strlen(words[i]) == len && memcmp(words[i], s, len) == 0)
			return (int)i;
	return -1;
}

/* Behind the character at `s`, all of it if it begins a string. */
static const char *behind(const char *s)
{
	char quote = *s;

	if (quote != '"' && quote != '\'')
		return s + 1;
	for (s++; *s && *s != quote; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

/*
 * What belongs to a word of the grammar: all up to the next one that is not in parentheses
 * or a string. The caller frees it.
 */
static char *take_rest(struct reader *rd)
{
	const char *begin, *s;
	size_t len;
	int depth = 0;

	skip_blanks(rd);
	begin = s = rd->at;
	while (*s) {
		if (depth <= 0 && s > begin && isspace((unsigned char)s[-1]) && part_at(s) >= 0)
			break;
		depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
		s = behind(s);
	}
	rd->at = s;
	len = (size_t)(s - begin);
	while (len > 0 && isspace((unsigned char)begin[len - 1]))
		len--;
	return strndup(begin, len);
}

/* ---- parts ---- */

static int take_once(struct reader *rd, enum part part, char **dst)
{
	if (*dst)
		return refuse(rd, "'%s' comes twice", words[part]);
	*dst = take_rest(rd);
	if (!*dst)
		return -ENOMEM;
	return **dst ? 0 : refuse(rd, "nothing follows '%s'", words[part]);
}

static int take_arg(struct reader *rd)
{
	ProbeDef *def = rd->def;
	char *arg = NULL, **args;
	int r = take_once(rd, PART_ARG, &arg);

	if (r == 0 && def->n_args == MAX_ARGS)
		r = refuse(rd, "too many arguments");
	args = r == 0 ? realloc(def->args, (def->n_args + 1) * sizeof(*args)) : NULL;
	if (!args) {
		free(arg);
		return r < 0 ? r : -ENOMEM;
	}
	def->args = args;
	args[def->n_args++] = arg;
	return 0;
}

static int take_rate(struct reader *rd)
{
	char *text = NULL;
	int r = take_once(rd, PART_RATE, &text);

	if (r == 0 && probe_rate_parse(text, &rd->def->rate) < 0)
		r = refuse(rd, "'rate %.40s': want hits per second and CPU, such as 1000", text);
	rd->def->has_rate = r == 0;
	free(text);
	return r;
}

static int take_stack(struct reader *rd)
{
	char *text = NULL;
	int r;

	rd->def->has_stack = rd->def->stack = 1;
	skip_blanks(rd);
	if (part_at(rd->at) >= 0)
		return 0;
	text = take_rest(rd);
	r = text ? 0 : -ENOMEM;
	if (text && *text)
		r = refuse(rd, "'%.60s' behind 'stack': want end, arg, if, key, counter or rate",
			   text);
	free(text);
	return r;
}

static int take_part(struct reader *rd)
{
	int part = part_at(rd->at);
	size_t len = word_len(rd->at);

	if (part < 0)
		return refuse(rd,
			      "'%.*s': want NAME at SPEC, then end, arg, if, key, counter, "
			      "stack, rate",
			      (int)(len < 60 ? len : 60), rd->at);
	rd->at += len;
	switch ((enum part)part) {
	case PART_AT:
		return take_once(rd, PART_AT, &rd->def->at);
	case PART_END:
		return take_once(rd, PART_END, &rd->def->end);
	case PART_ARG:
		return take_arg(rd);
	case PART_IF:
		return take_once(rd, PART_IF, &rd->def->condition);
	case PART_KEY:
		return take_once(rd, PART_KEY, &rd->def->key);
	case PART_COUNTER:
		return take_once(rd, PART_COUNTER, &rd->def->counter);
	case PART_STACK:
		return take_stack(rd);
	case PART_RATE:
		return take_rate(rd);
	}
	return 0;
}

static int take_definition(struct reader *rd)
{
	size_t len;
	int r = 0;

	skip_blanks(rd);
	len = word_len(rd->at);
	rd->def->name = strndup(rd->at, len);
	if (!rd->def->name)
		return -ENOMEM;
	rd->at += len;
	skip_blanks(rd);
	if (part_at(rd->at) != PART_AT)
		return refuse(rd, "behind its name 'at SPEC' says where it is: NAME at "
				  "uprobe:libc.so.6:malloc");
	while (r == 0 && *rd->at) {
		r = take_part(rd);
		skip_blanks(rd);
	}
	return r;
}

/* `text`: one definition, without comments. */
static int add_definition(const char *text, struct probe_list *list, char *err, size_t err_size)
{
	ProbeDef *def = malloc(sizeof(*def));
	char reason[256];
	struct reader rd = { .at = text, .def = def, .err = reason, .err_size = sizeof(reason) };
	int r;

	if (!def)
		return -ENOMEM;
	probe_def__init(def);
	r = list->n < MAX_PROBES ? take_definition(&rd)
				 : refuse(&rd, "too many probes, %d at most", MAX_PROBES);
	if (r == 0) {
		list->defs[list->n++] = def;
		return 0;
	}
	if (r == -EINVAL)
		snprintf(err, err_size, "probe '%.64s': %s", def->name ? def->name : "", reason);
	probe_def__free_unpacked(def, NULL);
	return r;
}

/* ---- texts of several ---- */

/* Takes comments out of a line, which ends at `end`: blanks stand in their place. */
static void blank_comment(char *line, char *end)
{
	char *s = line;

	while (s < end && !(*s == '#' && (s == line || isspace((unsigned char)s[-1])))) {
		const char *next = behind(s);

		/* A quote that nobody closes hides no comments of other lines. */
		s = next > end ? s + 1 : (char *)next;
	}
	memset(s, ' ', (size_t)(end - s));
}

static bool is_blank(const char *s)
{
	return s[strspn(s, " \t\r\n")] == '\0';
}

/* Each line that begins without a blank begins a definition: cut before it. */
static int parse_all(char *text, struct probe_list *list, char *err, size_t err_size)
{
	char *begin = text, *line = text;
	int r = 0;

	while (r == 0 && *line) {
		char *end = strchrnul(line, '\n'), *next = *end ? end + 1 : end, kept;

		blank_comment(line, end);
		line = next;
		if (*next && (isspace((unsigned char)*next) || *next == '#'))
			continue;
		kept = *next;
		*next = '\0';
		if (!is_blank(begin))
			r = add_definition(begin, list, err, err_size);
		*next = kept;
		begin = next;
	}
	return r;
}

int probe_text_parse(const char *text, struct probe_list *list, char *err, size_t err_size)
{
	char *copy = strdup(text);
	size_t n = list->n;
	int r = copy ? parse_all(copy, list, err, err_size) : -ENOMEM;

	free(copy);
	if (r == 0 && list->n == n) {
		snprintf(err, err_size, "there is no probe in it");
		r = -EINVAL;
	}
	if (r == -ENOMEM)
		snprintf(err, err_size, "out of memory");
	while (r < 0 && list->n > n)
		probe_def__free_unpacked(list->defs[--list->n], NULL);
	return r;
}

/* ---- back to text ---- */

static void put_part(FILE *out, enum part part, const char *text)
{
	if (text && *text)
		fprintf(out, " %s %s", words[part], text);
}

char *probe_text_of(const ProbeDef *def)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs(def->name ? def->name : "?", out);
	put_part(out, PART_AT, def->at);
	for (size_t i = 0; i < def->n_args; i++)
		put_part(out, PART_ARG, def->args[i]);
	put_part(out, PART_END, def->end);
	put_part(out, PART_IF, def->condition);
	put_part(out, PART_KEY, def->key);
	put_part(out, PART_COUNTER, def->counter);
	if (def->stack)
		fprintf(out, " %s", words[PART_STACK]);
	if (def->rate)
		fprintf(out, " %s %u", words[PART_RATE], def->rate);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
