#include "mcpdiag/model.h"

#include <stdlib.h>

#include "mcpdiag/fingerprint.h"
#include "model_priv.h"

#define MAX_SET 1024		/* bytes kept of a name or version */

void
secret_print(const struct model *m, struct str raw, struct buf *out)
{
	if (raw.p == NULL)
		return;
	if (m->show_secrets)
		(void)buf_adds(out, raw);
	else {
		uint64_t h = map_digest(raw.p, raw.n);
		char hex[11] = "#";

		for (unsigned i = 1; i < sizeof hex; i++, h <<= 4)
			hex[i] = "0123456789abcdef"[h >> 60];
		(void)buf_add(out, hex, sizeof hex);
	}
}

/* Session ids and tokens travel in queries: of each value its hash is shown. */
void
target_print(const struct model *m, struct str raw, struct buf *out)
{
	size_t q = str_find(raw, STR("?")), end;

	if (q == SIZE_MAX || m->show_secrets) {
		(void)buf_adds(out, raw);
		return;
	}
	(void)buf_add(out, raw.p, ++q);
	while (q < raw.n) {
		struct str rest = str_of(raw.p + q, raw.n - q);

		end = str_find(rest, STR("&"));
		if (end != SIZE_MAX)
			rest.n = end;
		end = str_find(rest, STR("="));
		if (end == SIZE_MAX)
			secret_print(m, rest, out);
		else {
			(void)buf_add(out, rest.p, end + 1);
			secret_print(m, str_of(rest.p + end + 1, rest.n - end - 1), out);
		}
		q += rest.n;
		if (q < raw.n && raw.p[q++] == '&')
			(void)buf_addc(out, '&');
	}
}

void
session_set(char **field, struct str value)
{
	free(*field);
	*field = value.p ? xmemdup0(value.p, value.n < MAX_SET ? value.n : MAX_SET) : NULL;
}

static void
free_tables(struct session *s)
{
	idtab_fini(&s->ids);
	idtab_fini(&s->reqs);
	free(s->ended);
	s->ended = NULL;
	s->n_ended = s->cap_ended = 0;
}

/* What comes on a session after its end is still known as such, but not for
 * ever: so many of the ended ones are kept. */
#define MAX_DEAD 1024

static void
leave_dead(struct model *m, struct session *s)
{
	if (!s->dead)
		return;
	s->dead = false;
	DL_DELETE2(m->dead, s, dprev, dnext);
	m->n_dead--;
}

static void
remove_session(struct model *m, struct session *s)
{
	leave_dead(m, s);
	s->ep->n_refs--;
	HASH_DEL(m->sessions, s);
	DL_DELETE(m->s_lru, s);
	free_tables(s);
	free(s->key);
	free(s->shown);
	free(s->revision);
	free(s->client);
	free(s->server);
	free(s->agent);
	free(s);
}

static void
session_touch(struct model *m, struct session *s)
{
	if (m->s_lru->prev == s)	/* already the newest */
		return;
	DL_DELETE(m->s_lru, s);
	DL_APPEND(m->s_lru, s);
}

/* One that may go: an ended one first, then the longest idle.  Those that
 * something is open on are in use; when all are, there is none, and that many
 * connections have a limit of their own. */
static struct session *
idle_session(struct model *m)
{
	if (m->dead)
		return m->dead;
	for (unsigned looked = 0; looked < 64; looked++) {
		if (m->s_lru->refs == 0)
			return m->s_lru;
		session_touch(m, m->s_lru);
	}
	return NULL;
}

static void
make_room(struct model *m)
{
	struct session *victim;

	if (HASH_COUNT(m->sessions) < m->lim.sessions)
		return;
	victim = idle_session(m);
	if (victim)
		remove_session(m, victim);
	if (!m->sessions_full) {
		m->sessions_full = true;
		model_note(m, "limit", "more sessions than --limit sessions=; the "
		    "longest idle ones are forgotten", (struct at){ 0, 0 });
	}
}

void
model_shed(struct model *m)
{
	struct session *s, *tmp;
	unsigned n = 0;

	endpoints_shed(m);
	DL_FOREACH(m->s_lru, s) {
		n += s->refs == 0;
	}
	n = (n + 1) / 2;
	DL_FOREACH_SAFE(m->s_lru, s, tmp) {
		if (n == 0)
			break;
		if (s->refs)
			continue;
		n--;
		remove_session(m, s);
	}
}

static struct session *
get(struct model *m, struct endpoint *ep, char kind, struct str id, bool make)
{
	char key[512];
	size_t n = strlen(ep->name), rest;
	struct buf shown;
	struct session *s;
	uint64_t digest;

	key[0] = kind;
	n = n < sizeof key / 2 ? n : sizeof key / 2;
	memcpy(key + 1, ep->name, n);
	key[++n] = ' ';
	n++;
	rest = sizeof key - n;
	if (id.n > rest) {		/* absurdly long: its digest will do */
		digest = map_digest(id.p, id.n);
		memcpy(key + n, &digest, sizeof digest);
		n += sizeof digest;
	} else if (id.n) {
		memcpy(key + n, id.p, id.n);
		n += id.n;
	}
	HASH_FIND(hh, m->sessions, key, n, s);
	if (s || !make) {
		if (s)
			session_touch(m, s);
		return s;
	}
	make_room(m);
	s = xcalloc(1, sizeof *s);
	s->n = ++m->n_session;
	s->ep = ep;
	ep->n_refs++;
	s->key = xmemdup0(key, n);
	s->retry_ms = -1;
	idtab_init(&s->ids, (uint32_t)m->lim.ids);
	idtab_init(&s->reqs, (uint32_t)m->lim.ids);
	buf_init(&shown, 4096);
	if (kind == '~')
		(void)buf_addc(&shown, '~');
	secret_print(m, id, &shown);
	s->shown = xmemdup0(shown.p, shown.n);
	HASH_ADD_KEYPTR(hh, m->sessions, s->key, n, s);
	DL_APPEND(m->s_lru, s);
	buf_fini(&shown);
	return s;
}

struct session *
session_by_sid(struct model *m, struct endpoint *ep, struct str sid, struct at at)
{
	struct session *s = get(m, ep, 's', sid, true);

	if (!s->told) {
		s->transport = EV_STREAMABLE;
		s->sid_shape = fingerprint_sid(sid);
		session_tell(m, s, at);
	}
	return s;
}

/* The path and query of an endpoint URI; it may be absolute. */
static struct str
path_of(struct str uri)
{
	size_t scheme = str_find(uri, STR("://"));

	if (scheme != SIZE_MAX && scheme < 8) {
		uri.p += scheme + 3;
		uri.n -= scheme + 3;
		while (uri.n && uri.p[0] != '/') {
			uri.p++;
			uri.n--;
		}
	}
	return uri;
}

struct session *
session_by_uri(struct model *m, struct endpoint *ep, struct str uri, struct at at)
{
	struct session *s = get(m, ep, 'u', path_of(uri), true);

	if (!s->told) {
		s->transport = EV_LEGACY_SSE;
		session_tell(m, s, at);
	}
	return s;
}

struct session *
session_find_uri(struct model *m, struct endpoint *ep, struct str target)
{
	return get(m, ep, 'u', path_of(target), false);
}

/* spec-rules 3.3: without a session id, the client is its address, its
 * authorisation and its software.  Several windows of one product behind one
 * address are one such client: what hangs on it is marked inferred. */
static struct session *
logical(struct model *m, struct mexch *x, bool make)
{
	const char *addr = x->conn->client, *colon = strrchr(addr, ':');
	struct session *s;
	struct buf id;

	buf_init(&id, 4096);
	(void)buf_add(&id, addr, colon ? (size_t)(colon - addr) : strlen(addr));
	(void)buf_fmt(&id, " %016llx %s", (unsigned long long)x->auth,
	    x->agent ? x->agent : "");
	s = get(m, x->conn->ep, '~', buf_str(&id), make);
	buf_fini(&id);
	return s;
}

struct session *
session_find_logical(struct model *m, struct mexch *x)
{
	return logical(m, x, false);
}

struct session *
session_logical(struct model *m, struct mexch *x, struct at at)
{
	struct session *s = logical(m, x, true);

	if (!s->told) {
		s->transport = EV_STREAMABLE;
		s->inferred = true;
		session_tell(m, s, at);
	}
	return s;
}

bool
session_has_sid(const struct session *s, struct str id)
{
	size_t n = s->hh.keylen;

	return s->key[0] == 's' && id.n >= 16 && n > id.n && s->key[n - id.n - 1] == ' ' &&
	    memcmp(s->key + n - id.n, id.p, id.n) == 0;
}

void
session_forgot(struct model *m, const struct session *s)
{
	if (m->ids_full || !(s->ids.forgot || s->reqs.forgot))
		return;
	m->ids_full = true;
	model_note(m, "ids", "more event or request ids in one session than --limit "
	    "ids=; the oldest are forgotten, and what repeats after that long is not "
	    "recognised", (struct at){ 0, 0 });
}

void
session_hold(struct model *m, struct mexch *x, struct session *s)
{
	if (x->s)
		session_drop(m, x);
	x->s = s;
	x->session_n = s ? s->n : 0;
	if (s) {
		s->refs++;
		leave_dead(m, s);
	}
}

void
session_drop(struct model *m, struct mexch *x)
{
	struct session *s = x->s;

	if (s == NULL)
		return;
	s->refs--;
	x->s = NULL;
	if (!s->deleted || s->refs || s->dead)
		return;
	free_tables(s);
	s->dead = true;
	DL_APPEND2(m->dead, s, dprev, dnext);
	if (++m->n_dead > MAX_DEAD)
		remove_session(m, m->dead);
}

void
session_tell(struct model *m, struct session *s, struct at at)
{
	struct ev e = { .type = EV_SESSION, .t = at.t, .pkt = at.pkt, .session = s->n };
	struct buf looks, evidence, clooks, cevidence;

	s->told = true;
	s->told_signs = s->signs;
	s->told_csigns = s->csigns;
	buf_init(&looks, 512);
	buf_init(&evidence, 1024);
	buf_init(&clooks, 512);
	buf_init(&cevidence, 1024);
	fingerprint_server(s->signs, s->sid_shape, &looks, &evidence);
	fingerprint_client(str_c(s->agent), str_c(s->client), s->csigns, &clooks,
	    &cevidence);
	e.flags = s->inferred ? EVF_INFERRED : 0;
	e.u.session.key = str_c(s->shown);
	e.u.session.transport = s->transport;
	e.u.session.revision = str_c(s->revision);
	e.u.session.offered = s->offered;
	e.u.session.client = str_c(s->client);
	e.u.session.server = str_c(s->server);
	e.u.session.endpoint = str_c(s->ep->name);
	e.u.session.list_changed = s->list_changed;
	if (looks.n) {
		e.u.session.looks_like = buf_str(&looks);
		e.u.session.evidence = buf_str(&evidence);
	}
	if (clooks.n) {
		e.u.session.client_looks_like = buf_str(&clooks);
		e.u.session.client_evidence = buf_str(&cevidence);
	}
	model_emit(m, s->ep, &e);
	buf_fini(&looks);
	buf_fini(&evidence);
	buf_fini(&clooks);
	buf_fini(&cevidence);
}

void
sessions_fini(struct model *m)
{
	while (m->s_lru)
		remove_session(m, m->s_lru);
}
