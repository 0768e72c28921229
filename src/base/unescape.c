#include "mcpdiag/unescape.h"

struct sink {
	char *p;
	size_t n, max;
};

static bool
put(struct sink *s, unsigned c)
{
	if (s->n == s->max)
		return false;
	s->p[s->n++] = (char)c;
	return true;
}

static bool
put_utf8(struct sink *s, uint32_t c)
{
	if (c < 0x80)
		return put(s, c);
	if (c < 0x800)
		return put(s, 0xc0 | c >> 6) && put(s, 0x80 | (c & 0x3f));
	if (c < 0x10000)
		return put(s, 0xe0 | c >> 12) && put(s, 0x80 | (c >> 6 & 0x3f)) &&
		    put(s, 0x80 | (c & 0x3f));
	return put(s, 0xf0 | c >> 18) && put(s, 0x80 | (c >> 12 & 0x3f)) &&
	    put(s, 0x80 | (c >> 6 & 0x3f)) && put(s, 0x80 | (c & 0x3f));
}

/* Four digits at s.p + at. */
static bool
hex4(struct str s, size_t at, uint32_t *out)
{
	*out = 0;
	if (at > s.n || s.n - at < 4)
		return false;
	for (size_t i = at; i < at + 4; i++) {
		const char *digits = "0123456789abcdef";
		char c = s.p[i];
		const char *d = memchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c, 16);

		if (d == NULL)
			return false;
		*out = *out << 4 | (uint32_t)(d - digits);
	}
	return true;
}

/* \uXXXX at s.p + at, or a pair of them; *used is how much that was. */
static bool
put_escape(struct sink *s, struct str raw, size_t at, size_t *used)
{
	uint32_t c, low;

	*used = 6;
	if (!hex4(raw, at + 2, &c) || (c >= 0xdc00 && c < 0xe000))
		return false;
	if (c < 0xd800 || c >= 0xe000)
		return put_utf8(s, c);
	*used = 12;
	if (raw.n - at < 12 || raw.p[at + 6] != '\\' || raw.p[at + 7] != 'u' ||
	    !hex4(raw, at + 8, &low) || low < 0xdc00 || low >= 0xe000)
		return false;
	return put_utf8(s, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
}

bool
unescape_json(struct str raw, char *out, size_t max, size_t *n)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	struct sink s = { out, 0, max };
	bool ok = true;

	for (size_t i = 0, used; ok && i < raw.n; i += used) {
		const char *e;

		used = 1;
		if (raw.p[i] != '\\') {
			ok = put(&s, (unsigned char)raw.p[i]);
		} else if (i + 1 < raw.n && raw.p[i + 1] == 'u') {
			ok = put_escape(&s, raw, i, &used);
		} else {
			used = 2;
			e = i + 1 < raw.n ? memchr(from, raw.p[i + 1], 8) : NULL;
			ok = e && put(&s, (unsigned char)to[e - from]);
		}
	}
	*n = ok ? s.n : 0;
	return ok;
}

static int
sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool
unescape_base64(struct str text, char *out, size_t max, size_t *n)
{
	struct sink s = { out, 0, max };
	size_t len = text.n;
	uint32_t bits = 0;
	unsigned have = 0;
	bool ok = text.n % 4 == 0;

	for (int pad = 0; pad < 2 && ok && len > 0 && text.p[len - 1] == '='; pad++)
		len--;
	for (size_t i = 0; ok && i < len; i++) {
		int v = sextet(text.p[i]);

		ok = v >= 0;
		bits = (bits << 6 | (uint32_t)v) & 0xffffff;
		have += 6;
		if (ok && have >= 8) {
			have -= 8;
			ok = put(&s, bits >> have & 0xff);
		}
	}
	/* What is left over is zero in one that was made properly. */
	ok = ok && (bits & ((1U << have) - 1)) == 0;
	*n = ok ? s.n : 0;
	return ok;
}
