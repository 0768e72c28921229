#include "rule_who.h"

#include <stdlib.h>

#include "rule_util.h"

struct whos {
	struct idmap map;
	uint64_t max;
	const struct asked *now;	/* by the last event, if it was a request */
	struct who *gone;		/* to be forgotten with the next event */
};

static void
drop(struct whos *w, struct who *k)
{
	w->gone = w->gone == k ? NULL : w->gone;
	w->now = NULL;
	idmap_del(&w->map, &k->node);
	free(k->asked);
	free(k);
}

static struct who *
find(const struct whos *w, uint32_t conn)
{
	return (struct who *)idmap_get(&w->map, conn);
}

static struct who *
get(struct whos *w, uint32_t conn)
{
	struct who *k = find(w, conn);

	if (k)
		return k;
	if (w->map.n && w->map.n >= w->max)
		drop(w, (struct who *)w->map.first);	/* the oldest */
	k = xcalloc(1, sizeof *k);
	idmap_put(&w->map, &k->node, conn);
	return k;
}

/* The address without its port. */
static uint64_t
host_of(struct str addr)
{
	size_t n = addr.n;

	while (n && addr.p[n - 1] != ':')
		n--;
	return map_digest(addr.p, n ? n - 1 : addr.n);
}

bool
modern_version(struct str version)
{
	return version.n == 10 && str_cmp(version, STR("2026")) > 0;
}

static const struct asked *
ask(struct who *k, const struct ev *e)
{
	struct str target = e->u.req.target, agent = e->u.req.agent;
	size_t q = str_find(target, STR("?"));
	uint64_t who[2] = { k->host, map_digest(agent.p, agent.n) };
	struct asked *a;

	k->asked = ring_room(k->asked, k->n_asked, WHO_ASKED, &k->cap_asked,
	    sizeof *k->asked);
	a = &k->asked[k->n_asked++ % WHO_ASKED];
	*a = (struct asked){ .x = e->x, .at = { e->t, e->pkt }, .server = k->server,
	    .target = map_digest(target.p, target.n),
	    .client = map_digest(who, sizeof who) };
	a->path = q == SIZE_MAX ? a->target : map_digest(target.p, q);
	a->get = str_eq(e->u.req.method, STR("GET"));
	a->post = str_eq(e->u.req.method, STR("POST"));
	a->del = str_eq(e->u.req.method, STR("DELETE"));
	a->has_sid = e->u.req.sid.p != NULL;
	a->modern = modern_version(e->u.req.version);
	return a;
}

static void *
new(struct engine *e, const struct limits *lim)
{
	struct whos *w = xcalloc(1, sizeof *w);

	(void)e;
	w->max = lim->flows;
	idmap_init(&w->map);
	return w;
}

static void
event(void *arg, const struct ev *e)
{
	struct whos *w = arg;
	struct who *k;

	w->now = NULL;
	if (w->gone)
		drop(w, w->gone);
	if (e->type == EV_CONN) {
		k = get(w, e->conn);
		k->server = map_digest(e->u.conn.server.p, e->u.conn.server.n);
		k->host = host_of(e->u.conn.client);
		k->closed = 0;
		k->opened = e->flags & EVF_MIDSTREAM ? 0 : e->t;
	} else if (e->type == EV_REQUEST) {
		w->now = ask(get(w, e->conn), e);
	} else if (e->type == EV_CONN_END && (k = find(w, e->conn)) != NULL) {
		k->closed |= (uint8_t)(1 << (e->dir == EV_S2C));
		/* What its streams need was copied when they opened. */
		if (k->closed == 3)
			w->gone = k;
	}
}

static void
free_reader(void *arg)
{
	struct whos *w = arg;

	while (w->map.first)
		drop(w, (struct who *)w->map.first);
	idmap_fini(&w->map);
	free(w);
}

const struct reader who_reader = {
	.wants = RULE_WANTS(EV_CONN) | RULE_WANTS(EV_CONN_END) | RULE_WANTS(EV_REQUEST),
	.new = new, .event = event, .free = free_reader,
};

const struct who *
who_of(const struct whos *w, uint32_t conn)
{
	return find(w, conn);
}

const struct asked *
who_asked(const struct whos *w, uint32_t conn, uint32_t x)
{
	const struct who *k;

	if (w->now && w->now->x == x)
		return w->now;
	k = find(w, conn);
	for (uint32_t i = 0; k && i < k->n_asked && i < WHO_ASKED; i++)
		if (k->asked[i].x == x)
			return &k->asked[i];
	return NULL;
}

static bool
holds(struct str text, struct str word)
{
	for (; text.n >= word.n; text.p++, text.n--)
		if (str_ipre(text, word))
			return true;
	return false;
}

bool
says_unknown(uint32_t status, bool challenge, struct str code, struct str text)
{
	bool named = holds(text, STR("session")) || holds(text, STR("initializ"));

	if (str_eq(code, STR("-32601")))	/* the method, not the session */
		return false;
	switch (status) {
	case 404: case 410:
		return true;
	case 401:
		return !challenge && (code.p == NULL || named);
	case 400: case 500: case 503:
		return named;
	case 200:
		return named && (str_eq(code, STR("-32001")) ||
		    str_eq(code, STR("-32600")) || str_eq(code, STR("-32602")));
	default:
		return false;
	}
}
