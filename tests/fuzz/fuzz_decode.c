/* Link, network and TCP headers.  The first byte chooses the link type, the
 * second how much more there was on the wire; then packets, each behind its
 * length in two bytes, through one decoder, so that fragments meet. */
#include <stdlib.h>
#include <string.h>

#include "mcpdiag/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const uint32_t linktypes[] = {
	1, 113, 276, 0, 108, 101, 12, 14, 228, 229, 105,
};

static void
check(enum decode_rc rc, const struct seg *s)
{
	volatile uint8_t sum = 0;
	char text[54];

	if (rc != DECODE_TCP)
		return;
	for (uint32_t i = 0; i < s->len; i++)
		sum = (uint8_t)(sum + s->data[i]);
	if (s->len > 1u << 24 || s->cut > 1u << 24 || s->data == NULL)
		abort();
	if (addr_print(&s->src, text) != strlen(text) ||
	    addr_print(&s->dst, text) != strlen(text))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct limits l;
	struct decode *d;
	struct packet pk = { .t = 0 };
	uint32_t more;

	if (n < 2)
		return 0;
	limits_init(&l);
	l.fragments = 1 << 16;
	d = decode_new(&l);
	pk.linktype = linktypes[p[0] % (sizeof linktypes / sizeof *linktypes)];
	more = p[1] < 128 ? 0 : (p[1] - 128u) * 8;
	p += 2;
	n -= 2;
	while (n >= 2) {
		size_t len = (size_t)(p[0] << 8 | p[1]);
		uint8_t *exact;
		struct seg s;

		p += 2;
		n -= 2;
		len = len < n ? len : n;
		exact = malloc(len ? len : 1);
		if (exact == NULL)
			abort();
		memcpy(exact, p, len);
		pk.data = exact;
		pk.len = (uint32_t)len;
		pk.wire_len = pk.len + more;
		pk.pkt++;
		pk.t += len % 3 ? NS_MS : 20 * NS_S;
		check(decode_packet(d, &pk, &s), &s);
		free(exact);
		p += len;
		n -= len;
	}
	(void)decode_stats(d);
	decode_free(d);
	return 0;
}
