#include "http1_priv.h"

static int
hex(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The chunk head is read: content follows, or the trailer. */
static void
start_chunk(struct h1_body *b)
{
	b->is = b->left > 0 ? H1_DATA : H1_TRAILER;
}

/* One byte after the size digits. */
static void
after_digits(struct h1_body *b, unsigned char c)
{
	switch (c) {
	case '\r':
		b->is = H1_SIZE_LF;
		return;
	case '\n':
		b->lenient = true;
		start_chunk(b);
		return;
	case ' ': case '\t':
		b->lenient = true;
		b->is = H1_EXT;
		return;
	case ';':
		b->is = H1_EXT;
		return;
	default:
		b->is = H1_BROKEN;
	}
}

/* Runs on to the LF; an extension's quoted value has none in it (RFC 9110
 * 5.6.4).  Returns bytes taken. */
static size_t
to_lf(struct h1_body *b, const char *p, size_t n, enum h1_body_is then)
{
	const char *lf = memchr(p, '\n', n);
	size_t k = lf ? (size_t)(lf - p) : n;

	if (k > 0) {
		/* A CR that no LF follows: RFC 9112 2.2. */
		b->lenient |= b->cr || memchr(p, '\r', k - 1) != NULL;
		b->cr = p[k - 1] == '\r';
	}
	if (lf == NULL)
		return n;
	b->lenient |= !b->cr;
	b->cr = false;
	if (then == H1_DATA)
		start_chunk(b);
	else
		b->is = then;
	return k + 1;
}

/* One byte of chunk framing or of the trailer's names. */
static void
step(struct h1_body *b, unsigned char c)
{
	int digit = hex(c);

	switch (b->is) {
	case H1_SIZE:
		b->left = digit < 0 ? 0 : (uint64_t)digit;
		b->is = digit < 0 ? H1_BROKEN : H1_DIGITS;
		return;
	case H1_DIGITS:
		if (digit < 0)
			after_digits(b, c);
		else if (b->left >> 60)
			b->is = H1_BROKEN;
		else
			b->left = b->left << 4 | (uint64_t)digit;
		return;
	case H1_SIZE_LF:
		if (c == '\n')
			start_chunk(b);
		else
			b->is = H1_BROKEN;
		return;
	case H1_DATA_CR:
		b->lenient |= c == '\n';
		b->is = c == '\r' ? H1_DATA_LF : c == '\n' ? H1_SIZE : H1_BROKEN;
		return;
	case H1_DATA_LF:
		b->is = c == '\n' ? H1_SIZE : H1_BROKEN;
		return;
	case H1_TRAILER:
		b->lenient |= c == '\n';
		b->is = c == '\r' ? H1_TRAILER_LF : c == '\n' ? H1_OVER :
		    h1_is_token(c) ? H1_TRAILER_NAME : H1_BROKEN;
		return;
	case H1_TRAILER_NAME:
		if (c == ':')
			b->is = H1_TRAILER_VALUE;
		else if (!h1_is_token(c))
			b->is = H1_BROKEN;
		return;
	case H1_TRAILER_LF:
		b->is = c == '\n' ? H1_OVER : H1_BROKEN;
		return;
	case H1_LENGTH: case H1_UNTIL_CLOSE: case H1_EXT: case H1_DATA:
	case H1_TRAILER_VALUE: case H1_OVER: case H1_BROKEN:
		return;
	}
}

void
h1_body_init(struct h1_body *b, enum http1_framing framing, uint64_t length)
{
	*b = (struct h1_body){ .is = H1_UNTIL_CLOSE };
	if (framing == HTTP1_CHUNKED) {
		b->is = H1_SIZE;
	} else if (framing == HTTP1_LENGTH) {
		b->is = length > 0 ? H1_LENGTH : H1_OVER;
		b->left = length;
	}
}

size_t
h1_body_feed(struct h1_body *b, const char *p, size_t n, struct str *span)
{
	bool lenient = b->lenient;
	size_t i = 0;

	*span = STR_NONE;
	/* Stops at a deviation, so that it is told before what follows it. */
	while (i < n && b->lenient == lenient) {
		switch (b->is) {
		case H1_LENGTH: case H1_DATA: {
			size_t k = n - i < b->left ? n - i : (size_t)b->left;

			*span = str_of(p + i, k);
			b->left -= k;
			if (b->left == 0)
				b->is = b->is == H1_DATA ? H1_DATA_CR : H1_OVER;
			return i + k;
		}
		case H1_UNTIL_CLOSE:
			*span = str_of(p + i, n - i);
			return n;
		case H1_EXT:
			i += to_lf(b, p + i, n - i, H1_DATA);
			break;
		case H1_TRAILER_VALUE:
			i += to_lf(b, p + i, n - i, H1_TRAILER);
			break;
		case H1_OVER: case H1_BROKEN:
			return i;
		case H1_SIZE: case H1_DIGITS: case H1_SIZE_LF:
		case H1_DATA_CR: case H1_DATA_LF: case H1_TRAILER:
		case H1_TRAILER_NAME: case H1_TRAILER_LF:
			step(b, (unsigned char)p[i++]);
			break;
		}
	}
	return i;
}

/* Bytes of framing between here and the next place that is known: the CRLF
 * after a chunk, the empty line after the last one. */
static uint64_t
fixed(const struct h1_body *b)
{
	if (b->is == H1_DATA_CR || b->is == H1_TRAILER)
		return 2;
	return b->is == H1_DATA_LF || b->is == H1_TRAILER_LF;
}

uint64_t
h1_body_gap(struct h1_body *b, uint64_t n, uint64_t *lost)
{
	uint64_t k;

	*lost = 0;
	if (b->is == H1_UNTIL_CLOSE) {
		*lost = n;
		return 0;
	}
	if (b->is == H1_LENGTH || b->is == H1_DATA) {
		*lost = n < b->left ? n : b->left;
		b->left -= *lost;
		n -= *lost;
		if (b->left == 0)
			b->is = b->is == H1_DATA ? H1_DATA_CR : H1_OVER;
	}
	k = n < fixed(b) ? n : fixed(b);
	n -= k;
	switch (b->is) {
	case H1_DATA_CR: case H1_DATA_LF:
		b->is = k == fixed(b) ? H1_SIZE : k > 0 ? H1_DATA_LF : b->is;
		break;
	case H1_TRAILER: case H1_TRAILER_LF:
		/* The last chunk was seen: nothing of the content is lost. */
	case H1_TRAILER_NAME: case H1_TRAILER_VALUE:
		b->is = H1_OVER;
		break;
	case H1_DIGITS: case H1_SIZE_LF: case H1_EXT:
		b->is = H1_BROKEN;
		break;
	case H1_SIZE: case H1_LENGTH: case H1_DATA: case H1_UNTIL_CLOSE:
	case H1_OVER: case H1_BROKEN:
		break;
	}
	return n;
}
