#include "util.h"

#include <time.h>

#include "mcpdiag/hhead.h"

static void
test_date(void **state)
{
	static const struct row {
		ns_t s;
		const char *want;
	} rows[] = {
		{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
		{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },	/* RFC 9110 */
		{ 68255999, "Tue, 29 Feb 1972 23:59:59 GMT" },
		{ 68256000, "Wed, 01 Mar 1972 00:00:00 GMT" },
		{ 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
		{ 951868800, "Wed, 01 Mar 2000 00:00:00 GMT" },
		{ 4107542400, "Mon, 01 Mar 2100 00:00:00 GMT" },
		{ 4107456000, "Sun, 28 Feb 2100 00:00:00 GMT" },
		{ 1735689599, "Tue, 31 Dec 2024 23:59:59 GMT" },
		{ 1735689600, "Wed, 01 Jan 2025 00:00:00 GMT" },
		{ 9223372036, "Fri, 11 Apr 2262 23:47:16 GMT" },
	};
	char out[HHEAD_DATE];

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		hhead_date(out, rows[i].s * NS_S);
		assert_string_equal(out, rows[i].want);
	}
	hhead_date(out, 1735689600 * NS_S - 1);
	assert_string_equal(out, "Tue, 31 Dec 2024 23:59:59 GMT");
	hhead_date(out, -1);
	assert_string_equal(out, "Thu, 01 Jan 1970 00:00:00 GMT");
}

/* Every day is the day after the one before, and the C library agrees. */
static void
test_days(void **state)
{
	char out[HHEAD_DATE], want[64];

	(void)state;
	for (ns_t day = 0; day < 106751; day++) {
		time_t t = (time_t)day * 86400;
		struct tm tm;

		hhead_date(out, day * 86400 * NS_S);
		assert_non_null(gmtime_r(&t, &tm));
		assert_int_equal(strftime(want, sizeof want,
		    "%a, %d %b %Y %H:%M:%S GMT", &tm), HHEAD_DATE - 1);
		if (strcmp(out, want) != 0)
			fail_msg("%s, want %s", out, want);
	}
}

static void
test_reason(void **state)
{
	(void)state;
	assert_string_equal(hhead_reason(200), "OK");
	assert_string_equal(hhead_reason(202), "Accepted");
	assert_string_equal(hhead_reason(431), "Request Header Fields Too Large");
	assert_string_equal(hhead_reason(505), "HTTP Version Not Supported");
	assert_string_equal(hhead_reason(299), "");
	assert_string_equal(hhead_reason(0), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_date),
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
