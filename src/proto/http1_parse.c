#include "http1_priv.h"

#include <stdlib.h>

#include <llhttp.h>

#include "mcpdiag/xmem.h"

static struct http1_header *
headers(struct h1_parsed *ps)
{
	return ps->heap ? ps->heap : ps->few;
}

/* llhttp cuts what it passes on where its own states change; the block is in
 * one place, so the parts of a name or a value touch. */
static void
join(struct str *s, const char *at, size_t n)
{
	if (s->p == NULL)
		*s = str_of(at, n);
	else
		s->n = (size_t)(at + n - s->p);
}

static struct http1_header *
more(struct h1_parsed *ps)
{
	uint32_t n = ps->head.n_headers, cap = ps->cap;

	if (n >= (cap ? cap : H1_FEW)) {
		cap = (cap ? cap : H1_FEW) * 2;
		if (ps->heap == NULL) {
			ps->heap = xmalloc(cap * sizeof *ps->heap);
			memcpy(ps->heap, ps->few, sizeof ps->few);
		} else {
			ps->heap = xrealloc(ps->heap, cap * sizeof *ps->heap);
		}
		ps->cap = cap;
	}
	ps->head.n_headers = n + 1;
	return &headers(ps)[n];
}

static int
on_version(llhttp_t *p)
{
	struct h1_parsed *ps = p->data;

	ps->start = true;
	return 0;
}

static int
on_field(llhttp_t *p, const char *at, size_t n)
{
	struct h1_parsed *ps = p->data;

	if (!ps->open_name)
		*more(ps) = (struct http1_header){ STR_NONE, STR("") };
	/* 8.1 takes a space before the colon: RFC 9112 5.1. */
	if (ps->raw && memchr(at, ' ', n) != NULL)
		return -1;
	ps->open_name = true;
	join(&headers(ps)[ps->head.n_headers - 1].name, at, n);
	return 0;
}

static int
on_value(llhttp_t *p, const char *at, size_t n)
{
	struct h1_parsed *ps = p->data;
	struct str *v;

	if (ps->head.n_headers == 0)
		return 0;
	v = &headers(ps)[ps->head.n_headers - 1].value;
	if (v->n == 0)
		*v = str_of(at, n);
	else
		join(v, at, n);
	return 0;
}

static int
on_value_end(llhttp_t *p)
{
	struct h1_parsed *ps = p->data;

	ps->open_name = false;
	return 0;
}

static int
on_head(llhttp_t *p)
{
	struct h1_parsed *ps = p->data;

	ps->done = true;
	return 1;		/* no body here: http1_body has it */
}

static const llhttp_settings_t settings = {
	.on_version_complete = on_version,
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_header_value_complete = on_value_end,
	.on_headers_complete = on_head,
};

static void
forgive(llhttp_t *p)
{
	llhttp_set_lenient_headers(p, 1);
	llhttp_set_lenient_chunked_length(p, 1);
	llhttp_set_lenient_keep_alive(p, 1);
	llhttp_set_lenient_transfer_encoding(p, 1);
}

/* llhttp knows a fixed list of methods and forgives different bytes in the
 * target, each version its own.  MCP may meet any: so these two are read here,
 * between the first and the last space, and llhttp is told of a plain request.
 * False: no request line. */
static bool
request_line(struct h1_parsed *ps, llhttp_t *p, struct str *block)
{
	size_t end = str_find(*block, STR("\r\n")), method, version;
	struct str target;

	if (end == SIZE_MAX)
		return false;
	method = str_find(str_of(block->p, end), STR(" "));
	if (method == SIZE_MAX)
		return false;
	for (version = end; block->p[version] != ' '; version--)
		continue;
	if (version == method)
		return false;
	target = str_of(block->p + method + 1, version - method - 1);
	for (size_t i = 0; i < target.n; i++) {
		unsigned char c = (unsigned char)target.p[i];

		ps->lenient |= c <= ' ' || c >= 0x7f;
	}
	ps->head.method = str_of(block->p, method);
	ps->head.target = str_trim(target);
	if (p)
		(void)llhttp_execute(p, "GET /", 5);
	*block = str_of(block->p + version, block->n - version);
	return ps->head.target.n > 0;
}

/* The reason is nobody's business, and whatever is in it.  False: no status
 * line (RFC 9112 4). */
static bool
status_line(struct h1_parsed *ps, llhttp_t *p, struct str *block)
{
	size_t end = str_find(*block, STR("\r\n"));
	const char *s = block->p;

	if (end == SIZE_MAX || end < 12 || (end > 12 && s[12] != ' ') ||
	    !str_pre(*block, STR("HTTP/")) || s[6] != '.' || s[8] != ' ')
		return false;
	for (int i = 9; i < 12; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	ps->head.status = (uint16_t)((s[9] - '0') * 100 + (s[10] - '0') * 10 +
	    s[11] - '0');
	ps->head.reason = end > 13 ? str_of(s + 13, end - 13) : STR_NONE;
	if (p)
		(void)llhttp_execute(p, s, 12);
	*block = str_of(s + end, block->n - end);
	return ps->head.status >= 100;
}

enum { TOKEN = 1, TEXT = 2 };

/* RFC 9110 5.6.2 tchar; 5.5 field-vchar, SP, HTAB and obs-text. */
static const uint8_t classes[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	2, 3, 2, 3, 3, 3, 3, 3, 2, 2, 3, 3, 2, 3, 3, 2,
	3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2,
	2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
	3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 3, 3,
	3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
	3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 3, 2, 3, 0,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
};

/* Past the bytes of a value; eight at a time while they are plain. */
static const char *
past_text(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101ULL, highs = ones << 7;
	uint64_t v, del;

	for (; end - p >= 8; p += 8) {
		memcpy(&v, p, 8);
		del = v ^ ones * 0x7f;
		/* A byte under 0x20, or DEL (or, by a borrow, one too many). */
		if (((v - ones * 0x20) & ~v & highs) || ((del - ones) & ~del & highs))
			break;
	}
	while (p < end && classes[(unsigned char)*p] & TEXT)
		p++;
	return p;
}

/* A header that decides the framing must be beyond doubt. */
static bool
doubtful(const struct http1_header *x, bool *length, bool *coding)
{
	uint64_t n;

	if (str_ieq(x->name, STR("content-length"))) {
		if (*length || *coding || !str_u64(x->value, &n))
			return true;
		*length = true;
	} else if (str_ieq(x->name, STR("transfer-encoding"))) {
		if (*length || *coding || !str_ieq(x->value, STR("chunked")))
			return true;
		*coding = true;
	}
	return false;
}

/* Splits the header lines of a block as nearly all peers send it: names and
 * values as RFC 9112 5 has them, no line folding, no framing in doubt.  False:
 * it is not of that kind, and llhttp, which is three times slower, must say
 * what it is.  `block` starts at the end of the start line. */
static bool
plain_lines(struct h1_parsed *ps, struct str block)
{
	const char *p = block.p, *end = p + block.n, *from;
	bool length = false, coding = false;

	for (p += 2; end - p > 2; p += 2) {
		struct http1_header *x;

		for (from = p; p < end && classes[(unsigned char)*p] & TOKEN; p++)
			continue;
		if (p == from || p == end || *p != ':')
			return false;
		x = more(ps);
		x->name = str_of(from, (size_t)(p - from));
		from = ++p;
		p = past_text(p, end);
		x->value = str_trim(str_of(from, (size_t)(p - from)));
		if (end - p < 2 || p[0] != '\r' || p[1] != '\n' ||
		    doubtful(x, &length, &coding))
			return false;
	}
	return end - p == 2 && p[0] == '\r' && p[1] == '\n';
}

void
h1_parsed_fini(struct h1_parsed *ps)
{
	free(ps->heap);
	ps->heap = NULL;
}

static void
parsed_init(struct h1_parsed *ps)
{
	ps->head = (struct http1_head){ .n = 0 };
	ps->start = ps->last = ps->lenient = false;
	ps->open_name = ps->done = false;
	ps->cap = 0;
	ps->heap = NULL;
}

static bool
plain_block(struct h1_parsed *ps, bool response, struct str block)
{
	struct str rest = block;
	const char *minor;

	if (!(response ? status_line(ps, NULL, &rest) : request_line(ps, NULL, &rest)))
		return false;
	if (response)			/* "HTTP/1.1 200 ...", and "\r\n" */
		minor = str_pre(block, STR("HTTP/1.")) ? block.p + 7 : NULL;
	else				/* " HTTP/1.1\r\n" */
		minor = rest.n > 11 && str_pre(rest, STR(" HTTP/1.")) &&
		    rest.p[9] == '\r' && rest.p[10] == '\n' ? rest.p + 8 : NULL;
	if (minor == NULL || (*minor != '0' && *minor != '1'))
		return false;
	if (!response)
		rest = str_of(rest.p + 9, rest.n - 9);
	if (rest.n < 4 || !plain_lines(ps, rest))
		return false;
	ps->head.major = 1;
	ps->head.minor = (uint8_t)(*minor - '0');
	ps->head.headers = headers(ps);
	return ps->start = ps->done = true;
}

bool
h1_parse(struct h1_parsed *ps, bool response, enum h1_block how,
    struct str block)
{
	llhttp_t p;

	parsed_init(ps);
	if (how == H1_BLOCK_RAW && plain_block(ps, response, block))
		return true;
	h1_parsed_fini(ps);
	parsed_init(ps);
	ps->raw = how == H1_BLOCK_RAW;
	llhttp_init(&p, response ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
	p.data = ps;
	if (how != H1_BLOCK_RAW)
		forgive(&p);
	if (block.n == 0 || !(response ? status_line(ps, &p, &block) :
	    request_line(ps, &p, &block)))
		return false;
	(void)llhttp_execute(&p, block.p, block.n);
	if (how == H1_BLOCK_CUT)
		(void)llhttp_execute(&p, "\r\n", 2);
	if (ps->start) {
		ps->head.major = llhttp_get_http_major(&p);
		ps->head.minor = llhttp_get_http_minor(&p);
	}
	if (ps->open_name)	/* refused inside this one */
		ps->head.n_headers--;
	ps->head.headers = headers(ps);
	for (uint32_t i = 0; i < ps->head.n_headers; i++)
		headers(ps)[i].value = str_trim(headers(ps)[i].value);
	return ps->done && ps->start;
}

/* Takes the last element off a comma list; false: it is used up. */
static bool
last_of(struct str *list, struct str *element)
{
	size_t i = list->n;

	if (list->p == NULL)
		return false;
	while (i > 0 && list->p[i - 1] != ',')
		i--;
	*element = str_trim(str_of(list->p + i, list->n - i));
	*list = i > 0 ? str_of(list->p, i - 1) : STR_NONE;
	return true;
}

/* What the headers say of the framing; false: no Transfer-Encoding. */
static bool
framing_headers(struct h1_parsed *ps, bool *keep)
{
	struct http1_head *head = &ps->head;
	bool coded = false;

	for (uint32_t i = 0; i < head->n_headers; i++) {
		const struct http1_header *x = &head->headers[i];
		struct str list = x->value, one;

		if (str_ieq(x->name, STR("content-length"))) {
			uint64_t length;

			if (str_u64(x->value, &length)) {
				head->has_length = true;
				head->length = length;
			}
		} else if (str_ieq(x->name, STR("transfer-encoding"))) {
			/* The last coding of the last line decides. */
			coded = true;
			head->chunked = last_of(&list, &one) &&
			    str_ieq(one, STR("chunked"));
		} else if (str_ieq(x->name, STR("connection"))) {
			while (last_of(&list, &one)) {
				ps->last |= str_ieq(one, STR("close"));
				*keep |= str_ieq(one, STR("keep-alive"));
			}
		}
	}
	return coded;
}

void
h1_frame(struct h1_parsed *ps, bool response, enum h1_asked asked)
{
	struct http1_head *head = &ps->head;
	uint16_t status = head->status;
	bool keep = false, coded = framing_headers(ps, &keep);
	bool old = ps->start && (head->major < 1 ||
	    (head->major == 1 && head->minor == 0));

	ps->last |= old && !keep;
	if (response && (asked == H1_ASKED_HEAD || status / 100 == 1 ||
	    status == 204 || status == 304 ||
	    (asked == H1_ASKED_CONNECT && status / 100 == 2))) {
		head->framing = HTTP1_NONE;
		return;
	}
	/* RFC 9112 6.1: both headers, a coding in HTTP/1.0, and a request whose
	 * last coding is not chunked are errors. */
	if (coded && (head->has_length || old || (!response && !head->chunked)))
		ps->lenient = true;
	if (coded)
		head->framing = head->chunked ? HTTP1_CHUNKED : HTTP1_CLOSE;
	else if (head->has_length)
		head->framing = HTTP1_LENGTH;
	else
		head->framing = response ? HTTP1_CLOSE : HTTP1_NONE;
}
