#include "mcpdiag/player.h"

#include <stdlib.h>

#include "mcpdiag/esource.h"
#include "mcpdiag/xmem.h"
#include "player_priv.h"

#define PATIENCE (NS_S)	/* of the capture, for an id, once it is time; */
#define LEAST (100 * NS_MS)	/* and as much in any case */
#define MAX_KEPT (256U << 20)	/* bytes of what the server said */

void
player_opts_init(struct player_opts *o)
{
	*o = (struct player_opts){ .speed = 1, .connect_timeout = 10 * NS_S,
		.answer_timeout = 30 * NS_S, .message = 1 << 20 };
	client_opts_init(&o->client);
}

struct str
player_keep(struct player *p, struct str s)
{
	if (p->kept.bytes >= MAX_KEPT || s.n > MAX_KEPT - p->kept.bytes)
		return STR_NONE;
	return keep_str(&p->kept, s);
}

ns_t
player_now(const struct player *p)
{
	return loop_mono(p->loop) - p->start;
}

/* ---- what waits for what ---- */

static bool
may_come(const struct live *l)
{
	return l->x.state == PLAYED_WAITING || l->x.state == PLAYED_RUNNING;
}

static bool
is_json(const struct live *l)
{
	return content_type_is(l->x.type, STR("application/json"));
}

/* Whether a handshake has given what others need. */
static bool
has_session(const struct live *h)
{
	if (h->x.plan->legacy)
		return h->endpoint.n > 0;
	return h->x.status >= 200 && h->x.status < 300 && (h->x.is_stream || is_json(h)) &&
	    (h->x.state == PLAYED_RUNNING || h->n_answers > 0);
}

static bool
is_answered(const struct live *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->x.plan->n_msgs; i++)
		n += l->x.plan->msgs[i].kind == EV_MSG_REQUEST;
	return l->x.is_stream && l->n_answers >= n;
}

static bool
gave(const struct live *g, const struct plan_x *x)
{
	return g->x.n_ids >= (x->last_given ? 1 : x->given);
}

/* Whether the notification that it follows is there. */
static bool
cued(const struct live *c, const struct plan_x *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->x.n_msgs && n < x->cued; i++)
		n += str_eq(c->x.msgs[i].method, x->cue_method);
	return n >= x->cued;
}

/* Of those that it waits for, the first that has not come and may. */
static struct live *
blocker(const struct live *l)
{
	const struct player *p = l->player;
	const struct plan_x *x = l->x.plan;
	struct live *h = of(p, x->handshake), *prev = of(p, x->prev),
	    *after = of(p, x->after), *g = of(p, x->giver), *a = of(p, x->asker),
	    *c = of(p, x->cue);

	if (h && may_come(h) && !has_session(h))
		return h;
	if (h && h->deleted == x->n && h->n_coming > 0)
		return h;
	if (prev && may_come(prev))
		return prev;
	if (after && may_come(after) && !is_answered(after))
		return after;
	if (g && may_come(g) && !gave(g, x) && !l->goes_without)
		return g;
	if (a && may_come(a) && a->n_asked < x->asked)
		return a;
	if (c && may_come(c) && !l->goes_without && !cued(c, x))
		return c;
	return NULL;
}

/* What it waits for is there but for the id that it names. */
static bool
lacks_id(const struct live *l, const struct live *b)
{
	const struct plan_x *x = l->x.plan;
	uint32_t n = b->x.plan->n;

	return n == x->giver && n != x->prev && (n != x->handshake || has_session(b)) &&
	    (n != x->after || is_answered(b));
}

/* The capture has a stream where this server answers otherwise. */
static bool
was_refused(const struct live *l)
{
	return l->x.plan->is_stream && l->x.status != 0 && !l->x.is_stream;
}

/* Why it cannot be played although nothing is to come any more. */
static enum played
hindrance(const struct live *l)
{
	const struct player *p = l->player;
	const struct plan_x *x = l->x.plan;
	const struct live *h = of(p, x->handshake), *prev = of(p, x->prev),
	    *a = of(p, x->asker);

	if (h && !has_session(h))
		return PLAYED_NO_SESSION;
	if (prev && (prev->x.state == PLAYED_NOT_OPENED || was_refused(prev)))
		return PLAYED_NOT_OPENED;
	if (prev && (prev->x.state != PLAYED_DONE || prev->x.left))
		return PLAYED_STILL_OPEN;
	if (a && a->n_asked < x->asked)
		return PLAYED_NOT_ASKED;
	return PLAYED_DONE;
}

static void
make_ready(struct player *p, struct live *l)
{
	l->next = NULL;
	*p->ready_end = l;
	p->ready_end = &l->next;
}

static void
wake(struct live *l)
{
	struct live *w = l->waiters, *next;

	l->waiters = NULL;
	for (; w; w = next) {
		next = w->next;
		make_ready(l->player, w);
	}
}

static void
stop_patience(struct live *l)
{
	if (!l->patient)
		return;
	l->patient = false;
	l->player->n_gaps--;
	loop_timer_clear(l->timer);
}

/* It goes out within a bounded time, and its session's DELETE only then. */
static void
set_coming(struct live *l, bool is)
{
	struct live *h = of(l->player, l->x.plan->handshake);

	if (l->is_coming == is || h == NULL || l->x.plan->n >= h->deleted)
		return;
	l->is_coming = is;
	h->n_coming += is ? 1 : -1U;
	if (h->n_coming == 0)
		wake(h);
}

static void
give_up(struct live *l, enum played why)
{
	stop_patience(l);
	set_coming(l, false);
	l->x.state = why;
	wake(l);
}

/* What waits for more than a time came before the DELETE: it comes no more. */
static void
give_up_session(struct player *p, uint32_t handshake, uint32_t deleted)
{
	for (uint32_t i = handshake; i < deleted; i++)
		if (p->lives[i]->x.plan->handshake == handshake &&
		    p->lives[i]->x.state == PLAYED_WAITING)
			give_up(p->lives[i], PLAYED_DELETED);
}

static void
on_timer(void *arg)
{
	struct live *l = arg, *b;
	struct player *p = l->player;

	if (l->gap_runs) {
		l->gap_runs = false;
		p->n_gaps--;
		make_ready(p, l);
		player_progress(l);
		return;
	}
	if (l->patient) {
		b = blocker(l);
		stop_patience(l);
		l->goes_without = true;
		if (b)
			player_progress(b);
		return;
	}
	if (l->x.state != PLAYED_RUNNING)
		return;
	if (l->is_short && l->x.plan->kind == PLAN_GET && !l->leaves) {
		/* Some servers say nothing before the first event. */
		player_progress(l);
		return;
	}
	if (l->is_short && l->x.plan->kind != PLAN_GET) {
		l->x.how = CLIENT_TIMEOUT;
		l->x.why = STR("no whole answer in time");
		live_leave(l);
		return;
	}
	l->leaving = true;
	l->next = p->leaving;
	p->leaving = l;
	player_progress(l);
}

static void
set_timer(struct live *l, ns_t after)
{
	if (l->timer == NULL)
		l->timer = loop_timer_new(l->player->loop, on_timer, l);
	loop_timer_set(l->timer, after);
}

/* Its time has come, and the id that it names was not given here so far, or
 * what it follows has not come. */
static void
start_patience(struct live *l)
{
	const struct player *p = l->player;
	ns_t now = player_now(p), t = p->opts.speed > 0 ? player_scaled(p, PATIENCE) : PATIENCE;

	t = (l->x.due >= 0 ? l->x.due : now) + (t < LEAST ? LEAST : t) - now;
	l->patient = true;
	l->player->n_gaps++;
	set_timer(l, t > 0 ? t : 0);
}

/* It stays as long as the capture's client did; without waiting, to the end. */
static bool
time_leave(struct live *l, ns_t within)
{
	const struct player *p = l->player;
	const struct plan_x *x = l->x.plan;
	ns_t after;

	if (x->leave < 0 || p->opts.speed <= 0)
		return false;
	after = l->x.sent + player_scaled(p, player_timetable(p, x->leave) -
	    player_timetable(p, x->at)) - player_now(p);
	if (after > within)
		return false;
	l->leaves = true;
	set_timer(l, after);
	return true;
}

static void
send_it(struct live *l)
{
	struct player *p = l->player;
	const struct live *h = of(p, l->x.plan->handshake);

	l->x.sent = player_now(p);
	if (l->x.due < 0)
		l->x.due = l->x.sent;
	if (!live_send(l)) {
		give_up(l, PLAYED_UNSENDABLE);
		return;
	}
	l->x.state = PLAYED_RUNNING;
	set_coming(l, false);
	if (h && h->deleted == l->x.plan->n)
		give_up_session(p, h->x.plan->n, h->deleted - 1);
	l->is_short = true;
	p->n_short++;
	p->n_short_of[l->x.plan->client]++;
	if (l->x.plan->kind != PLAN_GET || !time_leave(l, p->opts.answer_timeout))
		set_timer(l, p->opts.answer_timeout);
}

static void
attempt(struct live *l)
{
	struct player *p = l->player;
	const struct live *prev = of(p, l->x.plan->prev);
	struct live *b;
	enum played no;

	if (l->x.state != PLAYED_WAITING)
		return;
	b = blocker(l);
	if (b) {
		l->next = b->waiters;
		b->waiters = l;
		if ((lacks_id(l, b) || b == of(p, l->x.plan->cue)) && !l->patient &&
		    !l->goes_without) {
			start_patience(l);
			set_coming(l, true);
		} else if (!l->patient) {
			set_coming(l, false);
		}
		return;
	}
	stop_patience(l);
	no = hindrance(l);
	if (no != PLAYED_DONE) {
		give_up(l, no);
		return;
	}
	if (prev && l->x.due < 0) {
		ns_t gap = p->opts.max_wait > 0 && l->x.plan->gap > p->opts.max_wait ?
		    p->opts.max_wait : l->x.plan->gap;

		l->x.due = prev->x.end + player_scaled(p, gap);
		if (l->x.due > player_now(p)) {
			l->gap_runs = true;
			set_coming(l, true);
			p->n_gaps++;
			set_timer(l, l->x.due - player_now(p));
			return;
		}
	}
	send_it(l);
}

/* Those that wait for something that may go on for ever. */
static bool
give_up_waiting(struct player *p)
{
	bool any = false;

	for (uint32_t i = 0; i < p->n; i++) {
		struct live *on = p->lives[i], *l = on->waiters, *next;

		if (on->x.state != PLAYED_RUNNING)
			continue;
		on->waiters = NULL;
		for (; l; l = next) {
			next = l->next;
			if (l->x.state != PLAYED_WAITING)
				continue;
			give_up(l, i + 1 == l->x.plan->prev ? PLAYED_STILL_OPEN :
			    i + 1 == l->x.plan->asker ? PLAYED_NOT_ASKED :
			    PLAYED_NO_ANSWER);
			any = true;
		}
	}
	return any;
}

static void
stop_all(struct player *p)
{
	p->over = true;
	for (uint32_t i = 0; i < p->n; i++) {
		struct live *l = p->lives[i];

		if (l->x.state == PLAYED_RUNNING)
			live_leave(l);
		else if (l->x.state == PLAYED_WAITING)
			l->x.state = PLAYED_OVER;
	}
	loop_timer_set(p->timer, 0);
}

/* Behind the timetable, once nothing is under way: true when there may be more
 * to do. */
static bool
wind_up(struct player *p)
{
	if (!p->ending || p->n_short > 0 || p->n_gaps > 0)
		return false;
	if (give_up_waiting(p))
		return true;
	stop_all(p);
	return false;
}

/* Streams whose time is up are left, but not before the answers that the same
 * client had by then: sped up, these may come late.  Whether there were any. */
static bool
leave_those(struct player *p)
{
	struct live **at = &p->leaving, *l;
	bool any = false;

	while ((l = *at) != NULL) {
		if (p->n_short_of[l->x.plan->client] > l->is_short) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		if (l->x.state == PLAYED_RUNNING) {
			live_leave(l);
			any = true;
		}
	}
	return any;
}

/* Whoever may go on, does; from one place, so that nothing recurses. */
static void
settle(struct player *p)
{
	if (p->settling || p->over)
		return;
	p->settling = true;
	do {
		struct live *l;

		while ((l = p->ready) != NULL) {
			p->ready = l->next;
			if (p->ready == NULL)
				p->ready_end = &p->ready;
			attempt(l);
		}
	} while (leave_those(p) || wind_up(p));
	p->settling = false;
}

/* It is no longer one whose answer comes soon. */
static void
not_short(struct live *l)
{
	if (!l->is_short)
		return;
	l->is_short = false;
	l->player->n_short--;
	l->player->n_short_of[l->x.plan->client]--;
	if (l->timer)
		loop_timer_clear(l->timer);
}

/* Nothing more is due on it: it may stay open for ever. */
static bool
is_long(const struct live *l)
{
	if (l->x.plan->kind == PLAN_GET)
		return l->x.is_stream || l->x.head < 0;
	return is_answered(l) || (l->x.plan->stream_kind == EV_LISTEN && l->x.is_stream);
}

/* The timetable goes on, from the response that the first request has. */
static void
open_timetable(struct player *p)
{
	const struct plan_x *x = p->opener->x.plan;
	ns_t answered = player_timetable(p, x->head_at >= 0 ? x->head_at : x->at),
	    late = player_now(p) - player_scaled(p, answered);

	p->opener = NULL;
	p->slip = late > 0 ? late : 0;
	loop_timer_set(p->timer, 0);
}

void
player_progress(struct live *l)
{
	if (l == l->player->opener && l->x.head >= 0)
		open_timetable(l->player);
	if (l->is_short && !l->leaving && is_long(l)) {
		not_short(l);
		(void)time_leave(l, INT64_MAX);
	}
	wake(l);
	settle(l->player);
}

void
player_ended(struct live *l)
{
	struct player *p = l->player;

	l->x.state = PLAYED_DONE;
	l->x.end = player_now(p);
	if (l == p->opener)
		open_timetable(p);
	not_short(l);
	if (l->timer)
		loop_timer_clear(l->timer);
	wake(l);
	settle(p);
}

void
player_stop(struct player *p)
{
	if (!p->over)
		stop_all(p);
}

/* ---- the timetable ---- */

static void
on_time(void *arg)
{
	struct player *p = arg;
	ns_t now = player_now(p), end;

	if (p->over) {
		p->done(p->arg);
		return;
	}
	if (p->opener)
		open_timetable(p);	/* it has been waited for long enough */
	while (p->next < p->n && p->opener == NULL && player_due(p, p->next) <= now) {
		struct live *l = p->lives[p->next++];

		/* The others come when what they reopen has ended. */
		if (l->x.plan->prev)
			continue;
		l->x.due = player_due(p, p->next - 1);
		make_ready(p, l);
		if (!p->opened && l->x.state == PLAYED_WAITING) {
			p->opened = true;
			p->opener = l;
		}
	}
	settle(p);
	if (p->over)
		return;
	if (p->opener && may_come(p->opener)) {
		loop_timer_set(p->timer, PATIENCE);
		return;
	}
	p->opener = NULL;
	end = p->slip + player_scaled(p, player_timetable(p, plan_duration(p->plan)));
	if (p->next < p->n)
		end = player_due(p, p->next);
	now = player_now(p);
	if (p->next < p->n || now < end) {
		loop_timer_set(p->timer, end - now);
		return;
	}
	p->ending = true;
	settle(p);
}

struct client *
player_client(struct player *p, uint32_t client)
{
	return p->opts.pools ? p->opts.pools[(p->opts.first_pool + client) % p->opts.n_pools] :
	    p->clients[client];
}

struct player *
player_new(struct loop *loop, const struct plan *plan, const struct player_opts *o,
    player_fn *done, void *arg)
{
	struct player *p = xcalloc(1, sizeof *p);
	struct limits limits;

	limits_init(&limits);
	p->loop = loop;
	p->plan = plan;
	p->opts = *o;
	p->done = done;
	p->arg = arg;
	p->n = plan_count(plan);
	p->lives = xcalloc(p->n ? p->n : 1, sizeof *p->lives);
	p->at = xcalloc(p->n ? p->n : 1, sizeof *p->at);
	p->clients = xcalloc(plan_clients(plan) + 1, sizeof *p->clients);
	p->n_short_of = xcalloc(plan_clients(plan) + 1, sizeof *p->n_short_of);
	p->ready_end = &p->ready;
	p->rpc = rpc_new(&limits, player_on_message, p);
	p->minted = minted_new();
	p->timer = loop_timer_new(loop, on_time, p);
	for (uint32_t i = 0; i < p->n; i++) {
		p->lives[i] = xcalloc(1, sizeof *p->lives[i]);
		live_init(p->lives[i], p, plan_x(plan, i + 1));
	}
	for (uint32_t i = 0; i < p->n; i++) {
		const struct plan_x *x = p->lives[i]->x.plan;
		struct live *a = of(p, x->asker), *h = of(p, x->handshake);

		if (a && x->asked > a->n_replied && x->skip == PLAN_PLAYED)
			a->n_replied = x->asked;
		if (h && x->kind == PLAN_DELETE && x->skip == PLAN_PLAYED && h->deleted == 0)
			h->deleted = x->n;
	}
	player_make_timetable(p);
	return p;
}

void
player_close(struct player *p)
{
	p->closed = true;
	player_stop(p);
	while (p->extras) {
		struct extra *e = p->extras;

		client_cancel(e->req);
		DL_DELETE(p->extras, e);
		free(e);
	}
	for (uint32_t i = 0; i < plan_clients(p->plan); i++) {
		client_free(p->clients[i]);
		p->clients[i] = NULL;
	}
}

void
player_free(struct player *p)
{
	if (p == NULL)
		return;
	if (!p->closed)
		player_close(p);
	free(p->clients);
	for (uint32_t i = 0; i < p->n; i++)
		live_fini(p->lives[i]);
	keep_fini(&p->kept);
	loop_timer_free(p->timer);
	rpc_free(p->rpc);
	minted_free(p->minted);
	free(p->lives);
	free(p->at);
	free(p->marks);
	free(p->n_short_of);
	free(p);
}

int
player_start(struct player *p, struct errmsg *em)
{
	for (uint32_t i = 0; i < plan_clients(p->plan) && p->opts.pools == NULL; i++) {
		p->clients[i] = client_new(p->loop, &p->opts.client, em);
		if (p->clients[i] == NULL)
			return -E_IO;
	}
	p->start = loop_mono(p->loop);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->lives[i]->x.plan->prev)
			make_ready(p, p->lives[i]);
	loop_timer_set(p->timer, 0);
	return 0;
}

const struct player_x *
player_x(const struct player *p, uint32_t n)
{
	return n >= 1 && n <= p->n ? &p->lives[n - 1]->x : NULL;
}
