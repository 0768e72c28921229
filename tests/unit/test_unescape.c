#include "mcpdiag/unescape.h"

#include "util.h"

struct row {
	const char *in;
	const char *out;		/* NULL: refused */
	size_t n;
};

static const struct row json_rows[] = {
	{ "", "", 0 },
	{ "plain", "plain", 5 },
	{ "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8 },
	{ "\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac", 6 },
	{ "\\ud83d\\ude00", "\xf0\x9f\x98\x80", 4 },
	{ "\\u0000", "\0", 1 },
	{ "na\xc3\xafve", "na\xc3\xafve", 6 },
	{ "\\", NULL, 0 },
	{ "\\x", NULL, 0 },
	{ "\\u12", NULL, 0 },
	{ "\\u12g4", NULL, 0 },
	{ "\\ud83d", NULL, 0 },
	{ "\\ud83d\\u0041", NULL, 0 },
	{ "\\ud83dxxxxxx", NULL, 0 },
	{ "\\ude00", NULL, 0 },
};

static const struct row base64_rows[] = {
	{ "", "", 0 },
	{ "bmHDr3Zl", "na\xc3\xafve", 6 },
	{ "YQ==", "a", 1 },
	{ "YWI=", "ab", 2 },
	{ "+/+/", "\xfb\xff\xbf", 3 },
	{ "YQ", NULL, 0 },		/* no padding */
	{ "YR==", NULL, 0 },		/* bits left over */
	{ "Y===", NULL, 0 },
	{ "====", NULL, 0 },
	{ "Y Q=", NULL, 0 },
	{ "YQ=a", NULL, 0 },
	{ "-_-_", NULL, 0 },
};

typedef bool unescape_fn(struct str, char *, size_t, size_t *);

static void
run(unescape_fn *fn, const struct row *rows, size_t count)
{
	char out[64];
	size_t n;

	for (size_t i = 0; i < count; i++) {
		const struct row *r = &rows[i];
		struct str in = str_c(r->in);
		bool ok = fn(in, out, sizeof out, &n);

		if (ok != (r->out != NULL) || n != r->n ||
		    (ok && n > 0 && memcmp(out, r->out, n) != 0))
			fail_msg("%s", r->in);
		if (r->n > 0) {
			/* It fits exactly, and not into one byte less. */
			assert_true(fn(in, out, r->n, &n));
			assert_false(fn(in, out, r->n - 1, &n));
		}
	}
}

static void
test_json(void **state)
{
	(void)state;
	run(unescape_json, json_rows, N_ROWS(json_rows));
}

static void
test_base64(void **state)
{
	(void)state;
	run(unescape_base64, base64_rows, N_ROWS(base64_rows));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
