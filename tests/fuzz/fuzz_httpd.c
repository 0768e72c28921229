/* What a client may send to the server: the first byte chooses the limits and
 * how the second run cuts the rest.  The cuts must not matter, no request may
 * pass that is over the limits, and what is accepted is accepted again when it
 * is written down as it was understood. */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/hread_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* A copy of its own size, so that a read past the piece is seen. */
static void
feed(struct reading *x, const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (copy == NULL)
		abort();
	if (n)
		memcpy(copy, p, n);
	reading_feed(x, copy, n);
	free(copy);
}

/* The first request as one would write it. */
static bool
write_down(const struct hread_limits *limits, const uint8_t *p, size_t n,
    struct buf *out)
{
	struct hread *r = hread_new(limits);
	enum hread_is is = HREAD_MORE;
	size_t k = 0;

	do
		k += hread_feed(r, p + k, n - k, &is);
	while (is == HREAD_CONTINUE);
	if (is == HREAD_DONE) {
		struct buf body;
		struct hread_head *head = hread_take(r, &body);
		const char *t = (const char *)&head->lens[head->n_headers];

		if (head->n_headers > limits->headers || body.n > limits->body)
			abort();
		(void)buf_adds(out, hread_method(head));
		(void)buf_addc(out, ' ');
		(void)buf_adds(out, hread_target(head));
		(void)buf_fmt(out, " HTTP/1.%u\r\n", head->minor);
		t += head->method_n + head->target_n;
		for (uint32_t i = 0; i < head->n_headers; i++) {
			struct hread_lens l = head->lens[i];

			(void)buf_add(out, t, l.name);
			(void)buf_addc(out, ':');
			(void)buf_add(out, t + l.name, l.value);
			(void)buf_adds(out, STR("\r\n"));
			t += l.name + l.value;
		}
		(void)buf_adds(out, STR("\r\n"));
		if (out->n > limits->header)
			abort();
		if (hread_header(head, STR("transfer-encoding"), 0).p == NULL) {
			(void)buf_adds(out, buf_str(&body));
		} else {
			if (body.n > 0) {
				(void)buf_fmt(out, "%zx\r\n", body.n);
				(void)buf_adds(out, buf_str(&body));
				(void)buf_adds(out, STR("\r\n"));
			}
			(void)buf_adds(out, STR("0\r\n\r\n"));
		}
		buf_fini(&body);
		free(head);
	}
	hread_free(r);
	return is == HREAD_DONE;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hread_limits limits = { .header = 2048, .headers = 20, .body = 1024 };
	struct reading a, b;
	struct buf again, first;
	size_t piece;

	if (n == 0)
		return 0;
	if (*p & 128)
		limits = (struct hread_limits){ .header = 64, .headers = 2, .body = 4 };
	piece = 1 + (*p & 127) % 40;
	p++;
	n--;
	reading_init(&a, &limits);
	feed(&a, p, n);
	reading_end(&a);
	reading_init(&b, &limits);
	for (size_t i = 0; i < n; i += piece)
		feed(&b, p + i, n - i < piece ? n - i : piece);
	reading_end(&b);
	if (!str_eq(buf_str(&a.trace), buf_str(&b.trace)))
		abort();
	reading_fini(&a);
	reading_fini(&b);
	buf_init(&again, SIZE_MAX / 4);
	buf_init(&first, SIZE_MAX / 4);
	if (n > 0 && write_down(&limits, p, n, &first)) {
		if (!write_down(&limits, (uint8_t *)first.p, first.n, &again) ||
		    !str_eq(buf_str(&first), buf_str(&again)))
			abort();
	}
	buf_fini(&first);
	buf_fini(&again);
	return 0;
}
