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

struct kept *
keeper_find(struct keeper *kp, uint32_t session)
{
	struct kept *k = kp->recent;

	if (k && k->session == session)		/* events come in runs of one */
		return k;
	HASH_FIND(hh, kp->table, &session, sizeof session, k);
	kp->recent = k ? k : kp->recent;
	return k;
}

void
keeper_add(struct keeper *kp, struct kept *k, uint32_t session)
{
	if (HASH_COUNT(kp->table) >= kp->max)
		keeper_drop(kp, kp->table);	/* the oldest */
	k->session = session;
	HASH_ADD(hh, kp->table, session, sizeof k->session, k);
}

void
keeper_drop(struct keeper *kp, struct kept *k)
{
	kp->recent = kp->recent == k ? NULL : kp->recent;
	HASH_DEL(kp->table, k);
	kp->free(k);
}

void
keeper_fini(struct keeper *kp)
{
	while (kp->table)
		keeper_drop(kp, kp->table);
}
