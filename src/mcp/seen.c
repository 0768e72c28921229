#include "seen.h"

#include <stdio.h>
#include <string.h>

void
seen_init(struct seen *s, const struct limits *lim)
{
	idtab_init(&s->ends, (uint32_t)lim->streams * 4);
	idtab_init(&s->posts, (uint32_t)lim->sessions);
	idtab_init(&s->ok, (uint32_t)lim->sessions);
	idtab_init(&s->bad, (uint32_t)lim->sessions);
}

void
seen_fini(struct seen *s)
{
	idtab_fini(&s->ends);
	idtab_fini(&s->posts);
	idtab_fini(&s->ok);
	idtab_fini(&s->bad);
}

static void
set_time(struct idtab *t, uint32_t session, ns_t when)
{
	struct idrec *r;
	int fresh;

	r = idtab_put(t, session, &fresh);
	r->a = (uint32_t)((uint64_t)when >> 32);
	r->b = (uint32_t)when;
}

static ns_t
get_time(const struct idtab *t, uint32_t session)
{
	const struct idrec *r = idtab_get(t, session);

	return r ? (ns_t)((uint64_t)r->a << 32 | r->b) : INT64_MIN;
}

static void
on_response(struct seen *s, const struct ev *e)
{
	struct idrec *r = e->session ? idtab_get(&s->posts, e->session) : NULL;
	uint32_t status = e->u.resp.status;

	if (r == NULL || r->a != e->x)
		return;
	r->b = status / 100 == 2 ? r->b : status;
	set_time(status / 100 == 2 ? &s->ok : &s->bad, e->session, e->t);
}

void
seen_event(struct seen *s, const struct ev *e)
{
	int fresh;

	if (e->type == EV_REQUEST) {
		if (e->session && str_eq(e->u.req.method, STR("POST")))
			idtab_put(&s->posts, e->session, &fresh)->a = e->x;
	} else if (e->type == EV_RESPONSE) {
		on_response(s, e);
	} else if (e->type == EV_STREAM_END) {
		idtab_put(&s->ends, e->stream, &fresh)->a = (uint32_t)e->u.stream_end.end + 1;
	}
}

/* ---- in words ---- */

static void
add(char *text, size_t size, uint32_t n, const char *what)
{
	size_t used = strlen(text);

	(void)snprintf(text + used, size - used, "%s%u %s", used ? ", " : "", n, what);
}

static bool
mentions(const struct finding *f, const char *word)
{
	return str_find(f->why, str_c(word)) != SIZE_MAX ||
	    str_find(f->title, str_c(word)) != SIZE_MAX;
}

static bool
has_fact(const struct finding *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_facts; i++)
		if (strcmp(f->facts[i].name, name) == 0)
			return true;
	return false;
}

static void
say_ends(const struct seen *s, struct draft *d, const struct finding *f)
{
	static const struct {
		enum ev_end end;
		const char *words;
	} order[] = {
		{ EV_COMPLETE, "ended by the server with the terminator" },
		{ EV_TRUNCATED, "ended by the server's side without terminator" },
		{ EV_CLIENT, "closed by the client" },
		{ EV_LOST, "of an end that is not in the capture" },
		{ EV_OPEN, "still open" },
	};
	uint32_t count[EV_OPEN + 1] = { 0 };
	char fact[96] = "", words[256] = "";
	bool server, client;

	for (uint32_t i = 0; i < f->n_streams; i++) {
		const struct idrec *r = idtab_get(&s->ends, f->streams[i]);

		count[r && r->a ? r->a - 1 : EV_OPEN]++;
	}
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		uint32_t k = count[order[i].end];

		if (k == 0)
			continue;
		add(fact, sizeof fact, k, ev_end_names[order[i].end]);
		add(words, sizeof words, k, order[i].words);
	}
	server = count[EV_COMPLETE] + count[EV_TRUNCATED] > 0;
	client = count[EV_CLIENT] > 0;
	draft_text(d, "ends", str_c(fact));
	if ((server || client) && !has_fact(f, "first_closer"))
		draft_text(d, "first_closer", server && client ? STR("both") : server ?
		    STR("server") : STR("client"));
	if (!mentions(f, "terminator"))
		draft_why(d, "%.*s  Its stream%s: %s.", STR_ARG(f->why),
		    f->n_streams == 1 ? "" : "s", words);
}

/* Whether POSTs still worked: what became of the last ones since the finding began. */
static void
say_posts(const struct seen *s, struct draft *d, const struct finding *f)
{
	ns_t ok = get_time(&s->ok, f->session), bad = get_time(&s->bad, f->session);
	const struct idrec *r = idtab_get(&s->posts, f->session);
	const char *words = "The session had no POST meanwhile.";
	char fact[32] = "none", text[64];

	if (ok >= f->first.t && ok >= bad) {
		(void)snprintf(fact, sizeof fact, "answered");
		words = "POSTs of the session were answered meanwhile.";
	} else if (bad >= f->first.t) {
		(void)snprintf(fact, sizeof fact, "refused with %u", r ? r->b : 0);
		(void)snprintf(text, sizeof text, "The session's last POST was %s.", fact);
		words = text;
	}
	draft_text(d, "session_posts", str_c(fact));
	if (!mentions(f, "POST"))
		draft_why(d, "%.*s  %s", STR_ARG(f->why), words);
}

void
seen_say(const struct seen *s, struct draft *d, const struct finding *f)
{
	if (f->session == 0 || f->n_streams == 0)
		return;
	say_ends(s, d, f);
	say_posts(s, d, f);
}
