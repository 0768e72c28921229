/* The table of measured counts: an EventSource-like client against each
 * policy, in virtual time. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/channel.h"
#include "util.h"

#define STREAMS 256
#define RUN_MS 22000
#define RETRY_MS 3000

/* A (the stream of initialize), B (standalone), C (of tools/list). */
enum { A, B, C, LINES };

struct line {
	char last_id[32];
	bool has_id, waiting, refused;
	int64_t back_at;
	unsigned gets, ok, status;	/* status of the last refusal */
	unsigned data;			/* pokes it has seen */
	unsigned empties;		/* streams that ended at once */
};

struct world {
	struct channel *ch;
	struct line line[LINES];
	int of[STREAMS];		/* line of a stream */
	unsigned on[STREAMS];		/* events on it */
	uint32_t next;
	int64_t now;
	char order[128];		/* who opened, in order */
};

static void
on_act(void *arg, const struct chan_act *a)
{
	struct world *w = arg;
	struct line *l = &w->line[w->of[a->stream]];

	switch (a->what) {
	case CHAN_ACCEPT:
		l->ok++;
		break;
	case CHAN_REFUSE:
		l->refused = true;
		l->status = a->status;
		break;
	case CHAN_SEND:
		if (a->id.p)
			(void)snprintf(l->last_id, sizeof l->last_id, "%.*s",
			    STR_ARG(a->id));
		l->has_id |= a->id.p != NULL;
		l->data += str_pre(a->data, STR("poke"));
		w->on[a->stream]++;
		break;
	case CHAN_END:
		l->waiting = true;
		l->back_at = w->now + RETRY_MS;
		l->empties += w->on[a->stream] == 0;
		break;
	case CHAN_NOTE: case CHAN_ROLE:
		break;
	}
}

static uint32_t
stream_of(struct world *w, int line)
{
	assert_true(w->next < STREAMS);
	w->of[w->next] = line;
	return w->next++;
}

static void
get(struct world *w, int line)
{
	struct line *l = &w->line[line];
	size_t n = strlen(w->order);

	l->waiting = false;
	l->gets++;
	if (n + 1 < sizeof w->order)
		w->order[n] = "ABC"[line];
	chan_get(w->ch, stream_of(w, line), l->has_id ? str_c(l->last_id) : STR_NONE);
}

static void
post(struct world *w, int line, bool initialize)
{
	uint32_t n = chan_request(w->ch, stream_of(w, line), initialize);

	chan_request_send(w->ch, n, STR("result"), true);
}

/* The next of the client's own steps, and of the pokes. */
static void
step(struct world *w, int i)
{
	switch (i) {
	case 0:
		post(w, A, true);
		break;
	case 1:
		get(w, B);
		break;
	case 2:
		post(w, C, false);
		break;
	default:
		chan_emit(w->ch, STR("poke"));
		break;
	}
}

static void
run(struct world *w, const struct chan_opts *o)
{
	static const int64_t steps[] = { 0, 154, 255, 1000, 6000, 11000, 16000, 21000,
		INT64_MAX };
	int next = 0;

	*w = (struct world){ .next = 1 };
	w->ch = chan_new(o, on_act, w);
	for (;;) {
		int64_t t = steps[next];
		int who = -1;

		for (int i = 0; i < LINES; i++)
			if (w->line[i].waiting && !w->line[i].refused &&
			    w->line[i].back_at < t) {
				t = w->line[i].back_at;
				who = i;
			}
		if (t > RUN_MS)
			break;
		w->now = t;
		if (who >= 0)
			get(w, who);
		else
			step(w, next++);
	}
	chan_free(w->ch);
}

/* GETs by A, B, C; statuses other than 200 of each, pokes seen by each. */
struct row {
	enum chan_policy policy;
	unsigned gets[LINES], status[LINES], pokes[LINES];
	const char *order;		/* of the GETs */
};

static const struct row rows[] = {
	/* GETs and statuses are those measured on the real servers. */
	{ CHAN_REPLACE, { 4, 4, 1 }, { 0, 0, 500 }, { 8, 8, 0 }, "BACBABABA" },
	{ CHAN_CONFLICT, { 1, 1, 1 }, { 409, 0, 500 }, { 0, 5, 0 }, "BAC" },
	{ CHAN_CONFLICT_FALLTHROUGH, { 1, 1, 1 }, { 409, 0, 409 }, { 0, 5, 0 }, "BAC" },
	{ CHAN_REPLACE_ALL, { 5, 5, 5 }, { 0, 0, 0 }, { 9, 9, 9 }, "BACBACBACBACBAC" },
	{ CHAN_REPLACE_NOREPLAY, { 5, 5, 5 }, { 0, 0, 0 }, { 1, 3, 1 }, "BACBACBACBACBAC" },
	{ CHAN_SHADOW, { 1, 1, 1 }, { 0, 0, 0 }, { 0, 5, 0 }, "BAC" },
	{ CHAN_SHADOW_REPLAY, { 1, 1, 1 }, { 0, 0, 0 }, { 0, 5, 0 }, "BAC" },
	{ CHAN_SHADOW_EMPTY, { 1, 1, 7 }, { 0, 0, 0 }, { 0, 5, 0 }, "BACCCCCCC" },
	{ CHAN_SHADOW_PROMOTE, { 1, 1, 1 }, { 0, 0, 0 }, { 0, 5, 0 }, "BAC" },
};

static void
test_table(void **state)
{
	struct chan_opts o;
	struct world w;
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *r = &rows[i];

		chan_opts_init(&o, r->policy);
		run(&w, &o);
		bad += strcmp(w.order, r->order) != 0;
		for (int k = 0; k < LINES; k++)
			bad += w.line[k].gets != r->gets[k] ||
			    w.line[k].status != r->status[k] ||
			    w.line[k].data != r->pokes[k];
		print_message("%-21s A %u/%u %u  B %u/%u %u  C %u/%u %u  %s\n",
		    chan_policy_names[r->policy],
		    w.line[A].gets, w.line[A].status, w.line[A].data,
		    w.line[B].gets, w.line[B].status, w.line[B].data,
		    w.line[C].gets, w.line[C].status, w.line[C].data, w.order);
	}
	assert_int_equal(bad, 0);
}

/* The two changes of later releases are independent of the policy: with scoped
 * priming the finished tools/list is asked for as 1/0. */
static void
test_axes(void **state)
{
	struct chan_opts o;
	struct world w;

	(void)state;
	chan_opts_init(&o, CHAN_SHADOW_EMPTY);
	run(&w, &o);
	assert_string_equal(w.line[C].last_id, "1/0");
	assert_int_equal(w.line[C].empties, 7);
	o.scoped = false;
	run(&w, &o);
	assert_string_equal(w.line[C].last_id, "0/0");
	/* Exclusive replay ends the repeats of a takeover loop, not the loop. */
	chan_opts_init(&o, CHAN_REPLACE);
	o.inclusive = false;
	run(&w, &o);
	assert_int_equal(w.line[A].gets + w.line[B].gets, 8);
	assert_true(w.line[A].data + w.line[B].data < 15);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_axes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
