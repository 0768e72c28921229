#include "http1_priv.h"

enum {
	SNIFF = 256,	/* past the limit: bytes of a line that are looked at */
	RESERVE = 1024,	/* past the limit: room for framing headers */
	METHOD_MAX = 32,
};

bool
h1_is_token(unsigned char c)
{
	/* "!#$%&'*+-.^_`|~", digits, letters, as bits. */
	static const uint32_t bits[8] = {
		0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff,
	};

	return bits[c >> 5] >> (c & 31) & 1;
}

static void
end_with(struct h1_head *h, struct str s)
{
	/* RESERVE is not all given to lines: this always fits. */
	(void)buf_adds(&h->b, s);
}

static bool
is_framing(struct str name)
{
	return str_ieq(name, STR("content-length")) ||
	    str_ieq(name, STR("transfer-encoding"));
}

/* The token that the line being read starts with. */
static struct str
line_name(const struct h1_head *h)
{
	const char *p = h->b.p + h->line;
	size_t n = 0;

	while (n < h->b.n - h->line && h1_is_token((unsigned char)p[n]))
		n++;
	return str_of(p, n);
}

/* Appends bytes of a line as far as the limits go.  Which bytes are kept
 * depends on their place in the head only, not on the pieces they come in. */
static void
take(struct h1_head *h, const char *p, size_t n)
{
	while (n > 0 && !h->skip) {
		size_t cap = h->limit, room, k;

		if (h->over) {
			cap = h->limit + RESERVE;
			if (cap > h->line + SNIFF)
				cap = h->line + SNIFF;
		}
		room = cap > h->b.n ? cap - h->b.n : 0;
		k = n < room ? n : room;
		(void)buf_add(&h->b, p, k);
		p += k;
		n -= k;
		if (n == 0)
			return;
		if (h->over || !h->start) {
			h->skip = true;
			if (h->start) {
				h->unframed |= is_framing(line_name(h));
				h->b.n = h->line;
			}
		}
		h->over = true;
	}
}

/* Could this be the beginning of a request line, of a status line? */
static bool
start_ok(const char *p, size_t n, bool response)
{
	static const char http[] = "HTTP/";
	size_t i;

	if (response) {
		n = n < sizeof http - 1 ? n : sizeof http - 1;
		return memcmp(p, http, n) == 0;
	}
	for (i = 0; i < n && i <= METHOD_MAX; i++)
		if (!h1_is_token((unsigned char)p[i]))
			return i > 0 && p[i] == ' ';
	return i <= METHOD_MAX;
}

static enum h1_head_is
start_line(struct h1_head *h, bool response)
{
	if (h->b.n == 0) {
		/* RFC 9112 2.2: one empty line before a request is ignored. */
		h->lenient |= response || h->blank;
		h->blank = true;
		return H1_HEAD_MORE;
	}
	if (h->skip && !response)
		end_with(h, STR(" HTTP/1.1"));
	end_with(h, STR("\r\n"));
	h->start = true;
	h->skip = h->kept = false;
	h->line = h->b.n;
	if (!response && str_eq(buf_str(&h->b), STR("PRI * HTTP/2.0\r\n")))
		return H1_HEAD_PREFACE;
	return H1_HEAD_MORE;
}

/* RFC 9112 5.2: a folded line continues the one before, with spaces for the
 * line end; after the start line it is dropped (2.2). */
static void
fold(struct h1_head *h)
{
	h->lenient = true;
	if (!h->kept) {
		h->b.n = h->line;
		return;
	}
	memmove(h->b.p + h->line - 2, h->b.p + h->line, h->b.n - h->line);
	h->b.n -= 2;
}

/* RFC 9110 5.5: CR and NUL in a value become spaces; other controls stay. */
static void
clean_value(struct h1_head *h, size_t from)
{
	for (size_t i = from; i < h->b.n; i++) {
		unsigned char c = (unsigned char)h->b.p[i];

		if ((c >= ' ' && c != 0x7f) || c == '\t')
			continue;
		h->lenient = true;
		if (c == '\r' || c == '\0')
			h->b.p[i] = ' ';
	}
}

/* RFC 9112 6.3, rule 5: the same Content-Length again is no conflict. */
static bool
same_length(struct h1_head *h, size_t from)
{
	struct str v = str_trim(str_of(h->b.p + from, h->b.n - from));
	uint64_t length;

	if (!str_u64(v, &length))
		return false;
	if (h->has_length)
		return length == h->length;
	h->has_length = true;
	h->length = length;
	return false;
}

/* Judges a header line; false: drop it. */
static bool
field(struct h1_head *h)
{
	char *p = h->b.p + h->line;
	size_t n = h->b.n - h->line, name = line_name(h).n, colon;

	for (colon = name; colon < n; colon++)
		if (p[colon] != ' ' && p[colon] != '\t')
			break;
	if (name == 0 || colon == n || p[colon] != ':') {
		h->lenient = true;
		return false;
	}
	if (h->over && !is_framing(str_of(p, name)) &&
	    !str_ieq(str_of(p, name), STR("connection")))
		return false;
	if (colon > name) {	/* RFC 9112 5.1: no space before the colon */
		h->lenient = true;
		memmove(p + name, p + colon, n - colon);
		h->b.n -= colon - name;
	}
	clean_value(h, h->line + name + 1);
	while (h->b.p[h->b.n - 1] == ' ' || h->b.p[h->b.n - 1] == '\t')
		h->b.n--;	/* there is the colon before it */
	if (str_ieq(str_of(p, name), STR("content-length")) &&
	    same_length(h, h->line + name + 1)) {
		h->lenient = true;
		return false;
	}
	return true;
}

static enum h1_head_is
end_line(struct h1_head *h, bool response)
{
	if (!h->skip) {
		if (h->b.n > h->line && h->b.p[h->b.n - 1] == '\r')
			h->b.n--;
		else
			h->lenient = true;	/* a bare LF: RFC 9112 2.2 */
	}
	if (!h->start)
		return start_line(h, response);
	if (h->skip) {
		h->kept = h->skip = false;
		return H1_HEAD_MORE;
	}
	if (h->b.n == h->line) {
		end_with(h, STR("\r\n"));
		h->line = h->b.n;
		return H1_HEAD_DONE;
	}
	if (h->b.p[h->line] == ' ' || h->b.p[h->line] == '\t') {
		size_t from = h->line;

		fold(h);
		if (h->kept)
			clean_value(h, from - 2);
	} else {
		h->kept = field(h);
		if (!h->kept)
			h->b.n = h->line;
	}
	if (h->kept)
		end_with(h, STR("\r\n"));
	h->line = h->b.n;
	return H1_HEAD_MORE;
}

void
h1_head_init(struct h1_head *h, size_t limit)
{
	*h = (struct h1_head){ .limit = limit };
	buf_init(&h->b, limit + RESERVE + 64);
}

void
h1_head_clear(struct h1_head *h)
{
	buf_fini(&h->b);
	h1_head_init(h, h->limit);
}

void
h1_head_cut(struct h1_head *h, bool response)
{
	struct str s = buf_str(&h->b);
	size_t sp;

	if (h->start)
		return;
	if (response) {		/* "HTTP/1.1 200 ", and some of the reason */
		if (s.n < 13 || s.p[12] != ' ')
			return;
	} else {
		sp = str_find(s, STR(" "));
		if (sp == SIZE_MAX)
			return;
		s = str_of(s.p + sp + 1, s.n - sp - 1);
		if (str_find(s, STR(" ")) == SIZE_MAX)
			return;
		h->b.n = sp + 1 + str_find(s, STR(" "));
		end_with(h, STR(" HTTP/1.1"));
	}
	end_with(h, STR("\r\n"));
	h->start = true;
	h->line = h->b.n;
}

bool
h1_head_begun(const struct h1_head *h)
{
	return h->b.n > 1 || (h->b.n == 1 && h->b.p[0] != '\r');
}

struct str
h1_head_block(const struct h1_head *h)
{
	return str_of(buf_str(&h->b).p, h->start ? h->line : 0);
}

size_t
h1_head_here(const struct h1_head *h, bool response, const char *p, size_t n)
{
	size_t line = 0;

	if (h->b.p != NULL || h->blank)
		return 0;
	n = n < h->limit ? n : h->limit;
	if (!start_ok(p, n, response) || str_pre(str_of(p, n), STR("PRI ")))
		return 0;
	for (;;) {
		const char *cr = memchr(p + line, '\r', n - line);
		size_t end = cr ? (size_t)(cr - p) : n;

		/* A bare CR or LF, a folded line and an empty name are for the
		 * tidying: llhttp lets some of them pass. */
		if (n - end < 2 || p[end + 1] != '\n' ||
		    memchr(p + line, '\n', end - line) != NULL ||
		    p[line] == ' ' || p[line] == '\t' || p[line] == ':')
			return 0;
		if (end == line)
			return end + 2;
		line = end + 2;
	}
}

enum h1_head_is
h1_head_feed(struct h1_head *h, bool response, const char *p, size_t n,
    size_t *used)
{
	const char *from = p, *end = p + n;
	enum h1_head_is is = H1_HEAD_MORE;

	if (h->b.p == NULL)
		(void)buf_room(&h->b, 1024);
	while (p < end && is == H1_HEAD_MORE) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		const char *to = lf ? lf : end;

		take(h, p, (size_t)(to - p));
		p = to;
		if (!h->start && h1_head_begun(h) &&
		    !start_ok(h->b.p, h->b.n, response)) {
			is = H1_HEAD_BAD;
		} else if (lf) {
			p++;
			is = end_line(h, response);
		}
	}
	*used = (size_t)(p - from);
	return is;
}
