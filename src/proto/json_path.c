#include "json_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/json.h"
#include "mcpdiag/xmem.h"

#define ANY_LEVEL JSON_PATH_LEVELS	/* where nodes after "**" are listed */

/* One component of one path. */
struct part {
	uint64_t mask;		/* that path */
	const char *text;
	uint8_t len;
	bool prefix;
	bool last;		/* the path ends here */
};

static unsigned
bucket(uint8_t first, size_t n)
{
	return (first + 10 * (unsigned)n) % JSON_PATH_BUCKETS;
}

/* Reads the component at s; returns what follows it. */
static const char *
component(const char *s, struct part *c)
{
	char close = *s == '[' ? ']' : '.';
	const char *end;

	s += close == ']';
	end = strchr(s, close);
	if (end == NULL)
		end = s + strlen(s);
	c->text = s;
	c->len = (uint8_t)(end - s);
	if (close == ']') {
		assert(*end == ']');
		end++;
		c->prefix = *end == '*';
		end += c->prefix;
	} else {
		c->prefix = c->len > 0 && end[-1] == '*';
		c->len -= c->prefix;
	}
	assert(*end == '\0' || *end == '.');
	c->last = *end == '\0';
	assert(c->len > 0 && (c->last || !c->prefix));
	return end + !c->last;
}

static void
add_node(struct json_paths *ps, unsigned level, const struct part *c)
{
	struct json_level *l = &ps->level[level];
	uint8_t *list = c->prefix ? &l->prefix :
	    &l->exact[bucket((uint8_t)c->text[0], c->len)];
	unsigned i = l->first, end = l->first + l->n;
	struct json_node *d;

	while (i < end && !(ps->node[i].len == c->len &&
	    ps->node[i].prefix == c->prefix &&
	    memcmp(ps->node[i].text, c->text, c->len) == 0))
		i++;
	d = &ps->node[i];
	if (i == end) {
		assert(i < JSON_PATH_NODES);
		*d = (struct json_node){ .text = c->text, .len = c->len,
		    .prefix = c->prefix, .next = *list };
		*list = (uint8_t)i;
		l->n++;
	}
	if (c->last)
		d->ends |= c->mask;
	else
		d->below |= c->mask;
}

/* Adds the component of a path, whose bit is `mask`, that belongs to `level`,
 * if there is one. */
static void
add_level(struct json_paths *ps, const char *s, uint64_t mask, unsigned level)
{
	struct part c = { .mask = mask };

	assert(strlen(s) < 256);
	for (unsigned at = 0; !c.last; at++) {
		assert(at < JSON_PATH_LEVELS);
		if (strncmp(s, "**.", 3) == 0) {
			component(s + 3, &c);
			assert(c.last);
			if (level == ANY_LEVEL) {
				add_node(ps, level, &c);
				for (unsigned k = at; k <= ANY_LEVEL; k++)
					ps->level[k].deep |= mask;
				ps->multi |= mask;
			}
			return;
		}
		s = component(s, &c);
		if (at == level)
			add_node(ps, level, &c);
		if (c.prefix)
			ps->multi |= mask;
	}
}

struct json_paths *
json_paths_new(const char *const *paths, unsigned n)
{
	struct json_paths *ps;
	unsigned n_nodes = 1;

	assert(n <= JSON_MAX_PATHS);
	ps = xcalloc(1, sizeof *ps + JSON_PATH_NODES * sizeof ps->node[0]);
	for (unsigned level = 0; level <= ANY_LEVEL; level++) {
		ps->level[level].first = (uint8_t)n_nodes;
		for (unsigned i = 0; i < n; i++)
			add_level(ps, paths[i], 1ULL << i, level);
		n_nodes += ps->level[level].n;
	}
	ps = xrealloc(ps, sizeof *ps + n_nodes * sizeof ps->node[0]);
	for (unsigned level = 0; level <= ANY_LEVEL; level++) {
		struct json_level *l = &ps->level[level];

		l->more = l->prefix != 0 || l->deep != 0;
		l->paths = ps;
	}
	return ps;
}

void
json_paths_free(struct json_paths *ps)
{
	free(ps);
}

/* For 0 < n <= 16: most keys.  A call of memcmp() takes longer. */
static inline bool
same(const char *text, const uint8_t *b, size_t n)
{
	const uint8_t *a = (const uint8_t *)text;
	uint64_t a8[2], b8[2];
	uint32_t a4[2], b4[2];

	if (n >= 8) {
		memcpy(&a8[0], a, 8);
		memcpy(&b8[0], b, 8);
		memcpy(&a8[1], a + n - 8, 8);
		memcpy(&b8[1], b + n - 8, 8);
		return ((a8[0] ^ b8[0]) | (a8[1] ^ b8[1])) == 0;
	}
	if (n >= 4) {
		memcpy(&a4[0], a, 4);
		memcpy(&b4[0], b, 4);
		memcpy(&a4[1], a + n - 4, 4);
		memcpy(&b4[1], b + n - 4, 4);
		return ((a4[0] ^ b4[0]) | (a4[1] ^ b4[1])) == 0;
	}
	return a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1];
}

/* The paths in `act` that end at such a key, by the prefixes of a level. */
static uint64_t
prefixes(const struct json_level *l, uint64_t act, const uint8_t *key, size_t n)
{
	const struct json_node *d;
	uint64_t ends = 0;

	for (unsigned i = l->prefix; i; i = d->next) {
		d = &l->paths->node[i];
		if (n >= d->len && memcmp(d->text, key, d->len) == 0)
			ends |= d->ends & act;
	}
	return ends;
}

/* The component of a level that a key is. */
static const struct json_node *
find(const struct json_level *l, const uint8_t *key, size_t n)
{
	const struct json_node *d;

	for (unsigned i = l->exact[bucket(key[0], n)]; i; i = d->next) {
		d = &l->paths->node[i];
		if (d->len == n && memcmp(d->text, key, n) == 0)
			return d;
	}
	return NULL;
}

/* All that json_key() leaves to be done.  Kept apart from it: it would have
 * every key pay for its registers. */
__attribute__((noinline)) static struct json_sets
more(const struct json_level *l, uint64_t act, const uint8_t *key, size_t n)
{
	const struct json_level *any = &l->paths->level[ANY_LEVEL];
	const struct json_node *d = find(l, key, n);
	uint64_t deep = act & l->deep;
	struct json_sets s = { prefixes(l, act, key, n), deep };

	if (d != NULL) {
		s.ends |= d->ends & act;
		s.below |= d->below & act;
	}
	if (deep != 0) {
		d = find(any, key, n);
		s.ends |= prefixes(any, deep, key, n);
		if (d != NULL)
			s.ends |= d->ends & deep;
	}
	return s;
}

struct json_sets
json_key(const struct json_level *l, uint64_t act, const uint8_t *key, size_t n)
{
	const struct json_node *d;

	if (n > 16 || l->more)
		return more(l, act, key, n);
	for (unsigned i = l->exact[bucket(key[0], n)]; i; i = d->next) {
		d = &l->paths->node[i];
		if (d->len == n && same(d->text, key, n))
			return (struct json_sets){ d->ends & act,
			    d->below & act };
	}
	return (struct json_sets){ 0, 0 };
}

static uint64_t
listed(const struct json_level *l, uint64_t act)
{
	const struct json_node *node = l->paths->node;
	uint64_t nodes = 0;

	for (unsigned i = l->first; i < (unsigned)l->first + l->n; i++)
		if ((node[i].ends | node[i].below) & act)
			nodes |= 1ULL << i;
	return nodes;
}

uint64_t
json_key_begin(const struct json_level *l, uint64_t act)
{
	return listed(l, act) |
	    listed(&l->paths->level[ANY_LEVEL], act & l->deep);
}

static bool
fits(const struct json_node *d, size_t at, const void *p, size_t n, bool last)
{
	size_t left = at < d->len ? d->len - at : 0;

	if (d->prefix ? last && n < left : n > left || (last && n < left))
		return false;
	return memcmp(d->text + (d->len - left), p, n < left ? n : left) == 0;
}

uint64_t
json_key_part(const struct json_level *l, uint64_t nodes, size_t at,
    const void *p, size_t n, bool last)
{
	for (uint64_t todo = nodes; todo != 0; todo &= todo - 1) {
		unsigned i = (unsigned)__builtin_ctzll(todo);

		if (!fits(&l->paths->node[i], at, p, n, last))
			nodes &= ~(1ULL << i);
	}
	return nodes;
}

struct json_sets
json_key_end(const struct json_level *l, uint64_t act, uint64_t nodes)
{
	struct json_sets s = { 0, act & l->deep };

	for (; nodes != 0; nodes &= nodes - 1) {
		const struct json_node *d =
		    &l->paths->node[__builtin_ctzll(nodes)];

		s.ends |= d->ends & act;
		s.below |= d->below & act;
	}
	return s;
}
