#include "mcpdiag/json.h"

#include <stdlib.h>

#include "json_lex.h"
#include "json_path.h"
#include "mcpdiag/buf.h"
#include "mcpdiag/err.h"
#include "mcpdiag/xmem.h"

/* Levels whose kind (object or array) is remembered.  Below them brackets are
 * counted only, and commas and colons may stand anywhere between values. */
#define HARD_DEPTH 1024

enum state {
	ST_START,		/* the document has not begun */
	ST_ELEMENT_OR_END,	/* after the '[' of a batch */
	ST_ELEMENT,		/* after a ',' of a batch */
	ST_VALUE_OR_END,	/* after '[' */
	ST_VALUE,
	ST_KEY_OR_END,		/* after '{' */
	ST_KEY,
	ST_COLON,
	ST_AFTER,		/* after a value inside an object or array */
	ST_DEEP_VALUE,		/* below HARD_DEPTH */
	ST_DEEP_AFTER,
	ST_DONE,
	ST_BAD,
	/* Inside a token: */
	ST_STRING,
	ST_NUMBER,
	ST_WORD,		/* null, true, false */
};

struct json {
	uint8_t state;		/* enum state */
	uint8_t after;		/* what follows a scalar: ST_AFTER,
				 * ST_DEEP_AFTER, or ST_DONE: the message ends */
	bool is_key;		/* the string being read is a key */
	bool wanted;		/* the token being read is wanted */
	bool copied;		/* its beginning was in earlier pieces */
	bool batch;
	struct json_lex lex;

	uint32_t depth;		/* objects and arrays open */
	uint32_t base;		/* of them outside the message: 1 in a batch */
	uint32_t live;		/* the deepest one that paths lead into */
	uint32_t deep_at;	/* one more at this depth needs a closer look */
	uint32_t depth_max;
	uint64_t types;		/* one bit a level, innermost lowest: object */
	uint64_t saved[HARD_DEPTH / 64 - 1];
	uint64_t objects, arrays;	/* open below HARD_DEPTH */

	/* Sets of paths: that lead into the innermost object or array; that
	 * the key just read ends; that lead below it; that have come. */
	uint64_t active;
	struct json_sets key;
	uint64_t seen;
	const struct json_level *level;	/* when some are active */
	uint64_t levels[JSON_PATH_LEVELS + 1];	/* `active` of outer levels */
	uint64_t all, once;	/* of all, those that may end at one key only */
	uint64_t nodes;		/* nodes that the key so far is equal to */
	size_t n_key;

	const uint8_t *token;	/* the part of a wanted token in this piece */
	struct buf kept;	/* its parts from earlier pieces */
	struct json_value value;	/* it, in the making */

	struct json_paths *paths;
	struct json_cb cb;
	void *arg;
};

#define DIGITS '0': case '1': case '2': case '3': case '4': case '5': \
	case '6': case '7': case '8': case '9'

static bool
is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* RFC 8259 section 2. */
static inline const uint8_t *
skip_space(const uint8_t *p, const uint8_t *end)
{
	while (p < end && is_space(*p))
		p++;
	return p;
}

static void
begin_message(struct json *j, enum json_kind kind)
{
	j->lex.flaws = 0;
	j->seen = 0;
	j->key.below = j->all;
	j->after = ST_DONE;
	if (j->cb.begin != NULL)
		j->cb.begin(j->arg, kind);
}

static void
end_message(struct json *j)
{
	j->state = j->batch ? ST_AFTER : ST_DONE;
	if (j->cb.end != NULL)
		j->cb.end(j->arg, j->lex.flaws);
}

/* Several paths: seldom, and kept apart for the sake of report(). */
__attribute__((noinline)) static void
report_each(struct json *j, uint64_t paths)
{
	for (; paths != 0; paths &= paths - 1) {
		j->value.path = (unsigned)__builtin_ctzll(paths);
		j->cb.value(j->arg, &j->value);
	}
}

/* Tells of j->value at the paths that end here, of which there are some. */
static void
report(struct json *j)
{
	uint64_t paths = j->key.ends;

	j->key.ends = 0;
	if (paths & j->seen)
		j->lex.flaws |= JSON_DUPLICATE;
	j->seen |= paths & j->once;
	if (j->value.cut)
		j->lex.flaws |= JSON_CUT;
	if (j->cb.value == NULL)
		return;
	if (paths & (paths - 1)) {
		report_each(j, paths);
		return;
	}
	j->value.path = (unsigned)__builtin_ctzll(paths);
	j->cb.value(j->arg, &j->value);
}

/* A value begins where paths lead to; a scalar has its first byte at p. */
static void
want(struct json *j, enum json_kind kind, const uint8_t *p)
{
	if (!(j->types & 1))
		j->key.below = j->active;	/* "**" goes on through arrays */
	if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
		if (j->key.ends != 0) {
			j->value = (struct json_value){ .kind = kind };
			report(j);
		}
		return;
	}
	j->key.below = 0;
	if (j->key.ends != 0) {
		j->value.kind = kind;
		j->value.cut = false;
		j->wanted = true;
		j->token = p;
		j->copied = false;
	}
}

/* Bytes of the wanted token up to p, which the piece is about to take away. */
static void
keep(struct json *j, const uint8_t *p)
{
	size_t n = (size_t)(p - j->token);
	size_t left = j->kept.max - j->kept.n;

	if (j->is_key) {
		if (!j->copied)
			j->nodes = json_key_begin(j->level, j->active);
		j->copied = true;
		j->nodes = json_key_part(j->level, j->nodes, j->n_key, j->token,
		    n, false);
		j->n_key += n;
		return;
	}
	j->copied = true;
	j->value.cut |= n > left;
	(void)buf_add(&j->kept, j->token, n < left ? n : left);
}

/* A wanted scalar that is all in this piece. */
static void
whole_value(struct json *j, enum json_kind kind, const uint8_t *p, size_t n)
{
	j->value.kind = kind;
	j->value.cut = n > j->kept.max;
	j->value.raw = str_of(p, j->value.cut ? j->kept.max : n);
	report(j);
}

/* The wanted scalar ends before p. */
static void
value_done(struct json *j, const uint8_t *p)
{
	j->wanted = false;
	if (!j->copied) {
		whole_value(j, j->value.kind, j->token, (size_t)(p - j->token));
		return;
	}
	keep(j, p);
	j->value.raw = buf_str(&j->kept);
	report(j);
	buf_fini(&j->kept);
}

static void
key_done(struct json *j, const uint8_t *p)
{
	size_t n = (size_t)(p - j->token);

	j->wanted = false;
	if (!j->copied && !j->lex.escaped) {
		j->key = json_key(j->level, j->active, j->token, n);
		return;
	}
	if (j->lex.escaped)
		j->nodes = 0;
	j->nodes = json_key_part(j->level, j->nodes, j->n_key, j->token, n, true);
	j->key = json_key_end(j->level, j->active, j->nodes);
}

/* A scalar ends before p. */
static inline void
scalar_done(struct json *j, const uint8_t *p)
{
	if (j->wanted)
		value_done(j, p);
	j->state = j->after;
	if (j->after == ST_DONE)
		end_message(j);
}

/* Which paths lead into the object or array that was just opened.  Past the
 * longest path only "**" is active, and it stays so. */
static void
open_active(struct json *j, bool object)
{
	unsigned level = j->depth - j->base - 1;
	unsigned i = level < JSON_PATH_LEVELS ? level : JSON_PATH_LEVELS;

	j->level = &j->paths->level[i];
	j->active = object ? j->key.below : j->key.below & j->level->deep;
	j->key.below = 0;
	if (level >= j->depth_max)
		j->active = 0;
	if (j->active == 0)
		return;
	j->live = j->depth;
	j->levels[i] = j->active;
}

static void
close_active(struct json *j)
{
	unsigned level = j->depth - j->base - 1;
	unsigned i = level < JSON_PATH_LEVELS ? level : JSON_PATH_LEVELS;

	j->live = j->depth;
	j->active = 0;
	if (j->depth > j->base) {
		j->level = &j->paths->level[i];
		j->active = j->levels[i];
	}
}

/* '{' or '[' */
static inline void
open_level(struct json *j, bool object)
{
	if (j->depth >= j->deep_at) {
		j->lex.flaws |= JSON_DEEP;
		if (j->depth == HARD_DEPTH) {
			j->objects += object;
			j->arrays += !object;
			j->after = ST_DEEP_AFTER;
			j->state = ST_DEEP_VALUE;
			return;
		}
	}
	if (j->depth % 64 == 0 && j->depth > 0)
		j->saved[j->depth / 64 - 1] = j->types;
	j->types = j->types << 1 | object;
	j->depth++;
	j->after = ST_AFTER;
	j->state = object ? ST_KEY_OR_END : ST_VALUE_OR_END;
	if ((j->active | j->key.below) != 0)
		open_active(j, object);
}

static inline void
close_level(struct json *j)
{
	j->depth--;
	if (j->depth % 64 == 0 && j->depth > 0)
		j->types = j->saved[j->depth / 64 - 1];
	else
		j->types >>= 1;
	if (j->live >= j->depth)
		close_active(j);
	j->state = ST_AFTER;
	if (j->depth > j->base)
		return;
	if (j->batch && j->depth == 0)
		j->state = ST_DONE;
	else
		end_message(j);
}

static inline const uint8_t *
string_done(struct json *j, const uint8_t *p, const uint8_t *end)
{
	if (!j->is_key) {
		scalar_done(j, p);
		return p + 1;
	}
	if (j->wanted)
		key_done(j, p);
	j->state = ST_COLON;
	if (end - p < 2 || p[1] != ':')
		return p + 1;
	j->state = ST_VALUE;
	return p + 2;
}

static const uint8_t *
string(struct json *j, const uint8_t *p, const uint8_t *end)
{
	p = json_lex_string(&j->lex, p, end);
	if (p == NULL || p == end)
		return p;
	return string_done(j, p, end);
}

/* From the first byte of a string on. */
static const uint8_t *
new_string(struct json *j, const uint8_t *p, const uint8_t *end)
{
	j->state = ST_STRING;
	return string(j, p, end);
}

static const uint8_t *
number(struct json *j, const uint8_t *p, const uint8_t *end)
{
	p = json_lex_number(&j->lex, p, end);
	if (p != NULL && p < end)
		scalar_done(j, p);
	return p;
}

static const uint8_t *
word(struct json *j, const uint8_t *p, const uint8_t *end)
{
	p = json_lex_word(&j->lex, p, end);
	if (p != NULL && *j->lex.rest == '\0')
		scalar_done(j, p);
	return p;
}

static const uint8_t *
key(struct json *j, const uint8_t *p, const uint8_t *end)
{
	if (*p == '}' && j->state == ST_KEY_OR_END) {
		close_level(j);
		return p + 1;
	}
	if (*p++ != '"')
		return NULL;
	j->is_key = true;
	if (j->active != 0) {
		j->wanted = true;
		j->copied = j->lex.escaped = false;
		j->n_key = 0;
		j->token = p;
	}
	return new_string(j, p, end);
}

/* By its first byte, which is right for some kind. */
static enum json_kind
kind_of(uint8_t c)
{
	switch (c) {
	case 'n':
		return JSON_NULL;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case '"':
		return JSON_STRING;
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	default:
		return JSON_NUMBER;
	}
}

static const uint8_t *
string_value(struct json *j, const uint8_t *p, const uint8_t *end)
{
	j->is_key = false;
	if (j->active != 0)
		want(j, JSON_STRING, p + 1);
	return new_string(j, p + 1, end);
}

static const uint8_t *
value(struct json *j, const uint8_t *p, const uint8_t *end)
{
	j->is_key = false;
	switch (*p) {
	case '"':
		return string_value(j, p, end);
	case '{': case '[':
		if (j->active != 0)
			want(j, kind_of(*p), p);
		open_level(j, *p == '{');
		return p + 1;
	case '-': case DIGITS:
		if (j->active != 0)
			want(j, JSON_NUMBER, p);
		j->state = ST_NUMBER;
		j->lex.number = *p == '-' ? NUM_MINUS : *p == '0' ? NUM_ZERO :
		    NUM_INT;
		return number(j, p + 1, end);
	case 'n': case 't': case 'f':
		if (j->active != 0)
			want(j, kind_of(*p), p);
		j->state = ST_WORD;
		j->lex.rest = *p == 'n' ? "ull" : *p == 't' ? "rue" : "alse";
		return word(j, p + 1, end);
	default:
		return NULL;
	}
}

/* The first byte of the document or of an element of the batch. */
static const uint8_t *
message(struct json *j, const uint8_t *p, const uint8_t *end)
{
	if (*p == '[' && j->state == ST_START) {
		j->batch = true;
		j->base = j->depth = 1;
		j->types = 0;
		j->deep_at++;
		j->state = ST_ELEMENT_OR_END;
		return p + 1;
	}
	if (*p == ']' && j->state == ST_ELEMENT_OR_END) {
		j->depth = 0;
		j->state = ST_DONE;
		return p + 1;
	}
	if (*p != '{' && (*p == '\0' || strchr("[\"-0123456789tfn", *p) == NULL))
		return NULL;
	begin_message(j, kind_of(*p));
	if (*p == '{') {
		open_level(j, true);
		return p + 1;
	}
	return value(j, p, end);
}

static inline const uint8_t *
after_value(struct json *j, const uint8_t *p)
{
	bool object = j->types & 1;

	if (*p == ',') {
		j->state = object ? ST_KEY : j->depth == j->base ? ST_ELEMENT :
		    ST_VALUE;
		return p + 1;
	}
	if (*p != (object ? '}' : ']'))
		return NULL;
	close_level(j);
	return p + 1;
}

static const uint8_t *
deep(struct json *j, const uint8_t *p, const uint8_t *end)
{
	switch (*p) {
	case '}': case ']':
		if ((*p == '}' ? j->objects-- : j->arrays--) == 0)
			return NULL;
		j->state = ST_DEEP_AFTER;
		if ((j->objects | j->arrays) == 0)
			j->state = j->after = ST_AFTER;
		return p + 1;
	case ',': case ':':
		if (j->state != ST_DEEP_AFTER)
			return NULL;
		j->state = ST_DEEP_VALUE;
		return p + 1;
	default:
		return j->state == ST_DEEP_VALUE ? value(j, p, end) : NULL;
	}
}

/* One step; at least one byte is there. */
static const uint8_t *
step(struct json *j, const uint8_t *p, const uint8_t *end)
{
	if (j->state < ST_STRING) {
		p = skip_space(p, end);
		if (p == end)
			return p;
	}
	switch ((enum state)j->state) {
	case ST_START: case ST_ELEMENT_OR_END: case ST_ELEMENT:
		return message(j, p, end);
	case ST_VALUE_OR_END:
		if (*p == ']') {
			close_level(j);
			return p + 1;
		}
		return value(j, p, end);
	case ST_VALUE:
		return value(j, p, end);
	case ST_KEY_OR_END: case ST_KEY:
		return key(j, p, end);
	case ST_COLON:
		j->state = ST_VALUE;
		return *p == ':' ? p + 1 : NULL;
	case ST_AFTER:
		return after_value(j, p);
	case ST_DEEP_VALUE: case ST_DEEP_AFTER:
		return deep(j, p, end);
	case ST_STRING:
		return string(j, p, end);
	case ST_NUMBER:
		return number(j, p, end);
	case ST_WORD:
		return word(j, p, end);
	case ST_DONE: case ST_BAD:
		break;
	}
	return NULL;
}

/* The next byte that is no space, or NUL at the end of the piece. */
static inline uint8_t
peek(const uint8_t **p, const uint8_t *end)
{
	if (*p < end && **p <= ' ')
		*p = skip_space(*p, end);
	return *p < end ? **p : '\0';
}

/* Behind a word, where it is what is there. */
static inline const uint8_t *
whole_word(const uint8_t *p, const uint8_t *end, const char *word, size_t n)
{
	return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

/* Behind the key at p, or NULL when it is not as most are: short, plain and
 * whole in the piece. */
static inline const uint8_t *
whole_key(struct json *j, const uint8_t *p, const uint8_t *end)
{
	unsigned n = json_lex_short(p + 1, end);

	if (n == 16)
		return NULL;
	if (j->active != 0)
		j->key = json_key(j->level, j->active, p + 1, n);
	return p + n + 2;
}

/* As that, for a string value. */
static inline const uint8_t *
whole_string(struct json *j, const uint8_t *p, const uint8_t *end)
{
	unsigned n = json_lex_short(p + 1, end);

	if (n == 16)
		return NULL;
	if (j->key.ends != 0)
		whole_value(j, JSON_STRING, p + 1, n);
	return p + n + 2;
}

/* As that, for another scalar, which begins with c. */
static inline const uint8_t *
whole_scalar(struct json *j, uint8_t c, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = NULL;

	if (c == 'n' || c == 't' || c == 'f')
		q = c == 'n' ? whole_word(p, end, "null", 4) :
		    c == 't' ? whole_word(p, end, "true", 4) :
		    whole_word(p, end, "false", 5);
	else if (p < end)
		q = json_lex_whole_number(p, end);
	if (q != NULL && j->key.ends != 0)
		whole_value(j, kind_of(c), p, (size_t)(q - p));
	return q;
}

/* '{' or '[' at p, unless that needs a closer look. */
static inline bool
whole_open(struct json *j, uint8_t c, const uint8_t *p)
{
	if (j->depth >= j->deep_at)
		return false;
	if (j->active != 0)
		want(j, c == '{' ? JSON_OBJECT : JSON_ARRAY, p);
	open_level(j, c == '{');
	return true;
}

/* Whatever token is at p: its first byte is c, NUL at the end of the piece. */
static inline const uint8_t *
any_token(struct json *j, enum state *at, uint8_t c, const uint8_t *p,
    const uint8_t *end)
{
	j->state = (uint8_t)*at;
	if (c == '"' && (*at == ST_VALUE || *at == ST_VALUE_OR_END))
		p = string_value(j, p, end);
	else if (p < end)
		p = step(j, p, end);
	*at = (enum state)j->state;
	return p;
}

/* Does what step() does, from between two tokens of an object or array to its
 * end or that of the piece.  Most tokens are whole in the piece and short; the
 * others are left to step().  At least 16 bytes lie before `end`. */
static const uint8_t *
steps(struct json *j, const uint8_t *p, const uint8_t *end)
{
	enum state at = (enum state)j->state;
	const uint8_t *q;
	uint8_t c;

	for (;;) {
		c = peek(&p, end);
		switch (at) {
		case ST_KEY_OR_END: case ST_KEY:
			if (c == '}' && at == ST_KEY_OR_END)
				break;
			q = c == '"' ? whole_key(j, p, end) : NULL;
			if (q == NULL)
				goto other;
			p = q;
			at = ST_COLON;
			if (p == end || *p != ':')
				goto other;
			p++;
			at = ST_VALUE;
			continue;
		case ST_VALUE_OR_END: case ST_VALUE:
			if (c == ']' && at == ST_VALUE_OR_END)
				break;
			if ((c == '{' || c == '[') && whole_open(j, c, p)) {
				at = c == '{' ? ST_KEY_OR_END : ST_VALUE_OR_END;
				p++;
				continue;
			}
			q = c == '"' ? whole_string(j, p, end) :
			    whole_scalar(j, c, p, end);
			if (q == NULL)
				goto other;
			p = q;
			at = ST_AFTER;
			continue;
		case ST_AFTER:
			if (c == ',') {
				at = j->types & 1 ? ST_KEY : ST_VALUE;
				p++;
				continue;
			}
			if (c != (j->types & 1 ? '}' : ']'))
				goto other;
			break;
		case ST_START: case ST_ELEMENT_OR_END: case ST_ELEMENT:
		case ST_COLON: case ST_DEEP_VALUE: case ST_DEEP_AFTER:
		case ST_DONE: case ST_BAD:
		case ST_STRING: case ST_NUMBER: case ST_WORD:
			goto other;
		}
		close_level(j);
		p++;
		if (j->depth <= j->base)
			return p;
		at = ST_AFTER;
		continue;
other:
		p = any_token(j, &at, c, p, end);
		if (p == NULL || p == end)
			return p;
	}
}

struct json *
json_new(const struct json_cb *cb, void *arg, const char *const *paths,
    unsigned n, unsigned depth, size_t value_max)
{
	struct json *j = xcalloc(1, sizeof *j);

	j->cb = *cb;
	j->arg = arg;
	j->paths = json_paths_new(paths, n);
	j->once = ~j->paths->multi;
	j->all = n < 64 ? (1ULL << n) - 1 : UINT64_MAX;
	j->depth_max = depth < HARD_DEPTH ? depth : HARD_DEPTH - 1;
	buf_init(&j->kept, value_max);
	json_reset(j);
	return j;
}

void
json_free(struct json *j)
{
	if (j == NULL)
		return;
	buf_fini(&j->kept);
	json_paths_free(j->paths);
	free(j);
}

void
json_reset(struct json *j)
{
	if (j->kept.p != NULL)
		buf_fini(&j->kept);
	j->state = ST_START;
	j->batch = j->wanted = false;
	json_lex_init(&j->lex);
	j->depth = j->base = j->live = 0;
	j->deep_at = j->depth_max;
	j->objects = j->arrays = 0;
	j->types = 0;
	j->active = 0;
	j->key = (struct json_sets){ 0, 0 };
}

static int
bad(struct json *j)
{
	j->state = ST_BAD;
	buf_fini(&j->kept);
	return -E_SYNTAX;
}

int
json_feed(struct json *j, const void *piece, size_t n)
{
	const uint8_t *p = piece, *end;

	if (j->state == ST_BAD)
		return -E_SYNTAX;
	if (n == 0)
		return 0;
	end = p + n;
	j->token = p;
	if (j->state == ST_START && *p == '{')	/* nearly every document */
		p = message(j, p, end);
	while (p < end) {
		if (n >= 16 && j->depth > j->base && j->state < ST_STRING)
			p = steps(j, p, end);
		else
			p = step(j, p, end);
		if (p == NULL)
			return bad(j);
	}
	if (j->wanted)
		keep(j, end);
	return 0;
}

int
json_eof(struct json *j)
{
	/* Only the end of the document ends a number that is all of it. */
	if (j->state == ST_NUMBER && j->after == ST_DONE && !j->batch &&
	    json_lex_number_whole(&j->lex))
		end_message(j);
	return j->state == ST_DONE ? 0 : bad(j);
}

bool
json_is_batch(const struct json *j)
{
	return j->batch;
}
