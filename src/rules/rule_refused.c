/* refused-get-loop: a GET is refused and asked again, as if that could help.
 * DETECTORS "refused-get-loop".
 *
 * GETs are told apart by their cursor and by who asks; what is left may come
 * from several listeners that each give up in time, so there must be more of
 * them than two for each listener.  Their number is that of those known to be
 * without a stream, or what shows of them: requests that overlap, connections
 * that take turns, one that stays idle while another is used at once, and
 * requests that come in bursts, again and again.  What is refused
 * because a dead stream still holds its place belongs to stale-slot, and what
 * is refused with the whole session to dead-session. */
#include <stdio.h>
#include <stdlib.h>

#include "rule_gets.h"

#define WITHIN (60 * NS_S)	/* three refusals in that time */
#define WINDOW (300 * NS_S)	/* of a server's share */
#define MIN_LOOP 3
#define MIN_SHARE 20		/* refused GETs in a window */
#define TRIES 2			/* that a client may make before it gives up */
#define N_GAPS 16
#define N_KEPT 4
#define N_TRIES 128		/* requests that are told apart */
#define N_CLOSED 256		/* connections that were closed last */
#define MAX_BURST 32
#define AT_ONCE (200 * NS_MS)	/* sooner nobody tries again who waits at all */
#define MAX_RUNS 16
#define MAX_WAITING 64

struct try {
	ns_t request, head;
	uint64_t client;
	uint32_t conn;
	bool apart;			/* at once, past an idle connection */
};

struct run {
	uint64_t cursor;
	uint32_t status, n, torn, listeners, open;
	struct try *tries;		/* the first N_TRIES */
	uint32_t n_tries, cap_tries;
	uint32_t counted;		/* of them, when that was found: */
	uint32_t seen, most, all;	/* listeners there must be of whom most
					 * comes, how much that is, and listeners
					 * of all clients */
	struct got kept[N_KEPT], last, before;	/* before: the one before last */
	ns_t gaps[N_GAPS];
	uint32_t n_gaps;
	bool dense, proxy, told;
};

struct rg {				/* one session */
	struct kept of;
	struct run *runs, *best;	/* nothing until a GET is refused */
	uint32_t n_runs, next_run, cap_runs;
	struct gets *gets;
	uint32_t n_open, n_waiting, cap_waiting;
	uint32_t *waiting;		/* last streams of listeners without one */
	bool had_get, had_end;
};

struct server {				/* one server address */
	struct kept of;
	struct at first, last;
	uint32_t total, refused, status, session;
	struct {
		struct at first, last;
		uint32_t total, refused;
	} hit;
	bool looped;			/* some session of it told a loop */
};

struct refused {
	struct engine *engine;
	struct gets *gets;
	struct keeper sessions, servers;
	uint32_t closed[N_CLOSED], n_closed;	/* a ring */
};

const struct rule rule_refused;

static const struct posts *
told(const struct rg *s)
{
	return gets_posts(s->gets, s->of.session);
}

static void
free_session(struct kept *k)
{
	struct rg *s = (struct rg *)k;

	for (uint32_t i = 0; i < s->n_runs; i++)
		free(s->runs[i].tries);
	if (s->best)
		free(s->best->tries);
	free(s->waiting);
	free(s->runs);
	free(s->best);
	free(s);
}

static void
free_server(struct kept *k)
{
	free(k);
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct refused *r = xcalloc(1, sizeof *r);

	r->engine = e;
	keeper_init(&r->sessions, e, lim->sessions, free_session);
	keeper_init(&r->servers, e, lim->endpoints, free_server);
	r->gets = engine_reader(e, &gets_reader);
	return r;
}

static void
free_rule(void *arg)
{
	struct refused *r = arg;

	keeper_fini(&r->sessions);
	keeper_fini(&r->servers);
	free(r);
}

static struct rg *
session(struct refused *r, uint32_t n)
{
	struct rg *s = keeper_get(&r->sessions, n, sizeof *s);

	s->gets = r->gets;
	return s;
}

static struct server *
server(struct refused *r, const struct got *g)
{
	uint32_t key = (uint32_t)g->address;

	return g->address ? keeper_get(&r->servers, key, sizeof(struct server)) : NULL;
}

/* ---- one run ---- */

static uint32_t
n_gaps(const struct run *u)
{
	return u->n_gaps < N_GAPS ? u->n_gaps : N_GAPS;
}

/* Those of one client, in their order; how many. */
static uint32_t
of_client(const struct run *u, uint64_t client, const struct try **t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->n_tries; i++)
		if (u->tries[i].client == client)
			t[n++] = &u->tries[i];
	return n;
}

static uint32_t
overlaps(const struct try **t, uint32_t n)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 1;

		for (uint32_t j = 0; j < i; j++)
			k += t[j]->head > t[i]->request;
		most = k > most ? k : most;
	}
	return most;
}

/* Connections with another one's request between two of their own. */
static uint32_t
take_turns(const struct try **t, uint32_t n)
{
	uint32_t turns = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool other = false, found = false;
		uint32_t j;

		for (j = 0; j < i && t[j]->conn != t[i]->conn; j++)
			;
		if (j < i)
			continue;		/* it was counted */
		for (j = i + 1; j < n && !found; j++) {
			found = other && t[j]->conn == t[i]->conn;
			other |= t[j]->conn != t[i]->conn;
		}
		turns += found;
	}
	return turns;
}

/* The longest row of requests each of which passes an idle connection by: how
 * many connections it has. */
static uint32_t
side_by_side(const struct try **t, uint32_t n)
{
	uint32_t from = 0, row = 1, most = 1;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t j;

		if (!t[i]->apart) {
			from = i;
			row = 1;
			continue;
		}
		for (j = from; j < i && t[j]->conn != t[i]->conn; j++)
			;
		row += j == i;
		most = row > most ? row : most;
	}
	return most;
}

/* Requests that come in bursts of the same number, with long pauses of about the
 * same length: that number.  1: they do not. */
static uint32_t
bursts(const struct try **t, uint32_t n)
{
	uint32_t row = 1, each = 0;
	ns_t longest = 0;

	for (uint32_t i = 1; i < n; i++)
		if (t[i]->request - t[i - 1]->request > longest)
			longest = t[i]->request - t[i - 1]->request;
	if (longest < AT_ONCE)
		return 1;
	for (uint32_t i = 1; i < n; i++) {
		ns_t gap = t[i]->request - t[i - 1]->request;

		if (gap <= longest / 10 && gap <= AT_ONCE) {
			row++;
			continue;
		}
		/* The last may not be whole, or some have given up. */
		if (gap < longest / 3 || (each && row != each))
			return 1;
		each = row;
		row = 1;
	}
	return row <= each && each <= MAX_BURST ? each : 1;
}

static uint32_t
listeners(const struct try **t, uint32_t n)
{
	uint32_t (*const signs[])(const struct try **, uint32_t) = { overlaps, take_turns,
		side_by_side, bursts };
	uint32_t most = 1;

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		uint32_t k = signs[i](t, n);

		most = k > most ? k : most;
	}
	return most;
}

/* How many listeners the requests must be of, client by client. */
static void
count_listeners(struct run *u)
{
	const struct try *t[N_TRIES];

	if (u->counted == u->n_tries)
		return;
	u->counted = u->n_tries;
	u->seen = u->most = u->all = 0;
	for (uint32_t i = 0; i < u->n_tries; i++) {
		uint32_t j, n, k;

		for (j = 0; j < i && u->tries[j].client != u->tries[i].client; j++)
			;
		if (j < i)
			continue;
		n = of_client(u, u->tries[i].client, t);
		k = listeners(t, n);
		u->all += k;
		/* Who asks most often for each listener. */
		if (u->seen == 0 || n * u->seen > u->most * k) {
			u->seen = k;
			u->most = n;
		}
	}
}

static bool
fires(struct run *u)
{
	uint32_t waiting = u->cursor ? 0 : u->listeners, k, n;

	if (u->n < MIN_LOOP || !u->dense)
		return false;
	count_listeners(u);
	/* Of whom the rest is that was not kept is not known. */
	k = u->n > u->n_tries ? u->all : u->seen;
	n = u->n > u->n_tries ? u->n : u->most;
	return n >= MIN_LOOP && n > TRIES * (waiting > k ? waiting : k);
}

/* The whole session is refused, or the server is down: no fault of GETs. */
static bool
elsewhere(const struct rg *s, const struct run *u)
{
	ns_t since = u->kept[0].request.t;
	bool ok = told(s)->n_ok && told(s)->ok.t >= since;
	bool failed = told(s)->n_failed && told(s)->failed.t >= since;

	if (ok)
		return false;
	switch (u->status) {
	case 400: case 500:
		return failed;
	case 401: case 404: case 410:
		return failed || s->had_get;
	case 502: case 503: case 504:
		return true;
	default:
		return false;
	}
}

static const char *
fix_of(const struct run *u)
{
	switch (u->status) {
	case 401:
		return "Client: get a new token before asking again, or give up.  Server: a "
		    "token that is good for POST must be good for GET.";
	case 403:
		return "Client: give up.  Server, or the hop before it: allow GET on this path "
		    "as POST is, or answer 405 if there is no stream.";
	case 405:
		return "Client: 405 says that there is no such stream here; do without it.";
	case 409:
		return u->open ? "Client: keep one GET listener for each session, and do not "
		    "reconnect the stream of a POST whose response has arrived; wait longer each "
		    "time and give up.  The server is right to refuse while the first stream "
		    "is open." : "Server: say 409 only while another GET of the session is open. "
		    " Client: wait longer each time and give up.";
	default:
		return "Server: answer GET with 405 and Allow: POST if there is no stream to be "
		    "had.  Client: wait longer each time and give up; POSTs do without the "
		    "stream.";
	}
}

static void
report_loop(struct refused *r, const struct rg *s, const struct run *u)
{
	ns_t min = 0, max = 0, period = median(u->gaps, n_gaps(u), &min, &max);
	bool ok = told(s)->n_ok && told(s)->ok.t >= u->kept[0].request.t;
	enum confidence conf = u->n > MIN_LOOP && ok ? CONF_HIGH : CONF_MEDIUM;
	struct server *v = server(r, &u->last);
	struct draft *d;
	char posts[120];

	if (engine_inferred(r->engine, s->of.session))
		conf = CONF_LOW;
	else if ((u->torn || u->proxy) && conf > CONF_MEDIUM)
		conf = CONF_MEDIUM;
	if (v)
		v->looped = true;
	posts_say(told(s), u->kept[0].request.t, posts, sizeof posts);
	d = draft_new(r->engine, &rule_refused, NULL, SEV_ERROR, conf, s->of.session);
	draft_title(d, "GET is refused with %u and asked again: %u times, every %.2f s",
	    u->status, u->n, (double)period / 1e9);
	draft_why(d, "The same GET%s%.40s is answered %u each time and no GET like it was "
	    "accepted between; %s.%s%s", u->cursor ? " with Last-Event-ID " : "",
	    u->last.cursor_text, u->status, posts, u->open ?
	    "  Another GET stream of the session was open." : "", u->proxy ?
	    "  Another server software than that of the POSTs made the answer: a hop in "
	    "between." : "");
	draft_fix(d, "%s", fix_of(u));
	draft_num(d, "refusals", u->n);
	draft_num(d, "status", u->status);
	draft_text(d, "required", STR("200 text/event-stream, or 405 once"));
	draft_ms(d, "period_ms", period);
	draft_ms(d, "period_min_ms", min);
	draft_ms(d, "period_max_ms", max);
	if (u->cursor)
		draft_text(d, "last_event_id", str_c(u->last.cursor_text));
	else
		draft_num(d, "listeners_without_stream", u->listeners);
	if (u->seen > 1)
		draft_num(d, "listeners_at_least", u->seen);
	draft_num(d, "other_gets_open", u->open);
	draft_bool(d, "session_named", u->last.named);
	draft_bool(d, "get_accepted_before", s->had_get);
	draft_bool(d, "post_worked_meanwhile", ok);
	if (u->last.server[0])
		draft_text(d, "answered_by", str_c(u->last.server));
	if (u->last.agent_text[0])
		draft_text(d, "user_agent", str_c(u->last.agent_text));
	for (uint32_t i = 0; i < u->n && i < N_KEPT; i++)
		draft_evidence(d, u->kept[i].head, "%u for the GET in packet %u",
		    u->status, u->kept[i].request.pkt);
	if (u->n > N_KEPT)
		draft_evidence(d, u->last.head, "%u for the GET in packet %u", u->status,
		    u->last.request.pkt);
	draft_span(d, u->kept[0].request, u->last.head);
	draft_count(d, u->n, period, max - period > period - min ? max - period : period - min);
	draft_done(d);
}

static void
run_over(struct rg *s, struct run *u)
{
	if (fires(u) && !elsewhere(s, u) && (s->best == NULL || u->n > s->best->n)) {
		if (s->best == NULL)
			s->best = xcalloc(1, sizeof *s->best);
		free(s->best->tries);
		*s->best = *u;
		u->tries = NULL;
	}
	free(u->tries);
	*u = (struct run){ .cursor = u->cursor };
}

static struct run *
run_of(struct rg *s, uint64_t cursor, bool make)
{
	struct run *u;

	for (uint32_t i = 0; i < s->n_runs; i++)
		if (s->runs[i].cursor == cursor)
			return &s->runs[i];
	if (!make)
		return NULL;
	if (s->n_runs < MAX_RUNS) {
		s->runs = xgrow(s->runs, s->n_runs, &s->cap_runs, sizeof *s->runs);
		u = &s->runs[s->n_runs++];
	} else {
		u = &s->runs[s->next_run++ % MAX_RUNS];
		run_over(s, u);
	}
	*u = (struct run){ .cursor = cursor };
	return u;
}

/* A dead stream still holds its place: that is what stale-slot tells. */
static bool
slot(const struct rg *s, const struct got *g)
{
	return (g->status == 409 || g->status == 400 || g->status == 500) && s->had_end &&
	    s->n_open == 0 && !cursor_of_post(s->gets, s->of.session, g->cursor) &&
	    (g->status == 409 || g->cursor == 0 || cursor_of_get(s->gets, s->of.session, g->cursor));
}

/* For those who watch: it fires, and the session is well. */
static void
look(struct refused *r, const struct rg *s, struct run *u)
{
	if (u->told || !fires(u) || told(s)->n_ok == 0 ||
	    told(s)->ok.t < u->kept[0].request.t)
		return;
	u->told = true;
	draft_only_tell(r->engine, true);
	report_loop(r, s, u);
	draft_only_tell(r->engine, false);
}

static bool
is_closed(const struct refused *r, uint32_t conn)
{
	for (uint32_t i = 0; i < r->n_closed && i < N_CLOSED; i++)
		if (r->closed[i] == conn)
			return true;
	return false;
}

static void
add_try(const struct refused *r, struct run *u, const struct got *g)
{
	struct try t = { .request = g->request.t, .head = g->head.t, .client = g->client,
		.conn = g->conn };

	if (u->n_tries == N_TRIES)
		return;
	for (uint32_t i = u->n_tries; i > 0; i--) {
		const struct try *last = &u->tries[i - 1];

		if (last->client != t.client)
			continue;
		t.apart = last->conn != t.conn && t.request - last->head <= AT_ONCE &&
		    !is_closed(r, last->conn);
		break;
	}
	u->tries = xgrow(u->tries, u->n_tries, &u->cap_tries, sizeof t);
	u->tries[u->n_tries++] = t;
}

static void
on_refused(struct refused *r, struct rg *s, const struct got *g)
{
	struct run *u;

	if (!got_refusal(g->status) || !(g->asks_stream || g->named) ||
	    (!g->named && told(s)->path && told(s)->path != g->path) || slot(s, g))
		return;
	u = run_of(s, g->cursor, true);
	if (u->n && (u->status != g->status || g->request.t - u->last.request.t > WITHIN))
		run_over(s, u);
	if (u->n)
		u->gaps[u->n_gaps++ % N_GAPS] = g->request.t - u->last.request.t;
	u->status = g->status;
	if (u->n < N_KEPT)
		u->kept[u->n] = *g;
	if (u->n >= 2 && g->request.t - u->before.request.t <= WITHIN)
		u->dense = true;
	u->before = u->last;
	u->last = *g;
	u->n++;
	add_try(r, u, g);
	u->torn += got_torn(g);
	u->proxy |= got_by_proxy(g, told(s));
	u->listeners = s->n_waiting > u->listeners ? s->n_waiting : u->listeners;
	u->open = s->n_open > u->open ? s->n_open : u->open;
	look(r, s, u);
}

static void
on_opened(struct rg *s, const struct got *g)
{
	struct run *u = run_of(s, g->cursor, false);

	if (u)
		run_over(s, u);
	s->n_open++;
	s->had_get = true;
	for (uint32_t i = 0; i < s->n_waiting; i++)
		if (s->waiting[i] == g->previous)
			s->waiting[i] = s->waiting[--s->n_waiting];
}

static void
on_ended(struct rg *s, const struct got *g)
{
	s->n_open -= s->n_open > 0;
	s->had_end |= !g->of_post && g->how != EV_LOST && g->how != EV_OPEN;
	if (g->had_response || s->n_waiting == MAX_WAITING)
		return;
	s->waiting = xgrow(s->waiting, s->n_waiting, &s->cap_waiting, sizeof *s->waiting);
	s->waiting[s->n_waiting++] = g->stream;
}

static void
close_session(struct refused *r, struct rg *s)
{
	for (uint32_t i = 0; i < s->n_runs; i++)
		run_over(s, &s->runs[i]);
	if (s->best)
		report_loop(r, s, s->best);
	keeper_drop(&r->sessions, &s->of);
}

/* ---- the share of a server ---- */

static void
judge_window(struct server *v)
{
	if (v->refused >= MIN_SHARE && v->refused * 2 > v->total &&
	    v->refused > v->hit.refused) {
		v->hit.first = v->first;
		v->hit.last = v->last;
		v->hit.total = v->total;
		v->hit.refused = v->refused;
	}
}

static void
on_server(struct refused *r, enum step step, const struct got *g)
{
	struct server *v = server(r, g);

	if (v == NULL)
		return;
	if (step == STEP_REFUSED) {
		if (got_refusal(g->status) && g->asks_stream) {
			v->refused++;
			v->status = g->status;
			v->session = g->session ? g->session : v->session;
			v->last = g->head;
		}
		return;
	}
	if (v->total && g->request.t - v->first.t >= WINDOW) {
		judge_window(v);
		v->total = v->refused = 0;
	}
	if (v->total++ == 0)
		v->first = g->request;
}

static void
report_share(struct refused *r, const struct server *v)
{
	struct draft *d;

	if (v->hit.refused == 0 || v->looped)
		return;
	d = draft_new(r->engine, &rule_refused, "share", SEV_ERROR, CONF_MEDIUM, v->session);
	draft_title(d, "%u of the %u requests to this server are GETs that it refuses with %u",
	    v->hit.refused, v->hit.total, v->status);
	draft_why(d, "In %.0f s more than half of all requests were refused GETs, with no loop "
	    "in any one session: each connects, is refused, and connects anew.",
	    (double)(v->hit.last.t - v->hit.first.t) / 1e9);
	draft_fix(d, "Client: a refused GET is no reason to connect again; 405 says that there "
	    "is no such stream.  Server: answer 405 and Allow: POST if there is none.");
	draft_num(d, "refused", v->hit.refused);
	draft_num(d, "requests", v->hit.total);
	draft_num(d, "status", v->status);
	draft_evidence(d, v->hit.last, "the last of them");
	draft_span(d, v->hit.first, v->hit.last);
	draft_count(d, v->hit.refused, 0, 0);
	draft_done(d);
}

/* ---- events ---- */

static void
event(void *arg, const struct ev *e)
{
	struct refused *r = arg;
	const struct got *g;
	enum step step;
	struct rg *s;

	if (e->type == EV_CONN_END)
		r->closed[r->n_closed++ % N_CLOSED] = e->conn;
	step = gets_step(r->gets, e, &g);
	if (step == STEP_NONE)
		return;
	if (step == STEP_ASKED || step == STEP_POSTED || step == STEP_DELETED ||
	    step == STEP_REFUSED)
		on_server(r, step, g);
	if (g->session == 0)
		return;
	/* Of POSTs nothing is kept but what becomes of GETs that were refused. */
	s = step == STEP_POSTED || step == STEP_ANSWERED ?
	    (struct rg *)keeper_find(&r->sessions, g->session) : session(r, g->session);
	if (s == NULL)
		return;
	switch (step) {
	case STEP_REFUSED:
		on_refused(r, s, g);
		break;
	case STEP_OPENED:
		on_opened(s, g);
		break;
	case STEP_LEFT:
		on_ended(s, g);
		break;
	case STEP_ENDED:
		if (!g->left)
			on_ended(s, g);
		break;
	case STEP_ANSWERED:
		/* Without a session id a new run of the client begins here. */
		if (g->init && engine_inferred(r->engine, g->session))
			for (uint32_t i = 0; i < s->n_runs; i++)
				run_over(s, &s->runs[i]);
		for (uint32_t i = 0; i < s->n_runs; i++)
			look(r, s, &s->runs[i]);
		break;
	case STEP_NONE: case STEP_ASKED: case STEP_POSTED: case STEP_DELETED:
		break;
	}
}

static void
end(void *arg, ns_t now)
{
	struct refused *r = arg;
	struct kept *k, *tmp;

	KEEPER_EACH(&r->sessions, k, tmp)
		close_session(r, (struct rg *)k);
	KEEPER_EACH(&r->servers, k, tmp) {
		struct server *v = (struct server *)k;

		if (v->total && now - v->first.t >= WINDOW)
			judge_window(v);
		report_share(r, v);
	}
}

const struct rule rule_refused = {
	.name = "refused-get-loop",
	.summary = "a GET is refused and asked again for ever",
	.reference = "mcpdiag-analyze(1), DETECTORS, refused-get-loop",
	.wants = GETS_WANTS,
	.new = new, .event = event, .tick = NULL, .end = end, .free = free_rule,
};
