#include "facts.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME_W 16

static const void *
at(const struct ev *e, const struct ev_field *f)
{
	return (const char *)e + f->offset;
}

static void
add_str(struct lines *l, const char *name, struct str s)
{
	struct buf b;

	if (s.p == NULL)
		return;
	buf_init(&b, s.n + 64);
	(void)buf_fmt(&b, "%-*s ", NAME_W, name);
	(void)buf_adds(&b, s);
	lines_add(l, STYLE_PLAIN, buf_str(&b));
	buf_fini(&b);
}

/* Numbers that are 0 and what is false say nothing. */
static void
add(struct lines *l, const struct ev *e, const struct ev_field *f)
{
	uint64_t u64 = 0;
	uint32_t u32 = 0;
	int64_t i64 = 0;
	bool yes = false;
	int en = 0;
	struct str s = STR_NONE;

	switch ((enum ev_field_type)f->type) {
	case EVT_STR:
		memcpy(&s, at(e, f), sizeof s);
		add_str(l, f->name, s);
		break;
	case EVT_BOOL:
		memcpy(&yes, at(e, f), sizeof yes);
		if (yes)
			lines_fmt(l, STYLE_PLAIN, "%-*s yes", NAME_W, f->name);
		break;
	case EVT_U32: case EVT_FLAGS:
		memcpy(&u32, at(e, f), sizeof u32);
		if (u32)
			lines_fmt(l, STYLE_PLAIN, "%-*s %" PRIu32, NAME_W, f->name, u32);
		break;
	case EVT_U64:
		memcpy(&u64, at(e, f), sizeof u64);
		if (u64)
			lines_fmt(l, STYLE_PLAIN, "%-*s %" PRIu64, NAME_W, f->name, u64);
		break;
	case EVT_HASH:
		memcpy(&u64, at(e, f), sizeof u64);
		if (u64)
			lines_fmt(l, STYLE_PLAIN, "%-*s %016" PRIx64, NAME_W, f->name, u64);
		break;
	case EVT_I64:
		memcpy(&i64, at(e, f), sizeof i64);
		if (i64 >= 0)
			lines_fmt(l, STYLE_PLAIN, "%-*s %" PRId64, NAME_W, f->name, i64);
		break;
	case EVT_NS:
		memcpy(&i64, at(e, f), sizeof i64);
		if (i64 > 0)
			lines_fmt(l, STYLE_PLAIN, "%-*s %lld.%09lld", NAME_W, f->name,
			    i64 / NS_S, i64 % NS_S);
		break;
	case EVT_ENUM:
		memcpy(&en, at(e, f), sizeof en);
		lines_fmt(l, STYLE_PLAIN, "%-*s %s", NAME_W, f->name, f->names[en]);
		break;
	}
}

void
facts_add(struct lines *l, const struct ev *e)
{
	struct buf flags;

	for (const struct ev_field *f = ev_fields(e->type); f->name; f++)
		add(l, e, f);
	buf_init(&flags, 256);
	for (unsigned i = 0; ev_flag_names[i]; i++)
		if (e->flags & 1u << i)
			(void)buf_fmt(&flags, "%s%s", flags.n ? ", " : "", ev_flag_names[i]);
	if (flags.n)
		add_str(l, "flags", buf_str(&flags));
	buf_fini(&flags);
}
