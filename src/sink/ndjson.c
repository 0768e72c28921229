#include "mcpdiag/ndjson.h"

#include <stdio.h>
#include <stdlib.h>

#include "finding_json.h"
#include "mcpdiag/esc.h"
#include "mcpdiag/xmem.h"

#define MAX_FIELDS 16
#define KEY_SIZE 24

/* `,"name":` of each member, made once. */
struct key {
	char text[KEY_SIZE];
	uint8_t n;
};

struct ndjson {
	struct out *o;
	char heads[EV_N_TYPES][64];	/* {"v":1,"type":"x","ns": */
	uint8_t n_head[EV_N_TYPES];
	struct key keys[EV_N_TYPES][MAX_FIELDS];
};

struct ndjson *
ndjson_new(struct out *o)
{
	struct ndjson *nd = xcalloc(1, sizeof *nd);

	nd->o = o;
	for (unsigned t = 0; t < EV_N_TYPES; t++) {
		const struct ev_field *f = ev_fields((enum ev_type)t);

		nd->n_head[t] = (uint8_t)snprintf(nd->heads[t], sizeof nd->heads[t],
		    "{\"v\":%d,\"type\":\"%s\",\"ns\":", NDJSON_VERSION,
		    ev_type_name((enum ev_type)t));
		for (unsigned i = 0; f[i].name && i < MAX_FIELDS; i++)
			nd->keys[t][i].n = (uint8_t)snprintf(nd->keys[t][i].text,
			    KEY_SIZE, ",\"%s\":", f[i].name);
	}
	return nd;
}

void
ndjson_free(struct ndjson *nd)
{
	free(nd);
}

/* A line is put together behind a plain pointer: room for all of it but its
 * strings is made at once.  64 bytes for each member are more than any needs. */
#define LINE_ROOM (256 + 9 * 16 + 64 * MAX_FIELDS)

static char *
put(char *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

#define PUT(p, lit) put(p, lit, sizeof lit - 1)

static char *
put_u64(char *p, uint64_t v)
{
	static const char pairs[] =
	    "00010203040506070809101112131415161718192021222324"
	    "25262728293031323334353637383940414243444546474849"
	    "50515253545556575859606162636465666768697071727374"
	    "75767778798081828384858687888990919293949596979899";
	char digits[20], *d = digits + sizeof digits;

	while (v >= 100) {
		d -= 2;
		memcpy(d, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		d -= 2;
		memcpy(d, pairs + v * 2, 2);
	} else
		*--d = (char)('0' + v);
	return put(p, d, (size_t)(digits + sizeof digits - d));
}

static char *
put_i64(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return put_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Ids are left out when they are 0. */
#define PUT_ID(p, key, v) ((v) ? put_u64(PUT(p, ",\"" key "\":"), v) : (p))

static char *
put_word(char *p, const char *word)
{
	*p++ = '"';
	while (*word)
		*p++ = *word++;
	*p++ = '"';
	return p;
}

static char *
put_hash(char *p, uint64_t v)
{
	*p++ = '"';
	for (int shift = 60; shift >= 0; shift -= 4)
		*p++ = "0123456789abcdef"[v >> shift & 15];
	*p++ = '"';
	return p;
}

static char *
put_flags(char *p, uint32_t f)
{
	if (f == 0)
		return p;
	p = PUT(p, ",\"flags\":[");
	for (int i = 0; ev_flag_names[i]; i++) {
		if (!(f >> i & 1))
			continue;
		p = put_word(p, ev_flag_names[i]);
		*p++ = ',';
	}
	p[-1] = ']';
	return p;
}

static bool
is_utf8(struct str s)
{
	const uint8_t *p = (const uint8_t *)s.p;
	uint32_t cp;
	size_t i = 0;

	while (i < s.n) {
		unsigned n = p[i] < 0x80 ? 1 : esc_utf8(p + i, s.n - i, &cp);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

/* The bytes themselves, where JSON cannot hold them. */
static void
hex_member(struct out *o, const struct ev_field *f, struct str s)
{
	static const char digits[] = "0123456789abcdef";
	char *p;

	out_str(o, STR(",\""));
	out_c(o, f->name);
	out_str(o, STR("_hex\":\""));
	p = out_room(o, s.n * 2);
	for (size_t i = 0; i < s.n; i++) {
		*p++ = digits[(unsigned char)s.p[i] >> 4];
		*p++ = digits[(unsigned char)s.p[i] & 15];
	}
	o->n += s.n * 2;
	out_str(o, STR("\""));
}

static bool
is_plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return true;
}

/* A string makes room for itself, and for what is left of the line. */
static char *
put_string(struct out *o, char *p, const struct key *k, const struct ev_field *f,
    struct str s)
{
	if (s.p == NULL)
		return p;
	p = put(p, k->text, k->n);
	o->n = (size_t)(p - o->p);
	if (!is_plain(s)) {
		out_json(o, s);
		if (!is_utf8(s))
			hex_member(o, f, s);
		return out_room(o, LINE_ROOM);
	}
	p = out_room(o, s.n + 2 + LINE_ROOM);
	*p++ = '"';
	if (s.n)
		p = put(p, s.p, s.n);
	*p++ = '"';
	return p;
}

static char *
put_member(char *p, const struct key *k, const struct ev_field *f, const void *at)
{
	p = put(p, k->text, k->n);
	switch ((enum ev_field_type)f->type) {
	case EVT_BOOL:
		return *(const bool *)at ? PUT(p, "true") : PUT(p, "false");
	case EVT_U32: case EVT_FLAGS:
		return put_u64(p, *(const uint32_t *)at);
	case EVT_U64:
		return put_u64(p, *(const uint64_t *)at);
	case EVT_I64: case EVT_NS:
		return put_i64(p, *(const int64_t *)at);
	case EVT_HASH:
		return put_hash(p, *(const uint64_t *)at);
	case EVT_ENUM:
		return put_word(p, f->names[*(const unsigned *)at]);
	case EVT_STR:
		break;
	}
	return p;
}

void
ndjson_event(struct ndjson *nd, const struct ev *e)
{
	const struct ev_field *f = ev_fields(e->type);
	const struct finding *finding = e->type == EV_FINDING ? e->u.finding : NULL;
	struct json_times times = { .absolute = true };
	struct out *o = nd->o;
	char *p;

	if ((unsigned)e->type >= EV_N_TYPES)
		return;
	p = put(out_room(o, LINE_ROOM), nd->heads[e->type], nd->n_head[e->type]);
	p = put_i64(p, e->t);
	p = PUT_ID(p, "pkt", e->pkt);
	p = PUT_ID(p, "conn", e->conn);
	p = PUT_ID(p, "x", e->x);
	p = PUT_ID(p, "stream", e->stream);
	p = PUT_ID(p, "session", finding ? finding->session : e->session);
	if (e->conn || e->dir == EV_S2C)
		p = e->dir == EV_S2C ? PUT(p, ",\"dir\":\"s2c\"") :
		    PUT(p, ",\"dir\":\"c2s\"");
	p = put_flags(p, e->flags);
	for (unsigned i = 0; f[i].name; i++) {
		const void *at = (const char *)e + f[i].offset;
		const struct key *k = &nd->keys[e->type][i];

		p = f[i].type == EVT_STR ?
		    put_string(o, p, k, &f[i], *(const struct str *)at) :
		    put_member(p, k, &f[i], at);
	}
	o->n = (size_t)(p - o->p);
	if (finding) {
		out_fmt(o, ",\"n\":%u", finding->n);
		finding_members(o, finding, &times);
	}
	out_str(o, STR("}"));
	out_eol(o);
}
