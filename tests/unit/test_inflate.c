#include "mcpdiag/inflate.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/err.h"
#include "util.h"

/* Two events, flushed by the encoder after each, then the end: what a server
 * that compresses its event stream sends. */
#define EV1 "data: one\n\n"
#define EV2 "data: two\n\n"
#define GZ_1 "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4a\x49\x2c\x49\xb4" \
	"\x52\xc8\xcf\x4b\xe5\xe2\x02\x00\x00\x00\xff\xff"
#define GZ_2 "\x4a\x01\x33\x4b\xca\xf3\xb9\xb8\x00\x00\x00\x00\xff\xff"
#define GZ_END "\x03\x00\xa2\x0d\x4a\x3f\x16\x00\x00\x00"
#define GZ GZ_1 GZ_2 GZ_END
#define RAW_1 "\x4a\x49\x2c\x49\xb4\x52\xc8\xcf\x4b\xe5\xe2\x02\x00\x00\x00" \
	"\xff\xff"
#define ZL_1 "\x78\xda" RAW_1
#define ZL_END "\x03\x00\x52\x0f\x06\xad"
#define BR_1 "\xa0\x00\x10\x64\x61\x74\x61\x3a\x20\x6f\x6e\x65\x0a\x0a"
#define BR_2 "\x50\x00\x80\x5f\x5a\xe1\x8d\xee\x4e\x11\xa2\x4a\x04\x60\x0b"
#define BR_END "\x03"
#define ZS_1 "\x28\xb5\x2f\xfd\x04\x58\x58\x00\x00\x64\x61\x74\x61\x3a\x20" \
	"\x6f\x6e\x65\x0a\x0a"
#define ZS_2 "\x58\x00\x00\x64\x61\x74\x61\x3a\x20\x74\x77\x6f\x0a\x0a"
#define ZS_END "\x01\x00\x00\xb3\x95\x26\x3c"
#define ZS ZS_1 ZS_2 ZS_END
#define ZS_SKIP "\x5a\x2a\x4d\x18\x03\x00\x00\x00\xff\xfe\xfd"
/* The same first event in a frame that wants a window of 128 MiB. */
#define ZS_WIDE "\x28\xb5\x2f\xfd\x00\x88\x58\x00\x00\x64\x61\x74\x61\x3a" \
	"\x20\x6f\x6e\x65\x0a\x0a\x01\x00\x00"
#define NO_CAP UINT64_MAX

static const struct row {
	const char *what;
	enum inflate_kind kind;
	const char *in;
	size_t n;
	uint64_t max;
	const char *want;	/* result, done, output */
} rows[] = {
#define IN(lit) lit, sizeof(lit) - 1
	{ "identity goes through", INFLATE_NONE, IN("abc"), 3, "0 done abc" },
	{ "identity has a cap too", INFLATE_NONE, IN("abcd"), 3, "-2 abc" },
	{ "an unknown coding is never decoded",
	    INFLATE_UNKNOWN, IN("abc"), NO_CAP, "-1 " },
	{ "gzip", INFLATE_GZIP, IN(GZ), NO_CAP, "0 done " EV1 EV2 },
	{ "gzip: a flushed event is out at once",
	    INFLATE_GZIP, IN(GZ_1), NO_CAP, "0 " EV1 },
	{ "gzip: several members", INFLATE_GZIP, IN(GZ GZ), NO_CAP,
	    "0 done " EV1 EV2 EV1 EV2 },
	{ "gzip: the second member is cut", INFLATE_GZIP, IN(GZ GZ_1), NO_CAP,
	    "0 " EV1 EV2 EV1 },
	{ "gzip: one byte of a second member is not an end",
	    INFLATE_GZIP, IN(GZ "\x1f"), NO_CAP, "0 " EV1 EV2 },
	{ "gzip: zeros behind it are padding", INFLATE_GZIP, IN(GZ "\0\0\0"),
	    NO_CAP, "0 done " EV1 EV2 },
	{ "gzip: other bytes behind it are not", INFLATE_GZIP, IN(GZ "x"),
	    NO_CAP, "-1 " EV1 EV2 },
	{ "gzip: cut in the checksum", INFLATE_GZIP,
	    IN(GZ_1 GZ_2 "\x03\x00\xa2\x0d"), NO_CAP, "0 " EV1 EV2 },
	{ "gzip: wrong checksum", INFLATE_GZIP,
	    IN(GZ_1 GZ_2 "\x03\x00\xa3\x0d\x4a\x3f\x16\x00\x00\x00"), NO_CAP,
	    "-1 " EV1 EV2 },
	{ "gzip: damaged behind the first event", INFLATE_GZIP,
	    IN(GZ_1 "\x07\x07"), NO_CAP, "-1 " EV1 },
	{ "gzip: plain text instead", INFLATE_GZIP, IN("{\"a\":1}"), NO_CAP,
	    "-1 " },
	{ "gzip: zlib is not gzip", INFLATE_GZIP, IN(ZL_1), NO_CAP, "-1 " },
	{ "gzip: exactly the cap", INFLATE_GZIP, IN(GZ), 22,
	    "0 done " EV1 EV2 },
	{ "gzip: one byte over the cap", INFLATE_GZIP, IN(GZ), 21,
	    "-2 " EV1 "data: two\n" },
	{ "gzip: a cap of nothing", INFLATE_GZIP, IN(GZ), 0, "-2 " },
	{ "gzip: empty input is no stream", INFLATE_GZIP, IN(""), NO_CAP,
	    "0 " },
	{ "deflate: zlib", INFLATE_DEFLATE, IN(ZL_1 GZ_2 ZL_END), NO_CAP,
	    "0 done " EV1 EV2 },
	{ "deflate: zlib, flushed", INFLATE_DEFLATE, IN(ZL_1), NO_CAP,
	    "0 " EV1 },
	{ "deflate: raw", INFLATE_DEFLATE, IN(RAW_1 GZ_2 "\x03\x00"), NO_CAP,
	    "0 done " EV1 EV2 },
	{ "deflate: raw, flushed", INFLATE_DEFLATE, IN(RAW_1), NO_CAP,
	    "0 " EV1 },
	{ "deflate: raw, though the first byte could begin a zlib header",
	    INFLATE_DEFLATE, IN("\x78\x02\x00\xfd\xff" "ab" "\x03\x00"),
	    NO_CAP, "0 done ab" },
	{ "deflate: half a zlib header", INFLATE_DEFLATE, IN("\x78"), NO_CAP,
	    "0 " },
	{ "deflate: wants a preset dictionary", INFLATE_DEFLATE,
	    IN("\x78\xf9\x00\x00\x00\x01"), NO_CAP, "-1 " },
	{ "deflate: wrong checksum", INFLATE_DEFLATE,
	    IN(ZL_1 "\x03\x00\x00\x00\x00\x00"), NO_CAP, "-1 " EV1 },
	{ "deflate: no second stream", INFLATE_DEFLATE,
	    IN(ZL_1 GZ_2 ZL_END "\x78"), NO_CAP, "-1 " EV1 EV2 },
	{ "deflate: no padding either", INFLATE_DEFLATE,
	    IN(ZL_1 GZ_2 ZL_END "\0"), NO_CAP, "-1 " EV1 EV2 },
	{ "deflate: nor a gzip member", INFLATE_DEFLATE,
	    IN(ZL_1 GZ_2 ZL_END "\x1f"), NO_CAP, "-1 " EV1 EV2 },
	{ "br", INFLATE_BR, IN(BR_1 BR_2 BR_END), NO_CAP,
	    "0 done " EV1 EV2 },
	{ "br: a flushed event is out at once", INFLATE_BR, IN(BR_1), NO_CAP,
	    "0 " EV1 },
	{ "br: bytes behind the end", INFLATE_BR, IN(BR_1 BR_2 BR_END "x"),
	    NO_CAP, "-1 " EV1 EV2 },
	{ "br: the cap", INFLATE_BR, IN(BR_1 BR_2 BR_END), 12, "-2 " EV1 "d" },
	{ "br: exactly the cap", INFLATE_BR, IN(BR_1 BR_2 BR_END), 22,
	    "0 done " EV1 EV2 },
	{ "zstd", INFLATE_ZSTD, IN(ZS), NO_CAP, "0 done " EV1 EV2 },
	{ "zstd: a flushed event is out at once", INFLATE_ZSTD, IN(ZS_1),
	    NO_CAP, "0 " EV1 },
	{ "zstd: no checksum, so that the last byte is the end", INFLATE_ZSTD,
	    IN("\x28\xb5\x2f\xfd\x00\x58\x59\x00\x00" EV1), NO_CAP,
	    "0 done " EV1 },
	{ "zstd: several frames, some to be skipped", INFLATE_ZSTD,
	    IN(ZS_SKIP ZS ZS_SKIP ZS), NO_CAP, "0 done " EV1 EV2 EV1 EV2 },
	{ "zstd: the second frame is cut", INFLATE_ZSTD, IN(ZS ZS_1), NO_CAP,
	    "0 " EV1 EV2 EV1 },
	{ "zstd: wrong checksum", INFLATE_ZSTD,
	    IN(ZS_1 ZS_2 "\x01\x00\x00\xb3\x95\x26\x3d"), NO_CAP,
	    "-1 " EV1 EV2 },
	{ "zstd: garbage behind a frame", INFLATE_ZSTD, IN(ZS "garbage"),
	    NO_CAP, "-1 " EV1 EV2 },
	{ "zstd: the second block is damaged", INFLATE_ZSTD,
	    IN(ZS_1 "\x5e\x00\x00" EV2), NO_CAP, "-1 " EV1 },
	{ "zstd: formats older than the RFC are refused", INFLATE_ZSTD,
	    IN("\x27\xb5\x2f\xfd\x32\x32\xa4\x00"), NO_CAP, "-1 " },
	{ "zstd: and behind a frame too", INFLATE_ZSTD,
	    IN(ZS "\x27\xb5\x2f\xfd\x00\x00\xa4\x00\x00\xc0\x00\x00"), NO_CAP,
	    "-1 " EV1 EV2 },
	{ "zstd: one byte over the cap", INFLATE_ZSTD, IN(ZS), 21,
	    "-2 " EV1 "data: two\n" },
	{ "zstd: a wide window is fine in a file", INFLATE_ZSTD, IN(ZS_WIDE),
	    NO_CAP, "0 done " EV1 },
	{ "zstd: and a limit in a body", INFLATE_ZSTD, IN(ZS_WIDE), 1 << 20,
	    "-2 " },
};

static void
keep(void *arg, const void *p, size_t n)
{
	assert_true(n > 0);
	assert_int_equal(buf_add(arg, p, n), 0);
}

static void
judge(const struct row *r, const char *how, const struct inflate *f, int rc,
    struct buf *out)
{
	struct buf got;

	buf_init(&got, 4096);
	assert_int_equal(buf_fmt(&got, "%d %s", rc,
	    inflate_done(f) ? "done " : ""), 0);
	assert_int_equal(buf_adds(&got, buf_str(out)), 0);
	if (!str_eq(buf_str(&got), str_c(r->want)))
		fail_msg("%s (%s): got \"%.*s\", want \"%s\"", r->what, how,
		    STR_ARG(buf_str(&got)), r->want);
	buf_fini(&got);
	buf_clear(out);
}

/* Feeds [0, at) and [at, n); every piece ends at an unreadable page. */
static void
split(const struct row *r, size_t at)
{
	struct guard a = guard_of(r->in, at);
	struct guard b = guard_of(r->in + at, r->n - at);
	struct buf out;
	struct inflate *f;
	char how[32];
	int rc;

	buf_init(&out, 4096);
	f = inflate_new(r->kind, r->max, 0, keep, &out);
	(void)snprintf(how, sizeof how, "cut at %zu", at);
	rc = inflate_feed(f, a.p, a.n);
	if (rc == 0 || b.n)
		assert_true(inflate_feed(f, b.p, b.n) <= rc);
	rc = inflate_feed(f, NULL, 0);
	judge(r, how, f, rc, &out);
	inflate_free(f);
	buf_fini(&out);
	guard_free(&a);
	guard_free(&b);
}

static void
bytewise(const struct row *r)
{
	struct buf out;
	struct inflate *f;
	int rc = inflate_kind_of(STR("x")) == r->kind ? -E_SYNTAX : 0;

	buf_init(&out, 4096);
	f = inflate_new(r->kind, r->max, 0, keep, &out);
	for (size_t i = 0; i < r->n; i++) {
		rc = inflate_feed(f, r->in + i, 1);
		for (int k = 0; k < 20; k++)	/* changes nothing */
			assert_int_equal(inflate_feed(f, "", 0), rc);
	}
	judge(r, "byte by byte", f, rc, &out);
	inflate_free(f);
	buf_fini(&out);
}

/* The same through inflate_some(), `room` bytes at a time. */
static void
pulled(const struct row *r, size_t room)
{
	struct buf out;
	struct inflate *f;
	struct str in = str_of(r->in, r->n);
	char piece[64], how[32];
	size_t n;
	int rc;

	buf_init(&out, 4096);
	f = inflate_new(r->kind, r->max, 0, NULL, NULL);
	(void)snprintf(how, sizeof how, "pulled by %zu", room);
	do {
		rc = inflate_some(f, &in, piece, room, &n);
		assert_true(n <= room);
		assert_int_equal(buf_add(&out, piece, n), 0);
	} while (rc == 0 && (in.n || n == room));
	judge(r, how, f, rc, &out);
	inflate_free(f);
	buf_fini(&out);
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		for (size_t at = 0; at <= rows[i].n; at++)
			split(&rows[i], at);
		bytewise(&rows[i]);
		pulled(&rows[i], 1);
		pulled(&rows[i], 11);
		pulled(&rows[i], 64);
	}
}

static void
count(void *arg, const void *p, size_t n)
{
	(void)p;
	*(uint64_t *)arg += n;
}

/* n bytes of zeros as gzip, in *out. */
static void
zeros(struct buf *out, size_t n)
{
	static const uint8_t none[65536];
	uint8_t piece[65536];
	z_stream z = { 0 };
	int rc;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
	do {
		z.next_in = (Bytef *)(uintptr_t)none;
		z.avail_in = n < sizeof none ? (uInt)n : sizeof none;
		n -= z.avail_in;
		z.next_out = piece;
		z.avail_out = sizeof piece;
		rc = deflate(&z, n ? Z_NO_FLUSH : Z_FINISH);
		assert_int_equal(buf_add(out, piece,
		    sizeof piece - z.avail_out), 0);
	} while (rc != Z_STREAM_END);
	deflateEnd(&z);
}

static void
test_bomb(void **state)
{
	struct buf in;
	struct inflate *f;
	uint64_t n = 0;

	(void)state;
	buf_init(&in, 1 << 20);
	zeros(&in, 64 << 20);

	f = inflate_new(INFLATE_GZIP, NO_CAP, 0, count, &n);
	assert_int_equal(inflate_feed(f, in.p, in.n), 0);
	assert_true(inflate_done(f));
	assert_int_equal(n, 64 << 20);
	inflate_free(f);

	n = 0;
	f = inflate_new(INFLATE_GZIP, 16 << 20, 0, count, &n);
	assert_int_equal(inflate_feed(f, in.p, in.n), -E_LIMIT);
	assert_int_equal(inflate_feed(f, in.p, in.n), -E_LIMIT);
	assert_false(inflate_done(f));
	assert_int_equal(n, 16 << 20);
	inflate_free(f);

	/* About 1030:1. */
	n = 0;
	f = inflate_new(INFLATE_GZIP, NO_CAP, 1000, count, &n);
	assert_int_equal(inflate_feed(f, in.p, in.n), -E_LIMIT);
	assert_true(n > 1 << 20 && n <= (1 << 20) + 65536);
	inflate_free(f);
	n = 0;
	f = inflate_new(INFLATE_GZIP, NO_CAP, 1000, count, &n);
	for (size_t i = 0; i < in.n; i++)
		if (inflate_feed(f, in.p + i, 1) != 0)
			break;
	assert_true(n > 1 << 20 && n <= (1 << 20) + 65536);
	inflate_free(f);
	n = 0;
	f = inflate_new(INFLATE_GZIP, NO_CAP, 1100, count, &n);
	assert_int_equal(inflate_feed(f, in.p, in.n), 0);
	assert_int_equal(n, 64 << 20);
	inflate_free(f);
	buf_fini(&in);
}

/* What it costs is the bytes that come out and the memory that it takes. */
static void
test_cost(void **state)
{
	/* A window of 8 MiB, and a block of 128 KiB that is one byte. */
	static const char zstd[] = "\x28\xb5\x2f\xfd\x00\x68\x02\x00\x10" "a";
	struct buf in;
	struct inflate *f;
	uint64_t n = 0;

	(void)state;
	buf_init(&in, 1 << 20);
	zeros(&in, 1 << 20);
	f = inflate_new(INFLATE_GZIP, NO_CAP, 0, count, &n);
	assert_int_equal(inflate_feed(f, in.p, in.n), 0);
	assert_in_range(inflate_cost(f), (1 << 20) + 32768, (1 << 20) + 100000);
	inflate_free(f);
	buf_fini(&in);
	f = inflate_new(INFLATE_ZSTD, 16 << 20, 0, count, &n);
	assert_int_equal(inflate_feed(f, zstd, sizeof zstd - 1), 0);
	assert_in_range(inflate_cost(f), 8 << 20, 12 << 20);
	inflate_free(f);
}

/* 200 MB of zeros in 158 bytes. */
static void
test_brotli_bomb(void **state)
{
	static const char bomb[] =
	    "\xcf\xff\xff\x7f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x9f\xff\xff"
	    "\xff\xf0\x4f\x00\xc4\x61\x01\x80\xee\xfd\x3f\xff\xff\xff\xe1\x9f"
	    "\x00\x88\xc3\x22\x00\xdd\xfb\x7f\xfe\xff\xff\xc3\x3f\x01\x10\x87"
	    "\x05\x00\xba\xf7\xff\xfc\xff\xff\x87\x7f\x02\x20\x0e\x0b\x00\x74";
	struct inflate *f;
	uint64_t n = 0;

	(void)state;
	f = inflate_new(INFLATE_BR, NO_CAP, 1000, count, &n);
	assert_int_equal(inflate_feed(f, bomb, sizeof bomb - 1), -E_LIMIT);
	assert_true(n > 1 << 20 && n <= (1 << 20) + 32768);
	assert_in_range(inflate_cost(f), n + (1 << 20), n + (40 << 20));
	inflate_free(f);
	n = 0;
	f = inflate_new(INFLATE_BR, 5000000, 0, count, &n);
	assert_int_equal(inflate_feed(f, bomb, sizeof bomb - 1), -E_LIMIT);
	assert_int_equal(n, 5000000);
	inflate_free(f);
}

/* One byte that decides 128 KiB: more than fits in one call of the callback. */
static void
test_last_byte(void **state)
{
	static const char run[] = "\x28\xb5\x2f\xfd\x00\x58\x02\x00\x10\x07"
	    "\x01\x00\x00";
	struct inflate *f;
	uint64_t n = 0;

	(void)state;
	f = inflate_new(INFLATE_ZSTD, NO_CAP, 0, count, &n);
	assert_int_equal(inflate_feed(f, run, 9), 0);
	assert_int_equal(n, 0);
	assert_int_equal(inflate_feed(f, run + 9, 1), 0);
	assert_int_equal(n, 128 << 10);
	assert_int_equal(inflate_feed(f, run + 10, 3), 0);
	assert_int_equal(n, 128 << 10);
	assert_true(inflate_done(f));
	inflate_free(f);
}

static void
test_nothing(void **state)
{
	char out[8];
	size_t n;

	(void)state;
	for (int k = INFLATE_NONE; k < INFLATE_UNKNOWN; k++) {
		struct inflate *f = inflate_new((enum inflate_kind)k, NO_CAP,
		    0, NULL, NULL);
		struct str in = STR_NONE;

		assert_int_equal(inflate_some(f, &in, out, 8, &n), 0);
		assert_int_equal(n, 0);
		assert_int_equal(inflate_done(f), k == INFLATE_NONE);
		inflate_free(f);
	}
	inflate_free(NULL);
}

static void
test_names(void **state)
{
	static const struct {
		const char *coding;
		enum inflate_kind kind;
		const char *name;
	} names[] = {
		{ "", INFLATE_NONE, "identity" },
		{ "identity", INFLATE_NONE, "identity" },
		{ " GZip\t", INFLATE_GZIP, "gzip" },
		{ "x-gzip", INFLATE_GZIP, "gzip" },
		{ "deflate", INFLATE_DEFLATE, "deflate" },
		{ "BR", INFLATE_BR, "br" },
		{ "zstd", INFLATE_ZSTD, "zstd" },
		{ "gzip, br", INFLATE_UNKNOWN, "unknown" },
		{ "compress", INFLATE_UNKNOWN, "unknown" },
		{ "gzi", INFLATE_UNKNOWN, "unknown" },
	};

	(void)state;
	assert_int_equal(inflate_kind_of(STR_NONE), INFLATE_NONE);
	for (size_t i = 0; i < N_ROWS(names); i++) {
		enum inflate_kind k = inflate_kind_of(str_c(names[i].coding));
		assert_int_equal(k, names[i].kind);
		assert_string_equal(inflate_name(k), names[i].name);
	}
}

static void
test_sniff(void **state)
{
	(void)state;
	assert_int_equal(inflate_sniff(GZ, 4), INFLATE_GZIP);
	assert_int_equal(inflate_sniff(GZ, 1), INFLATE_NONE);
	assert_int_equal(inflate_sniff(ZS, 4), INFLATE_ZSTD);
	assert_int_equal(inflate_sniff(ZS, 3), INFLATE_NONE);
	assert_int_equal(inflate_sniff(ZS_SKIP, 4), INFLATE_ZSTD);
	assert_int_equal(inflate_sniff("\xd4\xc3\xb2\xa1", 4), INFLATE_NONE);
	assert_int_equal(inflate_sniff("\0\0\0\0", 4), INFLATE_NONE);
	assert_int_equal(inflate_sniff(NULL, 0), INFLATE_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bomb), cmocka_unit_test(test_cost),
		cmocka_unit_test(test_brotli_bomb),
		cmocka_unit_test(test_last_byte),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sniff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
