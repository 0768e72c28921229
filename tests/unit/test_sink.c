/* sink: the two documents made of one timeline, whatever it was made from, and
 * no byte from the wire that could reach a terminal as itself. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/ndjson.h"
#include "mcpdiag/sink.h"
#include "util.h"

#define MAX_EVENTS 64
#define T0 (1700000000 * NS_S)

struct list {
	struct ev e[MAX_EVENTS];
	unsigned n;
};

static struct ev *
add(struct list *l, enum ev_type type, int ms, uint32_t pkt)
{
	struct ev *e = &l->e[l->n++];

	assert_true(l->n <= MAX_EVENTS);
	*e = (struct ev){ .type = type, .t = T0 + ms * NS_MS, .pkt = pkt };
	return e;
}

static struct ev *
at_stream(struct list *l, enum ev_type type, int ms, uint32_t pkt, uint32_t stream)
{
	struct ev *e = add(l, type, ms, pkt);

	e->conn = 1;
	e->x = stream + 1;
	e->stream = stream;
	e->session = 1;
	e->dir = EV_S2C;
	return e;
}

static void
owner(struct list *l, int ms, uint32_t pkt, uint32_t stream, enum ev_role to,
    enum ev_by by, uint32_t cause)
{
	struct ev *e = at_stream(l, EV_OWNER, ms, pkt, stream);

	e->u.owner.to = to;
	e->u.owner.by = by;
	e->u.owner.cause = cause;
}

static void
open_stream(struct list *l, int ms, uint32_t pkt, uint32_t n, enum ev_kind kind)
{
	struct ev *e = at_stream(l, EV_REQUEST, ms - 1, pkt - 1, n);

	e->stream = 0;
	e->dir = EV_C2S;
	e->u.req.n = n;
	e->u.req.method = kind == EV_POST_RESPONSE ? STR("POST") : STR("GET");
	e->u.req.target = STR("/mcp");
	e = at_stream(l, EV_RESPONSE, ms, pkt, n);
	e->stream = 0;
	e->u.resp.status = 200;
	e->u.resp.event_stream = true;
	e = at_stream(l, EV_STREAM, ms, pkt, n);
	e->u.stream.kind = kind;
	e->u.stream.lineage = n;
	e->u.stream.delay_ms = -1;
	e->u.stream.requested = T0 + (ms - 1) * NS_MS;
	e->u.stream.request_pkt = pkt - 1;
	if (kind == EV_RESUMED)
		e->u.stream.cursor = STR("7\x1b[2J");
}

static void
end_stream(struct list *l, int ms, uint32_t pkt, uint32_t n, enum ev_end end)
{
	struct ev *e = at_stream(l, EV_STREAM_END, ms, pkt, n);

	e->u.stream_end.end = end;
	e->u.stream_end.events = n;
	e->u.stream_end.last_byte = e->t;
	e = at_stream(l, EV_RESPONSE_END, ms, pkt, n);
	e->u.end.end = end;
	e->u.end.bytes = 100;
}

/* A small session with every type of event in it. */
static void
story(struct list *l)
{
	struct ev *e;

	l->n = 0;
	e = add(l, EV_CONN, 0, 1);
	e->conn = 1;
	e->u.conn.client = STR("127.0.0.1:40000");
	e->u.conn.server = STR("127.0.0.1:8931");
	e = add(l, EV_SESSION, 2, 5);
	e->session = 1;
	e->u.session.key = STR("#0123456789");
	e->u.session.transport = EV_STREAMABLE;
	e->u.session.revision = STR("2025-06-18");
	e->u.session.client = STR("cli\x1b[31ment/1");
	e->u.session.server = STR("srv/2");
	e->u.session.endpoint = STR("127.0.0.1:8931");
	e->u.session.looks_like = STR("rmcp 0.15");
	e->u.session.evidence = STR("bare ids");
	open_stream(l, 2, 5, 1, EV_POST_RESPONSE);
	e = at_stream(l, EV_SSE, 3, 6, 1);
	e->u.sse.dispatched = e->u.sse.data = true;
	e->u.sse.retry_ms = 3000;
	e = at_stream(l, EV_MESSAGE, 3, 6, 1);
	e->u.msg.kind = EV_MSG_RESPONSE;
	e->u.msg.id = STR("1");
	end_stream(l, 4, 7, 1, EV_COMPLETE);
	open_stream(l, 10, 12, 2, EV_STANDALONE);
	owner(l, 10, 12, 2, EV_PRESUMED, EV_BY_OPEN, 2);
	owner(l, 30, 14, 2, EV_PRIMARY, EV_BY_MESSAGE, 0);
	e = at_stream(l, EV_COMMENT, 40, 15, 2);
	e->u.comment.text = STR("ping");
	end_stream(l, 50, 20, 2, EV_COMPLETE);
	owner(l, 50, 20, 2, EV_CLOSED, EV_BY_CLOSE, 2);
	open_stream(l, 3050, 22, 3, EV_RESUMED);
	owner(l, 3050, 22, 3, EV_PRESUMED, EV_BY_OPEN, 3);
	e = at_stream(l, EV_STREAM_END, 5000, 30, 3);
	e->u.stream_end.end = EV_OPEN;
	add(l, EV_REQUEST_END, 3050, 22)->conn = 1;
	e = at_stream(l, EV_STALL, 4000, 25, 3);
	e->u.stall.bytes = 10;
	e = add(l, EV_ANOMALY, 4000, 25);
	e->conn = 1;
	e->u.note.name = STR("bare-lf");
	e->u.note.text = STR("a line ended by LF alone");
	add(l, EV_SESSION_END, 4500, 26)->session = 1;
	e = add(l, EV_CONN_END, 4600, 27);
	e->conn = 1;
	e->u.conn_end.how = STR("fin");
	e = add(l, EV_FILE, 5000, 0);
	e->u.file.name = STR("a\nb.pcap");
	e->u.file.format = STR("pcap");
	e->u.file.linktypes = STR("Ethernet, Raw IP, Ethernet");
	e->u.file.packets = 30;
	e = add(l, EV_NOTE, 5000, 0);
	e->u.note.name = STR("cut-file");
	e->u.note.text = STR("a.pcap ends inside a record");
	e = add(l, EV_END, 5000, 30);
	e->u.total.packets = 30;
	e->u.total.tcp_connections = 1;
	e->u.total.first = T0;
	e->u.total.last = T0 + 5 * NS_S;
}

static const uint32_t two_streams[] = { 2, 3 };

static struct finding
fault(uint32_t n, const char *detector, enum severity severity, uint32_t root)
{
	struct finding f = { .n = n, .detector = detector, .severity = severity,
	    .confidence = CONF_HIGH, .session = 1, .streams = two_streams,
	    .n_streams = 2, .first = { T0 + 50 * NS_MS, 20 },
	    .last = { T0 + 3050 * NS_MS, 22 }, .count = 3, .period = 3003 * NS_MS,
	    .title = STR("2 listeners evict each \x1b]0;x\x07other"),
	    .why = STR("Because a long sentence has to be wrapped somewhere, this one "
	        "goes on and on until it is longer than one line."),
	    .fix = STR("Update."), .reference = "mcpdiag-analyze(1)",
	    .n_evidence = 1, .n_facts = 1, .consequence_of = root };

	f.evidence[0] = (struct evidence){ { T0 + 50 * NS_MS, 20 }, STR("stream 2 ends") };
	f.facts[0] = (struct fact){ "retry_ms", FACT_MS, 3000, STR_NONE };
	return f;
}

enum form { JSON, TEXT, TEXT_ALL, TEXT_QUIET, TEXT_COLOR, N_FORMS };

static void
print(struct out *o, const struct timeline *tl, enum form form)
{
	struct verdict *v = verdict_new(tl);
	struct text_opts opts = { .color = form == TEXT_COLOR,
	    .all = form == TEXT_ALL, .findings_only = form == TEXT_QUIET,
	    .width = 80 };

	out_init(o, -1);
	if (form == JSON)
		sink_json(o, tl, v, "1.2");
	else
		sink_text(o, tl, v, &opts);
	verdict_free(v);
}

static void
to_timeline(void *arg, const struct ev *e)
{
	timeline_event(arg, e);
}

static struct timeline *
new_timeline(void)
{
	struct limits lim;

	limits_init(&lim);
	return timeline_new(&lim);
}

static void
give_findings(struct timeline *tl, const struct finding *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct ev e = { .type = EV_FINDING, .flags = EVF_FINAL };

		e.u.finding = &f[i];
		timeline_event(tl, &e);
	}
}

static void
expect(const struct out *o, const char *want)
{
	if (o->n == strlen(want) && memcmp(o->p, want, o->n) == 0)
		return;
	fwrite(o->p, 1, o->n, stderr);
	fail_msg("not what was wanted");
}

static bool
has(const struct out *o, const char *text)
{
	return memmem(o->p, o->n, text, strlen(text)) != NULL;
}

static const char want_text[] =
"leapfrog: 2 listeners evict each \\x1b]0;x\\x07other; and 1 more finding\n"
"\n"
"error  leapfrog, high confidence, 3 times, every 3.003 s, packets 20 to 22\n"
"  where    session #0123456789, streams 2, 3\n"
"  why      Because a long sentence has to be wrapped somewhere, this one goes on\n"
"           and on until it is longer than one line.\n"
"  packet 20         +0.050 s  stream 2 ends\n"
"  fix      Update.\n"
"  see      mcpdiag-analyze(1)\n"
"\n"
"    warning  replay-loop, high confidence, 3 times, every 3.003 s, packets 20 to\n"
"      22; it follows from the above\n"
"      2 listeners evict each \\x1b]0;x\\x07other\n"
"      where    session #0123456789, streams 2, 3\n"
"      why      Because a long sentence has to be wrapped somewhere, this one\n"
"               goes on and on until it is longer than one line.\n"
"      packet 20         +0.050 s  stream 2 ends\n"
"      fix      Update.\n"
"      see      mcpdiag-analyze(1)\n"
"\n"
"session #0123456789  streamable 2025-06-18  3 exchanges, +0.001 to +5.000 s,\n"
"  deleted\n"
"  at       127.0.0.1:8931\n"
"  client   cli\\x1b[31ment/1\n"
"  server   srv/2, looks like rmcp 0.15 (bare ids)\n"
"  stream packet  kind         opened    ended  end       ev/cmt  owner\n"
"       2     12  standalone    0.010    0.050  complete     2/0\n"
"                 presumed -> primary (packet 14, message) -> closed\n"
"       3     22  resumed       3.050        -  open         0/0\n"
"                 presumed, after id 7\\x1b[2J\n"
"  1 stream answered POSTs with 1 event: 1 complete\n"
"\n"
"seen     30 packets in 5.000 s, 1 TCP connection, 3 HTTP exchanges, 3 event\n"
"         streams (1 post-response, 1 standalone, 1 resumed), 1 event, 1 comment,\n"
"         JSON-RPC: 0 requests, 0 notifications, 1 response, 0 errors\n"
"note     a.pcap ends inside a record\n"
"odd      a line ended by LF alone [bare-lf], 1 time, first in packet 25\n";

static void
text_for_a_person(void **state)
{
	struct finding f[] = { fault(1, "leapfrog", SEV_ERROR, 0),
	    fault(2, "replay-loop", SEV_WARNING, 1) };
	struct timeline *tl = new_timeline();
	struct list l;
	struct out o;

	(void)state;
	story(&l);
	for (unsigned i = 0; i < l.n; i++)
		timeline_event(tl, &l.e[i]);
	give_findings(tl, f, 2);
	print(&o, tl, TEXT);
	expect(&o, want_text);
	out_fini(&o);
	timeline_free(tl);
}

/* Remarks are counted, and shown when asked for; the JSON document has all. */
static void
remarks_on_request(void **state)
{
	struct finding f[] = { fault(1, "leapfrog", SEV_ERROR, 0),
	    fault(2, "contract", SEV_WARNING, 0), fault(3, "contract", SEV_INFO, 0) };
	struct timeline *tl = new_timeline();
	struct text_opts opts = { .width = 80 };
	struct verdict *v;
	struct list l;
	struct out o;

	(void)state;
	f[1].remark = f[2].remark = true;
	story(&l);
	for (unsigned i = 0; i < l.n; i++)
		timeline_event(tl, &l.e[i]);
	give_findings(tl, f, 3);
	v = verdict_new(tl);
	assert_int_equal(v->n_remarks[SEV_WARNING], 1);
	for (int form = 0; form < 4; form++) {
		opts.lint = (form & 1) != 0;
		opts.findings_only = (form & 2) != 0;
		out_init(&o, -1);
		sink_text(&o, tl, v, &opts);
		assert_int_equal(has(&o, "contract, high"), opts.lint);
		assert_int_equal(has(&o, "\n2 further remarks on the specification: "
		    "--lint shows them\n"), form == 0);
		assert_false(has(&o, "more finding"));
		assert_true(has(&o, "error  leapfrog"));
		out_fini(&o);
	}
	out_init(&o, -1);
	sink_json(&o, tl, v, "1");
	assert_true(has(&o, "\"contract\""));
	out_fini(&o);
	verdict_free(v);
	timeline_free(tl);
}

/* Its title is not the verdict then: it must be printed with it. */
static void
remarks_alone(void **state)
{
	struct finding f = fault(1, "contract", SEV_WARNING, 0);
	struct timeline *tl = new_timeline();
	struct text_opts opts = { .width = 80, .lint = true };
	struct verdict *v;
	struct list l;
	struct out o;

	(void)state;
	f.remark = true;
	f.title = STR("the title");
	story(&l);
	for (unsigned i = 0; i < l.n; i++)
		timeline_event(tl, &l.e[i]);
	give_findings(tl, &f, 1);
	v = verdict_new(tl);
	out_init(&o, -1);
	sink_text(&o, tl, v, &opts);
	assert_true(str_pre(str_of(o.p, o.n), STR("no fault found")));
	assert_true(has(&o, "  the title\n"));
	out_fini(&o);
	verdict_free(v);
	timeline_free(tl);
}

static json_t *
parse(const struct out *o)
{
	json_error_t err;
	json_t *doc = json_loadb(o->p, o->n, JSON_REJECT_DUPLICATES, &err);

	if (doc == NULL)
		fail_msg("line %d: %s\n%.*s", err.line, err.text, (int)o->n, o->p);
	return doc;
}

static json_t *
get(json_t *v, const char *path)
{
	char name[64];
	const char *dot;

	for (; v && *path; path = *dot ? dot + 1 : dot) {
		dot = strchrnul(path, '.');
		(void)snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
		v = json_is_array(v) ?
		    json_array_get(v, (size_t)strtoul(name, NULL, 10)) :
		    json_object_get(v, name);
	}
	return v;
}

static void
json_for_a_program(void **state)
{
	static const struct {
		const char *path, *want;	/* as JSON */
	} rows[] = {
		{ "schema", "\"mcpdiag/1\"" }, { "version", "\"1.2\"" },
		{ "verdict", "\"fault\"" },
		{ "capture.files.0.name", "\"a\\nb.pcap\"" },
		{ "capture.packets", "30" }, { "capture.first", "0.0" },
		{ "capture.last", "5.0" }, { "capture.epoch", "1700000000.0" },
		{ "capture.linktypes", "[\"Ethernet\", \"Raw IP\"]" },
		{ "capture.truncated", "true" },
		{ "counts.sse_by_kind", "{\"post-response\": 1, \"standalone\": 1, "
		    "\"resumed\": 1, \"legacy\": 0, \"listen\": 0}" },
		{ "counts.jsonrpc", "{\"request\": 0, \"response\": 1, "
		    "\"error\": 0, \"notification\": 0}" },
		{ "sessions.0.id", "\"#0123456789\"" },
		{ "sessions.0.client", "\"cli\\u001b[31ment/1\"" },
		{ "sessions.0.implementation.client", "null" },
		{ "sessions.0.implementation.server",
		    "{\"looks_like\": \"rmcp 0.15\", \"evidence\": \"bare ids\"}" },
		{ "sessions.0.exchanges", "3" }, { "sessions.0.deleted", "true" },
		{ "sessions.0.opened", "0.001" },
		{ "sessions.0.streams", "[1, 2, 3]" },
		{ "streams.0.retry_ms", "3000" }, { "streams.1.retry_ms", "null" },
		{ "streams.1.last_event_id", "null" },
		{ "streams.2.last_event_id", "\"7\\u001b[2J\"" },
		{ "streams.1.ended", "0.05" }, { "streams.2.ended", "null" },
		{ "streams.2.end", "\"open\"" }, { "streams.1.exchange", "2" },
		{ "streams.1.packet", "12" }, { "streams.1.session", "\"#0123456789\"" },
		{ "streams.1.owner.1", "{\"t\": 0.03, \"role\": \"primary\", "
		    "\"by\": \"message\", \"packet\": 14, \"stream\": 0}" },
		{ "findings.0.detector", "\"leapfrog\"" },
		{ "findings.0.variant", "null" },
		{ "findings.0.consequence_of", "null" },
		{ "findings.1.consequence_of", "1" },
		{ "findings.0.period_ms", "3003" },
		{ "findings.0.facts.retry_ms", "3000" },
		{ "findings.0.evidence.0.t", "0.05" },
		{ "findings.0.session", "\"#0123456789\"" },
		{ "incomplete", "[\"a.pcap ends inside a record\"]" },
		{ "anomalies.0.name", "\"bare-lf\"" },
		{ "anomalies.0.first_packet", "25" },
	};
	struct finding f[] = { fault(1, "leapfrog", SEV_ERROR, 0),
	    fault(2, "replay-loop", SEV_WARNING, 1) };
	struct timeline *tl = new_timeline();
	struct list l;
	struct out o;
	json_t *doc;

	(void)state;
	story(&l);
	for (unsigned i = 0; i < l.n; i++)
		timeline_event(tl, &l.e[i]);
	give_findings(tl, f, 2);
	print(&o, tl, JSON);
	doc = parse(&o);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		json_t *got = get(doc, rows[i].path), *want;

		want = json_loads(rows[i].want, JSON_DECODE_ANY, NULL);
		assert_non_null(want);
		if (!json_equal(got, want))
			fail_msg("%s is not %s\n%.*s", rows[i].path, rows[i].want,
			    (int)o.n, o.p);
		json_decref(want);
	}
	/* The end of the file is the end of a line. */
	assert_int_equal(o.p[o.n - 1], '\n');
	json_decref(doc);
	out_fini(&o);
	timeline_free(tl);
}

/* Events through an event file give the same documents. */
static void
an_event_file_gives_the_same(void **state)
{
	struct list l;

	(void)state;
	story(&l);
	for (enum form form = JSON; form < N_FORMS; form++) {
		struct timeline *a = new_timeline(), *b = new_timeline();
		struct ndjson_in *in = ndjson_in_new(to_timeline, b);
		struct out file, x, y;
		struct ndjson *nd;

		out_init(&file, -1);
		nd = ndjson_new(&file);
		for (unsigned i = 0; i < l.n; i++) {
			timeline_event(a, &l.e[i]);
			ndjson_event(nd, &l.e[i]);
		}
		ndjson_in_feed(in, file.p, file.n);
		assert_int_equal(ndjson_in_stats(in)->bad, 0);
		assert_int_equal(ndjson_in_stats(in)->events, l.n);
		print(&x, a, form);
		print(&y, b, form);
		assert_int_equal(x.n, y.n);
		assert_memory_equal(x.p, y.p, x.n);
		ndjson_in_free(in);
		ndjson_free(nd);
		out_fini(&file);
		out_fini(&x);
		out_fini(&y);
		timeline_free(a);
		timeline_free(b);
	}
}

/* Puts a hostile string into every string of every event. */
static void
nothing_hostile_gets_out(void **state)
{
	static const char hostile[] =
	    "\x1b[31m\a\b\r\n\t\x7f\x9b" "\"\\\xc2\x9b\xe2\x80\xae\xff\xed\xa0\x80";
	struct finding f = fault(1, "leapfrog", SEV_ERROR, 0);
	struct list l;
	struct str s = str_of(hostile, sizeof hostile - 1);

	(void)state;
	story(&l);
	f.title = f.why = f.fix = f.evidence[0].what = s;
	f.facts[0] = (struct fact){ "x", FACT_TEXT, 0, s };
	for (enum form form = JSON; form <= TEXT_QUIET; form++) {
		struct timeline *tl = new_timeline();
		struct out o;

		for (unsigned i = 0; i < l.n; i++) {
			struct ev e = l.e[i];

			for (const struct ev_field *k = ev_fields(e.type); k->name; k++)
				if (k->type == EVT_STR)
					*(struct str *)(void *)((char *)&e + k->offset) = s;
			timeline_event(tl, &e);
		}
		give_findings(tl, &f, 1);
		print(&o, tl, form);
		for (size_t i = 0; i < o.n; i++) {
			unsigned char c = (unsigned char)o.p[i];

			if ((c < 0x20 && c != '\n') || c == 0x7f || c == 0xff ||
			    c == 0x9b)
				fail_msg("byte %02x in form %d", c, form);
		}
		assert_false(has(&o, "\xe2\x80\xae"));
		if (form == JSON)
			json_decref(parse(&o));
		out_fini(&o);
		timeline_free(tl);
	}
}

/* Colour adds escapes and changes no word. */
static void
colour_only_repeats(void **state)
{
	struct finding f = fault(1, "leapfrog", SEV_ERROR, 0);
	struct timeline *tl = new_timeline();
	struct list l;
	struct out plain, color;
	size_t n = 0;

	(void)state;
	story(&l);
	for (unsigned i = 0; i < l.n; i++)
		timeline_event(tl, &l.e[i]);
	give_findings(tl, &f, 1);
	print(&plain, tl, TEXT);
	print(&color, tl, TEXT_COLOR);
	assert_true(color.n > plain.n);
	for (size_t i = 0; i < color.n; i++) {
		if (color.p[i] == '\033') {
			while (color.p[i] != 'm')
				i++;
			continue;
		}
		color.p[n++] = color.p[i];
	}
	assert_int_equal(n, plain.n);
	assert_memory_equal(color.p, plain.p, n);
	out_fini(&plain);
	out_fini(&color);
	timeline_free(tl);
}

/* What cannot be known is left out, not given as 0. */
static void
encrypted_counts_are_left_out(void **state)
{
	struct timeline *tl = new_timeline();
	struct ev e = { .type = EV_END };
	struct out o;
	json_t *doc;

	(void)state;
	e.u.total.packets = 10;
	e.u.total.tcp_connections = 2;
	e.u.total.encrypted = 2;
	timeline_event(tl, &e);
	print(&o, tl, JSON);
	doc = parse(&o);
	assert_int_equal(json_object_size(json_object_get(doc, "counts")), 1);
	assert_int_equal(json_integer_value(get(doc, "counts.tcp_connections")), 2);
	assert_string_equal(json_string_value(get(doc, "verdict")), "unknown");
	json_decref(doc);
	out_fini(&o);
	timeline_free(tl);
}

static void
long_sessions_are_elided(void **state)
{
	struct timeline *tl = new_timeline();
	struct ev e = { .type = EV_SESSION, .session = 1 };
	struct out o;

	(void)state;
	e.u.session.key = STR("#k");
	timeline_event(tl, &e);
	for (uint32_t i = 1; i <= 30; i++) {
		e = (struct ev){ .type = EV_STREAM, .stream = i, .session = 1,
		    .pkt = i, .t = i };
		e.u.stream.kind = EV_STANDALONE;
		timeline_event(tl, &e);
	}
	print(&o, tl, TEXT);
	assert_true(has(&o, "\n  ... 18 more (-v shows all)\n      28     28 "));
	assert_false(has(&o, "\n      10     10 "));
	out_fini(&o);
	print(&o, tl, TEXT_ALL);
	assert_false(has(&o, "more (-v"));
	assert_true(has(&o, "\n      10     10 "));
	out_fini(&o);
	timeline_free(tl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_for_a_person),
		cmocka_unit_test(remarks_on_request),
		cmocka_unit_test(remarks_alone),
		cmocka_unit_test(json_for_a_program),
		cmocka_unit_test(an_event_file_gives_the_same),
		cmocka_unit_test(nothing_hostile_gets_out),
		cmocka_unit_test(colour_only_repeats),
		cmocka_unit_test(encrypted_counts_are_left_out),
		cmocka_unit_test(long_sessions_are_elided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
