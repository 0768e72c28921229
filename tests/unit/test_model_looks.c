/* model: the signs that a session shows, on their way to its fingerprint. */
#include "model_fix.h"

#define SID "5f0c1b7e-3a7d-4f0e-9a53-0c2f9f1e7a11"

static bool
looks(const struct fix *f, const char *server, const char *client)
{
	const struct ev *e = last(f, EV_SESSION);

	return str_eq(e->u.session.looks_like, str_c(server)) &&
	    str_eq(e->u.session.client_looks_like, str_c(client));
}

/* A GET stream that begins with a block, of a session that may be ready. */
static struct fix *
with_block(const char *agent, bool ready, const char *name, const char *id, const char *data)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mexch *x;

	initialize(f, c, SID);
	if (ready) {
		x = ask(f, c, &(struct ask){ .method = "POST", .sid = SID });
		say(f, x, true, RPC "\"method\":\"notifications/initialized\"}");
		answer(f, x, 202, NULL, false);
		over(f, x, EV_COMPLETE);
	}
	x = ask(f, c, &(struct ask){ .method = "GET", .sid = SID, .agent = agent,
	    .accept = "text/event-stream, application/json" });
	answer(f, x, 200, NULL, true);
	block(f, x, name, id, data);
	over(f, x, EV_COMPLETE);
	model_conn_end(f->m, c, next(f));
	return f;
}

static void
every_row(void **state)
{
	static const struct {
		const char *what, *agent;
		bool ready;
		const char *name, *id, *data, *server, *client;
	} rows[] = {
		{ "nothing", "x", true, NULL, "7", "{}", NULL, NULL },
		{ "an id that is the session's", "x", true, NULL, SID, "{}", "Java SDK", NULL },
		{ "an id that ends like it", "x", true, NULL, "9a53-0c2f9f1e7a11", "{}", NULL, NULL },
		{ "empty data without an id", "x", true, NULL, NULL, "", "Kotlin SDK", NULL },
		{ "a ping without an id", "x", true, "ping", NULL, "", NULL, NULL },
		{ "data without an id", "x", true, NULL, NULL, "{}", NULL, NULL },
		{ "a GET before initialized", "Go-http-client/1.1", false, NULL, "7", "{}", NULL,
		    "Go SDK client" },
		{ "and after it", "Go-http-client/1.1", true, NULL, "7", "{}", NULL,
		    "a Go client (Go SDK or mcp-go)" },
		{ "no User-Agent", NULL, true, NULL, "7", "{}", NULL,
		    "rmcp client (Rust SDK) or another without User-Agent" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = with_block(rows[i].agent, rows[i].ready, rows[i].name,
		    rows[i].id, rows[i].data);

		if (!looks(f, rows[i].server, rows[i].client))
			fail_msg("%s: %.*s, %.*s", rows[i].what,
			    STR_ARG(last(f, EV_SESSION)->u.session.looks_like),
			    STR_ARG(last(f, EV_SESSION)->u.session.client_looks_like));
		fix_free(f);
	}
}

/* What the head of a response and its error say. */
static void
responses(void **state)
{
	static const struct {
		const char *what;
		struct model_response r;
		const char *error, *server;
	} rows[] = {
		{ "server-error", { .status = 406 }, RPC "\"id\":\"server-error\",\"error\":"
		    "{\"code\":-32600,\"message\":\"x\"}}", "Python SDK" },
		{ "another id", { .status = 406 }, RPC "\"id\":\"x\",\"error\":"
		    "{\"code\":-32600,\"message\":\"x\"}}", NULL },
		{ "one stream", { .status = 409 }, RPC "\"id\":null,\"error\":{\"code\":-32000,"
		    "\"message\":\"Conflict: Only one SSE stream is allowed per session\"}}",
		    "TypeScript SDK" },
		{ "the same with 400", { .status = 400 }, RPC "\"id\":null,\"error\":"
		    "{\"code\":-32000,\"message\":"
		    "\"Conflict: Only one SSE stream is allowed per session\"}}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct fix *f = fix_new(false, 0, 0);
		struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
		struct model_response r = rows[i].r;
		struct mexch *x, *stream;

		initialize(f, c, SID);
		stream = ask(f, c, &(struct ask){ .method = "GET", .sid = SID, .agent = "x" });
		answer(f, stream, 200, NULL, true);
		x = ask(f, c, &(struct ask){ .method = "GET", .sid = SID, .agent = "x" });
		model_response(f->m, x, &r, next(f));
		say(f, x, false, rows[i].error);
		over(f, x, EV_COMPLETE);
		over(f, stream, EV_COMPLETE);
		if (!looks(f, rows[i].server, NULL))
			fail_msg("%s: %.*s", rows[i].what,
			    STR_ARG(last(f, EV_SESSION)->u.session.looks_like));
		model_conn_end(f->m, c, next(f));
		fix_free(f);
	}
}

static void
java_id(void **state)
{
	struct fix *f = fix_new(false, 0, 0);
	struct mconn *c = conn(f, "1.1.1.1:1", "2.2.2.2:2");
	struct mexch *x = ask(f, c, &(struct ask){ .method = "POST" });

	(void)state;
	say(f, x, true, RPC "\"id\":\"0123abcd-0\",\"method\":\"initialize\",\"params\":{"
	    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
	answer(f, x, 200, SID, false);
	over(f, x, EV_COMPLETE);
	assert_true(looks(f, NULL, "Java SDK client"));
	model_conn_end(f->m, c, next(f));
	fix_free(f);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row), cmocka_unit_test(responses),
		cmocka_unit_test(java_id),
	};

	return cmocka_run_group_tests_name("model_looks", tests, NULL, NULL);
}
