/* verdict: the sentence that comes first, and what keeps it from being sure. */
#include "mcpdiag/verdict.h"
#include "util.h"

struct facts {
	uint64_t packets, tcp, dropped, truncated, encrypted, http2, gaps;
	bool mcp, mcp_gap, unknown_stream, midstream, undecoded;
	const char *note, *anomaly, *file_error;
	int findings;		/* 0 none, 1 info, 2 warning, 3 error */
	bool remark;		/* on the specification only */
};

static const struct {
	const char *what;
	struct facts f;
	enum verdict_kind kind;
	bool hidden;
	const char *text;	/* a part of the verdict or of the first reason */
} rows[] = {
	{ "nothing at all", { 0 }, VERDICT_EMPTY, false, "no packets" },
	{ "only UDP", { .packets = 5 }, VERDICT_NO_TCP, false, "no TCP in 5 packets" },
	{ "TCP, no MCP", { .packets = 5, .tcp = 1 }, VERDICT_NO_MCP, false,
	  "no MCP traffic found in 5 packets, 1 TCP connection" },
	{ "MCP and nothing wrong", { .packets = 5, .tcp = 1, .mcp = true },
	  VERDICT_CLEAN, false, "no fault found in 1 MCP session (1 HTTP exchange, " },
	{ "all of it was read", { .packets = 5, .tcp = 1, .mcp = true },
	  VERDICT_CLEAN, false, ", read to the last byte: the wire is clean, look at the endpoints" },
	{ "so with an info", { .packets = 5, .tcp = 1, .mcp = true, .findings = 1 },
	  VERDICT_CLEAN, false, "the wire is clean" },
	{ "an error", { .packets = 5, .tcp = 1, .mcp = true, .findings = 3 },
	  VERDICT_FAULT, false, "leapfrog: title" },
	{ "a warning", { .packets = 5, .tcp = 1, .mcp = true, .findings = 2 },
	  VERDICT_FAULT, false, "leapfrog: title" },
	{ "what is for information is no fault",
	  { .packets = 5, .tcp = 1, .mcp = true, .findings = 1 },
	  VERDICT_CLEAN, false, "no fault found" },
	{ "nor a warning that is a remark",
	  { .packets = 5, .tcp = 1, .mcp = true, .findings = 2, .remark = true },
	  VERDICT_CLEAN, false, "no fault found" },
	{ "and it does not hide what is hidden", { .packets = 5, .tcp = 1, .mcp = true,
	    .findings = 2, .remark = true, .dropped = 1 },
	  VERDICT_UNKNOWN, true, "no fault found in what can be read" },
	{ "a fault stays one where packets are lost",
	  { .packets = 5, .tcp = 1, .mcp = true, .findings = 3, .dropped = 1 },
	  VERDICT_FAULT, true, "leapfrog: title" },
	{ "all encrypted", { .packets = 5, .tcp = 3, .encrypted = 2 },
	  VERDICT_UNKNOWN, true, "cannot tell: 2 of 3 TCP connections are encrypted" },
	{ "encrypted beside MCP", { .packets = 5, .tcp = 3, .encrypted = 2, .mcp = true },
	  VERDICT_CLEAN, false, "2 of 3 TCP connections" },
	{ "HTTP/2", { .packets = 5, .tcp = 1, .http2 = 1 },
	  VERDICT_UNKNOWN, true, "1 TCP connection speaks HTTP/2" },
	{ "gaps in MCP", { .packets = 5, .tcp = 1, .mcp = true, .gaps = 1, .mcp_gap = true },
	  VERDICT_UNKNOWN, true, "1 gap in MCP connections: 9 bytes are missing" },
	{ "gaps elsewhere", { .packets = 5, .tcp = 2, .mcp = true, .gaps = 3 },
	  VERDICT_CLEAN, false, "3 gaps in connections that are not known to be MCP" },
	{ "gaps and no MCP", { .packets = 5, .tcp = 2, .gaps = 3 },
	  VERDICT_UNKNOWN, true, "3 gaps" },
	{ "drops", { .packets = 5, .tcp = 2, .mcp = true, .dropped = 1 },
	  VERDICT_UNKNOWN, true, "lost 1 packet (" },
	{ "snap length with no harm", { .packets = 5, .tcp = 2, .mcp = true, .truncated = 2 },
	  VERDICT_CLEAN, false, "2 packets are cut short" },
	{ "snap length and no MCP", { .packets = 5, .tcp = 2, .truncated = 2 },
	  VERDICT_UNKNOWN, true, "2 packets are cut short" },
	{ "streams of unknown kind",
	  { .packets = 5, .tcp = 2, .mcp = true, .midstream = true, .unknown_stream = true },
	  VERDICT_UNKNOWN, true, "1 event stream is of unknown kind" },
	{ "only a late start", { .packets = 5, .tcp = 2, .mcp = true, .midstream = true },
	  VERDICT_CLEAN, false, "1 MCP connection was open before" },
	{ "bodies that cannot be decoded",
	  { .packets = 5, .tcp = 2, .mcp = true, .undecoded = true },
	  VERDICT_UNKNOWN, true, "1 body could not be decoded" },
	{ "a file cut in its last record",
	  { .packets = 5, .tcp = 1, .mcp = true, .note = "cut-file" },
	  VERDICT_CLEAN, false, "note text" },
	{ "a limit", { .packets = 5, .tcp = 1, .mcp = true, .note = "limit" },
	  VERDICT_UNKNOWN, true, "note text" },
	{ "a note of an unknown name",
	  { .packets = 5, .tcp = 1, .mcp = true, .note = "weather" },
	  VERDICT_CLEAN, false, "note text" },
	{ "a damaged file",
	  { .packets = 5, .tcp = 1, .mcp = true, .file_error = "bad block" },
	  VERDICT_UNKNOWN, true, "f.pcap: bad block; read up to packet 5" },
	{ "an anomaly is not a reason",
	  { .packets = 5, .tcp = 1, .mcp = true, .anomaly = "weather" },
	  VERDICT_CLEAN, false, "no fault" },
	{ "but one at a limit is",
	  { .packets = 5, .tcp = 1, .mcp = true, .anomaly = "limit" },
	  VERDICT_UNKNOWN, true, "note text: 1 time, first in packet 0" },
};

static void
send(struct timeline *tl, struct ev e)
{
	timeline_event(tl, &e);
}

static void
tell_mcp(struct timeline *tl, const struct facts *f)
{
	struct ev e = { .type = EV_CONN, .conn = 1,
	    .flags = f->midstream ? EVF_MIDSTREAM : 0 };

	send(tl, e);
	e = (struct ev){ .type = EV_SESSION, .session = 1 };
	e.u.session.key = STR("#k");
	send(tl, e);
	send(tl, (struct ev){ .type = EV_REQUEST, .x = 1, .session = 1 });
	if (f->mcp_gap) {
		e = (struct ev){ .type = EV_GAP, .conn = 1 };
		e.u.gap.bytes = 9;
		send(tl, e);
	}
	if (f->unknown_stream) {
		e = (struct ev){ .type = EV_STREAM, .stream = 1 };
		e.u.stream.kind = EV_UNKNOWN_KIND;
		send(tl, e);
	}
	if (f->undecoded)
		send(tl, (struct ev){ .type = EV_RESPONSE_END, .flags = EVF_UNDECODED });
}

static void
note(struct timeline *tl, enum ev_type type, const char *name)
{
	struct ev e = { .type = type };

	if (name == NULL)
		return;
	e.u.note.name = str_c(name);
	e.u.note.text = STR("note text");
	send(tl, e);
}

static void
tell(struct timeline *tl, const struct facts *f, const struct finding *finding)
{
	struct ev e = { .type = EV_FILE };

	e.u.file.name = STR("f.pcap");
	e.u.file.error = str_c(f->file_error);
	e.u.file.packets = f->packets;
	send(tl, e);
	if (f->mcp)
		tell_mcp(tl, f);
	note(tl, EV_NOTE, f->note);
	note(tl, EV_ANOMALY, f->anomaly);
	if (f->findings) {
		e = (struct ev){ .type = EV_FINDING, .flags = EVF_FINAL };
		e.u.finding = finding;
		send(tl, e);
	}
	e = (struct ev){ .type = EV_END };
	e.u.total.packets = f->packets;
	e.u.total.tcp_connections = f->tcp;
	e.u.total.dropped = f->dropped;
	e.u.total.truncated = f->truncated;
	e.u.total.encrypted = f->encrypted;
	e.u.total.http2 = f->http2;
	e.u.total.gaps = f->gaps;
	send(tl, e);
}

static void
verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct finding f = { .n = 1, .detector = "leapfrog",
		    .severity = (enum severity)(rows[i].f.findings - 1),
		    .remark = rows[i].f.remark,
		    .title = STR("title") };
		struct limits lim;
		struct timeline *tl;
		struct verdict *v;

		limits_init(&lim);
		tl = timeline_new(&lim);
		tell(tl, &rows[i].f, &f);
		v = verdict_new(tl);
		if (v->kind != rows[i].kind || v->hidden != rows[i].hidden)
			fail_msg("%s: %s%s", rows[i].what, verdict_name(v->kind),
			    v->hidden ? ", hidden" : "");
		if (strstr(v->text, rows[i].text) == NULL && (v->n_reasons == 0 ||
		    strstr(v->reasons[0].text, rows[i].text) == NULL))
			fail_msg("%s: %s / %s", rows[i].what, v->text,
			    v->n_reasons ? v->reasons[0].text : "");
		/* Clean is said only when nothing at all speaks against it. */
		if (v->complete != (strstr(v->text, "wire is clean") != NULL) ||
		    v->complete != (v->kind == VERDICT_CLEAN && v->n_reasons == 0 &&
		    rows[i].f.findings < 2))
			fail_msg("%s: %s", rows[i].what, v->text);
		verdict_free(v);
		timeline_free(tl);
	}
}

/* What hides a fault is told before what does not. */
static void
reasons_in_order(void **state)
{
	struct facts f = { .packets = 9, .tcp = 3, .mcp = true, .midstream = true,
	    .encrypted = 1, .note = "late-mcp", .dropped = 2 };
	struct limits lim;
	struct timeline *tl;
	struct verdict *v;

	(void)state;
	limits_init(&lim);
	tl = timeline_new(&lim);
	tell(tl, &f, NULL);
	v = verdict_new(tl);
	assert_int_equal(v->n_reasons, 4);
	assert_string_equal(v->reasons[0].name, "dropped");
	assert_string_equal(v->reasons[1].name, "late-mcp");
	assert_string_equal(v->reasons[2].name, "encrypted");
	assert_string_equal(v->reasons[3].name, "midstream");
	assert_true(v->reasons[1].hides);
	assert_false(v->reasons[2].hides);
	verdict_free(v);
	verdict_free(NULL);
	timeline_free(tl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),
		cmocka_unit_test(reasons_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
