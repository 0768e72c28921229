#include "mcpdiag/capwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "mcpdiag/source.h"
#include "mcpdiag/str.h"
#include "util.h"

#define T0 (1700000000 * NS_S)

static char path[64];

static int
setup(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(path, sizeof path, "/tmp/test_capwrite.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return 0;
}

static struct capwrite *
open_file(const struct capwrite_opts *o)
{
	struct errmsg em = { "" };
	struct capwrite *w = capwrite_new(path, o, &em);

	if (w == NULL)
		fail_msg("%s", em.text);
	return w;
}

/* Reads the next packet, which must be there and be this one. */
static void
expect(struct source *s, ns_t t, const void *p, size_t kept, size_t wire)
{
	struct packet k;

	assert_int_equal(source_next(s, &k), 1);
	assert_true(k.t == t);
	assert_int_equal(k.linktype, 101);
	assert_int_equal(k.len, kept);
	assert_int_equal(k.wire_len, wire);
	assert_memory_equal(k.data, p, kept);
}

static struct source *
read_back(void)
{
	struct source *s = source_new();
	struct errmsg em = { "" };

	if (source_add(s, path, &em) < 0)
		fail_msg("%s", em.text);
	return s;
}

static void
packets_come_back(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101 };
	static uint8_t big[CAPWRITE_PACKET_MAX + 1];
	struct capwrite *w = open_file(&o);
	struct source_file f;
	struct packet k;
	struct source *s;

	(void)state;
	memset(big, 'x', sizeof big);
	/* every remainder of four, every decimal of the time */
	assert_int_equal(capwrite_packet(w, T0 + 123456789, "a", 1, 1), 0);
	assert_int_equal(capwrite_packet(w, T0 + 1 * NS_S, "", 0, 0), 0);
	assert_int_equal(capwrite_packet(w, T0 + 2 * NS_S, "ab", 2, 2), 0);
	assert_int_equal(capwrite_packet(w, T0 + 2 * NS_S + 1, "abc", 3, 3), 0);
	assert_int_equal(capwrite_packet(w, T0 + 3 * NS_S, "abcd", 4, 1500), 0);
	assert_int_equal(capwrite_packet(w, T0 + 4 * NS_S, big, sizeof big, sizeof big), 0);
	assert_int_equal(capwrite_packet(w, -5, "z", 1, 1), 0);
	assert_int_equal(capwrite_flush(w), 0);
	assert_null(capwrite_error(w));

	s = read_back();
	expect(s, T0 + 123456789, "a", 1, 1);
	expect(s, T0 + 1 * NS_S, "", 0, 0);
	expect(s, T0 + 2 * NS_S, "ab", 2, 2);
	expect(s, T0 + 2 * NS_S + 1, "abc", 3, 3);
	expect(s, T0 + 3 * NS_S, "abcd", 4, 1500);
	expect(s, T0 + 4 * NS_S, big, CAPWRITE_PACKET_MAX, sizeof big);
	expect(s, 0, "z", 1, 1);
	assert_int_equal(source_next(s, &k), 0);
	assert_true(source_file(s, 0, &f));
	assert_null(f.error);
	assert_false(f.stats.cut);
	assert_int_equal(f.stats.interfaces, 1);
	assert_int_equal(f.stats.snaplen, 0);
	assert_string_equal(f.format, "pcapng");
	source_free(s);
	capwrite_free(w);
}

static void
packets_keep_their_interface(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101, .interface = "lo" };
	static const uint32_t want[][2] = { { 101, 0 }, { 276, 1 }, { 276, 2 }, { 101, 0 } };
	struct capwrite *w = open_file(&o);
	struct source_file f;
	struct packet k;
	struct source *s;

	(void)state;
	assert_int_equal(capwrite_packet(w, T0, "a", 1, 1), 0);
	assert_int_equal(capwrite_interface(w, 276, "any"), 1);
	assert_int_equal(capwrite_interface(w, 276, NULL), 2);
	assert_int_equal(capwrite_on(w, 1, T0 + 1, "b", 1, 1), 0);
	assert_int_equal(capwrite_on(w, 2, T0 + 2, "c", 1, 1), 0);
	assert_int_equal(capwrite_on(w, 0, T0 + 3, "d", 1, 1), 0);
	assert_int_equal(capwrite_end(w, T0 + 5 * NS_S), 0);
	assert_int_equal(capwrite_flush(w), 0);
	s = read_back();
	for (unsigned i = 0; i < N_ROWS(want); i++) {
		assert_int_equal(source_next(s, &k), 1);
		assert_int_equal(k.linktype, want[i][0]);
		assert_int_equal(k.ifindex, want[i][1]);
		assert_true(k.t == T0 + i);
		assert_int_equal(*k.data, 'a' + i);
	}
	assert_int_equal(source_next(s, &k), 0);
	assert_true(source_file(s, 0, &f));
	assert_int_equal(f.stats.interfaces, 3);
	assert_true(f.stats.end == T0 + 5 * NS_S);
	source_free(s);
	capwrite_free(w);
}

/* An option as it must stand in the file: code, length, text, padding. */
static struct str
option(uint16_t code, const char *text, char *out)
{
	uint16_t n = (uint16_t)strlen(text);

	memcpy(out, &code, 2);
	memcpy(out + 2, &n, 2);
	memcpy(out + 4, text, n);
	memset(out + 4 + n, 0, -(unsigned)n & 3);
	return str_of(out, 4 + n + (-(unsigned)n & 3));
}

static void
the_file_says_what_it_is(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101,
	    .comment = "not caught", .application = "tester", .interface = "none" };
	static char file[4096], want[64];
	struct str all, rest, one;
	size_t at;
	FILE *f;

	(void)state;
	capwrite_free(open_file(&o));
	f = fopen(path, "rb");
	assert_non_null(f);
	all = str_of(file, fread(file, 1, sizeof file, f));
	(void)fclose(f);
	one = option(1, o.comment, want);
	at = str_find(all, one);
	assert_true(at < all.n);			/* of the section */
	rest = str_of(all.p + at + one.n, all.n - at - one.n);
	assert_true(str_find(rest, option(4, o.application, want)) < rest.n);
	assert_true(str_find(rest, option(1, o.comment, want)) < rest.n);
	assert_true(str_find(rest, option(2, o.interface, want)) < rest.n);
}

static void
only_the_owner_may_read_it(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101 };
	struct stat st;

	(void)state;
	(void)unlink(path);
	capwrite_free(open_file(&o));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void
what_was_there_is_replaced(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101 };
	struct capwrite *w = open_file(&o);
	struct packet k;
	struct source *s;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(capwrite_packet(w, T0, "old", 3, 3), 0);
	capwrite_free(w);
	w = open_file(&o);
	assert_int_equal(capwrite_packet(w, T0, "new", 3, 3), 0);
	capwrite_free(w);		/* flushes */
	s = read_back();
	expect(s, T0, "new", 3, 3);
	assert_int_equal(source_next(s, &k), 0);
	source_free(s);
}

static void
a_file_that_cannot_be_made(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101 };
	struct errmsg em = { "" };

	(void)state;
	assert_null(capwrite_new("/nonexistent/x.pcapng", &o, &em));
	assert_non_null(strstr(em.text, "/nonexistent/x.pcapng: "));
	assert_non_null(strstr(em.text, strerror(ENOENT)));
	assert_null(capwrite_new("/tmp", &o, &em));
	assert_non_null(strstr(em.text, strerror(EISDIR)));
	/* full from the start */
	assert_null(capwrite_new("/dev/full", &o, &em));
	assert_non_null(strstr(em.text, strerror(ENOSPC)));
	capwrite_free(NULL);
}

/* The size of a file is limited to what holds some packets and a part of the
 * next: what is there stays readable. */
static void
a_full_disk_leaves_whole_packets(void **state)
{
	static const struct capwrite_opts o = { .linktype = 101 };
	static const uint8_t bytes[1000];
	struct rlimit was, small;
	struct capwrite *w = open_file(&o);
	struct source_file f;
	struct packet k;
	struct source *s;
	unsigned n = 0;
	int rc = 0;

	(void)state;
	for (; n < 7; n++)
		assert_int_equal(capwrite_packet(w, T0, bytes, sizeof bytes, sizeof bytes), 0);
	assert_int_equal(capwrite_flush(w), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 10000;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned i = 0; i < 1000 && rc == 0; i++)
		rc = capwrite_packet(w, T0, bytes, sizeof bytes, sizeof bytes);
	assert_int_equal(rc, -E_IO);
	assert_non_null(strstr(capwrite_error(w), path));
	assert_non_null(strstr(capwrite_error(w), strerror(EFBIG)));
	assert_int_equal(capwrite_packet(w, T0, bytes, 1, 1), -E_IO);
	assert_int_equal(capwrite_flush(w), -E_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	capwrite_free(w);

	s = read_back();
	while (source_next(s, &k))
		n--;
	assert_int_equal(n, 0);
	assert_true(source_file(s, 0, &f));
	assert_false(f.stats.cut);
	assert_null(f.error);
	source_free(s);
}

int
main(void)
{
#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		FILE_TEST(packets_come_back),
		FILE_TEST(packets_keep_their_interface),
		FILE_TEST(the_file_says_what_it_is),
		FILE_TEST(only_the_owner_may_read_it),
		FILE_TEST(what_was_there_is_replaced),
		FILE_TEST(a_file_that_cannot_be_made),
		FILE_TEST(a_full_disk_leaves_whole_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
