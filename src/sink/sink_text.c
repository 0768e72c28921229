#include "mcpdiag/sink.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "mcpdiag/esc.h"

#define MAX_STREAMS 12		/* lines for one session, without -v */
#define TAIL_STREAMS 3		/* of these, from the end */
#define MAX_SESSIONS 20		/* blocks, without -v */
#define MAX_NUMBERS 12		/* stream numbers in one list */
#define MAX_ANOMALIES 8
#define MAX_ALIKE 6
#define MAX_WORDS 8192		/* bytes of one paragraph */
#define MAX_ID 80

#define S(n) ((n) == 1 ? "" : "s")

enum paint { PLAIN, BOLD, RED, YELLOW, GREEN, CYAN, DIM };

struct page {
	struct out *o;
	const struct timeline *tl;
	const struct verdict *v;
	const struct text_opts *opts;
	ns_t zero;
	struct buf words;	/* a paragraph that is being put together */
};

/* Columns of a UTF-8 text: its code points. */
static size_t
columns(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

/* Colour only repeats what the words say. */
static void
paint(struct page *g, enum paint p)
{
	static const char *const codes[] = {
		[PLAIN] = "\033[0m", [BOLD] = "\033[1m",
		[RED] = "\033[1;31m", [YELLOW] = "\033[1;33m",
		[GREEN] = "\033[1;32m", [CYAN] = "\033[1;36m",
		[DIM] = "\033[2m",
	};

	if (g->opts->color)
		out_c(g->o, codes[p]);
}

static void
painted(struct page *g, enum paint p, const char *text)
{
	paint(g, p);
	out_c(g->o, text);
	paint(g, PLAIN);
}

static void
spaces(struct page *g, size_t n)
{
	while (n--)
		out_add(g->o, " ", 1);
}

static void __attribute__((format(printf, 2, 3)))
say(struct page *g, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)buf_adds(&g->words, str_c(text));
}

/* Captured bytes. */
static void
quote(struct page *g, struct str s, size_t max)
{
	esc_text(&g->words, s, max);
}

/* Prints the paragraph from column `at` on, which has been reached already,
 * with further lines indented by `indent`. */
static void
wrap(struct page *g, size_t at, size_t indent)
{
	struct str rest = buf_str(&g->words);
	bool first = true;

	while (rest.n) {
		size_t gap = 0, sp, cols;

		while (gap < rest.n && rest.p[gap] == ' ')
			gap++;
		rest = str_of(rest.p + gap, rest.n - gap);
		sp = str_find(rest, STR(" "));
		if (sp == SIZE_MAX)
			sp = rest.n;
		cols = columns(str_of(rest.p, sp));
		if (!first && at + gap + cols > g->opts->width) {
			out_eol(g->o);
			at = 0;
			gap = indent;
		}
		spaces(g, gap);
		out_add(g->o, rest.p, sp);
		at += gap + cols;
		rest = str_of(rest.p + sp, rest.n - sp);
		first = false;
	}
	out_eol(g->o);
	buf_clear(&g->words);
}

static void
label(struct page *g, size_t indent, const char *name)
{
	spaces(g, indent);
	painted(g, DIM, name);
	spaces(g, strlen(name) < 9 ? 9 - strlen(name) : 1);
}

/* A named paragraph with a hanging indent. */
static void
labelled(struct page *g, size_t indent, const char *name)
{
	label(g, indent, name);
	wrap(g, indent + 9, indent + 9);
}

static double
rel(const struct page *g, ns_t t)
{
	return (double)(t - g->zero) / NS_S;
}

static void
session_name(struct page *g, uint32_t n)
{
	const struct tl_session *s = timeline_session_n(g->tl, n);

	if (s && s->key && *s->key)
		quote(g, str_c(s->key), MAX_ID);
	else
		say(g, "%u", n);
}

static void
numbers(struct page *g, const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i == MAX_NUMBERS && n > MAX_NUMBERS + 1 && !g->opts->all) {
			say(g, " and %u more", n - i);
			return;
		}
		say(g, "%s%u", i ? ", " : "", v[i]);
	}
}

static enum paint
severity_paint(enum severity s)
{
	return s == SEV_ERROR ? RED : s == SEV_WARNING ? YELLOW : CYAN;
}

static void
facts(struct page *g, const struct finding *f)
{
	for (uint32_t i = 0; i < f->n_facts; i++) {
		const struct fact *k = &f->facts[i];

		say(g, "%s%s ", i ? ", " : "", k->name);
		switch (k->type) {
		case FACT_NUM:
			say(g, "%.15g", k->num);
			break;
		case FACT_MS:
			say(g, "%.3f ms", k->num);
			break;
		case FACT_TEXT:
			quote(g, k->text, 200);
			break;
		case FACT_BOOL:
			say(g, "%s", k->num != 0 ? "yes" : "no");
			break;
		}
	}
}

static void
finding_where(struct page *g, const struct finding *f)
{
	if (f->session) {
		say(g, "session ");
		session_name(g, f->session);
		if (f->n_streams)
			say(g, ", ");
	}
	if (f->n_streams) {
		say(g, "stream%s ", S(f->n_streams));
		numbers(g, f->streams, f->n_streams);
	}
	if (f->sessions_alike)
		say(g, "; alike in %u further session%s", f->sessions_alike,
		    S(f->sessions_alike));
	for (uint32_t i = 0; f->alike && i < f->sessions_alike; i++) {
		if (i == MAX_ALIKE && !g->opts->all) {
			say(g, " ...");
			break;
		}
		say(g, i ? ", " : ": ");
		session_name(g, f->alike[i]);
	}
}

static const struct finding *
finding_n(const struct page *g, uint32_t n)
{
	const struct finding *f;

	for (uint32_t i = 0; (f = timeline_finding(g->tl, i)) != NULL; i++)
		if (f->n == n)
			return f;
	return NULL;
}

static void
finding_head(struct page *g, const struct finding *f, size_t in)
{
	spaces(g, in);
	painted(g, severity_paint(f->severity), severity_name(f->severity));
	out_c(g->o, "  ");
	painted(g, BOLD, f->detector);
	say(g, "%s%s%s, %s confidence", f->variant ? " (" : "",
	    f->variant ? f->variant : "", f->variant ? ")" : "",
	    confidence_name(f->confidence));
	if (f->count > 1)
		say(g, ", %" PRIu64 " times", f->count);
	if (f->period > 0 && f->spread > f->period / 4)
		say(g, ", about every %.1f s", (double)f->period / NS_S);
	else if (f->period > 0)
		say(g, ", every %.3f s", (double)f->period / NS_S);
	if (f->spread >= NS_MS && f->spread <= f->period / 4)
		say(g, " (within %.0f ms)", (double)f->spread / NS_MS);
	if (f->first.pkt)
		say(g, ", packet%s %u", f->last.pkt > f->first.pkt ? "s" : "",
		    f->first.pkt);
	if (f->last.pkt > f->first.pkt)
		say(g, " to %u", f->last.pkt);
	if (f->consequence_of && finding_n(g, f->consequence_of))
		say(g, "; it follows from the above");
	wrap(g, in + strlen(severity_name(f->severity)) + 2 + strlen(f->detector),
	    in + 2);
}

static void
finding(struct page *g, const struct finding *f, size_t in, bool title)
{
	finding_head(g, f, in);
	in += 2;
	if (title && f->title.n) {
		quote(g, f->title, MAX_WORDS);
		spaces(g, in);
		wrap(g, in, in);
	}
	if (f->session || f->n_streams) {
		finding_where(g, f);
		labelled(g, in, "where");
	}
	if (f->why.n) {
		quote(g, f->why, MAX_WORDS);
		labelled(g, in, "why");
	}
	for (uint32_t i = 0; i < f->n_evidence; i++) {
		const struct evidence *e = &f->evidence[i];
		char at[64];

		(void)snprintf(at, sizeof at, "packet %-6u %+10.3f s  ", e->at.pkt,
		    rel(g, e->at.t));
		spaces(g, in);
		painted(g, DIM, at);
		quote(g, e->what, MAX_WORDS);
		wrap(g, in + strlen(at), in + strlen(at));
	}
	if (g->opts->all && f->n_facts) {
		facts(g, f);
		labelled(g, in, "facts");
	}
	if (f->fix.n) {
		quote(g, f->fix, MAX_WORDS);
		labelled(g, in, "fix");
	}
	if (f->reference) {
		say(g, "%s", f->reference);
		labelled(g, in, "see");
	}
}

/* The start of the chain that a finding belongs to, and how far it is. */
static const struct finding *
root_of(const struct page *g, const struct finding *f, size_t *depth)
{
	const struct finding *up;

	for (*depth = 0; *depth < 8; (*depth)++) {
		up = f->consequence_of ? finding_n(g, f->consequence_of) : NULL;
		if (up == NULL || up == f)
			break;
		f = up;
	}
	return f;
}

static bool
is_shown(const struct page *g, const struct finding *f)
{
	return g->opts->lint || !f->remark;
}

static void
findings(struct page *g)
{
	const struct finding *root, *f;
	/* The title of the first one is the verdict, where that names a fault. */
	bool said = g->v->kind == VERDICT_FAULT && !g->opts->findings_only;
	bool first = g->opts->findings_only;
	size_t depth;

	for (uint32_t i = 0; (root = timeline_finding(g->tl, i)) != NULL; i++) {
		if (!is_shown(g, root) || root_of(g, root, &depth) != root)
			continue;
		if (!first)
			out_eol(g->o);
		finding(g, root, 0, root != g->v->first || !said);
		first = false;
		for (uint32_t k = 0; (f = timeline_finding(g->tl, k)) != NULL; k++)
			if (f != root && root_of(g, f, &depth) == root) {
				out_eol(g->o);
				finding(g, f, depth * 4, true);
			}
	}
}

/* What is not shown is counted, in one line. */
static void
remarks(struct page *g)
{
	const uint32_t *n = g->v->n_remarks;
	uint32_t all = n[SEV_INFO] + n[SEV_WARNING];

	if (all == 0 || g->opts->lint)
		return;
	out_eol(g->o);
	out_fmt(g->o, "%u further remark%s on the specification: --lint shows %s", all, S(all),
	    all == 1 ? "it" : "them");
	out_eol(g->o);
}

static void
history(struct page *g, const struct tl_stream *s)
{
	for (uint32_t i = 0; i < s->n_roles; i++) {
		const struct tl_role *r = &s->roles[i];

		if (i + 1 == s->n_roles && s->more_roles)
			say(g, " -> (%u more changes)", s->more_roles);
		say(g, "%s%s", i ? " -> " : "", ev_role_names[r->role]);
		/* Proof is always worth its packet number. */
		if (r->role == EV_PRIMARY || (g->opts->all && i))
			say(g, " (packet %u, %s)", r->pkt, ev_by_names[r->by]);
	}
	if (s->cursor == NULL)
		return;
	say(g, "%safter id ", s->n_roles ? ", " : "");
	quote(g, str_c(s->cursor), 40);
}

#define STREAM_COLUMNS "  %6s %6s  %-10s %8s %8s  %-9s %6s"
#define OWNER_COLUMN 66
#define OWNER_INDENT 17

static void
stream_head(struct page *g)
{
	char head[128];

	(void)snprintf(head, sizeof head, STREAM_COLUMNS "  %s", "stream", "packet",
	    "kind", "opened", "ended", "end", "ev/cmt", "owner");
	painted(g, DIM, head);
	out_eol(g->o);
}

static void
stream_line(struct page *g, const struct tl_stream *s)
{
	char n[16], pkt[16], opened[32], ended[32], carried[32], head[160];
	bool open = s->is_open || s->end == EV_OPEN;

	(void)snprintf(n, sizeof n, "%u", s->n);
	(void)snprintf(pkt, sizeof pkt, "%u", s->pkt);
	(void)snprintf(opened, sizeof opened, "%.3f", rel(g, s->opened));
	(void)snprintf(ended, sizeof ended, "%.3f", rel(g, s->ended));
	(void)snprintf(carried, sizeof carried, "%u/%u", s->events, s->comments);
	(void)snprintf(head, sizeof head, STREAM_COLUMNS, n, pkt,
	    ev_kind_names[s->kind], opened, open ? "-" : ended,
	    open ? "open" : ev_end_names[s->end], carried);
	out_c(g->o, head);
	history(g, s);
	if (g->words.n == 0) {
		out_eol(g->o);
		return;
	}
	/* A narrow terminal has no room for it at the right. */
	if (g->opts->width < OWNER_COLUMN + 30 &&
	    OWNER_COLUMN + columns(buf_str(&g->words)) > g->opts->width) {
		out_eol(g->o);
		spaces(g, OWNER_INDENT);
		wrap(g, OWNER_INDENT, OWNER_INDENT);
		return;
	}
	spaces(g, 2);
	wrap(g, OWNER_COLUMN, OWNER_COLUMN);
}

/* The streams that answered POSTs, as one line. */
struct posts {
	uint64_t n, by_end[EV_OPEN + 1], events;
};

static void
post_line(struct page *g, const struct posts *p)
{
	bool more = false;

	if (p->n == 0)
		return;
	say(g, "%" PRIu64 " stream%s answered POSTs with %" PRIu64 " event%s: ",
	    p->n, S(p->n), p->events, S(p->events));
	for (int k = 0; k <= EV_OPEN; k++) {
		if (p->by_end[k] == 0)
			continue;
		say(g, "%s%" PRIu64 " %s", more ? ", " : "", p->by_end[k],
		    ev_end_names[k]);
		more = true;
	}
	out_c(g->o, "  ");
	wrap(g, 2, 4);
}

/* Counts one stream, or prints it when it is one that listens. */
struct listing {
	uint32_t total, i, skipped;	/* of those that listen */
	struct posts posts;
};

static bool
listens(const struct tl_stream *s)
{
	return s->kind != EV_POST_RESPONSE;
}

static void
skipped(struct page *g, struct listing *l)
{
	if (l->skipped == 0)
		return;
	painted(g, DIM, "  ... ");
	out_fmt(g->o, "%u more (-v shows all)", l->skipped);
	out_eol(g->o);
	l->skipped = 0;
}

static void
list_stream(struct page *g, struct listing *l, const struct tl_stream *s)
{
	if (!listens(s)) {
		l->posts.n++;
		l->posts.events += s->events;
		l->posts.by_end[s->is_open ? EV_OPEN : s->end]++;
		return;
	}
	if (l->i++ == 0)
		stream_head(g);
	if (!g->opts->all && l->total > MAX_STREAMS &&
	    l->i > MAX_STREAMS - TAIL_STREAMS && l->i <= l->total - TAIL_STREAMS) {
		l->skipped++;
		return;
	}
	skipped(g, l);
	stream_line(g, s);
}

static void
who(struct page *g, const char *side, const char *name, const char *looks,
    const char *evidence)
{
	if (name == NULL && looks == NULL)
		return;
	if (name)
		quote(g, str_c(name), MAX_ID);
	if (looks) {
		say(g, "%slooks like ", name ? ", " : "");
		quote(g, str_c(looks), 200);
	}
	if (looks && evidence && *evidence) {
		say(g, " (");
		quote(g, str_c(evidence), 300);
		say(g, ")");
	}
	labelled(g, 2, side);
}

static void
session(struct page *g, const struct tl_session *s)
{
	struct listing l = { 0 };
	const struct tl_stream *st;
	uint32_t i;

	out_eol(g->o);
	painted(g, BOLD, "session ");
	session_name(g, s->n);
	if (s->inferred)
		say(g, " (a client without a session id)");
	if (s->transport != EV_TRANSPORT_UNKNOWN)
		say(g, "  %s", ev_transport_names[s->transport]);
	if (s->revision) {
		say(g, " ");
		quote(g, str_c(s->revision), 40);
		say(g, "%s", s->offered ? " (offered)" : "");
	}
	say(g, "  %u exchange%s, %+.3f to %+.3f s%s", s->exchanges,
	    S(s->exchanges), rel(g, s->opened), rel(g, s->closed),
	    s->deleted ? ", deleted" : "");
	wrap(g, 8, 2);
	if (s->endpoint) {
		quote(g, str_c(s->endpoint), MAX_ID);
		labelled(g, 2, "at");
	}
	who(g, "client", s->client, s->client_looks_like, s->client_evidence);
	who(g, "server", s->server, s->looks_like, s->evidence);
	for (i = 0; i < s->n_streams; i++) {
		st = timeline_stream_n(g->tl, s->streams[i]);
		l.total += st && listens(st);
	}
	for (i = 0; i < s->n_streams; i++) {
		st = timeline_stream_n(g->tl, s->streams[i]);
		if (st)
			list_stream(g, &l, st);
	}
	skipped(g, &l);
	post_line(g, &l.posts);
	if (s->dropped_streams) {
		out_fmt(g->o, "  %" PRIu64 " further stream%s not kept "
		    "(--limit streams=)", s->dropped_streams,
		    S(s->dropped_streams));
		out_eol(g->o);
	}
}

static bool
named_in_finding(const struct page *g, uint32_t n)
{
	const struct finding *f;

	for (uint32_t i = 0; (f = timeline_finding(g->tl, i)) != NULL; i++)
		if (f->session == n && is_shown(g, f))
			return true;
	return false;
}

/* All, or those with findings before the others, in order of appearance. */
static void
sessions(struct page *g)
{
	const struct tl_session *s;
	uint32_t i, with = 0, without = 0, left = 0;

	for (i = 0; (s = timeline_session(g->tl, i)) != NULL; i++)
		with += named_in_finding(g, s->n);
	without = with < MAX_SESSIONS ? MAX_SESSIONS - with : 0;
	with = MAX_SESSIONS;
	for (i = 0; (s = timeline_session(g->tl, i)) != NULL; i++) {
		uint32_t *room = named_in_finding(g, s->n) ? &with : &without;

		if (*room == 0 && !g->opts->all) {
			left++;
			continue;
		}
		*room -= *room > 0;
		session(g, s);
	}
	if (left) {
		out_eol(g->o);
		out_fmt(g->o, "... %u more session%s (-v shows all)", left, S(left));
		out_eol(g->o);
	}
}

/* Streams that belong to no session: 2026-07-28, or an unknown one. */
static void
loose_streams(struct page *g)
{
	struct listing l = { 0 };
	const struct tl_stream *s;
	uint32_t i;
	bool any = false;

	for (i = 0; (s = timeline_stream(g->tl, i)) != NULL; i++) {
		if (s->session)
			continue;
		any = true;
		l.total += listens(s);
	}
	if (!any)
		return;
	out_eol(g->o);
	painted(g, BOLD, "streams of no session");
	out_eol(g->o);
	for (i = 0; (s = timeline_stream(g->tl, i)) != NULL; i++)
		if (s->session == 0)
			list_stream(g, &l, s);
	skipped(g, &l);
	post_line(g, &l.posts);
}

static void
count(struct page *g, uint64_t n, const char *what)
{
	say(g, ", %" PRIu64 " %s%s", n, what, S(n));
}

static void
counts(struct page *g)
{
	const struct tl_counts *c = timeline_counts(g->tl);
	const struct ev *t = timeline_total(g->tl);
	bool more = false;

	out_eol(g->o);
	say(g, "%" PRIu64 " packet%s in %.3f s", t->u.total.packets,
	    S(t->u.total.packets),
	    (double)(t->u.total.last - t->u.total.first) / NS_S);
	count(g, c->tcp_connections, "TCP connection");
	if (g->v->readable) {
		count(g, c->http_exchanges, "HTTP exchange");
		count(g, c->sse_streams, "event stream");
		for (int k = 0; k <= EV_UNKNOWN_KIND; k++) {
			if (c->sse_by_kind[k] == 0)
				continue;
			say(g, "%s%" PRIu64 " %s", more ? ", " : " (",
			    c->sse_by_kind[k], ev_kind_names[k]);
			more = true;
		}
		say(g, "%s", more ? ")" : "");
		count(g, c->sse_events, "event");
		count(g, c->sse_comments, "comment");
		say(g, ", JSON-RPC:");
		for (int k = 0; k <= EV_MSG_INVALID; k++)
			if (k != EV_MSG_INVALID || c->jsonrpc[k])
				say(g, "%s %" PRIu64 " %s%s", k ? "," : "",
				    c->jsonrpc[k], ev_msg_names[k],
				    k == EV_MSG_INVALID ? "" : S(c->jsonrpc[k]));
	}
	label(g, 0, "seen");
	wrap(g, 9, 9);
}

static void
reasons(struct page *g)
{
	for (uint32_t i = 0; i < g->v->n_reasons; i++) {
		const struct reason *r = &g->v->reasons[i];

		quote(g, str_c(r->text), MAX_WORDS);
		if (r->hides)
			say(g, " (this may hide a fault)");
		labelled(g, 0, "note");
	}
}

static void
anomalies(struct page *g)
{
	const struct tl_note *n;
	uint32_t shown = 0, left = 0;

	for (uint32_t i = 0; (n = timeline_note(g->tl, i)) != NULL; i++) {
		if (!n->anomaly)
			continue;
		if (shown == MAX_ANOMALIES && !g->opts->all) {
			left++;
			continue;
		}
		shown++;
		quote(g, str_c(n->text), MAX_WORDS);
		say(g, " [");
		quote(g, str_c(n->name), MAX_ID);
		say(g, "], %" PRIu64 " time%s, first in packet %u", n->count,
		    S(n->count), n->pkt);
		labelled(g, 0, "odd");
	}
	if (left) {
		say(g, "%u more kinds (-v shows all)", left);
		labelled(g, 0, "odd");
	}
}

/* What to do next, where there is nothing to look at. */
static void
hint(struct page *g)
{
	const char *text = NULL;

	switch (g->v->kind) {
	case VERDICT_NO_MCP:
		text = "MCP is told by its JSON-RPC messages over HTTP/1.1, on any "
		    "port. Was the right interface captured (tcpdump -i any), "
		    "and the start of the connections?";
		break;
	case VERDICT_NO_TCP:
		text = "Capture the interface that the client really uses: "
		    "loopback for a server on this machine (tcpdump -i lo), "
		    "or all of them (-i any).";
		break;
	case VERDICT_EMPTY:
		text = "Was the capture filter too narrow, or was tcpdump stopped "
		    "before it wrote its buffer (-U writes each packet at once)?";
		break;
	case VERDICT_UNKNOWN:
		if (!g->v->mcp && timeline_total(g->tl)->u.total.encrypted)
			text = "Capture where the traffic is in the clear: between "
			    "the TLS terminator and the server, or on its "
			    "loopback interface.";
		break;
	case VERDICT_CLEAN:
		if (g->v->complete)
			text = "Sessions, streams, their ends and owners, resumes and "
			    "replays, requests and responses were checked. If it fails "
			    "all the same, a message that arrived was not acted upon: "
			    "see the logs of the client and of the handler behind the "
			    "server; or it happened at another time or on another hop: "
			    "capture there, while it fails.";
		break;
	case VERDICT_FAULT:
		break;
	}
	if (text == NULL)
		return;
	(void)buf_adds(&g->words, str_c(text));
	labelled(g, 0, "next");
}

static enum paint
verdict_paint(const struct verdict *v)
{
	switch (v->kind) {
	case VERDICT_FAULT:
		return v->n_severity[SEV_ERROR] ? RED : YELLOW;
	case VERDICT_CLEAN:
		return GREEN;
	case VERDICT_UNKNOWN: case VERDICT_NO_MCP: case VERDICT_NO_TCP:
	case VERDICT_EMPTY:
		return YELLOW;
	}
	return PLAIN;
}

void
sink_text(struct out *o, const struct timeline *tl, const struct verdict *v,
    const struct text_opts *opts)
{
	struct page g = { .o = o, .tl = tl, .v = v, .opts = opts,
	    .zero = timeline_total(tl)->u.total.first };

	buf_init(&g.words, 1 << 20);
	if (opts->findings_only) {
		findings(&g);
		goto out;
	}
	/* The verdict is one line, however long: scripts read the first one. */
	quote(&g, str_c(v->text), MAX_WORDS);
	paint(&g, verdict_paint(v));
	out_str(o, buf_str(&g.words));
	paint(&g, PLAIN);
	out_eol(o);
	buf_clear(&g.words);
	hint(&g);
	findings(&g);
	remarks(&g);
	sessions(&g);
	loose_streams(&g);
	counts(&g);
	reasons(&g);
	anomalies(&g);
out:
	buf_fini(&g.words);
}
