#include "json_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/json.h"
#include "mcpdiag/xmem.h"

#define MAX_NODES 64
#define ANY_LEVEL JSON_PATH_LEVELS	/* where nodes after "**" are listed */

/* One component, shared by all paths that have it at the same level. */
struct node {
	uint64_t mask;		/* those paths */
	uint8_t path, off, len;	/* its text, in one of them */
	char first;		/* ... and the first byte of that */
	bool prefix;		/* keys that start so */
	bool last;		/* the paths end here */
	uint8_t from;		/* after "**": the level where that begins */
};

struct json_paths {
	const char *const *text;
	/* Nodes of level i are [first[i], first[i + 1]). */
	uint8_t first[JSON_PATH_LEVELS + 2];
	uint64_t deep[JSON_PATH_LEVELS + 1];
	uint64_t multi;
	struct node node[];
};

/* Reads the component at `off`; returns the offset of what follows it. */
static size_t
component(const char *s, size_t off, struct node *c)
{
	char close = s[off] == '[' ? ']' : '.';
	const char *end;

	off += close == ']';
	end = strchr(s + off, close);
	if (end == NULL)
		end = s + strlen(s);
	c->off = (uint8_t)off;
	c->len = (uint8_t)(end - s - (ptrdiff_t)off);
	off += c->len;
	if (close == ']') {
		assert(*end == ']');
		off++;
		c->prefix = s[off] == '*';
		off += c->prefix;
	} else {
		c->prefix = c->len > 0 && end[-1] == '*';
		c->len -= c->prefix;
	}
	assert(s[off] == '\0' || s[off] == '.');
	c->last = s[off] == '\0';
	assert(c->len > 0 && (c->last || !c->prefix));
	c->first = s[c->off];
	return off + !c->last;
}

static void
add_node(struct json_paths *ps, unsigned level, const struct node *c)
{
	unsigned n = ps->first[level + 1];

	for (unsigned i = ps->first[level]; i < n; i++) {
		struct node *d = &ps->node[i];

		if (d->len == c->len && d->prefix == c->prefix &&
		    d->last == c->last && d->from == c->from &&
		    memcmp(ps->text[d->path] + d->off,
		    ps->text[c->path] + c->off, c->len) == 0) {
			d->mask |= c->mask;
			return;
		}
	}
	assert(n < MAX_NODES);
	ps->node[n] = *c;
	ps->first[level + 1]++;
}

/* Adds the component of path i that belongs to `level`, if there is one. */
static void
add_level(struct json_paths *ps, unsigned i, unsigned level)
{
	const char *s = ps->text[i];
	struct node c = { .mask = 1ULL << i, .path = (uint8_t)i };
	size_t off = 0;

	assert(strlen(s) < 256);
	for (unsigned at = 0; !c.last; at++) {
		assert(at < JSON_PATH_LEVELS);
		if (strncmp(s + off, "**.", 3) == 0) {
			component(s, off + 3, &c);
			assert(c.last);
			c.from = (uint8_t)at;
			if (level == ANY_LEVEL) {
				add_node(ps, level, &c);
				for (unsigned k = at; k <= JSON_PATH_LEVELS; k++)
					ps->deep[k] |= c.mask;
				ps->multi |= c.mask;
			}
			return;
		}
		off = component(s, off, &c);
		if (at == level)
			add_node(ps, level, &c);
		if (c.prefix)
			ps->multi |= c.mask;
	}
}

struct json_paths *
json_paths_new(const char *const *paths, unsigned n)
{
	struct json_paths *ps;

	assert(n <= JSON_MAX_PATHS);
	ps = xcalloc(1, sizeof *ps + MAX_NODES * sizeof ps->node[0]);
	ps->text = paths;
	for (unsigned level = 0; level <= ANY_LEVEL; level++) {
		ps->first[level + 1] = ps->first[level];
		for (unsigned i = 0; i < n; i++)
			add_level(ps, i, level);
	}
	return xrealloc(ps,
	    sizeof *ps + ps->first[ANY_LEVEL + 1] * sizeof ps->node[0]);
}

void
json_paths_free(struct json_paths *ps)
{
	free(ps);
}

uint64_t
json_paths_deep(const struct json_paths *ps, unsigned level)
{
	return ps->deep[level < JSON_PATH_LEVELS ? level : JSON_PATH_LEVELS];
}

uint64_t
json_paths_multi(const struct json_paths *ps)
{
	return ps->multi;
}

static uint64_t
listed(const struct json_paths *ps, unsigned level, uint64_t act)
{
	uint64_t nodes = 0;

	for (unsigned i = ps->first[level]; i < ps->first[level + 1]; i++)
		if (ps->node[i].mask & act)
			nodes |= 1ULL << i;
	return nodes;
}

uint64_t
json_key_begin(const struct json_paths *ps, unsigned level, uint64_t act)
{
	uint64_t nodes = 0;

	if (level < JSON_PATH_LEVELS)
		nodes = listed(ps, level, act);
	if (act & json_paths_deep(ps, level))
		nodes |= listed(ps, ANY_LEVEL, act & json_paths_deep(ps, level));
	return nodes;
}

static bool
fits(const struct json_paths *ps, const struct node *d, size_t at,
    const void *p, size_t n, bool last)
{
	size_t left = at < d->len ? d->len - at : 0;

	if (d->prefix ? last && n < left : n > left || (last && n < left))
		return false;
	return memcmp(ps->text[d->path] + d->off + (d->len - left), p,
	    n < left ? n : left) == 0;
}

uint64_t
json_key_part(const struct json_paths *ps, uint64_t nodes, size_t at,
    const void *p, size_t n, bool last)
{
	for (uint64_t todo = nodes; todo != 0; todo &= todo - 1) {
		unsigned i = (unsigned)__builtin_ctzll(todo);

		if (!fits(ps, &ps->node[i], at, p, n, last))
			nodes &= ~(1ULL << i);
	}
	return nodes;
}

static void
add_meaning(const struct node *d, uint64_t act, uint64_t *ends, uint64_t *below)
{
	if (d->last)
		*ends |= d->mask & act;
	else
		*below |= d->mask & act;
}

void
json_key_end(const struct json_paths *ps, unsigned level, uint64_t act,
    uint64_t nodes, uint64_t *ends, uint64_t *below)
{
	*ends = 0;
	*below = act & json_paths_deep(ps, level);
	for (; nodes != 0; nodes &= nodes - 1)
		add_meaning(&ps->node[__builtin_ctzll(nodes)], act, ends, below);
}

static void
key_at(const struct json_paths *ps, unsigned level, uint64_t act,
    struct str key, uint64_t *ends, uint64_t *below)
{
	for (unsigned i = ps->first[level]; i < ps->first[level + 1]; i++) {
		const struct node *d = &ps->node[i];

		if (d->first == key.p[0] && (d->mask & act) != 0 &&
		    (d->prefix ? key.n >= d->len : key.n == d->len) &&
		    memcmp(ps->text[d->path] + d->off, key.p, d->len) == 0)
			add_meaning(d, act, ends, below);
	}
}

void
json_key(const struct json_paths *ps, unsigned level, uint64_t act,
    const void *p, size_t n, uint64_t *ends, uint64_t *below)
{
	uint64_t deep = act & json_paths_deep(ps, level);

	*ends = 0;
	*below = deep;
	if (n > 0 && level < JSON_PATH_LEVELS)
		key_at(ps, level, act, str_of(p, n), ends, below);
	if (n > 0 && deep != 0)
		key_at(ps, ANY_LEVEL, deep, str_of(p, n), ends, below);
}
