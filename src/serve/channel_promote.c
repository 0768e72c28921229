#include "channel_priv.h"

/* What a cursor of ours names. */
struct cursor {
	char kind;		/* 'g' a GET stream, 'r' a request, 0 neither */
	uint32_t n;
	uint64_t k;
};

static struct cursor
cursor_of(struct str s)
{
	struct cursor c = { 0 };
	size_t dash = str_find(s, STR("-"));
	uint64_t n;

	if (s.n < 4 || dash == SIZE_MAX || (s.p[0] != 'g' && s.p[0] != 'r') ||
	    !str_u64(str_of(s.p + 1, dash - 1), &n) || n >= UINT32_MAX ||
	    !str_u64(str_of(s.p + dash + 1, s.n - dash - 1), &c.k) ||
	    c.k >= UINT64_MAX / 2)
		return c;
	c.kind = s.p[0];
	c.n = (uint32_t)n;
	return c;
}

static bool
alive(const struct channel *c, const struct listener *l)
{
	return c->o.alive == NULL || c->o.alive(c->arg, l->stream);
}

/* Whether GET stream g is open. */
static bool
carried(const struct channel *c, uint32_t g)
{
	for (uint32_t i = 0; i < c->n_ls; i++)
		if (c->ls[i].g == g)
			return true;
	return false;
}

static void
note(struct channel *c, uint32_t stream, const char *text)
{
	struct chan_act a = { .what = CHAN_NOTE, .stream = stream,
		.data = str_c(text), .retry_ms = -1 };

	c->act(c->arg, &a);
}

/* What stream l has not had: of its own, after message `after`; and, when it
 * is the primary, what no stream was given. */
static void
catch_up(struct channel *c, struct listener *l, uint64_t after)
{
	bool primary = l->role == CHAN_IS_PRIMARY;

	for (uint32_t i = 0; i < c->log.n; i++) {
		struct kept *k = &c->log.at[i];
		bool own = k->owner == l->g && k->index > after;
		bool fresh = k->owner == 0 && primary;

		if (own || fresh)
			chan_common_event(c, l, k, own);
	}
}

/* `l` resumes GET stream n after message k, when that is not open any more. */
static bool
continue_stream(struct channel *c, struct listener *l)
{
	if (l->of == 0 || carried(c, l->of))
		return false;
	l->g = l->of;
	l->of = 0;
	return true;
}

static void
listen_on(struct channel *c, uint32_t stream, const struct cursor *cur)
{
	bool primary = chan_find_primary(c) == NULL;
	bool known = cur->kind == 'g' && cur->n > 0 && cur->n <= c->next_g &&
	    cur->k < c->log.next;
	uint64_t after = UINT64_MAX;
	struct listener *l;

	if (!primary && c->n_ls > c->o.cap) {
		chan_refuse(c, stream, 429,
		    "This session has as many streams open as it may have");
		return;
	}
	l = chan_add_listener(c, stream, primary ? CHAN_IS_PRIMARY : CHAN_IS_SHADOW,
	    stream);
	note(c, stream, primary ? " primary" : " shadow");
	if (known) {
		l->of = cur->n;
		l->after = cur->k - (c->o.inclusive && cur->k > 0);
	} else {
		chan_prime_listener(c, l);
	}
	if (c->o.faults & CHAN_FAULT_CROSS && cur->kind == 'g')
		chan_cross(c, stream, 'g');
	if (continue_stream(c, l))
		after = l->after;
	if (known && c->o.faults & CHAN_FAULT_REPLAY_ALL)
		for (uint32_t i = 0; i < c->log.n; i++)
			chan_common_event(c, l, &c->log.at[i], true);
	else
		catch_up(c, l, after);
}

void
promote_get(struct channel *c, uint32_t stream, struct str cursor)
{
	struct cursor cur = cursor_of(cursor);
	struct request *r = cur.kind == 'r' ? chan_find_request(c, cur.n) : NULL;

	/* An answered request has nothing after its response: whoever comes
	 * back for more gets a stream to wait on, not an end that he would
	 * only come back from. */
	if (r && (!r->done || cur.k + 1 < r->log.next || c->o.inclusive))
		chan_take_request(c, r, stream, cur.k + !c->o.inclusive);
	else
		listen_on(c, stream, &cur);
}

void
promote_next(struct channel *c, uint32_t cause)
{
	for (uint32_t i = c->n_ls; i > 0; i--) {
		struct listener *l = &c->ls[i - 1];
		uint64_t after = UINT64_MAX;

		if (l->role != CHAN_IS_SHADOW || !alive(c, l))
			continue;
		chan_set_role(c, l, CHAN_IS_PRIMARY, cause);
		note(c, l->stream, " promoted to primary");
		if (continue_stream(c, l))
			after = l->after;
		catch_up(c, l, after);
		return;
	}
}

struct listener *
promote_living(struct channel *c)
{
	struct listener *p = chan_find_primary(c);

	if (p == NULL || alive(c, p))
		return p;
	/* Its end has not been told yet; it will be. */
	chan_set_role(c, p, CHAN_IS_ORPHAN, p->stream);
	promote_next(c, p->stream);
	return chan_find_primary(c);
}

void
promote_closed(struct channel *c, uint32_t stream, uint32_t unsent)
{
	struct listener *l = chan_find_listener(c, stream);
	uint32_t g = l->g;

	chan_remove_listener(c, l, stream);
	for (uint32_t i = c->log.n; i > 0 && unsent > 0; i--)
		if (c->log.at[i - 1].owner == g) {
			c->log.at[i - 1].owner = 0;
			unsent--;
		}
	if (chan_find_primary(c) == NULL)
		promote_next(c, stream);
}
