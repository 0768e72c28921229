#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/ndjson.h"
#include "mcpdiag/xmem.h"

#define MAX_MEMBERS 64
#define MAX_DEPTH 64
/* Times and delays of an event file are kept where sums and differences of
 * them cannot overflow: until the year 2116, and 31 years. */
#define MAX_NS ((int64_t)1 << 62)
#define MAX_MS 1000000000000LL

enum kind { K_STR, K_NUM, K_TRUE, K_FALSE, K_NULL, K_NESTED };

struct value {
	struct str name, v;
	enum kind kind;
};

struct ndjson_in {
	ev_fn *fn;
	void *arg;
	struct buf line;
	bool too_long;
	struct ndjson_stats stats;
	/* the line being read */
	char *p, *end;
	const char *why;
	struct value values[MAX_MEMBERS];
	unsigned n_values;
};

struct ndjson_in *
ndjson_in_new(ev_fn *fn, void *arg)
{
	struct ndjson_in *in = xcalloc(1, sizeof *in);

	in->fn = fn;
	in->arg = arg;
	buf_init(&in->line, NDJSON_MAX_LINE);
	return in;
}

void
ndjson_in_free(struct ndjson_in *in)
{
	if (in == NULL)
		return;
	buf_fini(&in->line);
	free(in);
}

static bool
bad(struct ndjson_in *in, const char *why)
{
	if (in->why == NULL)
		in->why = why;
	return false;
}

static void
white(struct ndjson_in *in)
{
	while (in->p < in->end && (*in->p == ' ' || *in->p == '\t'))
		in->p++;
}

static bool
want(struct ndjson_in *in, char c)
{
	white(in);
	if (in->p == in->end || *in->p != c)
		return bad(in, "no JSON object");
	in->p++;
	return true;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
	    c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool
four_digits(struct ndjson_in *in, uint32_t *out)
{
	*out = 0;
	if (in->end - in->p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(*in->p++);

		if (d < 0)
			return false;
		*out = *out << 4 | (uint32_t)d;
	}
	return true;
}

/* Writes a character over the escape it came from, which is longer. */
static char *
put_utf8(char *to, uint32_t c)
{
	if (c < 0x80)
		*to++ = (char)c;
	else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static bool
escape(struct ndjson_in *in, char **to)
{
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	const char *hit;
	uint32_t c, low;

	if (in->p == in->end)
		return bad(in, "a string without end");
	if (*in->p != 'u') {
		hit = memchr(from, *in->p, sizeof from - 1);
		if (hit == NULL)
			return bad(in, "an unknown escape");
		in->p++;
		*(*to)++ = plain[hit - from];
		return true;
	}
	in->p++;
	if (!four_digits(in, &c))
		return bad(in, "\\u without four digits");
	if (c >= 0xd800 && c < 0xe000) {
		if (c < 0xdc00 && in->end - in->p >= 6 && in->p[0] == '\\' &&
		    in->p[1] == 'u') {
			in->p += 2;
			if (!four_digits(in, &low))
				return bad(in, "\\u without four digits");
			c = low >= 0xdc00 && low < 0xe000 ?
			    0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
		} else
			c = 0xfffd;
	}
	*to = put_utf8(*to, c);
	return true;
}

/* Undoes the escapes in place. */
static bool
string(struct ndjson_in *in, struct str *out)
{
	char *to;

	*out = STR_NONE;
	if (!want(in, '"'))
		return false;
	out->p = to = in->p;
	while (in->p < in->end && *in->p != '"') {
		if ((unsigned char)*in->p < 0x20)
			return bad(in, "a control character in a string");
		if (*in->p != '\\') {
			*to++ = *in->p++;
			continue;
		}
		in->p++;
		if (!escape(in, &to))
			return false;
	}
	if (in->p == in->end)
		return bad(in, "a string without end");
	in->p++;
	out->n = (size_t)(to - out->p);
	return true;
}

/* An array or object, as it stands. */
static bool
nested(struct ndjson_in *in)
{
	char stack[MAX_DEPTH];
	unsigned depth = 0;

	do {
		char c;

		if (in->p == in->end)
			return bad(in, "brackets that do not match");
		c = *in->p++;
		if (c == '[' || c == '{') {
			if (depth == MAX_DEPTH)
				return bad(in, "nested too deeply");
			stack[depth++] = c == '[' ? ']' : '}';
		} else if (c == ']' || c == '}') {
			if (c != stack[--depth])
				return bad(in, "brackets that do not match");
		} else if (c == '"') {
			while (in->p < in->end && *in->p != '"')
				in->p += *in->p == '\\' && in->end - in->p > 1 ? 2 : 1;
			if (in->p == in->end)
				return bad(in, "a string without end");
			in->p++;
		}
	} while (depth);
	return true;
}

static bool
word(struct ndjson_in *in, struct value *v)
{
	static const struct {
		struct str text;
		enum kind kind;
	} words[] = {
		{ { "true", 4 }, K_TRUE }, { { "false", 5 }, K_FALSE },
		{ { "null", 4 }, K_NULL },
	};
	struct str rest = str_of(in->p, (size_t)(in->end - in->p));

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!str_pre(rest, words[i].text))
			continue;
		in->p += words[i].text.n;
		v->kind = words[i].kind;
		return true;
	}
	return bad(in, "no JSON value");
}

static bool
value(struct ndjson_in *in, struct value *v)
{
	char *start;

	white(in);
	start = in->p;
	if (in->p == in->end)
		return bad(in, "a line that is cut");
	if (*in->p == '"') {
		v->kind = K_STR;
		return string(in, &v->v);
	}
	if (*in->p == '[' || *in->p == '{') {
		v->kind = K_NESTED;
		if (!nested(in))
			return false;
	} else if (*in->p == '-' || (*in->p >= '0' && *in->p <= '9')) {
		v->kind = K_NUM;
		while (in->p < in->end && memchr("+-.eE0123456789", *in->p, 15))
			in->p++;
	} else if (!word(in, v))
		return false;
	v->v = str_of(start, (size_t)(in->p - start));
	return true;
}

static bool
object(struct ndjson_in *in)
{
	in->n_values = 0;
	if (!want(in, '{'))
		return false;
	white(in);
	while (in->p < in->end && *in->p != '}') {
		struct value *v = &in->values[in->n_values];

		if (in->n_values == MAX_MEMBERS)
			return bad(in, "too many members");
		if (in->n_values && !want(in, ','))
			return false;
		if (!string(in, &v->name) || !want(in, ':') || !value(in, v))
			return false;
		in->n_values++;
		white(in);
	}
	if (!want(in, '}'))
		return false;
	white(in);
	return in->p == in->end || bad(in, "more after the object");
}

static bool
number(struct ndjson_in *in, const struct value *v, uint64_t max, uint64_t *out)
{
	*out = 0;
	if (v->kind != K_NUM || !str_u64(v->v, out) || *out > max)
		return bad(in, "a number out of its range");
	return true;
}

static bool
integer(struct ndjson_in *in, const struct value *v, int64_t min, int64_t max,
    int64_t *out)
{
	struct str digits = v->v;
	bool minus = digits.n && digits.p[0] == '-';
	uint64_t u;

	*out = 0;
	if (minus)
		digits = str_of(digits.p + 1, digits.n - 1);
	if (v->kind != K_NUM || !str_u64(digits, &u) || u > INT64_MAX)
		return bad(in, "a number out of its range");
	*out = minus ? -(int64_t)u : (int64_t)u;
	if (*out < min || *out > max)
		return bad(in, "a number out of its range");
	return true;
}

static bool
small(struct ndjson_in *in, const struct value *v, uint32_t *out)
{
	uint64_t u;

	if (!number(in, v, UINT32_MAX, &u))
		return false;
	*out = (uint32_t)u;
	return true;
}

static bool
one_of(struct ndjson_in *in, const struct value *v, const char *const *names,
    unsigned *out)
{
	for (unsigned i = 0; names[i] && v->kind == K_STR; i++)
		if (str_eq(v->v, str_c(names[i]))) {
			*out = i;
			return true;
		}
	return bad(in, "an unknown word");
}

/* ["gap","late"]; flags of a later version are passed over. */
static bool
flags(struct ndjson_in *in, const struct value *v, uint32_t *out)
{
	struct str s = v->v;

	*out = 0;
	if (v->kind != K_NESTED || s.p[0] != '[')
		return bad(in, "flags are a list");
	for (size_t i = 0; i < s.n; i++) {
		struct str rest = str_of(s.p + i + 1, s.n - i - 1);
		size_t n;

		if (s.p[i] != '"')
			continue;
		n = str_find(rest, STR("\""));
		if (n == SIZE_MAX)
			return bad(in, "flags are a list of names");
		for (unsigned k = 0; ev_flag_names[k]; k++)
			if (str_eq(str_of(rest.p, n), str_c(ev_flag_names[k])))
				*out |= 1u << k;
		i += n + 1;
	}
	return true;
}

/* NAME_hex: in place, over its own digits. */
static bool
hex_bytes(struct ndjson_in *in, const struct value *v, struct str *out)
{
	char *at = (char *)(uintptr_t)v->v.p;

	if (v->kind != K_STR || v->v.n % 2)
		return bad(in, "no hexadecimal bytes");
	for (size_t i = 0; i < v->v.n / 2; i++) {
		int hi = hex_digit(v->v.p[2 * i]), lo = hex_digit(v->v.p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return bad(in, "no hexadecimal bytes");
		at[i] = (char)(hi << 4 | lo);
	}
	*out = str_of(at, v->v.n / 2);
	return true;
}

static bool
hash(struct ndjson_in *in, const struct value *v, uint64_t *out)
{
	*out = 0;
	if (v->kind != K_STR || v->v.n != 16)
		return bad(in, "a hash has 16 digits");
	for (size_t i = 0; i < 16; i++) {
		int d = hex_digit(v->v.p[i]);

		if (d < 0)
			return bad(in, "a hash has 16 digits");
		*out = *out << 4 | (uint64_t)d;
	}
	return true;
}

static bool
field(struct ndjson_in *in, const struct ev_field *f, const struct value *v, void *at)
{
	switch ((enum ev_field_type)f->type) {
	case EVT_STR:
		if (v->kind != K_STR && v->kind != K_NULL)
			return bad(in, "no string where one belongs");
		*(struct str *)at = v->kind == K_STR ? v->v : STR_NONE;
		return true;
	case EVT_BOOL:
		if (v->kind != K_TRUE && v->kind != K_FALSE)
			return bad(in, "neither true nor false");
		*(bool *)at = v->kind == K_TRUE;
		return true;
	case EVT_U32: case EVT_FLAGS:
		return small(in, v, at);
	case EVT_U64:
		return number(in, v, UINT64_MAX, at);
	case EVT_I64:
		return integer(in, v, -1, MAX_MS, at);
	case EVT_NS:
		return integer(in, v, 0, MAX_NS, at);
	case EVT_HASH:
		return hash(in, v, at);
	case EVT_ENUM:
		return one_of(in, v, f->names, at);
	}
	return false;
}

/* Members every event may have; *mine is false for others. */
static bool
common(struct ndjson_in *in, struct ev *e, const struct value *v, bool *mine)
{
	unsigned dir = 0;
	bool ok;

	*mine = true;
	if (str_eq(v->name, STR("ns")))
		return integer(in, v, 0, MAX_NS, &e->t);
	if (str_eq(v->name, STR("pkt")))
		return small(in, v, &e->pkt);
	if (str_eq(v->name, STR("conn")))
		return small(in, v, &e->conn);
	if (str_eq(v->name, STR("x")))
		return small(in, v, &e->x);
	if (str_eq(v->name, STR("stream")))
		return small(in, v, &e->stream);
	if (str_eq(v->name, STR("session")))
		return small(in, v, &e->session);
	if (str_eq(v->name, STR("flags")))
		return flags(in, v, &e->flags);
	if (str_eq(v->name, STR("dir"))) {
		ok = one_of(in, v, ev_dir_names, &dir);
		e->dir = (enum ev_dir)dir;
		return ok;
	}
	*mine = false;
	return true;
}

static bool
own_member(struct ndjson_in *in, struct ev *e, const struct value *v)
{
	const struct ev_field *f = ev_fields(e->type);

	for (; f->name; f++) {
		struct str name = str_c(f->name);
		void *at = (char *)e + f->offset;

		if (str_eq(v->name, name))
			return field(in, f, v, at);
		if (f->type == EVT_STR && v->name.n == name.n + 4 &&
		    str_pre(v->name, name) &&
		    memcmp(v->name.p + name.n, "_hex", 4) == 0)
			return hex_bytes(in, v, at);
	}
	return true;
}

static const struct value *
find(const struct ndjson_in *in, struct str name)
{
	for (unsigned i = 0; i < in->n_values; i++)
		if (str_eq(in->values[i].name, name))
			return &in->values[i];
	return NULL;
}

/* Sets what is not 0 when it is absent. */
static void
defaults(struct ev *e)
{
	const struct ev_field *f = ev_fields(e->type);

	for (; f->name; f++)
		if (f->type == EVT_I64)
			*(int64_t *)(void *)((char *)e + f->offset) = -1;
}

/* False when the line is no event, or (why stays NULL) none for us. */
static bool
event(struct ndjson_in *in, struct ev *e)
{
	const struct value *v = find(in, STR("v")), *type = find(in, STR("type"));
	uint64_t version;
	bool mine;

	if (v == NULL || type == NULL || type->kind != K_STR ||
	    find(in, STR("ns")) == NULL)
		return bad(in, "no event: v, type and ns are needed");
	if (!number(in, v, UINT32_MAX, &version) || version != NDJSON_VERSION)
		return bad(in, "a version that is not known");
	e->type = ev_type_of(type->v);
	if (e->type == EV_N_TYPES || e->type == EV_FINDING)
		return false;
	defaults(e);
	for (unsigned i = 0; i < in->n_values; i++) {
		if (!common(in, e, &in->values[i], &mine))
			return false;
		if (!mine && !own_member(in, e, &in->values[i]))
			return false;
	}
	/* Nothing follows the end, and rules do not expect it. */
	if (in->stats.ended)
		return bad(in, "an event after the end (two files in one?)");
	return true;
}

static void
line(struct ndjson_in *in)
{
	struct ev e = { 0 };

	in->stats.lines++;
	in->why = in->too_long ? "a line over 1 MiB" : NULL;
	in->too_long = false;
	if (in->line.n && in->line.p[in->line.n - 1] == '\r')
		in->line.n--;
	if (in->line.n == 0 && in->why == NULL)
		return;
	in->p = in->line.p;
	in->end = in->line.p + in->line.n;
	if (in->why == NULL && object(in) && event(in, &e)) {
		in->stats.events++;
		in->stats.ended |= e.type == EV_END;
		in->fn(in->arg, &e);
	}
	if (in->why && in->stats.bad++ == 0) {
		in->stats.first_bad = in->stats.lines;
		(void)snprintf(in->stats.why, sizeof in->stats.why, "%s", in->why);
	}
	buf_clear(&in->line);
}

void
ndjson_in_feed(struct ndjson_in *in, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		const char *nl = memchr(p, '\n', n);
		size_t k = nl ? (size_t)(nl - p) : n;

		if (!in->too_long && buf_add(&in->line, p, k) < 0) {
			in->too_long = true;
			buf_clear(&in->line);
		}
		if (nl == NULL)
			return;
		line(in);
		p += k + 1;
		n -= k + 1;
	}
}

void
ndjson_in_eof(struct ndjson_in *in)
{
	if (in->line.n || in->too_long)
		line(in);
}

const struct ndjson_stats *
ndjson_in_stats(const struct ndjson_in *in)
{
	return &in->stats;
}
