#include <stdlib.h>

#include "timeline_priv.h"

uint32_t
timeline_hide(struct timeline *tl, bool (*hide)(void *, const struct finding *), void *arg)
{
	uint32_t n = 0, before = tl->n_findings;

	for (uint32_t i = 0; i < before; i++) {
		const struct finding *f = tl->findings[i];

		if (hide(arg, f))
			tl->n_hidden += f->severity != SEV_INFO;
		else
			tl->findings[n++] = f;
	}
	tl->n_findings = n;
	return before - n;
}

uint32_t
timeline_hidden(const struct timeline *tl)
{
	return tl->n_hidden;
}
