/* json_lex: the bytes inside one JSON token, in pieces.
 *
 * Each function takes the bytes of a piece from p on and returns the first
 * byte that is not part of the token's inside, or `end` when the piece ends
 * before that, or NULL at a byte that must not be there.  What is legal but
 * wrong is added to `flaws`. */
#ifndef MCPDIAG_JSON_LEX_H
#define MCPDIAG_JSON_LEX_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum json_part {
	PART_PLAIN,
	PART_ESCAPE,		/* after the backslash */
	PART_HEX,		/* in the four digits */
	PART_LOW,		/* after a high surrogate: its other half */
};

enum json_number {
	NUM_MINUS, NUM_ZERO, NUM_INT, NUM_DOT, NUM_FRACTION, NUM_E, NUM_E_SIGN,
	NUM_EXPONENT, NUM_END, NUM_BAD,
};

struct json_lex {
	uint8_t part;		/* enum json_part; PLAIN between tokens */
	uint8_t number;		/* enum json_number */
	bool escaped;		/* the string has an escape in it; never unset
				 * here */
	bool high;		/* a high surrogate has just passed */
	uint8_t utf8;		/* where in a character of several bytes */
	uint8_t n_hex;
	uint16_t hex;
	uint8_t flaws;		/* enum json_flaw */
	const char *rest;	/* letters of null, true or false to come */
};

/* Whether the byte is plain ASCII inside a string: no quote, backslash,
 * control or other character. */
static inline bool
json_lex_plain(uint8_t c)
{
	return c >= ' ' && c < 0x80 && c != '"' && c != '\\';
}

#ifdef __SSE2__
/* A bit for each of the 16 bytes at p that is not plain.  The bits above are
 * set. */
static inline uint32_t
json_lex_odd(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	/* Signed, bytes from 0x80 up are less than a space too; the quote
	 * changes places with it. */
	__m128i plain = _mm_andnot_si128(
	    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')),
	    _mm_cmpgt_epi8(_mm_xor_si128(v, _mm_set1_epi8(' ' ^ '"')),
	    _mm_set1_epi8(' ')));

	return ~(uint32_t)_mm_movemask_epi8(plain);
}
#endif

/* How many of the 16 bytes at p are plain before the first that is not. */
static inline unsigned
json_lex_plain16(const uint8_t *p)
{
#ifdef __SSE2__
	return (unsigned)__builtin_ctz(json_lex_odd(p));
#else
	const uint64_t ones = 0x0101010101010101ULL;
	unsigned n;

	for (n = 0; n < 16; n += 8) {
		uint64_t v, quote, backslash;

		memcpy(&v, p + n, 8);
		quote = v ^ ones * '"';
		backslash = v ^ ones * '\\';
		/* A byte below what is taken away gets its high bit set. */
		if (((v - ones * ' ') | (quote - ones) | (backslash - ones) | v) &
		    ones << 7)
			break;
	}
	while (n < 16 && json_lex_plain(p[n]))
		n++;
	return n;
#endif
}

static inline bool
json_lex_all_plain(const uint8_t *p)
{
#ifdef __SSE2__
	return json_lex_odd(p) == ~0xffffu;
#else
	return json_lex_plain16(p) == 16;
#endif
}

/* The length of the string whose opening quote is before p, when it is plain,
 * less than 16 bytes long and all there, else 16.  At least 16 bytes lie before
 * `end`. */
static inline unsigned
json_lex_short(const uint8_t *p, const uint8_t *end)
{
	unsigned n = 0;

#ifdef __SSE2__
	uint32_t odd;

	if (end - p >= 16)
		odd = json_lex_odd(p);
	else	/* the bits from `end` on are set */
		odd = json_lex_odd(end - 16) >> (16 - (end - p));
	n = (unsigned)__builtin_ctz(odd);
#else
	while (n < 16 && n < (size_t)(end - p) && json_lex_plain(p[n]))
		n++;
#endif
	return n < 16 && n < (size_t)(end - p) && p[n] == '"' ? n : 16;
}

void json_lex_init(struct json_lex *);
/* From behind the opening quote; gives the closing one. */
const uint8_t *json_lex_string(struct json_lex *, const uint8_t *p,
    const uint8_t *end);
/* From behind the first byte, which set `number`; gives the byte after. */
const uint8_t *json_lex_number(struct json_lex *, const uint8_t *p,
    const uint8_t *end);
/* Whether a number may end where it is. */
bool json_lex_number_whole(const struct json_lex *);
/* From `rest` on; when that is empty, gives the byte after (may be `end`). */
const uint8_t *json_lex_word(struct json_lex *, const uint8_t *p,
    const uint8_t *end);

/* From the first byte of a number; gives the byte after, or NULL when that is
 * not before `end` or there is no number. */
const uint8_t *json_lex_any_number(const uint8_t *p, const uint8_t *end);
/* The same; quick for a small integer. */
static inline const uint8_t *
json_lex_whole_number(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = p + 1;

	if (*p < '1' || *p > '9')
		return json_lex_any_number(p, end);
	while (q < end && *q >= '0' && *q <= '9')
		q++;
	if (q == end || *q == '.' || *q == 'e' || *q == 'E')
		return json_lex_any_number(p, end);
	return q;
}

#endif
