#include "mcpdiag/sink.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "mcpdiag/esc.h"

#define MAX_TEXT 2048		/* bytes of one string */
#define MAX_NAME 200
#define MAX_FINDINGS 20		/* told in full: an issue holds 64 KiB */
#define MAX_SESSIONS 20

#define S(n) ((n) == 1 ? "" : "s")

struct page {
	struct out *o;
	const struct timeline *tl;
	const struct verdict *v;
	ns_t zero;
};

/* Of GitHub and GitLab: what begins a reference to a person, an issue and the
 * like, also behind a backslash, since they look at the finished text. */
static bool
refers(char c, char next)
{
	return strchr("@#!$%~&^", c) && (isalnum((unsigned char)next) || next == '"' ||
	    next == '_');
}

/* Whether the byte at i ends what makes a link: GH-1, http://, www. */
static bool
starts_link(struct str s, size_t i)
{
	static const char *const heads[] = { "GH-", ":/", "www." };

	for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
		struct str head = str_c(heads[k]);

		if (i + 1 >= head.n && str_ieq(str_of(s.p + i + 1 - head.n, head.n), head))
			return true;
	}
	return false;
}

/* Prose.  Markup is escaped, and a zero-width space breaks references and
 * addresses: text that begins a line must be ours. */
static void
prose(struct page *g, struct str s)
{
	struct buf b;

	buf_init(&b, 8 * MAX_TEXT);
	esc_text(&b, s, MAX_TEXT);
	for (size_t i = 0; i < b.n; i++) {
		char c = b.p[i], next = i + 1 < b.n ? b.p[i + 1] : '\0';

		if (c == '<')
			out_c(g->o, "&lt;");
		else if (c == '>')
			out_c(g->o, "&gt;");
		else if (c == '&')
			out_c(g->o, "&amp;");
		else if (strchr("\\`*_[]|~$#", c))
			out_fmt(g->o, "\\%c", c);
		else
			out_add(g->o, &c, 1);
		if (refers(c, next) || starts_link(buf_str(&b), i))
			out_c(g->o, "\xe2\x80\x8b");
	}
	buf_fini(&b);
}

/* Between more backticks than there are in it; nothing is looked at there.  In
 * a table a | ends the cell all the same. */
static void
code(struct page *g, const char *text)
{
	size_t run = 0, most = 0;
	struct buf b;

	if (text == NULL || *text == '\0') {
		out_c(g->o, "-");
		return;
	}
	buf_init(&b, 8 * MAX_NAME);
	esc_text(&b, str_c(text), MAX_NAME);
	for (size_t i = 0; i < b.n; i++) {
		run = b.p[i] == '`' ? run + 1 : 0;
		most = run > most ? run : most;
	}
	for (size_t i = 0; i <= most; i++)
		out_c(g->o, "`");
	out_c(g->o, most ? " " : "");
	for (size_t i = 0; i < b.n; i++) {
		if (b.p[i] == '|')
			out_c(g->o, "\\");
		out_add(g->o, b.p + i, 1);
	}
	out_c(g->o, most ? " " : "");
	for (size_t i = 0; i <= most; i++)
		out_c(g->o, "`");
	buf_fini(&b);
}

static void
session_name(struct page *g, uint32_t n)
{
	const struct tl_session *s = timeline_session_n(g->tl, n);

	code(g, s ? s->key : NULL);
}

static void
detector(struct page *g, const struct finding *f)
{
	out_fmt(g->o, "%s%s%s%s", f->detector, f->variant ? " (" : "",
	    f->variant ? f->variant : "", f->variant ? ")" : "");
}

static void
table(struct page *g)
{
	const struct finding *f;

	if (timeline_finding(g->tl, 0) == NULL)
		return;
	out_c(g->o, "| # | finding | severity | confidence | times | packets | session |\n"
	    "|--:|---|---|---|--:|---|---|\n");
	for (uint32_t i = 0; (f = timeline_finding(g->tl, i)) != NULL; i++) {
		out_fmt(g->o, "| %u | ", f->n);
		detector(g, f);
		out_fmt(g->o, " | %s | %s | %" PRIu64 " | %u to %u | ",
		    severity_name(f->severity), confidence_name(f->confidence), f->count,
		    f->first.pkt, f->last.pkt);
		session_name(g, f->session);
		if (f->sessions_alike)
			out_fmt(g->o, " and %u alike", f->sessions_alike);
		out_c(g->o, " |\n");
	}
	out_c(g->o, "\n");
}

static void
paragraph(struct page *g, const char *label, struct str s)
{
	if (s.n == 0)
		return;
	out_fmt(g->o, "**%s** ", label);
	prose(g, s);
	out_c(g->o, "\n\n");
}

static void
evidence(struct page *g, const struct finding *f)
{
	out_c(g->o, "| packet | time | what |\n|--:|--:|---|\n");
	for (uint32_t i = 0; i < f->n_evidence; i++) {
		const struct evidence *e = &f->evidence[i];

		out_fmt(g->o, "| %u | %+.3f s | ", e->at.pkt,
		    (double)(e->at.t - g->zero) / NS_S);
		prose(g, e->what);
		out_c(g->o, " |\n");
	}
	out_c(g->o, "\n");
}

static void
findings(struct page *g)
{
	const struct finding *f;

	for (uint32_t i = 0; (f = timeline_finding(g->tl, i)) != NULL; i++) {
		if (i == MAX_FINDINGS) {
			out_c(g->o, "Further findings are in the table only.\n\n");
			return;
		}
		out_fmt(g->o, "### %u. ", f->n);
		detector(g, f);
		out_c(g->o, "\n\n");
		paragraph(g, "What:", f->title);
		paragraph(g, "Why:", f->why);
		if (f->consequence_of)
			out_fmt(g->o, "It follows from finding %u.\n\n", f->consequence_of);
		paragraph(g, "Fix:", f->fix);
		if (f->n_evidence)
			evidence(g, f);
	}
}

static void
who(struct page *g, const char *name, const char *looks)
{
	code(g, name);
	if (looks == NULL)
		return;
	out_c(g->o, ", looks like ");
	code(g, looks);
}

static void
sessions(struct page *g)
{
	const struct tl_session *s;
	uint32_t n = 0;

	if (timeline_session(g->tl, 0) == NULL)
		return;
	out_c(g->o, "| session | revision | client | server | exchanges |\n"
	    "|---|---|---|---|--:|\n");
	for (; (s = timeline_session(g->tl, n)) != NULL; n++) {
		if (n >= MAX_SESSIONS)
			continue;
		out_c(g->o, "| ");
		code(g, s->key);
		out_fmt(g->o, " | %s ", ev_transport_names[s->transport]);
		code(g, s->revision);
		out_c(g->o, " | ");
		who(g, s->client, s->client_looks_like);
		out_c(g->o, " | ");
		who(g, s->server, s->looks_like);
		out_fmt(g->o, " | %u |\n", s->exchanges);
	}
	out_c(g->o, "\n");
	if (n > MAX_SESSIONS)
		out_fmt(g->o, "and %u more sessions.\n\n", n - MAX_SESSIONS);
}

static void
environment(struct page *g, const char *version)
{
	const struct tl_counts *c = timeline_counts(g->tl);
	const struct ev *t = timeline_total(g->tl);

	out_fmt(g->o, "- mcpdiag %s\n- %" PRIu64 " packet%s in %.3f s, %" PRIu64
	    " TCP connection%s", version, t->u.total.packets, S(t->u.total.packets),
	    (double)(t->u.total.last - t->u.total.first) / NS_S, c->tcp_connections,
	    S(c->tcp_connections));
	if (g->v->readable)
		out_fmt(g->o, ", %" PRIu64 " HTTP exchange%s, %" PRIu64 " event stream%s, %"
		    PRIu64 " event%s", c->http_exchanges, S(c->http_exchanges),
		    c->sse_streams, S(c->sse_streams), c->sse_events, S(c->sse_events));
	out_c(g->o, "\n");
	for (uint32_t i = 0; i < g->v->n_reasons; i++) {
		const struct reason *r = &g->v->reasons[i];

		out_c(g->o, "- Note: ");
		prose(g, str_c(r->text));
		out_c(g->o, r->hides ? " (this may hide a fault)\n" : "\n");
	}
	out_c(g->o, "\n");
	sessions(g);
}

void
sink_markdown(struct out *o, const struct timeline *tl, const struct verdict *v,
    const char *version)
{
	struct page g = { o, tl, v, timeline_total(tl)->u.total.first };

	paragraph(&g, "Verdict:", str_c(v->text));
	table(&g);
	if (timeline_finding(tl, 0)) {
		out_c(o, "<details>\n<summary>Findings and their evidence</summary>\n\n");
		findings(&g);
		out_c(o, "</details>\n\n");
	}
	out_c(o, "<details>\n<summary>Environment</summary>\n\n");
	environment(&g, version);
	out_c(o, "</details>");
	out_eol(o);
}
