#include "mcpdiag/hhead.h"

#include <stddef.h>
#include <string.h>

static char *
digits(char *p, unsigned v, unsigned n)
{
	for (unsigned i = n; i > 0; i--, v /= 10)
		p[i - 1] = (char)('0' + v % 10);
	return p + n;
}

static char *
text(char *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}

/* Proleptic Gregorian; years are counted from March, so that the leap day is
 * the last one of its year. */
static void
civil(uint32_t days, unsigned *year, unsigned *month, unsigned *day)
{
	uint32_t z = days + 719468;		/* since 0000-03-01 */
	uint32_t era = z / 146097, doe = z % 146097;	/* 400 years */
	uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	uint32_t m = (5 * doy + 2) / 153;	/* 0: March */

	*day = doy - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = yoe + era * 400 + (*month <= 2);
}

void
hhead_date(char out[HHEAD_DATE], ns_t t)
{
	static const char days[] = "ThuFriSatSunMonTueWed";	/* 1970-01-01 */
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	uint64_t s = t > 0 ? (uint64_t)t / NS_S : 0;
	uint32_t day = (uint32_t)(s / 86400), sec = (uint32_t)(s % 86400);
	unsigned y, m, d;
	char *p = out;

	civil(day, &y, &m, &d);
	p = text(p, days + day % 7 * 3, 3);
	p = text(p, ", ", 2);
	p = digits(p, d, 2);
	*p++ = ' ';
	p = text(p, months + (size_t)(m - 1) * 3, 3);
	*p++ = ' ';
	p = digits(p, y, 4);
	*p++ = ' ';
	p = digits(p, sec / 3600, 2);
	*p++ = ':';
	p = digits(p, sec / 60 % 60, 2);
	*p++ = ':';
	p = digits(p, sec % 60, 2);
	(void)text(p, " GMT", 5);
}

static const struct reason {
	unsigned status;
	const char *text;
} reasons[] = {
	{ 100, "Continue" }, { 101, "Switching Protocols" },
	{ 200, "OK" }, { 201, "Created" }, { 202, "Accepted" },
	{ 203, "Non-Authoritative Information" }, { 204, "No Content" },
	{ 205, "Reset Content" }, { 206, "Partial Content" },
	{ 300, "Multiple Choices" }, { 301, "Moved Permanently" },
	{ 302, "Found" }, { 303, "See Other" }, { 304, "Not Modified" },
	{ 307, "Temporary Redirect" }, { 308, "Permanent Redirect" },
	{ 400, "Bad Request" }, { 401, "Unauthorized" },
	{ 402, "Payment Required" }, { 403, "Forbidden" },
	{ 404, "Not Found" }, { 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" }, { 407, "Proxy Authentication Required" },
	{ 408, "Request Timeout" }, { 409, "Conflict" }, { 410, "Gone" },
	{ 411, "Length Required" }, { 412, "Precondition Failed" },
	{ 413, "Content Too Large" }, { 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" }, { 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" }, { 421, "Misdirected Request" },
	{ 422, "Unprocessable Content" }, { 425, "Too Early" },
	{ 426, "Upgrade Required" }, { 428, "Precondition Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
	{ 502, "Bad Gateway" }, { 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
};

const char *
hhead_reason(unsigned status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "";
}
