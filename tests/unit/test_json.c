#include "mcpdiag/json.h"

#include <stdio.h>
#include <stdlib.h>

/* The oracle; its names for kinds are ours too. */
#define JSON_OBJECT ORACLE_OBJECT
#define JSON_ARRAY ORACLE_ARRAY
#define JSON_STRING ORACLE_STRING
#define JSON_TRUE ORACLE_TRUE
#define JSON_FALSE ORACLE_FALSE
#define JSON_NULL ORACLE_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#include "mcpdiag/buf.h"
#include "mcpdiag/err.h"
#include "util.h"

#define DEPTH 6
#define VALUE 20

static const char *const paths[] = {
	"id", "params", "params.id", "params.name.first",
	"params._meta.[io.x/y]", "params._meta.[io.x/]*", "params.na*",
	"params.na", "caps.**.on", "a.b.c.d.e.f.g.h",
};

/* Everything is followed here; with the others, most is skipped. */
static const char *const any_paths[] = {
	"**.any", "id", "a.b.c.d.e.f.g.h",
};

static const char *const kinds[] = {
	"null", "false", "true", "number", "string", "object", "array",
};

static void
on_begin(void *arg, enum json_kind kind)
{
	buf_fmt(arg, "<%s", kinds[kind]);
}

static void
show_value(struct buf *arg, const struct json_value *v, const char *path)
{
	assert_true(v->raw.n <= VALUE);
	assert_int_equal(v->raw.p == NULL, v->kind >= JSON_OBJECT);
	buf_fmt(arg, " %s=%s", path, kinds[v->kind]);
	if (v->kind < JSON_OBJECT)
		buf_fmt(arg, "(%.*s%s)", STR_ARG(v->raw), v->cut ? "..." : "");
}

static void
on_value(void *arg, const struct json_value *v)
{
	assert_true(v->path < N_ROWS(paths));
	show_value(arg, v, paths[v->path]);
}

static void
on_any_value(void *arg, const struct json_value *v)
{
	assert_true(v->path < N_ROWS(any_paths));
	show_value(arg, v, any_paths[v->path]);
}

static void
on_end(void *arg, unsigned flaws)
{
	static const char *const names[] = {
		" deep", " utf8", " duplicate", " cut", " surrogate",
	};

	for (unsigned i = 0; i < N_ROWS(names); i++)
		if (flaws & 1u << i)
			buf_fmt(arg, "%s", names[i]);
	buf_fmt(arg, ">");
}

static const struct json_cb trace_cb = { on_begin, on_value, on_end };
static const struct json_cb any_cb = { on_begin, on_any_value, on_end };

static struct json *
scanner(struct buf *out)
{
	buf_init(out, 1 << 20);
	return json_new(&trace_cb, out, paths, N_ROWS(paths), DEPTH, VALUE);
}

/* As a C string, for messages. */
static const char *
show(struct buf *out)
{
	assert_int_equal(buf_addc(out, '\0'), 0);
	return out->p;
}

/* One piece, which goes away afterwards. */
static int
feed(struct json *j, const char *p, size_t n)
{
	struct guard g = guard_of(p, n);
	int rc = json_feed(j, g.p, n);

	guard_free(&g);
	return rc;
}

/* The trace of a document cut at `at`, or in single bytes when at > n. */
static void
run(struct json *j, struct buf *out, const char *p, size_t n, size_t at)
{
	int rc = 0;

	buf_clear(out);
	json_reset(j);
	if (at <= n) {
		rc = feed(j, p, at);
		rc |= feed(j, p + at, n - at);
	} else {
		for (size_t i = 0; i < n; i++)
			rc |= feed(j, p + i, 1);
	}
	if (rc != 0)
		assert_int_equal(json_eof(j), -E_SYNTAX);
	rc |= json_eof(j);
	buf_fmt(out, "%s%s", rc == 0 ? " ok" : " bad",
	    json_is_batch(j) ? " batch" : "");
	if (rc != 0) {	/* sticky */
		assert_int_equal(json_feed(j, " ", 1), -E_SYNTAX);
		assert_int_equal(json_feed(j, "", 0), -E_SYNTAX);
	}
}

static const struct row {
	const char *what;
	const char *in;
	size_t n;
	const char *want;
} rows[] = {
#define IN(lit) lit, sizeof(lit) - 1
	{ "a number", IN("{\"id\":1}"), "<object id=number(1)> ok" },
	{ "a string", IN("{\"id\":\"1\"}"), "<object id=string(1)> ok" },
	{ "an empty string", IN("{\"id\":\"\"}"), "<object id=string()> ok" },
	{ "words", IN("{\"id\":null,\"params\":{\"id\":true,\"name\":{\"first\":"
	    "false}}}"),
	    "<object id=null(null) params=object params.id=true(true)"
	    " params.na*=object params.name.first=false(false)> ok" },
	{ "2^64", IN("{\"id\":18446744073709551616}"),
	    "<object id=number(18446744073709551616)> ok" },
	{ "2^53+1", IN("{\"id\":9007199254740993 }"),
	    "<object id=number(9007199254740993)> ok" },
	{ "1e400", IN("{\"id\":1e400}"), "<object id=number(1e400)> ok" },
	{ "-0.0E+00", IN("{\"id\":-0.0E+00}"),
	    "<object id=number(-0.0E+00)> ok" },
	{ "escapes stay", IN("{\"id\":\"\\u0061\\n\\\"\\\\\"}"),
	    "<object id=string(\\u0061\\n\\\"\\\\)> ok" },
	{ "NUL as an escape", IN("{\"id\":\"a\\u0000b\"}"),
	    "<object id=string(a\\u0000b)> ok" },
	{ "raw UTF-8 stays", IN("{\"id\":\"\xc3\xa9\"}"),
	    "<object id=string(\xc3\xa9)> ok" },
	{ "white space anywhere",
	    IN(" \t\r\n{ \"id\" :\n1 ,\r\"params\"\t: { } } \n"),
	    "<object id=number(1) params=object> ok" },
	{ "an array is reported at its opening", IN("{\"params\":[1,[2]]}"),
	    "<object params=array> ok" },
	{ "a key elsewhere is another", IN("{\"x\":{\"id\":1},\"params\":{\"x\":"
	    "{\"id\":2},\"id\":3},\"idd\":4,\"i\":5,\"\":6,\"Id\":7}"),
	    "<object params=object params.id=number(3)> ok" },
	{ "not through arrays", IN("{\"params\":[{\"id\":1}],\"id\":[{\"id\":2}]}"),
	    "<object params=array id=array> ok" },
	{ "after a value of another kind", IN("{\"params\":1,\"name\":{\"first\":"
	    "1},\"params\":{\"id\":2}}"),
	    "<object params=number(1) params=object params.id=number(2)"
	    " duplicate> ok" },
	{ "a key written with escapes is another", IN("{\"\\u0069d\":1,\"i\\u0064"
	    "\":2,\"id\\n\":3,\"params\":{\"n\\u0061\":1}}"),
	    "<object params=object> ok" },
	{ "and does not begin so", IN("{\"params\":{\"na\\n\":1,\"na\":2}}"),
	    "<object params=object params.na*=number(2) params.na=number(2)> ok" },
	{ "in again and out again", IN("{\"params\":{\"name\":{\"x\":{\"first\":0},"
	    "\"first\":1},\"x\":{\"id\":0},\"id\":2},\"x\":{\"params\":{\"id\":0}},"
	    "\"id\":3}"),
	    "<object params=object params.na*=object params.name.first=number(1)"
	    " params.id=number(2) id=number(3)> ok" },
	{ "a dot in a key", IN("{\"params\":{\"_meta\":{\"io.x/y\":1}},"
	    "\"params.id\":2}"),
	    "<object params=object params._meta.[io.x/y]=number(1)"
	    " params._meta.[io.x/]*=number(1)> ok" },
	{ "keys that begin so", IN("{\"params\":{\"_meta\":{\"io.x/\":1,\"io.x/yy\":"
	    "{\"io.x/y\":0},\"io.x\":2,\"io.xx\":3},\"na\":4,\"nam\":5,\"n\":6}}"),
	    "<object params=object params._meta.[io.x/]*=number(1)"
	    " params._meta.[io.x/]*=object params.na*=number(4) params.na=number(4)"
	    " params.na*=number(5)> ok" },
	{ "at any depth", IN("{\"caps\":{\"on\":1,\"x\":{\"on\":2,\"on\":{\"on\":3}},"
	    "\"l\":[4,{\"on\":5},[{\"on\":6}]]},\"on\":7,\"x\":{\"caps\":{\"on\":8}}}"),
	    "<object caps.**.on=number(1) caps.**.on=number(2) caps.**.on=object"
	    " caps.**.on=number(3) caps.**.on=number(5) caps.**.on=number(6)>"
	    " ok" },
	{ "but not elsewhere", IN("{\"params\":{\"x\":{\"on\":1},\"on\":[{\"on\":2}]},"
	    "\"caps\":{\"on\":3}}"),
	    "<object params=object caps.**.on=number(3)> ok" },
	{ "nesting at the limit", IN("[[[[[[[]]]]]]]"), "<array> ok batch" },
	{ "and over it", IN("[[[[[[[[]]]]]]]]"), "<array deep> ok batch" },
	{ "paths go on after it", IN("{\"x\":[[[[[[{\"id\":1}]]]]]],\"id\":2}"),
	    "<object id=number(2) deep> ok" },
	{ "duplicates of a path asked for", IN("{\"id\":1,\"id\":2}"),
	    "<object id=number(1) id=number(2) duplicate> ok" },
	{ "other duplicates", IN("{\"x\":1,\"x\":2,\"params\":{\"x\":1,\"x\":2}}"),
	    "<object params=object> ok" },
	{ "duplicates in two messages are none", IN("[{\"id\":1},{\"id\":2}]"),
	    "<object id=number(1)><object id=number(2)> ok batch" },
	{ "a value at the limit", IN("{\"id\":\"01234567890123456789\"}"),
	    "<object id=string(01234567890123456789)> ok" },
	{ "and over it", IN("{\"id\":\"01234567890123456789a\",\"params\":1}"),
	    "<object id=string(01234567890123456789...) params=number(1) cut>"
	    " ok" },
	{ "a number over it", IN("{\"id\":1234567890.1234567890}"),
	    "<object id=number(1234567890.123456789...) cut> ok" },
	{ "a long key", IN("{\"params\":{\"na0123456789012345678901234567890123"
	    "456789012345678901234567890123456789\":1}}"),
	    "<object params=object params.na*=number(1)> ok" },
	{ "a batch", IN("[{\"id\":1}, 2 ,\"x\",null,[{\"id\":3}],{}]"),
	    "<object id=number(1)><number><string><null><array><object>"
	    " ok batch" },
	{ "an empty batch", IN(" [ ] "), " ok batch" },
	{ "a scalar is a message too", IN("\"x\""), "<string> ok" },
	{ "a number ends with the document", IN("12"), "<number> ok" },
	{ "or before", IN("-1.5e3 "), "<number> ok" },
	{ "unless it is not whole", IN("-1.5e"), "<number bad" },
	{ "a batch that ends in a number", IN("[1"), "<number bad" " batch" },
	{ "what went before an error is told", IN("{\"id\":1,\"params\":2x"),
	    "<object id=number(1) params=number(2) bad" },
	{ "messages before an error are told", IN("[{\"id\":1},{\"id\":2]"),
	    "<object id=number(1)><object id=number(2) bad batch" },
	{ "a document that is cut", IN("{\"id\":1,\"params\":{\"id\":\"x"),
	    "<object id=number(1) params=object bad" },
	{ "two documents", IN("{} {}"), "<object> bad" },
	{ "a lone high surrogate", IN("[\"\\ud800\"]"),
	    "<string surrogate> ok batch" },
	{ "a lone low surrogate", IN("[\"\\uDC00x\"]"),
	    "<string surrogate> ok batch" },
	{ "a pair", IN("[\"\\ud834\\uDD1e\"]"), "<string> ok batch" },
	{ "two high, one low", IN("[\"\\ud800\\ud834\\udd1e\"]"),
	    "<string surrogate> ok batch" },
	{ "high, then another escape", IN("[\"\\ud834\\n\",\"\\ud834\\\"\"]"),
	    "<string surrogate><string surrogate> ok batch" },
	{ "high, then another character", IN("[\"\\ud834\\u0041\",\"\"]"),
	    "<string surrogate><string> ok batch" },
	{ "high, then a plain character", IN("[\"\\ud834x\\udd1e\"]"),
	    "<string surrogate> ok batch" },
	{ "no surrogates", IN("[\"\\ud7ff\\ue000\\uffff\\ud7FF\"]"),
	    "<string> ok batch" },
	{ "UTF-8 of all lengths", IN("[\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf"
	    "\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf3\xbf\xbf\xbf"
	    "\xf4\x8f\xbf\xbf\"]"), "<string> ok batch" },
	{ "UTF-8 among ASCII", IN("[\"0123456789abcd\xe2\x82\xac" "0123456789abcde"
	    "0123456789abcdef0123456789abcdef\xf0\x9f\x98\x80\"]"),
	    "<string> ok batch" },
	{ "overlong", IN("[\"\xc0\xaf\",\"\xc1\xbf\",\"\xe0\x9f\xbf\",\"\xf0\x8f\xbf\xbf\"]"),
	    "<string utf8><string utf8><string utf8><string utf8> ok batch" },
	{ "surrogates and beyond as UTF-8",
	    IN("[\"\xed\xa0\x80\",\"\xf4\x90\x80\x80\",\"\xf5\x80\x80\x80\"]"),
	    "<string utf8><string utf8><string utf8> ok batch" },
	{ "stray and missing continuation",
	    IN("[\"\x80\",\"\xc3\",\"\xe2\x82\",\"\xc3x\",\"\xff\",\"\xe2\x82\\n\","
	    "\"\xf0\x9f\x98\xc3\xa9\"]"),
	    "<string utf8><string utf8><string utf8><string utf8><string utf8>"
	    "<string utf8><string utf8> ok batch" },
	{ "flaws of one message are not of the next",
	    IN("[\"0123456789abcdef\x80" "0123456789abcdef0123456789abcdef\",\"\"]"),
	    "<string utf8><string> ok batch" },
	{ "in keys too", IN("{\"\xc3\":1,\"\\udc00\":2}"),
	    "<object utf8 surrogate> ok" },
#undef IN
};

static const struct row any_rows[] = {
#define IN(lit) lit, sizeof(lit) - 1
	{ "at any depth from the top", IN("{\"x\":[{\"any\":1}],\"any\":{\"any\":"
	    "[2]},\"params\":{\"any\":3,\"id\":0},\"id\":4}"),
	    "<object **.any=number(1) **.any=object **.any=array"
	    " **.any=number(3) id=number(4)> ok" },
	{ "also where the top is an array", IN("[[{\"any\":1}],{\"any\":2}]"),
	    "<array **.any=number(1)><object **.any=number(2)> ok batch" },
	{ "a path of eight, deeper than the limit",
	    IN("{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"any\":5,\"f\":{\"any\":6,\"g\":"
	    "{\"h\":1}}}}},\"any\":2}}}"),
	    "<object **.any=number(5) **.any=number(2) deep> ok" },
#undef IN
};

static void
run_rows(struct json *j, struct buf *out, const struct row *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &table[i];

		for (size_t at = 0; at <= r->n + 1; at++) {
			run(j, out, r->in, r->n, at);
			if (!str_eq(buf_str(out), str_c(r->want)))
				fail_msg("%s, cut at %zu\nwant: %s\ngot:  %.*s",
				    r->what, at, r->want, STR_ARG(buf_str(out)));
		}
	}
	json_free(j);
}

static void
test_rows(void **state)
{
	struct buf out;

	(void)state;
	run_rows(scanner(&out), &out, rows, N_ROWS(rows));
	run_rows(json_new(&any_cb, &out, any_paths, N_ROWS(any_paths), DEPTH,
	    VALUE), &out, any_rows, N_ROWS(any_rows));
	json_free(NULL);
	buf_fini(&out);
}

/* A path as long as can be, and "**" below what is told apart by level. */
static void
test_long_paths(void **state)
{
	static const char doc[] = "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":"
	    "{\"h\":8,\"x\":[{\"y\":{\"any\":10}},{\"any\":9}],\"any\":7},\"h\":0}"
	    "}},\"h\":0}}},\"any\":1}";
	struct buf out;
	struct json *j;

	(void)state;
	buf_init(&out, 1 << 16);
	j = json_new(&any_cb, &out, any_paths, N_ROWS(any_paths), 64, VALUE);
	for (size_t at = 0; at < sizeof doc; at++) {
		run(j, &out, doc, sizeof doc - 1, at);
		assert_string_equal(show(&out), "<object a.b.c.d.e.f.g.h=number(8)"
		    " **.any=number(10) **.any=number(9) **.any=number(7)"
		    " **.any=number(1)> ok");
	}
	json_free(j);
	buf_fini(&out);
}

static void
match_value(void *arg, const struct json_value *v)
{
	struct str *want = arg;

	assert_true(str_eq(v->raw, *want));
	want->n = SIZE_MAX;	/* and no other */
}

/* `key` as a key and as its value, cut at each `step`th byte; whether that was
 * told of. */
static bool
matches(struct json *j, struct str *want, const char *key, size_t step)
{
	char doc[128];
	size_t n = (size_t)snprintf(doc, sizeof doc, "{\"%s\":\"%s\"}", key, key);
	bool found = false;

	for (size_t at = 0; at <= n; at += step) {
		*want = str_c(key);
		json_reset(j);
		assert_int_equal(feed(j, doc, at), 0);
		assert_int_equal(feed(j, doc + at, n - at), 0);
		assert_int_equal(json_eof(j), 0);
		assert_true(at == 0 || found == (want->n == SIZE_MAX));
		found = want->n == SIZE_MAX;
	}
	return found;
}

/* Keys of all lengths are found, asked for as a whole or by their beginning,
 * and not when a single byte is another; and wherever a piece ends, it costs
 * no byte of a value. */
static void
test_lengths(void **state)
{
	static const struct json_cb cb = { NULL, match_value, NULL };
	static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789+/=_";
	char path[sizeof text + 1], key[sizeof text];
	const char *one[] = { path };

	(void)state;
	for (int i = 2; i < 2 * (int)sizeof text; i++) {
		bool prefix = i % 2;
		int n = i / 2;
		struct str want;
		struct json *j;

		snprintf(path, sizeof path, "%.*s%s", n, text, prefix ? "*" : "");
		j = json_new(&cb, &want, one, 1, DEPTH, sizeof text);
		snprintf(key, sizeof key, "%.*s", n, text);
		assert_true(matches(j, &want, key, 1));
		for (int at = 0; at < n; at++) {
			key[at] ^= 1;
			assert_false(matches(j, &want, key, 9));
			key[at] ^= 1;
		}
		key[n - 1] = '\0';
		assert_false(matches(j, &want, key, 9));
		snprintf(key, sizeof key, "%.*s", n + 1, text);
		assert_int_equal(matches(j, &want, key, 1),
		    prefix || n + 1 == sizeof text);
		json_free(j);
	}
}

static const char *const good[] = {
	"0", "-0", "-0.0", "1E1", "1e+1", "1e-1", "10", "0e1", "0.5e0", "\"\"",
	"true", "false", "null", "[]", "{}", "[[],[]]", "[{}]", "{\"\":{}}",
	"[1,2]", "[ 1 , 2 ]", "{\"a\":1,\"a\":1}", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
	"[\"\\uAbCd\\u0000\"]", "[\"\x7f\"]", "[\"a/b\"]", "[-1.5E-10,true,null]",
	"\t\n\r 1 ", "{\"a\":[{\"b\":[{}]}]}", "[123456789012345678901234567890]",
	"[\"'\"]", "[1.0000000000000000000000000000000000001]",
};

static const char *const wrong[] = {
	/* numbers */
	"01", "-01", "1.", ".1", "-", "+1", "1e", "1e+", "1.e1", "- 1", "0x1",
	"1_0", "--1", "1.2.3", "1e1.5", "Infinity", "NaN", "-Infinity", "1ee1",
	"00", "1e1e1", "[1.]", "[-]", "[0 1]", "1 2", "1a", "0e", "-a",
	/* words */
	"nul", "nulll", "True", "tru", "truefalse", "[nul]", "nan", "n", "fals",
	"undefined",
	/* strings */
	"\"", "\"a", "\"\\\"", "'a'", "\"\\a\"", "\"\\x41\"", "\"\\u12\"",
	"\"\\u12g4\"", "\"\\u\"", "\"\n\"", "\"\t\"", "\"\x1f\"", "\"\r\"", "\"\\\n\"",
	"\"\\U0041\"", "\"a\" \"b\"", "\\u0041", "\"\\0\"", "\"\\'\"", "\"\\ud800\\u1\"",
	"\"0123456789abcdef\n0123456789abcdef\"",
	/* arrays */
	"[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1;2]",
	"[1}", "[]]", "[[]", "[1:2]", "[\"a\",\n4\n,1,", "[\"a\"", "[-1,",
	/* objects */
	"{", "}", "{]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}",
	"{,\"a\":1}", "{\"a\" 1}", "{\"a\"::1}", "{\"a\",1}", "{a:1}", "{1:1}",
	"{null:1}", "{'a':1}", "{\"a\":}", "{\"a\":1 \"b\":2}", "{\"a\":1;\"b\":2}",
	"{\"a\":1}}", "{{}}", "{[]}", "{\"a\":1]", "{\"a\":1,,\"b\":2}", "{:1}",
	"{\"a\":\"b\":1}", "{\"a\":1,2}", "{\"a\"}", "{\"\\ua\":1}",
	/* others */
	"", " ", ",", ":", "#", "/**/1", "1//", "[1]x", "<null>", "\xef\xbb\xbf{}",
	"\xff", "[\xc3\xa9]", "\v1", "\f[]", "[\xc2\xa0]", "{\"a\":/*x*/1}", "*",
	"[\"a\",#]", "\x01", "[1]\x01",
};

static void
check_grammar(struct json *j, struct buf *out, struct str s, bool is_good)
{
	for (size_t at = 0; at <= s.n + 1; at++) {
		run(j, out, s.p, s.n, at);
		if ((str_find(buf_str(out), STR(" bad")) == SIZE_MAX) != is_good)
			fail_msg("%s document, cut at %zu: %.*s",
			    is_good ? "good" : "wrong", at, STR_ARG(s));
	}
}

static void
test_grammar(void **state)
{
	struct buf out, inside;
	struct json *j = scanner(&out);

	(void)state;
	buf_init(&inside, 1 << 10);
	for (size_t i = 0; i < N_ROWS(good) + N_ROWS(wrong); i++) {
		bool is_good = i < N_ROWS(good);
		struct str s = str_c(is_good ? good[i] : wrong[i - N_ROWS(good)]);

		check_grammar(j, &out, s, is_good);
		/* The same as a value, in a piece that is not short. */
		buf_clear(&inside);
		buf_fmt(&inside, "{\"0123456789\":%.*s}", STR_ARG(s));
		check_grammar(j, &out, buf_str(&inside), is_good);
	}
	buf_fini(&inside);
	/* A NUL is nowhere legal. */
	run(j, &out, "[1]\0", 4, 4);
	assert_true(str_find(buf_str(&out), STR(" bad")) != SIZE_MAX);
	run(j, &out, "\0", 1, 1);
	assert_true(str_find(buf_str(&out), STR(" bad")) != SIZE_MAX);
	run(j, &out, "\"\0\"", 3, 3);
	assert_true(str_find(buf_str(&out), STR(" bad")) != SIZE_MAX);
	run(j, &out, "\"\\\0\"", 4, 4);
	assert_true(str_find(buf_str(&out), STR(" bad")) != SIZE_MAX);
	json_free(j);
	buf_fini(&out);
}

/* n times `open`, then n times `close`, in pieces of 1000. */
static int
nest(struct json *j, struct str open, struct str middle, struct str close,
    size_t n)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, 1 << 24);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, open);
	buf_adds(&b, middle);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, close);
	json_reset(j);
	for (size_t at = 0; at < b.n && rc == 0; at += 1000)
		rc = json_feed(j, b.p + at, b.n - at < 1000 ? b.n - at : 1000);
	buf_fini(&b);
	return rc != 0 ? rc : json_eof(j);
}

static void
test_depth(void **state)
{
	static const size_t depths[] = {
		2, 62, 63, 64, 65, 66, 127, 128, 129, 1022, 1023, 1024, 1025, 1026,
		100000,
	};
	struct buf out;
	struct json *j = scanner(&out);

	(void)state;
	for (size_t i = 0; i < N_ROWS(depths); i++) {
		size_t n = depths[i];

		assert_int_equal(nest(j, STR("["), STR(""), STR("]"), n), 0);
		assert_int_equal(nest(j, STR("{\"a\":["), STR("1"), STR("]}"), n), 0);
		assert_int_equal(nest(j, STR("[{\"a\":"), STR("{}"), STR("}]"), n), 0);
		assert_int_equal(nest(j, STR("[1,[],{\"a\":"), STR("\"]\""),
		    STR(",\"b\":{}},null]"), n), 0);
		assert_int_equal(nest(j, STR("["), STR("1"), STR("]"), n), 0);
		assert_int_equal(nest(j, STR("["), STR("]"), STR("]"), n),
		    -E_SYNTAX);
		assert_int_equal(nest(j, STR("["), STR("["), STR("]"), n),
		    -E_SYNTAX);
		assert_int_equal(nest(j, STR("["), STR("{"), STR("]"), n),
		    -E_SYNTAX);
		assert_int_equal(nest(j, STR("["), STR("01"), STR("]"), n),
		    -E_SYNTAX);
		assert_int_equal(nest(j, STR("["), STR(":"), STR("]"), n),
		    -E_SYNTAX);
		/* Where kinds are no longer remembered, a mismatch passes. */
		assert_int_equal(nest(j, STR("["), STR("[{]}"), STR("]"), n),
		    n < 1024 ? -E_SYNTAX : 0);
		assert_int_equal(nest(j, STR("["), STR("[1:2]"), STR("]"), n),
		    n < 1024 ? -E_SYNTAX : 0);
	}
	/* After such a depth the message goes on as before. */
	buf_clear(&out);
	assert_int_equal(nest(j, STR("{\"id\":1,\"x\":"), STR("1"), STR("}"), 3000),
	    0);
	assert_true(str_eq(buf_str(&out), STR("<object id=number(1) deep>")));
	json_reset(j);
	buf_clear(&out);
	assert_int_equal(json_feed(j, "[{\"x\":", 6), 0);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(json_feed(j, "[", 1), 0);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(json_feed(j, "]", 1), 0);
	assert_int_equal(json_feed(j, ",\"id\":7},{\"id\":8}]", 18), 0);
	assert_int_equal(json_eof(j), 0);
	assert_true(str_eq(buf_str(&out),
	    STR("<object id=number(7) deep><object id=number(8)>")));
	json_free(j);
	buf_fini(&out);
}

/* A depth limit beyond what is remembered is cut to that. */
static void
test_limits(void **state)
{
	static const char *const one[] = { "**.a" };
	struct buf out;
	struct json *j;

	(void)state;
	buf_init(&out, 1 << 16);
	j = json_new(&(struct json_cb){ .value = NULL }, &out, one, 1,
	    1u << 31, 0);
	assert_int_equal(nest(j, STR("{\"a\":"), STR("\"x\""), STR("}"), 2000), 0);
	json_free(j);
	j = json_new(&trace_cb, &out, paths, 0, 0, 1);
	assert_int_equal(nest(j, STR("{\"id\":"), STR("1"), STR("}"), 2), 0);
	assert_true(str_eq(buf_str(&out), STR("<object deep>")));
	json_free(j);
	buf_fini(&out);
}

/* xorshift64: the same documents every time. */
static uint64_t
rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void
make_scalar(struct buf *b, uint64_t *s)
{
	static const char *const scalars[] = {
		"0", "-1", "12.5", "1e5", "2E-7", "true", "false", "null", "\"\"",
		"\"plain text of a longer string\"", "\"\\n\\t\\\\\\\"\"",
		"\"\\u00e9\\ud834\\udd1e\"", "\"\xc3\xa9\xe6\x9d\xb1\xf0\x9f\x98\x80\"",
		"\"0123456789abcd\xe2\x82\xac..........\"", "123456789",
	};

	buf_adds(b, str_c(scalars[rnd(s) % N_ROWS(scalars)]));
}

static void
make_space(struct buf *b, uint64_t *s)
{
	static const char *const spaces[] = { "", "", "", " ", "\n  ", "\t\r\n" };

	buf_adds(b, str_c(spaces[rnd(s) % N_ROWS(spaces)]));
}

/* A random document, without recursion: a random walk over its brackets. */
static void
make_document(struct buf *b, uint64_t *s)
{
	static const char *const keys[] = {
		"\"id\"", "\"params\"", "\"name\"", "\"first\"", "\"\"", "\"_meta\"",
		"\"a\\nb\"", "\"caps\"",
	};
	bool object[40];
	unsigned depth = 0, left = rnd(s) % 60;
	bool comma = false;

	do {
		if (depth > 0 && (left == 0 || rnd(s) % 4 == 0)) {
			depth--;
			buf_addc(b, object[depth] ? '}' : ']');
			comma = true;
			continue;
		}
		left -= left > 0;
		make_space(b, s);
		if (comma)
			buf_addc(b, ',');
		make_space(b, s);
		if (depth > 0 && object[depth - 1]) {
			buf_adds(b, str_c(keys[rnd(s) % N_ROWS(keys)]));
			make_space(b, s);
			buf_addc(b, ':');
			make_space(b, s);
		}
		comma = false;
		if (rnd(s) % 3 > 0 && depth < N_ROWS(object) && left > 0) {
			object[depth] = rnd(s) % 2;
			buf_addc(b, object[depth++] ? '{' : '[');
		} else {
			make_scalar(b, s);
			comma = true;
		}
	} while (depth > 0);
	make_space(b, s);
}

/* Breaks it in up to three places. */
static void
spoil(struct buf *b, uint64_t *s)
{
	static const char bytes[] = "{}[]:,\"\\u0123eE.+-tfn \n\x80\xc3\xe2\xff\x01";

	for (unsigned k = rnd(s) % 4; k > 0 && b->n > 0; k--) {
		size_t at = rnd(s) % b->n;
		size_t from = rnd(s) % b->n;

		switch (rnd(s) % 3) {
		case 0:
			b->p[at] = bytes[rnd(s) % (sizeof bytes - 1)];
			break;
		case 1:
			b->p[at] = b->p[from];
			break;
		case 2:
			memmove(b->p + at, b->p + at + 1, b->n - at - 1);
			b->n--;
			break;
		}
	}
}

struct verdict {
	unsigned flaws;
	unsigned ids;
};

static void
count_value(void *arg, const struct json_value *v)
{
	((struct verdict *)arg)->ids += v->path == 0;
}

static void
add_flaws(void *arg, unsigned flaws)
{
	((struct verdict *)arg)->flaws |= flaws;
}

/* Number range, surrogates and \u0000 in keys aside, the oracle and we accept
 * the same documents, and find the same id. */
static void
test_oracle(void **state)
{
	static const struct json_cb cb = { NULL, count_value, add_flaws };
	struct verdict v;
	struct json *j = json_new(&cb, &v, paths, N_ROWS(paths), 64, 100);
	uint64_t seed = 88172645463325252ULL;
	unsigned accepted = 0, rejected = 0;
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 16);
	for (int i = 0; i < 60000; i++) {
		json_error_t e;
		json_t *doc;
		bool ok;

		buf_clear(&b);
		make_document(&b, &seed);
		if (i % 4 != 0)
			spoil(&b, &seed);
		memset(&v, 0, sizeof v);
		json_reset(j);
		ok = json_feed(j, b.p, b.n) == 0 && json_eof(j) == 0 &&
		    !(v.flaws & JSON_UTF8);
		doc = json_loadb(b.p, b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
		if (doc == NULL &&
		    (json_error_code(&e) == json_error_numeric_overflow ||
		    json_error_code(&e) == json_error_null_byte_in_key ||
		    (v.flaws & JSON_SURROGATE)))
			continue;
		if (ok != (doc != NULL))
			fail_msg("we %s, the oracle says %s: %.*s",
			    ok ? "accept" : "reject", doc ? "yes" : e.text,
			    STR_ARG(buf_str(&b)));
		if (ok && !json_is_batch(j) && i % 4 == 0)
			assert_int_equal(v.ids > 0,
			    json_object_get(doc, "id") != NULL);
		accepted += ok;
		rejected += !ok;
		json_decref(doc);
	}
	assert_true(accepted > 15000 && rejected > 15000);
	json_free(j);
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_oracle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
