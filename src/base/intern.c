#include "mcpdiag/intern.h"

#include <stdlib.h>

#include "mcpdiag/map.h"

struct interned {
	UT_hash_handle hh;
	size_t refs, n;
	char text[];
};

char *
intern_get(struct intern *in, struct str s)
{
	struct interned *e;

	if (s.p == NULL)
		return NULL;
	HASH_FIND(hh, in->table, s.p, s.n, e);
	if (e == NULL) {
		e = xmalloc(sizeof *e + s.n + 1);
		e->refs = 0;
		e->n = s.n;
		if (s.n)
			memcpy(e->text, s.p, s.n);
		e->text[s.n] = '\0';
		HASH_ADD_KEYPTR(hh, in->table, e->text, s.n, e);
	}
	e->refs++;
	return e->text;
}

void
intern_put(struct intern *in, char *text)
{
	struct interned *e;

	if (text == NULL)
		return;
	e = (struct interned *)(void *)(text - offsetof(struct interned, text));
	if (--e->refs > 0)
		return;
	HASH_DEL(in->table, e);
	free(e);
}

size_t
intern_count(const struct intern *in)
{
	return HASH_COUNT(in->table);
}
