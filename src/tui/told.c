#include "told.h"

#include <stdlib.h>
#include <string.h>

#include "mcpdiag/xmem.h"

struct told_one {
	struct finding f;
	char *text;			/* of its strings */
	uint32_t *numbers;		/* streams, then sessions alike */
};

static void
free_one(struct told_one *o)
{
	free(o->text);
	free(o->numbers);
	free(o);
}

void
told_fini(struct told *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free_one(t->all[i]);
	free(t->all);
	*t = (struct told){ 0 };
}

static size_t
text_size(const struct finding *f)
{
	size_t n = f->title.n + f->why.n + f->fix.n;

	for (uint32_t i = 0; i < f->n_evidence; i++)
		n += f->evidence[i].what.n;
	for (uint32_t i = 0; i < f->n_facts; i++)
		n += f->facts[i].text.n;
	return n;
}

static void
move(struct str *s, char **to)
{
	if (s->p == NULL)
		return;
	if (s->n)
		memcpy(*to, s->p, s->n);
	s->p = *to;
	*to += s->n;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t na = *(const uint32_t *)a, nb = *(const uint32_t *)b;

	return na < nb ? -1 : na > nb;
}

/* Sessions alike are put in order: there may be thousands, to be looked up. */
static struct told_one *
copy(const struct finding *f)
{
	struct told_one *o = xmalloc(sizeof *o);
	char *to;

	o->f = *f;
	o->text = to = xmalloc(text_size(f));
	move(&o->f.title, &to);
	move(&o->f.why, &to);
	move(&o->f.fix, &to);
	for (uint32_t i = 0; i < f->n_evidence; i++)
		move(&o->f.evidence[i].what, &to);
	for (uint32_t i = 0; i < f->n_facts; i++)
		move(&o->f.facts[i].text, &to);
	o->numbers = xcalloc((size_t)f->n_streams + f->sessions_alike, sizeof *o->numbers);
	if (f->n_streams)
		memcpy(o->numbers, f->streams, f->n_streams * sizeof *o->numbers);
	if (f->sessions_alike)
		memcpy(o->numbers + f->n_streams, f->alike,
		    f->sessions_alike * sizeof *o->numbers);
	if (f->sessions_alike)
		qsort(o->numbers + f->n_streams, f->sessions_alike, sizeof *o->numbers,
		    by_number);
	o->f.streams = o->numbers;
	o->f.alike = o->numbers + f->n_streams;
	return o;
}

static bool
same(const struct finding *a, const struct finding *b)
{
	return a->session == b->session && strcmp(a->detector, b->detector) == 0 &&
	    str_eq(str_c(a->variant), str_c(b->variant));
}

bool
told_event(struct told *t, const struct ev *e)
{
	const struct finding *f = e->u.finding;
	uint32_t i;

	if (f == NULL)
		return false;
	if ((e->flags & EVF_FINAL) && !t->final) {
		told_fini(t);
		t->final = true;
	}
	for (i = 0; i < t->n && !t->final; i++) {
		if (!same(&t->all[i]->f, f))
			continue;
		t->n_severity[t->all[i]->f.severity]--;
		t->n_severity[f->severity]++;
		free_one(t->all[i]);
		t->all[i] = copy(f);
		return true;
	}
	if (t->n == TOLD_MAX) {
		t->more++;
		return true;
	}
	t->all = xgrow(t->all, t->n, &t->cap, sizeof(void *));
	t->all[t->n++] = copy(f);
	t->n_severity[f->severity]++;
	return true;
}

static bool
is_of(const struct finding *f, uint32_t session)
{
	if (session == 0 || f->session == session)
		return true;
	return f->sessions_alike && bsearch(&session, f->alike, f->sessions_alike,
	    sizeof *f->alike, by_number) != NULL;
}

const struct finding *
told_get(const struct told *t, uint32_t session, uint32_t n)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (is_of(&t->all[i]->f, session) && n-- == 0)
			return &t->all[i]->f;
	return NULL;
}

void
told_count(const struct told *t, uint32_t session, uint32_t n[3])
{
	memset(n, 0, 3 * sizeof *n);
	for (uint32_t i = 0; i < t->n; i++)
		n[t->all[i]->f.severity] += is_of(&t->all[i]->f, session);
}
