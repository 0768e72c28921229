#include "mcpdiag/compare.h"

#include <stdlib.h>

#include "jsondiff.h"
#include "mcpdiag/esource.h"
#include "mcpdiag/keep.h"
#include "mcpdiag/map.h"

#define MAX_WORDS 4096U		/* bytes of a list of messages that are shown */
#define MAX_ANSWERS 4096U	/* of an exchange that are compared */
#define MAX_SHOWN 200U		/* messages of a stream that are compared */

struct compare {
	struct compare_row *rows;
	uint32_t n, cap;
	uint64_t left_out;
	uint32_t played, differ;
	struct compare_times times;
	struct keep kept;
	/* while it is made: */
	uint32_t at;		/* exchange of the plan */
	bool differs;
};

static void
add(struct compare *c, enum compare_what what, struct str path, struct str captured,
    struct str live, bool is_volatile)
{
	struct compare_row r = { .n = c->at, .what = what, .is_volatile = is_volatile };

	c->differs |= !is_volatile;
	if (c->n >= COMPARE_MAX) {
		c->left_out++;
		return;
	}
	r.path = keep_str(&c->kept, path);
	r.captured = keep_str(&c->kept, captured);
	r.live = keep_str(&c->kept, live);
	c->rows = xgrow(c->rows, c->n, &c->cap, sizeof r);
	c->rows[c->n++] = r;
}

static void
words(struct compare *c, enum compare_what what, const char *captured, const char *live)
{
	if (strcmp(captured, live) != 0)
		add(c, what, STR_NONE, str_c(captured), str_c(live), false);
}

/* ---- status and kind ---- */

static const char *
kind_of(unsigned status, bool is_stream, struct str type)
{
	if (status == 0)
		return "no response";
	if (is_stream)
		return "event stream";
	if (content_type_is(type, STR("application/json")))
		return "JSON";
	return type.n ? "other type" : "no body";
}

static void
compare_heads(struct compare *c, const struct player_x *x)
{
	const struct plan_x *p = x->plan;
	struct buf a, b;

	buf_init(&a, 64);
	buf_init(&b, 64);
	(void)buf_fmt(&a, p->status ? "%u" : "none", p->status);
	(void)buf_fmt(&b, x->status ? "%u" : "none", x->status);
	(void)buf_addc(&a, '\0');
	(void)buf_addc(&b, '\0');
	words(c, COMPARE_STATUS, a.p, b.p);
	if (p->status && x->status && p->status / 100 == 2 && x->status / 100 == 2)
		words(c, COMPARE_KIND, kind_of(p->status, p->is_stream, p->response_type),
		    kind_of(x->status, x->is_stream, x->type));
	buf_fini(&a);
	buf_fini(&b);
}

/* ---- results ---- */

/* Members whose values nobody expects to be the same again. */
static bool
is_volatile(struct str path)
{
	static const char *const names[] = { "serverInfo", "_meta", "taskId", "requestState",
	    "subscriptionId", "nextCursor", "createdAt", "lastUpdatedAt", "timestamp", "time",
	    "date", "uptime", "sessionId", NULL };

	while (path.n > 0) {
		size_t n = str_find(path, STR("."));
		struct str name = str_of(path.p, n < path.n ? n : path.n);
		size_t bracket = str_find(name, STR("["));

		path.p += name.n + (n < path.n);
		path.n -= name.n + (n < path.n);
		if (bracket != SIZE_MAX)
			name.n = bracket;
		for (size_t i = 0; names[i]; i++)
			if (str_eq(name, str_c(names[i])))
				return true;
	}
	return false;
}

static void
on_diff(void *arg, struct str path, struct str a, struct str b)
{
	add(arg, COMPARE_RESULT, path, a, b, is_volatile(path));
}

static void
compare_texts(struct compare *c, struct str captured, struct str live)
{
	if (captured.p == NULL || live.p == NULL)
		return;
	if (!jsondiff(captured, live, on_diff, c) && !str_eq(captured, live))
		add(c, COMPARE_RESULT, STR_NONE, captured, live, false);
}

static bool
is_answer(enum ev_msg kind)
{
	return kind == EV_MSG_RESPONSE || kind == EV_MSG_ERROR;
}

/* The response with that id on any stream of the run: HTTP+SSE and resumed
 * streams carry what others asked for. */
static const struct player_msg *
find_answer(const struct player_x *x, struct str id)
{
	for (uint32_t i = 0; i < x->n_msgs && i < MAX_ANSWERS; i++)
		if (is_answer(x->msgs[i].kind) && str_eq(x->msgs[i].id, id))
			return &x->msgs[i];
	return NULL;
}

static void
compare_results(struct compare *c, const struct player_x *x)
{
	const struct plan_x *p = x->plan;

	for (uint32_t i = 0; i < p->n_answers && i < MAX_ANSWERS; i++) {
		const struct plan_msg *m = &p->answers[i];
		const struct player_msg *live;

		if (!is_answer(m->kind))
			continue;
		live = find_answer(x, m->id);
		if (live)
			compare_texts(c, m->text, live->text);
		else if (x->status / 100 == 2)
			add(c, COMPARE_RESULT, STR_NONE, m->text.p ? m->text :
			    STR("a response"), STR_NONE, false);
	}
}

/* ---- streams ---- */

static void
list_message(struct buf *b, enum ev_msg kind, struct str method)
{
	if (b->n > 0)
		(void)buf_adds(b, STR(", "));
	if (method.p)
		(void)buf_adds(b, method);
	else
		(void)buf_adds(b, str_c(ev_msg_names[kind]));
}

/* What the server sent of itself: answers are compared as results. */
static void
compare_messages(struct compare *c, const struct player_x *x)
{
	const struct plan_x *p = x->plan;
	struct buf a, b;

	buf_init(&a, MAX_WORDS);
	buf_init(&b, MAX_WORDS);
	for (uint32_t i = 0; i < p->n_answers && i < MAX_SHOWN; i++)
		if (!is_answer(p->answers[i].kind))
			list_message(&a, p->answers[i].kind, p->answers[i].method);
	for (uint32_t i = 0; i < x->n_msgs && i < MAX_SHOWN; i++)
		if (!is_answer(x->msgs[i].kind))
			list_message(&b, x->msgs[i].kind, x->msgs[i].method);
	if (!str_eq(buf_str(&a), buf_str(&b)))
		add(c, COMPARE_MESSAGES, STR_NONE, a.n ? buf_str(&a) : STR_NONE,
		    b.n ? buf_str(&b) : STR_NONE, false);
	buf_fini(&a);
	buf_fini(&b);
}

static const char *
captured_end(const struct plan_x *p)
{
	switch (p->end) {
	case EV_COMPLETE:
		return "ended by the server";
	case EV_TRUNCATED:
		return "cut off";
	case EV_CLIENT:
		return "left by the client";
	case EV_LOST:
		return "not captured";
	case EV_OPEN:
		break;
	}
	return "open to the end";
}

static const char *
live_end(const struct player_x *x)
{
	if (x->left)
		return x->plan->leave >= 0 ? "left by the client" : "open to the end";
	return x->how == CLIENT_COMPLETE ? "ended by the server" : "cut off";
}

/* ---- owners ---- */

/* The most that a stream was in its session. */
static const char *
owner_of(const struct tl_stream *s)
{
	static const enum ev_role by_rank[] = { EV_PRIMARY, EV_ORPHAN, EV_SHADOW,
	    EV_REQUEST_STREAM };

	for (size_t k = 0; k < sizeof by_rank / sizeof *by_rank; k++)
		for (uint32_t i = 0; i < s->n_roles; i++)
			if (s->roles[i].role == by_rank[k])
				return ev_role_names[by_rank[k]];
	return "presumed";
}

struct sent {
	const struct player_x *x;
	ns_t t;
};

static int
by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->x->plan->n < y->x->plan->n ? -1 : 1;
}

static int
by_request(const void *a, const void *b)
{
	const struct tl_stream *x = *(const struct tl_stream *const *)a,
	    *y = *(const struct tl_stream *const *)b;

	if (x->requested != y->requested)
		return x->requested < y->requested ? -1 : 1;
	return x->n < y->n ? -1 : 1;
}

/* The streams of the run in the order of their requests are those of the
 * exchanges in that order; unless the timeline has dropped some. */
static const struct tl_stream **
pair_streams(const struct player *p, const struct timeline *tl, uint32_t n)
{
	const struct tl_stream **by_n = xcalloc(n + 1, sizeof *by_n), **all;
	struct sent *sent = xcalloc(n + 1, sizeof *sent);
	const struct tl_stream *s;
	uint32_t n_sent = 0, n_all = 0;

	for (uint32_t i = 1; i <= n; i++)
		if (player_x(p, i)->is_stream)
			sent[n_sent++] = (struct sent){ player_x(p, i), player_x(p, i)->sent };
	for (uint32_t i = 0; timeline_stream(tl, i); i++)
		n_all++;
	all = xcalloc(n_all + 1, sizeof *all);
	for (uint32_t i = 0; (s = timeline_stream(tl, i)) != NULL; i++)
		all[i] = s;
	if (n_all == n_sent) {
		qsort(sent, n_sent, sizeof *sent, by_time);
		qsort(all, n_all, sizeof *all, by_request);
		for (uint32_t i = 0; i < n_sent; i++)
			by_n[sent[i].x->plan->n] = all[i];
	}
	free(sent);
	free(all);
	return by_n;
}

static void
compare_owner(struct compare *c, const struct player_x *x, const struct timeline *captured,
    const struct tl_stream *live)
{
	const struct tl_stream *s = x->plan->stream ?
	    timeline_stream_n(captured, x->plan->stream) : NULL;

	if (s && live && x->plan->kind == PLAN_GET)
		words(c, COMPARE_OWNER, owner_of(s), owner_of(live));
}

/* ---- times ---- */

static int
by_length(const void *a, const void *b)
{
	ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

	return x < y ? -1 : x > y;
}

static void
compare_all_times(struct compare *c, const struct player *p, uint32_t n)
{
	ns_t *a = xcalloc(n + 1, sizeof *a), *b = xcalloc(n + 1, sizeof *b);
	uint32_t k = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct player_x *x = player_x(p, i);

		if (x->state != PLAYED_DONE || x->head < 0 || x->plan->head_at < 0)
			continue;
		a[k] = x->plan->head_at - x->plan->at;
		b[k++] = x->head - x->sent;
	}
	if (k > 0) {
		qsort(a, k, sizeof *a, by_length);
		qsort(b, k, sizeof *b, by_length);
		c->times = (struct compare_times){ k, a[k / 2], b[k / 2], a[k - 1], b[k - 1] };
	}
	free(a);
	free(b);
}

/* ---- all ---- */

struct compare *
compare_new(const struct plan *plan, const struct player *p, const struct timeline *captured,
    const struct timeline *live)
{
	struct compare *c = xcalloc(1, sizeof *c);
	const struct tl_stream **streams = NULL;
	uint32_t n = plan_count(plan);

	if (captured && live && n > 0)
		streams = pair_streams(p, live, n);
	for (uint32_t i = 1; i <= n; i++) {
		const struct player_x *x = player_x(p, i);

		if (x->state != PLAYED_DONE || x->plan->made_up)
			continue;
		c->at = i;
		c->differs = false;
		c->played++;
		compare_heads(c, x);
		compare_results(c, x);
		if (x->is_stream && x->plan->is_stream) {
			compare_messages(c, x);
			words(c, COMPARE_END, captured_end(x->plan), live_end(x));
		}
		if (streams)
			compare_owner(c, x, captured, streams[i]);
		c->differ += c->differs;
	}
	compare_all_times(c, p, n);
	free(streams);
	return c;
}

void
compare_free(struct compare *c)
{
	if (c == NULL)
		return;
	keep_fini(&c->kept);
	free(c->rows);
	free(c);
}

const struct compare_row *
compare_row(const struct compare *c, uint32_t i)
{
	return i < c->n ? &c->rows[i] : NULL;
}

uint32_t
compare_played(const struct compare *c)
{
	return c->played;
}

uint32_t
compare_differ(const struct compare *c)
{
	return c->differ;
}

uint64_t
compare_left_out(const struct compare *c)
{
	return c->left_out;
}

const struct compare_times *
compare_times(const struct compare *c)
{
	return &c->times;
}

const char *
compare_what_name(enum compare_what w)
{
	static const char *const names[COMPARE_N] = {
		[COMPARE_STATUS] = "status", [COMPARE_KIND] = "kind",
		[COMPARE_RESULT] = "result", [COMPARE_MESSAGES] = "messages",
		[COMPARE_END] = "end", [COMPARE_OWNER] = "owner",
	};

	return names[w];
}
