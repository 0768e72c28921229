/* The bodies that a plan sends: those of the capture, message by message, or
 * what any client of that method must say. */
#include "minted.h"
#include "plan_priv.h"

#define MAX_BODY (2 * PLAN_BODY)	/* with other names of tools in it */
#define MODERN "2026-07-28"

static struct str
or_else(struct str s, struct str other)
{
	return s.n ? s : other;
}

/* "name/version" as two members; captured bytes are raw JSON already when they
 * have an escape, so only quotes and controls are left out. */
static void
add_string(struct buf *b, struct str s)
{
	(void)buf_addc(b, '"');
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '"' && s.p[i] != '\\' && (unsigned char)s.p[i] >= ' ')
			(void)buf_addc(b, s.p[i]);
	(void)buf_addc(b, '"');
}

static void
add_client(struct buf *b, const struct plan_session *s)
{
	struct str name = or_else(s ? s->program : STR_NONE, STR("mcpdiag/0"));
	size_t slash = name.n;

	while (slash > 0 && name.p[slash - 1] != '/')
		slash--;
	(void)buf_adds(b, STR("{\"name\":"));
	add_string(b, slash ? str_of(name.p, slash - 1) : name);
	(void)buf_adds(b, STR(",\"version\":"));
	add_string(b, slash ? str_of(name.p + slash, name.n - slash) : STR("0"));
	(void)buf_addc(b, '}');
}

static void
add_params(struct buf *b, const struct plan_x *x, const struct plan_session *s,
    struct str method)
{
	struct str revision = or_else(x->version, s ? s->revision : STR_NONE);

	if (str_eq(method, STR("initialize"))) {
		(void)buf_adds(b, STR(",\"params\":{\"protocolVersion\":"));
		add_string(b, or_else(revision, STR("2025-06-18")));
		(void)buf_adds(b, STR(",\"capabilities\":{},\"clientInfo\":"));
		add_client(b, s);
		(void)buf_addc(b, '}');
	} else if (str_cmp(revision, STR(MODERN)) >= 0) {
		(void)buf_adds(b, STR(",\"params\":{\"_meta\":{"
		    "\"io.modelcontextprotocol/protocolVersion\":"));
		add_string(b, revision);
		(void)buf_adds(b, STR(",\"io.modelcontextprotocol/clientInfo\":"));
		add_client(b, s);
		(void)buf_adds(b, STR(",\"io.modelcontextprotocol/clientCapabilities\":{}}}"));
	}
}

static bool
is_list(struct str method)
{
	return method.n > 5 && str_eq(str_of(method.p + method.n - 5, 5), STR("/list"));
}

/* Of these methods a body is certain without having been seen. */
static bool
is_certain(struct str method)
{
	return str_eq(method, STR("initialize")) || str_eq(method, STR("ping")) ||
	    str_eq(method, STR("notifications/initialized")) || is_list(method) ||
	    str_eq(method, STR("server/discover"));
}

static bool
make_anew(struct buf *b, const struct plan_x *x, const struct plan_session *s,
    const struct plan_msg *m)
{
	bool request = m->kind == EV_MSG_REQUEST;

	if ((!request && m->kind != EV_MSG_NOTIFICATION) || !is_certain(m->method) ||
	    (request && m->id.p == NULL))
		return false;
	(void)buf_adds(b, STR("{\"jsonrpc\":\"2.0\""));
	if (request) {
		(void)buf_adds(b, STR(",\"id\":"));
		(void)buf_adds(b, m->id);
	}
	(void)buf_adds(b, STR(",\"method\":\""));
	(void)buf_adds(b, m->method);
	(void)buf_addc(b, '"');
	add_params(b, x, s, m->method);
	(void)buf_addc(b, '}');
	return true;
}

static bool
add_message(struct buf *b, const struct plan *p, const struct plan_msg *m)
{
	for (uint32_t i = 0; i < p->n_renamed && m->name.p; i++) {
		struct str from = str_c(p->renamed[i].from);
		size_t before = b->n;

		if (!str_eq(m->name, from) || !str_eq(m->method, STR("tools/call")))
			continue;
		minted_rename_tool(m->text, from, str_c(p->renamed[i].to), b);
		return b->n > before;
	}
	return buf_adds(b, m->text) == 0;
}

enum plan_skip
plan_body(struct plan *p, struct plan_x *x, const struct plan_session *s)
{
	struct buf b;
	bool known = x->n_msgs > 0, too_long = false;

	buf_init(&b, MAX_BODY);
	if (x->batch)
		(void)buf_addc(&b, '[');
	for (uint32_t i = 0; i < x->n_msgs && known; i++) {
		const struct plan_msg *m = &x->msgs[i];

		if (i > 0)
			(void)buf_addc(&b, ',');
		if (m->text.p)
			known = add_message(&b, p, m);
		else
			known = make_anew(&b, x, s, m);
		too_long |= !known && (m->text.p || m->too_long);
	}
	if (x->batch)
		(void)buf_addc(&b, ']');
	if (known)
		x->body = plan_keep(p, buf_str(&b));
	buf_fini(&b);
	return known ? PLAN_PLAYED : too_long ? PLAN_LONG_BODY : PLAN_NO_BODY;
}
