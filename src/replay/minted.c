#include "minted.h"

#include <stdlib.h>

#include "mcpdiag/map.h"

struct pair {
	UT_hash_handle hh;
	struct str live;
	size_t n;
	char captured[];	/* the key; then the live value */
};

struct minted {
	struct pair *pairs;
};

/* A member: its name without quotes, its value as it stands, when that is a
 * string or a number. */
struct member {
	struct str name, value;
	unsigned depth;		/* 1: of the outermost object */
};

struct scan {
	struct str s;
	size_t at;
	unsigned depth;
};

static const struct {
	const char *name, *as;	/* as: what it becomes in a request */
} names[] = {
	{ "requestState", NULL }, { "taskId", NULL }, { "subscriptionId", NULL },
	{ "io.modelcontextprotocol/subscriptionId", NULL },
	{ "nextCursor", "cursor" }, { "progressToken", NULL },
};

struct minted *
minted_new(void)
{
	return xcalloc(1, sizeof(struct minted));
}

void
minted_free(struct minted *m)
{
	struct pair *p, *tmp;

	if (m == NULL)
		return;
	HASH_ITER(hh, m->pairs, p, tmp) {
		HASH_DEL(m->pairs, p);
		free(p);
	}
	free(m);
}

/* Past a string that begins here. */
static size_t
string_end(struct str s, size_t at)
{
	for (at++; at < s.n && s.p[at] != '"'; at++)
		if (s.p[at] == '\\')
			at++;
	return at < s.n ? at + 1 : s.n;
}

static size_t
space_end(struct str s, size_t at)
{
	while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '\n' ||
	    s.p[at] == '\r'))
		at++;
	return at;
}

static bool
in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' ||
	    c == 'E';
}

/* The next member with a plain value; false at the end. */
static bool
next_member(struct scan *c, struct member *m)
{
	struct str s = c->s;

	while (c->at < s.n) {
		size_t from = c->at, end;

		if (s.p[from] == '{' || s.p[from] == '[')
			c->depth++;
		else if ((s.p[from] == '}' || s.p[from] == ']') && c->depth > 0)
			c->depth--;
		if (s.p[from] != '"') {
			c->at++;
			continue;
		}
		c->at = string_end(s, from);
		end = space_end(s, c->at);
		if (end >= s.n || s.p[end] != ':' || c->at - from < 2)
			continue;
		m->name = str_of(s.p + from + 1, c->at - from - 2);
		c->at = from = space_end(s, end + 1);
		if (from >= s.n)
			return false;
		if (s.p[from] == '"')
			c->at = string_end(s, from);
		else
			while (c->at < s.n && in_number(s.p[c->at]))
				c->at++;
		if (c->at == from)
			continue;
		m->value = str_of(s.p + from, c->at - from);
		m->depth = c->depth;
		return true;
	}
	return false;
}

static void
add(struct minted *m, struct str captured, struct str live)
{
	struct pair *p;

	HASH_FIND(hh, m->pairs, captured.p, captured.n, p);
	if (p) {
		HASH_DEL(m->pairs, p);
		free(p);
	}
	if (HASH_COUNT(m->pairs) >= MINTED_MAX)
		return;
	p = xcalloc(1, sizeof *p + captured.n + live.n);
	p->n = captured.n;
	memcpy(p->captured, captured.p, captured.n);
	memcpy(p->captured + captured.n, live.p, live.n);
	p->live = str_of(p->captured + captured.n, live.n);
	HASH_ADD(hh, m->pairs, captured, p->n, p);
}

void
minted_learn(struct minted *m, struct str captured, struct str live)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct scan a = { .s = captured }, b = { .s = live };
		struct member x, y;
		bool more = true;

		while (more) {
			while ((more = next_member(&a, &x)) &&
			    !str_eq(x.name, str_c(names[i].name)))
				;
			while (more && (more = next_member(&b, &y)) &&
			    !str_eq(y.name, str_c(names[i].name)))
				;
			if (more)
				add(m, x.value, y.value);
		}
	}
}

static bool
is_minted(struct str name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_eq(name, str_c(names[i].as ? names[i].as : names[i].name)))
			return true;
	return false;
}

void
minted_apply(const struct minted *m, struct str body, struct buf *out)
{
	struct scan c = { .s = body };
	struct member x;
	size_t done = 0;

	while (next_member(&c, &x)) {
		struct pair *p = NULL;

		if (is_minted(x.name))
			HASH_FIND(hh, m->pairs, x.value.p, x.value.n, p);
		if (p == NULL)
			continue;
		(void)buf_add(out, body.p + done, (size_t)(x.value.p - body.p) - done);
		(void)buf_adds(out, p->live);
		done = (size_t)(x.value.p - body.p) + x.value.n;
	}
	(void)buf_add(out, body.p + done, body.n - done);
}

/* Puts `value` in place of the first plain member of that name at that depth;
 * `from`: only of one with this value. */
static void
set_member(struct str body, unsigned depth, struct str name, const struct str *from,
    struct str value, struct buf *out)
{
	struct scan c = { .s = body };
	struct member x;

	while (next_member(&c, &x)) {
		size_t at = (size_t)(x.value.p - body.p);

		if (x.depth != depth || !str_eq(x.name, name) ||
		    (from && !str_eq(x.value, *from)))
			continue;
		(void)buf_add(out, body.p, at);
		(void)buf_adds(out, value);
		(void)buf_add(out, body.p + at + x.value.n, body.n - at - x.value.n);
		return;
	}
	(void)buf_adds(out, body);
}

void
minted_rename_tool(struct str body, struct str from, struct str to, struct buf *out)
{
	struct buf a, b;
	struct str old;

	buf_init(&a, from.n + 2);
	buf_init(&b, to.n + 2);
	(void)buf_fmt(&a, "\"%.*s\"", STR_ARG(from));
	(void)buf_fmt(&b, "\"%.*s\"", STR_ARG(to));
	old = buf_str(&a);
	set_member(body, 2, STR("name"), &old, buf_str(&b), out);
	buf_fini(&a);
	buf_fini(&b);
}

void
minted_set_id(struct str body, struct str id, struct buf *out)
{
	set_member(body, 1, STR("id"), NULL, id, out);
}
