#include "mcpdiag/pretty.h"

#include "mcpdiag/err.h"

static bool
is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t
skip_white(struct str s, size_t i)
{
	while (i < s.n && is_white(s.p[i]))
		i++;
	return i;
}

/* Past the string that begins at i; JSON has no line end in one (RFC 8259 7),
 * so that a quote too many does not eat all the rest. */
static size_t
skip_string(struct str s, size_t i)
{
	for (i++; i < s.n && s.p[i] != '"' && s.p[i] != '\n'; i++)
		if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] != '\n')
			i++;
	return i < s.n && s.p[i] == '"' ? i + 1 : i;
}

/* Past a number or a word, or whatever stands there. */
static size_t
skip_word(struct str s, size_t i)
{
	for (i++; i < s.n && !is_white(s.p[i]) && memchr("{}[],:\"", s.p[i], 7) == NULL; i++)
		continue;
	return i;
}

static int
new_line(struct buf *b, size_t depth)
{
	static const char blanks[] = "                                                ";
	size_t n = depth < PRETTY_DEPTH ? depth : PRETTY_DEPTH;

	_Static_assert(sizeof blanks == 2 * PRETTY_DEPTH + 1, "as deep as it gets");
	return buf_addc(b, '\n') || buf_add(b, blanks, 2 * n) ? -E_LIMIT : 0;
}

/* The token at i, which is one byte or more, and what separates it from the
 * next; *depth is how many brackets are open. */
static int
token(struct str s, size_t *i, size_t *depth, struct buf *b)
{
	char c = s.p[*i];
	size_t from = *i, next;
	int rc;

	switch (c) {
	case '{': case '[':
		next = skip_white(s, *i + 1);
		if (next < s.n && s.p[next] == (c == '{' ? '}' : ']')) {
			*i = next + 1;
			return buf_add(b, c == '{' ? "{}" : "[]", 2);
		}
		++*i;
		++*depth;
		rc = buf_addc(b, c);
		return rc == 0 && next < s.n ? new_line(b, *depth) : rc;
	case '}': case ']':
		++*i;
		*depth -= *depth > 0;
		rc = new_line(b, *depth);
		return rc ? rc : buf_addc(b, c);
	case ',':
		++*i;
		rc = buf_addc(b, c);
		return rc == 0 && skip_white(s, *i) < s.n ? new_line(b, *depth) : rc;
	case ':':
		++*i;
		return buf_add(b, ": ", 2);
	case '"':
		*i = skip_string(s, *i);
		return buf_add(b, s.p + from, *i - from);
	}
	*i = skip_word(s, *i);
	return buf_add(b, s.p + from, *i - from);
}

int
pretty_json(struct str s, struct buf *b)
{
	size_t depth = 0, i = skip_white(s, 0);
	bool value = false;		/* the token before was one */
	int rc;

	while (i < s.n) {
		bool open = s.p[i] == '{' || s.p[i] == '[';
		bool mark = s.p[i] == ',' || s.p[i] == ':' || s.p[i] == '}' || s.p[i] == ']';

		/* Two values side by side are no JSON: a text, or several. */
		if (value && !mark) {
			rc = depth == 0 && open ? new_line(b, 0) : buf_addc(b, ' ');
			if (rc)
				return rc;
		}
		value = s.p[i] != ',' && s.p[i] != ':' && !open;
		rc = token(s, &i, &depth, b);
		if (rc)
			return rc;
		if (open && b->n && (b->p[b->n - 1] == '}' || b->p[b->n - 1] == ']'))
			value = true;		/* an empty one */
		i = skip_white(s, i);
	}
	return 0;
}
