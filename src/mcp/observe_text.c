/* What was on the wire, for who shows single messages.  Nothing is kept beyond
 * TEXT_MAX bytes of a unit, and secrets are hidden before anything leaves. */
#include "observe_priv.h"

#define TEXT_MAX (64U << 10)	/* bytes kept of a head, a message, an event */
#define OTHER_MAX (4U << 10)	/* and of a body that is no JSON */
#define MADE_MAX (1U << 20)	/* of a text with its secrets hidden */

/* ---- keeping ---- */

static void
kept_add(struct kept *k, size_t max, const void *p, size_t n)
{
	/* Nothing behind a hole. */
	size_t room = k->b.n < max && k->b.n == k->bytes ? max - k->b.n : 0;

	k->bytes += n;
	(void)buf_add(&k->b, p, n < room ? n : room);
}

static void
kept_drop(struct kept *k)
{
	if (k->b.cap > 4096)
		buf_fini(&k->b);
	buf_clear(&k->b);
	k->bytes = 0;
	k->at = 0;
	k->n_msgs = 0;
}

static size_t
request_max(const struct observe *o)
{
	size_t n = model_request_text(o->m);

	return n > TEXT_MAX ? n : TEXT_MAX;
}

static size_t
past(const struct kept *k)
{
	return k->b.n > TEXT_MAX ? k->b.n - TEXT_MAX : 0;
}

/* A request's body: long ones only as far as there is room for all of them. */
static void
request_add(struct observe *o, struct kept *k, const void *p, size_t n)
{
	size_t max = request_max(o), before = past(k), room = 4 * max - o->long_kept;

	if (k->b.n + n > TEXT_MAX + before && k->b.n + n - TEXT_MAX - before > room)
		max = TEXT_MAX;
	kept_add(k, max, p, n);
	o->long_kept += past(k) - before;
}

static void
request_drop(struct observe *o, struct kept *k)
{
	o->long_kept -= past(k);
	kept_drop(k);
	/* A long one is no measure for the next. */
	if (o->text.cap > MADE_MAX)
		buf_fini(&o->text);
}

static struct kept *
kept_of(struct ox *x, bool response)
{
	return response ? &x->text->resp : &x->text->req;
}

void
text_init(struct observe *o)
{
	/* A secret of one byte, {"token":"x"}, is twice as long when hidden. */
	buf_init(&o->text, MADE_MAX + 2 * model_request_text(o->m));
}

void
text_begin(struct ox *x)
{
	struct otext *t;

	if (!model_wants_texts(x->conn->o->m))
		return;
	x->text = t = xcalloc(1, sizeof *t);
	buf_init(&t->req.b, request_max(x->conn->o));
	buf_init(&t->resp.b, TEXT_MAX);
	buf_init(&t->block.b, TEXT_MAX);
}

void
text_free(struct ox *x)
{
	struct otext *t = x->text;

	if (t == NULL)
		return;
	request_drop(x->conn->o, &t->req);
	buf_fini(&t->req.b);
	buf_fini(&t->resp.b);
	buf_fini(&t->block.b);
	free(t);
	x->text = NULL;
}

void
text_keep(struct ox *x, bool response, const void *p, size_t n)
{
	struct body *b = response ? &x->resp : &x->req;

	if (x->text && !response && b->rpc)
		request_add(x->conn->o, &x->text->req, p, n);
	else if (x->text)
		kept_add(kept_of(x, response), b->rpc || x->sse ? TEXT_MAX : OTHER_MAX, p, n);
}

void
text_drop(struct ox *x, bool response)
{
	if (x->text == NULL)
		return;
	if (!response) {
		request_drop(x->conn->o, &x->text->req);
		return;
	}
	kept_drop(&x->text->resp);
	kept_drop(&x->text->block);
	x->text->piece = STR_NONE;
	x->text->in_line = x->text->after_cr = false;
}

/* ---- hiding ---- */

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool
any_here(struct str s, const char *const *words)
{
	for (; *words; words++)
		if (str_pre(s, str_c(*words)))
			return true;
	return false;
}

/* A token that opens nothing. */
static bool
is_harmless_token(struct str flat)
{
	static const char *const words[] = { "progress", "page", "next", "continuation", NULL };

	return any_here(flat, words);
}

/* Names of headers and JSON members whose value is nobody's business; without
 * regard to case, '-' and '_'. */
static bool
is_secret(struct str name)
{
	static const char *const a[] = { "authorization", "apikey", "accesskey", NULL };
	static const char *const c[] = { "cookie", "credential", "codeverifier", NULL };
	static const char *const p[] = { "password", "passwd", "privatekey", NULL };
	static const char *const s[] = { "secret", "sessionid", NULL };
	char flat[64];
	size_t n = 0;

	for (size_t i = 0; i < name.n && n < sizeof flat; i++)
		if (name.p[i] != '-' && name.p[i] != '_')
			flat[n++] = lower(name.p[i]);
	for (size_t i = 0; i + 6 <= n; i++) {
		const char *const *words = flat[i] == 'a' ? a : flat[i] == 'c' ? c :
		    flat[i] == 'p' ? p : flat[i] == 's' ? s : NULL;

		if (words && any_here(str_of(flat + i, n - i), words))
			return true;
	}
	return n >= 5 && memcmp(flat + n - 5, "token", 5) == 0 &&
	    !is_harmless_token(str_of(flat, n));
}

static const char *
find(const char *p, const char *end, char c)
{
	const char *at = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;

	return at ? at : end;
}

/* Length of the string at p, which is a quote, with both quotes; or of what
 * there is of it.  A line end ends it, too: JSON has none in a string.  Each
 * kind of byte is looked for again only when it was passed. */
static size_t
string_len(const char *p, size_t n)
{
	const char *end = p + n, *at = p + 1, *stop = p, *slash;

	for (;;) {
		if (stop < at)		/* a quote or a line end */
			stop = find(at, find(at, end, '"'), '\n');
		slash = find(at, stop, '\\');
		if (slash == stop)
			return (size_t)(stop - p) + (stop < end && *stop == '"');
		at = slash + 2;
		if (at >= end)
			return n;
	}
}

/* White space at p; in an event block the next line's "data:", too. */
static size_t
spaces(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n')) {
		i++;
		if (p[i - 1] == '\n' && n - i >= 5 && memcmp(p + i, "data:", 5) == 0)
			i += 5;
	}
	return i;
}

/* JSON, perhaps cut or none at all, without the strings that are secrets. */
static void
hide_json(const struct model *m, struct str in, struct buf *out)
{
	size_t i = 0, from = 0;

	while (i < in.n) {
		const char *quote = memchr(in.p + i, '"', in.n - i);
		struct str name;
		size_t len;

		if (quote == NULL)
			break;
		i = (size_t)(quote - in.p);
		len = string_len(quote, in.n - i);
		name = str_of(quote + 1, len > 1 ? len - 2 : 0);
		i += len;
		i += spaces(in.p + i, in.n - i);
		if (i == in.n || in.p[i] != ':')
			continue;
		i++;
		i += spaces(in.p + i, in.n - i);
		if (i == in.n || in.p[i] != '"' || !is_secret(name))
			continue;
		i++;
		len = string_len(in.p + i - 1, in.n - i + 1) - 1;
		(void)buf_add(out, in.p + from, i - from);
		from = i + len;
		if (len && in.p[from - 1] == '"')
			from--;
		model_secret(m, str_of(in.p + i, from - i), out);
		i += len;
	}
	(void)buf_add(out, in.p + from, in.n - from);
}

/* Whether a line of an event block is data that is a URI: an endpoint. */
static bool
is_endpoint(struct str line)
{
	struct str v;

	if (!str_pre(line, STR("data:")))
		return false;
	v = str_trim(str_of(line.p + 5, line.n - 5));
	return str_pre(v, STR("/")) || str_ipre(v, STR("http"));
}

/* The lines of an event block. */
static void
hide_lines(const struct model *m, struct str s, struct buf *out)
{
	size_t i = s.n && s.p[0] == '\n';	/* of a CRLF that was torn */
	size_t from = i;			/* lines that are not out yet */

	while (i < s.n) {
		size_t n = 0;

		while (i + n < s.n && s.p[i + n] != '\n' && s.p[i + n] != '\r')
			n++;
		if (is_endpoint(str_of(s.p + i, n))) {
			hide_json(m, str_of(s.p + from, i - from), out);
			model_target(m, str_of(s.p + i, n), out);
			from = i + n;
		}
		i += n + 1;
	}
	if (from < s.n)
		hide_json(m, str_of(s.p + from, s.n - from), out);
}

/* A body that is no JSON: a form, or a text for a person.  `out` is empty. */
static void
hide_other(const struct model *m, struct str s, struct buf *out)
{
	struct buf form;

	if (str_find(s, STR("=")) == SIZE_MAX || str_find(s, STR(" ")) != SIZE_MAX ||
	    str_find(s, STR("<")) != SIZE_MAX) {
		hide_json(m, s, out);
		return;
	}
	buf_init(&form, OTHER_MAX + 1);
	(void)buf_addc(&form, '?');
	(void)buf_adds(&form, s);
	model_target(m, buf_str(&form), out);
	buf_drop(out, 1);
	buf_fini(&form);
}

/* ---- telling ---- */

static void
tell(struct observe *o, enum ev_type of, uint64_t bytes, bool cut, size_t max)
{
	struct str s = buf_str(&o->text);

	if (s.n > max) {
		s.n = max;
		cut = true;
	}
	model_text(o->m, of, s, bytes, cut);
}

static void
start_line(const struct model *m, const struct http1_head *h, bool response, struct buf *b)
{
	if (response) {
		(void)buf_fmt(b, "HTTP/%u.%u %u ", h->major, h->minor, h->status);
		(void)buf_adds(b, h->reason);
	} else {
		(void)buf_adds(b, h->method);
		(void)buf_addc(b, ' ');
		model_target(m, h->target, b);
		(void)buf_fmt(b, " HTTP/%u.%u", h->major, h->minor);
	}
	(void)buf_adds(b, STR("\r\n"));
}

static bool
is_uri(struct str name)
{
	return str_ieq(name, STR("Location")) || str_ieq(name, STR("Referer")) ||
	    str_ieq(name, STR("Content-Location"));
}

void
text_head(struct ox *x, const struct http1_head *h, bool response)
{
	struct observe *o = x->conn->o;
	uint64_t bytes;

	if (x->text == NULL || h->head_lost)
		return;
	buf_clear(&o->text);
	start_line(o->m, h, response, &o->text);
	bytes = h->method.n + h->target.n + h->reason.n + (response ? 15 : 12);
	for (uint32_t i = 0; i < h->n_headers; i++) {
		const struct http1_header *f = &h->headers[i];

		bytes += f->name.n + f->value.n + 4;
		(void)buf_adds(&o->text, f->name);
		(void)buf_adds(&o->text, STR(": "));
		if (is_secret(f->name) && f->value.n)
			model_secret(o->m, f->value, &o->text);
		else if (is_uri(f->name))
			model_target(o->m, f->value, &o->text);
		else
			(void)buf_adds(&o->text, f->value);
		(void)buf_adds(&o->text, STR("\r\n"));
	}
	tell(o, response ? EV_RESPONSE : EV_REQUEST, bytes + 2, false, TEXT_MAX);
}

/* From the opening bracket at p: up to its closing one, or n. */
static size_t
value_len(const char *p, size_t n, bool *whole)
{
	size_t i = 0, depth = 0;

	*whole = false;
	while (i < n) {
		if (p[i] == '"') {
			i += string_len(p + i, n - i);
			continue;
		}
		depth += p[i] == '{' || p[i] == '[';
		if (p[i] == '}' || p[i] == ']')
			depth--;
		i++;
		if (depth == 0) {
			*whole = true;
			break;
		}
	}
	return i < n ? i : n;
}

/* The next object of a batch; what else is in it gives no message. */
static struct span
next_element(struct kept *k)
{
	const char *p = buf_str(&k->b).p;
	size_t n = k->b.n, i = k->at;
	struct span s = { 0, 0, false };

	if (i == 0)
		i = spaces(p, n) + 1;		/* the bracket */
	while (i < n && p[i] != '{') {
		bool whole;

		if (p[i] == '"')
			i += string_len(p + i, n - i);
		else if (p[i] == '[')
			i += value_len(p + i, n - i, &whole);
		else
			i++;
	}
	s.from = i < n ? i : n;
	s.n = value_len(p + s.from, n - s.from, &s.whole);
	k->at = s.from + s.n;
	return s;
}

struct span
text_span(struct ox *x, bool response, bool batch)
{
	struct span s = { 0, 0, true };
	struct kept *k;

	if (x->text == NULL)
		return s;
	k = kept_of(x, response);
	if (batch)
		return next_element(k);
	s.n = k->b.n;
	s.whole = k->bytes == k->b.n;
	return s;
}

void
text_msg(struct ox *x, bool response, struct span at)
{
	struct observe *o = x->conn->o;
	struct kept *k;
	struct str s;

	if (x->text == NULL)
		return;
	k = kept_of(x, response);
	k->n_msgs++;
	if (at.n == 0)
		return;				/* past what is kept */
	s = str_trim(str_of(buf_str(&k->b).p + at.from, at.n));
	buf_clear(&o->text);
	hide_json(o->m, s, &o->text);
	/* One that has grown by what hides its secrets is whole, too. */
	tell(o, EV_MESSAGE, at.whole ? s.n : k->bytes - at.from, !at.whole,
	    response || request_max(o) == TEXT_MAX ? TEXT_MAX : o->text.max);
}

void
text_end(struct ox *x, bool response)
{
	struct observe *o = x->conn->o;
	struct kept *k;

	if (x->text == NULL)
		return;
	k = kept_of(x, response);
	if (k->n_msgs == 0 && k->b.n) {
		struct str s = buf_str(&k->b);
		size_t at = spaces(s.p, s.n);

		buf_clear(&o->text);
		if (at < s.n && (s.p[at] == '{' || s.p[at] == '['))
			hide_json(o->m, s, &o->text);
		else
			hide_other(o->m, s, &o->text);
		tell(o, response ? EV_RESPONSE_END : EV_REQUEST_END, k->bytes,
		    k->bytes > k->b.n, TEXT_MAX);
	}
	if (response)
		kept_drop(k);
	else
		request_drop(o, k);
}

/* Bytes up to the end of the block, or of the piece; *whole: it is the former. */
static size_t
block_len(struct otext *t, const char *p, size_t n, bool *whole)
{
	size_t i = 0;

	*whole = false;
	if (t->after_cr && n && p[0] == '\n')
		i++;
	t->after_cr = false;
	while (i < n) {
		const char *lf = memchr(p + i, '\n', n - i);
		size_t end = lf ? (size_t)(lf - p) : n;
		const char *cr = memchr(p + i, '\r', end - i);

		if (cr)
			end = (size_t)(cr - p);
		if (end == n) {
			t->in_line = true;
			return n;
		}
		*whole = end == i && !t->in_line;
		t->in_line = false;
		i = end + 1;
		if (cr && i < n && p[i] == '\n')
			i++;
		else
			t->after_cr = cr && i == n;
		if (*whole)
			break;
	}
	return i;
}

void
text_feed_sse(struct ox *x, const char *p, size_t n)
{
	struct otext *t = x->text;
	bool whole;

	while (n && x->sse) {
		size_t used = block_len(t, p, n, &whole);

		t->piece = str_of(p, used);
		sse_feed(x->sse, p, used);
		if (whole)
			kept_drop(&t->block);
		else if (t->piece.p)
			kept_add(&t->block, TEXT_MAX, p, used);
		t->piece = STR_NONE;
		p += used;
		n -= used;
	}
}

void
text_sse(struct ox *x)
{
	struct observe *o = x->conn->o;
	struct otext *t = x->text;
	uint64_t bytes;
	struct str s;

	if (t == NULL)
		return;
	s = t->piece;
	bytes = s.n;
	if (t->block.b.n) {
		kept_add(&t->block, TEXT_MAX, s.p, s.n);
		s = buf_str(&t->block.b);
		bytes = t->block.bytes;
	}
	while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
		s.n--;			/* of the empty line, as far as it is here */
	if (s.n == 0)
		return;
	buf_clear(&o->text);
	hide_lines(o->m, s.n > TEXT_MAX ? str_of(s.p, TEXT_MAX) : s, &o->text);
	tell(o, EV_SSE, bytes, bytes > TEXT_MAX, TEXT_MAX);
}
