#include "mcpdiag/esc.h"

unsigned
esc_utf8(const uint8_t *p, size_t n, uint32_t *cp)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned len;
	uint32_t c;

	*cp = 0;
	if (n == 0)
		return 0;
	c = p[0];
	if (c < 0x80) {
		*cp = c;
		return 1;
	}
	len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
	if (len == 0 || c > 0xf4 || n < len)
		return 0;
	c &= 0x7fu >> len;
	for (unsigned i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*cp = c;
	return len;
}

/* Characters that change how their neighbours are shown, or show nothing:
 * C0, DEL, C1, zero width, bidirectional controls, line separators, BOM. */
static bool
unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad ||
	    c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	    c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	    (c >= 0xe0000 && c <= 0xe007f);
}

void
esc_text(struct buf *b, struct str s, size_t max)
{
	const uint8_t *p = (const uint8_t *)s.p;
	size_t left = s.n, start = b->n;

	while (left) {
		uint32_t c;
		unsigned len = esc_utf8(p, left, &c);

		if (b->n - start >= max) {
			(void)buf_adds(b, STR("…"));
			return;
		}
		if (len == 0) {
			(void)buf_fmt(b, "\\x%02x", *p);
			len = 1;
		} else if (c == '\\')
			(void)buf_adds(b, STR("\\\\"));
		else if (unsafe(c))
			(void)buf_fmt(b, c < 0x100 ? "\\x%02x" : "\\u{%x}", c);
		else
			(void)buf_add(b, p, len);
		p += len;
		left -= len;
	}
}

void
esc_json(struct buf *b, struct str s)
{
	const uint8_t *p = (const uint8_t *)s.p, *plain = p;
	size_t left = s.n;

	while (left) {
		uint32_t c;
		unsigned len;

		if (*p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\') {
			p++;
			left--;
			continue;
		}
		len = esc_utf8(p, left, &c);
		if (len > 1 && !unsafe(c)) {
			p += len;
			left -= len;
			continue;
		}
		(void)buf_add(b, plain, (size_t)(p - plain));
		if (len == 0) {
			(void)buf_adds(b, STR("\\ufffd"));
			len = 1;
		} else if (c == '"' || c == '\\') {
			(void)buf_addc(b, '\\');
			(void)buf_addc(b, (char)c);
		} else if (c == '\n')
			(void)buf_adds(b, STR("\\n"));
		else if (c < 0x10000)
			(void)buf_fmt(b, "\\u%04x", c);
		else
			(void)buf_fmt(b, "\\u%04x\\u%04x",
			    0xd800 + ((c - 0x10000) >> 10),
			    0xdc00 + ((c - 0x10000) & 0x3ff));
		p += len;
		left -= len;
		plain = p;
	}
	(void)buf_add(b, plain, (size_t)(p - plain));
}
