/* Which session an exchange belongs to, and what is known of it. */
#include "model_fix.h"

static void
test_secrets(void **state)
{
	(void)state;
	for (int show = 0; show < 2; show++) {
		struct fix *f = fix_new(show, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct mexch *x = ask(f, c, &(struct ask){ .method = "GET", .sid = "secret",
		    .auth = "Bearer token" });
		const struct ev *e = last(f, EV_REQUEST);

		if (show) {
			assert_true(str_eq(e->u.req.sid, STR("secret")));
			assert_true(str_eq(e->u.req.auth, STR("Bearer token")));
			assert_true(str_eq(last(f, EV_SESSION)->u.session.key, STR("secret")));
		} else {
			assert_int_equal(e->u.req.sid.n, 11);
			assert_int_equal(e->u.req.sid.p[0], '#');
			assert_true(str_eq(last(f, EV_SESSION)->u.session.key, e->u.req.sid));
			assert_int_equal(e->u.req.auth.n, 11);
			assert_false(str_eq(e->u.req.auth, e->u.req.sid));
		}
		over(f, x, EV_COMPLETE);
		x = ask(f, c, &(struct ask){ .method = "GET" });
		assert_null(last(f, EV_REQUEST)->u.req.sid.p);	/* absent, not hashed */
		assert_null(last(f, EV_REQUEST)->u.req.auth.p);
		over(f, x, EV_COMPLETE);
		model_conn_end(f->m, c, next(f));
		fix_free(f);
	}
}

static void
test_revision(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mexch *x = ask(f, c, &(struct ask){ .method = "POST", .agent = "node" });
	const struct ev *e;

	(void)state;
	say(f, x, true, INIT);
	assert_int_equal(count(f, EV_SESSION), 0);
	answer(f, x, 200, "S", false);
	e = last(f, EV_SESSION);		/* so far only what was offered */
	assert_true(str_eq(e->u.session.revision, STR("2025-06-18")));
	assert_true(e->u.session.offered);
	assert_true(str_eq(e->u.session.client, STR("c/1")));
	assert_true(str_eq(e->u.session.endpoint, STR("2.2.2.2:2")));
	assert_int_equal(e->u.session.transport, EV_STREAMABLE);
	assert_false(e->u.session.list_changed);
	assert_non_null(e->u.session.client_looks_like.p);
	say(f, x, false, INIT_RESULT);
	e = last(f, EV_SESSION);
	assert_true(str_eq(e->u.session.revision, STR("2025-03-26")));
	assert_false(e->u.session.offered);
	assert_true(str_eq(e->u.session.server, STR("s/2")));
	assert_true(e->u.session.list_changed);
	assert_int_equal(e->session, 1);
	over(f, x, EV_COMPLETE);
	/* Later ones change nothing. */
	x = ask(f, c, &(struct ask){ .method = "GET", .sid = "S", .version = "2025-11-25" });
	over(f, x, EV_COMPLETE);
	assert_ptr_equal(last(f, EV_SESSION), e);
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

static void
test_sessions_apart(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *a = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mconn *b = conn(f, "1.1.1.1:2", "2.2.2.2:2");
	struct mconn *c = conn(f, "1.1.1.1:3", "3.3.3.3:2");
	static const struct ask get = { .method = "GET", .sid = "S" };
	struct mexch *x, *y, *z;

	(void)state;
	x = ask(f, a, &get);
	y = ask(f, b, &get);
	z = ask(f, c, &get);			/* the same id at another server */
	assert_int_equal(nth(f, EV_REQUEST, 0)->session, 1);
	assert_int_equal(nth(f, EV_REQUEST, 1)->session, 1);
	assert_int_equal(nth(f, EV_REQUEST, 2)->session, 2);
	over(f, x, EV_COMPLETE);
	over(f, y, EV_COMPLETE);
	over(f, z, EV_COMPLETE);
	model_conn_end(f->m, a, next(f));
	model_conn_end(f->m, b, next(f));
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

/* spec-rules 3.3: who is one logical client where there are no session ids. */
static void
test_logical(void **state)
{
	static const struct {
		const char *what, *client, *auth, *agent;
		bool same;			/* as the first */
	} rows[] = {
		{ "the same", "1.1.1.1:9", "Bearer a", "node", true },
		{ "another address", "1.1.1.2:1", "Bearer a", "node", false },
		{ "another authorisation", "1.1.1.1:1", "Bearer b", "node", false },
		{ "none", "1.1.1.1:1", NULL, "node", false },
		{ "another software", "1.1.1.1:1", "Bearer a", "curl/8", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = fix_new(false, 0, 0);
		const char *who[2][3] = { { "1.1.1.1:1", "Bearer a", "node" },
		    { rows[i].client, rows[i].auth, rows[i].agent } };

		for (int j = 0; j < 2; j++) {
			struct mconn *c = conn(f, who[j][0], "2.2.2.2:2");
			struct mexch *x = ask(f, c, &(struct ask){ .method = "POST",
			    .auth = who[j][1], .agent = who[j][2] });

			say(f, x, true, RPC "\"id\":1,\"method\":\"tools/list\"}");
			answer(f, x, 200, NULL, false);
			assert_true(last(f, EV_SESSION)->flags & EVF_INFERRED);
			assert_int_equal(last(f, EV_SESSION)->u.session.key.p[0], '~');
			over(f, x, EV_COMPLETE);
			model_conn_end(f->m, c, next(f));
		}
		if ((last(f, EV_RESPONSE)->session == 1) != rows[i].same)
			fail_msg("%s: session %u", rows[i].what, last(f, EV_RESPONSE)->session);
		fix_free(f);
	}
}

/* From 2026-07-28 on there are no sessions, whatever else is said. */
static void
test_modern(void **state)
{
	static const struct {
		const char *what;
		struct ask ask;
		const char *body;
		bool session;
	} rows[] = {
		{ "the last revision with sessions", { .method = "POST",
		    .version = "2025-11-25" }, RPC "\"id\":1,\"method\":\"tools/list\"}", true },
		{ "by its header", { .method = "POST", .version = "2026-07-28" },
		    RPC "\"id\":1,\"method\":\"tools/list\"}", false },
		{ "and with an id", { .method = "POST", .version = "2026-07-28", .sid = "S" },
		    RPC "\"id\":1,\"method\":\"tools/list\"}", false },
		{ "by Mcp-Method", { .method = "POST", .mcp_method = "tools/list" },
		    RPC "\"id\":1,\"method\":\"tools/list\"}", false },
		{ "by _meta", { .method = "POST" }, RPC "\"id\":1,\"method\":\"tools/list\","
		    "\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
		    "\"2026-07-28\"}}}", false },
		{ "a listen", { .method = "POST" },
		    RPC "\"id\":1,\"method\":\"subscriptions/listen\"}", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = fix_new(false, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct mexch *x = ask(f, c, &rows[i].ask);

		say(f, x, true, rows[i].body);
		answer(f, x, 200, NULL, true);
		if ((last(f, EV_RESPONSE)->session != 0) != rows[i].session)
			fail_msg("%s", rows[i].what);
		assert_int_equal(last(f, EV_STREAM)->u.stream.kind,
		    strstr(rows[i].body, "listen") ? EV_LISTEN : EV_POST_RESPONSE);
		over(f, x, EV_COMPLETE);
		model_conn_end(f->m, c, next(f));
		fix_free(f);
	}
}

static void
test_session_end(void **state)
{
	static const struct {
		const char *method;
		uint32_t status;
		enum ev_end end;
		bool ends;
	} rows[] = {
		{ "DELETE", 200, EV_COMPLETE, true },
		{ "DELETE", 202, EV_COMPLETE, true },
		{ "DELETE", 204, EV_TRUNCATED, true },
		{ "DELETE", 404, EV_COMPLETE, false },
		{ "DELETE", 405, EV_COMPLETE, false },
		{ "DELETE", 200, EV_OPEN, false },
		{ "POST", 200, EV_COMPLETE, false },
		{ "GET", 200, EV_COMPLETE, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = fix_new(false, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct mexch *x = ask(f, c, &(struct ask){ .method = rows[i].method,
		    .sid = "S" });

		answer(f, x, rows[i].status, NULL, false);
		over(f, x, rows[i].end);
		assert_int_equal(count(f, EV_SESSION_END), rows[i].ends);
		/* What comes later on it is still known. */
		x = ask(f, c, &(struct ask){ .method = "GET", .sid = "S" });
		answer(f, x, 200, NULL, true);
		block(f, x, NULL, "1", "");
		assert_int_equal(last(f, EV_REQUEST)->session, 1);
		over(f, x, EV_COMPLETE);
		model_conn_end(f->m, c, next(f));
		fix_free(f);
	}
}

/* At the limit the longest idle one goes, one that is used or was used last
 * stays, and it is said once. */
static void
test_sessions_limit(void **state)
{
	struct fix *f = fix_new(false, 0, 4);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mexch *held, *x;
	char sid[16];

	(void)state;
	held = ask(f, c, &(struct ask){ .method = "GET", .sid = "held" });
	for (int i = 0; i < 10; i++) {
		(void)snprintf(sid, sizeof sid, "s%d", i);
		x = ask(f, c, &(struct ask){ .method = "GET", .sid = sid });
		over(f, x, EV_COMPLETE);
		x = ask(f, c, &(struct ask){ .method = "GET", .sid = "s0" });
		assert_int_equal(last(f, EV_REQUEST)->session, 2);
		over(f, x, EV_COMPLETE);
	}
	over(f, held, EV_COMPLETE);
	held = ask(f, c, &(struct ask){ .method = "GET", .sid = "held" });
	assert_int_equal(last(f, EV_REQUEST)->session, 1);
	over(f, held, EV_COMPLETE);
	x = ask(f, c, &(struct ask){ .method = "GET", .sid = "s1" });
	assert_int_equal(last(f, EV_REQUEST)->session, 12);	/* it had gone: a new one */
	over(f, x, EV_COMPLETE);
	assert_int_equal(count(f, EV_NOTE), 1);
	assert_true(has_note(f, "limit"));
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

/* One that has ended goes before those that may go on, however idle; when
 * something is open on all of them, there are more. */
static void
test_sessions_that_go(void **state)
{
	struct fix *f = fix_new(false, 0, 4);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mexch *x, *open[8];
	char sid[16];

	(void)state;
	for (int i = 1; i <= 4; i++) {
		(void)snprintf(sid, sizeof sid, "s%d", i);
		x = ask(f, c, &(struct ask){ .method = i == 3 ? "DELETE" : "GET", .sid = sid });
		answer(f, x, 200, NULL, false);
		over(f, x, EV_COMPLETE);
	}
	for (int i = 0; i < 8; i++) {		/* s3 goes, then s1, s2, s4 */
		(void)snprintf(sid, sizeof sid, "new%d", i);
		if (i == 1) {
			x = ask(f, c, &(struct ask){ .method = "GET", .sid = "s1" });
			assert_int_equal(last(f, EV_REQUEST)->session, 1);
			over(f, x, EV_COMPLETE);
		}
		open[i] = ask(f, c, &(struct ask){ .method = "GET", .sid = sid });
		assert_int_equal(last(f, EV_REQUEST)->session, 5 + i);
	}
	for (int i = 0; i < 8; i++) {
		(void)snprintf(sid, sizeof sid, "new%d", i);
		x = ask(f, c, &(struct ask){ .method = "GET", .sid = sid });
		assert_int_equal(last(f, EV_REQUEST)->session, 5 + i);
		over(f, x, EV_COMPLETE);
		over(f, open[i], EV_COMPLETE);
	}
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

/* Twice limits.ids are remembered at most; that older ones are not is said. */
static void
test_ids_limit(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c;
	struct mexch *x;
	char json[64];

	(void)state;
	model_free(f->m);
	f->lim.ids = 16;
	f->m = model_new(&f->lim, false, record, &f->rec);
	c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	x = ask(f, c, &(struct ask){ .method = "POST", .sid = "S" });
	for (int i = 0; i < 40; i++) {
		assert_int_equal(has_note(f, "ids"), i > 32);
		(void)snprintf(json, sizeof json, RPC "\"id\":%d,\"method\":\"ping\"}", i);
		say(f, x, true, json);
	}
	assert_int_equal(count(f, EV_NOTE), 1);
	over(f, x, EV_COMPLETE);
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

/* HTTP+SSE: POSTs find their session by the endpoint's URI. */
static void
test_legacy(void **state)
{
	static const struct {
		const char *uri, *target;
		bool found;
	} rows[] = {
		{ "/m?sessionId=1", "/m?sessionId=1", true },
		{ "http://2.2.2.2:2/m?sessionId=1", "/m?sessionId=1", true },
		{ "/m?sessionId=1", "/m?sessionId=2", false },
		{ "http://h", "", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = fix_new(false, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct mconn *d = conn(f, "1.1.1.1:2", "2.2.2.2:2");
		struct mexch *x = ask(f, c, &(struct ask){ .method = "GET", .target = "/sse" });
		struct mexch *y;

		answer(f, x, 200, NULL, true);
		assert_int_equal(f->rec.n, 0);
		block(f, x, "endpoint", NULL, rows[i].uri);
		assert_int_equal(last(f, EV_STREAM)->u.stream.kind, EV_LEGACY);
		assert_int_equal(last(f, EV_SESSION)->u.session.transport, EV_LEGACY_SSE);
		y = ask(f, d, &(struct ask){ .method = "POST", .target = rows[i].target });
		assert_int_equal(last(f, EV_REQUEST)->session, rows[i].found);
		over(f, y, EV_COMPLETE);
		over(f, x, EV_CLIENT);
		assert_int_equal(count(f, EV_SESSION_END), 1);
		model_conn_end(f->m, c, next(f));
		model_conn_end(f->m, d, next(f));
		fix_free(f);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secrets), cmocka_unit_test(test_revision),
		cmocka_unit_test(test_sessions_apart), cmocka_unit_test(test_logical),
		cmocka_unit_test(test_modern), cmocka_unit_test(test_session_end),
		cmocka_unit_test(test_sessions_limit), cmocka_unit_test(test_sessions_that_go),
		cmocka_unit_test(test_ids_limit), cmocka_unit_test(test_legacy),
	};

	return cmocka_run_group_tests_name("model session", tests, NULL, NULL);
}
