#include "mcpdiag/keep.h"

#include <stdlib.h>
#include <string.h>

#include "mcpdiag/xmem.h"

struct kept {
	struct kept *before;
	char text[];
};

struct str
keep_str(struct keep *k, struct str s)
{
	struct kept *e;

	if (s.p == NULL)
		return STR_NONE;
	e = xmalloc(sizeof *e + s.n + 1);
	e->before = k->last;
	k->last = e;
	k->bytes += sizeof *e + s.n + 1;
	if (s.n > 0)
		memcpy(e->text, s.p, s.n);
	e->text[s.n] = '\0';
	return str_of(e->text, s.n);
}

void
keep_fini(struct keep *k)
{
	while (k->last) {
		struct kept *e = k->last;

		k->last = e->before;
		free(e);
	}
	k->bytes = 0;
}
