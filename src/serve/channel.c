#include "mcpdiag/channel.h"

#include <stdio.h>
#include <stdlib.h>

#include "channel_priv.h"
#include "mcpdiag/xmem.h"

/* rmcp: what its constants say. */
#define RMCP_KEEP 16
#define RMCP_RETRY_MS 3000
#define RMCP_CAP 32
/* Its initialize is not among the numbered requests. */
#define PLAIN_REQUEST UINT32_MAX
#define ID_SIZE 48
/* shadow-promote. */
#define KEEP 256
#define KEEP_BYTES (256U << 10)
#define KEEP_DONE 32		/* answered requests that can be resumed */

const char *const chan_policy_names[] = {
	"replace", "conflict", "conflict-fallthrough", "replace-all",
	"replace-noreplay", "shadow", "shadow-replay", "shadow-empty",
	"shadow-promote", NULL,
};

enum want {
	WANT_NEW,		/* no cursor */
	WANT_COMMON,		/* "k" */
	WANT_REQUEST,		/* "k/n" */
	WANT_BAD,
};

void
chan_opts_init(struct chan_opts *o, enum chan_policy policy)
{
	bool ours = policy == CHAN_SHADOW_PROMOTE;

	*o = (struct chan_opts){
		.policy = policy,
		.scoped = ours || policy == CHAN_SHADOW_EMPTY,
		.inclusive = !ours,
		.retry_ms = RMCP_RETRY_MS,
		/* The fifth commit of the fix knew no bound yet. */
		.cap = policy == CHAN_SHADOW ? UINT32_MAX : RMCP_CAP,
		.keep = ours ? KEEP : RMCP_KEEP,
		.keep_bytes = ours ? KEEP_BYTES : SIZE_MAX,
	};
}

static bool
ours(const struct channel *c)
{
	return c->o.policy == CHAN_SHADOW_PROMOTE;
}

void
chan_do(struct channel *c, enum chan_do what, uint32_t stream)
{
	struct chan_act a = { .what = what, .stream = stream, .retry_ms = -1 };

	c->act(c->arg, &a);
}

void
chan_refuse(struct channel *c, uint32_t stream, unsigned status, const char *text)
{
	struct chan_act a = { .what = CHAN_REFUSE, .stream = stream,
		.status = status, .data = str_c(text), .retry_ms = -1 };

	c->act(c->arg, &a);
}

static void
send_event(struct channel *c, uint32_t stream, struct str id, struct str data,
    bool retry, bool replay)
{
	struct chan_act a = { .what = CHAN_SEND, .stream = stream, .id = id,
		.data = data, .retry_ms = retry ? c->o.retry_ms : -1,
		.replay = replay };

	c->act(c->arg, &a);
}

static void
role_is(struct channel *c, uint32_t stream, enum chan_role role, uint32_t cause)
{
	struct chan_act a = { .what = CHAN_ROLE, .stream = stream, .role = role,
		.cause = cause, .retry_ms = -1 };

	c->act(c->arg, &a);
}

void
chan_set_role(struct channel *c, struct listener *l, enum chan_role role,
    uint32_t cause)
{
	if (l->role == role)
		return;
	l->role = role;
	role_is(c, l->stream, role, cause);
}

struct listener *
chan_find_primary(const struct channel *c)
{
	for (uint32_t i = 0; i < c->n_ls; i++)
		if (c->ls[i].role == CHAN_IS_PRIMARY)
			return &c->ls[i];
	return NULL;
}

struct listener *
chan_find_listener(const struct channel *c, uint32_t stream)
{
	for (uint32_t i = 0; i < c->n_ls; i++)
		if (c->ls[i].stream == stream)
			return &c->ls[i];
	return NULL;
}

struct listener *
chan_add_listener(struct channel *c, uint32_t stream, enum chan_role role,
    uint32_t cause)
{
	struct listener *l;

	c->ls = xgrow(c->ls, c->n_ls, &c->cap_ls, sizeof *c->ls);
	l = &c->ls[c->n_ls++];
	*l = (struct listener){ .stream = stream, .g = ++c->next_g,
		.role = role, .fresh = true };
	chan_do(c, CHAN_ACCEPT, stream);
	role_is(c, stream, role, cause);
	return l;
}

void
chan_remove_listener(struct channel *c, struct listener *l, uint32_t cause)
{
	uint32_t i = (uint32_t)(l - c->ls);

	role_is(c, l->stream, CHAN_IS_CLOSED, cause);
	c->n_ls--;
	memmove(l, l + 1, (c->n_ls - i) * sizeof *l);
	if (c->n_ls == 0) {
		free(c->ls);
		c->ls = NULL;
		c->cap_ls = 0;
	}
}

static void
end_listener(struct channel *c, struct listener *l, uint32_t cause)
{
	chan_do(c, CHAN_END, l->stream);
	chan_remove_listener(c, l, cause);
}

/* The primary is gone and nobody takes its place: rmcp. */
static void
orphan_shadows(struct channel *c, uint32_t cause)
{
	for (uint32_t i = 0; i < c->n_ls; i++)
		if (c->ls[i].role == CHAN_IS_SHADOW)
			chan_set_role(c, &c->ls[i], CHAN_IS_ORPHAN, cause);
}

struct channel *
chan_new(const struct chan_opts *o, chan_act_fn *act, void *arg)
{
	struct channel *c = xcalloc(1, sizeof *c);

	c->o = *o;
	c->act = act;
	c->arg = arg;
	/* Where replay starts after the cursor, a priming event's 0 must not
	 * be the id of a message too. */
	c->log.next = ours(c) || !o->inclusive;
	c->next_r = ours(c);
	return c;
}

static void
remove_request(struct channel *c, struct request *r)
{
	uint32_t i = (uint32_t)(r - c->rs);

	log_fini(&r->log);
	c->n_rs--;
	memmove(r, r + 1, (c->n_rs - i) * sizeof *r);
	if (c->n_rs == 0) {
		free(c->rs);
		c->rs = NULL;
		c->cap_rs = 0;
	}
}

void
chan_free(struct channel *c)
{
	if (c == NULL)
		return;
	while (c->n_rs > 0)
		remove_request(c, &c->rs[c->n_rs - 1]);
	free(c->ls);
	log_fini(&c->log);
	free(c);
}

/* ---- requests ---- */

struct request *
chan_find_request(const struct channel *c, uint32_t n)
{
	for (uint32_t i = c->n_rs; i > 0; i--)
		if (c->rs[i - 1].n == n)
			return &c->rs[i - 1];
	return NULL;
}

/* The id of message `index` of request n, or of GET stream n. */
static struct str
event_id(const struct channel *c, char kind, uint32_t n, uint64_t index,
    char text[ID_SIZE])
{
	unsigned long long k = index;
	int len;

	if (ours(c))
		len = snprintf(text, ID_SIZE, "%c%u-%llu", kind, n, k);
	else if (kind == 'r')
		len = snprintf(text, ID_SIZE, "%llu/%u", k, n);
	else
		len = snprintf(text, ID_SIZE, "%llu", k);
	return str_of(text, (size_t)len);
}

static void
request_event(struct channel *c, struct request *r, uint32_t stream,
    const struct kept *k, bool replay)
{
	char text[ID_SIZE];
	struct str id = event_id(c, 'r', r->n, k->index, text);

	send_event(c, stream, r->plain ? STR_NONE : id, str_of(k->data, k->n),
	    ours(c) && r->fresh, replay);
	r->fresh = false;
}

static void
prime_request(struct channel *c, struct request *r)
{
	char text[ID_SIZE];
	bool scoped = c->o.scoped && !r->plain;

	if (ours(c) && !c->o.prime)
		return;
	send_event(c, r->carrier, scoped ? event_id(c, 'r', r->n, 0, text) : STR("0"),
	    STR(""), true, false);
	r->fresh = false;
}

uint32_t
chan_request(struct channel *c, uint32_t stream, bool initialize)
{
	struct request *r;

	c->rs = xgrow(c->rs, c->n_rs, &c->cap_rs, sizeof *c->rs);
	r = &c->rs[c->n_rs++];
	*r = (struct request){ .carrier = stream, .fresh = true,
		.plain = initialize && !ours(c) };
	if (!initialize)
		r->n = c->next_r++;
	else
		r->n = ours(c) ? 0 : PLAIN_REQUEST;
	/* rmcp with bare priming counts messages from 0, else from 1. */
	r->log.next = ours(c) || c->o.scoped;
	prime_request(c, r);
	return r->n;
}

/* The oldest answered requests go when there are more than are kept. */
static void
forget_answered(struct channel *c)
{
	uint32_t done = 0;
	size_t bytes = 0;

	for (uint32_t i = c->n_rs; i > 0; i--) {
		struct request *r = &c->rs[i - 1];

		if (!r->done)
			continue;
		done++;
		bytes += r->log.bytes;
		if (done > 1 && (done > KEEP_DONE || bytes > c->o.keep_bytes))
			remove_request(c, r);
	}
}

void
chan_request_send(struct channel *c, uint32_t n, struct str data, bool last)
{
	struct request *r = chan_find_request(c, n);
	struct kept *k;

	if (r == NULL || r->done)
		return;
	k = log_add(&r->log, data);
	if (r->carrier)
		request_event(c, r, r->carrier, k, false);
	log_trim(&r->log, c->o.keep, c->o.keep_bytes);
	if (!last)
		return;
	if (r->carrier)
		chan_do(c, CHAN_END, r->carrier);
	r->carrier = 0;
	r->done = true;
	if (ours(c))
		forget_answered(c);
	else
		remove_request(c, r);
}

void
chan_request_poll(struct channel *c, uint32_t n)
{
	struct request *r = chan_find_request(c, n);

	if (r == NULL || r->carrier == 0)
		return;
	chan_do(c, CHAN_END, r->carrier);
	r->carrier = 0;
}

void
chan_request_drop(struct channel *c, uint32_t n)
{
	struct request *r = chan_find_request(c, n);

	if (r == NULL)
		return;
	if (r->carrier)
		chan_do(c, CHAN_END, r->carrier);
	remove_request(c, r);
}

/* A fault: a resumed stream brings what belongs to others. */
void
chan_cross(struct channel *c, uint32_t stream, char kind)
{
	char text[ID_SIZE];

	for (uint32_t i = 0; kind == 'r' && i < c->log.n; i++) {
		const struct kept *k = &c->log.at[i];

		send_event(c, stream, event_id(c, 'g', k->owner, k->index, text),
		    str_of(k->data, k->n), false, true);
	}
	for (uint32_t i = 0; kind == 'g' && i < c->n_rs; i++)
		for (uint32_t j = 0; j < c->rs[i].log.n; j++)
			request_event(c, &c->rs[i], stream, &c->rs[i].log.at[j], true);
}

void
chan_take_request(struct channel *c, struct request *r, uint32_t stream,
    uint64_t from)
{
	if (r->carrier)
		chan_do(c, CHAN_END, r->carrier);
	r->carrier = stream;
	chan_do(c, CHAN_ACCEPT, stream);
	role_is(c, stream, CHAN_IS_REQUEST, stream);
	if (c->o.faults & CHAN_FAULT_CROSS)
		chan_cross(c, stream, 'r');
	for (uint32_t i = 0; i < r->log.n; i++)
		if (r->log.at[i].index >= from || c->o.faults & CHAN_FAULT_REPLAY_ALL)
			request_event(c, r, stream, &r->log.at[i], true);
	if (!r->done)
		return;
	r->carrier = 0;
	chan_do(c, CHAN_END, stream);
	role_is(c, stream, CHAN_IS_CLOSED, stream);
}

/* ---- the common channel, as rmcp has it ---- */

void
chan_common_event(struct channel *c, struct listener *l, struct kept *k,
    bool replay)
{
	char text[ID_SIZE];

	send_event(c, l->stream, event_id(c, 'g', l->g, k->index, text),
	    str_of(k->data, k->n), ours(c) && l->fresh, replay);
	l->fresh = false;
	k->owner = l->g;
}

/* A GET stream's first event: its id, and when to come back. */
void
chan_prime_listener(struct channel *c, struct listener *l)
{
	char text[ID_SIZE];
	struct str id = STR("0");
	uint64_t next = c->log.next;

	for (uint32_t i = c->log.n; i > 0; i--)
		if (c->log.at[i - 1].owner == 0)
			next = c->log.at[i - 1].index;	/* it comes next */
	if (ours(c))
		id = event_id(c, 'g', l->g, next - 1, text);
	if (!ours(c) || c->o.prime)
		send_event(c, l->stream, id, STR(""), true, false);
	else if (c->o.retry_ms >= 0)
		send_event(c, l->stream, STR_NONE, STR_NONE, true, false);
	l->fresh = false;
}

/* Decimal digits up to `end`. */
static bool
number(struct str s, uint64_t *out)
{
	return str_u64(s, out) && *out < UINT64_MAX / 2;
}

static enum want
rmcp_cursor(struct str s, uint64_t *k, uint32_t *n)
{
	size_t slash = str_find(s, STR("/"));
	uint64_t v;

	*k = 0;
	*n = 0;
	if (s.p == NULL)
		return WANT_NEW;
	if (slash == SIZE_MAX)
		return number(s, k) ? WANT_COMMON : WANT_BAD;
	if (!number(str_of(s.p, slash), k) ||
	    !number(str_of(s.p + slash + 1, s.n - slash - 1), &v) || v >= UINT32_MAX)
		return WANT_BAD;
	*n = (uint32_t)v;
	return WANT_REQUEST;
}

/* Where replay starts: an offset in the log; more than there are: an error. */
static uint64_t
replay_from(const struct channel *c, enum want want, uint64_t k)
{
	const struct chan_log *log = &c->log;
	uint64_t from = want == WANT_NEW || c->o.inclusive ? k : k + 1;

	if (log->n == 0 || c->o.faults & CHAN_FAULT_REPLAY_ALL)
		return 0;
	return from <= log->at[0].index ? 0 : from - log->at[0].index;
}

/* Its error, as rmcp words it, or the empty 200 of later releases. */
static void
fail(struct channel *c, uint32_t stream, const char *text)
{
	if (c->o.policy != CHAN_SHADOW_EMPTY) {
		chan_refuse(c, stream, 500, text);
		return;
	}
	chan_do(c, CHAN_ACCEPT, stream);
	chan_do(c, CHAN_END, stream);
}

static void
open_primary(struct channel *c, uint32_t stream, enum want want, bool replay,
    uint64_t k)
{
	uint64_t from = replay_from(c, want, k);
	struct listener *l;

	if (replay && from > c->log.n) {
		fail(c, stream, "Encounter an error when resume session: "
		    "Session error: Invalid event id");
		return;
	}
	l = chan_add_listener(c, stream, CHAN_IS_PRIMARY, stream);
	if (want == WANT_NEW)
		chan_prime_listener(c, l);
	for (; replay && from < c->log.n; from++)
		chan_common_event(c, l, &c->log.at[from], true);
}

static void
open_shadow(struct channel *c, uint32_t stream, enum want want)
{
	uint32_t others = c->n_ls - (chan_find_primary(c) != NULL);
	struct listener *l;

	for (uint32_t i = 0; i < c->n_ls && others >= c->o.cap; i++)
		if (c->ls[i].role != CHAN_IS_PRIMARY) {
			end_listener(c, &c->ls[i], stream);
			break;
		}
	l = chan_add_listener(c, stream, CHAN_IS_SHADOW, stream);
	if (want == WANT_NEW)
		chan_prime_listener(c, l);
}

static void
rmcp_listen(struct channel *c, uint32_t stream, enum want want, uint64_t k)
{
	struct listener *p = chan_find_primary(c);
	bool gone = want == WANT_REQUEST;

	switch (c->o.policy) {
	case CHAN_REPLACE: case CHAN_REPLACE_ALL: case CHAN_REPLACE_NOREPLAY:
		if (p)
			end_listener(c, p, stream);
		open_primary(c, stream, want,
		    p == NULL || c->o.policy != CHAN_REPLACE_NOREPLAY, gone ? 0 : k);
		break;
	case CHAN_CONFLICT: case CHAN_CONFLICT_FALLTHROUGH:
		if (p)
			chan_refuse(c, stream, 409, "Session error: Conflict: Only one "
			    "standalone SSE stream is allowed per session");
		else
			open_primary(c, stream, want, true, gone ? 0 : k);
		break;
	case CHAN_SHADOW: case CHAN_SHADOW_REPLAY: case CHAN_SHADOW_EMPTY:
		if (p)
			open_shadow(c, stream, want);
		else
			open_primary(c, stream, want, c->o.policy != CHAN_SHADOW, k);
		break;
	case CHAN_SHADOW_PROMOTE: case CHAN_N_POLICIES:
		break;
	}
}

static void
rmcp_get(struct channel *c, uint32_t stream, struct str cursor)
{
	uint64_t k;
	uint32_t n;
	enum want want = rmcp_cursor(cursor, &k, &n);
	struct request *r = want == WANT_REQUEST ? chan_find_request(c, n) : NULL;
	char text[96];

	if (want == WANT_BAD) {
		fail(c, stream, "Encounter an error when resume session: "
		    "Invalid event id");
	} else if (r) {
		chan_take_request(c, r, stream, c->o.inclusive ? k : k + 1);
	} else if (want == WANT_REQUEST && (c->o.policy == CHAN_REPLACE ||
	    c->o.policy == CHAN_CONFLICT || c->o.policy == CHAN_SHADOW_EMPTY)) {
		(void)snprintf(text, sizeof text, "Encounter an error when resume "
		    "session: Session error: Channel closed: Some(%u)", n);
		fail(c, stream, text);
	} else {
		rmcp_listen(c, stream, want, k);
	}
}

void
chan_get(struct channel *c, uint32_t stream, struct str cursor)
{
	struct listener *p = chan_find_primary(c);

	if (p && c->o.faults & CHAN_FAULT_SUPERSEDE)
		chan_set_role(c, p, CHAN_IS_ORPHAN, stream);
	if (ours(c))
		promote_get(c, stream, cursor);
	else
		rmcp_get(c, stream, cursor);
}

void
chan_closed(struct channel *c, uint32_t stream, uint32_t unsent)
{
	struct listener *l = chan_find_listener(c, stream);
	bool primary = l && l->role == CHAN_IS_PRIMARY;

	for (uint32_t i = 0; i < c->n_rs; i++)
		if (c->rs[i].carrier == stream) {
			c->rs[i].carrier = 0;
			role_is(c, stream, CHAN_IS_CLOSED, stream);
		}
	if (l == NULL)
		return;
	if (ours(c)) {
		promote_closed(c, stream, unsent);
		return;
	}
	chan_remove_listener(c, l, stream);
	if (primary)
		orphan_shadows(c, stream);
}

/* A fault: everybody gets it, under the id it has on the first stream. */
static void
broadcast(struct channel *c, struct kept *k)
{
	char text[ID_SIZE];

	for (uint32_t i = 0; i < c->n_ls; i++)
		send_event(c, c->ls[i].stream, event_id(c, 'g', c->ls[0].g, k->index, text),
		    str_of(k->data, k->n), ours(c) && c->ls[i].fresh, false);
	k->owner = c->n_ls > 0 ? c->ls[0].g : 0;
}

void
chan_emit(struct channel *c, struct str data)
{
	struct listener *p = ours(c) ? promote_living(c) : chan_find_primary(c);
	struct kept *k = log_add(&c->log, data);

	if (c->o.faults & CHAN_FAULT_BROADCAST) {
		broadcast(c, k);
	} else if (c->o.faults & CHAN_FAULT_SPLIT && c->n_ls > 0) {
		chan_common_event(c, &c->ls[c->turn++ % c->n_ls], k, false);
	} else if (p) {
		chan_common_event(c, p, k, false);
	}
	log_trim(&c->log, c->o.keep, c->o.keep_bytes);
}

void
chan_poll(struct channel *c)
{
	struct listener *p = chan_find_primary(c);
	uint32_t stream = p ? p->stream : 0;

	if (p == NULL)
		return;
	end_listener(c, p, stream);
	if (ours(c))
		promote_next(c, stream);
	else
		while (c->n_ls > 0)
			end_listener(c, &c->ls[c->n_ls - 1], stream);
}

void
chan_end(struct channel *c)
{
	while (c->n_ls > 0)
		end_listener(c, &c->ls[0], c->ls[0].stream);
	while (c->n_rs > 0)
		chan_request_drop(c, c->rs[c->n_rs - 1].n);
}

uint32_t
chan_primary(const struct channel *c)
{
	const struct listener *p = chan_find_primary(c);

	return p ? p->stream : 0;
}
