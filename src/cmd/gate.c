#include "gate.h"

#include <stdlib.h>

#include "complain.h"
#include "mcpdiag/explain.h"
#include "mcpdiag/rule.h"
#include "mcpdiag/xmem.h"
#include "opts.h"

static void
list_fini(struct gate_list *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		free(l->names[i].detector);
		free(l->names[i].variant);
	}
	free(l->names);
	*l = (struct gate_list){ 0 };
}

void
gate_fini(struct gate *g)
{
	list_fini(&g->only);
	list_fini(&g->ignore);
}

void
gate_names(struct gate_names *names)
{
	const size_t max = sizeof names->name / sizeof *names->name - 1;
	size_t n = 0;

	for (const struct explain *e; n < max && (e = explain_at((unsigned)n)) != NULL; n++)
		names->name[n] = e->detector;
	names->name[n] = NULL;
}

/* Whether a list names all of a detector, or with `some` any variant of it. */
static bool
names_it(const struct gate_list *l, const char *detector, bool some)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i].detector, detector) == 0 &&
		    (some || l->names[i].variant == NULL))
			return true;
	return false;
}

void
gate_looked_for(const struct gate *g, struct gate_names *names)
{
	const size_t max = sizeof names->name / sizeof *names->name - 1;
	size_t n = 0;

	for (size_t i = 0; rules_table[i] && n < max; i++) {
		const char *name = rules_table[i]->name;

		if ((g->only.n == 0 || names_it(&g->only, name, true)) &&
		    !names_it(&g->ignore, name, false))
			names->name[n++] = name;
	}
	names->name[n] = NULL;
}

static void
no_detector(const char *option, const char *word)
{
	struct gate_names names;
	const char *near;

	gate_names(&names);
	near = opts_nearest(word, names.name);
	if (near)
		complain("mcpdiag analyze: %s: no detector %s; did you mean %s?", option,
		    word, near);
	else
		complain("mcpdiag analyze: %s: no detector %s; `mcpdiag explain` lists "
		    "them", option, word);
}

bool
gate_add(struct gate_list *l, const char *option, const char *arg)
{
	for (const char *p = arg;; p++) {
		size_t n = strcspn(p, ","), k = strcspn(p, ",/");
		struct gate_name name = { xmemdup0(p, k), NULL };

		if (explain_find(name.detector) == NULL) {
			no_detector(option, name.detector);
			free(name.detector);
			return false;
		}
		if (k < n)
			name.variant = xmemdup0(p + k + 1, n - k - 1);
		l->names = xgrow(l->names, l->n, &l->cap, sizeof name);
		l->names[l->n++] = name;
		p += n;
		if (*p == '\0')
			return true;
	}
}

static bool
lists(const struct gate_list *l, const struct finding *f)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i].detector, f->detector) == 0 &&
		    (l->names[i].variant == NULL ||
		    str_eq(str_c(l->names[i].variant), str_c(f->variant))))
			return true;
	return false;
}

bool
gate_passes(const struct gate *g, const struct finding *f)
{
	return (g->only.n == 0 || lists(&g->only, f)) && !lists(&g->ignore, f);
}
