#include "jsondiff.h"

#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/unescape.h"
#include "mcpdiag/xmem.h"

#define MAX_PATH 1024U		/* bytes of a path; longer ones are cut */
#define MAX_PATHS (32U << 20)	/* of all */

struct leaf {
	size_t path, n_path;	/* in the paths of its document */
	struct str value;
	uint32_t order;
};

struct doc {
	struct str s;
	size_t at;
	struct buf paths;
	struct leaf *leaves;
	uint32_t n, cap;
};

struct level {
	bool array;
	bool any;		/* something is in it */
	uint32_t index;
	size_t n_path;		/* of the path to it */
};

static void
skip_space(struct doc *d)
{
	while (d->at < d->s.n && memchr(" \t\r\n", d->s.p[d->at], 4))
		d->at++;
}

static bool
next_is(struct doc *d, char c)
{
	skip_space(d);
	if (d->at >= d->s.n || d->s.p[d->at] != c)
		return false;
	d->at++;
	return true;
}

/* A string with its quotes; false when it does not end. */
static bool
take_string(struct doc *d, struct str *out)
{
	size_t from = d->at;

	for (d->at++; d->at < d->s.n && d->s.p[d->at] != '"'; d->at++)
		if (d->s.p[d->at] == '\\')
			d->at++;
	if (d->at >= d->s.n)
		return false;
	d->at++;
	*out = str_of(d->s.p + from, d->at - from);
	return true;
}

/* A number or a word. */
static bool
take_plain(struct doc *d, struct str *out)
{
	size_t from = d->at;

	while (d->at < d->s.n && !memchr(" \t\r\n,]}:\"[{", d->s.p[d->at], 11))
		d->at++;
	*out = str_of(d->s.p + from, d->at - from);
	return out->n > 0;
}

static bool
add_leaf(struct doc *d, const struct buf *path, struct str value)
{
	struct leaf l = { .path = d->paths.n, .n_path = path->n, .value = value,
		.order = d->n };

	if (d->n >= JSONDIFF_MAX || buf_add(&d->paths, path->p ? path->p : "", path->n) != 0)
		return false;
	d->leaves = xgrow(d->leaves, d->n, &d->cap, sizeof l);
	d->leaves[d->n++] = l;
	return true;
}

/* The name of a member, up to its value. */
static bool
take_name(struct doc *d, struct buf *path)
{
	struct str name;

	skip_space(d);
	if (d->at >= d->s.n || d->s.p[d->at] != '"' || !take_string(d, &name) ||
	    !next_is(d, ':'))
		return false;
	if (path->n > 0)
		(void)buf_addc(path, '.');
	(void)buf_add(path, name.p + 1, name.n - 2);
	return true;
}

/* One step: the start of a value within `top` levels.  1: a level was opened;
 * 0: a leaf; -1: bad. */
static int
take_value(struct doc *d, struct level *v, unsigned top, struct buf *path)
{
	struct str value;
	char c;

	skip_space(d);
	if (d->at >= d->s.n)
		return -1;
	c = d->s.p[d->at];
	if (c == '{' || c == '[') {
		if (top >= JSONDIFF_DEPTH)
			return -1;
		d->at++;
		v[top] = (struct level){ .array = c == '[', .n_path = path->n };
		return 1;
	}
	if (c == '"' ? !take_string(d, &value) : !take_plain(d, &value))
		return -1;
	return add_leaf(d, path, value) ? 0 : -1;
}

/* What follows in the innermost level: true when there is another value. */
static bool
next_value(struct doc *d, struct level *l, struct buf *path, bool *ends)
{
	path->n = l->n_path;
	*ends = next_is(d, l->array ? ']' : '}');
	if (*ends)
		return true;
	if (l->any && !next_is(d, ','))
		return false;
	l->any = true;
	if (!l->array)
		return take_name(d, path);
	(void)buf_fmt(path, "[%u]", l->index++);
	return true;
}

static bool
flatten(struct doc *d)
{
	struct level v[JSONDIFF_DEPTH];
	unsigned top = 0;
	struct buf path;
	bool good, ends;
	int rc;

	buf_init(&path, MAX_PATH);
	rc = take_value(d, v, 0, &path);
	top = rc > 0;
	good = rc >= 0;
	while (good && top > 0) {
		struct level *l = &v[top - 1];

		good = next_value(d, l, &path, &ends);
		if (!good)
			break;
		if (ends) {
			if (!l->any)
				good = add_leaf(d, &path, l->array ? STR("[]") : STR("{}"));
			top--;
			continue;
		}
		rc = take_value(d, v, top, &path);
		top += rc > 0;
		good = rc >= 0;
	}
	skip_space(d);
	buf_fini(&path);
	return good && d->at == d->s.n;
}

/* qsort() hands out no context: the paths are made whole before. */
struct sorted {
	struct str path, value;
	uint32_t order;
};

static int
by_path(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int c = str_cmp(x->path, y->path);

	return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

static struct sorted *
sort(const struct doc *d)
{
	struct sorted *v = xcalloc(d->n ? d->n : 1, sizeof *v);

	for (uint32_t i = 0; i < d->n; i++)
		v[i] = (struct sorted){ str_of((d->paths.p ? d->paths.p : "") +
		    d->leaves[i].path, d->leaves[i].n_path), d->leaves[i].value, i };
	if (d->n > 0)
		qsort(v, d->n, sizeof *v, by_path);
	return v;
}

static bool
is_number(struct str s)
{
	return s.n > 0 && s.n < 64 && (s.p[0] == '-' || (s.p[0] >= '0' && s.p[0] <= '9'));
}

static bool
same_number(struct str a, struct str b)
{
	char x[64], y[64];

	memcpy(x, a.p, a.n);
	memcpy(y, b.p, b.n);
	x[a.n] = y[b.n] = '\0';
	return strtod(x, NULL) == strtod(y, NULL);
}

static bool
same_string(struct str a, struct str b)
{
	char *x = xmalloc(a.n), *y = xmalloc(b.n);	/* never longer unescaped */
	size_t n, k;
	bool same;

	same = unescape_json(str_of(a.p + 1, a.n - 2), x, a.n, &n) &&
	    unescape_json(str_of(b.p + 1, b.n - 2), y, b.n, &k) &&
	    str_eq(str_of(x, n), str_of(y, k));
	free(x);
	free(y);
	return same;
}

static bool
same_value(struct str a, struct str b)
{
	if (str_eq(a, b))
		return true;
	if (is_number(a) && is_number(b))
		return same_number(a, b);
	return a.p[0] == '"' && b.p[0] == '"' && same_string(a, b);
}

static void
tell(const struct doc *a, const struct doc *b, jsondiff_fn *fn, void *arg)
{
	struct sorted *x = sort(a), *y = sort(b);
	uint32_t i = 0, k = 0;

	while (i < a->n || k < b->n) {
		int c = i >= a->n ? 1 : k >= b->n ? -1 : str_cmp(x[i].path, y[k].path);

		if (c < 0)
			fn(arg, x[i].path, x[i].value, STR_NONE);
		else if (c > 0)
			fn(arg, y[k].path, STR_NONE, y[k].value);
		else if (!same_value(x[i].value, y[k].value))
			fn(arg, x[i].path, x[i].value, y[k].value);
		i += c <= 0;
		k += c >= 0;
	}
	free(x);
	free(y);
}

bool
jsondiff(struct str a, struct str b, jsondiff_fn *fn, void *arg)
{
	struct doc x = { .s = a }, y = { .s = b };
	bool good;

	buf_init(&x.paths, MAX_PATHS);
	buf_init(&y.paths, MAX_PATHS);
	good = flatten(&x) && flatten(&y);
	if (good)
		tell(&x, &y, fn, arg);
	buf_fini(&x.paths);
	buf_fini(&y.paths);
	free(x.leaves);
	free(y.leaves);
	return good;
}
