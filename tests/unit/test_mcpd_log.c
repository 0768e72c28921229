/* The server's own events against what its packets show. */
#include "mcpd_fix.h"

#include "ev_check.h"
#include "mcpdiag/capsynth.h"
#include "read_fix.h"

#define D11 "2025-11-25"
#define EMIT POST("0", CALL("1", "emit", "")), OK "emitted\n[end]"
#define LATER { 0, POST("0", CALL("1", "slow", "\"ms\":20")), OK "[end]" }
#define NOTED POST("0", NOTE("notifications/initialized", "")), "HTTP/1.1 202\n[end]"

/* What one side says, a line for each event.  They are compared type by type
 * and stream by stream: what a client's close ends, and the close itself, come
 * in that order from a server and in the other from packets; and what a server
 * says on several streams in one turn need not leave in that order. */
struct side {
	struct line {
		enum ev_type type;
		uint32_t stream, n;
		struct str text;
	} *line;
	uint32_t n, cap;
	struct ev_check check;
	bool roles;		/* owners, too */
	struct pipeline *p;	/* the events' */
};

struct log {
	struct mfix f;
	struct side own, packets;
	char path[40];
	struct capwrite *file;
	struct capsynth *synth;
};

/* What one side cannot know, or counts otherwise. */
static bool
differs(const struct ev *e, const char *name)
{
	static const struct {
		enum ev_type type;
		const char *name;
	} rows[] = {
		{ EV_REQUEST_END, "bytes" },	/* as sent: with chunks */
		{ EV_RESPONSE_END, "bytes" },
		{ EV_STREAM, "request_pkt" },
		{ EV_STREAM, "delay_ms" },	/* made up of the clock */
	};

	for (size_t i = 0; i < N_ROWS(rows); i++)
		if (rows[i].type == e->type && strcmp(rows[i].name, name) == 0)
			return true;
	/* Which of several gave out that cursor last depends on the order. */
	if (e->type == EV_STREAM && e->u.stream.givers > 1 &&
	    (strcmp(name, "resumes") == 0 || strcmp(name, "givers") == 0))
		return true;
	/* Observed only where rules look at it. */
	return e->type == EV_MESSAGE && !e->u.msg.sse && strcmp(name, "hash") == 0;
}

static void
add_field(struct buf *b, const struct ev *e, const struct ev_field *f)
{
	const void *p = (const char *)e + f->offset;
	uint32_t n = 0;

	if (differs(e, f->name))
		return;
	switch ((enum ev_field_type)f->type) {
	case EVT_STR:
		if (((const struct str *)p)->p)
			(void)buf_fmt(b, " %s=%.*s", f->name, STR_ARG(*(const struct str *)p));
		break;
	case EVT_BOOL:
		(void)buf_fmt(b, " %s=%d", f->name, *(const bool *)p);
		break;
	case EVT_U32:
		(void)buf_fmt(b, " %s=%u", f->name, *(const uint32_t *)p);
		break;
	case EVT_U64: case EVT_HASH:
		(void)buf_fmt(b, " %s=%llx", f->name,
		    (unsigned long long)*(const uint64_t *)p);
		break;
	case EVT_I64:
		(void)buf_fmt(b, " %s=%lld", f->name, (long long)*(const int64_t *)p);
		break;
	case EVT_ENUM:
		memcpy(&n, p, sizeof n);
		(void)buf_fmt(b, " %s=%s", f->name, f->names[n]);
		break;
	case EVT_NS: case EVT_FLAGS:
		break;
	}
}

static void
add_line(struct side *s, const struct ev *e, const struct buf *b)
{
	s->line = xgrow(s->line, s->n, &s->cap, sizeof *s->line);
	s->line[s->n] = (struct line){ e->type, e->stream, s->n,
		str_of(xmemdup0(b->p, b->n), b->n) };
	s->n++;
}

/* Before a message proves it, packets show only that a stream may be the
 * primary; the server knows. */
static enum ev_role
known(enum ev_role r)
{
	return r == EV_PRESUMED ? EV_PRIMARY : r;
}

static void
on_line(void *arg, const struct ev *e)
{
	struct side *s = arg;
	const struct finding *fi;
	struct buf b;

	ev_check(&s->check, e);
	/* Bytes that break a rule are answered, not told. */
	if (e->type == EV_FILE || e->type == EV_NOTE || e->type == EV_ANOMALY ||
	    (e->type == EV_OWNER &&
	    (!s->roles || known(e->u.owner.from) == known(e->u.owner.to))) ||
	    (e->type == EV_FINDING && !(e->flags & EVF_FINAL)))
		return;
	buf_init(&b, 1 << 20);
	if (e->type == EV_FINDING) {
		fi = e->u.finding;
		(void)buf_fmt(&b, "finding %s/%s session=%u count=%llu", fi->detector,
		    fi->variant ? fi->variant : "", fi->session,
		    (unsigned long long)fi->count);
	} else if (e->type == EV_OWNER) {
		(void)buf_fmt(&b, "owner stream=%u from=%s to=%s cause=%u", e->stream,
		    ev_role_names[known(e->u.owner.from)],
		    ev_role_names[known(e->u.owner.to)], e->u.owner.cause);
	} else if (e->type == EV_END) {
		(void)buf_fmt(&b, "end connections=%llu",
		    (unsigned long long)e->u.total.tcp_connections);
	} else {
		(void)buf_fmt(&b, "%s conn=%u", ev_type_name(e->type), e->conn);
		if (e->type != EV_CONN_END)
			(void)buf_fmt(&b, " x=%u stream=%u session=%u", e->x, e->stream,
			    e->session);
		(void)buf_fmt(&b, " %s flags=%x", ev_dir_names[e->dir], e->flags);
		for (const struct ev_field *f = ev_fields(e->type); f && f->name; f++)
			add_field(&b, e, f);
	}
	add_line(s, e, &b);
	buf_fini(&b);
}

static void
on_event(void *arg, const struct ev *e)
{
	struct log *l = arg;

	pipeline_event(l->own.p, e);
}

static void
on_opened(void *arg, uint32_t conn, const char *client, const char *server)
{
	struct log *l = arg;

	assert_int_equal(capsynth_open(l->synth, conn, client, server,
	    loop_now(l->f.loop)), 0);
}

static void
on_bytes(void *arg, uint32_t conn, bool response, const void *p, size_t n)
{
	struct log *l = arg;

	assert_int_equal(capsynth_data(l->synth, conn, response, p, n,
	    loop_now(l->f.loop)), 0);
}

static void
on_closed(void *arg, uint32_t conn, bool by_client, bool reset)
{
	struct log *l = arg;

	assert_int_equal(capsynth_close(l->synth, conn, by_client, reset,
	    loop_now(l->f.loop)), 0);
}

static struct pipeline *
new_pipeline(struct side *s, bool roles)
{
	struct pipeline_opts po = { .tap = on_line, .arg = s };

	*s = (struct side){ .roles = roles };
	limits_init(&po.limits);
	return pipeline_new(&po);
}

static void
log_init(struct log *l, const char *opts, bool roles)
{
	struct capwrite_opts co = { .linktype = CAPSYNTH_LINKTYPE };
	struct pipeline *p;
	struct mcpd_opts o;
	struct errmsg em;
	int fd;

	*l = (struct log){ .path = "/tmp/test_mcpd_log.XXXXXX" };
	fd = mkstemp(l->path);
	assert_true(fd >= 0);
	(void)close(fd);
	l->file = capwrite_new(l->path, &co, &em);
	assert_non_null(l->file);
	l->synth = capsynth_new(l->file, 1024);
	p = new_pipeline(&l->own, roles);
	l->own.p = p;
	mfix_options(&o, opts);
	o.event = on_event;
	o.opened = on_opened;
	o.bytes = on_bytes;
	o.closed = on_closed;
	o.arg = l;
	mfix_init(&l->f, &o);
}

static void
read_packets(struct log *l, bool roles)
{
	struct pipeline *p = new_pipeline(&l->packets, roles);

	read_packets_of(p, l->path);
	pipeline_free(p);
}

static int
by_stream(const void *a, const void *b)
{
	const struct line *p = a, *q = b;

	if (p->type != q->type)
		return p->type < q->type ? -1 : 1;
	if (p->stream != q->stream && p->type != EV_CONN_END)
		return p->stream < q->stream ? -1 : 1;
	return p->n < q->n ? -1 : 1;
}

/* Says the lines in which they differ first, of each type. */
static bool
same(struct log *l, const char *what)
{
	struct side *a = &l->own, *b = &l->packets;
	enum ev_type last = EV_N_TYPES;
	uint32_t i = 0, j = 0;

	qsort(a->line, a->n, sizeof *a->line, by_stream);
	qsort(b->line, b->n, sizeof *b->line, by_stream);
	for (; i < a->n || j < b->n; i++, j++) {
		struct line none = { EV_N_TYPES, 0, 0, STR("-") };
		struct line *p = i < a->n ? &a->line[i] : &none;
		struct line *q = j < b->n ? &b->line[j] : &none;

		if (str_eq(p->text, q->text))
			continue;
		last = p->type < q->type ? p->type : q->type;
		print_error("%s:\nown     %.*s\npackets %.*s\n", what, STR_ARG(p->text),
		    STR_ARG(q->text));
		while (i + 1 < a->n && a->line[i + 1].type == last)
			i++;
		while (j + 1 < b->n && b->line[j + 1].type == last)
			j++;
	}
	return last == EV_N_TYPES && a->n > 0;
}

/* What must have been found, lest all agree on nothing. */
static bool
found_it(const struct side *s, const char *what)
{
	static const char *const rows[][2] = {
		{ "leapfrog", "finding leapfrog/ " }, { "replayed", "finding replay-loop/ " },
	};
	const char *want = NULL;

	for (size_t i = 0; i < N_ROWS(rows); i++)
		if (strcmp(rows[i][0], what) == 0)
			want = rows[i][1];
	for (uint32_t i = 0; want && i < s->n; i++)
		if (str_pre(s->line[i].text, str_c(want)))
			want = NULL;
	return want == NULL;
}

static void
side_fini(struct side *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free((char *)(uintptr_t)s->line[i].text.p);
	free(s->line);
	ev_check_fini(&s->check);
}

static bool
log_scene(const struct scene *s, bool roles)
{
	struct log l;
	bool ok = true;

	log_init(&l, s->opts, roles);
	for (size_t i = 0; ok && i < STEPS && (s->step[i].send || s->step[i].want); i++) {
		const struct step *t = &s->step[i];

		if (t->send)
			mfix_send(&l.f, t->c, t->send);
		if (t->want)
			ok = mfix_reads(&l.f, t->c, t->want, s->what, i);
	}
	mfix_fini(&l.f);
	pipeline_end(l.own.p);
	pipeline_free(l.own.p);
	assert_int_equal(capwrite_flush(l.file), 0);
	capsynth_free(l.synth);
	capwrite_free(l.file);
	read_packets(&l, roles);
	ok = ok && same(&l, s->what) && found_it(&l.own, s->what);
	side_fini(&l.own);
	side_fini(&l.packets);
	(void)unlink(l.path);
	return ok;
}

static const struct scene scenes[] = {
	{ "a session and its end", "", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: g1-0" },
	    { 0, POST("0", REQ("1", "tools/list", "")), OK "[end]" },
	    { 0, POST("0", CALL_P("2", "slow", "\"ms\":2,\"steps\":2", "\"t\"")), OK "[end]" },
	    { 0, EMIT }, { 1, NULL, CHANGED },
	    { 0, POST("0", CALL("3", "fail", "\"rpc\":true")), OK "[end]" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" }, { 1, NULL, "[end]" },
	    { 0, POST("0", REQ("4", "ping", "")), "HTTP/1.1 404\n[end]" } } },
	{ "in JSON", "json", {
	    BEGIN(0, "2025-03-26"), { 0, NOTED },
	    { 0, POST("0", "[" REQ("1", "ping", "") "," REQ("2", "tools/list", "") "]"),
	      OK "[end]" },
	    { 0, POST("0", CALL("3", "echo", "\"text\":\"a\"")), OK "[end]" },
	    { 0, POST("0", "{"), "HTTP/1.1 400\n[end]" } } },
	{ "what is refused", "", {
	    { 0, "GET", "HTTP/1.1 400\n[end]" },
	    BEGIN(0, D11),
	    { 0, "POST\nHost: evil\n\n" INIT(D11), "HTTP/1.1 403\n[end]" },
	    { 0, "PUT", "HTTP/1.1 405\n[end]" }, { 0, "GET /x", "HTTP/1.1 404\n[end]" },
	    { 0, "POST\n-Accept\n\n" INIT(D11), "HTTP/1.1 406\n[end]" },
	    { 0, "OPTIONS\nOrigin: http://localhost", "HTTP/1.1 204\n[end]" } } },
	{ "shadows and their promotion", "keepalive=5", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: g1-0\n^:^" },
	    { 2, GET("0"), OK "id: g2-0\n^:^" },
	    { 0, EMIT }, { 1, NULL, CHANGED }, { 1, "@close", NULL },
	    { 2, NULL, ": promoted" }, { 0, EMIT }, { 2, NULL, CHANGED },
	    { 3, GET_AFTER("0", "g1-1"), OK ": shadow" }, { 2, "@reset", NULL },
	    { 3, NULL, "promoted" }, { 0, EMIT }, { 3, NULL, CHANGED } } },
	{ "resumed requests", "conformance", {
	    BEGIN(0, D11), { 0, NOTED },
	    { 1, POST("0", CALL("1", "test_reconnection", "")), OK "id: r1-0\n[end]" },
	    { 1, GET_AFTER("0", "r1-0"), OK "\"id\":1\n[end]" },
	    { 1, POST("0", CALL_P("2", "slow", "\"ms\":40,\"steps\":4", "1")), OK "r2-1" },
	    { 1, "@close", NULL }, { 1, GET_AFTER("0", "r2-1"), OK "\"id\":2,\n[end]" } } },
	{ "leapfrog", "policy=replace retry=20", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: 0" }, LATER,
	    { 2, GET("0"), OK "id: 0" }, { 1, NULL, "[end]" }, LATER,
	    { 1, GET_AFTER("0", "0"), OK }, { 2, NULL, "[end]" }, LATER,
	    { 2, GET_AFTER("0", "0"), OK }, { 1, NULL, "[end]" }, LATER,
	    { 1, GET_AFTER("0", "0"), OK }, { 2, NULL, "[end]" }, LATER,
	    { 2, GET_AFTER("0", "0"), OK }, { 1, NULL, "[end]" } } },
	{ "replayed", "policy=replace", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: 0" }, { 0, EMIT },
	    { 1, NULL, CHANGED }, { 1, "@close", NULL }, { 1, GET_AFTER("0", "0"), OK CHANGED },
	    { 1, "@close", NULL }, { 1, GET_AFTER("0", "0"), OK CHANGED }, { 1, "@close", NULL },
	    { 1, GET_AFTER("0", "0"), OK CHANGED } } },
	{ "sampling", "", {
	    { 0, "POST\n\n" INIT_CAPS(D11, "\"sampling\":{}"), OK "[end]" }, { 0, NOTED },
	    { 1, POST("0", CALL("1", "ask", "")), OK "sampling/" },
	    { 0, POST("0", RPC("\"id\":1,\"result\":{\"content\":{\"text\":\"a\"}}")),
	      "HTTP/1.1 202\n[end]" }, { 1, NULL, "LLM response\n[end]" } } },
	{ "cancelled", "", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, POST("0", CALL("7", "slow", "\"ms\":3600000")), OK },
	    { 0, POST("0", NOTE("notifications/cancelled", "\"requestId\":7")),
	      "HTTP/1.1 202\n[end]" }, { 1, NULL, "[end]" },
	    { 1, POST("0", CALL("8", "slow", "\"ms\":3600000")), OK "id: " },
	    { 1, "@close", NULL }, LATER } },
	{ "the end of the server", "", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: g1-0" },
	    { 2, POST("0", CALL("7", "slow", "\"ms\":3600000")), OK "id: r1" },
	    { 0, "@stop", NULL }, { 1, NULL, "[end]" }, { 2, NULL, "[end]" } } },
	{ "an abrupt one", "fault=abrupt-shutdown", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: g1-0" },
	    { 0, "@stop", NULL }, { 1, NULL, "[rst]" } } },
	{ "after DELETE", "fault=keep-after-delete keepalive=5", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), OK "id: g1-0" },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" }, { 1, NULL, "^:^\n^:^" },
	    { 1, "@close", NULL } } },
	{ "refused GETs", "fault=refuse-get", {
	    BEGIN(0, D11), { 0, NOTED }, { 1, GET("0"), "HTTP/1.1 500\n[end]" },
	    { 1, GET("0"), "HTTP/1.1 500\n[end]" } } },
	{ "2026-07-28", "", {
	    { 0, "POST\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: server/discover\n\n"
	      REQ("1", "server/discover", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
	      "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"), OK "[end]" },
	    { 1, "POST\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen\n\n"
	      REQ("2", "subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},"
	      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	      "\"io.modelcontextprotocol/clientCapabilities\":{}}"), OK "acknowledged" },
	    { 1, "@emit", CHANGED }, { 1, "@close", NULL },
	    { 0, "POST\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\n\n"
	      REQ("1", "tools/list", ""), "HTTP/1.1 400\n[end]" } } },
	{ "HTTP+SSE", "legacy", {
	    { 0, "GET /sse", OK "endpoint\n^^" }, { 0, "@close", NULL },
	    { 1, "POST /messages?sessionId=x\n\n" INIT(D11), "HTTP/1.1 404\n[end]" } } },
};

static void
test_agree(void **state)
{
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < N_ROWS(scenes); i++)
		bad += !log_scene(&scenes[i], false);
	assert_int_equal(bad, 0);
}

/* Who owns the channel, too.  Not compared: HTTP+SSE, which has one stream, and
 * so no channel of which the server would tell; and the policy shadow, where a
 * dead primary leaves the others orphans, which packets show only when a message
 * does not come. */
static void
test_owners(void **state)
{
	size_t bad = 0, n = 0;

	(void)state;
	for (size_t i = 0; i < N_ROWS(scenes); i++) {
		if (strstr(scenes[i].opts, "legacy"))
			continue;
		bad += !log_scene(&scenes[i], true);
		n++;
	}
	assert_int_equal(bad, 0);
	assert_true(n > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agree),
		cmocka_unit_test(test_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
