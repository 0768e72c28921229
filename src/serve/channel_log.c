#include <stdlib.h>

#include "channel_priv.h"
#include "mcpdiag/xmem.h"

struct kept *
log_add(struct chan_log *l, struct str data)
{
	struct kept *k;

	l->at = xgrow(l->at, l->n, &l->cap, sizeof *l->at);
	k = &l->at[l->n++];
	*k = (struct kept){ l->next++, xmemdup0(data.p, data.n), data.n, 0 };
	l->bytes += data.n;
	return k;
}

void
log_trim(struct chan_log *l, uint32_t max, size_t max_bytes)
{
	uint32_t drop = 0;

	while (l->n - drop > 1 && (l->n - drop > max || l->bytes > max_bytes)) {
		l->bytes -= l->at[drop].n;
		free(l->at[drop++].data);
	}
	if (drop == 0)
		return;
	l->n -= drop;
	memmove(l->at, l->at + drop, l->n * sizeof *l->at);
}

void
log_fini(struct chan_log *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->at[i].data);
	free(l->at);
	*l = (struct chan_log){ .next = l->next };
}
