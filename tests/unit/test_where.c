/* where: what an expression means, and what is said of one that means nothing. */
#include "mcpdiag/where.h"

#include <stdio.h>
#include <stdlib.h>

#include "util.h"

#define S(x) (x) * NS_S

static const uint32_t two_streams[] = { 4, 9 };
static const struct finding leapfrog = { .detector = "leapfrog", .severity = SEV_WARNING,
	.confidence = CONF_MEDIUM };
static const struct finding headless = { .detector = "orphaned-channel",
	.variant = "headless", .severity = SEV_ERROR, .confidence = CONF_HIGH };

/* The things that are asked about. */
static struct where_item items[8];
enum { NOTHING, HEAD, STREAM, FROG, HEADLESS };

static void
setup(void)
{
	items[HEAD] = (struct where_item){ .session = STR("#24a6e81fae"),
	    .client = { STR("ts/1.2"), STR("TypeScript SDK") },
	    .server = { STR("probe/1"), STR("rmcp 0.15 (Rust SDK)"), STR("127.0.0.1:3000") },
	    .method = { STR("POST"), STR("tools/call") }, .status = 404,
	    .timed = true, .from = S(3) + 36 * NS_MS, .to = S(3) + 36 * NS_MS,
	    .first_pkt = 30, .last_pkt = 30 };
	items[STREAM] = (struct where_item){ .session = STR("#ab00000000"),
	    .method = { STR("GET") }, .status = 200, .kinds = 1u << EV_STANDALONE,
	    .timed = true, .from = S(5), .to = S(60), .first_pkt = 50, .last_pkt = 90,
	    .streams = two_streams, .n_streams = 1 };
	items[FROG] = (struct where_item){ .finding = &leapfrog,
	    .streams = two_streams, .n_streams = 2,
	    .kinds = 1u << EV_STANDALONE | 1u << EV_RESUMED };
	items[HEADLESS] = (struct where_item){ .finding = &headless };
}

static const struct {
	const char *text;
	int item;
	bool want;
} rows[] = {
	/* Presence, and what is absent. */
	{ "session", HEAD, true }, { "session", NOTHING, false },
	{ "status != 200", NOTHING, false }, { "!(status == 200)", NOTHING, true },
	{ "status", STREAM, true }, { "stream", HEAD, false }, { "stream", FROG, true },
	{ "kind", HEAD, false }, { "detector", HEAD, false }, { "detector", FROG, true },
	{ "time", FROG, false }, { "packet", STREAM, true }, { "kind != listen", HEAD, false },
	{ "client != ts", NOTHING, false }, { "stream != 3", HEAD, false }, { "severity", HEAD, false },
	/* Sessions by the start of what is shown. */
	{ "session == 24a6", HEAD, true }, { "session == #24A6e81fae", HEAD, true },
	{ "session == a6e8", HEAD, false }, { "session ~ a6e8", HEAD, true },
	{ "session != 24a6", HEAD, false }, { "session != ab", HEAD, true },
	{ "session == 24a6e81fae0", HEAD, false },
	/* Words. */
	{ "client == ts", HEAD, true }, { "client == TS/1.2", HEAD, true },
	{ "client == t", HEAD, false }, { "client ~ typescript", HEAD, true },
	{ "client != ts", HEAD, false }, { "client != go", HEAD, true },
	{ "server ~ rmcp", HEAD, true }, { "server == 127.0.0.1:3000", HEAD, true },
	{ "server contains 'rust sdk'", HEAD, true }, { "server ~ 'rust  sdk'", HEAD, false },
	{ "method == tools/call", HEAD, true }, { "method == post", HEAD, true },
	{ "method eq \"tools/call\"", HEAD, true }, { "method == tools", HEAD, true },
	{ "method ne GET", HEAD, true }, { "method == not", HEAD, false },
	{ "method ~ 'a\\'b'", HEAD, false },
	/* Numbers, and what lasts. */
	{ "status == 404", HEAD, true }, { "status == 400..499", HEAD, true },
	{ "status == 405..499", HEAD, false }, { "status != 400..499", HEAD, false },
	{ "status != 500..599", HEAD, true }, { "status >= 404", HEAD, true },
	{ "status > 404", HEAD, false }, { "status < 404", HEAD, false },
	{ "status <= 404", HEAD, true }, { "status lt 405", HEAD, true },
	{ "status in {400, 404}", HEAD, true }, { "status in {400 500..599}", HEAD, false },
	{ "!(status in {400})", HEAD, true },
	{ "packet == 30", HEAD, true }, { "packet == 60", STREAM, true },
	{ "packet > 90", STREAM, false }, { "packet == 1..49", STREAM, false },
	{ "packet != 91", STREAM, true }, { "packet != 90", STREAM, false },
	{ "time == 3.036", HEAD, true }, { "time == 3.035", HEAD, false },
	{ "time == 3.04", HEAD, true }, { "time == 3", HEAD, true }, { "time == 4", HEAD, false },
	{ "time >= 3.036", HEAD, true }, { "time > 3.036", HEAD, false },
	{ "time >= 10 and time < 20", STREAM, true }, { "time == 10..20", STREAM, true },
	{ "time == 10s..20s", STREAM, true }, { "time == 61..70", STREAM, false },
	{ "time < 5", STREAM, false }, { "time <= 5.000000000", STREAM, true },
	{ "stream == 4", STREAM, true }, { "stream == 9", STREAM, false },
	{ "stream == 9", FROG, true }, { "stream != 9", FROG, false },
	{ "stream != 5", FROG, true }, { "stream > 8", FROG, true },
	/* Names. */
	{ "kind == standalone", STREAM, true }, { "kind == resumed", STREAM, false },
	{ "kind == resumed", FROG, true }, { "kind != resumed", FROG, false },
	{ "kind != listen", FROG, true }, { "kind == STANDALONE", STREAM, true },
	{ "detector == leapfrog", FROG, true }, { "detector != leapfrog", FROG, false },
	{ "detector ~ frog", FROG, true }, { "detector == orphaned-channel", HEADLESS, true },
	{ "detector == orphaned-channel/headless", HEADLESS, true },
	{ "detector == orphaned-channel/superseded", HEADLESS, false },
	{ "detector ~ headless", HEADLESS, true },
	{ "severity == error", HEADLESS, true }, { "severity >= warning", FROG, true },
	{ "severity > warning", FROG, false }, { "confidence < high", FROG, true },
	{ "confidence == high", FROG, false },
	/* What binds to what. */
	{ "status && kind || session", HEAD, true }, { "status && (kind || session)", HEAD, true },
	{ "kind && status || session", HEAD, true }, { "session || status && kind", HEAD, true },
	{ "(session || status) && kind", HEAD, false }, { "!kind && status", HEAD, true },
	{ "!(kind && status)", HEAD, true }, { "!!status", HEAD, true }, { "not not kind", HEAD, false },
	{ "!kind || !status", HEAD, true }, { "not kind and not status", HEAD, false },
	{ "((((status))))", HEAD, true }, { "status==404&&method==POST", HEAD, true },
	{ "kind or kind or status", HEAD, true }, { "status and status and kind", HEAD, false },
};

/* The column that is at fault, and a part of what is said. */
static const struct {
	const char *text;
	uint32_t column;
	const char *says;
} faults[] = {
	{ "", 1, "too early: a field" }, { "   ", 4, "too early" },
	{ "sesion == ab", 1, "no field sesion; there are session, client" },
	{ "status == 200 &&", 17, "too early" },
	{ "status = 200", 8, "equality is ==" },
	{ "status == 200 & kind", 15, "and is &&" },
	{ "status ==", 10, "a value for status is missing" },
	{ "status == == 3", 11, "a value for status is missing" },
	{ "status == (3)", 11, "a value for status is missing" },
	{ "status == 20x", 11, "takes a whole number" }, { "status == -1", 11, "whole number" },
	{ "status == 4294967296", 11, "whole number" },
	{ "status == 5..4", 11, "ends before it begins" },
	{ "status > 1..4", 10, "== and != only" },
	{ "time == 1.2.3", 9, "seconds" }, { "time == .", 9, "seconds" },
	{ "time == 1.1234567891", 9, "seconds" }, { "time > 99999999999999999999", 8, "seconds" },
	{ "kind == standlone", 9, "no kind standlone; there are post-response" },
	{ "severity >= fatal", 13, "there are info, warning and error" },
	{ "confidence == sure", 15, "low, medium and high" },
	{ "detector == leapfork", 13, "mcpdiag explain" },
	{ "session < ab", 9, "has no order: ==, != and ~" }, { "kind > listen", 6, "has no order" },
	{ "kind ~ st", 6, "is no text" }, { "time ~ 3", 6, "is no text" },
	{ "session == ''", 12, "an empty value" }, { "session == 'ab", 12, "never closed" },
	{ "(status == 200", 1, "no ) for this (" }, { "status)", 7, "no ( for this )" },
	{ "status session", 8, "only &&, ||, )" }, { "&& status", 1, "only a field, ! or (" },
	{ "()", 2, "only a field" }, { "status in 200", 11, "{ is missing" },
	{ "status in {", 12, "a value or }" }, { "status in {}", 12, "no value between" },
	{ "status in {,200}", 12, "a value or }" }, { "status in {200", 15, "a value or }" },
	{ "\"status\"", 1, "only a field" }, { "status == 200 ; kind", 15, "only &&" },
	{ "status | kind", 8, "or is ||" },
};

static const char *const detectors[] = { "leapfrog", "orphaned-channel", NULL };

static void
every_row(void **state)
{
	(void)state;
	setup();
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct guard g = guard_of(rows[i].text, strlen(rows[i].text) + 1);
		struct errmsg em;
		uint32_t column;
		struct where *w = where_new((const char *)g.p, detectors, &column, &em);

		if (w == NULL)
			fail_msg("%s: %s", rows[i].text, em.text);
		assert_int_equal(column, 0);
		if (where_match(w, &items[rows[i].item]) != rows[i].want)
			fail_msg("%s (%d)", rows[i].text, rows[i].item);
		where_free(w);
		guard_free(&g);
	}
}

static void
every_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(faults); i++) {
		struct errmsg em;
		uint32_t column;
		struct where *w = where_new(faults[i].text, detectors, &column, &em);

		if (w)
			fail_msg("%s: taken", faults[i].text);
		if (column != faults[i].column || strstr(em.text, faults[i].says) == NULL)
			fail_msg("%s: %u, %s", faults[i].text, column, em.text);
	}
}

/* `n` times `part`, then `end`. */
static char *
many(const char *part, unsigned n, const char *end)
{
	char *s = malloc(n * strlen(part) + strlen(end) + 1), *p = s;

	assert_non_null(s);
	while (n--) {
		memcpy(p, part, strlen(part));
		p += strlen(part);
	}
	memcpy(p, end, strlen(end) + 1);
	return s;
}

static void
bounded(void **state)
{
	static const struct {
		const char *part;
		unsigned n;
		const char *end, *says;		/* NULL: it is taken */
	} cases[] = {
		{ "(", WHERE_MAX_DEPTH - 1, "status", "no ) for this" },
		{ "(", WHERE_MAX_DEPTH + 1, "status", "too deep" },
		{ "(", 4000, "status", "too deep" },
		{ "!", WHERE_MAX_DEPTH, "status", NULL },
		{ "!", WHERE_MAX_DEPTH + 1, "status", "too deep" },
		{ "status || ", 127, "kind", NULL },
		{ "status || ", 128, "kind", "too long: 256" },
		{ " ", 4090, "status", NULL },
		{ " ", 4091, "status", "too long: 4096 bytes" },
	};

	(void)state;
	setup();
	for (size_t i = 0; i < N_ROWS(cases); i++) {
		char *text = many(cases[i].part, cases[i].n, cases[i].end);
		struct errmsg em = { "" };
		uint32_t column;
		struct where *w = where_new(text, NULL, &column, &em);

		if (cases[i].says ? w || strstr(em.text, cases[i].says) == NULL : !w)
			fail_msg("%zu: %s", i, em.text);
		if (w)
			assert_true(where_match(w, &items[HEAD]));
		where_free(w);
		free(text);
	}
}

/* Any two tokens in a row are an expression or an error, never a crash. */
static void
pairs(void **state)
{
	static const char *const tokens[] = { "status", "kind", "time", "in", "not", "!",
	    "and", "||", "(", ")", "{", "}", ",", "==", "<", "~", "200", "..", "'x'", "'", "&",
	    "=", "listen", "1..2", ";", "\\", "\x80\xff" };
	uint32_t taken = 0;

	(void)state;
	setup();
	for (size_t a = 0; a < N_ROWS(tokens); a++)
		for (size_t b = 0; b < N_ROWS(tokens); b++)
			for (size_t c = 0; c < N_ROWS(tokens); c++) {
				char text[64];
				struct errmsg em;
				uint32_t column;
				struct where *w;

				(void)snprintf(text, sizeof text, "%s %s %s", tokens[a],
				    tokens[b], tokens[c]);
				w = where_new(text, NULL, &column, &em);
				assert_true((w == NULL) == (column > 0));
				assert_true(column <= strlen(text) + 1);
				taken += w && (where_match(w, &items[STREAM]) || true);
				where_free(w);
			}
	assert_true(taken > 20);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row), cmocka_unit_test(every_fault),
		cmocka_unit_test(bounded), cmocka_unit_test(pairs),
	};

	return cmocka_run_group_tests_name("where", tests, NULL, NULL);
}
