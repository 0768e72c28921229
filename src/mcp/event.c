#include "mcpdiag/event.h"

#include <assert.h>
#include <stdlib.h>

#include "mcpdiag/xmem.h"

const char *const ev_dir_names[] = { "c2s", "s2c", NULL };
const char *const ev_transport_names[] = {
	"unknown", "legacy-sse", "streamable", "modern", NULL
};
const char *const ev_kind_names[] = {
	"post-response", "standalone", "resumed", "legacy", "listen",
	"unknown", NULL
};
const char *const ev_end_names[] = {
	"complete", "truncated", "client", "lost", "open", NULL
};
const char *const ev_role_names[] = {
	"presumed", "primary", "shadow", "orphan", "request", "closed", NULL
};
const char *const ev_by_names[] = {
	"open", "close", "message", "response", NULL
};
const char *const ev_msg_names[] = {
	"request", "notification", "response", "error", "invalid", NULL
};
const char *const ev_channel_names[] = { "none", "request", "common", NULL };
const char *const ev_flag_names[] = {
	"head-lost", "gap", "midstream", "inferred", "undecoded", "cut",
	"late", "replay", "final", NULL
};

static const char *const type_names[] = {
	[EV_FILE] = "file",
	[EV_CONN] = "conn",
	[EV_CONN_END] = "conn_end",
	[EV_REQUEST] = "request",
	[EV_REQUEST_END] = "request_end",
	[EV_RESPONSE] = "response",
	[EV_RESPONSE_END] = "response_end",
	[EV_SESSION] = "session",
	[EV_SESSION_END] = "session_end",
	[EV_STREAM] = "stream",
	[EV_STREAM_END] = "stream_end",
	[EV_SSE] = "sse",
	[EV_COMMENT] = "comment",
	[EV_MESSAGE] = "message",
	[EV_OWNER] = "owner",
	[EV_STALL] = "stall",
	[EV_GAP] = "gap",
	[EV_ANOMALY] = "anomaly",
	[EV_NOTE] = "note",
	[EV_FINDING] = "finding",
	[EV_END] = "end",
};

#define F(type, member) \
	{ #member, type, offsetof(struct ev, u.U.member), NULL }
#define FN(type, name, member) \
	{ name, type, offsetof(struct ev, u.U.member), NULL }
#define FE(member, names) \
	{ #member, EVT_ENUM, offsetof(struct ev, u.U.member), names }
#define F_END { NULL, 0, 0, NULL }

#define U file
static const struct ev_field file_fields[] = {
	F(EVT_STR, name), F(EVT_STR, format), F(EVT_STR, packing),
	F(EVT_STR, linktypes), F(EVT_STR, error), F(EVT_U64, packets),
	F(EVT_U64, dropped), F(EVT_U64, truncated), F_END
};
#undef U
#define U conn
static const struct ev_field conn_fields[] = {
	F(EVT_STR, client), F(EVT_STR, server), F_END
};
#undef U
#define U conn_end
static const struct ev_field conn_end_fields[] = {
	F(EVT_STR, how), F(EVT_BOOL, by_peer), F_END
};
#undef U
#define U req
static const struct ev_field request_fields[] = {
	F(EVT_U32, n), F(EVT_STR, method), F(EVT_STR, target), F(EVT_STR, host),
	F(EVT_STR, sid), F(EVT_STR, cursor), F(EVT_STR, version),
	F(EVT_STR, accept), F(EVT_STR, content_type), F(EVT_STR, agent),
	F(EVT_STR, auth), F(EVT_STR, origin), F_END
};
#undef U
#define U resp
static const struct ev_field response_fields[] = {
	F(EVT_U32, status), F(EVT_STR, sid), F(EVT_STR, content_type),
	F(EVT_STR, server), F(EVT_STR, coding), F(EVT_STR, framing),
	F(EVT_STR, location), F(EVT_STR, via), F(EVT_BOOL, challenge),
	F(EVT_BOOL, sid_odd), F(EVT_BOOL, event_stream), F_END
};
#undef U
#define U end
static const struct ev_field end_fields[] = {
	FE(end, ev_end_names), F(EVT_U64, bytes), F_END
};
#undef U
#define U session
static const struct ev_field session_fields[] = {
	F(EVT_STR, key), FE(transport, ev_transport_names),
	F(EVT_STR, revision), F(EVT_BOOL, offered), F(EVT_STR, client),
	F(EVT_STR, server), F(EVT_STR, endpoint), F(EVT_STR, looks_like),
	F(EVT_STR, evidence), F(EVT_STR, client_looks_like),
	F(EVT_STR, client_evidence), F(EVT_BOOL, list_changed), F_END
};
#undef U
#define U stream
static const struct ev_field stream_fields[] = {
	FE(kind, ev_kind_names), F(EVT_STR, cursor), F(EVT_U32, lineage),
	F(EVT_U32, previous), F(EVT_U32, resumes), F(EVT_U32, givers),
	FN(EVT_NS, "requested_ns", requested), F(EVT_U32, request_pkt),
	F(EVT_I64, delay_ms), F_END
};
#undef U
#define U stream_end
static const struct ev_field stream_end_fields[] = {
	FE(end, ev_end_names), F(EVT_BOOL, had_response), F(EVT_U32, events),
	F(EVT_U32, comments), FN(EVT_NS, "last_byte_ns", last_byte), F_END
};
#undef U
#define U sse
static const struct ev_field sse_fields[] = {
	F(EVT_STR, name), F(EVT_STR, id), F(EVT_BOOL, data),
	F(EVT_BOOL, dispatched), F(EVT_BOOL, tail), F(EVT_U64, bytes),
	F(EVT_HASH, hash), F(EVT_I64, retry_ms), F_END
};
#undef U
#define U comment
static const struct ev_field comment_fields[] = { F(EVT_STR, text), F_END };
#undef U
#define U msg
static const struct ev_field message_fields[] = {
	FE(kind, ev_msg_names), F(EVT_STR, method), F(EVT_STR, id),
	F(EVT_STR, code), F(EVT_STR, error), F(EVT_STR, name),
	F(EVT_STR, answers), F(EVT_STR, cancels), FE(channel, ev_channel_names), F(EVT_HASH, hash),
	F(EVT_BOOL, sse), F(EVT_BOOL, batch), F(EVT_U32, of), F_END
};
#undef U
#define U owner
static const struct ev_field owner_fields[] = {
	FE(from, ev_role_names), FE(to, ev_role_names), FE(by, ev_by_names),
	F(EVT_U32, cause), F_END
};
#undef U
#define U stall
static const struct ev_field stall_fields[] = {
	F(EVT_U64, bytes), FN(EVT_NS, "since_ns", since),
	F(EVT_U32, since_pkt), F(EVT_BOOL, zero_window), F_END
};
#undef U
#define U gap
static const struct ev_field gap_fields[] = { F(EVT_U64, bytes), F_END };
#undef U
#define U note
static const struct ev_field note_fields[] = {
	F(EVT_STR, name), F(EVT_STR, text), F_END
};
#undef U
#define U total
static const struct ev_field total_fields[] = {
	F(EVT_U64, packets), F(EVT_U64, tcp_connections), F(EVT_U64, gaps),
	F(EVT_U64, gap_bytes), F(EVT_U64, dropped), F(EVT_U64, truncated),
	F(EVT_U64, encrypted), F(EVT_U64, http2), F(EVT_U64, other),
	F(EVT_U64, unread), FN(EVT_NS, "first_ns", first),
	FN(EVT_NS, "last_ns", last), F_END
};
#undef U
static const struct ev_field no_fields[] = { F_END };

static const struct ev_field *const fields[] = {
	[EV_FILE] = file_fields,
	[EV_CONN] = conn_fields,
	[EV_CONN_END] = conn_end_fields,
	[EV_REQUEST] = request_fields,
	[EV_REQUEST_END] = end_fields,
	[EV_RESPONSE] = response_fields,
	[EV_RESPONSE_END] = end_fields,
	[EV_SESSION] = session_fields,
	[EV_SESSION_END] = no_fields,
	[EV_STREAM] = stream_fields,
	[EV_STREAM_END] = stream_end_fields,
	[EV_SSE] = sse_fields,
	[EV_COMMENT] = comment_fields,
	[EV_MESSAGE] = message_fields,
	[EV_OWNER] = owner_fields,
	[EV_STALL] = stall_fields,
	[EV_GAP] = gap_fields,
	[EV_ANOMALY] = note_fields,
	[EV_NOTE] = note_fields,
	[EV_FINDING] = no_fields,
	[EV_END] = total_fields,
};

const struct ev_field *
ev_fields(enum ev_type type)
{
	return (unsigned)type < EV_N_TYPES ? fields[type] : no_fields;
}

const char *
ev_type_name(enum ev_type type)
{
	return (unsigned)type < EV_N_TYPES ? type_names[type] : "unknown";
}

enum ev_type
ev_type_of(struct str name)
{
	for (unsigned i = 0; i < EV_N_TYPES; i++)
		if (str_eq(name, str_c(type_names[i])))
			return (enum ev_type)i;
	return EV_N_TYPES;
}

static struct str *
str_at(struct ev *e, const struct ev_field *f)
{
	return (struct str *)(void *)((char *)e + f->offset);
}

struct ev *
ev_clone(const struct ev *e)
{
	const struct ev_field *f;
	struct ev copy = *e, *new;
	size_t n = sizeof *new + 1;
	char *p;

	/* The engine owns findings and keeps them anyway. */
	assert(e->type != EV_FINDING);
	for (f = ev_fields(e->type); f->name; f++)
		if (f->type == EVT_STR)
			n += str_at(&copy, f)->n;
	new = xmalloc(n);
	*new = copy;
	p = (char *)(new + 1);
	for (f = ev_fields(e->type); f->name; f++) {
		struct str *s = str_at(new, f);

		/* An empty string stays apart from an absent one. */
		if (f->type != EVT_STR || s->p == NULL)
			continue;
		if (s->n)
			memcpy(p, s->p, s->n);
		s->p = p;
		p += s->n;
	}
	return new;
}

void
ev_free(struct ev *e)
{
	free(e);
}

const char *
severity_name(enum severity s)
{
	switch (s) {
	case SEV_INFO:
		return "info";
	case SEV_WARNING:
		return "warning";
	case SEV_ERROR:
		return "error";
	}
	return "unknown";
}

const char *
confidence_name(enum confidence c)
{
	switch (c) {
	case CONF_LOW:
		return "low";
	case CONF_MEDIUM:
		return "medium";
	case CONF_HIGH:
		return "high";
	}
	return "unknown";
}
