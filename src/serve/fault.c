#include "mcpdiag/fault.h"

_Static_assert(FAULT_N <= 64, "bits of faults.on");

static const struct fault_row rows[] = {
#define X(symbol, name, value, def, what, detector) \
	{ name, value, what, detector, def },
	FAULTS(X)
#undef X
};

bool
fault_row(unsigned i, struct fault_row *row)
{
	if (i >= FAULT_N)
		return false;
	*row = rows[i];
	return true;
}

int
fault_set(struct faults *f, struct str s, struct errmsg *em)
{
	size_t eq = str_find(s, STR("="));
	struct str name = eq == SIZE_MAX ? s : str_of(s.p, eq), value = STR_NONE;
	unsigned k = 0;
	bool timed;
	uint64_t v, unit;

	if (eq != SIZE_MAX)
		value = str_of(s.p + eq + 1, s.n - eq - 1);
	while (k < FAULT_N && !str_eq(name, str_c(rows[k].name)))
		k++;
	if (k == FAULT_N)
		return err_set(em, E_USAGE, "no such fault");
	if (value.p && rows[k].value == NULL)
		return err_set(em, E_USAGE, "%s takes no value", rows[k].name);
	timed = rows[k].value && str_eq(str_c(rows[k].value), STR("SECONDS"));
	unit = timed ? 1000 : 1;
	v = rows[k].def * unit;
	if (value.p && (!(timed ? str_milli : str_u64)(value, &v) || v > 1000000 * unit))
		return err_set(em, E_USAGE, "%s=%s wants a number", rows[k].name,
		    rows[k].value);
	if (k == FAULT_REFUSE_GET && (v < 400 || v > 599) && v != 204)
		return err_set(em, E_USAGE, "refuse-get wants 204, 4xx or 5xx");
	if (k == FAULT_REDIRECT && (v < 301 || v > 308 || (v > 303 && v < 307)))
		return err_set(em, E_USAGE, "redirect wants 301, 302, 303, 307 or 308");
	f->on |= UINT64_C(1) << k;
	f->value[k] = (uint32_t)v;
	return 0;
}
