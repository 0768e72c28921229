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

void *
ring_room(void *ring, uint32_t n, uint32_t max, uint32_t *cap, size_t size)
{
	return n < max ? xgrow(ring, n, cap, size) : ring;
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

static void
shed(void *arg)
{
	struct keeper *kp = arg;

	for (uint32_t n = (kp->map.n + 1) / 2; n > 0; n--)
		keeper_drop(kp, (struct kept *)kp->map.first);
}

void
keeper_init(struct keeper *kp, struct engine *e, uint64_t max,
    void (*free_session)(struct kept *))
{
	*kp = (struct keeper){ .max = max, .free = free_session };
	idmap_init(&kp->map);
	engine_sheds(e, shed, kp);
}

void
keeper_add(struct keeper *kp, struct kept *k, uint32_t session)
{
	if (kp->map.n && kp->map.n >= kp->max)
		keeper_drop(kp, (struct kept *)kp->map.first);	/* the oldest */
	k->session = session;
	idmap_put(&kp->map, &k->node, session);
}

void *
keeper_get(struct keeper *kp, uint32_t session, size_t size)
{
	struct kept *k = keeper_find(kp, session);

	if (k)
		return k;
	k = xcalloc(1, size);
	keeper_add(kp, k, session);
	return k;
}

void
keeper_drop(struct keeper *kp, struct kept *k)
{
	kp->recent = kp->recent == k ? NULL : kp->recent;
	idmap_del(&kp->map, &k->node);
	kp->free(k);
}

void
keeper_fini(struct keeper *kp)
{
	while (kp->map.first)
		keeper_drop(kp, (struct kept *)kp->map.first);
	idmap_fini(&kp->map);
}
