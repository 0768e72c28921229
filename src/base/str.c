#include "mcpdiag/str.h"

bool
str_ipre(struct str s, struct str prefix)
{
	size_t i = 0;
	uint64_t p, q;

	if (s.n < prefix.n)
		return false;
	for (; prefix.n - i >= 8; i += 8) {	/* most are spelt alike */
		memcpy(&p, s.p + i, 8);
		memcpy(&q, prefix.p + i, 8);
		if (p != q)
			break;
	}
	for (; i < prefix.n; i++) {
		unsigned char a = (unsigned char)s.p[i], d = a ^ (unsigned char)prefix.p[i];

		/* Equal, or letters that differ in the case bit alone. */
		if (d == 0)
			continue;
		a |= 0x20;
		if (d != 0x20 || a < 'a' || a > 'z')
			return false;
	}
	return true;
}

size_t
str_find(struct str s, struct str needle)
{
	const char *hit;

	if (needle.n == 0)
		return 0;
	if (needle.n == 1) {
		hit = s.n ? memchr(s.p, needle.p[0], s.n) : NULL;
		return hit ? (size_t)(hit - s.p) : SIZE_MAX;
	}
	hit = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
	return hit ? (size_t)(hit - s.p) : SIZE_MAX;
}

struct str
str_trim(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

bool
str_u64(struct str s, uint64_t *out)
{
	uint64_t v = 0;

	*out = 0;
	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned d = (unsigned char)s.p[i] - '0';
		if (d > 9 || v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*out = v;
	return true;
}

bool
str_milli(struct str s, uint64_t *out)
{
	size_t dot = str_find(s, STR("."));
	struct str places = dot < s.n ? str_of(s.p + dot + 1, s.n - dot - 1) : STR("0");
	uint64_t whole, rest;

	*out = 0;
	if (!str_u64(str_of(s.p, dot < s.n ? dot : s.n), &whole) || places.n > 3 ||
	    !str_u64(places, &rest) || whole > (UINT64_MAX - 999) / 1000)
		return false;
	for (size_t i = places.n; i < 3; i++)
		rest *= 10;
	*out = whole * 1000 + rest;
	return true;
}

int
str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}
