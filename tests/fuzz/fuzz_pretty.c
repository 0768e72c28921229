/* JSON laid out: whatever comes in goes out, but for white space, and the
 * result is as long as it may be. */
#include <stdlib.h>

#include "mcpdiag/pretty.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static bool
is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct str in = str_of(p ? (const void *)p : "", n);
	struct buf b;
	size_t i = 0, k = 0;

	buf_init(&b, (2 * PRETTY_DEPTH + 2) * n);
	if (pretty_json(in, &b) != 0)
		abort();
	for (;;) {
		while (i < in.n && is_white(in.p[i]))
			i++;
		while (k < b.n && is_white(b.p[k]))
			k++;
		if (i == in.n || k == b.n)
			break;
		if (in.p[i++] != b.p[k++])
			abort();
	}
	if (i < in.n || k < b.n)
		abort();
	buf_fini(&b);
	return 0;
}
