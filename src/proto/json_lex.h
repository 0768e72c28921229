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

/* How many of the 16 bytes at p are for sure plain ASCII of a string, before
 * the first that may be a quote, backslash, control or other character. */
static inline unsigned
json_lex_plain(const uint8_t *p)
{
#ifdef __SSE2__
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	/* Signed: bytes from 0x80 up are less than a space too. */
	__m128i odd = _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(' ')),
	    _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
	    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));

	return (unsigned)__builtin_ctz(
	    (unsigned)_mm_movemask_epi8(odd) | 1u << 16);
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
	return n;
#endif
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

#endif
