#include "mcpdiag/limits.h"

static const struct row {
	const char *name;
	size_t offset;
	uint64_t def, min;
	const char *what;
} rows[] = {
#define X(name, field, def, min, what) \
	{ name, offsetof(struct limits, field), def, min, what },
	LIMITS(X)
#undef X
};

#define N_ROWS (sizeof rows / sizeof rows[0])

static uint64_t *
field(struct limits *l, const struct row *r)
{
	return (uint64_t *)(void *)((char *)l + r->offset);
}

void
limits_init(struct limits *l)
{
	for (size_t i = 0; i < N_ROWS; i++)
		*field(l, &rows[i]) = rows[i].def;
}

void
limits_shrink(struct limits *l, unsigned n)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		uint64_t v = *field(l, &rows[i]) / n;
		*field(l, &rows[i]) = v < rows[i].min ? rows[i].min : v;
	}
}

int
limits_set(struct limits *l, struct str s, struct errmsg *em)
{
	size_t eq = str_find(s, STR("="));
	struct str name, value;
	uint64_t v, unit = 1;

	if (eq == SIZE_MAX)
		return err_set(em, E_USAGE, "--limit: want NAME=VALUE");
	name = str_of(s.p, eq);
	value = str_of(s.p + eq + 1, s.n - eq - 1);
	if (value.n) {
		switch (value.p[value.n - 1]) {
		case 'k': case 'K': unit = 1ULL << 10; break;
		case 'm': case 'M': unit = 1ULL << 20; break;
		case 'g': case 'G': unit = 1ULL << 30; break;
		}
		if (unit > 1)
			value.n--;
	}
	if (!str_u64(value, &v) || v > UINT64_MAX / unit)
		return err_set(em, E_USAGE, "--limit: the value is a number, "
		    "with k, M or G if you like");
	v *= unit;
	for (size_t i = 0; i < N_ROWS; i++) {
		if (!str_eq(name, str_c(rows[i].name)))
			continue;
		if (v < rows[i].min)
			return err_set(em, E_USAGE, "--limit %s: at least %llu",
			    rows[i].name, (unsigned long long)rows[i].min);
		*field(l, &rows[i]) = v;
		return 0;
	}
	return err_set(em, E_USAGE, "--limit: no limit of that name; "
	    "see mcpdiag-analyze(1)");
}

bool
limits_row(unsigned i, const char **name, uint64_t *def, const char **what)
{
	bool ok = i < N_ROWS;

	*name = ok ? rows[i].name : NULL;
	*def = ok ? rows[i].def : 0;
	*what = ok ? rows[i].what : NULL;
	return ok;
}
