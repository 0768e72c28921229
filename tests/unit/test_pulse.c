/* pulse: what each session is doing now. */
#include <stdio.h>

#include "../../src/tui/pulse.h"
#include "util.h"

struct fix {
	struct timeline *tl;
	struct pulses *ps;
};

static void
feed(struct fix *f, const struct ev *e)
{
	timeline_event(f->tl, e);
	pulses_event(f->ps, e);
}

static void
setup(struct fix *f, uint64_t sessions)
{
	struct limits lim;

	limits_init(&lim);
	lim.sessions = sessions;
	f->tl = timeline_new(&lim);
	f->ps = pulses_new(f->tl);
}

static void
teardown(struct fix *f)
{
	pulses_free(f->ps);
	timeline_free(f->tl);
}

static void
session(struct fix *f, uint32_t n)
{
	struct ev e = { .type = EV_SESSION, .t = n, .session = n };

	feed(f, &e);
}

static void
stream(struct fix *f, uint32_t n, uint32_t lineage)
{
	struct ev e = { .type = EV_STREAM, .t = n, .session = 1, .stream = n };

	e.u.stream.lineage = lineage;
	feed(f, &e);
}

static const struct pulse *
owner(struct fix *f, uint32_t n, enum ev_role to)
{
	struct ev e = { .type = EV_OWNER, .t = 1000 + n, .session = 1, .stream = n };

	e.u.owner.to = to;
	feed(f, &e);
	return pulses_get(f->ps, 1);
}

static void
test_owner(void **state)
{
	static const struct {
		uint32_t stream;
		enum ev_role to;
		uint32_t owner, before, changes;
		const char *role;
	} rows[] = {
		{ 1, EV_PRESUMED, 1, 0, 0, "presumed" },
		{ 1, EV_PRIMARY, 1, 0, 0, "primary" },
		{ 2, EV_SHADOW, 1, 0, 0, "primary" },
		{ 2, EV_PRESUMED, 1, 0, 0, "primary" },	/* nothing is proven */
		{ 1, EV_ORPHAN, 0, 1, 0, "closed" },
		{ 2, EV_PRIMARY, 2, 1, 1, "primary" },
		{ 1, EV_CLOSED, 2, 1, 1, "primary" },
		{ 2, EV_CLOSED, 0, 2, 1, "closed" },
		{ 3, EV_PRESUMED, 3, 2, 1, "presumed" },	/* the same listener */
		{ 1, EV_PRIMARY, 1, 3, 2, "primary" },	/* straight from one to the other */
		{ 9, EV_REQUEST_STREAM, 1, 3, 2, "primary" },
	};
	struct fix f;

	(void)state;
	setup(&f, 100);
	session(&f, 1);
	stream(&f, 1, 1);
	stream(&f, 2, 2);
	stream(&f, 3, 2);
	assert_string_equal(pulse_role_name(pulses_get(f.ps, 1)), "none");
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct pulse *p = owner(&f, rows[i].stream, rows[i].to);

		if (p->owner != rows[i].owner || p->before != rows[i].before ||
		    p->changes != rows[i].changes ||
		    strcmp(pulse_role_name(p), rows[i].role) != 0) {
			print_message("row %zu: owner %u before %u changes %u\n", i, p->owner,
			    p->before, p->changes);
			fail();
		}
	}
	teardown(&f);
}

static void
test_last(void **state)
{
	static const struct {
		struct ev e;
		const char *method, *want;
	} rows[] = {
		{ { .type = EV_REQUEST }, "GET", "GET" },
		{ { .type = EV_REQUEST }, "POST", "GET" },
		{ { .type = EV_MESSAGE, .dir = EV_C2S }, "tools/call", "> tools/call" },
		{ { .type = EV_MESSAGE, .dir = EV_S2C }, "notifications/progress", "< progress" },
		{ { .type = EV_MESSAGE, .dir = EV_S2C, .u.msg.kind = EV_MSG_ERROR }, NULL,
		    "error: error" },
		{ { .type = EV_RESPONSE, .u.resp.status = 200 }, NULL, "error: error" },
		{ { .type = EV_RESPONSE, .u.resp.status = 404 }, NULL, "HTTP 404" },
		{ { .type = EV_COMMENT }, NULL, "keep-alive" },
		{ { .type = EV_STALL }, NULL, "stalled" },
		{ { .type = EV_GAP }, NULL, "stalled" },
		{ { .type = EV_SESSION_END }, NULL, "ended" },
		{ { .type = EV_MESSAGE, .dir = EV_C2S },
		    "a/method/that/is/longer/than/there/is/room/for",
		    "> a/method/that/is/longer/than/" },
	};
	struct fix f;

	(void)state;
	setup(&f, 100);
	session(&f, 1);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct ev e = rows[i].e;

		e.session = 1;
		e.t = (ns_t)i;
		if (e.type == EV_REQUEST)
			e.u.req.method = str_c(rows[i].method);
		else if (rows[i].method)
			e.u.msg.method = str_c(rows[i].method);
		feed(&f, &e);
		assert_string_equal(pulses_get(f.ps, 1)->last, rows[i].want);
	}
	teardown(&f);
}

static void
test_open(void **state)
{
	struct ev e = { .type = EV_STREAM_END, .session = 1, .stream = 1 };
	struct fix f;

	(void)state;
	setup(&f, 100);
	session(&f, 1);
	feed(&f, &e);
	assert_int_equal(pulses_get(f.ps, 1)->open, 0);
	stream(&f, 1, 1);
	stream(&f, 2, 1);
	assert_int_equal(pulses_get(f.ps, 1)->open, 2);
	feed(&f, &e);
	assert_int_equal(pulses_get(f.ps, 1)->open, 1);
	e.stream = 2;
	e.u.stream_end.end = EV_OPEN;
	feed(&f, &e);
	assert_int_equal(pulses_get(f.ps, 1)->open, 1);
	teardown(&f);
}

/* What the timeline has let go of is not kept here either. */
static void
test_bounded(void **state)
{
	struct fix f;
	uint32_t kept = 0;

	(void)state;
	setup(&f, 10);
	for (uint32_t n = 1; n <= 100000; n++)
		session(&f, n);
	for (uint32_t n = 1; n <= 100000; n++)
		kept += pulses_get(f.ps, n) != NULL;
	assert_in_range(kept, 10, 1024);
	for (uint32_t n = 99991; n <= 100000; n++)
		assert_non_null(pulses_get(f.ps, n));
	assert_null(pulses_get(f.ps, 0));
	teardown(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
