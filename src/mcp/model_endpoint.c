#include "mcpdiag/model.h"

#include <stdlib.h>

#include "model_priv.h"

#define SCORE_MCP 5
/* Texts of servers not yet known to be MCP, over all of them. */
#define HELD_MAX (32U << 20)

static void
drop_one(struct model *m, struct pending *p)
{
	ev_free(p->ev);
	free(p->text);
	m->held_text -= p->n_text;
}

static void
drop_pending(struct model *m, struct endpoint *ep)
{
	for (uint32_t i = 0; i < ep->n_pending; i++)
		drop_one(m, &ep->pending[i]);
	free(ep->pending);
	ep->pending = NULL;
	ep->n_pending = ep->cap_pending = 0;
}

static void
remove_endpoint(struct model *m, struct endpoint *ep)
{
	if (!ep->mcp)
		m->unread += ep->score > 0;
	HASH_DEL(m->endpoints, ep);
	DL_DELETE(m->ep_lru, ep);
	drop_pending(m, ep);
	free(ep->name);
	free(ep);
}

static void
touch(struct model *m, struct endpoint *ep)
{
	DL_DELETE(m->ep_lru, ep);
	DL_APPEND(m->ep_lru, ep);
}

/* One that may go: without connection and session, and without MCP if there
 * is such a one.  The others move to the end, so that a search is short. */
static struct endpoint *
idle_endpoint(struct model *m)
{
	struct endpoint *ep, *idle = NULL;

	for (unsigned looked = 0; looked < 64; looked++) {
		ep = m->ep_lru;
		if (ep->n_refs == 0 && !ep->mcp)
			return ep;
		if (ep->n_refs == 0 && idle == NULL)
			idle = ep;
		touch(m, ep);
	}
	return idle;
}

/* When all are in use there are more: their connections and sessions have
 * limits of their own. */
static void
make_room(struct model *m)
{
	struct endpoint *old;

	if (HASH_COUNT(m->endpoints) < m->lim.endpoints)
		return;
	old = idle_endpoint(m);
	if ((old == NULL || old->mcp) && !m->endpoints_full) {
		m->endpoints_full = true;
		model_note(m, "limit", "more servers than --limit endpoints=; "
		    "those that nothing is open on are forgotten", (struct at){ 0, 0 });
	}
	if (old)
		remove_endpoint(m, old);
}

struct endpoint *
endpoint_get(struct model *m, const char *name)
{
	struct endpoint *ep;

	HASH_FIND_STR(m->endpoints, name, ep);
	if (ep) {
		touch(m, ep);
		ep->n_refs++;
		return ep;
	}
	make_room(m);
	ep = xcalloc(1, sizeof *ep);
	ep->name = xmemdup0(name, strlen(name));
	HASH_ADD_KEYPTR(hh, m->endpoints, ep->name, strlen(ep->name), ep);
	DL_APPEND(m->ep_lru, ep);
	ep->n_refs = 1;
	return ep;
}

void
exchange_score(struct model *m, struct mexch *x, unsigned points)
{
	struct endpoint *ep = x->conn->ep;

	if (ep->mcp)
		return;
	/* Signs add up within one exchange, not over many: a chatty server
	 * of another kind never becomes MCP by patience. */
	x->score += points;
	if (x->score > ep->score)
		ep->score = x->score;
	if (ep->score < SCORE_MCP)
		return;
	ep->mcp = true;
	if (ep->dropped)		/* before what is left of them */
		model_note(m, "late-mcp", "a server was recognised as MCP only after "
		    "--limit pending= events; earlier ones are missing", (struct at){ 0, 0 });
	for (uint32_t i = 0; i < ep->n_pending; i++) {
		const struct pending *p = &ep->pending[i];

		if (p->text)
			m->text_fn(m->text_arg, str_of(p->text, p->n_text),
			    p->text_bytes, p->text_cut);
		m->out(m->arg, p->ev);
	}
	drop_pending(m, ep);
}

/* Whether a text waits for this event; it waits no longer. */
static bool
take_text(struct model *m, const struct ev *e)
{
	if (m->text.p == NULL || m->text_of != e->type)
		return false;
	m->text_of = EV_N_TYPES;
	return true;
}

static struct pending
hold(struct model *m, const struct ev *e)
{
	struct pending p = { .ev = ev_clone(e) };

	if (!take_text(m, e))
		return p;
	/* What there is no room for is told as cut to nothing. */
	p.text_cut = m->text_cut || m->text.n > HELD_MAX - m->held_text;
	p.n_text = m->text.n > HELD_MAX - m->held_text ? 0 : m->text.n;
	p.text = xmemdup0(m->text.p, p.n_text);
	p.text_bytes = m->text_bytes;
	m->held_text += p.n_text;
	return p;
}

void
model_emit(struct model *m, struct endpoint *ep, const struct ev *e)
{
	if (ep->mcp) {
		if (take_text(m, e))
			m->text_fn(m->text_arg, m->text, m->text_bytes, m->text_cut);
		m->out(m->arg, e);
		return;
	}
	if (ep->n_pending >= m->lim.pending) {
		drop_one(m, &ep->pending[0]);
		memmove(ep->pending, ep->pending + 1,
		    (ep->n_pending - 1) * sizeof *ep->pending);
		ep->n_pending--;
		ep->dropped++;
	}
	ep->pending = xgrow(ep->pending, ep->n_pending, &ep->cap_pending,
	    sizeof *ep->pending);
	ep->pending[ep->n_pending++] = hold(m, e);
}

void
endpoints_shed(struct model *m)
{
	struct endpoint *ep;
	uint32_t n = 0;

	DL_FOREACH(m->ep_lru, ep) {
		n += ep->n_pending > 0;
	}
	n = (n + 1) / 2;
	DL_FOREACH(m->ep_lru, ep) {
		if (n == 0)
			break;
		if (ep->n_pending == 0)
			continue;
		n--;
		ep->dropped += ep->n_pending;
		drop_pending(m, ep);
	}
}

void
endpoints_fini(struct model *m)
{
	while (m->ep_lru)
		remove_endpoint(m, m->ep_lru);
}
