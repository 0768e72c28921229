/* source_follow(): files that are read while they are written. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/source.h"
#include "util.h"

static char path[] = "/tmp/test_source_follow.XXXXXX";

static void
le32(struct buf *b, uint32_t v)
{
	char p[4] = { (char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24) };

	assert_int_equal(buf_add(b, p, 4), 0);
}

/* One packet for each letter, which it holds. */
static void
capture(struct buf *b, const char *letters)
{
	buf_init(b, 1 << 20);
	assert_int_equal(buf_add(b, "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0", 16), 0);
	le32(b, 262144);
	le32(b, 1);
	for (; *letters; letters++) {
		le32(b, 1);
		le32(b, 0);
		le32(b, 1);
		le32(b, 1);
		assert_int_equal(buf_addc(b, *letters), 0);
	}
}

static void
pack(struct buf *b)
{
	z_stream z = { .next_in = (Bytef *)b->p, .avail_in = (uInt)b->n };
	char out[4096];

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (Bytef *)out;
	z.avail_out = sizeof out;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_clear(b);
	assert_int_equal(buf_add(b, out, sizeof out - z.avail_out), 0);
	(void)deflateEnd(&z);
}

/* All there is for now, behind what `got` has; what source_next() said last. */
static int
take(struct source *s, struct buf *got)
{
	struct packet p[4];
	int rc;

	while ((rc = source_next(s, p)) == 1) {
		unsigned n = 1 + source_more(s, p + 1, 3);

		for (unsigned i = 0; i < n; i++)
			assert_int_equal(buf_add(got, p[i].data, p[i].len), 0);
	}
	assert_int_equal(source_more(s, p, 4), 0);
	return rc;
}

/* Written in pieces of `step` bytes, it is the same as written at once. */
static void
grow(const struct buf *b, size_t step, const char *want)
{
	int out = open(path, O_WRONLY | O_TRUNC), fd = 0;
	struct source *s = source_new();
	struct source_file f;
	struct errmsg em;
	struct buf got;

	buf_init(&got, 1 << 20);
	assert_true(out >= 0);
	assert_int_equal(source_follow(s, path, &fd, &em), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(take(s, &got), SOURCE_LATER);
	for (size_t i = 0; i < b->n; i += step) {
		size_t n = step < b->n - i ? step : b->n - i;

		assert_int_equal(write(out, b->p + i, n), n);
		assert_int_equal(take(s, &got), SOURCE_LATER);
	}
	assert_int_equal(buf_addc(&got, '\0'), 0);
	assert_string_equal(got.p, want);
	assert_true(source_file(s, 0, &f));
	assert_string_equal(f.format, "pcap");
	assert_null(f.error);
	assert_false(f.stats.cut);
	assert_int_equal(f.stats.packets, strlen(want));
	buf_fini(&got);
	source_free(s);
	(void)close(out);
}

static void
test_grows(void **state)
{
	struct buf b;

	(void)state;
	capture(&b, "abcdefgh");
	for (size_t step = 1; step <= b.n; step++)
		grow(&b, step, "abcdefgh");
	b.n -= 5;			/* the last record is half there */
	for (size_t step = 1; step <= b.n; step++)
		grow(&b, step, "abcdefg");
	buf_fini(&b);
	capture(&b, "abcdefgh");
	pack(&b);
	for (size_t step = 1; step <= b.n; step++)
		grow(&b, step, "abcdefgh");
	buf_fini(&b);
}

static void
test_pipe(void **state)
{
	char name[64];
	int fds[2], fd;
	struct source *s = source_new();
	struct source_file f;
	struct errmsg em;
	struct buf b, got;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	(void)snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
	assert_int_equal(source_follow(s, name, &fd, &em), 0);
	assert_true(fd >= 0);
	capture(&b, "abc");
	buf_init(&got, 1 << 20);
	for (size_t i = 0; i < b.n - 1; i++) {
		assert_int_equal(take(s, &got), SOURCE_LATER);
		assert_int_equal(write(fds[1], b.p + i, 1), 1);
	}
	assert_int_equal(take(s, &got), SOURCE_LATER);
	(void)close(fds[1]);
	assert_int_equal(take(s, &got), 0);
	assert_int_equal(take(s, &got), 0);
	assert_int_equal(buf_addc(&got, '\0'), 0);
	assert_string_equal(got.p, "ab");
	assert_true(source_file(s, 0, &f));
	assert_true(f.stats.cut);	/* for its writer is gone */
	(void)close(fds[0]);
	buf_fini(&b);
	buf_fini(&got);
	source_free(s);
}

/* What ends it. */
static void
test_bad(void **state)
{
	static const struct {
		const char *what, *bytes, *error;
		bool shorter;
	} rows[] = {
		{ "no capture", "# a text\n", "not a capture file", false },
		{ "it became shorter", NULL, "became shorter", true },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		int out = open(path, O_WRONLY | O_TRUNC), fd;
		struct source *s = source_new();
		struct source_file f;
		struct errmsg em;
		struct buf b, got;

		print_message("%s\n", rows[i].what);
		buf_init(&got, 1 << 20);
		capture(&b, "ab");
		if (rows[i].bytes) {
			buf_clear(&b);
			assert_int_equal(buf_adds(&b, str_c(rows[i].bytes)), 0);
		}
		assert_int_equal(source_follow(s, path, &fd, &em), 0);
		assert_int_equal(take(s, &got), SOURCE_LATER);
		assert_int_equal(write(out, b.p, b.n), b.n);
		if (rows[i].shorter) {
			assert_int_equal(take(s, &got), SOURCE_LATER);
			assert_int_equal(ftruncate(out, 10), 0);
		}
		assert_int_equal(take(s, &got), 0);
		assert_int_equal(take(s, &got), 0);
		assert_true(source_file(s, 0, &f));
		assert_non_null(f.error);
		assert_non_null(strstr(f.error, rows[i].error));
		buf_fini(&b);
		buf_fini(&got);
		source_free(s);
		(void)close(out);
	}
}

static void
test_missing(void **state)
{
	struct source *s = source_new();
	struct errmsg em;
	int fd = 0;

	(void)state;
	assert_int_equal(source_follow(s, "/no/such.pcap", &fd, &em), -E_IO);
	assert_non_null(strstr(em.text, "/no/such.pcap: "));
	assert_int_equal(fd, -1);
	source_free(s);
}

static int
enter(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int
leave(void **state)
{
	(void)state;
	return unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests_name("source_follow", tests, enter, leave);
}
