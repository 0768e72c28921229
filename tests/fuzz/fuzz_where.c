/* Display filters: any text is an expression or a fault with a column inside
 * it, and what is taken can be asked about anything. */
#include <stdlib.h>

#include "mcpdiag/where.h"
#include "mcpdiag/xmem.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const uint32_t streams[] = { 1, 7 };
	static const struct finding f = { .detector = "leapfrog", .variant = "chain",
		.severity = SEV_ERROR };
	const struct where_item items[] = {
		{ .status = 0 },
		{ .session = STR("#24a6e81fae"), .client = { STR("ts/1") }, .status = 404,
		  .method = { STR("GET"), STR("tools/call") }, .kinds = 3, .timed = true,
		  .from = 1, .to = NS_S, .first_pkt = 1, .last_pkt = 9, .finding = &f,
		  .streams = streams, .n_streams = 2 },
	};
	char *text = xmemdup0(p ? (const void *)p : "", n);
	struct errmsg em = { "" };
	uint32_t column;
	struct where *w = where_new(text, NULL, &column, &em);

	if ((w == NULL) != (column > 0) || (w == NULL) != (em.text[0] != '\0') ||
	    column > strlen(text) + 1)
		abort();
	for (size_t i = 0; w && i < sizeof items / sizeof *items; i++)
		(void)where_match(w, &items[i]);
	where_free(w);
	free(text);
	return 0;
}
