/* ndjson: what is written is read back, bit by bit; what is not ours is passed
 * over; however the bytes are cut. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/ndjson.h"
#include "util.h"

static const struct str odd_strings[] = {
	{ "plain", 5 }, { "", 0 }, { "q\"b\\s/\b\f\n\r\t\x01\x7f", 13 },
	{ "\0nul\0", 5 }, { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9 },
	{ "bad\xff\xc3(\xed\xa0\x80", 9 }, { "\xe2\x80\xae rtl", 7 },
	{ "\xef\xbf\xbd", 3 }, { NULL, 0 },
};

static void
fill(struct ev *e, enum ev_type type, unsigned seed)
{
	const struct ev_field *f = ev_fields(type);

	memset(e, 0, sizeof *e);
	e->type = type;
	e->t = 1700000000123456789LL + (ns_t)seed * NS_S;
	e->pkt = seed;
	e->conn = seed * 7;
	e->x = seed / 2;
	e->stream = seed % 3 ? 4294967295u : 0;
	e->session = seed % 2;
	e->dir = seed % 2 ? EV_S2C : EV_C2S;
	e->flags = seed * 37 & 511;
	for (unsigned i = 0; f[i].name; i++) {
		void *at = (char *)e + f[i].offset;
		unsigned n = 0;

		switch ((enum ev_field_type)f[i].type) {
		case EVT_STR:
			*(struct str *)at = odd_strings[(seed + i) % N_ROWS(odd_strings)];
			break;
		case EVT_BOOL:
			*(bool *)at = (seed + i) % 2;
			break;
		case EVT_U32: case EVT_FLAGS:
			*(uint32_t *)at = seed % 4 ? seed * 1000 + i : UINT32_MAX;
			break;
		case EVT_U64: case EVT_HASH:
			*(uint64_t *)at = seed % 4 ? 1ULL << 53 | seed : UINT64_MAX;
			break;
		case EVT_I64:
			*(int64_t *)at = (int64_t)seed - 1;
			break;
		case EVT_NS:
			*(int64_t *)at = 1700000000987654321LL - seed;
			break;
		case EVT_ENUM:
			while (f[i].names[n])
				n++;
			*(unsigned *)at = (seed + i) % n;
			break;
		}
	}
}

static bool
same_member(const struct ev *a, const struct ev *b, const struct ev_field *f)
{
	const void *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
	const struct str *s = x, *t = y;

	switch ((enum ev_field_type)f->type) {
	case EVT_STR:
		return str_eq(*s, *t) && (s->p == NULL) == (t->p == NULL);
	case EVT_BOOL:
		return *(const bool *)x == *(const bool *)y;
	case EVT_U32: case EVT_FLAGS: case EVT_ENUM:
		return memcmp(x, y, 4) == 0;
	case EVT_U64: case EVT_HASH: case EVT_I64: case EVT_NS:
		return memcmp(x, y, 8) == 0;
	}
	return false;
}

struct want {
	const struct ev *e;
	unsigned n;
};

static void
same_event(void *arg, const struct ev *e)
{
	struct want *w = arg;

	assert_int_equal(e->type, w->e->type);
	assert_int_equal(e->t, w->e->t);
	assert_int_equal(e->pkt, w->e->pkt);
	assert_int_equal(e->conn, w->e->conn);
	assert_int_equal(e->x, w->e->x);
	assert_int_equal(e->stream, w->e->stream);
	assert_int_equal(e->session, w->e->session);
	assert_int_equal(e->dir, w->e->dir);
	assert_int_equal(e->flags, w->e->flags);
	for (const struct ev_field *f = ev_fields(e->type); f->name; f++)
		if (!same_member(e, w->e, f))
			fail_msg("%s.%s differs", ev_type_name(e->type), f->name);
	w->n++;
}

static void
every_event_comes_back(void **state)
{
	(void)state;
	for (unsigned type = 0; type < EV_N_TYPES; type++)
		for (unsigned seed = 0; seed < 40; seed++) {
			struct ndjson_in *in;
			struct ndjson *nd;
			struct out o;
			struct ev e;
			struct want w = { .e = &e };

			if (type == EV_FINDING)
				continue;
			fill(&e, (enum ev_type)type, seed);
			out_init(&o, -1);
			nd = ndjson_new(&o);
			ndjson_event(nd, &e);
			in = ndjson_in_new(same_event, &w);
			ndjson_in_feed(in, o.p, o.n);
			ndjson_in_eof(in);
			if (ndjson_in_stats(in)->bad)
				fail_msg("%s: %.*s", ndjson_in_stats(in)->why,
				    (int)o.n, o.p);
			assert_int_equal(w.n, 1);
			ndjson_in_free(in);
			ndjson_free(nd);
			out_fini(&o);
		}
}

static const struct {
	const char *what, *in;
	const char *want;	/* written again; after it the bad lines */
} rows[] = {
	{ "the least there can be",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5}\n",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":0}\n" },
	{ "any order of members, white space, no newline at the end",
	  " { \"bytes\" : 3 ,\t\"ns\":5, \"type\":\"gap\", \"v\":1 } ",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":3}\n" },
	{ "CRLF and empty lines",
	  "\r\n\n{\"v\":1,\"type\":\"gap\",\"ns\":5}\r\n\r\n",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":0}\n" },
	{ "an unknown type and unknown members are passed over",
	  "{\"v\":1,\"type\":\"weather\",\"ns\":5,\"rain\":[1,{\"a\":\"]\"}]}\n"
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"deep\":{\"x\":[[],{}]},\"f\":1.5e3,"
	  "\"n\":null,\"s\":\"\\ud83d\\ude00\"}\n",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":0}\n" },
	{ "findings are passed over",
	  "{\"v\":1,\"type\":\"finding\",\"ns\":5,\"detector\":\"leapfrog\"}\n", "" },
	{ "flags of a later version are passed over",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"flags\":[\"late\",\"purple\", \"gap\"]}\n",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"flags\":[\"gap\",\"late\"],\"bytes\":0}\n" },
	{ "no delay and no retry is -1, not 0",
	  "{\"v\":1,\"type\":\"sse\",\"ns\":5}\n",
	  "{\"v\":1,\"type\":\"sse\",\"ns\":5,\"data\":false,\"dispatched\":false,"
	  "\"tail\":false,\"bytes\":0,\"hash\":\"0000000000000000\",\"retry_ms\":-1}\n" },
	{ "bytes that are not UTF-8 come from their hex",
	  "{\"v\":1,\"type\":\"comment\",\"ns\":5,\"text\":\"\\ufffd\",\"text_hex\":\"fF\"}\n",
	  "{\"v\":1,\"type\":\"comment\",\"ns\":5,\"text\":\"\\ufffd\",\"text_hex\":\"ff\"}\n" },
	{ "lone surrogates become U+FFFD",
	  "{\"v\":1,\"type\":\"comment\",\"ns\":5,\"text\":\"\\ud800x\\udc00\\ud800\\u0041\"}\n",
	  "{\"v\":1,\"type\":\"comment\",\"ns\":5,\"text\":\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\"}\n" },
	{ "the last one of a name counts",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":1,\"bytes\":2}\n",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":2}\n" },
	{ "bad lines are counted and the next one is read",
	  "nonsense\n{\"v\":1,\"type\":\"gap\",\"ns\":5}\n{\"v\":1\n",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":0}\n2 bad, 1: no JSON object\n" },
	{ "another version", "{\"v\":2,\"type\":\"gap\",\"ns\":5}\n",
	  "1 bad, 1: a version that is not known\n" },
	{ "no time", "\n{\"v\":1,\"type\":\"gap\"}\n",
	  "1 bad, 2: no event: v, type and ns are needed\n" },
	{ "a negative time", "{\"v\":1,\"type\":\"gap\",\"ns\":-5}\n",
	  "1 bad, 1: a number out of its range\n" },
	{ "a time whose sums overflow",
	  "{\"v\":1,\"type\":\"gap\",\"ns\":4611686018427387905}\n",
	  "1 bad, 1: a number out of its range\n" },
	{ "an id of 33 bits", "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"conn\":4294967296}\n",
	  "1 bad, 1: a number out of its range\n" },
	{ "a delay of centuries",
	  "{\"v\":1,\"type\":\"stream\",\"ns\":5,\"delay_ms\":1000000000001}\n",
	  "1 bad, 1: a number out of its range\n" },
	{ "a number that is none", "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"bytes\":1-2}\n",
	  "1 bad, 1: a number out of its range\n" },
	{ "a word that does not exist",
	  "{\"v\":1,\"type\":\"stream_end\",\"ns\":5,\"end\":\"happy\"}\n",
	  "1 bad, 1: an unknown word\n" },
	{ "a string for a number", "{\"v\":1,\"type\":\"gap\",\"ns\":\"5\"}\n",
	  "1 bad, 1: a number out of its range\n" },
	{ "a control character", "{\"v\":1,\"type\":\"g\tap\",\"ns\":5}\n",
	  "1 bad, 1: a control character in a string\n" },
	{ "an escape that does not exist", "{\"v\":1,\"type\":\"\\x\",\"ns\":5}\n",
	  "1 bad, 1: an unknown escape\n" },
	{ "\\u at the end", "{\"v\":1,\"type\":\"\\u00", "1 bad, 1: \\u without four digits\n" },
	{ "\\ at the end", "{\"v\":1,\"type\":\"\\", "1 bad, 1: a string without end\n" },
	{ "two objects in a line", "{\"v\":1,\"type\":\"gap\",\"ns\":5}{}\n",
	  "1 bad, 1: more after the object\n" },
	{ "brackets crossed", "{\"v\":1,\"type\":\"gap\",\"ns\":5,\"a\":[{]}}\n",
	  "1 bad, 1: brackets that do not match\n" },
	{ "a hash too short", "{\"v\":1,\"type\":\"sse\",\"ns\":5,\"hash\":\"12\"}\n",
	  "1 bad, 1: a hash has 16 digits\n" },
	{ "half a byte", "{\"v\":1,\"type\":\"comment\",\"ns\":5,\"text_hex\":\"abc\"}\n",
	  "1 bad, 1: no hexadecimal bytes\n" },
	{ "nothing after the end",
	  "{\"v\":1,\"type\":\"end\",\"ns\":5}\n{\"v\":1,\"type\":\"gap\",\"ns\":5}\n",
	  "{\"v\":1,\"type\":\"end\",\"ns\":5,\"packets\":0,\"tcp_connections\":0,\"gaps\":0,"
	  "\"gap_bytes\":0,\"dropped\":0,\"truncated\":0,\"encrypted\":0,\"http2\":0,"
	  "\"other\":0,\"unread\":0,\"first_ns\":0,\"last_ns\":0}\n"
	  "1 bad, 2: an event after the end (two files in one?)\n" },
};

static void
write_again(void *arg, const struct ev *e)
{
	ndjson_event(arg, e);
}

struct reading {
	struct out o;
	struct ndjson *nd;
	struct ndjson_in *in;
};

static void
reading_init(struct reading *r)
{
	out_init(&r->o, -1);
	r->nd = ndjson_new(&r->o);
	r->in = ndjson_in_new(write_again, r->nd);
}

static void
reading_check(struct reading *r, const char *what, const char *want)
{
	const struct ndjson_stats *s = ndjson_in_stats(r->in);

	ndjson_in_eof(r->in);
	if (s->bad)
		out_fmt(&r->o, "%llu bad, %llu: %s\n", (unsigned long long)s->bad,
		    (unsigned long long)s->first_bad, s->why);
	if (r->o.n != strlen(want) || memcmp(r->o.p, want, r->o.n) != 0)
		fail_msg("%s: got\n%.*s", what, (int)r->o.n, r->o.p);
	ndjson_in_free(r->in);
	ndjson_free(r->nd);
	out_fini(&r->o);
}

static void
rows_however_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		size_t n = strlen(rows[i].in);
		struct guard g = guard_of(rows[i].in, n);
		struct reading r;

		for (size_t cut = 0; cut <= n; cut++) {
			reading_init(&r);
			ndjson_in_feed(r.in, g.p, cut);
			ndjson_in_feed(r.in, g.p + cut, n - cut);
			reading_check(&r, rows[i].what, rows[i].want);
		}
		reading_init(&r);
		for (size_t k = 0; k < n; k++)
			ndjson_in_feed(r.in, g.p + k, 1);
		reading_check(&r, rows[i].what, rows[i].want);
		guard_free(&g);
	}
}

static void
a_line_has_its_limit(void **state)
{
	static const char next[] = "\n{\"v\":1,\"type\":\"gap\",\"ns\":5}\n";
	char *a = malloc(NDJSON_MAX_LINE + 1);
	struct reading r;

	(void)state;
	memset(a, ' ', NDJSON_MAX_LINE + 1);
	reading_init(&r);
	ndjson_in_feed(r.in, a, NDJSON_MAX_LINE + 1);
	ndjson_in_feed(r.in, next, sizeof next - 1);
	reading_check(&r, "too long", "{\"v\":1,\"type\":\"gap\",\"ns\":5,"
	    "\"bytes\":0}\n1 bad, 1: a line over 1 MiB\n");
	reading_init(&r);
	ndjson_in_feed(r.in, a, NDJSON_MAX_LINE);
	ndjson_in_feed(r.in, next, sizeof next - 1);
	reading_check(&r, "just fits", "{\"v\":1,\"type\":\"gap\",\"ns\":5,"
	    "\"bytes\":0}\n1 bad, 1: no JSON object\n");
	memset(a, '[', NDJSON_MAX_LINE);
	memcpy(a, "{\"a\":", 5);
	reading_init(&r);
	ndjson_in_feed(r.in, a, NDJSON_MAX_LINE);
	reading_check(&r, "deep", "1 bad, 1: nested too deeply\n");
	free(a);
}

static void
a_finding_as_a_line(void **state)
{
	static const uint32_t streams[] = { 2, 5 };
	struct finding f = { .n = 1, .detector = "leapfrog", .severity = SEV_ERROR,
	    .confidence = CONF_HIGH, .session = 3, .streams = streams,
	    .n_streams = 2, .first = { 10, 4 }, .last = { 20, 9 }, .count = 8,
	    .period = 3003 * NS_MS, .title = STR("a \x1b title"), .why = STR("w"),
	    .fix = STR("f"), .n_evidence = 1, .n_facts = 4 };
	struct ev e = { .type = EV_FINDING, .flags = EVF_FINAL, .t = 20 };
	struct reading r;

	(void)state;
	f.evidence[0] = (struct evidence){ { 15, 6 }, STR("ended") };
	f.facts[0] = (struct fact){ "n", FACT_NUM, 3, STR_NONE };
	f.facts[1] = (struct fact){ "gap_ms", FACT_MS, 0.25, STR_NONE };
	f.facts[2] = (struct fact){ "who", FACT_TEXT, 0, STR("x\"") };
	f.facts[3] = (struct fact){ "sure", FACT_BOOL, 1, STR_NONE };
	e.u.finding = &f;
	reading_init(&r);
	ndjson_event(r.nd, &e);
	ndjson_event(r.nd, &(struct ev){ .type = EV_FINDING });
	reading_check(&r, "finding", "{\"v\":1,\"type\":\"finding\",\"ns\":20,"
	    "\"session\":3,\"flags\":[\"final\"],\"n\":1, \"detector\": \"leapfrog\", "
	    "\"variant\": null, \"severity\": \"error\", \"confidence\": \"high\", "
	    "\"streams\": [2, 5], \"first_packet\": 4, \"last_packet\": 9, "
	    "\"count\": 8, \"period_ms\": 3003, \"title\": \"a \\u001b title\", "
	    "\"why\": \"w\", \"facts\": {\"n\": 3, \"gap_ms\": 0.25, "
	    "\"who\": \"x\\\"\", \"sure\": true}, \"evidence\": [{\"packet\": 6, "
	    "\"ns\": 15, \"what\": \"ended\"}], \"fix\": \"f\", \"reference\": null, "
	    "\"sessions_alike\": 0, \"consequence_of\": null}\n"
	    "{\"v\":1,\"type\":\"finding\",\"ns\":0}\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_comes_back),
		cmocka_unit_test(rows_however_cut),
		cmocka_unit_test(a_line_has_its_limit),
		cmocka_unit_test(a_finding_as_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
