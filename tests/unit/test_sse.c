#include "mcpdiag/sse.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "util.h"

/* In the input, SUB stands for a gap of one byte.  Every row ends with the
 * end of the stream.  Kept of a field: 16 bytes; of data: 40. */
#define LINE 16
#define DATA 40

static const struct row {
	const char *what;
	const char *in;
	size_t n;
	const char *want;
} rows[] = {
#define IN(lit) lit, sizeof(lit) - 1
	{ "nothing", IN(""), "" },
	{ "one line", IN("data: a\n\n"), "ev type=- id=- data=a retry=-1\n" },
	{ "CR ends lines", IN("data: a\r\r"),
	    "ev type=- id=- data=a retry=-1\n" },
	{ "CRLF inside an event is one line end",
	    IN("data: a\r\ndata: b\r\n\r\n"),
	    "ev type=- id=- data=a\\nb retry=-1\n" },
	{ "line ends in any mixture", IN("data:1\rdata:2\ndata:3\r\n\rdata:4\n\r"),
	    "ev type=- id=- data=1\\n2\\n3 retry=-1\n"
	    "ev type=- id=- data=4 retry=-1\n" },
	{ "LF CR is two line ends", IN("data:1\n\rdata:2\n\r"),
	    "ev type=- id=- data=1 retry=-1\n"
	    "ev type=- id=- data=2 retry=-1\n" },
	{ "CRLF CRLF is one blank line", IN("id:1\r\n\r\nid:2\r\n\r\n\r\n"),
	    "ev type=- id=1 data=- retry=-1\n"
	    "ev type=- id=2 data=- retry=-1\n" },
	{ "all fields", IN("event: e\nid: 7\nretry: 3000\ndata: x\n\n"),
	    "ev type=e id=7 data=x retry=3000\n" },
	{ "id after data", IN("data: x\nid: 7\n\n"),
	    "ev type=- id=7 data=x retry=-1 data-first\n" },
	{ "id before and after data", IN("id: 1\ndata: x\nid: 7\n\ndata:\n\n"),
	    "ev type=- id=7 data=x retry=-1 data-first\n"
	    "ev type=- id=- data= retry=-1\n" },
	{ "an ignored id after data", IN("id: 1\ndata: x\nid: \0\n\n"),
	    "ev type=- id=1 data=x retry=-1\n" },
	{ "only one space is dropped", IN("data:  a\ndata:\tb\ndata: \n\n"),
	    "ev type=- id=- data= a\\n\\x09b\\n retry=-1\n" },
	{ "space before the colon is part of the name", IN("data : a\n\n"),
	    "" },
	{ "colons in a value", IN("data:a:b: c\n\n"),
	    "ev type=- id=- data=a:b: c retry=-1\n" },
	{ "a field without a colon is empty", IN("data\ndata\n\n"),
	    "ev type=- id=- data=\\n retry=-1\n" },
	{ "one without a colon alone", IN("data\n\n"),
	    "ev type=- id=- data= retry=-1\n" },
	{ "id and event without a colon", IN("id\nevent\n\n"),
	    "ev type= id= data=- retry=-1\n" },
	{ "a priming event has empty data", IN("id: 0\ndata: \n\n"),
	    "ev type=- id=0 data= retry=-1\n" },
	{ "an id alone is a block without data", IN("id: 5\n\n"),
	    "ev type=- id=5 data=- retry=-1\n" },
	{ "a retry alone is a block without data", IN("retry: 3000\n\n"),
	    "ev type=- id=- data=- retry=3000\n" },
	{ "an event field alone is a block without data", IN("event: ping\n\n"),
	    "ev type=ping id=- data=- retry=-1\n" },
	{ "the fields of a block do not reach the next",
	    IN("event:e\nid:1\nretry:2\ndata:x\n\ndata:y\n\n"),
	    "ev type=e id=1 data=x retry=2\n"
	    "ev type=- id=- data=y retry=-1\n" },
	{ "the last of several counts", IN("id:1\nevent:a\nretry:1\n"
	    "id:2\nevent:b\nretry:2\ndata\n\n"),
	    "ev type=b id=2 data= retry=2\n" },
	{ "an empty id is there", IN("id:\ndata:x\n\n"),
	    "ev type=- id= data=x retry=-1\n" },
	{ "an id with NUL is ignored", IN("id: a\0b\ndata:x\n\n"),
	    "ev type=- id=- data=x retry=-1\n" },
	{ "an id with NUL leaves the one before it",
	    IN("id: 1\nid: \0\ndata:x\n\n"),
	    "ev type=- id=1 data=x retry=-1\n" },
	{ "an ignored id alone is no block", IN("id: \0\n\n"), "" },
	{ "a NUL past the limit counts too",
	    IN("id: 0123456789abcdefg\0\ndata:x\n\n"),
	    "ev type=- id=- data=x retry=-1\n" },
	{ "NUL elsewhere is a byte", IN("event:\0\ndata:\0\n\n"),
	    "ev type=\\x00 id=- data=\\x00 retry=-1\n" },
	{ "a retry that is not digits", IN("retry: 1000x\n\n"),
	    "ev type=- id=- data=- retry=-1 bad-retry\n" },
	{ "nor is a sign", IN("retry:-1\n\n"),
	    "ev type=- id=- data=- retry=-1 bad-retry\n" },
	{ "nor a second space", IN("retry:  1\n\n"),
	    "ev type=- id=- data=- retry=-1 bad-retry\n" },
	{ "nor is it empty", IN("retry\n\n"),
	    "ev type=- id=- data=- retry=-1 bad-retry\n" },
	{ "a bad one leaves the good one", IN("retry: 5\nretry: x\n\n"),
	    "ev type=- id=- data=- retry=5 bad-retry\n" },
	{ "leading zeros of a retry, longer than a field may be",
	    IN("retry: 00000000000000000000000000012\n\n"),
	    "ev type=- id=- data=- retry=12\n" },
	{ "the largest retry", IN("retry: 9223372036854775807\n\n"),
	    "ev type=- id=- data=- retry=9223372036854775807\n" },
	{ "a retry that does not fit", IN("retry: 9223372036854775808\n\n"),
	    "ev type=- id=- data=- retry=-1 bad-retry\n" },
	{ "nor does a much larger one",
	    IN("retry: 99999999999999999999999999999999999999\n\n"),
	    "ev type=- id=- data=- retry=-1 bad-retry\n" },
	{ "unknown fields are ignored",
	    IN("datax:1\ndat:2\nDATA:3\nids:4\n x:5\nretryy:6\nevents:7\n\n"), "" },
	{ "an unknown field does not end the block",
	    IN("data:1\nfoo:bar\ndata:2\n\n"),
	    "ev type=- id=- data=1\\n2 retry=-1\n" },
	{ "comments", IN(": ping\n\n:\n\n:a:b\r\n"),
	    "comment= ping\ncomment=\ncomment=a:b\n" },
	{ "a comment inside an event", IN("data:1\n:c\ndata:2\n\n"),
	    "comment=c\nev type=- id=- data=1\\n2 retry=-1\n" },
	{ "a comment at the limit and over it",
	    IN(":0123456789abcdef\n:0123456789abcdefg\n"),
	    "comment=0123456789abcdef\ncomment=0123456789abcdef\n" },
	{ "an id at the limit", IN("id:0123456789abcdef\n\n"),
	    "ev type=- id=0123456789abcdef data=- retry=-1\n" },
	{ "an id over the limit", IN("id:0123456789abcdefg\n\n"),
	    "ev type=- id=0123456789abcdef data=- retry=-1 cut\n" },
	{ "an event type over the limit",
	    IN("event:0123456789abcdefghijklmnopqrstuvwxyz\n\n"),
	    "ev type=0123456789abcdef id=- data=- retry=-1 cut\n" },
	{ "data at the limit, in two lines",
	    IN("data:0123456789012345678\ndata:01234567890123456789\n\n"),
	    "ev type=- id=- data=0123456789012345678\\n01234567890123456789"
	    " retry=-1\n" },
	{ "data over the limit",
	    IN("data:0123456789012345678\ndata:01234567890123456789X\n"
	    "data:Y\n\ndata:0\n\n"),
	    "ev type=- id=- data=0123456789012345678\\n01234567890123456789"
	    "...43 retry=-1 cut\n"
	    "ev type=- id=- data=0 retry=-1\n" },
	{ "one BOM", IN("\xef\xbb\xbf" "data:x\n\n"),
	    "ev type=- id=- data=x retry=-1\n" },
	{ "a second BOM spoils its line", IN("\xef\xbb\xbf\xef\xbb\xbf" "data:x\n"
	    "data:y\n\n"),
	    "ev type=- id=- data=y retry=-1\n" },
	{ "a BOM only at the start", IN("\n\xef\xbb\xbf" "data:x\n\n"), "" },
	{ "half a BOM is the start of a name", IN("\xef\xbb" "data:x\n"
	    "data:y\n\n"),
	    "ev type=- id=- data=y retry=-1\n" },
	{ "half a BOM and a line end", IN("\xef\ndata:y\n\n"),
	    "ev type=- id=- data=y retry=-1\n" },
	{ "half a BOM and a BOM", IN("\xef\xef\xbb\xbf" "data:x\n\n"), "" },
	{ "half a BOM and no more", IN("\xef\xbb"), "" },
	{ "a BOM and no more", IN("\xef\xbb\xbf"), "" },
	{ "a tail of whole lines", IN("id:1\ndata:x\n"),
	    "ev type=- id=1 data=x retry=-1 tail\n" },
	{ "a tail inside a data line", IN("id:1\ndata:xyz"),
	    "ev type=- id=1 data=xyz retry=-1 tail\n" },
	{ "a tail inside an id says nothing of it", IN("data:x\nid:12"),
	    "ev type=- id=- data=x retry=-1 tail\n" },
	{ "a tail of only that", IN("id:12"), "" },
	{ "a tail inside a retry", IN("id:1\nretry:30"),
	    "ev type=- id=1 data=- retry=-1 tail\n" },
	{ "a tail inside a name", IN("data"), "" },
	{ "a tail inside a comment", IN("data:x\n\n: pi"),
	    "ev type=- id=- data=x retry=-1\n" },
	{ "a final CR", IN("data:x\r\n\r"), "ev type=- id=- data=x retry=-1\n" },

	{ "a gap between blocks: the next field starts one, perhaps torn",
	    IN("data:1\n\n\x1a" "data:2\n\ndata:3\n\n"),
	    "ev type=- id=- data=1 retry=-1\n"
	    "ev type=- id=- data=2 retry=-1 torn\n"
	    "ev type=- id=- data=3 retry=-1\n" },
	{ "a gap inside data", IN("id:1\ndata:ab\x1a" "cd\nid:9\n\ndata:3\n\n"),
	    "ev type=- id=1 data=ab retry=-1 torn\n"
	    "ev type=- id=- data=3 retry=-1\n" },
	{ "a gap inside data, then the start of a block",
	    IN("data:ab\x1aid:2\ndata:x\n\n"),
	    "ev type=- id=- data=ab retry=-1 torn\n"
	    "ev type=- id=2 data=x retry=-1 torn\n" },
	{ "a gap inside an id", IN("id:1\x1a" "2\ndata:a\n\ndata:b\n\n"),
	    "ev type=- id=- data=b retry=-1\n" },
	{ "a gap inside a name", IN("id:1\nda\x1ata:a\n\ndata:b\n\n"),
	    "ev type=- id=1 data=- retry=-1 torn\n"
	    "ev type=- id=- data=b retry=-1\n" },
	{ "a gap inside the line end", IN("data:a\r\x1a\n\r\ndata:b\n\n"),
	    "ev type=- id=- data=a retry=-1 torn\n"
	    "ev type=- id=- data=b retry=-1\n" },
	{ "a line end after the gap may be the end of a block",
	    IN("data:a\n\x1a\ndata:b\n\n"),
	    "ev type=- id=- data=a retry=-1 torn\n"
	    "ev type=- id=- data=b retry=-1 torn\n" },
	{ "a line end and a comment are no start",
	    IN("\x1a\n:c\ndata:b\n\ndata:c\n\n"),
	    "comment=c\nev type=- id=- data=c retry=-1\n" },
	{ "a colon after a gap may come from inside JSON",
	    IN("data:{\"a\"\x1a: 1}\n\ndata:b\n\n"),
	    "ev type=- id=- data={\"a\" retry=-1 torn\n"
	    "ev type=- id=- data=b retry=-1\n" },
	{ "a name without a colon after a gap may come from inside text",
	    IN("\x1a" "data\ndata:a\n\ndata:b\n\n"),
	    "ev type=- id=- data=b retry=-1\n" },
	{ "comments in a lost block", IN("\x1axyz\n: ping\n\ndata:b\n\n"),
	    "comment= ping\nev type=- id=- data=b retry=-1\n" },
	{ "a gap inside a comment", IN(": pi\x1ang\n\ndata:b\n\n"),
	    "ev type=- id=- data=b retry=-1\n" },
	{ "gap after gap", IN("data:a\x1a\x1a" "b\x1aid:1\n\n"),
	    "ev type=- id=- data=a retry=-1 torn\n"
	    "ev type=- id=1 data=- retry=-1 torn\n" },
	{ "no BOM after a gap", IN("\xef\xbb\x1a\xbf\n\ndata:b\n\n"),
	    "ev type=- id=- data=b retry=-1\n" },
	{ "a lost block and the end", IN("\x1axyz\ndata:a"), "" },
	{ "a torn tail", IN("\x1a" "data:a"),
	    "ev type=- id=- data=a retry=-1 tail torn\n" },
#undef IN
};

struct trace {
	struct buf out, data;
	uint64_t passed;
};

static void
show(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\n')
			buf_fmt(b, "\\n");
		else if (c < ' ' || c > '~')
			buf_fmt(b, "\\x%02x", c);
		else
			buf_addc(b, (char)c);
	}
}

static void
on_data(void *arg, const void *p, size_t n)
{
	struct trace *t = arg;

	assert_true(n > 0);
	t->passed += n;
	assert_int_equal(buf_add(&t->data, p, n), 0);
}

static void
on_event(void *arg, const struct sse_event *e)
{
	struct trace *t = arg;

	buf_fmt(&t->out, "ev type=");
	show(&t->out, e->type.p ? e->type : STR("-"));
	buf_fmt(&t->out, " id=");
	show(&t->out, e->id.p ? e->id : STR("-"));
	buf_fmt(&t->out, " data=");
	show(&t->out, e->has_data ? buf_str(&t->data) : STR("-"));
	if (e->data_len != t->data.n)
		buf_fmt(&t->out, "...%llu", (unsigned long long)e->data_len);
	buf_fmt(&t->out, " retry=%lld%s%s%s%s%s\n", (long long)e->retry_ms,
	    e->data_first ? " data-first" : "",
	    e->bad_retry ? " bad-retry" : "", e->cut ? " cut" : "",
	    e->tail ? " tail" : "", e->torn ? " torn" : "");
	buf_clear(&t->data);
}

static void
on_comment(void *arg, struct str text)
{
	struct trace *t = arg;

	assert_non_null(text.p);
	buf_fmt(&t->out, "comment=");
	show(&t->out, text);
	buf_addc(&t->out, '\n');
}

static const struct sse_cb trace_cb = { on_data, on_event, on_comment };

static void
trace_init(struct trace *t)
{
	buf_init(&t->out, 1 << 16);
	buf_init(&t->data, 1 << 16);
	t->passed = 0;
}

static void
trace_fini(struct trace *t)
{
	buf_fini(&t->out);
	buf_fini(&t->data);
}

/* One piece, which goes away afterwards; a SUB in it is a gap. */
static void
feed(struct sse *s, const char *p, size_t n)
{
	const char *sub;

	while ((sub = memchr(p, '\x1a', n)) != NULL) {
		feed(s, p, (size_t)(sub - p));
		sse_gap(s, 1);
		n -= (size_t)(sub + 1 - p);
		p = sub + 1;
	}
	struct guard g = guard_of(p, n);
	sse_feed(s, g.p, n);
	guard_free(&g);
}

/* Cut at `at`, or in pieces of one byte when at > n. */
static void
run(const struct row *r, size_t at)
{
	struct trace t;
	struct sse *s;

	trace_init(&t);
	s = sse_new(&trace_cb, &t, LINE, DATA);
	if (at <= r->n) {
		feed(s, r->in, at);
		feed(s, r->in + at, r->n - at);
	} else {
		for (size_t i = 0; i < r->n; i++)
			feed(s, r->in + i, 1);
	}
	sse_eof(s);
	sse_eof(s);	/* says nothing twice */
	if (!str_eq(buf_str(&t.out), str_c(r->want)))
		fail_msg("%s, cut at %zu\nwant:\n%sgot:\n%.*s", r->what, at,
		    r->want, STR_ARG(buf_str(&t.out)));
	sse_free(s);
	trace_fini(&t);
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++)
		for (size_t at = 0; at <= rows[i].n + 1; at++)
			run(&rows[i], at);
}

/* A stream that ended can be followed by another, with its own BOM. */
static void
test_again(void **state)
{
	struct trace t;
	struct sse *s;

	(void)state;
	trace_init(&t);
	s = sse_new(&trace_cb, &t, LINE, DATA);
	for (int i = 0; i < 2; i++) {
		feed(s, "\xef\xbb\xbf" "id:1\n\nid", 11);
		sse_eof(s);
	}
	assert_true(str_eq(buf_str(&t.out),
	    STR("ev type=- id=1 data=- retry=-1\n"
	    "ev type=- id=1 data=- retry=-1\n")));
	sse_free(s);
	trace_fini(&t);
}

/* Data of any size goes through in pieces and is only counted past the
 * limit. */
static void
test_large(void **state)
{
	struct trace t;
	struct sse *s;
	static char piece[4096];

	(void)state;
	trace_init(&t);
	memset(piece, 'x', sizeof piece);
	s = sse_new(&trace_cb, &t, LINE, 10000);
	sse_feed(s, "data: ", 6);
	for (int i = 0; i < 1000; i++)
		sse_feed(s, piece, sizeof piece);
	assert_int_equal(t.passed, 10000);
	buf_clear(&t.data);
	sse_feed(s, "\n\n", 2);
	assert_true(str_eq(buf_str(&t.out),
	    STR("ev type=- id=- data=...4096000 retry=-1 cut\n")));
	sse_free(s);
	trace_fini(&t);
}

static void
test_no_callbacks(void **state)
{
	static const struct sse_cb none;
	struct sse *s = sse_new(&none, NULL, 16, 16);

	(void)state;
	sse_feed(s, ": c\ndata: x\nid: 5\n\nid: 1", 24);
	sse_free(s);
	sse_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_no_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
