/* explain: each detector has its text, and the text can be shown. */
#include "mcpdiag/explain.h"

#include <stdbool.h>

#include "mcpdiag/rule.h"
#include "util.h"

#define MAX_COLUMNS 74

static void
each_rule_has_an_entry(void **state)
{
	(void)state;
	for (size_t i = 0; rules_table[i]; i++)
		if (explain_find(rules_table[i]->name) == NULL)
			fail_msg("%s has no entry in src/rules/explain.c",
			    rules_table[i]->name);
}

/* Both families, whether their rules are there yet or not. */
static void
each_known_detector_has_an_entry(void **state)
{
	static const char *const names[] = {
		"leapfrog", "orphaned-channel", "replay-loop", "empty-accept-loop",
		"refused-get-loop", "stale-slot", "idle-cut", "dead-session",
		"lost-response", "collateral-teardown", "split-brain", "buffered-stream",
		"duplicate-delivery", "wrong-stream", "id-collision", "session-leak",
		"notification-storm", "cursor-loss", "retry-violation", "shadow-pile-up",
		"session-wedge", "refused-get-kills-stream", "ping-kill", "half-open",
		"head-of-line", "reconnect-storm", "reinit-storm", "contract",
		"auth-churn", "abrupt-shutdown",
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(names); i++) {
		const struct explain *e = explain_find(names[i]);

		if (e == NULL)
			fail_msg("no entry for %s", names[i]);
		assert_string_equal(e->detector, names[i]);
		assert_ptr_equal(e, explain_at((unsigned)i));
	}
	assert_null(explain_at(N_ROWS(names)));
	assert_null(explain_find("leap"));
	assert_null(explain_find(""));
}

static void
plain(const char *detector, const char *text, bool lines)
{
	size_t column = 0;

	if (text == NULL || *text == '\0')
		fail_msg("%s: a text is missing", detector);
	for (const char *p = text; *p; p++) {
		if (lines && *p == '\n') {
			column = 0;
			continue;
		}
		if (*p < ' ' || *p > '~')
			fail_msg("%s: byte %d in: %s", detector, *p, text);
		if (++column > MAX_COLUMNS && lines)
			fail_msg("%s: too wide: %s", detector, text);
	}
	if (text[strlen(text) - 1] == '\n')
		fail_msg("%s: ends with a line end", detector);
}

static void
each_entry_is_whole(void **state)
{
	const struct explain *e;

	(void)state;
	for (unsigned i = 0; (e = explain_at(i)) != NULL; i++) {
		const char *fixes[] = { e->server, e->client, e->path };
		unsigned n = 0;

		plain(e->detector, e->what, false);
		plain(e->detector, e->wire, true);
		plain(e->detector, e->known, false);
		plain(e->detector, e->not_it, false);
		for (unsigned k = 0; k < N_ROWS(fixes); k++) {
			if (fixes[k])
				plain(e->detector, fixes[k], false);
			n += fixes[k] != NULL;
		}
		if (n == 0)
			fail_msg("%s: no fix", e->detector);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(explain_at(k)->detector, e->detector);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_has_an_entry),
		cmocka_unit_test(each_known_detector_has_an_entry),
		cmocka_unit_test(each_entry_is_whole),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
