/* probe: what was seen and what it means, without a socket; and each policy of
 * the reference server told from the others. */
#include "mcpdiag/probe.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/mcpd.h"
#include "util.h"

/* Answers in the order A B C P X, one letter each; "-" not asked. */
static enum probe_answer
answer_of(char c)
{
	static const struct {
		char c;
		enum probe_answer a;
	} letters[] = {
		{ '-', PROBE_NOT_ASKED }, { 'o', PROBE_OPEN }, { 'e', PROBE_ENDED },
		{ '0', PROBE_EMPTY }, { 't', PROBE_PLAIN }, { 'b', PROBE_400 },
		{ 'a', PROBE_401 }, { 'n', PROBE_404 }, { 'm', PROBE_405 },
		{ 'c', PROBE_409 }, { 'l', PROBE_429 }, { '4', PROBE_4XX },
		{ '5', PROBE_5XX }, { 's', PROBE_SILENT }, { 'x', PROBE_CUT },
	};

	for (size_t i = 0; i < N_ROWS(letters); i++)
		if (letters[i].c == c)
			return letters[i].a;
	fail_msg("no answer %c", c);
	return PROBE_NOT_ASKED;
}

static const struct judged {
	enum probe_id id;
	const char *answers;
	unsigned emitted;
	uint32_t heard[3];
	unsigned replayed;	/* on B */
	bool inclusive, response;
	enum probe_verdict verdict;
	uint32_t outcome;
} judged[] = {
	{ PROBE_TWO_GETS, "oo---", 0, { 0 }, 0, 0, 0, PROBE_UNKNOWN, OUT_BESIDE },
	{ PROBE_TWO_GETS, "oo---", 2, { 3, 0, 0 }, 0, 0, 0, PROBE_OK, OUT_FIRST },
	{ PROBE_TWO_GETS, "oo---", 2, { 0, 3, 0 }, 0, 0, 0, PROBE_FAULT, OUT_LAST },
	{ PROBE_TWO_GETS, "oo---", 2, { 3, 3, 0 }, 0, 0, 0, PROBE_FAULT, OUT_BOTH },
	{ PROBE_TWO_GETS, "oo---", 2, { 1, 2, 0 }, 0, 0, 0, PROBE_FAULT, OUT_SPLIT },
	{ PROBE_TWO_GETS, "oo---", 2, { 0, 0, 0 }, 0, 0, 0, PROBE_FAULT, OUT_MUTE },
	{ PROBE_TWO_GETS, "eo---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_REPLACED | OUT_REPLAYED },
	{ PROBE_TWO_GETS, "0o---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_REPLACED | OUT_REPLAYED },
	{ PROBE_TWO_GETS, "oc---", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_CONFLICT },
	{ PROBE_TWO_GETS, "ob---", 0, { 0 }, 0, 0, 0, PROBE_WARNING, OUT_BAD },
	{ PROBE_TWO_GETS, "o0---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_EMPTY },
	{ PROBE_TWO_GETS, "o5---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_ERROR },
	{ PROBE_TWO_GETS, "ol---", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_LIMIT },
	{ PROBE_TWO_GETS, "m----", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_NO_GET },
	{ PROBE_TWO_GETS, "t----", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_TYPE },
	{ PROBE_TWO_GETS, "0----", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_EMPTY },
	{ PROBE_TWO_GETS, "5----", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_ERROR },
	{ PROBE_TWO_GETS, "s----", 0, { 0 }, 0, 0, 0, PROBE_FAULT, 0 },
	{ PROBE_RESUME_LIVE, "eo---", 3, { 3, 4, 0 }, 1, 0, 0, PROBE_FAULT, OUT_REPLAYED },
	{ PROBE_RESUME_LIVE, "eo---", 3, { 3, 4, 0 }, 0, 0, 0, PROBE_FAULT, OUT_REPLACED },
	{ PROBE_RESUME_LIVE, "oc---", 3, { 7, 0, 0 }, 0, 0, 0, PROBE_OK, OUT_CONFLICT },
	{ PROBE_RESUME_LIVE, "oe---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_CLOSES },
	{ PROBE_RESUME, "ooo--", 2, { 1, 0, 0 }, 1, 0, 0, PROBE_OK, OUT_RESUMED },
	{ PROBE_RESUME, "ooo--", 2, { 1, 0, 0 }, 2, 1, 0, PROBE_WARNING, OUT_RESUMED },
	{ PROBE_RESUME, "ooo--", 2, { 1, 0, 0 }, 0, 0, 0, PROBE_WARNING, OUT_OPEN },
	{ PROBE_RESUME, "ooc--", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_LOCKED },
	{ PROBE_RESUME, "oc---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_LOCKED | OUT_CONFLICT },
	{ PROBE_UNKNOWN_CURSOR, "0----", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_EMPTY },
	{ PROBE_UNKNOWN_CURSOR, "o----", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_OPEN },
	{ PROBE_UNKNOWN_CURSOR, "b----", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_BAD },
	{ PROBE_FINISHED_POST, "oo-e-", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_OPEN },
	{ PROBE_FINISHED_POST, "eo-e-", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_REPLACED },
	{ PROBE_FINISHED_POST, "o0-e-", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_EMPTY },
	{ PROBE_FINISHED_POST, "o--t-", 0, { 0 }, 0, 0, 0, PROBE_UNKNOWN, 0 },
	{ PROBE_POST_RESUME, "e--e-", 0, { 0 }, 0, 0, 1, PROBE_OK, OUT_RESUMED },
	{ PROBE_POST_RESUME, "o--e-", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_MUTE },
	{ PROBE_POST_RESUME, "0--e-", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_EMPTY },
	{ PROBE_MAKE_BEFORE_BREAK, "oo---", 2, { 1, 2, 0 }, 0, 0, 0, PROBE_OK, OUT_LAST },
	{ PROBE_MAKE_BEFORE_BREAK, "oo---", 2, { 1, 0, 0 }, 0, 0, 0, PROBE_FAULT, OUT_MUTE },
	{ PROBE_MAKE_BEFORE_BREAK, "occ--", 0, { 0 }, 0, 0, 0, PROBE_FAULT,
	  OUT_LOCKED | OUT_CONFLICT },
	{ PROBE_MAKE_BEFORE_BREAK, "oco--", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_CONFLICT },
	{ PROBE_PRIMARY_DIES, "ooo--", 2, { 0, 0, 3 }, 0, 0, 0, PROBE_OK, OUT_LAST },
	{ PROBE_PRIMARY_DIES, "ooo--", 2, { 0, 0, 0 }, 0, 0, 0, PROBE_FAULT, OUT_MUTE },
	{ PROBE_MANY_GETS, "ooo--", 0, { 0 }, 0, 0, 0, PROBE_WARNING, OUT_OPEN },
	{ PROBE_MANY_GETS, "oeo--", 0, { 0 }, 0, 0, 0, PROBE_WARNING, OUT_EVICT },
	{ PROBE_MANY_GETS, "ool--", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_LIMIT },
	{ PROBE_MANY_GETS, "eeo--", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_REPLACED },
	{ PROBE_DELETE, "e--nt", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_GONE },
	{ PROBE_DELETE, "o--nt", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_ALIVE },
	{ PROBE_DELETE, "e--et", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_ALIVE },
	{ PROBE_DELETE, "e--bt", 0, { 0 }, 0, 0, 0, PROBE_WARNING, OUT_GONE },
	{ PROBE_DELETE, "o--tm", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_NO_GET },
	{ PROBE_DEAD_SESSION, "n--n-", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_ABSENT },
	{ PROBE_DEAD_SESSION, "b--b-", 0, { 0 }, 0, 0, 0, PROBE_WARNING, OUT_BAD },
	{ PROBE_DEAD_SESSION, "o--t-", 0, { 0 }, 0, 0, 0, PROBE_WARNING, OUT_ALIVE },
	{ PROBE_TWO_LISTENS, "oo---", 1, { 1, 1, 0 }, 0, 0, 0, PROBE_OK, OUT_BOTH },
	{ PROBE_TWO_LISTENS, "oo---", 1, { 1, 0, 0 }, 0, 0, 0, PROBE_FAULT, OUT_MUTE },
	{ PROBE_LISTEN_CUT, "oo---", 1, { 0, 1, 0 }, 0, 0, 0, PROBE_OK, OUT_FIRST },
	{ PROBE_LISTEN_CUT, "oe---", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_GONE },
	{ PROBE_HEADER_MISMATCH, "---b-", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_BAD },
	{ PROBE_HEADER_MISMATCH, "---t-", 0, { 0 }, 0, 0, 0, PROBE_FAULT, OUT_ALIVE },
	{ PROBE_MODERN_GET, "m----", 0, { 0 }, 0, 0, 0, PROBE_OK, OUT_NO_GET },
	/* there is no GET at all */
	{ PROBE_RESUME, "m----", 0, { 0 }, 0, 0, 0, PROBE_UNKNOWN, 0 },
	{ PROBE_MANY_GETS, "5----", 0, { 0 }, 0, 0, 0, PROBE_UNKNOWN, 0 },
};

static void
verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(judged); i++) {
		const struct judged *j = &judged[i];
		struct probe_seen seen = { .emitted = j->emitted,
			.tool = j->emitted ? PROBE_JUDGED : PROBE_NO_MESSAGES };
		struct probe_result r;

		for (unsigned k = 0; k < PROBE_SLOTS; k++)
			seen.s[k].answer = answer_of(j->answers[k]);
		for (unsigned k = 0; k < 3; k++)
			seen.s[k].heard = j->heard[k];
		seen.s[PROBE_B].replayed = j->replayed;
		seen.s[PROBE_B].inclusive = j->inclusive;
		seen.s[PROBE_A].response = j->response;
		/* the second GET comes when something was emitted already */
		if (j->id == PROBE_RESUME_LIVE && j->emitted)
			seen.s[PROBE_B].from = 2;
		if (j->id == PROBE_MAKE_BEFORE_BREAK && j->emitted)
			seen.s[PROBE_B].from = 1;
		r = probe_judge(j->id, &seen);
		if (r.verdict != j->verdict || r.outcome != j->outcome || *r.say == '\0')
			fail_msg("row %zu, %s %s: verdict %d, outcome %x: %s", i,
			    probe_name(j->id), j->answers, (int)r.verdict, r.outcome, r.say);
	}
}

static const struct slow {
	char a, p, x, c;	/* answers; X: initialize, C: a ping of its session */
	bool p_late, x_late, c_late;
	struct probe_fill fill;
	enum probe_verdict verdict;
	uint32_t outcome;
} slows[] = {
	{ 'o', 'e', 'e', 'e', 0, 0, 0, { 100, 100, 0, 1000, 50000, 100000 }, PROBE_OK, OUT_KEPT },
	{ 'o', 'e', 'e', 'e', 0, 0, 0, { 100, 100, 0, 1000, 50000, 90000 }, PROBE_OK, OUT_KEPT },
	{ 'o', 'e', 'e', 'e', 0, 0, 0, { 100, 100, 0, 1000, 50000, 89999 }, PROBE_WARNING,
	  OUT_PARTLY },
	{ 'o', 'e', 'e', 'e', 0, 0, 0, { 100, 100, 0, 1000, 50000, 49999 }, PROBE_UNKNOWN, 0 },
	{ 'e', 'e', 'e', 'e', 0, 0, 0, { 100, 100, 0, 1000, 50000, 100 }, PROBE_OK, OUT_GONE },
	{ 'o', 'e', 'e', 'e', 0, 0, 0, { 50, 34, 16, 1000, 50000, 50000 }, PROBE_WARNING,
	  OUT_WAITS },
	{ 'o', 's', 'e', 'e', 1, 0, 0, { 50, 34, 16, 1000, 50000, 40000 }, PROBE_FAULT, OUT_HELD },
	{ 'o', 'e', 'e', 'e', 1, 0, 0, { 50, 34, 16, 1000, 50000, 40000 }, PROBE_FAULT, OUT_HELD },
	{ 'o', 's', 's', '-', 1, 1, 0, { 50, 34, 16, 1000, 50000, 40000 }, PROBE_FAULT,
	  OUT_WEDGED },
	{ 'o', 'e', 'e', 's', 1, 0, 1, { 50, 34, 16, 1000, 50000, 40000 }, PROBE_FAULT,
	  OUT_WEDGED },
	{ 'o', '-', '-', '-', 0, 0, 0, { 0 }, PROBE_UNKNOWN, 0 },
	{ 'm', '-', '-', '-', 0, 0, 0, { 0 }, PROBE_UNKNOWN, 0 },
};

static void
slow_readers(void **state)
{
	struct probe_seen none = { .why = PROBE_NO_MESSAGES };
	struct probe_result r = probe_judge(PROBE_SLOW_READER, &none);

	(void)state;
	assert_int_equal(r.verdict, PROBE_UNKNOWN);
	assert_non_null(strstr(r.note, "--emit-tool"));
	for (size_t i = 0; i < N_ROWS(slows); i++) {
		const struct slow *s = &slows[i];
		struct probe_seen seen = { .emitted = 1, .fill = s->fill };

		seen.s[PROBE_A].answer = answer_of(s->a);
		seen.s[PROBE_A].status = s->a == 'm' ? 405 : 200;
		seen.s[PROBE_P] = (struct probe_stream){ .answer = answer_of(s->p),
			.late = s->p_late };
		seen.s[PROBE_X] = (struct probe_stream){ .answer = answer_of(s->x),
			.late = s->x_late };
		seen.s[PROBE_C] = (struct probe_stream){ .answer = answer_of(s->c),
			.late = s->c_late };
		r = probe_judge(PROBE_SLOW_READER, &seen);
		if (r.verdict != s->verdict || r.outcome != s->outcome || *r.say == '\0')
			fail_msg("row %zu: verdict %d, outcome %x: %s", i, (int)r.verdict,
			    r.outcome, r.say);
	}
	/* What the tool sends on its own POST shows nothing. */
	none = (struct probe_seen){ .tool = PROBE_OWN_STREAM, .emitted = 1 };
	none.s[PROBE_A].answer = PROBE_OPEN;
	none.s[PROBE_A].status = 200;
	r = probe_judge(PROBE_SLOW_READER, &none);
	assert_non_null(strstr(r.note, "its own POST"));
}

static void
what_is_not_judged(void **state)
{
	struct probe_seen seen = { .why = PROBE_NO_ID };
	struct probe_result r = probe_judge(PROBE_RESUME, &seen);

	(void)state;
	assert_int_equal(r.verdict, PROBE_UNKNOWN);
	assert_non_null(strstr(r.note, "--emit-tool"));
	assert_int_equal(r.outcome, 0);
	/* but when messages came, that is something */
	seen.emitted = 1;
	seen.s[PROBE_A].heard = 1;
	r = probe_judge(PROBE_RESUME, &seen);
	assert_int_equal(r.outcome, OUT_NO_ID);
	/* whoever cannot make it emit, is told why */
	seen = (struct probe_seen){ .tool = PROBE_OWN_STREAM, .emitted = 2 };
	seen.s[PROBE_A].answer = seen.s[PROBE_B].answer = PROBE_OPEN;
	r = probe_judge(PROBE_TWO_GETS, &seen);
	assert_int_equal(r.verdict, PROBE_UNKNOWN);
	assert_non_null(strstr(r.note, "its own POST"));
}

/* ---- against the reference server ---- */

struct one {
	struct mcpd *m;
	struct probe *p;
	bool over;
};

static struct one all[2 * CHAN_N_POLICIES];
static struct loop *loop;

static void
on_done(void *arg)
{
	struct one *o = arg;
	unsigned left = 0;

	o->over = true;
	for (size_t i = 0; i < N_ROWS(all); i++)
		left += all[i].p && !all[i].over;
	if (left == 0)
		loop_stop(loop);
}

static void
begin(struct one *o, enum chan_policy policy, bool emit)
{
	struct mcpd_opts mo;
	struct probe_opts po;
	struct errmsg em;

	mcpd_opts_init(&mo, policy);
	o->m = mcpd_new(loop, &mo, &em);
	assert_non_null(o->m);
	probe_opts_init(&po);
	po.url = mcpd_url(o->m);
	po.emit_tool = emit ? "emit" : NULL;
	po.quiet = 200 * NS_MS;
	/* It asks a thousand times, and is alike with all of them. */
	po.only = ~(UINT64_C(1) << PROBE_SLOW_READER);
	o->p = probe_new(loop, &po, NULL, on_done, o, &em);
	assert_non_null(o->p);
	probe_start(o->p);
}

/* How many scenarios say that it is this one; 0: one says that it is not. */
static unsigned
says(const struct probe *p, unsigned known)
{
	unsigned n = 0;

	for (unsigned id = 0; id < PROBE_N; id++) {
		struct probe_result r = probe_judge(id, probe_seen(p, id));

		if (probe_contradicts(known, id, &r))
			return 0;
		n += probe_equals(known, id, &r);
	}
	return n;
}

/* Of the nine; without messages, two of them are the same from outside. */
static void
is_known(const struct one *o, unsigned policy, bool emit)
{
	for (unsigned k = 0; k < CHAN_N_POLICIES; k++) {
		bool twins = !emit && (policy == CHAN_REPLACE_ALL ||
		    policy == CHAN_REPLACE_NOREPLAY) && (k == CHAN_REPLACE_ALL ||
		    k == CHAN_REPLACE_NOREPLAY);
		unsigned n = says(o->p, k);

		if (k == policy ? n < 9 : n > 0 && !twins)
			fail_msg("%s, emit %d: %u scenarios say %s", chan_policy_names[policy],
			    emit, n, probe_known(k));
	}
}

/* rmcp begins a replay with the event of the cursor; ours after it. */
static void
replays(const struct one *o, unsigned policy)
{
	const struct probe_seen *resume = probe_seen(o->p, PROBE_RESUME);
	const struct probe_seen *live = probe_seen(o->p, PROBE_RESUME_LIVE);

	assert_int_equal(probe_judge(PROBE_RESUME, resume).verdict,
	    policy == CHAN_SHADOW_PROMOTE ? PROBE_OK : PROBE_WARNING);
	assert_int_equal(resume->s[PROBE_B].replayed, policy == CHAN_SHADOW_PROMOTE ? 1 :
	    policy == CHAN_SHADOW ? 0 : 2);
	/* all that came after the first event */
	if (policy == CHAN_REPLACE || policy == CHAN_REPLACE_ALL)
		assert_int_equal(live->s[PROBE_B].replayed, 2);
}

static void
policies(void **state)
{
	struct errmsg em;

	(void)state;
	loop = loop_new(&em);
	assert_non_null(loop);
	for (unsigned i = 0; i < N_ROWS(all); i++)
		begin(&all[i], i / 2, i % 2);
	loop_run(loop);
	for (unsigned i = 0; i < N_ROWS(all); i++) {
		struct mcpd_stats st;

		is_known(&all[i], i / 2, i % 2);
		if (i % 2)
			replays(&all[i], i / 2);
		mcpd_stats(all[i].m, &st);
		assert_int_equal(st.sessions, 0);
		/* what was begun was ended */
		for (unsigned id = 0; id < PROBE_N; id++) {
			const struct probe_seen *s = probe_seen(all[i].p, id);

			assert_int_equal(s->why, id == PROBE_IDLE ? PROBE_NOT_ASKED_FOR :
			    id == PROBE_SLOW_READER ? PROBE_NOT_CHOSEN : PROBE_JUDGED);
		}
		probe_free(all[i].p);
		mcpd_free(all[i].m);
		all[i] = (struct one){ 0 };
	}
	loop_free(loop);
}

/* One probe of a server with that fault. */
static void
against(const char *fault, const char *tool, ns_t total)
{
	struct probe_opts po;
	struct mcpd_opts mo;
	struct errmsg em;

	loop = loop_new(&em);
	mcpd_opts_init(&mo, CHAN_SHADOW_PROMOTE);
	assert_int_equal(fault_set(&mo.faults, str_c(fault), &em), 0);
	all[0].m = mcpd_new(loop, &mo, &em);
	probe_opts_init(&po);
	po.url = mcpd_url(all[0].m);
	po.emit_tool = tool;
	po.quiet = 20 * NS_MS;
	po.answer = 200 * NS_MS;
	po.total = total;
	all[0].p = probe_new(loop, &po, NULL, on_done, &all[0], &em);
	probe_start(all[0].p);
	loop_run(loop);
}

static void
done_with(void)
{
	probe_free(all[0].p);
	mcpd_free(all[0].m);
	all[0] = (struct one){ 0 };
	loop_free(loop);
}

static struct probe_result
result(enum probe_id id)
{
	return probe_judge(id, probe_seen(all[0].p, id));
}

/* Heads that do not come, and tools that do not answer: every wait ends. */
static void
what_does_not_come(void **state)
{
	(void)state;
	against("buffer=3600", NULL, 60 * NS_S);
	assert_int_equal(probe_seen(all[0].p, PROBE_TWO_GETS)->s[PROBE_A].answer, PROBE_SILENT);
	assert_int_equal(result(PROBE_TWO_GETS).verdict, PROBE_FAULT);
	assert_int_equal(result(PROBE_RESUME).verdict, PROBE_UNKNOWN);
	done_with();
	against("drop-response", "emit", 60 * NS_S);
	assert_int_equal(result(PROBE_TWO_GETS).verdict, PROBE_UNKNOWN);
	assert_non_null(strstr(result(PROBE_TWO_GETS).note, "not at all"));
	assert_int_equal(probe_seen(all[0].p, PROBE_TWO_GETS)->emitted, 1);
	assert_int_equal(probe_seen(all[0].p, PROBE_RESUME)->emitted, 0);
	done_with();
	/* and so does the whole */
	against("no-keepalive", NULL, 100 * NS_MS);
	assert_int_equal(probe_seen(all[0].p, PROBE_HEADER_MISMATCH)->why, PROBE_NOT_RUN);
	assert_int_equal(result(PROBE_TWO_GETS).outcome, OUT_BESIDE);
	done_with();
}

/* The reference server keeps it; one that blocks is caught. */
static void
who_does_not_read(void **state)
{
	const struct probe_seen *seen;
	struct mcpd_stats st;

	(void)state;
	against("broadcast", "emit", 60 * NS_S);
	assert_int_equal(result(PROBE_SLOW_READER).outcome, OUT_KEPT);
	seen = probe_seen(all[0].p, PROBE_SLOW_READER);
	assert_int_equal(seen->s[PROBE_A].replayed, seen->fill.answered);
	assert_int_equal(seen->fill.calls, seen->fill.answered);
	mcpd_stats(all[0].m, &st);
	assert_int_equal(st.sessions, 0);
	done_with();
	against("wedge", "emit", 60 * NS_S);
	assert_int_equal(result(PROBE_SLOW_READER).outcome, OUT_WEDGED);
	seen = probe_seen(all[0].p, PROBE_SLOW_READER);
	assert_true(seen->fill.stuck > 0);
	/* when it reads on, all of them are answered */
	assert_true(seen->s[PROBE_P].late && seen->s[PROBE_P].response);
	assert_true(seen->s[PROBE_C].late && seen->s[PROBE_C].response);
	done_with();
	against("finite-get", "emit", 60 * NS_S);
	assert_int_equal(result(PROBE_SLOW_READER).verdict, PROBE_UNKNOWN);
	done_with();
}

static void
on_first(void *arg, enum probe_id id)
{
	if (id == PROBE_TWO_GETS)
		probe_stop(((struct one *)arg)->p);
}

/* Interrupted: what is known is kept. */
static void
a_stop(void **state)
{
	struct probe_opts po;
	struct mcpd_opts mo;
	struct errmsg em;

	(void)state;
	loop = loop_new(&em);
	mcpd_opts_init(&mo, CHAN_REPLACE);
	all[0].m = mcpd_new(loop, &mo, &em);
	probe_opts_init(&po);
	po.url = mcpd_url(all[0].m);
	all[0].p = probe_new(loop, &po, on_first, on_done, &all[0], &em);
	probe_start(all[0].p);
	loop_run(loop);
	assert_int_equal(probe_judge(PROBE_TWO_GETS, probe_seen(all[0].p,
	    PROBE_TWO_GETS)).verdict, PROBE_FAULT);
	assert_int_equal(probe_seen(all[0].p, PROBE_RESUME)->why, PROBE_NOT_RUN);
	probe_free(all[0].p);
	mcpd_free(all[0].m);
	all[0] = (struct one){ 0 };
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),
		cmocka_unit_test(slow_readers),
		cmocka_unit_test(what_is_not_judged),
		cmocka_unit_test(policies),
		cmocka_unit_test(what_does_not_come),
		cmocka_unit_test(who_does_not_read),
		cmocka_unit_test(a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
