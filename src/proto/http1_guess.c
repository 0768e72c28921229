#include "http1_priv.h"

enum {
	TOKEN_MAX = 24,		/* upper-case letters of a method */
	TEXT_LOOK = 16,		/* bytes that must look like text */
	TLS_RECORD_MAX = 16384 + 2048,	/* RFC 5246 6.2.3 */
};

static bool
is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
	    (c >= 'A' && c <= 'F');
}

static bool
is_text(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n && i < TEXT_LOOK; i++)
		if ((p[i] < ' ' && p[i] != '\r' && p[i] != '\n' &&
		    p[i] != '\t') || p[i] == 0x7f)
			return false;
	return true;
}

/* p has as much of `lit` as its n bytes allow. */
static bool
agrees(const uint8_t *p, size_t n, struct str lit)
{
	return memcmp(p, lit.p, n < lit.n ? n : lit.n) == 0;
}

/* 1 to 8 hex digits, perhaps an extension, CRLF; then content, if any is here,
 * that does not contradict the size.  Bytes of it are counted in *head, 0 when
 * there are too few to say. */
static bool
chunk(const uint8_t *p, size_t n, bool text, size_t *head)
{
	uint64_t size = 0;
	size_t i = 0;

	*head = 0;
	for (; i < n && i < 8 && is_hex(p[i]); i++)
		size = size << 4 | (uint64_t)(p[i] <= '9' ? p[i] - '0' :
		    (p[i] | 0x20) - 'a' + 10);
	if (i == 0)
		return false;
	if (i < n && p[i] == ';')
		while (i < n && p[i] >= ' ' && p[i] != 0x7f)
			i++;
	if (!agrees(p + i, n - i, STR("\r\n")))
		return false;
	if (n - i < 2)
		return true;
	i += 2;
	*head = i;
	p += i;
	n -= i;
	if (size == 0)		/* the empty line, or a trailer */
		return agrees(p, n, STR("\r\n")) || h1_is_token(p[0]);
	if (n > size && !agrees(p + size, n - size, STR("\r\n")))
		return false;
	return !text || is_text(p, n);
}

bool
h1_chunk_head(const void *p, size_t n, bool text)
{
	size_t head;

	return chunk(p, n, text, &head) && head > 0;
}

/* After the target: " HTTP/1.x" and a line end, as far as they are here. */
static bool
version(const uint8_t *p, size_t n)
{
	if (!agrees(p, n, STR(" HTTP/1.")))
		return false;
	if (n <= 8)
		return true;
	return p[8] >= '0' && p[8] <= '9' &&
	    (n == 9 || p[9] == '\r' || p[9] == '\n');
}

static bool
target(const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] > ' ' && p[i] != 0x7f)
		i++;
	return i > 0 && version(p + i, n - i);
}

static enum http1_guess
request(const uint8_t *p, size_t n)
{
	size_t i = 0;
	bool known;

	while (i < n && ((p[i] >= 'A' && p[i] <= 'Z') ||
	    (i > 0 && (p[i] == '-' || p[i] == '_'))))
		i++;
	if (i == 0 || i > TOKEN_MAX || (i < n && p[i] != ' '))
		return HTTP1_IS_OTHER;
	if (n - i < 2)
		return HTTP1_IS_UNKNOWN;
	known = i == 7 && memcmp(p, "CONNECT", 7) == 0;
	p += i + 1;
	n -= i + 1;
	if (p[0] == '*')
		known = version(p + 1, n - 1);
	else if (p[0] == '/' || known)
		known = target(p, n);
	else if (agrees(p, n, STR("http")))
		known = n >= 4 && target(p, n);
	else
		return HTTP1_IS_OTHER;
	if (known)
		return HTTP1_IS_REQUEST;
	return n < 4 && p[0] == 'h' ? HTTP1_IS_UNKNOWN : HTTP1_IS_OTHER;
}

static enum http1_guess
response(const uint8_t *p, size_t n)
{
	if (n < 7)
		return HTTP1_IS_UNKNOWN;
	if (!agrees(p, n, STR("HTTP/1.")) ||
	    (n > 7 && (p[7] < '0' || p[7] > '9')) || (n > 8 && p[8] != ' '))
		return HTTP1_IS_OTHER;
	return HTTP1_IS_RESPONSE;
}

static enum http1_guess
tls(const uint8_t *p, size_t n)
{
	size_t len;

	if ((n > 1 && p[1] != 3) || (n > 2 && p[2] > 4))
		return HTTP1_IS_OTHER;
	if (n < 3)
		return HTTP1_IS_UNKNOWN;
	if (n < 5)
		return HTTP1_IS_TLS;
	len = (size_t)p[3] << 8 | p[4];
	return len > 0 && len <= TLS_RECORD_MAX ? HTTP1_IS_TLS :
	    HTTP1_IS_OTHER;
}

/* A server's first frame: SETTINGS, no flags, stream 0 (RFC 9113 3.4, 6.5). */
static enum http1_guess
settings_frame(const uint8_t *p, size_t n)
{
	static const uint8_t rest[6] = { 4, 0, 0, 0, 0, 0 };

	if ((n > 1 && p[1] != 0) || (n > 2 && p[2] % 6 != 0))
		return HTTP1_IS_OTHER;
	if (n > 3 && memcmp(p + 3, rest, n < 9 ? n - 3 : 6) != 0)
		return HTTP1_IS_OTHER;
	return n < 9 ? HTTP1_IS_UNKNOWN : HTTP1_IS_H2;
}

enum http1_guess
http1_guess(const void *data, size_t n)
{
	static const struct str h2 = { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24 };
	const uint8_t *p = data;
	size_t head;

	if (n == 0)
		return HTTP1_IS_UNKNOWN;
	if (p[0] == 0)
		return settings_frame(p, n);
	if (p[0] >= 0x14 && p[0] <= 0x17)
		return tls(p, n);
	if (agrees(p, n, h2) && n >= 3)
		return n < 14 ? HTTP1_IS_UNKNOWN : HTTP1_IS_H2;
	if (agrees(p, n, STR("HTTP/")))
		return response(p, n);
	if (is_hex(p[0]) && chunk(p, n, true, &head))
		return head > 0 && head < n ? HTTP1_IS_CHUNK :
		    HTTP1_IS_UNKNOWN;
	return request(p, n);
}
