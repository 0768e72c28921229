/* hread_trace: what comes of a client's bytes, as text, for the tests of hread
 * and its fuzz target: one line for each request. */
#ifndef MCPDIAG_TEST_HREAD_TRACE_H
#define MCPDIAG_TEST_HREAD_TRACE_H

#include <stdlib.h>

#include "mcpdiag/hread.h"

struct reading {
	const struct hread_limits *limits;
	struct hread *read;		/* a request that is not complete */
	bool refused;
	struct buf trace;
};

static inline void
reading_init(struct reading *x, const struct hread_limits *limits)
{
	*x = (struct reading){ .limits = limits };
	buf_init(&x->trace, SIZE_MAX / 4);
}

static inline void
reading_fini(struct reading *x)
{
	hread_free(x->read);
	buf_fini(&x->trace);
}

static inline void
reading_done(struct reading *x)
{
	struct buf body;
	struct hread_head *head = hread_take(x->read, &body);
	const char *p = (const char *)&head->lens[head->n_headers];

	p += head->method_n + head->target_n;
	(void)buf_adds(&x->trace, hread_method(head));
	(void)buf_addc(&x->trace, ' ');
	(void)buf_adds(&x->trace, hread_target(head));
	(void)buf_fmt(&x->trace, " 1.%u%s%s {", head->minor,
	    head->keep_alive ? "" : " close", head->head ? " head" : "");
	for (uint32_t i = 0; i < head->n_headers; i++) {
		struct hread_lens l = head->lens[i];

		(void)buf_fmt(&x->trace, i ? "|" : "");
		(void)buf_add(&x->trace, p, l.name);
		(void)buf_addc(&x->trace, '=');
		(void)buf_add(&x->trace, p + l.name, l.value);
		p += l.name + l.value;
	}
	(void)buf_adds(&x->trace, STR("} "));
	(void)buf_adds(&x->trace, buf_str(&body));
	(void)buf_addc(&x->trace, '\n');
	buf_fini(&body);
	free(head);
	hread_free(x->read);
	x->read = NULL;
}

static inline void
reading_feed(struct reading *x, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0 && !x->refused) {
		enum hread_is is;
		size_t k;

		if (x->read == NULL)
			x->read = hread_new(x->limits);
		k = hread_feed(x->read, p, n, &is);
		if (k > n || (is == HREAD_MORE && k < n))
			abort();
		p += k;
		n -= k;
		switch (is) {
		case HREAD_MORE:
			break;
		case HREAD_CONTINUE:
			(void)buf_adds(&x->trace, STR("100\n"));
			break;
		case HREAD_DONE:
			reading_done(x);
			break;
		case HREAD_REFUSED:
			if (hread_why(x->read) == NULL)
				abort();
			(void)buf_fmt(&x->trace, "%u\n", hread_status(x->read));
			x->refused = true;
			break;
		}
	}
}

/* The client closes. */
static inline void
reading_end(struct reading *x)
{
	if (x->read && !x->refused)
		(void)buf_fmt(&x->trace, hread_blank(x->read) ? "blank\n" : "more\n");
}

#endif
