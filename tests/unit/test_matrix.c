/* matrix: what an answer does to which client. */
#include "mcpdiag/matrix.h"

#include "util.h"

static const struct row {
	const char *client;
	enum matrix_column m;
	enum probe_answer old, answer;	/* of the stream beside it, and its own */
	int64_t retry_ms;
	const char *text;		/* NULL: no cell */
	bool bad;
} rows[] = {
	{ "eventsource", MATRIX_FIRST, PROBE_OPEN, PROBE_OPEN, -1, "listens", false },
	{ "ts-1.32", MATRIX_FIRST, PROBE_405, PROBE_NOT_ASKED, -1, "goes without", false },
	{ "python", MATRIX_FIRST, PROBE_405, PROBE_NOT_ASKED, -1, "2 tries, deaf", true },
	{ "ts-1.32", MATRIX_FIRST, PROBE_PLAIN, PROBE_NOT_ASKED, -1, "loops 1 s", true },
	{ "ts-1.32", MATRIX_FIRST, PROBE_EMPTY, PROBE_NOT_ASKED, -1, "loops 1 s", true },
	{ "go", MATRIX_FIRST, PROBE_EMPTY, PROBE_NOT_ASKED, -1, "5 ends, fails", true },
	{ "rmcp", MATRIX_FIRST, PROBE_EMPTY, PROBE_NOT_ASKED, 2500, "loops 2.5 s", true },
	{ "java", MATRIX_FIRST, PROBE_400, PROBE_NOT_ASKED, -1, "new session", false },
	/* the first one was well, the second took its place */
	{ "ts-1.32", MATRIX_FIRST, PROBE_ENDED, PROBE_OPEN, 3000, "listens", false },
	{ "ts-1.32", MATRIX_SECOND, PROBE_ENDED, PROBE_OPEN, 3000, "leapfrog 3 s", true },
	{ "mcp-go", MATRIX_SECOND, PROBE_ENDED, PROBE_OPEN, 3000, "leapfrog 1 s", true },
	{ "java", MATRIX_SECOND, PROBE_ENDED, PROBE_OPEN, 3000, "one deaf", true },
	{ "eventsource", MATRIX_SECOND, PROBE_OPEN, PROBE_409, 3000, "deaf", true },
	{ "mcp-go", MATRIX_SECOND, PROBE_OPEN, PROBE_409, 3000, "loops 1 s", true },
	{ "rmcp", MATRIX_SECOND, PROBE_OPEN, PROBE_409, 3000, "loops from 1 s", true },
	{ "ts-1.32", MATRIX_EARLY, PROBE_ENDED, PROBE_OPEN, 3000, "leapfrog 3 s", true },
	{ "ts-1.32", MATRIX_EARLY, PROBE_OPEN, PROBE_ENDED, -1, "loops 1 s", true },
	{ "mcp-go", MATRIX_EARLY, PROBE_ENDED, PROBE_OPEN, 3000, NULL, false },
	{ "java", MATRIX_EARLY, PROBE_ENDED, PROBE_OPEN, 3000, NULL, false },
	/* of these only some ask */
	{ "eventsource", MATRIX_ANSWERED, PROBE_OPEN, PROBE_EMPTY, 3000, "loops 3 s", true },
	{ "ts-1.23", MATRIX_ANSWERED, PROBE_OPEN, PROBE_5XX, 3000, "2 tries, deaf", true },
	{ "ts-1.32", MATRIX_ANSWERED, PROBE_OPEN, PROBE_EMPTY, 3000, NULL, false },
	{ "mcp-go", MATRIX_RESUME, PROBE_OPEN, PROBE_OPEN, 3000, NULL, false },
	{ "java", MATRIX_RESUME, PROBE_OPEN, PROBE_OPEN, 3000, NULL, false },
	{ "ts-1.32", MATRIX_RESUME, PROBE_OPEN, PROBE_NOT_ASKED, 3000, NULL, false },
};

static void
cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *r = &rows[i];
		struct probe_seen all[PROBE_N] = { 0 };
		struct matrix_cell c;

		all[PROBE_TWO_GETS].s[PROBE_A].answer = r->old;
		all[PROBE_TWO_GETS].s[PROBE_A].retry_ms = r->retry_ms;
		all[PROBE_TWO_GETS].s[PROBE_B].answer =
		    r->m == MATRIX_FIRST || r->m == MATRIX_SECOND ? r->answer : PROBE_NOT_ASKED;
		all[PROBE_FINISHED_POST].s[PROBE_A].answer = r->old;
		all[PROBE_FINISHED_POST].s[PROBE_B].answer = r->answer;
		all[PROBE_RESUME].s[PROBE_B].answer = r->answer;
		all[PROBE_RESUME_LIVE].s[PROBE_A].answer = r->old;
		all[PROBE_RESUME_LIVE].s[PROBE_B].answer = r->answer;
		c = matrix_cell(clients_find(r->client), r->m, all);
		if (c.known != (r->text != NULL) || c.bad != r->bad ||
		    strcmp(c.text, r->text ? r->text : "-") != 0)
			fail_msg("row %zu, %s: %d %d %s", i, r->client, c.known, c.bad, c.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cells) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
