/* plan: what is made of captures of real software, and of their events. */
#include "mcpdiag/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/ndjson.h"
#include "mcpdiag/xmem.h"
#include "read_fix.h"

struct reading {
	struct plan *plan;
	struct ndjson *events;
};

static void
on_event(void *arg, const struct ev *e)
{
	struct reading *r = arg;

	if (r->plan)
		plan_event(r->plan, e);
	if (r->events)
		ndjson_event(r->events, e);
}

static void
on_text(void *arg, struct str text, uint64_t bytes, bool cut)
{
	struct reading *r = arg;

	(void)bytes;
	plan_text(r->plan, text, cut);
}

static void
read_capture(struct reading *r, const char *name)
{
	struct pipeline_opts po = { .tap = on_event, .text = r->plan ? on_text : NULL,
		.arg = r };
	struct pipeline *p;
	char path[128];

	(void)snprintf(path, sizeof path, "captures/%s.pcap", name);
	limits_init(&po.limits);
	p = pipeline_new(&po);
	read_packets_of(p, path);
	pipeline_free(p);
}

/* One exchange a line: what it is, or why it is not played; then what it waits
 * for. */
static void
dump(const struct plan *p, struct buf *b)
{
	const struct plan_x *x;

	for (uint32_t i = 1; (x = plan_x(p, i)) != NULL; i++) {
		(void)buf_fmt(b, "%u.%u %.*s", x->n, x->client, STR_ARG(x->method));
		for (uint32_t k = 0; k < x->n_msgs; k++)
			(void)buf_fmt(b, " %.*s", STR_ARG(x->msgs[k].method));
		if (x->made_up)
			(void)buf_fmt(b, " made-up");
		if (x->skip != PLAN_PLAYED) {
			(void)buf_fmt(b, " no%d %.*s\n", x->skip, STR_ARG(x->allow));
			continue;
		}
		if (x->handshake)
			(void)buf_fmt(b, " s%u", x->handshake);
		if (x->after)
			(void)buf_fmt(b, " a%u", x->after);
		if (x->prev)
			(void)buf_fmt(b, " p%u+%lld", x->prev, (long long)(x->gap / NS_MS));
		if (x->cursor.p)
			(void)buf_fmt(b, " <%.*s>%u.%u%s", STR_ARG(x->cursor), x->giver,
			    x->given, x->last_given ? "." : "");
		if (x->asker)
			(void)buf_fmt(b, " r%u.%u", x->asker, x->asked);
		if (x->cue)
			(void)buf_fmt(b, " c%u.%u", x->cue, x->cued);
		if (x->sessionless)
			(void)buf_fmt(b, " n");
		if (x->leave >= 0)
			(void)buf_fmt(b, " l%lld", (long long)((x->leave - x->at) / NS_MS));
		(void)buf_fmt(b, "\n");
	}
	(void)buf_addc(b, '\0');
}

#define INIT "1.0 POST initialize\n2.0 POST notifications/initialized s1 a1\n"

static const struct row {
	const char *file, *allow, *where, *want;
} rows[] = {
	{ "leapfrog-rmcp0.15.0-eventsource", NULL, NULL, INIT
	    "3.0 GET s1 a2\n"
	    "4.0 POST tools/list s1 a2\n"
	    "5.0 POST tools/call no3 tools/call:poke\n"
	    "6.0 GET s1 a4 p1+3006 <0>1.1.\n"
	    "7.0 GET s1 a4 p4+3005 <0/0>4.2.\n"
	    "8.0 GET s1 a4 p3+3002 <0>3.2.\n"
	    "9.0 POST tools/call no3 tools/call:poke\n"
	    "10.0 GET s1 a4 p6+3008 <0>6.1.\n"
	    "11.0 POST tools/call no3 tools/call:poke\n"
	    "12.0 GET s1 a4 p8+3000 <1>8.2.\n"
	    "13.0 GET s1 a4 p10+3009 <2>10.3.\n"
	    "14.0 POST tools/call no3 tools/call:poke\n"
	    "15.0 GET s1 a4 p12+3005 <2>12.2.\n"
	    "16.0 GET s1 a4 p13+3006 <3>13.2.\n"
	    "17.0 POST tools/call no3 tools/call:poke\n" },
	/* Refused ones come after the stream whose last id they name. */
	{ "conflict-409-rmcp0.15.901-eventsource", "tools/call:poke", NULL, INIT
	    "3.0 GET s1 a2\n"
	    "4.0 POST tools/list s1 a2\n"
	    "5.0 POST tools/call s1 a4\n"
	    "6.0 GET s1 a5 p1+3001 <0>1.1.\n"
	    "7.0 GET s1 a5 p4+3006 <0/0>4.2.\n"
	    "8.0 POST tools/call s1 a5\n"
	    "9.0 POST tools/call s1 a8\n"
	    "10.0 POST tools/call s1 a9\n"
	    "11.0 POST tools/call s1 a10\n" },
	{ "03-resume-unknown-id-ts1.32", NULL, NULL, INIT
	    "3.0 GET s1 a2\n"
	    "4.0 GET s1 a2 <g.no-such-event>0.0 l3007\n"
	    "5.0 DELETE s1 a2\n" },
	/* Lists that follow a list_changed, on whichever stream it came. */
	{ "replay-linear-rmcp0.15.0-eventsource", NULL, NULL, INIT
	    "3.0 GET s1 a2\n"
	    "4.0 POST tools/call no3 tools/call:poke\n"
	    "5.0 POST tools/list s1 a2 c3.1\n"
	    "6.0 GET s1 a5 p1+3010 <0>1.1.\n"
	    "7.0 POST tools/list s1 a5 c6.1\n"
	    "8.0 GET s1 a7 p5+3000 <0/1>5.2.\n"
	    "9.0 GET s1 a7 p3+3001 <0>3.2.\n"
	    "10.0 GET s1 a7 p7+3001 <0/2>7.2.\n"
	    "11.0 POST tools/list s1 a7 c9.1\n"
	    "12.0 GET s1 a11 p11+3007 <0/3>11.2.\n"
	    "13.0 GET s1 a11 p6+3008 <0>6.1.\n"
	    "14.0 POST tools/list s1 a11 c13.1\n"
	    "15.0 GET s1 a14 p9+3009 <0>9.1.\n"
	    "16.0 GET s1 a14 p14+3008 <0/4>14.2.\n"
	    "17.0 POST tools/list s1 a14 c15.1\n"
	    "18.0 GET s1 a17 p17+3003 <0/5>17.2.\n"
	    "19.0 GET s1 a17 p13+3005 <0>13.1.\n"
	    "20.0 POST tools/list s1 a17 c19.1\n"
	    "21.0 GET s1 a20 p15+3004 <0>15.1.\n"
	    "22.0 GET s1 a20 p20+3003 <0/6>20.2.\n"
	    "23.0 POST tools/list s1 a20 c21.1\n" },
	/* A server that gives no session id: the next may give one. */
	{ "05-stateless-ts1.32", NULL, NULL, "1.0 POST initialize\n"
	    "2.0 POST notifications/initialized s1 a1 n\n"
	    "3.0 GET s1 a2 n\n"
	    "4.0 POST tools/list s1 a2 n\n"
	    "5.0 POST tools/call no3 tools/call:count\n"
	    "6.0 POST tools/call no3 tools/call:echo\n" },
	{ "06-legacy-sse-ts1.32", NULL, NULL,
	    "1.0 GET l559\n"
	    "2.0 POST initialize s1\n"
	    "3.0 POST notifications/initialized s1 a2\n"
	    "4.0 POST tools/list s1 a3\n"
	    "5.0 POST tools/call no3 tools/call:count\n" },
	{ "leapfrog-rmcp0.15.0-eventsource", NULL, "method == tools/list", INIT
	    "3.0 GET no1 \n"
	    "4.0 POST tools/list s1 a2\n"
	    "5.0 POST tools/call no1 \n" "6.0 GET no1 \n" "7.0 GET no1 \n" "8.0 GET no1 \n"
	    "9.0 POST tools/call no1 \n" "10.0 GET no1 \n" "11.0 POST tools/call no1 \n"
	    "12.0 GET no1 \n" "13.0 GET no1 \n" "14.0 POST tools/call no1 \n"
	    "15.0 GET no1 \n" "16.0 GET no1 \n" "17.0 POST tools/call no1 \n" },
};

static void
captures(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct reading r = { .plan = plan_new() };
		struct where *w = NULL;
		struct buf b;
		uint32_t column;

		buf_init(&b, 1 << 20);
		if (rows[i].allow)
			assert_int_equal(plan_allow(r.plan, rows[i].allow, NULL), 0);
		if (rows[i].where)
			assert_non_null(w = where_new(rows[i].where, NULL, &column, NULL));
		read_capture(&r, rows[i].file);
		plan_make(r.plan, w);
		dump(r.plan, &b);
		if (strcmp(b.p, rows[i].want) != 0)
			fail_msg("%s:\n%s not\n%s", rows[i].file, b.p, rows[i].want);
		assert_int_equal(plan_clients(r.plan), 1);
		assert_int_equal(plan_left_out(r.plan), 0);
		buf_fini(&b);
		where_free(w);
		plan_free(r.plan);
	}
}

/* The same of its events, whose bodies are made anew: what is certain. */
static void
events(void **state)
{
	struct reading r = { 0 };
	struct ndjson_in *in;
	const struct plan_x *x;
	struct out o;
	struct buf b;

	(void)state;
	out_init(&o, -1);
	r.events = ndjson_new(&o);
	read_capture(&r, rows[0].file);
	ndjson_free(r.events);
	r.plan = plan_new();
	assert_int_equal(plan_allow(r.plan, "tools/call:*", NULL), 0);
	in = ndjson_in_new(plan_event, r.plan);
	ndjson_in_feed(in, o.p, o.n);
	ndjson_in_eof(in);
	ndjson_in_free(in);
	out_fini(&o);
	plan_make(r.plan, NULL);
	buf_init(&b, 1 << 20);
	dump(r.plan, &b);
	assert_non_null(strstr(b.p, "\n5.0 POST tools/call no4 \n"));
	assert_non_null(strstr(b.p, "\n16.0 GET s1 a4 p13+3006 <3>13.2.\n"));
	x = plan_x(r.plan, 1);
	assert_true(str_eq(x->body, STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"drv\",\"version\":\"1\"}}}")));
	assert_true(str_eq(plan_x(r.plan, 2)->body, STR("{\"jsonrpc\":\"2.0\","
	    "\"method\":\"notifications/initialized\"}")));
	assert_true(str_eq(plan_x(r.plan, 4)->body,
	    STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}")));
	buf_fini(&b);
	plan_free(r.plan);
}

/* Bodies and results are those that were captured. */
static void
texts(void **state)
{
	struct reading r = { .plan = plan_new() };
	const struct plan_x *x;

	(void)state;
	assert_int_equal(plan_allow(r.plan, "tools/call:poke", NULL), 0);
	read_capture(&r, rows[0].file);
	plan_make(r.plan, NULL);
	x = plan_x(r.plan, 5);
	assert_int_equal(x->skip, PLAN_PLAYED);
	assert_true(str_pre(x->body, STR("{")));
	assert_true(str_find(x->body, STR("\"poke\"")) < x->body.n);
	assert_int_equal(x->n_answers, 1);
	assert_true(str_find(x->answers[0].text, STR("\"result\"")) < x->answers[0].text.n);
	assert_true(str_find(x->head, STR("POST /mcp")) == 0);
	assert_int_equal(x->status, 200);
	plan_free(r.plan);
}

/* A capture that begins in the middle begins with handshakes of ours. */
static void
midstream(void **state)
{
	struct reading r = { .plan = plan_new() };
	const struct plan_x *x;

	(void)state;
	read_capture(&r, "midstream-leapfrog-rmcp0.15.0-ts1.23");
	plan_make(r.plan, NULL);
	x = plan_x(r.plan, 1);
	assert_true(x->made_up && x->initialize);
	assert_int_equal(x->skip, PLAN_PLAYED);
	assert_int_equal(plan_x(r.plan, 3)->handshake, 1);
	/* Its id was given before: what is given here stands for it. */
	assert_true(str_eq(plan_x(r.plan, 3)->cursor, STR("1")));
	assert_int_equal(plan_x(r.plan, 3)->giver, 1);
	assert_true(plan_x(r.plan, 3)->last_given);
	assert_int_equal(plan_x(r.plan, 4)->skip, PLAN_NO_HEAD);
	assert_int_equal(plan_clients(r.plan), 4);
	plan_free(r.plan);
}

/* All streams of that server begin with the id 0: whoever comes back names what
 * its own listener had, through streams that gave none. */
static void
listeners_keep_their_id(void **state)
{
	struct reading r = { .plan = plan_new() };

	(void)state;
	read_capture(&r, "19-duplicated");
	plan_make(r.plan, NULL);
	for (uint32_t i = 5; i <= 24; i++) {
		const struct plan_x *x = plan_x(r.plan, i);

		assert_true(x->cursor.p != NULL);
		assert_true(x->prev != 0);
		assert_int_equal(x->giver, x->prev);
		assert_true(x->last_given);
	}
	plan_free(r.plan);
}

/* A body that is not there whole is not sent, and neither is half of it. */
static void
long_bodies(void **state)
{
	static const struct {
		const char *method;
		bool cut, text, huge;
		enum plan_skip skip;
	} posts[] = {
		{ "initialize", false, true, false, PLAN_PLAYED },
		{ "tools/call", true, true, false, PLAN_LONG_BODY },
		{ "tools/call", false, false, false, PLAN_NO_BODY },
		{ "tools/list", true, true, false, PLAN_PLAYED },	/* it is certain */
		{ "tools/call", false, true, true, PLAN_LONG_BODY },	/* there is no room */
		{ "tools/call", false, true, false, PLAN_PLAYED },
	};
	struct plan *p = plan_new();
	char *most = xcalloc(1, PLAN_TEXT);

	(void)state;
	assert_int_equal(plan_allow(p, "tools/call:*", NULL), 0);
	for (uint32_t i = 0; i < N_ROWS(posts); i++) {
		struct ev e = { .type = EV_REQUEST, .t = i, .pkt = i + 1, .x = i + 1 };

		e.u.req.method = STR("POST");
		plan_event(p, &e);
		if (posts[i].text)
			plan_text(p, posts[i].huge ? str_of(most, PLAN_TEXT) : STR("{}"),
			    posts[i].cut);
		e = (struct ev){ .type = EV_MESSAGE, .t = i, .pkt = i + 1, .x = i + 1,
			.dir = EV_C2S };
		e.u.msg.kind = EV_MSG_REQUEST;
		e.u.msg.method = str_c(posts[i].method);
		e.u.msg.id = STR("1");
		plan_event(p, &e);
	}
	plan_make(p, NULL);
	for (uint32_t i = 0; i < N_ROWS(posts); i++)
		assert_int_equal(plan_x(p, i + 1)->skip, posts[i].skip);
	free(most);
	plan_free(p);
}

static void
origins(void **state)
{
	static const struct {
		const char *origin, *host;
		bool own;
	} from[] = {
		{ "http://127.0.0.1:3000", "127.0.0.1:3000", true },
		{ "https://MCP.example", "mcp.example", true },	/* TLS ends before */
		{ "http://[::1]:80", "[::1]:80", true },
		{ "http://127.0.0.1:3001", "127.0.0.1:3000", false },
		{ "http://127.0.0.1:300", "127.0.0.1:3000", false },
		{ "http://evil/127.0.0.1:3000", "127.0.0.1:3000", false },
		{ "ftp://h", "h", false },
		{ "null", "null", false },
		{ "http://", "", false },
		{ "http://h", NULL, false },
		{ NULL, "h", false },
	};
	struct plan *p = plan_new();

	(void)state;
	for (uint32_t i = 0; i < N_ROWS(from); i++) {
		struct ev e = { .type = EV_REQUEST, .t = i, .pkt = i + 1, .x = i + 1 };

		e.u.req.method = STR("GET");
		e.u.req.origin = from[i].origin ? str_c(from[i].origin) : STR_NONE;
		e.u.req.host = from[i].host ? str_c(from[i].host) : STR_NONE;
		plan_event(p, &e);
	}
	plan_make(p, NULL);
	for (uint32_t i = 0; i < N_ROWS(from); i++)
		if (plan_x(p, i + 1)->own_origin != from[i].own)
			fail_msg("row %u", i);
	plan_free(p);
}

static void
words(void **state)
{
	struct plan *p = plan_new();
	struct errmsg em;

	(void)state;
	assert_int_equal(plan_allow(p, "tools/call", &em), -E_USAGE);
	assert_non_null(strstr(em.text, "tools/call:TOOL"));
	assert_int_equal(plan_allow(p, "tools/call:", &em), -E_USAGE);
	assert_int_equal(plan_allow(p, "", &em), -E_USAGE);
	assert_int_equal(plan_allow(p, "resources/read:x", &em), -E_USAGE);
	assert_int_equal(plan_allow(p, "resources/read", &em), 0);
	assert_int_equal(plan_allow(p, "tools/call:a:b", &em), 0);
	plan_make(p, NULL);
	assert_int_equal(plan_count(p), 0);
	assert_null(plan_x(p, 1));
	assert_null(plan_x(p, 0));
	for (int i = 0; i < PLAN_N_SKIPS; i++)
		assert_non_null(plan_skip_text((enum plan_skip)i));
	plan_free(p);
	plan_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures),
		cmocka_unit_test(events),
		cmocka_unit_test(texts),
		cmocka_unit_test(midstream),
		cmocka_unit_test(listeners_keep_their_id),
		cmocka_unit_test(long_bodies),
		cmocka_unit_test(origins),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
