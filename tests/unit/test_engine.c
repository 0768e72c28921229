#include "mcpdiag/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "util.h"

/* The rules under test say what they are told to.  A script has a line for
 * each event:
 *	MS session N SERVER SOFTWARE
 *	MS say DETECTOR VARIANT SEVERITY SESSION FIRST LAST PERIOD TITLE
 *	MS event
 *	MS end
 * times are milliseconds, `-` stands for none.  The trace is what comes out,
 * as far as it is not what went in, and the ticks. */

struct fake {
	const struct rule *rule;
	struct engine *engine;
	struct buf *trace;
	unsigned ended;
};

/* Where the rules write their ticks; new() takes no argument of ours. */
static struct buf *trace_of_rules;

static const struct rule one, two, three, four, five;

#define MAX_WORDS 12

/* Words of a line; the last takes the rest. */
static unsigned
split(char *line, char *words[MAX_WORDS], unsigned max)
{
	static char none[1];
	unsigned n = 0;

	for (unsigned i = 0; i < max; i++)
		words[i] = none;
	while (*line && n < max) {
		char *end = n + 1 == max ? NULL : strchr(line, ' ');

		words[n++] = line;
		if (end == NULL)
			break;
		*end = '\0';
		line = end + 1;
	}
	return n;
}

static long
number(const char *s)
{
	return strtol(s, NULL, 10);
}

static struct at
at_ms(long ms)
{
	return (struct at){ ms * NS_MS, (uint32_t)ms };
}

static void *
new_of(struct engine *e, const struct rule *rule)
{
	struct fake *f = calloc(1, sizeof *f);

	assert_non_null(f);
	f->engine = e;
	f->rule = rule;
	f->trace = trace_of_rules;
	return f;
}

#define NEW(name) \
static void * \
new_##name(struct engine *e, const struct limits *l) \
{ \
	assert_true(l->findings > 0); \
	return new_of(e, &name); \
}
NEW(one)
NEW(two)
NEW(three)
NEW(four)
NEW(five)

static void
say(struct fake *f, char **w)
{
	enum severity sev = w[2][0] == 'e' ? SEV_ERROR : w[2][0] == 'w' ? SEV_WARNING :
	    SEV_INFO;
	struct draft *d = draft_new(f->engine, f->rule, w[1][0] == '-' ? NULL :
	    w[1][0] == 'v' ? "v" : "u", sev, CONF_HIGH, (uint32_t)number(w[3]));

	draft_title(d, "%s", w[7]);
	draft_span(d, at_ms(number(w[4])), at_ms(number(w[5])));
	draft_count(d, 1, number(w[6]) * NS_MS, 0);
	draft_done(d);
}

static void
fake_event(void *arg, const struct ev *e)
{
	struct fake *f = arg;
	char line[200], *words[MAX_WORDS];

	assert_int_equal(f->ended, 0);
	assert_true(e->type != EV_END && e->type != EV_FINDING);
	if (e->type != EV_NOTE || !str_pre(e->u.note.text, str_c(f->rule->name)))
		return;
	assert_true(e->u.note.text.n < sizeof line);
	memcpy(line, e->u.note.text.p, e->u.note.text.n);
	line[e->u.note.text.n] = '\0';
	assert_int_equal(split(line, words, 8), 8);
	if (strcmp(words[0], f->rule->name) == 0)
		say(f, words);
}

static void
fake_tick(void *arg, ns_t now)
{
	struct fake *f = arg;

	(void)buf_fmt(f->trace, "tick %lld\n", (long long)(now / NS_MS));
}

static void
fake_end(void *arg, ns_t now)
{
	struct fake *f = arg;

	(void)now;
	assert_int_equal(f->ended++, 0);
}

static void
fake_free(void *arg)
{
	free(arg);
}

static const struct rule one = { "leapfrog", "s", "r", false, 0, new_one, fake_event,
    NULL, fake_end, fake_free, 0, 0 };
static const struct rule two = { "replay-loop", "s", "r", false, 0, new_two, fake_event,
    NULL, fake_end, fake_free, 0, 0 };
static const struct rule three = { "notification-storm", "s", "r", false, 0, new_three, fake_event,
    NULL, fake_end, fake_free, 0, 0 };
static const struct rule four = { "ticker", "s", "r", false, 0, new_four, fake_event,
    fake_tick, fake_end, fake_free, 0, 0 };
static const struct rule five = { "contract", "s", "r", true, 0, new_five, fake_event,
    NULL, fake_end, fake_free, 0, 0 };
static const struct rule *const quiet[] = { &one, &two, &three, NULL };
static const struct rule *const remarking[] = { &five, &one, NULL };
static const struct rule *const ticking[] = { &one, &four, NULL };

static void
out(void *arg, const struct ev *e)
{
	struct buf *trace = arg;
	const struct finding *f = e->u.finding;

	if (e->type == EV_END) {
		(void)buf_adds(trace, STR("end\n"));
		return;
	}
	if (e->type == EV_COMMENT)
		(void)buf_adds(trace, STR("other\n"));
	if (e->type == EV_NOTE && str_eq(e->u.note.name, STR("say"))) {
		(void)buf_adds(trace, STR("event\n"));
		return;
	}
	if (e->type == EV_NOTE)
		(void)buf_fmt(trace, "note %.*s\n", STR_ARG(e->u.note.name));
	if (e->type != EV_FINDING)
		return;
	assert_int_equal(e->session, f->session);
	assert_true(e->t == f->last.t && e->pkt == f->last.pkt);
	(void)buf_fmt(trace, "%s", e->flags & EVF_FINAL ? "final" : "new");
	if (e->flags & EVF_FINAL)
		(void)buf_fmt(trace, " %u", f->n);
	(void)buf_fmt(trace, " %s%s%s s%u %.*s", f->detector, f->variant ? "/" : "",
	    f->variant ? f->variant : "", f->session, STR_ARG(f->title));
	if (f->remark)
		(void)buf_adds(trace, STR(" remark"));
	if (f->consequence_of)
		(void)buf_fmt(trace, " of %u", f->consequence_of);
	for (uint32_t i = 0; i < f->sessions_alike; i++)
		(void)buf_fmt(trace, " +%u", f->alike[i]);
	(void)buf_addc(trace, '\n');
}

static const struct row {
	const char *what;
	const struct rule *const *rules;
	uint64_t max;			/* limit findings; 0: the default */
	const char *script, *want;
} rows[] = {
	{ "nothing", quiet, 0, "0 end\n", "end\n" },
	{ "a finding comes after its event, and again at the end", quiet, 0,
	    "1 say leapfrog - error 1 0 1 0 a\n"
	    "2 event\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nother\nfinal 1 leapfrog s1 a\nend\n" },
	{ "a later draft replaces, and is not told anew", quiet, 0,
	    "1 say leapfrog - error 1 0 1 0 a\n"
	    "2 say leapfrog - warning 1 0 2 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nfinal 1 leapfrog s1 b\nend\n" },
	{ "another variant, session or rule does not", quiet, 0,
	    "1 say leapfrog - error 1 0 1 0 a\n"
	    "2 say leapfrog v error 1 1 1 0 b\n"
	    "3 say leapfrog u error 1 2 1 0 c\n"
	    "4 say leapfrog v error 2 3 1 0 d\n"
	    "5 say replay-loop v error 2 4 5000 0 e\n"
	    "6 say leapfrog v error 1 1 1 0 B\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog/v s1 b\n"
	    "event\nnew leapfrog/u s1 c\nevent\nnew leapfrog/v s2 d\n"
	    "event\nnew replay-loop/v s2 e\nevent\n"
	    "final 1 leapfrog s1 a\nfinal 2 leapfrog/v s1 B\n"
	    "final 3 leapfrog/u s1 c\nfinal 4 leapfrog/v s2 d\n"
	    "final 5 replay-loop/v s2 e of 4\nend\n" },
	{ "it keeps the place of the first", quiet, 0,
	    "1 say leapfrog - error 1 5 5 0 a\n"
	    "1 say leapfrog v error 2 5 5 0 b\n"
	    "1 say leapfrog - error 1 5 5 0 A\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog/v s2 b\nevent\n"
	    "final 1 leapfrog s1 A\nfinal 2 leapfrog/v s2 b\nend\n" },
	{ "errors first, then by time, then as found", quiet, 0,
	    "1 say leapfrog - info 1 5 5 0 a\n"
	    "1 say leapfrog - error 2 7 7 0 b\n"
	    "1 say leapfrog - warning 3 1 1 0 c\n"
	    "1 say leapfrog v error 4 6 6 0 d\n"
	    "1 say leapfrog u error 5 6 6 0 e\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog s2 b\n"
	    "event\nnew leapfrog s3 c\nevent\nnew leapfrog/v s4 d\n"
	    "event\nnew leapfrog/u s5 e\n"
	    "final 1 leapfrog/v s4 d\nfinal 2 leapfrog/u s5 e\nfinal 3 leapfrog s2 b\n"
	    "final 4 leapfrog s3 c\nfinal 5 leapfrog s1 a\nend\n" },
	{ "remarks come after all that hurts", remarking, 0,
	    "1 say contract v error 1 1 1 0 a\n"
	    "1 say contract u warning 1 1 1 0 b\n"
	    "1 say contract - info 1 1 1 0 c\n"
	    "2 say leapfrog v warning 1 5 5 0 d\n"
	    "2 say leapfrog u info 1 5 5 0 e\n"
	    "2 say leapfrog - error 1 5 5 0 f\n"
	    "9 end\n",
	    "event\nnew contract/v s1 a\nevent\nnew contract/u s1 b remark\n"
	    "event\nnew contract s1 c remark\nevent\nnew leapfrog/v s1 d\n"
	    "event\nnew leapfrog/u s1 e\nevent\nnew leapfrog s1 f\n"
	    "final 1 leapfrog s1 f\nfinal 2 leapfrog/v s1 d\nfinal 3 contract/v s1 a\n"
	    "final 4 contract/u s1 b remark\nfinal 5 leapfrog/u s1 e\n"
	    "final 6 contract s1 c remark\nend\n" },
	{ "a consequence stands behind its root", quiet, 0,
	    "1 say replay-loop - error 1 100 900 0 b\n"
	    "1 say leapfrog v error 2 50 60 0 c\n"
	    "1 say leapfrog - error 1 200 800 3000 a\n"
	    "9 end\n",
	    "event\nnew replay-loop s1 b\nevent\nnew leapfrog/v s2 c\n"
	    "event\nnew leapfrog s1 a\n"
	    "final 1 leapfrog/v s2 c\nfinal 2 leapfrog s1 a\n"
	    "final 3 replay-loop s1 b of 2\nend\n" },
	{ "two links end at one root", quiet, 0,
	    "1 say notification-storm - error 1 300 900 0 c\n"
	    "1 say replay-loop - error 1 200 900 0 b\n"
	    "1 say leapfrog - error 1 100 900 0 a\n"
	    "9 end\n",
	    "event\nnew notification-storm s1 c\nevent\nnew replay-loop s1 b\n"
	    "event\nnew leapfrog s1 a\n"
	    "final 1 leapfrog s1 a\nfinal 2 notification-storm s1 c of 1\n"
	    "final 3 replay-loop s1 b of 1\nend\n" },
	{ "no chain from one session to another", quiet, 0,
	    "1 say leapfrog - error 1 100 900 0 a\n"
	    "1 say replay-loop - error 2 200 900 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew replay-loop s2 b\n"
	    "final 1 leapfrog s1 a\nfinal 2 replay-loop s2 b\nend\n" },
	{ "nor to what ended before", quiet, 0,
	    "1 say leapfrog - error 1 500 900 3000 a\n"
	    "1 say replay-loop - error 1 100 400 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew replay-loop s1 b\n"
	    "final 1 replay-loop s1 b\nfinal 2 leapfrog s1 a\nend\n" },
	{ "within two periods after", quiet, 0,
	    "1 say leapfrog - error 1 100 900 3000 a\n"
	    "1 say replay-loop - error 1 6900 9000 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew replay-loop s1 b\n"
	    "final 1 leapfrog s1 a\nfinal 2 replay-loop s1 b of 1\nend\n" },
	{ "and not later", quiet, 0,
	    "1 say leapfrog - error 1 100 900 3000 a\n"
	    "1 say replay-loop - error 1 6901 9000 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew replay-loop s1 b\n"
	    "final 1 leapfrog s1 a\nfinal 2 replay-loop s1 b\nend\n" },
	{ "a warning explains no error", quiet, 0,
	    "1 say leapfrog - warning 1 100 900 3000 a\n"
	    "1 say replay-loop - error 1 200 9000 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew replay-loop s1 b\n"
	    "final 1 replay-loop s1 b\nfinal 2 leapfrog s1 a\nend\n" },
	{ "the same fault of the same software is one", quiet, 0,
	    "0 session 1 a:80 x/1\n0 session 2 a:80 x/1\n0 session 3 a:80 x/1\n"
	    "1 say leapfrog - error 1 1 9 0 a\n"
	    "1 say leapfrog - error 2 2 9 0 b\n"
	    "1 say leapfrog - error 3 3 9 0 c\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog s2 b\n"
	    "event\nnew leapfrog s3 c\n"
	    "final 1 leapfrog s1 a +2 +3\nend\n" },
	{ "other software, server, severity or variant is another", quiet, 0,
	    "0 session 1 a:80 x/1\n0 session 2 a:80 x/2\n0 session 3 b:80 x/1\n"
	    "0 session 4 a:80 x/1\n0 session 5 a:80 x/1\n"
	    "1 say leapfrog - error 1 1 9 0 a\n"
	    "1 say leapfrog - error 2 2 9 0 b\n"
	    "1 say leapfrog - error 3 3 9 0 c\n"
	    "1 say leapfrog - warning 4 4 9 0 d\n"
	    "1 say leapfrog v error 5 5 9 0 e\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog s2 b\n"
	    "event\nnew leapfrog s3 c\nevent\nnew leapfrog s4 d\n"
	    "event\nnew leapfrog/v s5 e\n"
	    "final 1 leapfrog s1 a\nfinal 2 leapfrog s2 b\nfinal 3 leapfrog s3 c\n"
	    "final 4 leapfrog/v s5 e\nfinal 5 leapfrog s4 d\nend\n" },
	{ "what is known last of the software counts", quiet, 0,
	    "0 session 1 a:80 -\n0 session 2 a:80 x/1\n"
	    "1 say leapfrog - error 1 1 9 0 a\n"
	    "1 say leapfrog - error 2 2 9 0 b\n"
	    "2 session 1 a:80 x/1\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog s2 b\n"
	    "final 1 leapfrog s1 a +2\nend\n" },
	{ "a merged root takes its consequences along", quiet, 0,
	    "0 session 1 a:80 x/1\n0 session 2 a:80 x/1\n0 session 3 a:80 x/1\n"
	    "1 say leapfrog - error 1 1 9 3000 a\n"
	    "1 say leapfrog - error 2 2 9 3000 b\n"
	    "1 say replay-loop - error 2 3 9 0 c\n"
	    "1 say replay-loop v error 3 4 9 0 d\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog s2 b\n"
	    "event\nnew replay-loop s2 c\nevent\nnew replay-loop/v s3 d\n"
	    "final 1 leapfrog s1 a +2\nfinal 2 replay-loop s2 c of 1\n"
	    "final 3 replay-loop/v s3 d\nend\n" },
	{ "a consequence is not merged with a root", quiet, 0,
	    "0 session 1 a:80 x/1\n0 session 2 a:80 x/1\n"
	    "1 say leapfrog - error 1 1 9 3000 a\n"
	    "1 say replay-loop - error 1 2 9 0 b\n"
	    "1 say replay-loop - error 2 3 9 0 c\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew replay-loop s1 b\n"
	    "event\nnew replay-loop s2 c\n"
	    "final 1 leapfrog s1 a\nfinal 2 replay-loop s1 b of 1\n"
	    "final 3 replay-loop s2 c\nend\n" },
	{ "without a session nothing is merged", quiet, 0,
	    "1 say leapfrog - error 0 1 9 0 a\n"
	    "1 say leapfrog v error 0 2 9 0 b\n"
	    "9 end\n",
	    "event\nnew leapfrog s0 a\nevent\nnew leapfrog/v s0 b\n"
	    "final 1 leapfrog s0 a\nfinal 2 leapfrog/v s0 b\nend\n" },
	{ "at the limit: said once, known ones may still grow", quiet, 2,
	    "1 say leapfrog - error 1 1 9 0 a\n"
	    "1 say leapfrog - error 2 2 9 0 b\n"
	    "1 say leapfrog - error 3 3 9 0 c\n"
	    "1 say leapfrog - error 4 4 9 0 d\n"
	    "1 say leapfrog - error 2 2 9 0 B\n"
	    "9 end\n",
	    "event\nnew leapfrog s1 a\nevent\nnew leapfrog s2 b\n"
	    "event\nnote limit\nevent\nevent\n"
	    "final 1 leapfrog s1 a\nfinal 2 leapfrog s2 B\nend\n" },
	{ "a tick every 100 ms, before the event", ticking, 0,
	    "1000 event\n1050 event\n1099 event\n1100 event\n1300 event\n1399 event\n"
	    "1250 event\n1400 say leapfrog - error 1 1 9 0 a\n9999 end\n",
	    "tick 1000\nother\nother\nother\ntick 1100\nother\ntick 1300\nother\n"
	    "other\nother\ntick 1400\nevent\nnew leapfrog s1 a\n"
	    "tick 9999\nfinal 1 leapfrog s1 a\nend\n" },
};

static void
play(struct engine *e, char *line)
{
	char *w[MAX_WORDS];
	unsigned n = split(line, w, 3);
	struct at at;
	struct ev v;

	assert_true(n >= 2);
	at = at_ms(number(w[0]));
	v = (struct ev){ .type = EV_COMMENT, .t = at.t, .pkt = at.pkt };
	if (strcmp(w[1], "end") == 0)
		v.type = EV_END;
	if (strcmp(w[1], "say") == 0) {
		v.type = EV_NOTE;
		v.u.note.name = STR("say");
		v.u.note.text = str_c(w[2]);
	}
	if (strcmp(w[1], "session") == 0) {
		char *s[MAX_WORDS];

		assert_int_equal(split(w[2], s, 3), 3);
		v.type = EV_SESSION;
		v.session = (uint32_t)number(s[0]);
		v.u.session.endpoint = str_c(s[1]);
		v.u.session.server = strcmp(s[2], "-") ? str_c(s[2]) : STR_NONE;
		v.u.session.client = STR("c/1");
	}
	engine_event(e, &v);
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		char *script = strdup(rows[i].script), *line = script, *nl;
		struct limits lim;
		struct engine *e;
		struct buf trace;
		uint32_t n = 0;

		limits_init(&lim);
		if (rows[i].max)
			lim.findings = rows[i].max;
		buf_init(&trace, 1 << 16);
		trace_of_rules = &trace;
		e = engine_new(&lim, rows[i].rules, out, &trace);
		assert_null(engine_finding(e, 0));
		for (; (nl = strchr(line, '\n')) != NULL; line = nl + 1) {
			*nl = '\0';
			play(e, line);
		}
		if (!str_eq(buf_str(&trace), str_c(rows[i].want)))
			fail_msg("%s:\n%.*s--- wanted:\n%s", rows[i].what,
			    STR_ARG(buf_str(&trace)), rows[i].want);
		for (; engine_finding(e, n); n++)
			assert_int_equal(engine_finding(e, n)->n, n + 1);
		engine_free(e);
		buf_fini(&trace);
		free(script);
	}
	engine_free(NULL);
}

/* ---- which events reach a rule ---- */

static uint32_t seen_types;

static void *
new_seer(struct engine *e, const struct limits *lim)
{
	(void)e;
	(void)lim;
	return malloc(1);
}

static void
see(void *arg, const struct ev *e)
{
	(void)arg;
	seen_types |= RULE_WANTS(e->type);
}

static void
no_end(void *arg, ns_t now)
{
	(void)arg;
	(void)now;
}

static void
ignore(void *arg, const struct ev *e)
{
	(void)arg;
	(void)e;
}

static void
test_wants(void **state)
{
	static const struct rule picky = { "picky", "s", "r", false,
	    RULE_WANTS(EV_SSE) | RULE_WANTS(EV_STREAM), new_seer, see, NULL, no_end,
	    fake_free, 0, 0 };
	static const struct rule all = { "all", "s", "r", false, 0, new_seer, see, NULL,
	    no_end, fake_free, 0, 0 };
	static const struct rule *const tables[][2] = { { &picky, NULL }, { &all, NULL } };
	/* EV_END and EV_FINDING are no rule's business. */
	static const uint32_t want[] = { RULE_WANTS(EV_SSE) | RULE_WANTS(EV_STREAM),
	    (RULE_WANTS(EV_N_TYPES) - 1) & ~RULE_WANTS(EV_END) };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct limits lim;
		struct engine *e;

		limits_init(&lim);
		e = engine_new(&lim, tables[i], ignore, NULL);
		seen_types = 0;
		for (unsigned type = 0; type < EV_N_TYPES; type++) {
			struct ev v = { .type = (enum ev_type)type, .t = NS_S };

			if (type != EV_FINDING)
				engine_event(e, &v);
		}
		assert_int_equal(seen_types, want[i] & ~RULE_WANTS(EV_FINDING));
		engine_free(e);
	}
}

/* ---- what a draft keeps ---- */

static void
keep(void *arg, const struct ev *e)
{
	const struct finding **f = arg;

	if (e->type == EV_FINDING)
		*f = e->u.finding;
}

static void
test_draft(void **state)
{
	const struct finding *f = NULL;
	char text[64], big[3000];
	struct limits lim;
	struct engine *e;
	struct draft *d;

	(void)state;
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	limits_init(&lim);
	lim.evidence = 4;
	e = engine_new(&lim, quiet, keep, &f);
	d = draft_new(e, &one, NULL, SEV_WARNING, CONF_MEDIUM, 3);
	for (uint32_t i = 0; i < 100; i++)
		draft_stream(d, i % 50 + 1);		/* each once */
	(void)snprintf(text, sizeof text, "borrowed");
	draft_text(d, "text", str_of(text, 4));
	draft_text(d, "none", STR_NONE);
	draft_title(d, "%s %d", text, 5);
	draft_why(d, "%s", big);
	draft_fix(d, "%%");
	memset(text, 'X', sizeof text);			/* it is copied */
	draft_num(d, "num", 2.5);
	draft_ms(d, "ms", 1500 * NS_US);
	draft_bool(d, "bool", true);
	for (int i = 0; i < 2 * FINDING_MAX_FACTS; i++)
		draft_num(d, "more", i);
	for (int i = 0; i < 9; i++)
		draft_evidence(d, at_ms(i + 1), "evidence %d", i);
	draft_count(d, 7, 3 * NS_S, NS_MS);
	draft_done(d);

	assert_non_null(f);
	assert_string_equal(f->detector, "leapfrog");
	assert_string_equal(f->reference, "r");
	assert_null(f->variant);
	assert_int_equal(f->severity, SEV_WARNING);
	assert_int_equal(f->confidence, CONF_MEDIUM);
	assert_int_equal(f->session, 3);
	assert_int_equal(f->n_streams, 50);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(f->streams[i], i + 1);
	assert_true(str_eq(f->title, STR("borrowed 5")));
	assert_int_equal(f->why.n, 1023);		/* cut, not overrun */
	assert_true(str_eq(f->fix, STR("%")));
	assert_int_equal(f->n_facts, FINDING_MAX_FACTS);
	assert_true(str_eq(f->facts[0].text, STR("borr")));
	assert_int_equal(f->facts[1].type, FACT_TEXT);
	assert_int_equal(f->facts[1].text.n, 0);
	assert_true(f->facts[2].num == 2.5);
	assert_int_equal(f->facts[3].type, FACT_MS);
	assert_true(f->facts[3].num == 1.5);
	assert_true(f->facts[4].num == 1);
	assert_int_equal(f->n_evidence, 4);		/* --limit evidence= */
	assert_int_equal(f->evidence[3].at.pkt, 4);
	assert_true(str_eq(f->evidence[3].what, STR("evidence 3")));
	assert_int_equal(f->count, 7);
	assert_true(f->period == 3 * NS_S && f->spread == NS_MS);
	engine_free(e);
}

static void
add_one(struct engine *e, enum severity severity, uint32_t stream, int from, int to)
{
	struct draft *d = draft_new(e, &one, "v", severity, CONF_LOW, 3);

	draft_stream(d, stream);
	draft_title(d, "stream %u", stream);
	draft_evidence(d, at_ms(from), "from %d", from);
	draft_span(d, at_ms(from), at_ms(to));
	draft_count(d, 2, 0, 0);
	draft_add(d);
}

/* Cases of one fault come together in one finding. */
static void
test_add(void **state)
{
	const struct finding *f = NULL;
	struct limits lim;
	struct engine *e;
	struct draft *d;

	(void)state;
	limits_init(&lim);
	e = engine_new(&lim, quiet, keep, &f);
	add_one(e, SEV_WARNING, 7, 20, 30);
	assert_non_null(f);
	assert_true(str_eq(f->title, STR("stream 7")));
	add_one(e, SEV_ERROR, 8, 10, 25);
	assert_true(str_eq(f->title, STR("stream 7; so with 1 further stream")));
	add_one(e, SEV_INFO, 9, 15, 40);
	assert_true(str_eq(f->title, STR("stream 7; so with 2 further streams")));
	assert_int_equal(f->n_streams, 3);
	assert_int_equal(f->streams[2], 9);
	assert_int_equal(f->n_evidence, 3);
	assert_true(str_eq(f->evidence[1].what, STR("from 10")));
	assert_int_equal(f->severity, SEV_ERROR);
	assert_int_equal(f->count, 6);
	assert_true(f->first.t == at_ms(10).t && f->last.t == at_ms(40).t);
	d = draft_new(e, &one, "w", SEV_ERROR, CONF_HIGH, 3);
	draft_title(d, "done");
	draft_done(d);
	d = draft_new(e, &one, "w", SEV_ERROR, CONF_HIGH, 3);
	draft_title(d, "added");
	draft_add(d);
	assert_true(str_eq(f->title, STR("done; so with 1 further stream")));
	engine_free(e);
}

static void
count_findings(void *arg, const struct ev *e)
{
	unsigned *n = arg;

	if (e->type == EV_FINDING)
		n[(e->flags & EVF_FINAL) != 0]++;
}

/* What is told early is told once, and is no finding until it is done. */
static void
test_tell(void **state)
{
	unsigned n[2] = { 0, 0 };	/* not final, final */
	struct ev end = { .type = EV_END, .t = 99 };
	struct limits lim;
	struct engine *e;

	(void)state;
	limits_init(&lim);
	e = engine_new(&lim, quiet, count_findings, n);
	draft_tell(draft_new(e, &one, "v", SEV_ERROR, CONF_HIGH, 3));
	assert_int_equal(n[0], 1);
	draft_tell(draft_new(e, &one, "v", SEV_ERROR, CONF_HIGH, 3));
	assert_int_equal(n[0], 1);
	draft_tell(draft_new(e, &one, NULL, SEV_ERROR, CONF_HIGH, 3));
	draft_tell(draft_new(e, &one, "v", SEV_ERROR, CONF_HIGH, 4));
	assert_int_equal(n[0], 3);
	draft_done(draft_new(e, &one, "v", SEV_ERROR, CONF_HIGH, 3));
	assert_int_equal(n[0], 3);
	draft_done(draft_new(e, &two, "v", SEV_ERROR, CONF_HIGH, 3));
	assert_int_equal(n[0], 4);
	draft_only_tell(e, true);
	draft_done(draft_new(e, &three, NULL, SEV_ERROR, CONF_HIGH, 3));
	draft_add(draft_new(e, &three, "a", SEV_ERROR, CONF_HIGH, 3));
	draft_only_tell(e, false);
	assert_int_equal(n[0], 6);
	engine_event(e, &end);
	assert_int_equal(n[1], 2);	/* what was only told is not kept */
	engine_free(e);
}

/* ---- what is known of sessions ---- */

static void
test_looks(void **state)
{
	const struct finding *f = NULL;
	struct limits lim;
	struct engine *e;
	struct ev v = { .type = EV_SESSION, .session = 1 };

	(void)state;
	limits_init(&lim);
	e = engine_new(&lim, quiet, keep, &f);
	assert_false(engine_looks(e, 1, "rmcp"));
	assert_false(engine_inferred(e, 1));
	assert_false(engine_same_server(e, 1, 2));
	v.u.session.endpoint = STR("a:80");
	engine_event(e, &v);
	assert_false(engine_looks(e, 1, ""));		/* nothing is known */
	v.u.session.looks_like = STR("rmcp 0.13-0.16 (Rust SDK)");
	engine_event(e, &v);
	assert_true(engine_looks(e, 1, "rmcp 0.13"));
	assert_false(engine_looks(e, 1, "rmcp 1"));
	v.session = 2;
	v.flags = EVF_INFERRED;
	v.u.session.looks_like = STR_NONE;
	engine_event(e, &v);
	assert_true(engine_inferred(e, 2));
	assert_false(engine_inferred(e, 1));
	assert_false(engine_looks(e, 2, "rmcp"));
	assert_true(engine_same_server(e, 1, 2));
	v.session = 3;
	v.u.session.endpoint = STR("b:80");
	engine_event(e, &v);
	assert_false(engine_same_server(e, 1, 3));
	/* More names than it keeps: the first ones stay. */
	for (uint32_t i = 0; i < 300; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "server %u", i);
		v.session = 10 + i;
		v.u.session.looks_like = str_c(name);
		engine_event(e, &v);
	}
	assert_true(engine_looks(e, 1, "rmcp 0.13"));
	assert_true(engine_looks(e, 10, "server 0"));
	assert_false(engine_looks(e, 309, "server"));
	engine_free(e);
}

/* ---- what a rule need not see ---- */

static unsigned shown;

static void
count_shown(void *arg, const struct ev *e)
{
	(void)arg;
	(void)e;
	shown++;
}

static void
test_skips(void **state)
{
	static const struct rule rule = { .name = "a", .new = new_seer, .event = count_shown,
	    .wants = RULE_WANTS(EV_MESSAGE) | RULE_WANTS(EV_REQUEST) | RULE_WANTS(EV_SSE) |
	    RULE_WANTS(EV_COMMENT), .skips = SKIP_POSTS | SKIP_NEWS | SKIP_ANSWERS | SKIP_PLAIN,
	    .sleeps = RULE_WANTS(EV_COMMENT), .end = no_end, .free = free };
	static const struct rule *const rules[] = { &rule, NULL };
	static const struct {
		const char *what;
		struct ev e;
		bool shown;
	} kinds[] = {
		{ "a POST", { .type = EV_REQUEST, .u.req.method = { "POST", 4 } }, false },
		{ "a GET", { .type = EV_REQUEST, .u.req.method = { "GET", 3 } }, true },
		{ "progress", { .type = EV_MESSAGE, .dir = EV_S2C,
		    .u.msg = { .kind = EV_MSG_NOTIFICATION, .channel = EV_CH_REQUEST } }, false },
		{ "a common notification", { .type = EV_MESSAGE, .dir = EV_S2C,
		    .u.msg = { .kind = EV_MSG_NOTIFICATION, .channel = EV_CH_COMMON } }, true },
		{ "a notification of the client", { .type = EV_MESSAGE, .dir = EV_C2S,
		    .u.msg = { .kind = EV_MSG_NOTIFICATION } }, true },
		{ "a question tied to a request", { .type = EV_MESSAGE, .dir = EV_S2C,
		    .u.msg = { .kind = EV_MSG_REQUEST, .channel = EV_CH_REQUEST } }, true },
		{ "a response", { .type = EV_MESSAGE, .dir = EV_S2C,
		    .u.msg = { .kind = EV_MSG_RESPONSE, .channel = EV_CH_REQUEST } }, false },
		{ "an error", { .type = EV_MESSAGE, .dir = EV_S2C,
		    .u.msg = { .kind = EV_MSG_ERROR } }, false },
		{ "a response of the client", { .type = EV_MESSAGE, .dir = EV_C2S,
		    .u.msg = { .kind = EV_MSG_RESPONSE } }, true },
		{ "an event", { .type = EV_SSE, .u.sse = { .retry_ms = -1 } }, false },
		{ "an event with an id", { .type = EV_SSE, .u.sse = { .retry_ms = -1,
		    .id = { "1", 1 } } }, true },
		{ "an event with retry", { .type = EV_SSE }, true },
		{ "a comment", { .type = EV_COMMENT }, false },
		{ "a request end", { .type = EV_REQUEST_END }, false },
	};
	struct limits lim;
	struct engine *e;

	(void)state;
	limits_init(&lim);
	e = engine_new(&lim, rules, ignore, NULL);
	for (size_t i = 0; i < N_ROWS(kinds); i++) {
		struct ev v = kinds[i].e;
		bool wanted = v.type != EV_REQUEST_END;

		shown = 0;
		v.t = NS_S;
		engine_event(e, &v);
		if (shown != kinds[i].shown)
			fail_msg("%s: shown %u times", kinds[i].what, shown);
		shown = 0;
		v.flags = EVF_GAP;
		engine_event(e, &v);
		v.flags = EVF_MIDSTREAM;
		engine_event(e, &v);
		if (shown != 2 * wanted)
			fail_msg("%s, torn: shown %u times", kinds[i].what, shown);
	}
	shown = 0;
	engine_wake(e, &rule);
	engine_wake(e, &rule);
	engine_event(e, &(struct ev){ .type = EV_COMMENT, .t = NS_S });
	assert_int_equal(shown, 1);
	engine_free(e);
}

/* ---- facts that rules share ---- */

struct count {
	unsigned made, freed, seen, inner;
};

static struct count counts;

static void *
new_inner(struct engine *e, const struct limits *lim)
{
	(void)e;
	(void)lim;
	counts.made++;
	return malloc(1);
}

static void
see_inner(void *arg, const struct ev *e)
{
	(void)arg;
	assert_int_equal(e->type, EV_SSE);
	counts.inner++;
}

static void
free_counted(void *arg)
{
	counts.freed++;
	free(arg);
}

static const struct reader inner = {
	.wants = RULE_WANTS(EV_SSE), .new = new_inner, .event = see_inner,
	.free = free_counted,
};

static void *
new_outer(struct engine *e, const struct limits *lim)
{
	void *p = malloc(1);

	(void)lim;
	assert_non_null(engine_reader(e, &inner));
	counts.made++;
	return p;
}

/* What it reads itself has seen the event before it. */
static void
see_outer(void *arg, const struct ev *e)
{
	(void)arg;
	counts.seen++;
	assert_int_equal(counts.inner, counts.seen - (e->type == EV_SSE ? 0 : 1));
}

static const struct reader outer = {
	.wants = RULE_WANTS(EV_SSE) | RULE_WANTS(EV_COMMENT), .new = new_outer,
	.event = see_outer, .free = free_counted,
};

static void *
new_sharer(struct engine *e, const struct limits *lim)
{
	void *a = engine_reader(e, &outer), *b = engine_reader(e, &outer);

	(void)lim;
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, engine_reader(e, &inner));
	return malloc(1);
}

static void
see_last(void *arg, const struct ev *e)
{
	(void)arg;
	(void)e;
	assert_int_equal(counts.seen, 1);
}

static void
free_sharer(void *arg)
{
	assert_int_equal(counts.freed, 0);	/* they outlive the rules */
	free(arg);
}

static void
test_reader(void **state)
{
	static const struct rule a = { .name = "a", .new = new_sharer, .event = see_last,
	    .wants = RULE_WANTS(EV_SSE), .end = no_end, .free = free_sharer };
	static const struct rule b = { .name = "b", .new = new_sharer, .event = see_last,
	    .wants = RULE_WANTS(EV_SSE), .end = no_end, .free = free_sharer };
	static const struct rule *const rules[] = { &a, &b, NULL };
	struct limits lim;
	struct engine *e;

	(void)state;
	limits_init(&lim);
	counts = (struct count){ 0 };
	e = engine_new(&lim, rules, ignore, NULL);
	assert_int_equal(counts.made, 2);
	engine_event(e, &(struct ev){ .type = EV_SSE, .t = NS_S });
	engine_event(e, &(struct ev){ .type = EV_COMMENT, .t = NS_S });
	engine_event(e, &(struct ev){ .type = EV_GAP, .t = NS_S });
	assert_int_equal(counts.inner, 1);
	assert_int_equal(counts.seen, 2);
	engine_free(e);
	assert_int_equal(counts.freed, 2);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_draft),
		cmocka_unit_test(test_add), cmocka_unit_test(test_tell),
		cmocka_unit_test(test_wants),
		cmocka_unit_test(test_looks), cmocka_unit_test(test_reader),
		cmocka_unit_test(test_skips),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
