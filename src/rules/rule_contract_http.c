/* contract: one HTTP exchange.  spec-rules 2.1, and tokens in URIs of 2.6. */
#include "rule_contract_priv.h"

static bool
has_word(struct str s, struct str word)
{
	/* Most are spelt so, and come first or last. */
	if (s.n > word.n && (str_pre(s, word) ||
	    memcmp(s.p + s.n - word.n, word.p, word.n) == 0))
		return true;
	for (; s.n >= word.n; s.p++, s.n--)
		if (str_ipre(s, word))
			return true;
	return false;
}

/* Values of a query are shown as hashes; the names are enough here. */
static bool
has_token(struct str target)
{
	static const struct str names[] = {
		{ "access_token=", 13 }, { "token=", 6 }, { "api_key=", 8 }, { "apikey=", 7 },
	};
	size_t at = str_find(target, STR("?"));

	while (at != SIZE_MAX) {
		target = str_of(target.p + at + 1, target.n - at - 1);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (str_ipre(target, names[i]) && target.n > names[i].n)
				return true;
		at = str_find(target, STR("&"));
	}
	return false;
}

void
ct_http_request(struct cx *x, const struct ev *e)
{
	struct str accept = e->u.req.accept;

	x->accept_none = accept.p == NULL;
	x->accept_json = has_word(accept, STR("application/json"));
	x->accept_sse = has_word(accept, STR("text/event-stream"));
	x->accept_any = str_find(accept, STR("*")) != SIZE_MAX &&
	    (has_word(accept, STR("*/*")) || has_word(accept, STR("application/*")) ||
	    has_word(accept, STR("text/*")));
	x->get_sse = x->method == CT_GET && x->accept_sse;
	x->token = has_token(e->u.req.target);
}

/* The media type without its parameters. */
static void
learn_type(struct cx *x, struct str type)
{
	size_t end = str_find(type, STR(";"));

	type = str_trim(str_of(type.p, end == SIZE_MAX ? type.n : end));
	x->json = str_ieq(type, STR("application/json"));
	x->html = str_ieq(type, STR("text/html"));
	type.n = type.n < 40 ? type.n : 40;
	if (type.n)
		memcpy(x->type, type.p, type.n);
	x->type[type.n] = '\0';
}

static const char *
accepts(const struct cx *x)
{
	return x->accept_none ? "without Accept" : x->accept_any ? "with a wildcard Accept" :
	    x->accept_json ? "that accepts application/json only" :
	    x->accept_sse ? "that accepts text/event-stream only" :
	    "that accepts neither of the two";
}

static void
check_request(struct cs *s, const struct cx *x, unsigned revs)
{
	/* A wildcard is no list, but no server is misled by it.  Who accepts both
	 * at other times knows what he does. */
	if (x->accept_none || x->accept_any || (x->accept_json && x->accept_sse))
		s->n_accepts++;
	if (ct_holds(CT_ACCEPT_POST, revs) && !(x->accept_json && x->accept_sse))
		ct_hit(s, CT_ACCEPT_POST, SEV_INFO, CONF_HIGH, x->requested, 0,
		    "a POST %s is answered %u", accepts(x), x->status);
	if (ct_holds(CT_BODY_ARRAY, revs) && x->batched)
		ct_hit(s, CT_BODY_ARRAY, SEV_ERROR, CONF_HIGH, x->requested, 0,
		    "an array of %u message%s is posted and answered %u", x->batched,
		    x->batched == 1 ? "" : "s", x->status);
}

/* An HTTP+SSE session whose GET came before the capture looks like this too:
 * there 202 is right. */
static bool
may_be_legacy(const struct cs *s)
{
	uint32_t n = s->of.session;

	return engine_inferred(s->c->engine, n) &&
	    (!engine_complete(s->c->engine, n) || ct_torn(s->flags));
}

static void
check_status(struct cs *s, const struct cx *x, unsigned revs)
{
	if (x->n_req == 0 && x->status / 100 == 2 && x->status != 202 &&
	    ct_holds(CT_NOTIF_NOT_202, revs))
		ct_hit(s, CT_NOTIF_NOT_202, SEV_WARNING, CONF_HIGH, x->head, 0,
		    "a POST of %s is answered %u", x->n_notif ? "a notification" :
		    "a response", x->status);
	if (x->n_req && (x->status == 202 || x->status == 204) &&
	    ct_holds(CT_REQUEST_202, revs) && s->of.session && !may_be_legacy(s))
		ct_hit(s, CT_REQUEST_202, SEV_ERROR, CONF_HIGH, x->head, 0,
		    "a POST of %s is answered %u", x->init ? "initialize" : "a request",
		    x->status);
	if (x->n_req && x->status == 200 && !x->event_stream && !x->json &&
	    ct_holds(CT_REQUEST_CONTENT_TYPE, revs))
		ct_hit(s, CT_REQUEST_CONTENT_TYPE, x->html ? SEV_WARNING : SEV_ERROR,
		    x->html ? CONF_MEDIUM : CONF_HIGH, x->head, 0,
		    "a request is answered 200 with %s%s", x->type[0] ? "Content-Type " :
		    "no Content-Type", x->type);
}

void
ct_http_head(struct contract *c, struct cs *s, struct cx *x, const struct ev *e)
{
	unsigned revs = ct_revs(s, x);
	struct idrec *r;
	int fresh;

	learn_type(x, e->u.resp.content_type);
	if (revs == 0)
		return;
	if (x->token && ct_holds(CT_TOKEN_IN_QUERY, revs) && (x->method == CT_POST || x->get_sse))
		ct_hit(s, CT_TOKEN_IN_QUERY, SEV_WARNING, CONF_HIGH, x->requested, 0,
		    "a request whose query holds a token, answered %u", x->status);
	if (x->method != CT_POST || x->n_req + x->n_notif + x->n_resp == 0 ||
	    (x->flags & EVF_HEAD_LOST))
		return;
	if (x->status / 100 == 2 && x->session) {
		r = idtab_put(&c->paths, ct_path(c, x), &fresh);
		r->a = x->session;
	}
	check_request(s, x, revs);
	check_status(s, x, revs);
}

void
ct_http_end(struct cs *s, struct cx *x, const struct ev *e)
{
	unsigned revs = ct_revs(s, x);

	if (x->method != CT_POST || x->event_stream || x->status != 200 || x->n_req == 0 ||
	    e->u.end.end != EV_COMPLETE ||
	    (x->flags & (EVF_GAP | EVF_UNDECODED | EVF_CUT | EVF_HEAD_LOST)))
		return;
	if (ct_holds(CT_JSON_MULTI, revs) && x->batched == 0 &&
	    (x->reply_batched || x->n_answers + x->n_other > 1))
		ct_hit(s, CT_JSON_MULTI, SEV_ERROR, CONF_HIGH, (struct at){ e->t, e->pkt }, 0,
		    "%u message%s in %s", x->n_answers + x->n_other,
		    x->n_answers + x->n_other == 1 ? "" : "s",
		    x->reply_batched ? "an array" : "one body");
	if (ct_holds(CT_JSON_NOT_RESPONSE, revs) && x->json && x->n_answers == 0 && x->n_other)
		ct_hit(s, CT_JSON_NOT_RESPONSE, SEV_ERROR, CONF_HIGH,
		    (struct at){ e->t, e->pkt }, 0,
		    "the whole body is a notification or request; no response in it");
}
