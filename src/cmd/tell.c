#include "tell.h"

#include <time.h>

#include "mcpdiag/esc.h"

#define WORD 64			/* bytes shown of a string off the wire */
#define TITLE 400		/* and of a finding's line */

static void
word(struct buf *b, const char *before, struct str s)
{
	if (s.p == NULL)
		return;
	(void)buf_adds(b, str_c(before));
	esc_text(b, s, WORD);
}

static void
request(struct buf *b, const struct ev *e)
{
	word(b, "", e->u.req.method);
	word(b, " ", e->u.req.target);
	word(b, " after ", e->u.req.cursor);
	word(b, " of session ", e->u.req.sid);
}

static void
message(struct buf *b, const struct ev *e)
{
	(void)buf_adds(b, e->dir == EV_C2S ? STR("-> ") : STR("<- "));
	(void)buf_adds(b, str_c(ev_msg_names[e->u.msg.kind]));
	word(b, " ", e->u.msg.method);
	word(b, " ", e->u.msg.name);
	word(b, " id ", e->u.msg.id);
	word(b, " error ", e->u.msg.error);
}

static void
finding(struct buf *b, const struct ev *e)
{
	const struct finding *f = e->u.finding;

	(void)buf_fmt(b, "%s: %s%s%s (%s confidence): ", severity_name(f->severity),
	    f->detector, f->variant ? "/" : "", f->variant ? f->variant : "",
	    confidence_name(f->confidence));
	esc_text(b, f->title, TITLE);
}

static bool
line(struct buf *b, const struct ev *e)
{
	switch (e->type) {
	case EV_FINDING:
		/* The final ones are the report's. */
		if (e->flags & EVF_FINAL)
			return false;
		finding(b, e);
		return true;
	case EV_GAP:
		(void)buf_fmt(b, "%llu bytes of the %s are missing",
		    (unsigned long long)e->u.gap.bytes,
		    e->dir == EV_C2S ? "client" : "server");
		return true;
	case EV_REQUEST:
		request(b, e);
		return true;
	case EV_MESSAGE:
		message(b, e);
		if (e->stream)
			(void)buf_fmt(b, " on stream %u", e->stream);
		return true;
	case EV_RESPONSE:
		(void)buf_fmt(b, "%u", e->u.resp.status);
		word(b, " ", e->u.resp.content_type);
		return true;
	case EV_STREAM:
		(void)buf_fmt(b, "stream %u opens: %s", e->stream,
		    ev_kind_names[e->u.stream.kind]);
		return true;
	case EV_STREAM_END:
		(void)buf_fmt(b, "stream %u ends: %s, %u events, %u comments", e->stream,
		    ev_end_names[e->u.stream_end.end], e->u.stream_end.events,
		    e->u.stream_end.comments);
		return true;
	case EV_OWNER:
		(void)buf_fmt(b, "stream %u is %s, was %s", e->stream,
		    ev_role_names[e->u.owner.to], ev_role_names[e->u.owner.from]);
		if (e->u.owner.cause != e->stream && e->u.owner.cause)
			(void)buf_fmt(b, "; stream %u %s", e->u.owner.cause,
			    e->u.owner.by == EV_BY_OPEN ? "opened" : "ended");
		return true;
	case EV_SESSION_END:
		(void)buf_adds(b, STR("session ends"));
		return true;
	case EV_FILE: case EV_CONN: case EV_CONN_END: case EV_REQUEST_END:
	case EV_RESPONSE_END: case EV_SESSION: case EV_SSE: case EV_COMMENT:
	case EV_STALL: case EV_ANOMALY: case EV_NOTE: case EV_END: case EV_N_TYPES:
		break;
	}
	return false;
}

void
tell_event(FILE *to, enum tell_what what, const struct ev *e)
{
	time_t s = (time_t)(e->t / NS_S);
	struct tm tm;
	char when[16];
	struct buf b;

	if (what == TELL_FINDINGS && e->type != EV_FINDING)
		return;
	buf_init(&b, 4096);
	if (line(&b, e) && localtime_r(&s, &tm) &&
	    strftime(when, sizeof when, "%H:%M:%S", &tm) > 0)
		fprintf(to, "%s.%03d  s%-3u #%-4u %.*s\n", when,
		    (int)(e->t % NS_S / NS_MS), e->session, e->x, STR_ARG(buf_str(&b)));
	buf_fini(&b);
}
