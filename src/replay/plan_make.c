/* Decides what of the captured exchanges is played, and what each of them
 * waits for. */
#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "plan_priv.h"

#define LOOK_BACK 1024U		/* exchanges of a session that are searched */
#define WORK (1U << 28)		/* comparisons in all, of searches */
#define REACTION (250 * NS_MS)	/* till a client acts upon a notification */

int
plan_allow(struct plan *p, const char *word, struct errmsg *em)
{
	struct str s = str_c(word);
	size_t colon = str_find(s, STR(":"));
	struct str method = str_of(s.p, colon < s.n ? colon : s.n);
	bool call = str_eq(method, STR("tools/call"));

	if (method.n == 0 || (colon < s.n && colon + 1 == s.n))
		return err_set(em, E_USAGE, "give METHOD, or tools/call:TOOL");
	if (call && colon > s.n)
		return err_set(em, E_USAGE, "name the tool: tools/call:TOOL, or "
		    "tools/call:* for all of them");
	if (!call && colon < s.n)
		return err_set(em, E_USAGE, "only tools/call has a name behind it");
	p->allowed = xgrow(p->allowed, p->n_allowed, &p->cap_allowed, sizeof *p->allowed);
	p->allowed[p->n_allowed++] = xmemdup0(s.p, s.n);
	return 0;
}

int
plan_rename(struct plan *p, const char *pair, struct errmsg *em)
{
	const char *eq = strchr(pair, '=');
	size_t n = eq ? (size_t)(eq - pair) : 0;
	struct buf allow;
	int rc;

	if (n == 0 || eq[1] == '\0' || strpbrk(pair, "\"\\"))
		return err_set(em, E_USAGE, "give CAPTURED=LIVE, two names of tools");
	p->renamed = xgrow(p->renamed, p->n_renamed, &p->cap_renamed, sizeof *p->renamed);
	p->renamed[p->n_renamed].from = xmemdup0(pair, n);
	p->renamed[p->n_renamed++].to = xmemdup0(eq + 1, strlen(eq + 1));
	buf_init(&allow, 65536);
	(void)buf_fmt(&allow, "tools/call:%.*s", (int)n, pair);
	(void)buf_addc(&allow, '\0');
	rc = plan_allow(p, allow.p, em);
	buf_fini(&allow);
	return rc;
}

/* ---- may it be played? ---- */

static bool
ends_with(struct str s, struct str end)
{
	return s.n > end.n && str_eq(str_of(s.p + s.n - end.n, end.n), end);
}

/* Changes nothing at the server, but what every client does. */
static bool
is_harmless(const struct plan_msg *m)
{
	static const char *const methods[] = { "initialize", "notifications/initialized",
	    "ping", "server/discover", "subscriptions/listen", NULL };

	if (m->kind == EV_MSG_RESPONSE || m->kind == EV_MSG_ERROR)
		return true;
	for (size_t i = 0; methods[i]; i++)
		if (str_eq(m->method, str_c(methods[i])))
			return true;
	return ends_with(m->method, STR("/list"));
}

static bool
is_allowed(struct plan *p, struct plan_x *x, const struct plan_msg *m)
{
	bool call = str_eq(m->method, STR("tools/call"));
	struct buf b;
	bool yes;

	if (is_harmless(m))
		return true;
	buf_init(&b, 1 << 16);
	(void)buf_adds(&b, m->method);
	if (call) {
		(void)buf_addc(&b, ':');
		(void)buf_adds(&b, m->name);
	}
	yes = m->kind == EV_MSG_INVALID || b.n == 0;
	for (uint32_t i = 0; i < p->n_allowed && !yes; i++)
		yes = str_eq(buf_str(&b), str_c(p->allowed[i])) ||
		    (call && strcmp(p->allowed[i], "tools/call:*") == 0);
	if (!yes)
		x->allow = plan_keep(p, buf_str(&b));
	buf_fini(&b);
	return yes;
}

static bool
is_mcp(const struct plan_x *x)
{
	switch (x->kind) {
	case PLAN_POST:
		return x->n_msgs > 0 || x->session ||
		    str_ipre(x->content_type, STR("application/json"));
	case PLAN_GET:
		return x->session || x->is_stream ||
		    str_find(x->accept, STR("text/event-stream")) != SIZE_MAX;
	case PLAN_DELETE:
		return x->session || x->has_sid;
	case PLAN_OTHER:
		break;
	}
	return false;
}

static bool
is_chosen(const struct plan_x *x, const struct plan_session *s, const struct where *w)
{
	struct where_item i = { .session = s->key, .client = { s->program },
		.server = { s->server, STR_NONE, s->endpoint }, .method = { x->method },
		.status = x->status, .timed = true, .from = x->at,
		.to = x->end_at >= 0 ? x->end_at : x->at, .first_pkt = x->pkt,
		.last_pkt = x->pkt, .streams = &x->stream, .n_streams = x->stream != 0 };

	if (x->n_msgs > 0)
		i.method[1] = x->msgs[0].method;
	if (x->is_stream)
		i.kinds = 1u << x->stream_kind;
	return where_match(w, &i);
}

static bool
all_allowed(struct plan *p, struct plan_x *x)
{
	for (uint32_t i = 0; i < x->n_msgs; i++)
		if (!is_allowed(p, x, &x->msgs[i]))
			return false;
	return true;
}

static enum plan_skip
judge(struct plan *p, struct plan_x *x, const struct plan_session *s, const struct where *w)
{
	if (x->skip == PLAN_NO_HEAD)
		return x->skip;
	if (!is_mcp(x))
		return PLAN_NO_MCP;
	if (w && x != s->handshake && x != s->initialized && !is_chosen(x, s, w))
		return PLAN_NOT_CHOSEN;
	if (!all_allowed(p, x))
		return PLAN_SIDE_EFFECTS;
	if (x->kind != PLAN_POST)
		return PLAN_PLAYED;
	return x->skip == PLAN_NO_BODY ? x->skip : plan_body(p, x, s);
}

/* ---- what it waits for ---- */

/* Whether another n comparisons may be made: a capture that was made to be
 * slow is planned with what was found until then. */
static bool
may_search(struct plan *p, uint32_t n)
{
	if (p->work >= WORK)
		return false;
	p->work += n + 1;
	return true;
}

/* The exchange that carried the server's request of that id, last before. */
static bool
find_asker(struct plan *p, const struct plan_session *s, struct plan_x *x,
    const struct plan_msg *reply)
{
	for (uint32_t k = 0; k < s->n_before && k < LOOK_BACK; k++) {
		const struct plan_x *y = s->before[s->n_before - 1 - k];
		uint32_t asked = 0, found = 0;

		if (!may_search(p, y->n_answers))
			return false;
		for (uint32_t i = 0; i < y->n_answers; i++) {
			const struct plan_msg *m = &y->answers[i];

			if (m->kind != EV_MSG_REQUEST || m->t > x->at)
				continue;
			asked++;
			if (str_eq(m->id, reply->id))
				found = asked;
		}
		if (found) {
			x->asker = y->n;
			x->asked = found;
			return true;
		}
	}
	return false;
}

static bool
set_asker(struct plan *p, const struct plan_session *s, struct plan_x *x)
{
	for (uint32_t i = 0; i < x->n_msgs; i++) {
		const struct plan_msg *m = &x->msgs[i];

		if ((m->kind == EV_MSG_RESPONSE || m->kind == EV_MSG_ERROR) &&
		    !find_asker(p, s, x, m))
			return false;
	}
	return true;
}

/* Which of y's ids the cursor is; 0: none that came before x. */
static uint32_t
place_of(struct plan *p, const struct plan_x *y, const struct plan_x *x, bool *last)
{
	uint32_t place = 0, n = 0;

	*last = false;
	if (!may_search(p, y->n_events))
		return 0;
	for (uint32_t i = 0; i < y->n_events && y->events[i].t <= x->at; i++) {
		n = i + 1;
		if (str_eq(y->events[i].id, x->cursor))
			place = n;
	}
	*last = place == n;
	return place;
}

static bool
was_ended(const struct plan_x *y, const struct plan_x *x)
{
	return y->skip == PLAN_PLAYED && y->end_at >= 0 && y->end_at <= x->at &&
	    y->end != EV_CLIENT && y->end != EV_OPEN && y->end != EV_LOST;
}

/* Who gave the cursor of a request that the model knows no stream of: it was
 * refused.  Rather an ended stream whose last id that was than any other. */
static const struct plan_x *
search_giver(struct plan *p, const struct plan_session *s, const struct plan_x *x)
{
	const struct plan_x *any = NULL;

	for (uint32_t k = 0; k < s->n_before && k < LOOK_BACK; k++) {
		const struct plan_x *z = s->before[s->n_before - 1 - k];
		bool last;

		if (!z->is_stream || place_of(p, z, x, &last) == 0)
			continue;
		if (last && was_ended(z, x) && !z->has_heir)
			return z;
		if (any == NULL)
			any = z;
	}
	return any;
}

static void
set_giver(struct plan *p, const struct plan_session *s, struct plan_x *x)
{
	const struct plan_x *y = x->previous ? plan_of_stream(p, x->previous) : NULL;
	bool last;

	/* What was last in the client's own listener comes first: an id that its
	 * stream gave, or the one that it had before, if that gave none. */
	if (y && place_of(p, y, x, &last) > 0) {
		x->given = place_of(p, y, x, &x->last_given);
	} else if (y && str_eq(y->cursor, x->cursor) && y->n_events == 0) {
		x->given = 1;
		x->last_given = true;
	} else {
		y = x->resumes ? plan_of_stream(p, x->resumes) : NULL;
		if (y == NULL)
			y = search_giver(p, s, x);
		x->given = y ? place_of(p, y, x, &x->last_given) : 0;
	}
	x->giver = x->given ? y->n : 0;
	if (x->giver && y->skip != PLAN_PLAYED)
		x->skip = PLAN_NO_GIVER;
	if (x->giver || s->handshake == NULL || !s->handshake->made_up)
		return;
	/* It was given before the capture began: here only the handshake was. */
	x->giver = s->handshake->n;
	x->given = 1;
	x->last_given = true;
}

/* "tools/list" follows "notifications/tools/list_changed". */
static bool
is_cue(struct str change, struct str list)
{
	const struct str n = STR("notifications/"), c = STR("list_changed");
	size_t base = str_find(list, STR("/")) + 1;

	return change.n == n.n + base + c.n && str_pre(change, n) &&
	    memcmp(change.p + n.n, list.p, base) == 0 &&
	    str_eq(str_of(change.p + n.n + base, c.n), c);
}

/* The notification that a list follows at once: clients ask again when they
 * are told that it has changed. */
static void
set_cue(struct plan *p, const struct plan_session *s, struct plan_x *x)
{
	ns_t latest = x->at - REACTION;

	if (x->n_msgs != 1 || !ends_with(x->msgs[0].method, STR("/list")))
		return;
	for (uint32_t k = 0; k < s->n_before && k < LOOK_BACK; k++) {
		const struct plan_x *y = s->before[s->n_before - 1 - k];
		uint32_t n = 0;

		if (!y->is_stream || !may_search(p, y->n_answers))
			continue;
		for (uint32_t i = 0; i < y->n_answers && y->answers[i].t <= x->at; i++) {
			if (!is_cue(y->answers[i].method, x->msgs[0].method))
				continue;
			n++;
			if (y->answers[i].t < latest)
				continue;
			latest = y->answers[i].t;
			x->cue = y->n;
			x->cued = n;
			x->cue_method = y->answers[i].method;
		}
	}
}

/* A GET that comes because another one ended: the listener's last stream, as
 * the model has it; else a GET like it that was refused; else, when it was
 * refused itself, the stream whose last id it names. */
static void
set_prev(struct plan *p, const struct plan_session *s, struct plan_x *x)
{
	const struct plan_x *y = x->previous ? plan_of_stream(p, x->previous) : NULL;

	for (uint32_t k = 0; y == NULL && k < s->n_before && k < LOOK_BACK; k++) {
		const struct plan_x *z = s->before[s->n_before - 1 - k];

		if (!may_search(p, 0))
			break;
		if (z->kind == PLAN_GET && !z->is_stream && was_ended(z, x) &&
		    (z->cursor.p != NULL) == (x->cursor.p != NULL) &&
		    str_eq(z->cursor, x->cursor) && !z->has_heir)
			y = z;
		else if (!x->is_stream && x->giver == z->n && x->last_given &&
		    was_ended(z, x) && !z->has_heir)
			y = z;
	}
	if (y == NULL || !was_ended(y, x))
		return;
	x->prev = y->n;
	x->gap = x->at - y->end_at;
	p->xs[y->n - 1]->has_heir = true;
}

/* The last of its session's exchanges that was over; GETs apart, which this
 * server may leave open. */
static void
set_after(struct plan_session *s, struct plan_x *x)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < s->n_running; i++) {
		struct plan_x *y = s->running[i];

		if (y->end_at < 0 || y->end_at > x->at)
			s->running[k++] = y;
		else if (s->done == NULL || y->end_at >= s->done->end_at)
			s->done = y;
	}
	s->n_running = k;
	if (s->done)
		x->after = s->done->n;
}

static void
run(struct plan_session *s, struct plan_x *x)
{
	s->before = xgrow(s->before, s->n_before, &s->cap_before, sizeof x);
	s->before[s->n_before++] = x;
	if (x->skip != PLAN_PLAYED || x->kind == PLAN_GET || x->stream_kind == EV_LISTEN)
		return;
	s->running = xgrow(s->running, s->n_running, &s->cap_running, sizeof x);
	s->running[s->n_running++] = x;
}

static void
depend(struct plan *p, struct plan_session *s, struct plan_x *x)
{
	const struct plan_x *h = s->handshake;
	bool of_session;

	x->sessionless = h && h != x && h->initialize && !h->made_up && !h->gave_sid &&
	    !x->has_sid && h->end_at >= 0 && x->at >= h->end_at;
	of_session = x->has_sid || x->sessionless || s->transport == EV_LEGACY_SSE;
	if (x->skip != PLAN_PLAYED)
		return;
	if (!set_asker(p, s, x)) {
		x->skip = PLAN_NO_QUESTION;
		return;
	}
	if (of_session && h && x != h) {
		x->handshake = h->n;
		if (h->skip != PLAN_PLAYED)
			x->skip = h->skip;
	} else if (s->transport == EV_LEGACY_SSE && x->kind == PLAN_POST) {
		x->skip = PLAN_NO_STREAM;
	}
	if (x->cursor.p)
		set_giver(p, s, x);
	if (x->kind == PLAN_GET)
		set_prev(p, s, x);
	else
		set_cue(p, s, x);
	set_after(s, x);
}

/* ---- the handshake ---- */

/* A session that was there before the capture begins with one of ours. */
static void
make_handshake(struct plan *p, struct plan_session *s, const struct plan_x *first)
{
	static const struct {
		enum ev_msg kind;
		struct str method, id;
	} msgs[] = {
		{ EV_MSG_REQUEST, { "initialize", 10 }, { "\"mcpdiag\"", 9 } },
		{ EV_MSG_NOTIFICATION, { "notifications/initialized", 25 }, { NULL, 0 } },
	};

	for (int i = 0; i < 2; i++) {
		struct plan_x *x;

		if (i == 1 && s->initialized)
			break;
		x = plan_add(p);
		x->made_up = true;
		x->initialize = i == 0;
		x->session = s->n;
		x->kind = PLAN_POST;
		x->at = first->at;
		x->method = STR("POST");
		x->target = first->target;
		x->accept = STR("application/json, text/event-stream");
		x->content_type = STR("application/json");
		x->version = i == 0 ? STR_NONE : first->version;
		x->has_sid = i == 1;
		x->msgs = xcalloc(1, sizeof *x->msgs);
		x->msgs[0] = (struct plan_msg){ .kind = msgs[i].kind,
			.method = msgs[i].method, .id = msgs[i].id, .t = x->at };
		x->n_msgs = 1;
		*(i == 0 ? &s->handshake : &s->initialized) = x;
	}
}

static void
find_handshake(struct plan_session *s, struct plan_x *x)
{
	bool legacy = s->transport == EV_LEGACY_SSE;

	if (x->has_sid && s->first_sid == NULL)
		s->first_sid = x;
	if (s->handshake == NULL && s->n && (legacy ? x->legacy :
	    x->initialize && x->status >= 200 && x->status < 300))
		s->handshake = x;
	for (uint32_t i = 0; i < x->n_msgs && s->initialized == NULL; i++)
		if (str_eq(x->msgs[i].method, STR("notifications/initialized")))
			s->initialized = x;
}

/* ---- all of it ---- */

static int
by_time(const void *a, const void *b)
{
	const struct plan_x *x = *(struct plan_x *const *)a, *y = *(struct plan_x *const *)b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->made_up != y->made_up)
		return x->made_up ? -1 : 1;
	/* A made-up initialize is added before its notification. */
	if (x->initialize != y->initialize)
		return x->initialize ? -1 : 1;
	return x->x < y->x ? -1 : x->x > y->x;
}

void
plan_make(struct plan *p, const struct where *w)
{
	struct plan_session *s, *tmp;

	for (uint32_t i = 0; i < p->n; i++)
		find_handshake(plan_session(p, p->xs[i]->session), p->xs[i]);
	HASH_ITER(hh, p->sessions, s, tmp)
		if (s->handshake == NULL && s->first_sid && s->n &&
		    s->transport != EV_LEGACY_SSE)
			make_handshake(p, s, s->first_sid);
	if (p->n > 0)
		qsort(p->xs, p->n, sizeof *p->xs, by_time);
	for (uint32_t i = 0; i < p->n; i++)
		p->xs[i]->n = i + 1;
	for (uint32_t i = 0; i < p->n; i++) {
		struct plan_x *x = p->xs[i];

		s = plan_session(p, x->session);
		if (!s->numbered)
			s->client = p->n_clients++;
		s->numbered = true;
		x->client = s->client;
		x->skip = judge(p, x, s, w);
		depend(p, s, x);
		run(s, x);
	}
}
