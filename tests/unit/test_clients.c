/* clients: what each client of the field makes of an answer. */
#include "mcpdiag/clients.h"

#include "util.h"

/* GETs in a row that are all answered like this; milliseconds between them. */
static const struct row {
	const char *client;
	enum client_got got;
	bool first;		/* the first one is the first of all */
	int64_t retry_ms;	/* the server's, or -1 */
	enum client_does then;	/* at last, or DOES_RETRY for ever */
	int64_t waits[4];	/* -1: none */
} rows[] = {
	{ "eventsource", GOT_END, true, -1, DOES_RETRY, { 3000, 3000, 3000, 3000 } },
	{ "eventsource", GOT_END, true, 500, DOES_RETRY, { 500, 500, 500, 500 } },
	{ "eventsource", GOT_409, false, -1, DOES_DEAF, { -1 } },
	{ "eventsource", GOT_TYPE, true, -1, DOES_DEAF, { -1 } },
	{ "ts-1.32", GOT_405, true, -1, DOES_WITHOUT, { -1 } },
	{ "ts-1.32", GOT_409, true, -1, DOES_DEAF, { -1 } },
	{ "ts-1.32", GOT_5XX, true, -1, DOES_DEAF, { -1 } },
	{ "ts-1.32", GOT_409, false, -1, DOES_DEAF, { 1500, -1 } },
	{ "ts-1.32", GOT_END, true, -1, DOES_RETRY, { 1000, 1000, 1000, 1000 } },
	{ "ts-1.32", GOT_TYPE, true, -1, DOES_RETRY, { 1000, 1000, 1000, 1000 } },
	{ "python", GOT_405, true, -1, DOES_DEAF, { 1000, -1 } },
	{ "python", GOT_END, true, -1, DOES_RETRY, { 1000, 1000, 1000, 1000 } },
	{ "go", GOT_400, true, -1, DOES_DEAF, { -1 } },
	{ "go", GOT_400, false, -1, DOES_FAIL, { -1 } },
	{ "rmcp", GOT_409, true, -1, DOES_RETRY, { 1000, 2000, 4000, 8000 } },
	{ "rmcp", GOT_404, true, -1, DOES_REINIT, { -1 } },
	{ "vscode", GOT_400, true, -1, DOES_DEAF, { -1 } },
	{ "vscode", GOT_NOTHING, true, -1, DOES_RETRY, { 1000, 2000, 3000, 4000 } },
	{ "java", GOT_END, true, -1, DOES_DEAF, { -1 } },
	{ "java", GOT_400, true, -1, DOES_REINIT, { -1 } },
	{ "csharp", GOT_409, true, -1, DOES_DEAF, { -1 } },
	{ "csharp", GOT_409, false, -1, DOES_RETRY, { 1000, 1000, 1000, 1000 } },
	{ "kotlin", GOT_409, true, -1, DOES_DEAF, { 1000, -1 } },
	{ "mcp-go", GOT_409, true, -1, DOES_RETRY, { 1000, 1000, 1000, 1000 } },
	{ "mcp-go", GOT_404, true, -1, DOES_DEAF, { -1 } },
};

static void
gets_in_a_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *r = &rows[i];
		const struct client_row *c = clients_find(r->client);
		enum client_does does = DOES_UNTOLD;
		/* what is asked again comes after a stream that ended */
		unsigned failures = !r->first && c->end_counts;

		assert_non_null(c);
		for (unsigned k = 0; k < 4; k++) {
			ns_t after = -1;

			does = clients_do(c, r->got, r->first && k == 0, failures);
			if (does == DOES_RETRY) {
				after = clients_delay(c, failures,
				    r->retry_ms < 0 ? -1 : r->retry_ms * NS_MS);
				failures += r->got != GOT_END && r->got != GOT_TYPE;
			}
			if (after / NS_MS != (r->waits[k] < 0 ? 0 : r->waits[k]))
				fail_msg("row %zu, %s: %lld ms after GET %u", i, r->client,
				    (long long)(after / NS_MS), k);
			if (does != DOES_RETRY)
				break;
		}
		if (does != r->then)
			fail_msg("row %zu, %s: does %d at last", i, r->client, (int)does);
	}
}

static void
every_answer(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const struct client_row *c; (c = clients_row(n)) != NULL; n++) {
		assert_ptr_equal(clients_find(c->name), c);
		assert_int_equal(clients_do(c, GOT_STREAM, true, 0), DOES_LISTEN);
		/* of these some are unknown */
		for (unsigned g = 0; g < GOT_N; g++)
			if (g != GOT_TYPE && g != GOT_NOTHING && g != GOT_5XX && g != GOT_401)
				if (clients_do(c, g, false, 0) == DOES_UNTOLD)
					fail_msg("%s: %s", c->name, clients_got_name(g));
		/* it ends, however often it failed */
		assert_true(clients_delay(c, UINT32_MAX, -1) > 0);
	}
	assert_true(n >= 10);
	assert_null(clients_find("netscape"));
	assert_int_equal(clients_got(0, false), GOT_NOTHING);
	assert_int_equal(clients_got(200, true), GOT_STREAM);
	assert_int_equal(clients_got(204, false), GOT_TYPE);
	assert_int_equal(clients_got(307, false), GOT_4XX);
	assert_int_equal(clients_got(403, false), GOT_401);
	assert_int_equal(clients_got(503, false), GOT_5XX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gets_in_a_row),
		cmocka_unit_test(every_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
