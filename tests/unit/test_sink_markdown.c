/* sink_markdown: what an issue shows, and nothing in it that acts. */
#include "sink_fix.h"

#define ZW "\xe2\x80\x8b"

static void
nothing_acts(void **state)
{
	struct sink_fix x;

	(void)state;
	sink_fix_init(&x, 2, 0);
	sink_markdown(&x.o, x.tl, x.v, "1.2");
	sink_clean(&x);
	/* In prose: markup escaped, references and links broken. */
	assert_true(sink_has(&x, "**What:** T &lt;/b&gt;&amp;" ZW "\"'\\`\\*\\_\\[x\\](http:/" ZW
	    "/e) \\|\\#" ZW "1 @" ZW "you GH-" ZW "7 www." ZW "e\\\\x1b\\[31m\\\\x01\\\\x0a\\\\xff"));
	assert_int_equal(sink_times(&x, "T &lt;"), 2);		/* and the verdict */
	assert_true(sink_has(&x, "| 5 | +1.000 s | E &lt;/b&gt;"));
	/* Names: between more backticks than they hold; a bar ends no cell. */
	assert_true(sink_has(&x, "| `` cli</b>&\"'`*_[x](http://e) \\|#1 @you GH-7 www.e\\x1b[31m"));
	assert_true(sink_has(&x, "| `` #12</b>&"));
	/* No hostile string stands anywhere else. */
	assert_int_equal(sink_times(&x, "</b>"), sink_times(&x, "`` #12</b>") + 2);
	assert_int_equal(sink_times(&x, "@you"), sink_times(&x, "`` #12</b>") + 2);
	sink_fix_fini(&x);
}

static void
document(void **state)
{
	struct sink_fix x;

	(void)state;
	sink_fix_init(&x, 2, 0);
	verdict_note(x.v, "gate", "a | note");
	sink_markdown(&x.o, x.tl, x.v, "1.2");
	assert_int_equal(sink_times(&x, "<details>"), 2);
	assert_int_equal(sink_times(&x, "</details>"), 2);
	assert_true(sink_has(&x, "**Verdict:** leapfrog: T "));
	assert_true(sink_has(&x, "\n| 1 | leapfrog | error | high | 4 | 5 to 9 | "));
	assert_true(sink_has(&x, "\n| 2 | replay-loop (inclusive) | info | low | 1 | 6 to 6 | "));
	assert_true(sink_has(&x, "\n### 2. replay-loop (inclusive)\n"));
	assert_true(sink_has(&x, "It follows from finding 1.\n"));
	assert_true(sink_has(&x, "- mcpdiag 1.2\n- 20 packets in 3.000 s, 1 TCP connection"));
	assert_true(sink_has(&x, "- Note: a \\| note\n"));
	assert_true(sink_has(&x, "| streamable `2025-06-18` | "));
	assert_int_equal(x.o.p[x.o.n - 1], '\n');
	sink_fix_fini(&x);

	sink_fix_init(&x, 0, 3);
	sink_markdown(&x.o, x.tl, x.v, "1.2");
	assert_int_equal(sink_times(&x, "<details>"), 1);
	assert_false(sink_has(&x, "| finding |"));
	assert_true(sink_has(&x, "- Note: the capturing system lost 3 packets (a larger buffer helps: "
	    "tcpdump -B) (this may hide a fault)\n"));
	sink_fix_fini(&x);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_acts), cmocka_unit_test(document),
	};

	return cmocka_run_group_tests_name("sink_markdown", tests, NULL, NULL);
}
