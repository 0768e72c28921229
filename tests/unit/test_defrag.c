#include "mcpdiag/defrag.h"

#include <stdio.h>
#include <stdlib.h>

#include "util.h"

/* A fragment: 8-byte units [from, to) filled with `fill`, or `bytes` bytes. */
struct frag {
	uint32_t id;		/* 0 ends the list */
	uint32_t offset;
	uint32_t n;
	bool more;
	char fill;
	int ms;			/* time before it */
};

static const struct row {
	const char *name;
	size_t max;
	struct frag in[8];
	const char *want;	/* runs of the last datagram: "a16b8", or "" */
	uint64_t dropped, held;
} rows[] = {
	{ "two in order", 65536,
	  { { 1, 0, 16, true, 'a', 0 }, { 1, 16, 5, false, 'b', 0 } },
	  "a16b5", 0, 0 },
	{ "last one first", 65536,
	  { { 1, 16, 5, false, 'b', 0 }, { 1, 0, 16, true, 'a', 0 } },
	  "a16b5", 0, 0 },
	{ "a hole is not filled by nothing", 65536,
	  { { 1, 0, 8, true, 'a', 0 }, { 1, 16, 8, false, 'b', 0 } },
	  "", 0, 2 },
	{ "overlap: the first copy wins", 65536,
	  { { 1, 8, 16, true, 'a', 0 }, { 1, 0, 16, true, 'b', 0 },
	    { 1, 16, 24, false, 'c', 0 } },
	  "b8a16c16", 0, 0 },
	{ "a copy of a fragment changes nothing", 65536,
	  { { 1, 0, 8, true, 'a', 0 }, { 1, 0, 8, true, 'x', 0 },
	    { 1, 8, 8, false, 'b', 0 } },
	  "a8b8", 0, 0 },
	{ "past the end that the last one set: cut", 65536,
	  { { 1, 8, 3, false, 'z', 0 }, { 1, 0, 32, true, 'a', 0 } },
	  "a8z3", 0, 0 },
	{ "a second end is not believed, nor are its bytes", 65536,
	  { { 1, 16, 3, false, 'z', 0 }, { 1, 8, 2, false, 'y', 0 },
	    { 1, 0, 8, true, 'a', 0 }, { 1, 8, 8, true, 'b', 0 } },
	  "a8b8z3", 1, 0 },
	{ "not a multiple of 8 but not the last: refused", 65536,
	  { { 1, 0, 7, true, 'a', 0 }, { 1, 8, 8, false, 'b', 0 } },
	  "", 1, 1 },
	{ "empty: refused", 65536, { { 1, 8, 0, true, 'a', 0 } }, "", 1, 0 },
	{ "beyond 65535 bytes: refused", 65536,
	  { { 1, 65528, 8, false, 'a', 0 } }, "", 1, 0 },
	{ "offset not a multiple of 8: refused", 65536,
	  { { 1, 4, 8, false, 'a', 0 } }, "", 1, 0 },
	{ "two datagrams do not mix", 65536,
	  { { 1, 0, 8, true, 'a', 0 }, { 2, 0, 8, true, 'x', 0 },
	    { 1, 8, 8, false, 'b', 0 } },
	  "a8b8", 0, 1 },
	{ "the last of 30 s is in time", 65536,
	  { { 1, 0, 8, true, 'a', 0 }, { 1, 8, 8, false, 'b', 30000 } },
	  "a8b8", 0, 0 },
	{ "later it is too late", 65536,
	  { { 1, 0, 8, true, 'a', 0 }, { 1, 8, 8, false, 'b', 30001 } },
	  "", 1, 1 },
	{ "time counts from the first fragment", 65536,
	  { { 1, 0, 8, true, 'a', 0 }, { 1, 8, 8, true, 'b', 20000 },
	    { 1, 16, 8, false, 'c', 20000 } },
	  "", 2, 1 },
	{ "time that goes back harms nothing", 65536,
	  { { 1, 0, 8, true, 'a', 40000 }, { 1, 8, 8, false, 'b', -39000 } },
	  "a8b8", 0, 0 },
	{ "at the limit the oldest goes", 2600,
	  { { 1, 0, 8, true, 'a', 0 }, { 2, 0, 8, true, 'b', 0 },
	    { 3, 0, 8, true, 'c', 0 }, { 2, 8, 8, false, 'd', 0 } },
	  "b8d8", 1, 1 },
	{ "too large for the limit: given up", 2600,
	  { { 1, 0, 8, true, 'a', 0 }, { 1, 4096, 8, false, 'b', 0 } },
	  "", 2, 0 },
	{ "no room at all", 16, { { 1, 0, 8, true, 'a', 0 } }, "", 1, 0 },
};

static void
spell(char *out, struct str s)
{
	size_t o = 0;

	for (size_t i = 0, j; i < s.n; i = j) {
		for (j = i; j < s.n && s.p[j] == s.p[i]; j++)
			;
		o += (size_t)snprintf(out + o, 128 - o, "%c%zu", s.p[i], j - i);
		assert_true(o < 128);
	}
	out[o] = '\0';
}

static void
run_rows(void **state)
{
	(void)state;
	for (size_t r = 0; r < N_ROWS(rows); r++) {
		const struct row *row = &rows[r];
		struct defrag *d = defrag_new(row->max);
		char got[128] = "";
		ns_t t = 1000 * NS_S;

		for (const struct frag *f = row->in; f->id; f++) {
			struct defrag_key key = { .id = f->id };
			struct guard g;
			char fill[256];
			struct str s;

			memset(fill, f->fill, sizeof fill);
			g = guard_of(fill, f->n);
			t += f->ms * NS_MS;
			s = defrag_add(d, &key, t, f->offset, f->more, g.p, g.n);
			guard_free(&g);
			spell(got, s);
		}
		if (strcmp(got, row->want) != 0 ||
		    defrag_dropped(d) != row->dropped ||
		    defrag_held(d) != row->held)
			fail_msg("%s: got \"%s\" dropped %u held %u", row->name,
			    got, (unsigned)defrag_dropped(d),
			    (unsigned)defrag_held(d));
		defrag_free(d);
	}
}

/* 64 KB in the smallest fragments, in a scattered order. */
static void
many_small(void **state)
{
	struct defrag *d = defrag_new(1 << 20);
	struct defrag_key key = { .id = 7 };
	struct str s = STR_NONE;
	const uint32_t n = 8191;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t unit = i * 2731 % n;	/* prime to n */
		uint8_t b[8];

		assert_null(s.p);
		memset(b, (int)(unit & 0xff), sizeof b);
		s = defrag_add(d, &key, 1, unit * 8, unit != n - 1, b, 8);
	}
	assert_non_null(s.p);
	assert_int_equal(s.n, n * 8);
	for (uint32_t i = 0; i < n * 8; i++)
		assert_int_equal((uint8_t)s.p[i], i / 8 & 0xff);
	defrag_free(d);
	defrag_free(NULL);
}

/* Those that time drops are not those that room drops. */
static void
two_reasons(void **state)
{
	struct defrag *d = defrag_new(4096);
	struct defrag_key key = { .id = 1 };
	uint8_t b[1024] = { 0 };

	(void)state;
	(void)defrag_add(d, &key, 1, 0, true, b, sizeof b);
	key.id++;
	(void)defrag_add(d, &key, 40 * NS_S, 0, true, b, sizeof b);
	assert_int_equal(defrag_dropped(d), 1);
	assert_int_equal(defrag_full(d), 0);
	for (int i = 0; i < 3; i++) {
		key.id++;
		(void)defrag_add(d, &key, 40 * NS_S, 0, true, b, sizeof b);
	}
	assert_int_equal(defrag_dropped(d) + defrag_held(d), 5);
	assert_int_equal(defrag_full(d), defrag_dropped(d) - 1);
	assert_true(defrag_full(d) > 0);
	defrag_free(d);
	d = defrag_new(16);		/* no room for anything */
	(void)defrag_add(d, &key, 1, 0, true, b, sizeof b);
	assert_int_equal(defrag_dropped(d), 1);
	assert_int_equal(defrag_full(d), 1);
	defrag_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_rows),
		cmocka_unit_test(many_small),
		cmocka_unit_test(two_reasons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
