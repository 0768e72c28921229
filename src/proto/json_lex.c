#include "json_lex.h"

#include "mcpdiag/json.h"

/* A hexadecimal digit's value and one. */
static const uint8_t hex[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6,
	['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
	['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* What may follow a backslash and stand for one character. */
static const bool letter[256] = {
	['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true, ['f'] = true,
	['n'] = true, ['r'] = true, ['t'] = true,
};

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* UTF-8 as Unicode 3.9, table 3-7, has it (no overlong form, no surrogate,
 * nothing past U+10FFFF), without a branch: a state is a bit offset, and the
 * row of the next byte, shifted by it, has the next state in its low 6 bits.
 * What is not in a row leads to BAD, and nothing leads out of it. */
enum {
	UTF_BAD = 0, UTF_OK = 6,
	UTF_1 = 12, UTF_2 = 18, UTF_3 = 24,	/* any continuation bytes to come */
	UTF_E0 = 30, UTF_ED = 36, UTF_F0 = 42, UTF_F4 = 48,	/* after these */
};

#define GO(from, to) ((uint64_t)(to) << (from))
#define X4(row) row, row, row, row
#define X16(row) X4(row), X4(row), X4(row), X4(row)
#define ASCII GO(UTF_OK, UTF_OK)
#define MORE (GO(UTF_1, UTF_OK) | GO(UTF_2, UTF_1) | GO(UTF_3, UTF_2))

static const uint64_t utf8[256] = {
	X16(ASCII), X16(ASCII), X16(ASCII), X16(ASCII),
	X16(ASCII), X16(ASCII), X16(ASCII), X16(ASCII),
	X16(MORE | GO(UTF_ED, UTF_1) | GO(UTF_F4, UTF_2)),		/* 80 */
	X16(MORE | GO(UTF_ED, UTF_1) | GO(UTF_F0, UTF_2)),		/* 90 */
	X16(MORE | GO(UTF_E0, UTF_1) | GO(UTF_F0, UTF_2)),		/* a0 */
	X16(MORE | GO(UTF_E0, UTF_1) | GO(UTF_F0, UTF_2)),
	0, 0, GO(UTF_OK, UTF_1), GO(UTF_OK, UTF_1),			/* c0 */
	X4(GO(UTF_OK, UTF_1)), X4(GO(UTF_OK, UTF_1)), X4(GO(UTF_OK, UTF_1)),
	X16(GO(UTF_OK, UTF_1)),
	GO(UTF_OK, UTF_E0), GO(UTF_OK, UTF_2), GO(UTF_OK, UTF_2),	/* e0 */
	GO(UTF_OK, UTF_2), X4(GO(UTF_OK, UTF_2)), X4(GO(UTF_OK, UTF_2)),
	GO(UTF_OK, UTF_2), GO(UTF_OK, UTF_ED), GO(UTF_OK, UTF_2),
	GO(UTF_OK, UTF_2),
	GO(UTF_OK, UTF_F0), GO(UTF_OK, UTF_3), GO(UTF_OK, UTF_3),	/* f0 */
	GO(UTF_OK, UTF_3), GO(UTF_OK, UTF_F4),
};

/* Skips to the first byte that is not plain. */
static inline const uint8_t *
skip_plain(const uint8_t *p, const uint8_t *end)
{
	if (end - p >= 16) {
		const uint8_t *last = end - 16;

		do {
			if (!json_lex_all_plain(p))
				return p + json_lex_plain16(p);
			p += 16;
		} while (p <= last);
	}
	while (p < end && json_lex_plain(*p))
		p++;
	return p;
}

/* Whether a byte that is ASCII or part of a character of several bytes needs
 * a closer look. */
static inline bool
is_special(uint8_t c)
{
	return c < ' ' || c == '"' || c == '\\';
}

/* Bytes before the first special one, at most 16; *ascii: all are ASCII (may
 * be false without need). */
static inline size_t
block(const uint8_t *p, const uint8_t *end, bool *ascii)
{
	size_t n;

	*ascii = false;
#ifdef __SSE2__
	if (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i odd = _mm_or_si128(
		    _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v),
		    _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
		    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));

		*ascii = _mm_movemask_epi8(v) == 0;
		return (size_t)__builtin_ctz(
		    (unsigned)_mm_movemask_epi8(odd) | 1u << 16);
	}
#endif
	for (n = 0; n < 16 && p + n < end && !is_special(p[n]); n++)
		continue;
	return n;
}

/* From a byte that is not ASCII, or is inside a character, to the first
 * special byte or anywhere between characters before it. */
static const uint8_t *
skip_utf8(struct json_lex *x, const uint8_t *p, const uint8_t *end)
{
	uint64_t at = x->utf8;
	bool ascii;
	size_t n = 16;

	while (p < end && *p >= 0x80)
		at = utf8[*p++] >> (at & 63);
	at &= 63;
	/* Most often that was a single word or character. */
	ascii = end - p >= 16 && json_lex_all_plain(p);
	while (n == 16 && !(ascii && at == UTF_OK)) {
		n = block(p, end, &ascii);
		for (size_t i = 0; i < n; i++)
			at = utf8[p[i]] >> (at & 63);
		at &= 63;
		p += n;
	}
	if (p < end && at != UTF_OK) {
		x->flaws |= JSON_UTF8;
		at = UTF_OK;
	}
	x->utf8 = (uint8_t)at;
	return p;
}

static inline const uint8_t *
skip_digits(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i other = _mm_or_si128(
		    _mm_cmplt_epi8(v, _mm_set1_epi8('0')),
		    _mm_cmpgt_epi8(v, _mm_set1_epi8('9')));
		unsigned at = (unsigned)_mm_movemask_epi8(other);

		if (at != 0)
			return p + __builtin_ctz(at);
	}
#endif
	while (p < end && is_digit(*p))
		p++;
	return p;
}

static enum json_number
number_next(enum json_number at, uint8_t c)
{
	switch (at) {
	case NUM_MINUS:
		return c == '0' ? NUM_ZERO : is_digit(c) ? NUM_INT : NUM_BAD;
	case NUM_INT:
		if (is_digit(c))
			return NUM_INT;
		/* FALLTHROUGH */
	case NUM_ZERO:
		if (c == '.')
			return NUM_DOT;
		return c == 'e' || c == 'E' ? NUM_E : NUM_END;
	case NUM_DOT:
		return is_digit(c) ? NUM_FRACTION : NUM_BAD;
	case NUM_FRACTION:
		if (is_digit(c))
			return NUM_FRACTION;
		return c == 'e' || c == 'E' ? NUM_E : NUM_END;
	case NUM_E:
		if (c == '+' || c == '-')
			return NUM_E_SIGN;
		/* FALLTHROUGH */
	case NUM_E_SIGN:
		return is_digit(c) ? NUM_EXPONENT : NUM_BAD;
	case NUM_EXPONENT:
		return is_digit(c) ? NUM_EXPONENT : NUM_END;
	case NUM_END: case NUM_BAD:
		break;
	}
	return NUM_BAD;
}

void
json_lex_init(struct json_lex *x)
{
	*x = (struct json_lex){ .part = PART_PLAIN, .utf8 = UTF_OK };
}

/* RFC 8259 section 6. */
const uint8_t *
json_lex_number(struct json_lex *x, const uint8_t *p, const uint8_t *end)
{
	enum json_number at = (enum json_number)x->number;

	for (; p < end; p++) {
		if (at == NUM_INT || at == NUM_FRACTION) {
			p = skip_digits(p, end);
			if (p == end)
				break;
		}
		at = number_next(at, *p);
		if (at == NUM_END)
			break;
		if (at == NUM_BAD)
			return NULL;
		x->number = (uint8_t)at;
	}
	return p;
}

/* RFC 8259 section 6. */
const uint8_t *
json_lex_any_number(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *digits;

	p += *p == '-';
	digits = p;
	p = skip_digits(p, end);
	if (p == digits || (*digits == '0' && p - digits > 1))
		return NULL;
	if (p < end && *p == '.') {
		digits = ++p;
		p = skip_digits(p, end);
		if (p == digits)
			return NULL;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		digits = p;
		p = skip_digits(p, end);
		if (p == digits)
			return NULL;
	}
	return p < end ? p : NULL;
}

bool
json_lex_number_whole(const struct json_lex *x)
{
	return number_next((enum json_number)x->number, ' ') == NUM_END;
}

const uint8_t *
json_lex_word(struct json_lex *x, const uint8_t *p, const uint8_t *end)
{
	for (; *x->rest != '\0' && p < end; p++)
		if (*p != (uint8_t)*x->rest++)
			return NULL;
	return p;
}

/* The four digits are complete.  Half a surrogate pair is legal JSON (RFC 8259
 * section 8.2) but names no character. */
static void
hex_done(struct json_lex *x)
{
	bool high = x->hex >> 10 == 0xd800 >> 10;
	bool low = x->hex >> 10 == 0xdc00 >> 10;

	if (x->high != low)
		x->flaws |= JSON_SURROGATE;
	x->high = high;
	x->part = high ? PART_LOW : PART_PLAIN;
}

static const uint8_t *
escape(struct json_lex *x, const uint8_t *p, const uint8_t *end)
{
	for (; p < end && x->part != PART_PLAIN; p++) {
		if (x->part == PART_LOW) {
			if (*p == '\\') {
				x->part = PART_ESCAPE;
				continue;
			}
			x->flaws |= JSON_SURROGATE;
			x->high = false;
			x->part = PART_PLAIN;
			break;
		}
		if (x->part == PART_ESCAPE && *p == 'u') {
			x->part = PART_HEX;
			x->n_hex = 0;
			continue;
		}
		if (x->part == PART_ESCAPE) {
			if (!letter[*p])
				return NULL;
			if (x->high)
				x->flaws |= JSON_SURROGATE;
			x->high = false;
			x->part = PART_PLAIN;
			continue;
		}
		if (hex[*p] == 0)
			return NULL;
		x->hex = (uint16_t)(x->hex << 4 | (hex[*p] - 1));
		if (++x->n_hex == 4)
			hex_done(x);
	}
	return p;
}

/* Length of the escape at p when it is a character's number, all there, and no
 * surrogate, else 0. */
static inline size_t
whole_hex(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *h = p + 2;

	if (end - p < 6 || p[1] != 'u' ||
	    !hex[h[0]] || !hex[h[1]] || !hex[h[2]] || !hex[h[3]])
		return 0;
	return hex[h[0]] == hex['d'] && hex[h[1]] >= hex['8'] ? 0 : 6;
}

/* Plain bytes and whole escapes, up to the first byte that is neither. */
static inline const uint8_t *
skip_text(struct json_lex *x, const uint8_t *p, const uint8_t *end)
{
	size_t n;

	for (;;) {
		p = skip_plain(p, end);
		if (p == end || *p != '\\')
			return p;
		n = end - p >= 2 && letter[p[1]] ? 2 : whole_hex(p, end);
		if (n == 0)
			return p;
		x->escaped = true;
		p += n;
	}
}

/* RFC 8259 section 7. */
const uint8_t *
json_lex_string(struct json_lex *x, const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		if (x->part != PART_PLAIN) {
			p = escape(x, p, end);
			if (p == NULL)
				return NULL;
			continue;
		}
		if (*p >= 0x80 || x->utf8 != UTF_OK) {
			p = skip_utf8(x, p, end);
			continue;
		}
		p = skip_text(x, p, end);
		if (p == end || *p == '"')
			return p;
		if (*p >= 0x80)
			continue;
		if (*p < ' ')
			return NULL;
		x->escaped = true;
		x->part = PART_ESCAPE;
		p++;
	}
	return p;
}
