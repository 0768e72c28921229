#include "mcpdiag/channel.h"

#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "util.h"

/* A script is words: what happens, in order.
 *	G3	GET on stream 3		G3:0/1	with that Last-Event-ID
 *	x3	stream 3 is gone	x3!2	and its last two events did not leave
 *	k3	its socket is dead, which nobody has told
 *	I1 P2	a POST with initialize, with another request, answered on it
 *	m0 R0	a message of request 0, its response
 *	c0 D0	its stream is cut and it goes on; it is cancelled
 *	e	a common message: a, then b, ...
 *	p	the primary is told to come back later
 *	.	the session ends
 * The trace: +3 accepted, -3 ended, !3=409 refused, 3=primary its role,
 * 3"a"#5 event a with id 5 (* sent before, ~3000 with retry), 3: a comment. */
struct row {
	const char *what, *policy, *script, *trace;
};

struct run {
	struct buf trace;
	struct channel *c;
	bool dead[100];
	char next;
};

static void
on_act(void *arg, const struct chan_act *a)
{
	static const char *const roles[] = { "closed", "primary", "shadow",
		"orphan", "request" };
	struct run *r = arg;
	struct buf *b = &r->trace;

	if (b->n > 0)
		(void)buf_addc(b, ' ');
	switch (a->what) {
	case CHAN_ACCEPT:
		(void)buf_fmt(b, "+%u", a->stream);
		break;
	case CHAN_REFUSE:
		(void)buf_fmt(b, "!%u=%u", a->stream, a->status);
		break;
	case CHAN_END:
		(void)buf_fmt(b, "-%u", a->stream);
		break;
	case CHAN_NOTE:
		(void)buf_fmt(b, "%u:", a->stream);
		break;
	case CHAN_ROLE:
		(void)buf_fmt(b, "%u=%s", a->stream, roles[a->role]);
		break;
	case CHAN_SEND:
		(void)buf_fmt(b, "%u", a->stream);
		if (a->data.p)
			(void)buf_fmt(b, "\"%.*s\"", STR_ARG(a->data));
		if (a->id.p)
			(void)buf_fmt(b, "#%.*s", STR_ARG(a->id));
		if (a->replay)
			(void)buf_addc(b, '*');
		if (a->retry_ms >= 0)
			(void)buf_fmt(b, "~%lld", (long long)a->retry_ms);
		break;
	}
}

static bool
is_alive(void *arg, uint32_t stream)
{
	return !((struct run *)arg)->dead[stream];
}

static void
word(struct run *r, const char *w, size_t n)
{
	unsigned long v = strtoul(w + 1, NULL, 10);
	const char *colon = memchr(w, ':', n), *bang = memchr(w, '!', n);
	struct str cursor = STR_NONE;
	char text[2] = { r->next, 0 };

	if (colon)
		cursor = str_of(colon + 1, n - (size_t)(colon + 1 - w));
	switch (w[0]) {
	case 'G':
		chan_get(r->c, (uint32_t)v, cursor);
		break;
	case 'x':
		chan_closed(r->c, (uint32_t)v,
		    bang ? (uint32_t)strtoul(bang + 1, NULL, 10) : 0);
		break;
	case 'k':
		r->dead[v] = true;
		break;
	case 'I':
	case 'P':
		(void)chan_request(r->c, (uint32_t)v, w[0] == 'I');
		break;
	case 'm':
	case 'R':
		chan_request_send(r->c, n == 1 ? UINT32_MAX : (uint32_t)v,
		    w[0] == 'R' ? STR("R") : STR("m"), w[0] == 'R');
		break;
	case 'c':
		chan_request_poll(r->c, (uint32_t)v);
		break;
	case 'D':
		chan_request_drop(r->c, (uint32_t)v);
		break;
	case 'e':
		r->next++;
		chan_emit(r->c, str_c(text));
		break;
	case 'p':
		chan_poll(r->c);
		break;
	case '.':
		chan_end(r->c);
		break;
	default:
		fail_msg("no such word: %s", w);
	}
}

/* "shadow-promote,prime,cap=2" */
static struct chan_opts
opts_of(const char *text)
{
	size_t n = strcspn(text, ",");
	enum chan_policy policy = CHAN_REPLACE;
	struct chan_opts o;

	while (policy < CHAN_N_POLICIES &&
	    !str_eq(str_c(chan_policy_names[policy]), str_of(text, n)))
		policy++;
	assert_true(policy < CHAN_N_POLICIES);
	chan_opts_init(&o, policy);
	o.prime = strstr(text, ",prime") != NULL;
	if (strstr(text, ",scoped"))
		o.scoped = true;
	if (strstr(text, ",exclusive"))
		o.inclusive = false;
	if (strstr(text, ",cap="))
		o.cap = (uint32_t)strtoul(strstr(text, ",cap=") + 5, NULL, 10);
	if (strstr(text, ",keep="))
		o.keep = (uint32_t)strtoul(strstr(text, ",keep=") + 6, NULL, 10);
	if (strstr(text, ",noretry"))
		o.retry_ms = -1;
	o.faults |= strstr(text, ",replay-all") ? CHAN_FAULT_REPLAY_ALL : 0;
	o.faults |= strstr(text, ",cross") ? CHAN_FAULT_CROSS : 0;
	o.faults |= strstr(text, ",broadcast") ? CHAN_FAULT_BROADCAST : 0;
	o.faults |= strstr(text, ",split") ? CHAN_FAULT_SPLIT : 0;
	o.faults |= strstr(text, ",supersede") ? CHAN_FAULT_SUPERSEDE : 0;
	return o;
}

/* Whether the trace is the row's. */
static bool
run_row(const struct row *row)
{
	struct run r = { .next = 'a' };
	struct chan_opts o = opts_of(row->policy);
	const char *w = row->script;
	bool same;

	buf_init(&r.trace, 1 << 16);
	o.alive = is_alive;
	r.c = chan_new(&o, on_act, &r);
	while (*w) {
		size_t n = strcspn(w, " ");

		word(&r, w, n);
		w += n + strspn(w + n, " ");
	}
	same = str_eq(buf_str(&r.trace), str_c(row->trace));
	if (!same)
		print_error("%s (%s: %s)\n got  %.*s\n want %s\n", row->what, row->policy,
		    row->script, STR_ARG(buf_str(&r.trace)), row->trace);
	chan_free(r.c);
	buf_fini(&r.trace);
	return same;
}

static void
run_rows(const struct row *rows, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += !run_row(&rows[i]);
	assert_int_equal(bad, 0);
}

static const struct row rmcp_rows[] = {
	{ "the first GET is the primary, primed, and gets what is cached",
	  "replace", "e e G1",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0* 1\"b\"#1*" },
	{ "a second one replaces it and gets it all again",
	  "replace", "G1 e G2",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 -1 1=closed +2 2=primary 2\"\"#0~3000 2\"a\"#0*" },
	{ "a cursor is replayed from its own event on, and not primed",
	  "replace", "G1 e e e x1 G2:1",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 1\"b\"#1 1\"c\"#2 1=closed "
	  "+2 2=primary 2\"b\"#1* 2\"c\"#2*" },
	{ "exclusive: after it; messages count from 1",
	  "replace,exclusive", "G1 e e x1 G2:1 x2 G3:0",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#1 1\"b\"#2 1=closed +2 2=primary 2\"b\"#2* "
	  "2=closed +3 3=primary 3\"a\"#1* 3\"b\"#2*" },
	{ "a cursor past the end is an error, and has killed the primary",
	  "replace", "G1 e G2:99 e",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 -1 1=closed !2=500" },
	{ "a cursor one past the last is good", "replace", "e G1:1", "+1 1=primary" },
	{ "with nothing cached any cursor is good", "replace", "G1:77", "+1 1=primary" },
	{ "the cache holds 16; an older cursor gets them all, without a word",
	  "replace", "e e e e e e e e e e e e e e e e e e G1:0",
	  "+1 1=primary 1\"c\"#2* 1\"d\"#3* 1\"e\"#4* 1\"f\"#5* 1\"g\"#6* 1\"h\"#7* 1\"i\"#8* "
	  "1\"j\"#9* 1\"k\"#10* 1\"l\"#11* 1\"m\"#12* 1\"n\"#13* 1\"o\"#14* 1\"p\"#15* "
	  "1\"q\"#16* 1\"r\"#17*" },
	{ "initialize is primed with the bare 0, its response has no id",
	  "replace", "I1 R", "1\"\"#0~3000 1\"R\" -1" },
	{ "bare: a request is primed with 0, its messages count from 0",
	  "replace", "P1 m0 R0", "1\"\"#0~3000 1\"m\"#0/0 1\"R\"#1/0 -1" },
	{ "scoped: 0/n, and from 1",
	  "shadow-empty", "P1 R0 P2 R1",
	  "1\"\"#0/0~3000 1\"R\"#1/0 -1 2\"\"#0/1~3000 2\"R\"#1/1 -2" },
	{ "the cursor of a finished request: 500, the primary is untouched",
	  "replace", "G1 P2 R0 G3:0/0 e",
	  "+1 1=primary 1\"\"#0~3000 2\"\"#0~3000 2\"R\"#0/0 -2 !3=500 1\"a\"#0" },
	{ "the cursor of a running one takes it over",
	  "replace", "P1 m0 G2:0/0 R0",
	  "1\"\"#0~3000 1\"m\"#0/0 -1 +2 2=request 2\"m\"#0/0* 2\"R\"#1/0 -2" },
	{ "bare: a request dropped before its first message resumes the common "
	  "channel, and its response is lost",
	  "replace", "P1 x1 G2:0 R0",
	  "1\"\"#0~3000 1=closed +2 2=primary" },
	{ "scoped: it comes on the stream that resumes it",
	  "shadow-empty", "P1 x1 G2:0/0 R0",
	  "1\"\"#0/0~3000 1=closed +2 2=request 2\"R\"#1/0 -2" },
	{ "no number: 500", "replace", "G1:abc G2: G3:1/ G4:/1",
	  "!1=500 !2=500 !3=500 !4=500" },
	{ "no number, later: empty", "shadow-empty", "G1:abc", "+1 -1" },
	{ "conflict: a second GET is refused", "conflict", "G1 e G2 G3:0 e",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 !2=409 !3=409 1\"b\"#1" },
	{ "conflict: free again when the first is gone", "conflict", "G1 x1 G2",
	  "+1 1=primary 1\"\"#0~3000 1=closed +2 2=primary 2\"\"#0~3000" },
	{ "conflict: the cursor of a finished request is an error",
	  "conflict", "P1 R0 G2:0/0", "1\"\"#0~3000 1\"R\"#0/0 -1 !2=500" },
	{ "fallthrough: it is the common channel, from its start",
	  "conflict-fallthrough", "e P1 R0 G2:9/0 G3:9/0",
	  "1\"\"#0~3000 1\"R\"#0/0 -1 +2 2=primary 2\"a\"#0* !3=409" },
	{ "replace-all: so it is, and the primary ends",
	  "replace-all", "G1 e P2 R0 G3:0/0",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 2\"\"#0~3000 2\"R\"#0/0 -2 -1 1=closed "
	  "+3 3=primary 3\"a\"#0*" },
	{ "replace-noreplay: and nothing is sent again",
	  "replace-noreplay", "G1 e G2:0 x2 G3",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 -1 1=closed +2 2=primary 2=closed "
	  "+3 3=primary 3\"\"#0~3000 3\"a\"#0*" },
	{ "shadow: beside the primary, and silent", "shadow", "G1 G2 G3:0 e",
	  "+1 1=primary 1\"\"#0~3000 +2 2=shadow 2\"\"#0~3000 +3 3=shadow 1\"a\"#0" },
	{ "shadow: no replay even when the primary is gone", "shadow", "G1 e x1 e G2",
	  "+1 1=primary 1\"\"#0~3000 1\"a\"#0 1=closed +2 2=primary 2\"\"#0~3000" },
	{ "shadow: nobody is promoted, the next GET is the primary",
	  "shadow-replay", "G1 G2 x1 e G3:0 e",
	  "+1 1=primary 1\"\"#0~3000 +2 2=shadow 2\"\"#0~3000 1=closed 2=orphan "
	  "+3 3=primary 3\"a\"#0* 3\"b\"#1" },
	{ "shadow-replay: at the cap the oldest shadow goes",
	  "shadow-replay,cap=2", "G1 G2 G3 G4",
	  "+1 1=primary 1\"\"#0~3000 +2 2=shadow 2\"\"#0~3000 +3 3=shadow 3\"\"#0~3000 "
	  "-2 2=closed +4 4=shadow 4\"\"#0~3000" },
	{ "shadow-replay: the wrong namespace", "shadow-replay", "e e P1 R0 G2:1/0",
	  "1\"\"#0~3000 1\"R\"#0/0 -1 +2 2=primary 2\"b\"#1*" },
	{ "shadow-replay: past the end is an error only without a primary",
	  "shadow-replay", "e G1:9 G2 G3:9",
	  "!1=500 +2 2=primary 2\"\"#0~3000 2\"a\"#0* +3 3=shadow" },
	{ "shadow-empty: an empty 200 instead", "shadow-empty", "e G1:9 P2 R0 G3:1/0",
	  "+1 -1 2\"\"#0/0~3000 2\"R\"#1/0 -2 +3 -3" },
	{ "a poll ends the primary and the shadows", "shadow-replay", "G1 G2 p e",
	  "+1 1=primary 1\"\"#0~3000 +2 2=shadow 2\"\"#0~3000 -1 1=closed -2 2=closed" },
	{ "a request may be polled and cancelled",
	  "shadow-empty", "P1 c0 G2:0/0 D0",
	  "1\"\"#0/0~3000 -1 +2 2=request -2" },
	{ "the end of the session ends all", "shadow", "G1 G2 P3 .",
	  "+1 1=primary 1\"\"#0~3000 +2 2=shadow 2\"\"#0~3000 3\"\"#0~3000 "
	  "-1 1=closed -2 2=closed -3" },
};

static const struct row promote_rows[] = {
	{ "the first GET is the primary; it is told when to come back",
	  "shadow-promote", "G1 e", "+1 1=primary 1: 1~3000 1\"a\"#g1-1" },
	{ "2025-11-25: it is primed with an id of its own",
	  "shadow-promote,prime", "G1 e G2",
	  "+1 1=primary 1: 1\"\"#g1-0~3000 1\"a\"#g1-1 +2 2=shadow 2: 2\"\"#g2-1~3000" },
	{ "no retry, nothing to tell", "shadow-promote,noretry", "G1", "+1 1=primary 1:" },
	{ "a second GET is a shadow, a third too",
	  "shadow-promote", "G1 G2 G3 e",
	  "+1 1=primary 1: 1~3000 +2 2=shadow 2: 2~3000 +3 3=shadow 3: 3~3000 1\"a\"#g1-1" },
	{ "the newest shadow is promoted when the primary is gone",
	  "shadow-promote,noretry", "G1 G2 G3 x1 e",
	  "+1 1=primary 1: +2 2=shadow 2: +3 3=shadow 3: 1=closed 3=primary 3: 3\"a\"#g3-1" },
	{ "a dead shadow is passed over", "shadow-promote,noretry", "G1 G2 G3 k3 x1 e",
	  "+1 1=primary 1: +2 2=shadow 2: +3 3=shadow 3: 1=closed 2=primary 2: 2\"a\"#g2-1" },
	{ "a shadow that leaves changes nothing", "shadow-promote,noretry", "G1 G2 x2 e",
	  "+1 1=primary 1: +2 2=shadow 2: 2=closed 1\"a\"#g1-1" },
	{ "nobody listens: what is emitted waits for the next GET",
	  "shadow-promote,noretry", "e G1 x1 e e G2 e",
	  "+1 1=primary 1: 1\"a\"#g1-1 1=closed +2 2=primary 2: 2\"b\"#g2-2 2\"c\"#g2-3 2\"d\"#g2-4" },
	{ "replay is strictly after the cursor",
	  "shadow-promote,noretry", "G1 e e e x1 G2:g1-2 e",
	  "+1 1=primary 1: 1\"a\"#g1-1 1\"b\"#g1-2 1\"c\"#g1-3 1=closed +2 2=primary 2: "
	  "2\"c\"#g1-3* 2\"d\"#g1-4" },
	{ "and the same cursor again gets the same again",
	  "shadow-promote,noretry", "G1 e e x1 G2:g1-1 x2 G3:g1-1",
	  "+1 1=primary 1: 1\"a\"#g1-1 1\"b\"#g1-2 1=closed +2 2=primary 2: 2\"b\"#g1-2* "
	  "2=closed +3 3=primary 3: 3\"b\"#g1-2*" },
	{ "only of that stream: what another one carried is not replayed",
	  "shadow-promote,noretry", "G1 e x1 G2 e x2 G3:g1-1",
	  "+1 1=primary 1: 1\"a\"#g1-1 1=closed +2 2=primary 2: 2\"b\"#g2-2 2=closed "
	  "+3 3=primary 3:" },
	{ "a shadow gets what its own stream has lost",
	  "shadow-promote,noretry", "G1 e e x1 G2 e G3:g1-1 e",
	  "+1 1=primary 1: 1\"a\"#g1-1 1\"b\"#g1-2 1=closed +2 2=primary 2: 2\"c\"#g2-3 "
	  "+3 3=shadow 3: 3\"b\"#g1-2* 2\"d\"#g2-4" },
	{ "a resume while the original lives is a shadow; promoted, it has it all",
	  "shadow-promote,noretry", "G1 e G2:g1-0 e x1 e",
	  "+1 1=primary 1: 1\"a\"#g1-1 +2 2=shadow 2: 1\"b\"#g1-2 1=closed 2=primary 2: "
	  "2\"a\"#g1-1* 2\"b\"#g1-2* 2\"c\"#g1-3" },
	{ "events that did not leave go to the promoted one",
	  "shadow-promote,noretry", "G1 G2 e e e x1!2",
	  "+1 1=primary 1: +2 2=shadow 2: 1\"a\"#g1-1 1\"b\"#g1-2 1\"c\"#g1-3 1=closed "
	  "2=primary 2: 2\"b\"#g2-2 2\"c\"#g2-3" },
	{ "a primary whose socket is dead gets nothing more",
	  "shadow-promote,noretry", "G1 G2 k1 e x1",
	  "+1 1=primary 1: +2 2=shadow 2: 1=orphan 2=primary 2: 2\"a\"#g2-1 1=closed" },
	{ "nor when nobody can take over: it waits",
	  "shadow-promote,noretry", "G1 k1 e x1 G2",
	  "+1 1=primary 1: 1=orphan 1=closed +2 2=primary 2: 2\"a\"#g2-1" },
	{ "a cursor of nobody is none", "shadow-promote,noretry,prime",
	  "e G1:g7-1 x1 G2:0 x2 G3:zzz",
	  "+1 1=primary 1: 1\"\"#g1-0 1\"a\"#g1-1 1=closed +2 2=primary 2: 2\"\"#g2-1 "
	  "2=closed +3 3=primary 3: 3\"\"#g3-1" },
	{ "at the cap the newest is refused",
	  "shadow-promote,noretry,cap=1", "G1 G2 G3 x2 G4",
	  "+1 1=primary 1: +2 2=shadow 2: !3=429 2=closed +4 4=shadow 4:" },
	{ "initialize is request 0, with ids of its own",
	  "shadow-promote,prime", "I1 R0 P2 m1 R1",
	  "1\"\"#r0-0~3000 1\"R\"#r0-1 -1 2\"\"#r1-0~3000 2\"m\"#r1-1 2\"R\"#r1-2 -2" },
	{ "before 2025-11-25 nothing is primed",
	  "shadow-promote", "I1 R0", "1\"R\"#r0-1~3000 -1" },
	{ "an answer that was missed can be had again",
	  "shadow-promote", "P1 m1 x1 R1 G2:r1-1",
	  "1\"m\"#r1-1~3000 1=closed +2 2=request 2\"R\"#r1-2* -2 2=closed" },
	{ "a running request goes on where it is resumed",
	  "shadow-promote", "P1 m1 x1 G2:r1-1 m1 R1",
	  "1\"m\"#r1-1~3000 1=closed +2 2=request 2\"m\"#r1-2 2\"R\"#r1-3 -2" },
	{ "after the response nothing comes: it is a listener",
	  "shadow-promote,noretry", "G1 P2 R1 G3:r1-1 e",
	  "+1 1=primary 1: 2\"R\"#r1-1 -2 +3 3=shadow 3: 1\"a\"#g1-1" },
	{ "polling: the response waits for the resume",
	  "shadow-promote,prime,noretry", "P1 c1 R1 G2:r1-0",
	  "1\"\"#r1-0 -1 +2 2=request 2\"R\"#r1-1* -2 2=closed" },
	{ "polling: the primary comes back",
	  "shadow-promote,noretry", "G1 e p e G2:g1-1",
	  "+1 1=primary 1: 1\"a\"#g1-1 -1 1=closed +2 2=primary 2: 2\"b\"#g1-2" },
	{ "what is kept is bounded", "shadow-promote,noretry,keep=2", "e e e G1",
	  "+1 1=primary 1: 1\"b\"#g1-2 1\"c\"#g1-3" },
	{ "a fault: everything again", "shadow-promote,noretry,replay-all",
	  "G1 e e x1 G2:g1-2",
	  "+1 1=primary 1: 1\"a\"#g1-1 1\"b\"#g1-2 1=closed +2 2=primary 2: "
	  "2\"a\"#g1-1* 2\"b\"#g1-2*" },
	{ "a fault: another stream's", "shadow-promote,noretry,cross",
	  "G1 e P2 x2 R1 G3:r1-0",
	  "+1 1=primary 1: 1\"a\"#g1-1 2=closed +3 3=request 3\"a\"#g1-1* 3\"R\"#r1-1* "
	  "-3 3=closed" },
	{ "a fault: everybody", "shadow-promote,noretry,broadcast", "G1 G2 e",
	  "+1 1=primary 1: +2 2=shadow 2: 1\"a\"#g1-1 2\"a\"#g1-1" },
	{ "a fault: in turn", "shadow-promote,noretry,split", "G1 G2 e e",
	  "+1 1=primary 1: +2 2=shadow 2: 1\"a\"#g1-1 2\"b\"#g2-2" },
	{ "a fault: the older ones stay, silent", "shadow-promote,noretry,supersede",
	  "G1 G2 e", "+1 1=primary 1: 1=orphan +2 2=primary 2: 2\"a\"#g2-1" },
};

static void
test_rmcp(void **state)
{
	(void)state;
	run_rows(rmcp_rows, N_ROWS(rmcp_rows));
}

static void
test_promote(void **state)
{
	(void)state;
	run_rows(promote_rows, N_ROWS(promote_rows));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rmcp),
		cmocka_unit_test(test_promote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
