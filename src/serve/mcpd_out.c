#include <stdlib.h>

#include "mcpd_priv.h"
#include "mcpdiag/xmem.h"

/* Streams that get their comment in one turn of the loop; the others follow in
 * the next, so that a round to ten thousand delays nobody. */
#define TICK_BATCH 128
#define KEEP_FRAME (64U << 10)	/* for the next event */
#define WEDGE_LOOK (20 * NS_MS)

static bool
ours(const struct mcpd *m)
{
	return m->o.channel.policy == CHAN_SHADOW_PROMOTE;
}

void
head_lines(struct mcpd *m, struct hreq *req, const char *type)
{
	struct str origin = hreq_header(req, STR("Origin"));
	struct buf *b = &m->head;

	buf_clear(b);
	if (type)
		(void)buf_fmt(b, "Content-Type: %s\r\n", type);
	/* Not on the 403 that others get: they must not read it; Fetch, CORS
	 * protocol. */
	if (origin.n > 0 && origin_allowed(m, origin))
		(void)buf_fmt(b, "Access-Control-Allow-Origin: %.*s\r\nVary: Origin\r\n"
		    "Access-Control-Expose-Headers: Mcp-Session-Id\r\n", STR_ARG(origin));
}

void
reply(struct mcpd *m, struct hreq *req, unsigned status, const char *type,
    struct str body)
{
	head_lines(m, req, type);
	log_response(m, req, status, type, STR_NONE);
	log_body(m, req, body);
	log_end(m, req, EV_COMPLETE);
	hreq_reply(req, status, buf_str(&m->head), body);
}

void
reply_later(struct xchg *x, unsigned status, const char *type, struct str body)
{
	struct hreq *req = x->req;
	struct mcpd *m = x->m;

	xchg_free(x);
	reply(m, req, status, type, body);
}

void
refuse(struct mcpd *m, struct hreq *req, unsigned status, int code, struct str id,
    const char *text, struct str data)
{
	buf_clear(&m->out);
	rpc_error(&m->out, id.p ? id : STR("null"), code, text, data);
	reply(m, req, status, "application/json", buf_str(&m->out));
}

/* ---- what waits for the client ---- */

/* The pieces that are not out: whose events are lost when the stream is, and
 * whose are not. */
struct unsent {
	uint32_t *size;		/* bytes, times two; odd: no event */
	uint32_t first, n, cap;	/* n of them from `first` */
	uint32_t refused;	/* events that were not even queued */
	uint64_t bytes;		/* of all n */
};

static void
forget_unsent(struct xchg *x)
{
	if (x->unsent)
		free(x->unsent->size);
	free(x->unsent);
	x->unsent = NULL;
}

static struct unsent *
unsent_of(struct xchg *x)
{
	if (x->unsent == NULL)
		x->unsent = xcalloc(1, sizeof *x->unsent);
	return x->unsent;
}

/* Drops those that are out. */
static void
drop_sent(struct unsent *u, uint64_t left)
{
	while (u->n > 0 && u->bytes - u->size[u->first] / 2 >= left) {
		u->bytes -= u->size[u->first++] / 2;
		u->n--;
	}
	if (u->first <= u->n)
		return;
	memmove(u->size, u->size + u->first, u->n * sizeof *u->size);
	u->first = 0;
}

static void
add_unsent(struct xchg *x, size_t size, bool event)
{
	struct unsent *u = unsent_of(x);

	drop_sent(u, hreq_unsent(x->req) - size);
	u->size = xgrow(u->size, u->first + u->n, &u->cap, sizeof *u->size);
	u->size[u->first + u->n++] = (uint32_t)size * 2 + !event;
	u->bytes += size;
}

uint32_t
out_unsent(struct xchg *x)
{
	struct unsent *u = x->unsent;
	uint32_t events;

	if (u == NULL)
		return 0;
	drop_sent(u, hreq_unsent(x->req));
	events = u->refused;
	for (uint32_t i = 0; i < u->n; i++)
		events += (u->size[u->first + i] & 1) == 0;
	return events;
}

/* A client that does not read, or is gone: that is told by gone(). */
static void
put(struct xchg *x, struct str bytes, bool event)
{
	size_t before, after;
	int rc;

	if (x->held) {
		(void)buf_adds(x->held, bytes);
		unsent_of(x)->refused += event;
		return;
	}
	before = hreq_unsent(x->req);
	rc = hreq_write(x->req, bytes);
	after = hreq_unsent(x->req);
	if (rc != 0 && after <= before)
		unsent_of(x)->refused += event;
	else if (after > before)
		add_unsent(x, after - before, event);
	else if (after > 0)	/* some left to make room */
		add_unsent(x, after < bytes.n ? after : bytes.n, event);
	else
		forget_unsent(x);
}

struct xchg *
xchg_new(struct mcpd *m, struct session *s, struct hreq *req)
{
	struct xchg *x = xcalloc(1, sizeof *x);

	x->id = ++m->next_xchg;
	x->m = m;
	x->s = s;
	x->req = req;
	if (s) {
		DL_APPEND2(s->streams, x, sprev, snext);
		s->n_streams++;
	}
	hreq_set_user(req, x);
	hreq_body_free(req);
	return x;
}

void
xchg_free(struct xchg *x)
{
	struct mcpd *m = x->m;

	if (x->open) {
		DL_DELETE(m->streams, x);
		m->n_streams--;
	}
	if (x->s) {
		DL_DELETE2(x->s->streams, x, sprev, snext);
		x->s->n_streams--;
		if (x->s->legacy_stream == x)
			x->s->legacy_stream = NULL;
	}
	if (x->answer)
		x->answer->x = NULL;
	loop_timer_free(x->age);
	if (x->held) {
		buf_fini(x->held);
		free(x->held);
	}
	forget_unsent(x);
	hreq_set_user(x->req, NULL);
	free(x);
}

/* Time until an idle stream gets a comment, or, with that fault, its end. */
static ns_t
idle_time(const struct mcpd *m, bool *cut)
{
	ns_t keep = has_fault(m, FAULT_NO_KEEPALIVE) ? 0 : m->o.keepalive;
	ns_t limit = has_fault(m, FAULT_IDLE_CUT) ?
	    fault_time(&m->o.faults, FAULT_IDLE_CUT) : 0;

	*cut = limit > 0 && (keep == 0 || limit < keep);
	return *cut ? limit : keep;
}

static void
arm(struct mcpd *m, ns_t now)
{
	if (m->streams)
		loop_timer_set(m->tick, m->streams->due - now);
}

/* Its idle time starts again: it becomes the last that is due. */
static void
restart(struct xchg *x, bool fresh)
{
	struct mcpd *m = x->m;
	bool cut, first = m->streams == NULL;
	ns_t idle = idle_time(m, &cut), now = loop_mono(m->loop);

	if (!fresh)
		DL_DELETE(m->streams, x);
	DL_APPEND(m->streams, x);
	x->due = idle > 0 ? now + idle : INT64_MAX;
	if (first && idle > 0)
		arm(m, now);
}

static void
begin(struct xchg *x, bool new_session)
{
	struct mcpd *m = x->m;
	struct str sid = STR_NONE;

	head_lines(m, x->req, "text/event-stream");
	(void)buf_adds(&m->head, STR("Cache-Control: no-cache\r\n"));
	/* nginx holds back what it may buffer; the releases of rmcp that the
	 * other policies are had no such header. */
	if (ours(m))
		(void)buf_adds(&m->head, STR("X-Accel-Buffering: no\r\n"));
	if (new_session) {
		sid = str_c(x->s->id);
		(void)buf_fmt(&m->head, "Mcp-Session-Id: %s\r\n", x->s->id);
	}
	log_response(m, x->req, 200, "text/event-stream", sid);
	hreq_begin(x->req, 200, buf_str(&m->head));
}

static void
hold(struct xchg *x, ns_t until)
{
	x->held = xcalloc(1, sizeof *x->held);
	buf_init(x->held, MAX_TEXT);
	x->held_until = until;
}

/* As a proxy does that has waited long enough. */
static void
cut_off(struct xchg *x)
{
	struct hreq *req = x->req;
	struct mcpd *m = x->m;
	bool get = x->get;

	log_end(m, req, EV_TRUNCATED);
	if (x->s && x->s->ch)
		chan_closed(x->s->ch, x->id, 0);
	xchg_free(x);
	hreq_drop(req, false);
	if (get)
		out_release(m);
}

static void
on_age(void *arg)
{
	cut_off(arg);
}

void
out_begin(struct xchg *x, bool new_session)
{
	struct mcpd *m = x->m;

	x->open = true;
	x->born = loop_mono(m->loop);
	m->n_streams++;
	restart(x, true);
	if (has_fault(m, FAULT_AGE_CUT)) {
		x->age = loop_timer_new(m->loop, on_age, x);
		loop_timer_set(x->age, fault_time(&m->o.faults, FAULT_AGE_CUT));
	}
	/* A proxy that buffers holds the head back too; but the session id has
	 * to come. */
	if (has_fault(m, FAULT_BUFFER) && !new_session) {
		hold(x, x->born + fault_time(&m->o.faults, FAULT_BUFFER));
		loop_timer_set(m->tick, 0);
	} else if (!new_session && fault_holds(x)) {
		hold(x, INT64_MAX);
		if (has_fault(m, FAULT_WEDGE))
			loop_timer_set(m->tick, 0);
	} else {
		begin(x, new_session);
	}
}

static void
release(struct xchg *x)
{
	struct buf *held = x->held;

	x->held = NULL;
	begin(x, false);
	forget_unsent(x);
	if (held->n > 0)
		put(x, buf_str(held), true);
	buf_fini(held);
	free(held);
}

static void
field(struct buf *b, struct str name, struct str value)
{
	if (value.p == NULL)
		return;
	(void)buf_adds(b, name);
	(void)buf_adds(b, STR(": "));
	(void)buf_adds(b, value);
	(void)buf_addc(b, '\n');
}

void
out_event(struct xchg *x, struct str name, struct str id, struct str data,
    int64_t retry_ms)
{
	struct mcpd *m = x->m;
	struct buf *b = &m->frame;

	if (b->cap > KEEP_FRAME)
		buf_fini(b);
	buf_clear(b);
	field(b, STR("event"), name);
	/* rmcp writes the data first. */
	if (!ours(m))
		field(b, STR("data"), data);
	field(b, STR("id"), id);
	if (retry_ms >= 0)
		(void)buf_fmt(b, "retry: %lld\n", (long long)retry_ms);
	if (ours(m))
		field(b, STR("data"), data);
	(void)buf_addc(b, '\n');
	restart(x, false);
	if (x->torn) {
		put(x, str_of(buf_str(b).p, b->n / 2), false);
		return;
	}
	put(x, buf_str(b), true);
	log_event(m, x->req, name, id, data, retry_ms);
}

void
out_comment(struct xchg *x, struct str text)
{
	char line[128];
	size_t n = text.n < sizeof line - 4 ? text.n : sizeof line - 4;

	line[0] = ':';
	if (n > 0)
		memcpy(line + 1, text.p, n);
	line[n + 1] = line[n + 2] = '\n';
	restart(x, false);
	put(x, str_of(line, n + 3), false);
	log_comment(x->m, x->req, text);
}

void
out_end(struct xchg *x)
{
	struct hreq *req = x->req;
	struct mcpd *m = x->m;
	bool get = x->get;

	if (x->held && x->held_until == INT64_MAX && fault_holds(x)) {
		x->over = true;
		return;
	}
	if (x->held)
		release(x);
	xchg_free(x);
	log_end(m, req, EV_COMPLETE);
	hreq_end(req);
	if (get)
		out_release(m);
}

void
out_release(struct mcpd *m)
{
	struct xchg *x, *next;

	DL_FOREACH_SAFE(m->streams, x, next) {
		if (x->held == NULL || x->held_until != INT64_MAX || fault_holds(x))
			continue;
		release(x);
		if (x->over)
			out_end(x);
	}
}

/* FAULT_BUFFER: what has been held long enough, and when the next is. */
static ns_t
release_due(struct mcpd *m, ns_t now)
{
	ns_t next = INT64_MAX;
	struct xchg *x;

	DL_FOREACH(m->streams, x) {
		if (x->held && x->held_until <= now)
			release(x);
		else if (x->held && x->held_until < next)
			next = x->held_until;
	}
	return next;
}

static bool
silent(const struct xchg *x, ns_t now)
{
	return has_fault(x->m, FAULT_FALL_SILENT) &&
	    now - x->born >= fault_time(&x->m->o.faults, FAULT_FALL_SILENT);
}

void
out_tick(void *arg)
{
	struct mcpd *m = arg;
	ns_t now = loop_mono(m->loop), next = INT64_MAX;
	bool cut;

	(void)idle_time(m, &cut);
	if (has_fault(m, FAULT_BUFFER))
		next = release_due(m, now);
	if (has_fault(m, FAULT_HOLD) || has_fault(m, FAULT_WEDGE))
		out_release(m);
	for (int i = 0; i < TICK_BATCH && m->streams && m->streams->due <= now; i++) {
		if (cut)
			cut_off(m->streams);
		else if (m->streams->mute || silent(m->streams, now))
			restart(m->streams, false);
		else
			out_comment(m->streams, STR(""));
	}
	if (m->streams && m->streams->due < next)
		next = m->streams->due;
	/* Nobody tells when a client reads on. */
	if (fault_wedged(m) && next - now > WEDGE_LOOK)
		next = now + WEDGE_LOOK;
	if (next != INT64_MAX)
		loop_timer_set(m->tick, next - now);
}
