#include "conns.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

#define MAX_SESSIONS 64		/* named for one connection; beyond: anybody's */
#define END 19			/* bytes of an end in a key */

struct conn {
	uint32_t id, first_pkt;
	uint8_t key[2 * END];		/* both ends, the lesser first */
	uint32_t *sessions, n_sessions, cap_sessions;
	bool anybody, picked;
	uint8_t closed;			/* directions, a bit each */
	struct conn *prev, *next;
	UT_hash_handle hh;
};

struct conns {
	struct conn *table, *last;	/* last: looked up last */
	struct conn *live, *ended;	/* in order of appearance, of ending */
	uint32_t max;
	uint64_t forgot;
	struct conn **sorted;		/* by key and first packet */
	uint32_t n_sorted;
};

struct conns *
conns_new(uint32_t max)
{
	struct conns *c = xcalloc(1, sizeof *c);

	c->max = max;
	return c;
}

static void
unsort(struct conns *c)
{
	free(c->sorted);
	c->sorted = NULL;
	c->n_sorted = 0;
}

static void
drop(struct conns *c, struct conn *n)
{
	if (n->closed == 3)
		DL_DELETE(c->ended, n);
	else
		DL_DELETE(c->live, n);
	HASH_DEL(c->table, n);
	if (c->last == n)
		c->last = NULL;
	free(n->sessions);
	free(n);
}

void
conns_free(struct conns *c)
{
	if (c == NULL)
		return;
	while (c->ended)
		drop(c, c->ended);
	while (c->live)
		drop(c, c->live);
	unsort(c);
	free(c);
}

/* "127.0.0.1:80", "[::1]:80" as addr_print() writes them. */
static bool
parse_end(struct str s, struct addr *a)
{
	char ip[INET6_ADDRSTRLEN + 2];
	size_t colon = s.n;
	uint64_t port;
	struct str host;

	*a = (struct addr){ .port = 0 };
	while (colon > 0 && s.p[colon - 1] != ':')
		colon--;
	if (colon == 0 || !str_u64(str_of(s.p + colon, s.n - colon), &port) || port > 65535)
		return false;
	host = str_of(s.p, colon - 1);
	a->port = (uint16_t)port;
	a->v6 = host.n > 2 && host.p[0] == '[';
	if (a->v6)
		host = str_of(host.p + 1, host.n - 2);
	if (host.n >= sizeof ip)
		return false;
	memcpy(ip, host.p, host.n);
	ip[host.n] = '\0';
	return inet_pton(a->v6 ? AF_INET6 : AF_INET, ip, a->ip) == 1;
}

static void
put_end(uint8_t *key, const struct addr *a)
{
	key[0] = a->v6;
	memcpy(key + 1, a->ip, sizeof a->ip);
	key[17] = (uint8_t)(a->port >> 8);
	key[18] = (uint8_t)a->port;
}

static void
make_key(uint8_t key[2 * END], const struct addr *a, const struct addr *b)
{
	uint8_t swap[END];

	put_end(key, a);
	put_end(key + END, b);
	if (memcmp(key, key + END, END) <= 0)
		return;
	memcpy(swap, key, END);
	memcpy(key, key + END, END);
	memcpy(key + END, swap, END);
}

static void
add(struct conns *c, const struct ev *e)
{
	struct addr a, b;
	struct conn *n;

	if (!parse_end(e->u.conn.client, &a) || !parse_end(e->u.conn.server, &b))
		return;
	HASH_FIND(hh, c->table, &e->conn, sizeof e->conn, n);
	if (n)
		return;
	if (HASH_COUNT(c->table) >= c->max) {
		drop(c, c->ended ? c->ended : c->live);
		c->forgot++;
	}
	n = xcalloc(1, sizeof *n);
	n->id = e->conn;
	n->first_pkt = e->pkt;
	make_key(n->key, &a, &b);
	HASH_ADD(hh, c->table, id, sizeof n->id, n);
	DL_APPEND(c->live, n);
}

static struct conn *
find(struct conns *c, uint32_t id)
{
	struct conn *n;

	if (c->last && c->last->id == id)
		return c->last;
	HASH_FIND(hh, c->table, &id, sizeof id, n);
	if (n)
		c->last = n;
	return n;
}

static void
carries(struct conn *n, uint32_t session)
{
	uint32_t i;

	if (n->anybody)
		return;
	for (i = 0; i < n->n_sessions && n->sessions[i] != session; i++)
		;
	if (i == n->n_sessions) {
		n->anybody = i == MAX_SESSIONS;
		if (n->anybody)
			return;
		n->sessions = xgrow(n->sessions, i, &n->cap_sessions, sizeof *n->sessions);
		n->n_sessions++;
	}
	/* The next event is most likely of the same. */
	n->sessions[i] = n->sessions[0];
	n->sessions[0] = session;
}

void
conns_event(struct conns *c, const struct ev *e)
{
	struct conn *n;

	if (c->sorted)
		unsort(c);
	if (e->conn == 0)
		return;
	if (e->type == EV_CONN)
		add(c, e);
	n = find(c, e->conn);
	if (n == NULL)
		return;
	if (e->session)
		carries(n, e->session);
	if (e->type == EV_CONN_END && n->closed != 3) {
		n->closed |= (uint8_t)(1u << e->dir);
		if (n->closed == 3) {
			DL_DELETE(c->live, n);
			DL_APPEND(c->ended, n);
		}
	}
}

static int
cmp_conns(const void *a, const void *b)
{
	const struct conn *const *x = a, *const *y = b;
	int rc = memcmp((*x)->key, (*y)->key, sizeof (*x)->key);

	return rc ? rc : ((*x)->first_pkt > (*y)->first_pkt) -
	    ((*x)->first_pkt < (*y)->first_pkt);
}

static bool
carried(const struct conn *n, uint32_t session)
{
	bool found = session == 0 || n->anybody;

	for (uint32_t i = 0; !found && i < n->n_sessions; i++)
		found = n->sessions[i] == session;
	return found;
}

static int
cmp_u32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* How many different sessions the picked ones carried. */
static uint32_t
count_sessions(const struct conns *c)
{
	uint32_t *all = NULL, n = 0, cap = 0, different = 0;

	for (uint32_t i = 0; i < c->n_sorted; i++)
		for (uint32_t j = 0; c->sorted[i]->picked && j < c->sorted[i]->n_sessions; j++) {
			all = xgrow(all, n, &cap, sizeof *all);
			all[n++] = c->sorted[i]->sessions[j];
		}
	if (n)
		qsort(all, n, sizeof *all, cmp_u32);
	for (uint32_t i = 0; i < n; i++)
		different += i == 0 || all[i] != all[i - 1];
	free(all);
	return different;
}

void
conns_pick(struct conns *c, uint32_t session, struct conns_picked *out)
{
	struct conn *n, *tmp;

	*out = (struct conns_picked){ .forgot = c->forgot };
	unsort(c);
	c->sorted = xcalloc(HASH_COUNT(c->table) + 1, sizeof(void *));
	HASH_ITER(hh, c->table, n, tmp) {
		c->sorted[c->n_sorted++] = n;
		n->picked = carried(n, session);
		if (!n->picked)
			continue;
		out->n++;
		if (out->first_pkt == 0 || n->first_pkt < out->first_pkt)
			out->first_pkt = n->first_pkt;
	}
	qsort(c->sorted, c->n_sorted, sizeof(void *), cmp_conns);
	if (session && out->n) {
		uint32_t all = count_sessions(c);

		out->others = all ? all - 1 : 0;
	}
}

bool
conns_has(const struct conns *c, const struct addr *a, const struct addr *b, uint32_t pkt)
{
	struct conn want = { .first_pkt = pkt }, *at = &want;
	uint32_t lo = 0, hi = c->n_sorted;

	make_key(want.key, a, b);
	/* The last one that began at or before this packet. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cmp_conns(&c->sorted[mid], &at) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	at = c->sorted[lo - 1];
	return at->picked && memcmp(at->key, want.key, sizeof want.key) == 0;
}
