#include "mcpdiag/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

#define ULL(v) ((unsigned long long)(v))
#define S(n) ((n) == 1 ? "" : "s")

/* When a reason keeps "no fault found" from being said. */
enum hides {
	NEVER,
	BLIND,			/* only when no MCP at all was read */
	ALWAYS,
};

/* Notes that are not listed hide nothing. */
static const struct {
	const char *name;
	enum hides hides;
} hiding[] = {
	{ "damaged", ALWAYS },		/* the rest of a file is unreadable */
	{ "dropped", ALWAYS },		/* by the capturing system */
	{ "gaps", ALWAYS },		/* in MCP connections */
	{ "unknown-stream", ALWAYS },
	{ "undecoded", ALWAYS },
	{ "limit", ALWAYS },
	{ "ooo-limit", ALWAYS },
	{ "bad-http", ALWAYS },
	{ "late-mcp", ALWAYS },
	{ "events", ALWAYS },		/* unreadable lines of an event file */
	{ "encrypted", BLIND },
	{ "http2", BLIND },
	{ "snaplen", BLIND },		/* else it shows as gaps */
	{ "other-gaps", BLIND },
	{ "linktype", BLIND },
	{ "undecodable", BLIND },
	{ "fragments", BLIND },
};

/* Anomalies after which something could not be read. */
static const char *const lossy[] = { "limit", "ooo-limit", "bad-http", NULL };

struct making {
	const struct timeline *tl;
	struct verdict *v;
	uint32_t cap;
};

static bool
hides(const struct verdict *v, const char *name)
{
	for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++)
		if (strcmp(hiding[i].name, name) == 0)
			return hiding[i].hides == ALWAYS ||
			    (hiding[i].hides == BLIND && !v->mcp);
	return false;
}

static char *
text_of(struct buf *b)
{
	char *text = xmemdup0(buf_str(b).p, b->n);

	buf_fini(b);
	return text;
}

static void __attribute__((format(printf, 3, 4)))
reason(struct making *m, const char *name, const char *fmt, ...)
{
	struct verdict *v = m->v;
	struct reason r;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	r = (struct reason){ xmemdup0(name, strlen(name)),
	    xmemdup0(text, strlen(text)), hides(v, name), false };
	v->hidden |= r.hides;
	v->reasons = xgrow(v->reasons, v->n_reasons, &m->cap, sizeof r);
	v->reasons[v->n_reasons++] = r;
}

static void
capture_reasons(struct making *m)
{
	const struct tl_counts *c = timeline_counts(m->tl);
	const struct ev *t = timeline_total(m->tl);
	const struct tl_file *f;
	uint64_t all = t->u.total.tcp_connections, n;

	for (uint32_t i = 0; (f = timeline_file(m->tl, i)) != NULL; i++)
		if (f->error)
			reason(m, "damaged", "%s: %s; read up to packet %llu of it",
			    f->name ? f->name : "input", f->error, ULL(f->packets));
	if ((n = t->u.total.dropped) > 0)
		reason(m, "dropped", "the capturing system lost %llu packet%s "
		    "(a larger buffer helps: tcpdump -B)", ULL(n), S(n));
	if ((n = t->u.total.truncated) > 0)
		reason(m, "snaplen", "%llu packet%s cut short by the snap "
		    "length (capture with tcpdump -s 0)", ULL(n),
		    n == 1 ? " is" : "s are");
	if ((n = c->gaps) > 0)
		reason(m, "gaps", "%llu gap%s in MCP connections: %llu byte%s "
		    "missing from the capture", ULL(n), S(n), ULL(c->gap_bytes),
		    c->gap_bytes == 1 ? " is" : "s are");
	if (t->u.total.gaps > c->gaps) {
		n = t->u.total.gaps - c->gaps;
		reason(m, "other-gaps", "%llu gap%s in connections that are not "
		    "known to be MCP", ULL(n), S(n));
	}
	if ((n = t->u.total.encrypted) > 0)
		reason(m, "encrypted", "%llu of %llu TCP connection%s encrypted "
		    "(TLS): what %s unknown", ULL(n), ULL(all),
		    all == 1 ? " is" : "s are", n == 1 ? "it carries is" :
		    "they carry is");
	if ((n = t->u.total.http2) > 0)
		reason(m, "http2", "%llu TCP connection%s HTTP/2 in the clear, "
		    "which this version does not read", ULL(n),
		    n == 1 ? " speaks" : "s speak");
}

static void
model_reasons(struct making *m)
{
	const struct tl_counts *c = timeline_counts(m->tl);
	const struct ev *t = timeline_total(m->tl);
	uint64_t n;

	if ((n = c->midstream) > 0)
		reason(m, "midstream", "%llu MCP connection%s open before the "
		    "capture began", ULL(n), n == 1 ? " was" : "s were");
	if ((n = c->sse_by_kind[EV_UNKNOWN_KIND]) > 0)
		reason(m, "unknown-stream", "%llu event stream%s of unknown kind: "
		    "the request was not captured", ULL(n),
		    n == 1 ? " is" : "s are");
	if ((n = c->undecoded) > 0)
		reason(m, "undecoded", "%llu bod%s could not be decoded", ULL(n),
		    n == 1 ? "y" : "ies");
	if ((n = t->u.total.unread) > 0)
		reason(m, "unread", "%llu server%s a little of MCP but not "
		    "enough to be sure, and %s left out", ULL(n),
		    n == 1 ? " shows" : "s show", n == 1 ? "is" : "are");
	if ((n = timeline_dropped_streams(m->tl)) > 0)
		reason(m, "streams", "%llu event stream%s counted but not listed "
		    "(--limit streams=)", ULL(n), n == 1 ? " is" : "s are");
	if ((n = timeline_dropped_sessions(m->tl)) > 0)
		reason(m, "sessions", "%llu session%s not listed "
		    "(--limit sessions=)", ULL(n), n == 1 ? " is" : "s are");
}

static bool
is_lossy(const struct tl_note *n)
{
	for (size_t i = 0; lossy[i]; i++)
		if (strcmp(n->name, lossy[i]) == 0)
			return true;
	return false;
}

static void
note_reasons(struct making *m)
{
	const struct tl_note *n;

	for (uint32_t i = 0; (n = timeline_note(m->tl, i)) != NULL; i++) {
		m->v->truncated |= strcmp(n->name, "cut-file") == 0;
		if (n->anomaly && !is_lossy(n))
			continue;
		if (n->anomaly)
			reason(m, n->name, "%s: %llu time%s, first in packet %u",
			    n->text, ULL(n->count), S(n->count), n->pkt);
		else
			reason(m, n->name, "%s", n->text);
	}
}

/* Those that hide something come first; else the order stays. */
static void
sort_reasons(struct verdict *v)
{
	struct reason *sorted;
	uint32_t n = 0;

	if (v->n_reasons == 0)
		return;
	sorted = xmalloc(v->n_reasons * sizeof *sorted);
	for (int pass = 1; pass >= 0; pass--)
		for (uint32_t i = 0; i < v->n_reasons; i++)
			if (v->reasons[i].hides == pass)
				sorted[n++] = v->reasons[i];
	free(v->reasons);
	v->reasons = sorted;
}

static void
say_what_was_read(struct buf *b, const struct timeline *tl)
{
	const struct tl_counts *c = timeline_counts(tl);
	uint64_t n_msg = 0, n_ses = timeline_dropped_sessions(tl);

	for (int i = 0; i < EV_MSG_INVALID; i++)
		n_msg += c->jsonrpc[i];
	for (uint32_t i = 0; timeline_session(tl, i); i++)
		n_ses++;
	if (n_ses)
		(void)buf_fmt(b, "%llu MCP session%s (", ULL(n_ses), S(n_ses));
	(void)buf_fmt(b, n_ses ? "%llu HTTP exchange%s" : "%llu MCP exchange%s",
	    ULL(c->http_exchanges), S(c->http_exchanges));
	(void)buf_fmt(b, n_ses ? ", " : " (");
	(void)buf_fmt(b, "%llu event stream%s, %llu JSON-RPC message%s)",
	    ULL(c->sse_streams), S(c->sse_streams), ULL(n_msg), S(n_msg));
}

static void
say_fault(struct buf *b, const struct verdict *v, const struct timeline *tl)
{
	const struct finding *f = timeline_finding(tl, 0);
	uint32_t more = v->n_severity[SEV_ERROR] + v->n_severity[SEV_WARNING] -
	    v->n_remarks[SEV_WARNING] - 1;

	(void)buf_fmt(b, "%s: ", f->detector);
	(void)buf_adds(b, f->title);
	if (f->sessions_alike)
		(void)buf_fmt(b, " (%u further session%s alike)",
		    f->sessions_alike, S(f->sessions_alike));
	if (more)
		(void)buf_fmt(b, "; and %u more finding%s", more, S(more));
}

static void
say_clean(struct buf *b, const struct verdict *v, const struct timeline *tl)
{
	uint32_t n = timeline_hidden(tl);

	if (n)
		(void)buf_fmt(b, "no fault found beside the %u left out, in ", n);
	else
		(void)buf_adds(b, STR("no fault found in "));
	say_what_was_read(b, tl);
	if (v->complete)
		(void)buf_adds(b, STR(", read to the last byte: the wire is clean, look at "
		    "the endpoints"));
}

/* Whether a filter kept packets out (a note of the pipeline says so). */
static bool
filtered(const struct timeline *tl)
{
	const struct tl_note *n;

	for (uint32_t i = 0; (n = timeline_note(tl, i)) != NULL; i++)
		if (strcmp(n->name, "filter") == 0)
			return true;
	return false;
}

static void
say(struct verdict *v, const struct timeline *tl)
{
	const struct ev *t = timeline_total(tl);
	uint64_t packets = t->u.total.packets;
	uint64_t conns = t->u.total.tcp_connections;
	struct buf b;

	buf_init(&b, 1 << 20);
	switch (v->kind) {
	case VERDICT_FAULT:
		say_fault(&b, v, tl);
		break;
	case VERDICT_CLEAN:
		say_clean(&b, v, tl);
		break;
	case VERDICT_UNKNOWN:
		(void)buf_fmt(&b, "cannot tell: %s", v->reasons[0].text);
		if (!v->mcp)
			(void)buf_adds(&b, STR("; no MCP could be read"));
		else {
			(void)buf_adds(&b, STR("; no fault found in what can be "
			    "read of "));
			say_what_was_read(&b, tl);
		}
		break;
	case VERDICT_NO_MCP:
		(void)buf_fmt(&b, "no MCP traffic found in %llu packet%s, "
		    "%llu TCP connection%s", ULL(packets), S(packets),
		    ULL(conns), S(conns));
		break;
	case VERDICT_NO_TCP:
		(void)buf_fmt(&b, "no TCP in %llu packet%s: nothing here can "
		    "carry MCP over HTTP", ULL(packets), S(packets));
		break;
	case VERDICT_EMPTY:
		(void)buf_adds(&b, filtered(tl) ?
		    STR("no packet passes the filter") :
		    STR("no packets in the capture"));
		break;
	}
	v->text = text_of(&b);
}

static enum verdict_kind
judge(const struct verdict *v, const struct timeline *tl)
{
	const struct ev *t = timeline_total(tl);

	if (v->n_severity[SEV_ERROR] || v->n_severity[SEV_WARNING] > v->n_remarks[SEV_WARNING])
		return VERDICT_FAULT;
	if (v->hidden)
		return VERDICT_UNKNOWN;
	if (v->mcp)
		return VERDICT_CLEAN;
	if (t->u.total.packets == 0)
		return VERDICT_EMPTY;
	return t->u.total.tcp_connections ? VERDICT_NO_MCP : VERDICT_NO_TCP;
}

struct verdict *
verdict_new(const struct timeline *tl)
{
	const struct tl_counts *c = timeline_counts(tl);
	const struct ev *t = timeline_total(tl);
	struct verdict *v = xcalloc(1, sizeof *v);
	struct making m = { .tl = tl, .v = v };
	const struct finding *f;

	v->mcp = c->conns > 0 || c->http_exchanges > 0;
	v->readable = c->http_exchanges > 0 ||
	    t->u.total.encrypted + t->u.total.http2 == 0;
	v->truncated = t->u.total.truncated > 0;
	for (uint32_t i = 0; (f = timeline_finding(tl, i)) != NULL; i++) {
		v->n_severity[f->severity]++;
		v->n_remarks[f->severity] += f->remark;
	}
	capture_reasons(&m);
	model_reasons(&m);
	note_reasons(&m);
	sort_reasons(v);
	v->kind = judge(v, tl);
	v->complete = v->kind == VERDICT_CLEAN && v->n_reasons == 0 &&
	    timeline_hidden(tl) == 0;
	for (uint32_t i = 0; (f = timeline_finding(tl, i)) != NULL; i++)
		v->complete &= f->severity == SEV_INFO;	/* remarks too */
	v->first = v->kind == VERDICT_FAULT ? timeline_finding(tl, 0) : NULL;
	say(v, tl);
	return v;
}

void
verdict_note(struct verdict *v, const char *name, const char *text)
{
	v->reasons = xrealloc(v->reasons, (v->n_reasons + 1) * sizeof *v->reasons);
	v->reasons[v->n_reasons++] = (struct reason){ xmemdup0(name, strlen(name)),
	    xmemdup0(text, strlen(text)), false, false };
}

void
verdict_fail(struct verdict *v, const char *name, const char *text)
{
	verdict_note(v, name, text);
	v->reasons[v->n_reasons - 1].fails = true;
}

void
verdict_free(struct verdict *v)
{
	if (v == NULL)
		return;
	for (uint32_t i = 0; i < v->n_reasons; i++) {
		free(v->reasons[i].name);
		free(v->reasons[i].text);
	}
	free(v->reasons);
	free(v->text);
	free(v);
}

const char *
verdict_name(enum verdict_kind kind)
{
	switch (kind) {
	case VERDICT_FAULT:
		return "fault";
	case VERDICT_CLEAN:
		return "clean";
	case VERDICT_UNKNOWN:
		return "unknown";
	case VERDICT_NO_MCP:
		return "no-mcp";
	case VERDICT_NO_TCP:
		return "no-tcp";
	case VERDICT_EMPTY:
		return "empty";
	}
	return "unknown";
}
