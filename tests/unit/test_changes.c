/* changes: from role changes to sentences about who took the channel. */
#include <stdlib.h>

#include "../../src/tui/changes.h"
#include "mcpdiag/timeline.h"
#include "util.h"

#define MAX_STEPS 16

enum what { NOTHING, OPEN, ROLE, END };

struct step {
	enum what what;
	uint32_t us, stream;
	int value;			/* role, or how it ended */
	enum ev_by by;
};

#define O(us, n) { OPEN, us, n, 0, EV_BY_OPEN }
#define R(us, n, role, by) { ROLE, us, n, EV_##role, EV_BY_##by }
#define E(us, n, end) { END, us, n, EV_##end, EV_BY_CLOSE }
#define S 1000000

static const struct {
	const char *what;
	struct step steps[MAX_STEPS];
	const char *want;		/* a line for each change */
} rows[] = {
	{ "nothing happens", { { NOTHING, 0, 0, 0, EV_BY_OPEN } }, "" },
	{ "the first one", { O(1, 1), R(1, 1, PRESUMED, OPEN) },
	    "0>1 GET #1 came first, owns the channel; presumed\n" },
	{ "is proven", { O(1, 1), R(1, 1, PRESUMED, OPEN), R(2, 1, PRIMARY, MESSAGE) },
	    "0>1 GET #1 came first, owns the channel; proven by packet 2\n" },
	{ "proven at once", { O(1, 1), R(1, 1, PRESUMED, OPEN), R(1, 1, PRIMARY, MESSAGE) },
	    "0>1 GET #1 came first, owns the channel\n" },
	{ "it ends", { O(1, 1), R(1, 1, PRESUMED, OPEN), E(5, 1, CLIENT),
	    R(5, 1, CLOSED, CLOSE) },
	    "0>1 GET #1 came first, owns the channel; presumed\n"
	    "1>0 #1 ended (the client left): nobody owns the channel\n" },
	{ "the server ends it for another: its head comes after",
	    { O(1, 1), R(1, 1, PRESUMED, OPEN), E(3 * S + 400, 1, COMPLETE),
	    R(3 * S + 400, 1, CLOSED, CLOSE), O(3 * S, 2), R(3 * S + 600, 2, PRESUMED, OPEN) },
	    "0>1 GET #1 came first, owns the channel; presumed\n"
	    "1>2 GET #2 took over, #1 ended 0.4 ms later; presumed\n" },
	{ "its head comes before",
	    { O(1, 1), R(1, 1, PRESUMED, OPEN), O(3 * S, 2), R(3 * S, 2, SHADOW, OPEN),
	    E(3 * S + 400, 1, TRUNCATED), R(3 * S + 400, 1, CLOSED, CLOSE),
	    R(3 * S + 400, 2, PRESUMED, CLOSE) },
	    "0>1 GET #1 came first, owns the channel; presumed\n"
	    "1>2 GET #2 took over, #1 ended 0.4 ms later (cut off); presumed\n" },
	{ "it comes long after",
	    { O(1, 1), R(1, 1, PRESUMED, OPEN), E(2 * S, 1, COMPLETE),
	    R(2 * S, 1, CLOSED, CLOSE), O(5 * S, 2), R(5 * S, 2, PRESUMED, OPEN) },
	    "0>1 GET #1 came first, owns the channel; presumed\n"
	    "1>0 #1 ended (by the server): nobody owns the channel\n"
	    "0>2 GET #2 took the free channel, #1 had ended 3.00 s before (by the server); "
	    "presumed\n" },
	{ "a shadow inherits",
	    { O(1, 1), R(1, 1, PRESUMED, OPEN), O(2, 2), R(2, 2, SHADOW, OPEN),
	    E(60 * S, 1, COMPLETE), R(60 * S, 1, CLOSED, CLOSE),
	    R(60 * S, 2, PRESUMED, CLOSE) },
	    "0>1 GET #1 came first, owns the channel; presumed\n"
	    "1>2 #2 inherits: #1 ended (by the server); presumed\n" },
	{ "a message tells: the old owner is an orphan",
	    { O(1, 1), R(1, 1, PRESUMED, OPEN), R(2, 1, PRIMARY, MESSAGE), O(3, 2),
	    R(3, 2, SHADOW, OPEN), R(9 * S, 1, ORPHAN, MESSAGE), R(9 * S, 2, PRIMARY, MESSAGE) },
	    "0>1 GET #1 came first, owns the channel; proven by packet 2\n"
	    "1>2 message on #2: it took over, #1 stays open\n" },
	{ "it carried an answer after all",
	    { O(1, 1), R(1, 1, PRESUMED, OPEN), R(2, 1, REQUEST_STREAM, RESPONSE) },
	    "0>1 GET #1 came first, owns the channel; presumed\n"
	    "1>0 #1 turned out to carry an answer: nobody owns the channel\n" },
	{ "shadows alone change nothing",
	    { O(1, 1), R(1, 1, SHADOW, OPEN), E(2, 1, COMPLETE), R(2, 1, CLOSED, CLOSE) }, "" },
	{ "a stream that the timeline does not have", { R(1, 9, PRIMARY, MESSAGE) },
	    "0>9 GET #9 came first, owns the channel\n" },
};

static void
give(struct timeline *tl, struct changes *c, const struct step *s)
{
	struct ev e = { .t = (ns_t)s->us * NS_US + NS_S, .pkt = s->us, .session = 1,
	    .stream = s->stream };

	switch (s->what) {
	case NOTHING:
		return;
	case OPEN:
		e.type = EV_STREAM;
		e.u.stream.kind = EV_STANDALONE;
		e.u.stream.requested = e.t;
		break;
	case ROLE:
		e.type = EV_OWNER;
		e.u.owner.to = (enum ev_role)s->value;
		e.u.owner.by = s->by;
		break;
	case END:
		e.type = EV_STREAM_END;
		e.u.stream_end.end = (enum ev_end)s->value;
		break;
	}
	timeline_event(tl, &e);
	if (s->what == ROLE)
		changes_event(c, tl, &e);
}

static void
print(const struct changes *c, const struct timeline *tl, struct buf *b)
{
	buf_init(b, 1 << 16);
	for (uint32_t i = 0; i < c->n; i++) {
		(void)buf_fmt(b, "%u>%u ", c->all[i].from, c->all[i].to);
		change_text(tl, &c->all[i], b);
		(void)buf_addc(b, '\n');
	}
	(void)buf_addc(b, 0);
}

/* As told one by one, and as found in the timeline afterwards. */
static void
sentences(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct ev e = { .type = EV_SESSION, .session = 1 };
		struct changes told = { 0 }, found = { 0 };
		struct timeline *tl;
		struct limits lim;
		struct buf b;

		limits_init(&lim);
		tl = timeline_new(&lim);
		timeline_event(tl, &e);
		for (size_t k = 0; k < MAX_STEPS; k++)
			give(tl, &told, &rows[i].steps[k]);
		print(&told, tl, &b);
		if (strcmp(b.p, rows[i].want) != 0)
			fail_msg("%s:\n%s", rows[i].what, b.p);
		buf_fini(&b);
		changes_fill(&found, tl, timeline_session_n(tl, 1));
		print(&found, tl, &b);
		/* What no stream is kept of cannot be found. */
		if (strstr(rows[i].want, "#9") == NULL && strcmp(b.p, rows[i].want) != 0)
			fail_msg("found later, %s:\n%s", rows[i].what, b.p);
		buf_fini(&b);
		changes_fini(&told);
		changes_fini(&found);
		timeline_free(tl);
	}
}

static void
older_ones_go(void **state)
{
	struct changes c = { 0 };
	struct limits lim;
	struct timeline *tl;
	struct step s = { ROLE, 0, 0, EV_PRIMARY, EV_BY_MESSAGE };
	uint32_t n = CHANGES_MAX + 10;

	(void)state;
	limits_init(&lim);
	tl = timeline_new(&lim);
	for (s.us = 1; s.us <= n; s.us++) {
		s.stream = s.us;
		give(tl, &c, &s);
	}
	assert_int_equal(c.forgot, CHANGES_MAX / 2);
	assert_int_equal(c.n + c.forgot, n);
	assert_int_equal(c.all[c.n - 1].to, n);
	assert_int_equal(c.all[0].to, c.forgot + 1);
	assert_int_equal(changes_until(&c, 0), 0);
	assert_int_equal(changes_until(&c, c.all[5].t), 6);
	assert_int_equal(changes_until(&c, INT64_MAX), c.n);
	changes_fini(&c);
	timeline_free(tl);
}

static void
spans(void **state)
{
	static const struct {
		ns_t d;
		const char *text;
	} want[] = {
		{ 0, "0.0 ms" }, { 412345, "0.4 ms" }, { 45 * NS_MS, "45 ms" },
		{ 3006 * NS_MS, "3.01 s" }, { 62 * NS_S, "62.0 s" },
		{ 125 * NS_S, "2 min 5 s" }, { 7320 * NS_S, "2 h 2 min" },
		{ INT64_MAX, "2562047 h 47 min" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(want); i++) {
		struct buf b;

		buf_init(&b, 100);
		span_text(want[i].d, &b);
		(void)buf_addc(&b, 0);
		assert_string_equal(b.p, want[i].text);
		buf_fini(&b);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences),
		cmocka_unit_test(older_ones_go),
		cmocka_unit_test(spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
