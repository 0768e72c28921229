#include "mcpdiag/sink.h"

#include <inttypes.h>

#include "finding_json.h"

struct doc {
	struct out *o;
	const struct timeline *tl;
	const struct verdict *v;
	ns_t zero;
};

static void
time_or_null(struct doc *d, ns_t t, bool known)
{
	if (known)
		json_seconds(d->o, t - d->zero);
	else
		out_c(d->o, "null");
}

static void
num_or_null(struct doc *d, int64_t v)
{
	if (v >= 0)
		out_i64(d->o, v);
	else
		out_c(d->o, "null");
}

/* A member; what comes before the value is written out, for speed: there may be
 * very many streams. */
static void
num(struct doc *d, const char *before, uint64_t v)
{
	out_c(d->o, before);
	out_u64(d->o, v);
}

static void
word(struct doc *d, const char *before, const char *value)
{
	out_c(d->o, before);
	out_c(d->o, value);
	out_c(d->o, "\"");
}

static void
member(struct doc *d, const char *name, const char *value)
{
	out_fmt(d->o, "\"%s\": ", name);
	out_json(d->o, str_c(value));
}

static void
one_file(struct doc *d, const struct tl_file *f)
{
	out_c(d->o, "{");
	member(d, "name", f->name);
	out_c(d->o, ", ");
	member(d, "format", f->format);
	out_c(d->o, ", ");
	member(d, "packing", f->packing);
	out_fmt(d->o, ", \"packets\": %" PRIu64 ", \"dropped\": %" PRIu64
	    ", \"truncated\": %" PRIu64 ", ", f->packets, f->dropped, f->truncated);
	member(d, "error", f->error);
	out_c(d->o, "}");
}

/* Link types of a file are named "A, B"; here each one once, in order. */
static void
linktypes(struct doc *d)
{
	struct str seen[32];
	const struct tl_file *f;
	size_t n = 0, i;

	for (uint32_t k = 0; (f = timeline_file(d->tl, k)) != NULL; k++) {
		struct str rest = str_c(f->linktypes);

		while (rest.n && n < sizeof seen / sizeof *seen) {
			size_t comma = str_find(rest, STR(", "));
			struct str one = rest;

			if (comma != SIZE_MAX) {
				one.n = comma;
				rest = str_of(rest.p + comma + 2, rest.n - comma - 2);
			} else
				rest.n = 0;
			for (i = 0; i < n && !str_eq(seen[i], one); i++)
				;
			if (i == n)
				seen[n++] = one;
		}
	}
	for (i = 0; i < n; i++) {
		out_c(d->o, i ? ", " : "");
		out_json(d->o, seen[i]);
	}
}

static void
capture(struct doc *d)
{
	const struct ev *t = timeline_total(d->tl);
	const struct tl_file *f;

	out_c(d->o, "  \"capture\": {\"files\": [");
	for (uint32_t i = 0; (f = timeline_file(d->tl, i)) != NULL; i++) {
		out_c(d->o, i ? ", " : "");
		one_file(d, f);
	}
	out_fmt(d->o, "], \"packets\": %" PRIu64 ", \"first\": ",
	    t->u.total.packets);
	time_or_null(d, t->u.total.first, t->u.total.packets > 0);
	out_c(d->o, ", \"last\": ");
	time_or_null(d, t->u.total.last, t->u.total.packets > 0);
	out_c(d->o, ", \"epoch\": ");
	if (t->u.total.packets)
		json_seconds(d->o, t->u.total.first);
	else
		out_c(d->o, "null");
	out_c(d->o, ", \"linktypes\": [");
	linktypes(d);
	out_fmt(d->o, "], \"dropped\": %" PRIu64 ", \"gaps\": %" PRIu64
	    ", \"truncated\": %s},\n", t->u.total.dropped, t->u.total.gaps,
	    d->v->truncated ? "true" : "false");
}

static void
counts(struct doc *d)
{
	const struct tl_counts *c = timeline_counts(d->tl);

	out_fmt(d->o, "  \"counts\": {\"tcp_connections\": %" PRIu64,
	    c->tcp_connections);
	/* A number that cannot be known is left out, not given as 0. */
	if (!d->v->readable) {
		out_c(d->o, "},\n");
		return;
	}
	out_fmt(d->o, ", \"http_exchanges\": %" PRIu64 ", \"sse_streams\": %"
	    PRIu64 ", \"sse_by_kind\": {", c->http_exchanges, c->sse_streams);
	for (int k = 0; k <= EV_UNKNOWN_KIND; k++)
		if (k != EV_UNKNOWN_KIND || c->sse_by_kind[k])
			out_fmt(d->o, "%s\"%s\": %" PRIu64, k ? ", " : "",
			    ev_kind_names[k], c->sse_by_kind[k]);
	out_fmt(d->o, "}, \"sse_events\": %" PRIu64 ", \"sse_comments\": %"
	    PRIu64 ", \"jsonrpc\": {", c->sse_events, c->sse_comments);
	out_fmt(d->o, "\"request\": %" PRIu64 ", \"response\": %" PRIu64
	    ", \"error\": %" PRIu64 ", \"notification\": %" PRIu64,
	    c->jsonrpc[EV_MSG_REQUEST], c->jsonrpc[EV_MSG_RESPONSE],
	    c->jsonrpc[EV_MSG_ERROR], c->jsonrpc[EV_MSG_NOTIFICATION]);
	if (c->jsonrpc[EV_MSG_INVALID])
		out_fmt(d->o, ", \"invalid\": %" PRIu64,
		    c->jsonrpc[EV_MSG_INVALID]);
	out_c(d->o, "}},\n");
}

static void
looks(struct doc *d, const char *who, const char *looks_like, const char *evidence)
{
	out_fmt(d->o, "\"%s\": ", who);
	if (looks_like == NULL) {
		out_c(d->o, "null");
		return;
	}
	out_c(d->o, "{");
	member(d, "looks_like", looks_like);
	out_c(d->o, ", ");
	member(d, "evidence", evidence);
	out_c(d->o, "}");
}

static void
session(struct doc *d, const struct tl_session *s)
{
	out_c(d->o, "{");
	member(d, "id", s->key ? s->key : "");
	out_fmt(d->o, ", \"n\": %u, \"inferred\": %s, \"transport\": \"%s\", ",
	    s->n, s->inferred ? "true" : "false",
	    ev_transport_names[s->transport]);
	member(d, "revision", s->revision);
	out_fmt(d->o, ", \"offered_only\": %s, ", s->offered ? "true" : "false");
	member(d, "client", s->client);
	out_c(d->o, ", ");
	member(d, "server", s->server);
	out_c(d->o, ", ");
	member(d, "endpoint", s->endpoint);
	out_c(d->o, ",\n     \"implementation\": {");
	looks(d, "server", s->looks_like, s->evidence);
	out_c(d->o, ", ");
	looks(d, "client", s->client_looks_like, s->client_evidence);
	out_fmt(d->o, "},\n     \"exchanges\": %u, \"posts\": %u, \"gets\": %u, "
	    "\"opened\": ", s->exchanges, s->posts, s->gets);
	time_or_null(d, s->opened, true);
	out_c(d->o, ", \"closed\": ");
	time_or_null(d, s->closed, true);
	out_fmt(d->o, ", \"deleted\": %s, \"streams\": [",
	    s->deleted ? "true" : "false");
	for (uint32_t i = 0; i < s->n_streams; i++)
		num(d, i ? ", " : "", s->streams[i]);
	out_fmt(d->o, "], \"streams_left_out\": %" PRIu64 "}",
	    s->dropped_streams);
}

static void
session_id(struct doc *d, uint32_t n)
{
	const struct tl_session *s = timeline_session_n(d->tl, n);

	out_json(d->o, s && s->key ? str_c(s->key) : STR_NONE);
}

static void
flags(struct doc *d, uint32_t f)
{
	bool any = false;

	out_c(d->o, "[");
	for (int i = 0; ev_flag_names[i]; i++) {
		if (!(f >> i & 1))
			continue;
		out_fmt(d->o, "%s\"%s\"", any ? ", " : "", ev_flag_names[i]);
		any = true;
	}
	out_c(d->o, "]");
}

static void
role(struct doc *d, const struct tl_role *r, bool first)
{
	out_c(d->o, first ? "{\"t\": " : ", {\"t\": ");
	time_or_null(d, r->t, true);
	word(d, ", \"role\": \"", ev_role_names[r->role]);
	word(d, ", \"by\": \"", ev_by_names[r->by]);
	num(d, ", \"packet\": ", r->pkt);
	num(d, ", \"stream\": ", r->cause);
	out_c(d->o, "}");
}

static void
stream(struct doc *d, const struct tl_stream *s)
{
	bool ended = s->end != EV_OPEN && !s->is_open;

	num(d, "{\"n\": ", s->n);
	out_c(d->o, ", \"session\": ");
	session_id(d, s->session);
	word(d, ", \"kind\": \"", ev_kind_names[s->kind]);
	num(d, ", \"connection\": ", s->conn);
	out_c(d->o, ", \"exchange\": ");
	num_or_null(d, s->xn == TL_NO_XN ? -1 : (int64_t)s->xn);
	num(d, ", \"packet\": ", s->pkt);
	out_c(d->o, ", \"opened\": ");
	time_or_null(d, s->opened, true);
	out_c(d->o, ", \"ended\": ");
	time_or_null(d, s->ended, ended);
	word(d, ", \"end\": \"", s->is_open ? "open" : ev_end_names[s->end]);
	out_c(d->o, ", \"end_packet\": ");
	num_or_null(d, ended ? (int64_t)s->end_pkt : -1);
	out_c(d->o, ",\n     \"last_event_id\": ");
	out_json(d->o, str_c(s->cursor));
	out_c(d->o, ", \"retry_ms\": ");
	num_or_null(d, s->retry_ms);
	num(d, ", \"events\": ", s->events);
	num(d, ", \"comments\": ", s->comments);
	num(d, ", \"lineage\": ", s->lineage);
	out_c(d->o, ", \"previous\": ");
	num_or_null(d, s->previous ? (int64_t)s->previous : -1);
	out_c(d->o, ", \"resumes\": ");
	num_or_null(d, s->resumes ? (int64_t)s->resumes : -1);
	out_c(d->o, ", \"flags\": ");
	flags(d, s->flags);
	out_c(d->o, ", \"owner\": [");
	for (uint32_t i = 0; i < s->n_roles; i++)
		role(d, &s->roles[i], i == 0);
	out_c(d->o, "]}");
}

static void
finding(struct doc *d, const struct finding *f)
{
	struct json_times times = { .zero = d->zero };

	out_fmt(d->o, "{\"n\": %u", f->n);
	finding_members(d->o, f, &times);
	out_c(d->o, ", \"session\": ");
	session_id(d, f->session);
	out_c(d->o, ", \"alike\": [");
	for (uint32_t i = 0; f->alike && i < f->sessions_alike; i++) {
		out_c(d->o, i ? ", " : "");
		session_id(d, f->alike[i]);
	}
	out_c(d->o, "]}");
}

static void
anomaly(struct doc *d, const struct tl_note *n)
{
	out_c(d->o, "{");
	member(d, "name", n->name);
	out_c(d->o, ", ");
	member(d, "text", n->text);
	out_fmt(d->o, ", \"count\": %" PRIu64 ", \"first_packet\": %u}",
	    n->count, n->pkt);
}

/* What stands before item i of a list. */
static const char *
between(uint32_t i)
{
	return i ? ",\n    " : "\n    ";
}

void
sink_json(struct out *o, const struct timeline *tl, const struct verdict *v,
    const char *version)
{
	struct doc d = { o, tl, v, timeline_total(tl)->u.total.first };
	const struct tl_session *s;
	const struct tl_stream *st;
	const struct finding *f;
	const struct tl_note *n;
	uint32_t i, k;

	out_c(o, "{\n  \"schema\": \"mcpdiag/1\",\n  ");
	member(&d, "version", version);
	out_fmt(o, ",\n  \"verdict\": \"%s\",\n  ", verdict_name(v->kind));
	member(&d, "summary", v->text);
	out_c(o, ",\n");
	capture(&d);
	counts(&d);
	out_c(o, "  \"sessions\": [");
	for (i = 0; (s = timeline_session(tl, i)) != NULL; i++) {
		out_c(o, between(i));
		session(&d, s);
	}
	out_c(o, "],\n  \"streams\": [");
	for (i = 0; (st = timeline_stream(tl, i)) != NULL; i++) {
		out_c(o, between(i));
		stream(&d, st);
	}
	out_c(o, "],\n  \"findings\": [");
	for (i = 0; (f = timeline_finding(tl, i)) != NULL; i++) {
		out_c(o, between(i));
		finding(&d, f);
	}
	out_c(o, "],\n  \"incomplete\": [");
	for (i = 0; i < v->n_reasons; i++) {
		out_c(o, between(i));
		out_json(o, str_c(v->reasons[i].text));
	}
	out_c(o, "],\n  \"anomalies\": [");
	for (i = 0, k = 0; (n = timeline_note(tl, i)) != NULL; i++) {
		if (!n->anomaly)
			continue;
		out_c(o, between(k++));
		anomaly(&d, n);
	}
	out_c(o, "]\n}");
	out_eol(o);
}
