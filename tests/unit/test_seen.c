/* What the engine adds to every verdict about streams: how they ended, who closed
 * first, and what became of the session's POSTs. */
#include <string.h>

#include "mcpdiag/engine.h"
#include "util.h"

static void *
new(struct engine *e, const struct limits *lim)
{
	(void)lim;
	return e;
}

static void
ignore(void *arg, const struct ev *e)
{
	(void)arg;
	(void)e;
}

static void
end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

static void
forget(void *arg)
{
	(void)arg;
}

static const struct rule one = {
	.name = "one", .wants = RULE_WANTS(EV_NOTE), .new = new, .event = ignore, .end = end,
	.free = forget,
};
static const struct rule remark = {
	.name = "remark", .remark = true, .wants = RULE_WANTS(EV_NOTE), .new = new,
	.event = ignore, .end = end, .free = forget,
};
static const struct rule *const rules[] = { &one, &remark, NULL };

static void
keep(void *arg, const struct ev *e)
{
	const struct finding **f = arg;

	if (e->type == EV_FINDING)
		*f = e->u.finding;
}

static void
feed_post(struct engine *e, uint32_t x, uint32_t session, unsigned status, ns_t t)
{
	struct ev v = { .type = EV_REQUEST, .x = x, .session = session, .t = t };

	v.u.req.method = STR("POST");
	engine_event(e, &v);
	v = (struct ev){ .type = EV_RESPONSE, .x = x, .session = session, .t = t + 1 };
	v.u.resp.status = status;
	engine_event(e, &v);
}

static void
feed_end(struct engine *e, uint32_t stream, enum ev_end end)
{
	struct ev v = { .type = EV_STREAM_END, .stream = stream, .session = 1, .t = 5 };

	v.u.stream_end.end = end;
	engine_event(e, &v);
}

static const char *
text_of(const struct finding *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0)
			return f->facts[i].text.p;
	return "-";
}

static const struct {
	const char *ends;		/* of streams 1, 2 ...: c t C l o, - never seen */
	unsigned posts[3];		/* statuses, at 50, 110 and 150; 0 none */
	const char *why;		/* as the rule says it */
	const char *fact, *closer, *session_posts, *added;
} seen_rows[] = {
	{ "ctc", { 0, 200, 202 }, "Why.", "2 complete, 1 truncated", "server", "answered",
	  "Why.  Its streams: 2 ended by the server with the terminator, 1 ended by the server's "
	  "side without terminator.  POSTs of the session were answered meanwhile." },
	{ "C", { 0, 200, 404 }, "Why.", "1 client", "client", "refused with 404",
	  "Why.  Its stream: 1 closed by the client.  The session's last POST was refused with "
	  "404." },
	{ "Cc", { 0, 404, 200 }, "A POST.", "1 complete, 1 client", "both", "answered",
	  "A POST.  Its streams: 1 ended by the server with the terminator, 1 closed by the "
	  "client." },
	{ "o-l", { 200, 0, 0 }, "By the terminator.", "1 lost, 2 open", "-", "none",
	  "By the terminator.  The session had no POST meanwhile." },
	{ "o", { 404, 0, 0 }, "POST, terminator.", "1 open", "-", "none", "POST, terminator." },
	{ "", { 0, 200, 200 }, "Why.", "-", "-", "-", "Why." },
};

static void
test_seen(void **state)
{
	static const char letters[] = "ctClo";	/* as enum ev_end */
	struct ev end = { .type = EV_END, .t = 999 };
	struct limits lim;

	(void)state;
	limits_init(&lim);
	for (size_t i = 0; i < sizeof seen_rows / sizeof *seen_rows; i++) {
		const struct finding *f = NULL;
		struct engine *e = engine_new(&lim, rules, keep, &f);
		struct draft *d;

		for (uint32_t k = 0; k < 3; k++)
			if (seen_rows[i].posts[k])
				feed_post(e, 1 + k, 1, seen_rows[i].posts[k], k == 0 ? 50 :
				    k == 1 ? 110 : 150);
		for (uint32_t k = 0; seen_rows[i].ends[k]; k++)
			if (seen_rows[i].ends[k] != '-')
				feed_end(e, 1 + k, (enum ev_end)(strchr(letters,
				    seen_rows[i].ends[k]) - letters));
		d = draft_new(e, &one, NULL, SEV_ERROR, CONF_HIGH, 1);
		for (uint32_t k = 0; seen_rows[i].ends[k]; k++)
			draft_stream(d, 1 + k);
		draft_why(d, "%s", seen_rows[i].why);
		draft_span(d, (struct at){ 100, 1 }, (struct at){ 200, 2 });
		draft_done(d);
		engine_event(e, &end);
		assert_non_null(f);
		assert_string_equal(text_of(f, "ends"), seen_rows[i].fact);
		assert_string_equal(text_of(f, "first_closer"), seen_rows[i].closer);
		assert_string_equal(text_of(f, "session_posts"), seen_rows[i].session_posts);
		assert_string_equal(f->why.p, seen_rows[i].added);
		engine_free(e);
	}
}

/* What is against the specification needs no such words. */
static void
test_remark(void **state)
{
	const struct finding *f = NULL;
	struct ev over = { .type = EV_END, .t = 999 };
	struct limits lim;
	struct engine *e;
	struct draft *d;

	(void)state;
	limits_init(&lim);
	e = engine_new(&lim, rules, keep, &f);
	d = draft_new(e, &remark, NULL, SEV_ERROR, CONF_HIGH, 1);
	draft_stream(d, 1);
	draft_done(d);
	engine_event(e, &over);
	assert_int_equal(f->n_facts, 0);
	engine_free(e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seen),
		cmocka_unit_test(test_remark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
