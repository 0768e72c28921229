#include "rule_util.h"

#include <stdlib.h>

#include "mcpdiag/xmem.h"

static int
cmp_ns(const void *a, const void *b)
{
	const ns_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

ns_t
median(const ns_t *v, uint32_t n, ns_t *min, ns_t *max)
{
	ns_t *copy = xmalloc(n * sizeof *copy), mid;

	memcpy(copy, v, n * sizeof *copy);
	qsort(copy, n, sizeof *copy, cmp_ns);
	*min = copy[0];
	*max = copy[n - 1];
	mid = copy[n / 2];
	free(copy);
	return mid;
}

bool
is_listener(const struct ev *e)
{
	switch (e->u.stream.kind) {
	case EV_STANDALONE:
	case EV_RESUMED:
	case EV_LEGACY:
		return e->session != 0;
	case EV_POST_RESPONSE:
	case EV_LISTEN:
	case EV_UNKNOWN_KIND:
		break;
	}
	return false;
}
