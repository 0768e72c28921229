#include "mcpd_fix.h"

/* Event streams: who gets what, how they end, what a client may make grow. */

#define D11 "2025-11-25"
#define OPEN "POST\n" SID("0") "\n"
#define EMIT POST("0", CALL("1", "emit", "")), OK "emitted\n[end]"
#define GET_OK(n) OK "Content-Type: text/event-stream\nCache-Control: no-cache\n\r\n\r\n" \
	"id: g" n "-"
#define SHADOW " shadow"
#define PRIMARY " primary"
#define BEGUN BEGIN(0, D11)

static const struct scene promote[] = {
	{ "the first is the primary, the next a shadow", "", {
	    BEGUN,
	    { 1, GET("0"), OK ":" PRIMARY "\nid: g1-0\nretry: 3000\ndata: \n" },
	    { 2, GET("0"), OK ":" SHADOW "\nid: g2-0\nretry: 3000\ndata: \n" },
	    { 0, EMIT },
	    { 1, NULL, "id: g1-1\n" CHANGED },
	    { 0, EMIT },
	    { 1, NULL, "id: g1-2\n" CHANGED },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 1, NULL, "[end]" }, { 2, NULL, "!" CHANGED "\n[end]" } } },
	{ "promoted on FIN", "", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 3, GET("0"), GET_OK("3") },
	    { 1, "@close", NULL },
	    { 3, NULL, ": promoted to primary" },
	    { 0, EMIT },
	    { 3, NULL, "id: g3-1\n" CHANGED },
	    { 3, "@close", NULL },
	    { 2, NULL, ": promoted to primary" },
	    { 0, EMIT },
	    { 2, NULL, "id: g2-2\n" CHANGED } } },
	{ "promoted on RST", "", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 1, "@reset", NULL },
	    { 2, NULL, ": promoted to primary" },
	    { 0, EMIT }, { 2, NULL, "id: g2-1\n" CHANGED } } },
	{ "promoted on a half-close", "", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 1, "@half", "[fin]" },
	    { 2, NULL, ": promoted to primary" } } },
	{ "an emit right behind the end reaches the next one", "", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 1, "@close", NULL }, { 2, "@emit", ": promoted to primary\nid: g2-1\n" CHANGED } } },
	{ "and behind a reset", "", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 1, "@reset", NULL }, { 2, "@emit", ": promoted to primary\nid: g2-1\n" CHANGED } } },
	{ "what nobody could get waits for the next one", "", {
	    BEGUN, { 0, EMIT }, { 0, EMIT },
	    { 1, GET("0"), OK "id: g1-0\nid: g1-1\n" CHANGED "\nid: g1-2\n" CHANGED },
	    { 2, GET("0"), OK "!" CHANGED "\nid: g2-2\nretry: 3000\ndata: \n" } } },
	{ "resumed strictly behind the cursor, and only its own", "", {
	    BEGUN, { 1, GET("0"), GET_OK("1") },
	    { 0, EMIT }, { 0, EMIT }, { 0, EMIT },
	    { 1, NULL, "g1-1\ng1-2\ng1-3" },
	    { 1, "@close", NULL },
	    { 2, GET_AFTER("0", "g1-1"), OK "!g1-1\nid: g1-2\n" CHANGED "\nid: g1-3\n" CHANGED },
	    { 2, "@close", NULL },
	    { 2, GET_AFTER("0", "g1-3"), OK PRIMARY },
	    { 0, EMIT }, { 2, NULL, "!g1-3\nid: g1-4\n" CHANGED },
	    { 2, "@close", NULL },
	    { 2, GET("0"), OK "!" CHANGED "\nid: g" } } },
	{ "inclusive", "inclusive", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 0, EMIT }, { 0, EMIT },
	    { 1, NULL, "g1-1\ng1-2" }, { 1, "@close", NULL },
	    { 2, GET_AFTER("0", "g1-2"), OK "!g1-1\nid: g1-2\n" CHANGED } } },
	{ "cursors that are none of ours", "", {
	    BEGUN,
	    { 1, GET_AFTER("0", "0"), OK PRIMARY "\nid: g1-0" },
	    { 2, GET_AFTER("0", "-1"), OK "id: g2-0" },
	    { 3, GET_AFTER("0", "g1-99999999999999999999999999"), OK "id: g3-0" },
	    { 4, GET_AFTER("0", "g99-1"), OK "id: g4-0" },
	    { 5, GET_AFTER("0", "r99-1"), OK "id: g5-0" },
	    { 6, GET_AFTER("0", "g1-0\"\\<>"), OK "id: g6-0" },
	    { 7, "GET\n" SID("0") "Last-Event-ID:", OK "id: g7-0" } } },
	{ "refused at the cap, nobody is put out", "cap=1", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 3, GET("0"), "HTTP/1.1 429\napplication/json\n-32000\n[end]" },
	    { 2, "@close", NULL },
	    { 0, POST("0", CALL("1", "slow", "\"ms\":5")), OK "[end]" },
	    { 3, GET("0"), OK SHADOW } } },
	{ "comments", "keepalive=1", {
	    BEGUN, { 1, GET("0"), GET_OK("1") }, { 2, GET("0"), GET_OK("2") },
	    { 1, NULL, "^:^\n^:^\n^:^" }, { 2, NULL, "^:^\n^:^\n^:^" },
	    { 3, POST("0", CALL("1", "slow", "\"ms\":30,\"steps\":1")), OK "^:^\nslow: done\n"
	      "[end]" } } },
	{ "no priming before 2025-11-25", "", {
	    BEGIN(0, "2025-06-18"),
	    { 1, GET("0"), OK PRIMARY "\n!id: \n!data\nretry: 3000\n\n" },
	    { 0, POST("0", CALL("1", "emit", "")), OK "!retry\n!data: \nid: r1-1\nretry: 3000\n"
	      "emitted\n[end]" },
	    { 1, NULL, "!retry\nid: g1-1\n" CHANGED } } },
	{ "retry", "retry=200", {
	    BEGUN, { 1, GET("0"), GET_OK("1") "\nretry: 200" } } },
};

static const struct scene policies[] = {
	{ "replace: leapfrog", "policy=replace", {
	    BEGUN,
	    { 1, GET("0"), OK "data: \nid: 0\nretry: 3000" },
	    { 2, GET("0"), OK "data: \nid: 0\nretry: 3000" },
	    { 1, NULL, "[end]" },
	    { 0, "@emit", NULL }, { 2, NULL, CHANGED "\nid: 0" },
	    { 1, GET_AFTER("0", "0"), OK "data: {\n" CHANGED "\nid: 0" },
	    { 2, NULL, "[end]" } } },
	{ "conflict", "policy=conflict", {
	    BEGUN, { 1, GET("0"), OK "id: 0" },
	    { 2, GET("0"), "HTTP/1.1 409\ntext/plain\nConflict\n[end]" },
	    { 1, "@close", NULL },
	    { 0, POST("0", CALL("1", "slow", "\"ms\":5")), OK "[end]" },
	    { 2, GET_AFTER("0", "x"), "HTTP/1.1 500\n[end]" },
	    { 2, GET_AFTER("0", "0/99"), "HTTP/1.1 500\n[end]" },
	    { 2, GET("0"), OK "id: 0" } } },
	{ "shadow: nobody is promoted", "policy=shadow", {
	    BEGUN, { 1, GET("0"), OK "id: 0" }, { 2, GET("0"), OK "id: 0" },
	    { 1, "@close", NULL },
	    { 0, POST("0", CALL("1", "slow", "\"ms\":5")), OK "[end]" },
	    { 0, "@emit", NULL },
	    { 3, GET("0"), OK "id: 0" },
	    { 0, "@emit", NULL }, { 3, NULL, CHANGED },
	    { 0, "DELETE\n" SID("0"), "HTTP/1.1 204\n[end]" },
	    { 2, NULL, "!" CHANGED "\n[end]" } } },
	{ "shadow-empty: 200 and an end", "policy=shadow-empty", {
	    BEGUN, { 1, GET("0"), OK "id: 0" },
	    { 2, GET_AFTER("0", "1/77"), OK "!data\n[end]" },
	    { 2, GET_AFTER("0", "x"), OK "!data\n[end]" } } },
	{ "shadow-replay: the oldest goes at the cap", "policy=shadow-replay cap=1", {
	    BEGUN, { 1, GET("0"), OK "id: 0" }, { 2, GET("0"), OK "id: 0" },
	    { 3, GET("0"), OK "id: 0" }, { 2, NULL, "[end]" } } },
};

static const struct scene legacy[] = {
	{ "HTTP+SSE", "legacy", {
	    { 0, "GET /sse", OK "text/event-stream\nevent: endpoint\ndata: /messages?sessionId=" },
	    { 1, "POST /messages?sessionId=x\n\n" INIT("2024-11-05"), "HTTP/1.1 404\n[end]" },
	    { 1, "POST /messages\n\n" INIT("2024-11-05"), "HTTP/1.1 404\n[end]" },
	    { 1, "POST /sse\n\n" INIT("2024-11-05"), "HTTP/1.1 404\n[end]" },
	    { 1, "GET /messages", "HTTP/1.1 404\n[end]" } } },
	{ "a session of the other transport", "legacy", {
	    BEGIN(0, D11),
	    { 1, "POST /messages?sessionId=$0\n\n" REQ("1", "ping", ""),
	      "HTTP/1.1 404\n[end]" } } },
};

static void
test_promote(void **state)
{
	(void)state;
	mfix_scenes(promote, N_ROWS(promote));
}

static void
test_policies(void **state)
{
	(void)state;
	mfix_scenes(policies, N_ROWS(policies));
}

/* The session id is in the endpoint: it becomes $0. */
static void
learn_endpoint(struct mfix *f)
{
	struct str s = buf_str(&f->c[0].text);
	size_t at = str_find(s, STR("sessionId="));

	assert_true(at != SIZE_MAX && s.n - at >= 10 + 32);
	memcpy(f->c[0].sid, s.p + at + 10, 32);
	f->c[0].sid[32] = '\0';
}

#define LPOST(body) "POST /messages?sessionId=$0\n-Accept\n\n" body
#define ACCEPTED "HTTP/1.1 202\nAccepted\n[end]"

static const struct step legacy_steps[] = {
	{ 1, LPOST(INIT("2024-11-05")), ACCEPTED },
	{ 0, NULL, "event: message\n!id: \ndata: {\n\"protocolVersion\":\"2024-11-05\"" },
	{ 1, LPOST(NOTE("notifications/initialized", "")), ACCEPTED },
	{ 1, LPOST(REQ("1", "tools/list", "")), ACCEPTED },
	{ 0, NULL, "event: message\n\"id\":1,\n\"tools\":[" },
	{ 1, LPOST(CALL_P("2", "slow", "\"ms\":1,\"steps\":1", "\"t\"")), ACCEPTED },
	{ 0, NULL, "\"progressToken\":\"t\"\n\"id\":2,\nslow: done" },
	{ 1, LPOST(CALL("3", "emit", "\"n\":2")), ACCEPTED },
	{ 0, NULL, CHANGED "\n" CHANGED "\n\"id\":3,\nemitted" },
	{ 1, LPOST("{"), "HTTP/1.1 400\n[end]" },
	{ 1, LPOST("[" REQ("4", "ping", "") ",7," REQ("5", "ping", "") "]"), ACCEPTED },
	{ 0, NULL, "\"id\":4\n\"id\":5" },
	{ 1, LPOST(CALL("6", "slow", "\"ms\":3600000")), ACCEPTED },
	{ 1, LPOST(NOTE("notifications/cancelled", "\"requestId\":6")), ACCEPTED },
	{ 1, LPOST(REQ("7", "nope", "")), ACCEPTED },
	{ 0, NULL, "!\"id\":6\n\"id\":7,\"error\"" },
	/* Its session is not one of the other transport. */
	{ 1, "POST\n" SID("0") "\n" REQ("8", "ping", ""), "HTTP/1.1 404\n[end]" },
	{ 1, LPOST(CALL("9", "slow", "\"ms\":3600000")), ACCEPTED },
};

static void
test_legacy(void **state)
{
	struct mcpd_opts o;
	struct mfix f;

	(void)state;
	mfix_scenes(legacy, N_ROWS(legacy));
	for (int how = 0; how < 3; how++) {
		mfix_options(&o, "legacy");
		mfix_init(&f, &o);
		mfix_send(&f, 0, "GET /sse");
		mfix_want(&f, 0, "sessionId=\n\n");
		learn_endpoint(&f);
		for (size_t i = 0; i < N_ROWS(legacy_steps); i++) {
			const struct step *t = &legacy_steps[i];

			if (t->send)
				mfix_send(&f, t->c, t->send);
			assert_true(mfix_reads(&f, t->c, t->want, "legacy", i));
		}
		f.sessions = f.streams = 0;
		mfix_send(&f, 0, how == 0 ? "@close" : how == 1 ? "@reset" : "@stop");
		mfix_run(&f, mfix_has);
		if (how == 2)
			mfix_want(&f, 0, "[end]");
		else
			mfix_send(&f, 1, LPOST(REQ("8", "ping", "")));
		if (how != 2)
			mfix_want(&f, 1, "HTTP/1.1 404\n[end]");
		mfix_fini(&f);
	}
}

/* ---- a client that does not read ---- */

/* Sends n notifications on the session of client 0. */
static void
emit(struct mfix *f, int n)
{
	char text[512];

	(void)snprintf(text, sizeof text, OPEN "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
	    "\"tools/call\",\"params\":{\"name\":\"emit\",\"arguments\":{\"n\":%d}}}", n);
	mfix_send(f, 0, text);
	mfix_want(f, 0, OK "emitted\n[end]");
}

/* The numbers of the events that client i has whole go on from `last`, without
 * a gap, none twice; returns the last of them. */
static unsigned long
check_numbers(struct mfix *f, int i, unsigned long last)
{
	struct str s;
	size_t at;

	read_text(&f->c[i]);
	s = buf_str(&f->c[i].text);
	while ((at = str_find(s, STR("\nid: g1-"))) != SIZE_MAX) {
		unsigned long k = strtoul(s.p + at + 8, NULL, 10);

		s = str_of(s.p + at + 8, s.n - at - 8);
		if (str_find(s, STR("\n\n")) == SIZE_MAX)
			break;
		if (k > 0)
			assert_int_equal(k, ++last);
	}
	return last;
}

/* Comes back until it has all of them. */
static void
resume(struct mfix *f, unsigned long last, unsigned long all)
{
	char text[128];

	while (last < all) {
		unsigned long now;

		(void)snprintf(text, sizeof text, GET_AFTER("0", "g1-%lu"), last);
		mfix_send(f, 2, text);
		(void)snprintf(text, sizeof text, "id: g1-%lu\n\n", all);
		f->at = &f->c[2];
		f->want = text;
		assert_true(mfix_try(f, came_or_over));
		now = check_numbers(f, 2, last);
		assert_true(now > last);
		last = now;
		peer_free(&f->c[2]);
	}
	assert_int_equal(last, all);
}

static void
slow_reader(struct mfix *f, const char *opts)
{
	struct mcpd_opts o;

	mfix_options(&o, opts);
	o.channel.keep = 100000;
	o.channel.keep_bytes = 100 << 20;
	mfix_init(f, &o);
	mfix_send(f, 0, "POST\n\n" INIT(D11));
	mfix_want(f, 0, OK "[end]");
	mfix_send(f, 1, "@small");
	mfix_send(f, 1, GET("0"));
	mfix_want(f, 1, "id: g1-0\n\n");
	mfix_send(f, 1, "@deaf");
}

/* It is dropped, and can resume behind what it took: nothing is lost and
 * nothing comes twice. */
static void
test_slow_reader(void **state)
{
	struct mfix f;
	int rounds = 0;

	(void)state;
	slow_reader(&f, "backlog=50000");
	f.sessions = 1;
	f.streams = 0;
	while (!mfix_has(&f)) {
		emit(&f, 200);
		assert_true(++rounds < 1000);
	}
	mfix_send(&f, 1, "@hear");
	mfix_want(&f, 1, "[rst]");
	resume(&f, check_numbers(&f, 1, 0), (unsigned long)rounds * 200);
	mfix_fini(&f);
}

static bool
read_much(struct mfix *f)
{
	return f->c[1].got.n >= f->seen;
}

/* The shadow gets all that did not leave, also what was not even queued. */
static void
test_slow_primary(void **state)
{
	char text[64];
	struct mfix f;
	struct str s;
	size_t at;
	unsigned long first, last = 0;
	int rounds = 0;

	(void)state;
	slow_reader(&f, "backlog=50000");
	mfix_send(&f, 3, GET("0"));
	mfix_want(&f, 3, OK ": shadow\nid: g2-0\n^^");
	f.sessions = 1;
	f.streams = 1;
	while (!mfix_has(&f)) {
		emit(&f, 1);
		assert_true(++rounds < 100000);
	}
	(void)snprintf(text, sizeof text, "promoted\nid: g2-%d\n^^", rounds);
	mfix_want(&f, 3, text);
	s = buf_str(&f.c[3].text);
	at = str_find(s, STR("promoted"));
	for (first = 0; (at = str_find(s, STR("\nid: g2-"))) != SIZE_MAX; last++) {
		unsigned long k = strtoul(s.p + at + 8, NULL, 10);

		s = str_of(s.p + at + 8, s.n - at - 8);
		if (first == 0)
			first = last = k;
		assert_int_equal(k, last);
	}
	assert_int_equal(last, (unsigned long)rounds + 1);
	/* What was in the kernel is lost to it; the backlog is not. */
	assert_true(first > 1 && first < (unsigned long)rounds - 100);
	mfix_fini(&f);
}

/* It reads some of what waits for it and leaves: what it has had by then does
 * not come again; also when there are comments in between. */
static void
test_slow_leaver(void **state)
{
	static const char *const opts[] = { "", "keepalive=1" };
	unsigned long last, all = 10000;
	struct mfix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(opts); i++) {
		slow_reader(&f, opts[i]);
		emit(&f, (int)all);
		mfix_send(&f, 0, POST("0", CALL("1", "slow", "\"ms\":20")));
		mfix_want(&f, 0, OK "[end]");
		mfix_send(&f, 1, "@hear");
		f.seen = 500000;
		mfix_run(&f, read_much);
		last = check_numbers(&f, 1, 0);
		peer_close(&f.c[1], true);
		f.streams = 0;
		f.sessions = 1;
		mfix_run(&f, mfix_has);
		resume(&f, last, all);
		mfix_fini(&f);
	}
}

/* As many streams as a session may have; what ends makes room. */
static void
test_streams_limit(void **state)
{
	enum { MAX = 1024 };
	struct mcpd_opts o;
	struct mfix f;
	struct buf b;
	size_t at = 0;
	int fd[MAX];

	(void)state;
	mfix_options(&o, "cap=2000");
	mfix_init(&f, &o);
	mfix_send(&f, 0, "POST\n\n" INIT(D11));
	mfix_want(&f, 0, OK "[end]");
	buf_init(&b, 4096);
	build_request(&f, &b, GET("0"));
	for (int i = 0; i < MAX; i++) {
		struct peer *c = peer_connect(&f, 1, false);

		loop_fd_free(c->ready);
		c->ready = NULL;
		fd[i] = c->fd;
		c->fd = -1;
		assert_int_equal(send(fd[i], b.p, b.n, MSG_NOSIGNAL), b.n);
		if (i % 100 == 99 || i == MAX - 1) {
			f.sessions = 1;
			f.streams = (uint32_t)i + 1;
			mfix_run(&f, mfix_has);
		}
	}
	buf_fini(&b);
	mfix_send(&f, 1, GET("0"));
	mfix_want(&f, 1, "HTTP/1.1 503\n-32000\n[end]");
	mfix_send(&f, 1, POST("0", REQ("1", "ping", "")));
	mfix_want(&f, 1, "HTTP/1.1 503\n\"id\":1,\n-32000\n[end]");
	mfix_send(&f, 1, POST("0", NOTE("notifications/initialized", "")));
	mfix_want(&f, 1, "HTTP/1.1 202\n[end]");
	(void)close(fd[at++]);
	f.streams = MAX - 1;
	mfix_run(&f, mfix_has);
	mfix_send(&f, 1, POST("0", REQ("1", "ping", "")));
	mfix_want(&f, 1, OK "[end]");
	while (at < MAX)
		(void)close(fd[at++]);
	f.streams = 0;
	mfix_run(&f, mfix_has);
	mfix_fini(&f);
}

/* ---- the end of the server ---- */

static bool
stopped(struct mfix *f)
{
	return f->stopped;
}

static void
test_shutdown(void **state)
{
	static const char *const opts[] = { "", "policy=shadow-replay", "legacy json" };
	struct mcpd_opts o;
	struct mfix f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(opts); i++) {
		mfix_options(&o, opts[i]);
		mfix_init(&f, &o);
		mfix_send(&f, 0, "POST\n\n" INIT(D11));
		mfix_want(&f, 0, OK "[end]");
		mfix_send(&f, 1, GET("0"));
		mfix_want(&f, 1, OK "id: ");
		mfix_send(&f, 2, GET("0"));
		mfix_want(&f, 2, OK "id: ");
		mfix_send(&f, 3, POST("0", CALL_P("1", "slow", "\"ms\":3600000,\"steps\":1000",
		    "1")));
		mfix_send(&f, 4, "GET /sse");
		mfix_want(&f, 4, o.legacy ? "endpoint" : "HTTP/1.1 404");
		mfix_send(&f, 5, "POST\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\n"
		    "Mcp-Name: slow\n\n" REQ("1", "tools/call", "\"name\":\"slow\",\"arguments\":{"
		    "\"ms\":3600000,\"steps\":1000},\"_meta\":{\"progressToken\":1,"
		    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		    "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
		mfix_send(&f, 0, POST("0", CALL("1", "slow", "\"ms\":1")));
		mfix_want(&f, 0, OK "[end]");
		mfix_send(&f, 0, "@stop");
		for (int c = 1; c <= 5; c++)
			mfix_want(&f, c, "[end]");
		mfix_send(&f, 0, POST("0", REQ("1", "ping", "")));
		mfix_want(&f, 0, "HTTP/1.1 503\n[end]");
		mfix_run(&f, stopped);
		mfix_fini(&f);
	}
}

/* It waits for what is on its way to clients that read, and a second at most
 * for others. */
static void
test_shutdown_waits(void **state)
{
	struct mcpd_opts o;
	struct mfix f;
	ns_t begun;

	(void)state;
	for (int deaf = 0; deaf < 2; deaf++) {
		mfix_options(&o, "json");
		mfix_init(&f, &o);
		mfix_send(&f, 0, "POST\n\n" INIT(D11));
		mfix_want(&f, 0, OK "[end]");
		mfix_send(&f, 1, "@small");
		mfix_send(&f, 1, "@deaf");
		mfix_send(&f, 1, POST("0", CALL("1", "big", "\"bytes\":4000000")));
		mfix_send(&f, 0, POST("0", CALL("1", "slow", "\"ms\":1")));
		mfix_want(&f, 0, OK "[end]");
		begun = loop_mono(f.loop);
		mfix_send(&f, 0, "@stop");
		if (!deaf)
			mfix_send(&f, 1, "@hear");
		mfix_run(&f, stopped);
		if (deaf)
			assert_true(loop_mono(f.loop) - begun >= NS_S);
		mcpd_free(f.m);
		f.m = NULL;
		mfix_send(&f, 1, "@hear");
		mfix_want(&f, 1, deaf ? "![end]\n[fin]" : "[end]");
		mfix_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_promote),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_slow_primary),
		cmocka_unit_test(test_slow_leaver),
		cmocka_unit_test(test_streams_limit),
		cmocka_unit_test(test_shutdown),
		cmocka_unit_test(test_shutdown_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
