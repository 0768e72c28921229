#include "mcpdiag/where.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

enum field {
	F_SESSION, F_CLIENT, F_SERVER, F_METHOD, F_DETECTOR,	/* words */
	F_KIND, F_SEVERITY, F_CONFIDENCE,			/* names */
	F_STATUS, F_PACKET, F_STREAM, F_TIME,			/* numbers */
	N_FIELDS
};

static const char *const field_names[N_FIELDS + 1] = {
	"session", "client", "server", "method", "detector", "kind",
	"severity", "confidence", "status", "packet", "stream", "time", NULL
};

/* Names by rank, as the enums of finding.h count them. */
static const char *const severity_names[] = { "info", "warning", "error", NULL };
static const char *const confidence_names[] = { "low", "medium", "high", NULL };

enum op { OP_HAS, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_CONTAINS };

enum code { C_TEST, C_AND, C_OR, C_NOT };

struct node {			/* in postfix order */
	enum code code;
	enum field field;
	enum op op;
	struct str text;
	int64_t lo, hi;		/* what == means by the value */
	int64_t v;		/* what < and the like mean */
};

struct where {
	char *text;		/* values point into it */
	struct node node[WHERE_MAX_NODES];
	uint32_t n;
};

/* ---- words ---- */

enum token {
	T_END, T_WORD, T_QUOTED, T_OPEN, T_CLOSE, T_LEFT, T_RIGHT, T_COMMA,
	T_NOT, T_AND, T_OR, T_IN, T_OP, T_BAD
};

struct parser {
	struct where *w;
	const char *const *detectors;
	struct errmsg *em;
	uint32_t column;	/* of the error; 0 none */
	char *p;		/* what comes next */
	enum token tok;		/* the current one: */
	char *at;
	bool value;		/* it can be one: a word, or between quotes */
	struct str text;	/* of that */
	enum op op;
	struct {
		enum token tok;	/* T_OPEN, T_NOT, T_AND or T_OR */
		char *at;
	} stack[WHERE_MAX_DEPTH];
	uint32_t depth;
};

static void __attribute__((format(printf, 3, 4)))
refuse(struct parser *s, const char *at, const char *fmt, ...)
{
	char text[224];
	va_list ap;

	if (s->column)
		return;			/* the first one counts */
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	s->column = (uint32_t)(at - s->w->text) + 1;
	(void)err_set(s->em, E_USAGE, "column %u: %s", s->column, text);
	s->tok = T_END;
}

static bool
in_word(char c)
{
	return c != '\0' && strchr(" \t\r\n()!=<>~&|{},\"'", c) == NULL;
}

/* The text between two quotes; a backslash keeps what follows it. */
static void
quoted(struct parser *s)
{
	char quote = *s->p++, *to = s->p;

	s->text.p = s->p;
	while (*s->p && *s->p != quote) {
		if (*s->p == '\\' && s->p[1])
			s->p++;
		*to++ = *s->p++;
	}
	s->text.n = (size_t)(to - s->text.p);
	s->tok = T_QUOTED;
	s->value = true;
	if (*s->p == quote)
		s->p++;
	else
		refuse(s, s->at, "the quote that opens here is never closed");
}

static const struct {
	const char *text;
	enum token tok;
	enum op op;
} signs[] = {			/* longer ones first */
	{ "&&", T_AND, OP_HAS }, { "||", T_OR, OP_HAS },
	{ "==", T_OP, OP_EQ }, { "!=", T_OP, OP_NE },
	{ "<=", T_OP, OP_LE }, { ">=", T_OP, OP_GE },
	{ "<", T_OP, OP_LT }, { ">", T_OP, OP_GT }, { "~", T_OP, OP_CONTAINS },
	{ "!", T_NOT, OP_HAS }, { "(", T_OPEN, OP_HAS }, { ")", T_CLOSE, OP_HAS },
	{ "{", T_LEFT, OP_HAS }, { "}", T_RIGHT, OP_HAS }, { ",", T_COMMA, OP_HAS },
}, words[] = {			/* as tshark has them, too */
	{ "and", T_AND, OP_HAS }, { "or", T_OR, OP_HAS }, { "not", T_NOT, OP_HAS },
	{ "in", T_IN, OP_HAS }, { "eq", T_OP, OP_EQ }, { "ne", T_OP, OP_NE },
	{ "lt", T_OP, OP_LT }, { "le", T_OP, OP_LE }, { "gt", T_OP, OP_GT },
	{ "ge", T_OP, OP_GE }, { "contains", T_OP, OP_CONTAINS },
};

static void
next(struct parser *s)
{
	if (s->column)
		return;
	s->p += strspn(s->p, " \t\r\n");
	s->at = s->p;
	s->tok = T_END;
	s->value = false;
	if (*s->p == '\0')
		return;
	if (*s->p == '"' || *s->p == '\'') {
		quoted(s);
		return;
	}
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		size_t n = strlen(signs[i].text);

		if (strncmp(s->p, signs[i].text, n) != 0)
			continue;
		s->tok = signs[i].tok;
		s->op = signs[i].op;
		s->p += n;
		return;
	}
	if (!in_word(*s->p)) {
		s->tok = T_BAD;
		refuse(s, s->at, *s->p == '=' ? "equality is ==" :
		    "%c alone means nothing; and is &&, or is ||", *s->p);
		return;
	}
	while (in_word(*s->p))
		s->p++;
	s->tok = T_WORD;
	s->value = true;
	s->text = str_of(s->at, (size_t)(s->p - s->at));
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (str_eq(s->text, str_c(words[i].text))) {
			s->tok = words[i].tok;
			s->op = words[i].op;
		}
}

/* ---- values ---- */

static int
index_of(struct str s, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (str_ieq(s, str_c(names[i])))
			return i;
	return -1;
}

static void
list(char *out, size_t size, const char *const *names)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; names[i] && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s",
		    i == 0 ? "" : names[i + 1] ? ", " : " and ", names[i]);
}

/* A number from 0 with at most 9 decimals, in units of 10^-9; *half is half of
 * what its last decimal counts. */
static bool
decimal(struct str s, int64_t *out, int64_t *half)
{
	int64_t v = 0, unit = NS_S;
	size_t i = 0;
	bool point = false;

	*half = NS_S / 2;
	for (; i < s.n; i++) {
		char c = s.p[i];

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9' || (point && unit == 1))
			return false;
		if (point) {
			unit /= 10;
			*half = unit / 2;
			v += (c - '0') * unit;
			continue;
		}
		if (v > INT64_MAX / 100)
			return false;
		v = v * 10 + (c - '0') * NS_S;
	}
	*out = v;
	return s.n > 0 && !(point && s.n == 1);
}

static bool
number(struct str s, bool is_time, int64_t *v, int64_t *half)
{
	uint64_t u;

	if (is_time) {
		if (s.n > 1 && s.p[s.n - 1] == 's')	/* 10s, as it is said */
			s.n--;
		return decimal(s, v, half);
	}
	*half = 0;
	if (!str_u64(s, &u) || u > UINT32_MAX)
		return false;
	*v = (int64_t)u;
	return true;
}

/* 10, 3.036, 400..499 */
static void
read_number(struct parser *s, struct node *t)
{
	bool is_time = t->field == F_TIME;
	size_t dots = str_find(s->text, STR(".."));
	struct str from = s->text, to = s->text;
	int64_t half, v;

	if (dots != SIZE_MAX) {
		from.n = dots;
		to = str_of(s->text.p + dots + 2, s->text.n - dots - 2);
	}
	if (!number(from, is_time, &t->v, &half) || !number(to, is_time, &v, &t->hi)) {
		refuse(s, s->at, "%s takes %s, or two of them with .. between",
		    field_names[t->field], is_time ? "seconds from the first packet" :
		    "a whole number");
		return;
	}
	t->lo = t->v - half;
	t->hi += v;
	if (dots != SIZE_MAX && t->op != OP_EQ && t->op != OP_NE)
		refuse(s, s->at, "a range goes with == and != only");
	else if (t->lo > t->hi)
		refuse(s, s->at, "the range ends before it begins");
}

static void
read_name(struct parser *s, struct node *t, const char *const *names)
{
	char all[160];

	t->v = t->lo = t->hi = index_of(s->text, names);
	if (t->v >= 0)
		return;
	list(all, sizeof all, names);
	refuse(s, s->at, "no %s %.*s; there are %s", field_names[t->field],
	    (int)(s->text.n < 40 ? s->text.n : 40), s->text.p, all);
}

static void
check_detector(struct parser *s, const struct node *t)
{
	size_t slash = str_find(s->text, STR("/"));
	struct str name = str_of(s->text.p, slash == SIZE_MAX ? s->text.n : slash);

	if (s->detectors && t->op != OP_CONTAINS && index_of(name, s->detectors) < 0)
		refuse(s, s->at, "no detector %.*s; `mcpdiag explain` lists them",
		    (int)(name.n < 40 ? name.n : 40), name.p);
}

static void
read_value(struct parser *s, struct node *t)
{
	t->text = s->text;
	if (s->text.n == 0) {
		refuse(s, s->at, "an empty value; `%s` alone asks whether there is one",
		    field_names[t->field]);
		return;
	}
	switch (t->field) {
	case F_SESSION: case F_CLIENT: case F_SERVER: case F_METHOD:
		break;
	case F_DETECTOR:
		check_detector(s, t);
		break;
	case F_KIND:
		read_name(s, t, ev_kind_names);
		break;
	case F_SEVERITY:
		read_name(s, t, severity_names);
		break;
	case F_CONFIDENCE:
		read_name(s, t, confidence_names);
		break;
	case F_STATUS: case F_PACKET: case F_STREAM: case F_TIME:
		read_number(s, t);
		break;
	case N_FIELDS:
		break;
	}
}

/* ---- the expression: the shunting yard, into postfix order ---- */

static void
emit(struct parser *s, struct node n)
{
	if (s->column)
		return;
	if (s->w->n == WHERE_MAX_NODES)
		refuse(s, s->at, "too long: %d comparisons and operators at most",
		    WHERE_MAX_NODES);
	else
		s->w->node[s->w->n++] = n;
}

static void
push(struct parser *s)
{
	if (s->depth == WHERE_MAX_DEPTH) {
		refuse(s, s->at, "too deep: %d open parentheses and operators at most",
		    WHERE_MAX_DEPTH);
		return;
	}
	s->stack[s->depth].tok = s->tok;
	s->stack[s->depth++].at = s->at;
}

/* Operators that bind as `least` does or closer, down to a parenthesis. */
static void
pop(struct parser *s, enum token least)
{
	while (s->depth) {
		enum token top = s->stack[s->depth - 1].tok;

		if (top == T_OPEN || (top == T_OR && least != T_OR) ||
		    (top == T_AND && least == T_NOT))
			return;
		s->depth--;
		emit(s, (struct node){ .code = top == T_NOT ? C_NOT :
		    top == T_AND ? C_AND : C_OR });
	}
}

static bool
fits(struct parser *s, const struct node *t)
{
	const char *name = field_names[t->field];

	if (t->op == OP_CONTAINS && t->field > F_DETECTOR) {
		refuse(s, s->at, "%s is no text: == != < <= > >= are possible%s", name,
		    t->field == F_KIND ? " (== and != only)" : "");
		return false;
	}
	if (t->op >= OP_LT && t->op <= OP_GE && t->field <= F_KIND) {
		refuse(s, s->at, "%s has no order: ==, !=%s are possible", name,
		    t->field == F_KIND ? "" : " and ~");
		return false;
	}
	return true;
}

/* in {400, 404, 500..599}: the first value has been opened. */
static void
set_of_values(struct parser *s, struct node t)
{
	uint32_t n = 0;

	t.op = OP_EQ;
	next(s);
	if (s->tok != T_LEFT) {
		refuse(s, s->at, "{ is missing: %s in {A, B}", field_names[t.field]);
		return;
	}
	for (next(s); s->tok != T_RIGHT && s->column == 0; next(s)) {
		if (s->tok == T_COMMA && n)
			continue;
		if (!s->value) {
			refuse(s, s->at, "a value or } is missing");
			return;
		}
		read_value(s, &t);
		emit(s, t);
		if (n++)
			emit(s, (struct node){ .code = C_OR });
	}
	if (n == 0)
		refuse(s, s->at, "no value between { and }");
	next(s);
}

/* A field, alone or with an operator and a value. */
static void
test(struct parser *s)
{
	struct node t = { .code = C_TEST };
	char all[160];
	int i = index_of(s->text, field_names);

	if (i < 0) {
		list(all, sizeof all, field_names);
		refuse(s, s->at, "no field %.*s; there are %s",
		    (int)(s->text.n < 40 ? s->text.n : 40), s->text.p, all);
		return;
	}
	t.field = (enum field)i;
	next(s);
	if (s->tok == T_IN) {
		set_of_values(s, t);
		return;
	}
	if (s->tok != T_OP) {
		emit(s, t);		/* OP_HAS */
		return;
	}
	t.op = s->op;
	if (!fits(s, &t))
		return;
	next(s);
	if (!s->value) {
		refuse(s, s->at, "a value for %s is missing", field_names[i]);
		return;
	}
	read_value(s, &t);
	emit(s, t);
	next(s);
}

static void
close_parenthesis(struct parser *s)
{
	pop(s, T_OR);
	if (s->depth == 0) {
		refuse(s, s->at, "no ( for this )");
		return;
	}
	s->depth--;
	pop(s, T_NOT);
	next(s);
}

static void
expression(struct parser *s)
{
	bool operand = true;		/* one must come now */

	next(s);
	while (s->column == 0) {
		if (operand && (s->tok == T_OPEN || s->tok == T_NOT)) {
			push(s);
			next(s);
		} else if (operand && s->tok == T_WORD) {
			test(s);
			pop(s, T_NOT);
			operand = false;
		} else if (operand) {
			refuse(s, s->at, "%s a field, ! or ( is possible here",
			    s->tok == T_END ? "it ends too early:" : "only");
		} else if (s->tok == T_AND || s->tok == T_OR) {
			pop(s, s->tok);
			push(s);
			next(s);
			operand = true;
		} else if (s->tok == T_CLOSE) {
			close_parenthesis(s);
		} else if (s->tok == T_END) {
			break;
		} else
			refuse(s, s->at, "only &&, ||, ) or the end is possible here");
	}
	pop(s, T_OR);
	if (s->depth)
		refuse(s, s->stack[s->depth - 1].at, "no ) for this (");
}

struct where *
where_new(const char *text, const char *const *detectors, uint32_t *column,
    struct errmsg *em)
{
	struct where *w = xcalloc(1, sizeof *w);
	struct parser s = { .w = w, .detectors = detectors, .em = em };
	size_t n = strlen(text);

	w->text = xmemdup0(text, n);
	s.p = s.at = w->text;
	if (n > WHERE_MAX_TEXT)
		refuse(&s, s.at, "too long: %d bytes at most", WHERE_MAX_TEXT);
	else
		expression(&s);
	*column = s.column;
	if (s.column == 0)
		return w;
	where_free(w);
	return NULL;
}

void
where_free(struct where *w)
{
	if (w == NULL)
		return;
	free(w->text);
	free(w);
}

/* ---- asking ---- */

static bool
contains(struct str s, struct str part)
{
	for (size_t i = 0; i + part.n <= s.n; i++)
		if (str_ipre(str_of(s.p + i, s.n - i), part))
			return true;
	return false;
}

/* The whole, or what stands before the version: "cli" of "cli/1.0". */
static bool
equals(struct str s, struct str v)
{
	return str_ieq(s, v) || (s.n > v.n && s.p[v.n] == '/' && str_ipre(s, v));
}

static bool
among(const struct node *t, const struct str *values, size_t n)
{
	bool any = false, yes = false;

	for (size_t i = 0; i < n; i++) {
		if (values[i].p == NULL)
			continue;
		any = true;
		yes |= t->op == OP_CONTAINS ? contains(values[i], t->text) :
		    equals(values[i], t->text);
	}
	return t->op == OP_HAS ? any : t->op == OP_NE ? any && !yes : yes;
}

/* Shown as #0123456789; the start is enough, with or without the #. */
static bool
session(const struct node *t, struct str key)
{
	struct str bare = key;
	bool yes;

	if (key.p == NULL)
		return false;
	if (key.n && key.p[0] == '#')
		bare = str_of(key.p + 1, key.n - 1);
	if (t->op == OP_HAS)
		return true;
	if (t->op == OP_CONTAINS)
		return contains(key, t->text);
	yes = str_ipre(key, t->text) || str_ipre(bare, t->text);
	return yes == (t->op == OP_EQ);
}

static bool
detector(const struct node *t, const struct finding *f)
{
	struct str v = STR_NONE;
	char both[128];
	int n;

	if (f == NULL)
		return false;
	n = snprintf(both, sizeof both, "%s%s%s", f->detector, f->variant ? "/" : "",
	    f->variant ? f->variant : "");
	if (n > 0)
		v = str_of(both, (size_t)n < sizeof both ? (size_t)n : sizeof both - 1);
	return among(t, &v, 1);
}

/* Of what lasts from a to b. */
static bool
within(const struct node *t, int64_t a, int64_t b)
{
	switch (t->op) {
	case OP_HAS:
		return true;
	case OP_EQ:
		return a <= t->hi && b >= t->lo;
	case OP_NE:
		return a > t->hi || b < t->lo;
	case OP_LT:
		return a < t->v;
	case OP_LE:
		return a <= t->v;
	case OP_GT:
		return b > t->v;
	case OP_GE:
		return b >= t->v;
	case OP_CONTAINS:
		break;
	}
	return false;
}

static bool
streams(const struct node *t, const struct where_item *i)
{
	bool yes = false;
	struct node eq = *t;

	if (t->op == OP_NE)
		eq.op = OP_EQ;
	for (uint32_t k = 0; k < i->n_streams; k++)
		yes |= within(&eq, i->streams[k], i->streams[k]);
	return t->op == OP_NE ? i->n_streams && !yes : yes;
}

static bool
kinds(const struct node *t, uint32_t bits)
{
	bool yes = bits >> t->v & 1;

	return bits && (t->op == OP_HAS || yes == (t->op == OP_EQ));
}

static bool
ask(const struct node *t, const struct where_item *i)
{
	const struct finding *f = i->finding;

	switch (t->field) {
	case F_SESSION:
		return session(t, i->session);
	case F_CLIENT:
		return among(t, i->client, sizeof i->client / sizeof *i->client);
	case F_SERVER:
		return among(t, i->server, sizeof i->server / sizeof *i->server);
	case F_METHOD:
		return among(t, i->method, sizeof i->method / sizeof *i->method);
	case F_DETECTOR:
		return detector(t, f);
	case F_KIND:
		return kinds(t, i->kinds);
	case F_SEVERITY:
		return f && within(t, f->severity, f->severity);
	case F_CONFIDENCE:
		return f && within(t, f->confidence, f->confidence);
	case F_STATUS:
		return i->status && within(t, i->status, i->status);
	case F_PACKET:
		return i->first_pkt && within(t, i->first_pkt, i->last_pkt);
	case F_STREAM:
		return streams(t, i);
	case F_TIME:
		return i->timed && within(t, i->from, i->to);
	case N_FIELDS:
		break;
	}
	return false;
}

bool
where_match(const struct where *w, const struct where_item *item)
{
	bool stack[WHERE_MAX_NODES + 1];
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct node *t = &w->node[i];

		switch (t->code) {
		case C_TEST:
			stack[n++] = ask(t, item);
			break;
		case C_NOT:
			stack[n - 1] = !stack[n - 1];
			break;
		case C_AND:
			n--;
			stack[n - 1] = stack[n - 1] && stack[n];
			break;
		case C_OR:
			n--;
			stack[n - 1] = stack[n - 1] || stack[n];
			break;
		}
	}
	return n == 1 && stack[0];
}
