/* contract: what stands in the way to the endpoint.  Redirects, and handshakes that
 * no attempt of a client gets through; field reports HS and RD.  Told is the
 * first exchange that failed, not the error that a fallback met. */
#include <stdio.h>

#include "rule_contract_priv.h"

/* ---- redirects ---- */

static bool
is_redirect(uint32_t status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 ||
	    status == 308;
}

/* Without its query, which may hold secrets. */
static struct str
place(struct str location)
{
	size_t n = str_find(location, STR("?"));

	n = n == SIZE_MAX ? location.n : n;
	return str_of(location.p, n < 80 ? n : 80);
}

static struct barred *
barred(struct cl *cl)
{
	if (cl->barred == NULL)
		cl->barred = xcalloc(1, sizeof *cl->barred);
	return cl->barred;
}

static void
on_redirect(struct barred *b, const struct cx *x, const struct ev *e)
{
	struct str to = place(e->u.resp.location);

	if (b->n_away++ > 0)
		return;
	b->away = x->head;
	b->from = x->target;
	b->away_session = x->session;
	b->post = x->method == CT_POST;
	(void)snprintf(b->away_how, sizeof b->away_how, "a %s is answered %u, Location %.*s",
	    x->method == CT_POST ? "POST" : "GET", x->status, (int)to.n, to.n ? to.p : "");
}

void
ct_way_request(struct contract *c, struct cx *x, const struct ev *e)
{
	struct cl *cl = ct_client(c, x, false);

	struct barred *b = cl ? cl->barred : NULL;

	x->json_body = str_ipre(e->u.req.content_type, STR("application/json"));
	/* It went where it was sent, but as a GET: there is no message in it. */
	if (b && b->n_away && b->from != x->target)
		b->lost |= b->post && x->method == CT_GET && !b->followed;
}

/* ---- the handshake ---- */

/* Refusals of the message itself; other statuses are about tokens, about the
 * path, or of somebody on the way. */
static bool
is_refusal(uint32_t status)
{
	return status == 400 || status == 406 || status == 415 || status == 422;
}

static const char *
accepts(const struct cx *x)
{
	return x->accept_json && x->accept_sse ? "both media types" :
	    x->accept_none ? "no Accept header" : x->accept_any ? "a wildcard" :
	    x->accept_json ? "application/json only" :
	    x->accept_sse ? "text/event-stream only" : "neither media type";
}

static void
on_initialize(struct cl *cl, const struct cx *x)
{
	struct barred *b;

	cl->init_ok |= x->status / 100 == 2;
	if (!is_refusal(x->status))
		return;
	b = barred(cl);
	if (b->n_refused++ > 0)
		return;
	b->refused = x->head;
	b->refused_session = x->session;
	(void)snprintf(b->refused_how, sizeof b->refused_how, "initialize is answered %u; it "
	    "accepts %s, %s, %s MCP-Protocol-Version%s", x->status, accepts(x), x->json_body ?
	    "is application/json" : "is not application/json", x->has_version ? "has" : "has no",
	    x->has_sid ? ", and has a session id" : "");
}

void
ct_way_head(struct contract *c, struct cx *x, const struct ev *e)
{
	bool speaks = x->n_req + x->n_notif + x->n_resp > 0;
	bool away = is_redirect(x->status) && (speaks || (x->get_sse && x->has_sid));
	struct cl *cl;

	if ((x->flags & EVF_HEAD_LOST) || (!speaks && !x->get_sse))
		return;
	cl = ct_client(c, x, away || x->init);
	if (cl == NULL)
		return;
	if (away)
		on_redirect(barred(cl), x, e);
	else if (cl->barred && cl->barred->n_away && cl->barred->from != x->target &&
	    x->status / 100 == 2 && speaks)
		cl->barred->followed = true;
	if (x->init)
		on_initialize(cl, x);
	cl->legacy |= x->get_sse && !x->has_sid && x->event_stream;
}

/* ---- the verdict, when all is known of a client ---- */

void
ct_way_end(struct contract *c, const struct cl *cl)
{
	const struct barred *b = cl->barred;
	struct cs *s;

	if (b && b->n_away) {
		s = ct_session(c, b->away_session);
		ct_hit(s, CT_REDIRECT, b->followed ? SEV_INFO : SEV_ERROR, CONF_HIGH, b->away, 0,
		    "%s%s; %s", b->away_how, b->n_away > 1 ? ", and so again" : "",
		    b->followed ? "the client follows it" : b->lost ?
		    "the client follows it with a GET, without its message" :
		    "the client does not get there");
	}
	/* Who fell back to HTTP+SSE has found what he was looking for. */
	if (b && b->n_refused && !cl->init_ok && !cl->legacy && !b->n_away) {
		s = ct_session(c, b->refused_session);
		ct_hit(s, CT_INIT_REFUSED, SEV_WARNING, CONF_MEDIUM, b->refused, 0, "%s",
		    b->refused_how);
	}
}
