/* What became of a run, in words. */
#include "player_priv.h"

static bool
is_mcp(const struct player_x *x)
{
	for (uint32_t i = 0; i < x->n_msgs; i++)
		if (x->msgs[i].kind != EV_MSG_INVALID)
			return true;
	return x->is_stream;
}

static int
say_failure(const struct player_x *x, const char *url, struct errmsg *em)
{
	if (x->status == 0)
		return err_set(em, E_IO, "%s: %.*s", url, STR_ARG(x->why));
	if (x->status == 401 || x->status == 403)
		return err_set(em, E_IO, "%s: answers %u: it wants authorization", url,
		    x->status);
	if (x->status >= 300 && x->status < 400)
		return err_set(em, E_IO, "%s: redirects (%u) to %.*s; give that URL", url,
		    x->status, STR_ARG(x->location));
	if (x->status >= 400)
		return err_set(em, E_IO, "%s: answers %u, and no MCP: is the path right?",
		    url, x->status);
	if (x->why.n > 0)
		return err_set(em, E_IO, "%s: %.*s", url, STR_ARG(x->why));
	return err_set(em, E_IO, "%s: answers %u %.*s, which is no MCP", url, x->status,
	    STR_ARG(x->type));
}

int
player_target(const struct player *p, struct errmsg *em)
{
	const struct player_x *first = NULL;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct player_x *x = &p->lives[i]->x;

		if (is_mcp(x))
			return 0;
		if (first == NULL && x->state == PLAYED_DONE && !x->left)
			first = x;
		if (first == NULL && x->state == PLAYED_DONE && x->why.n > 0)
			first = x;
	}
	return first ? say_failure(first, p->opts.url, em) : 0;
}

const char *
played_text(enum played s)
{
	switch (s) {
	case PLAYED_NOT:
		return "was left out";
	case PLAYED_WAITING:
		return "waits";
	case PLAYED_RUNNING:
		return "runs";
	case PLAYED_DONE:
		return "was played";
	case PLAYED_NO_SESSION:
		return "the handshake did not work";
	case PLAYED_STILL_OPEN:
		return "the stream that it comes after did not end";
	case PLAYED_NOT_OPENED:
		return "what it comes after was a stream in the capture, and is none here";
	case PLAYED_DELETED:
		return "its session had been deleted by then";
	case PLAYED_NO_ANSWER:
		return "the answer that it comes after did not come";
	case PLAYED_NOT_ASKED:
		return "the server did not ask what it answers";
	case PLAYED_UNSENDABLE:
		return "it cannot be sent as it is";
	case PLAYED_OVER:
		return "the run was ended before";
	}
	return "?";
}
