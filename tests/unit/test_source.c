#include "mcpdiag/source.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <zlib.h>
#include <zstd.h>

#include "mcpdiag/buf.h"
#include "util.h"

/* A folder of its own, which is the working directory. */
static char folder[] = "/tmp/test_source.XXXXXX";

static int
enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -r '%s'", folder);
	return chdir("/") == 0 ? system(command) : -1;
}

static void
le32(struct buf *b, uint32_t v)
{
	char p[4] = { (char)v, (char)(v >> 8), (char)(v >> 16),
	    (char)(v >> 24) };

	assert_int_equal(buf_add(b, p, 4), 0);
}

static void
pcap_header(struct buf *b, uint32_t linktype)
{
	buf_init(b, 64 << 20);
	assert_int_equal(buf_add(b, "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0",
	    16), 0);
	le32(b, 262144);
	le32(b, linktype);
}

static void
pcap_packet(struct buf *b, uint32_t sec, struct str data)
{
	le32(b, sec);
	le32(b, 0);
	le32(b, (uint32_t)data.n);
	le32(b, (uint32_t)data.n);
	assert_int_equal(buf_adds(b, data), 0);
}

/* A capture with one packet for each digit or letter: of that many seconds,
 * and holding `mark` and that character. */
static void
capture(struct buf *b, char mark, const char *times)
{
	pcap_header(b, 1);
	for (; *times; times++) {
		char data[2] = { mark, *times };

		pcap_packet(b, *times <= '9' ? (uint32_t)*times - '0' :
		    (uint32_t)*times - 'a' + 10, str_of(data, 2));
	}
}

static void
save(const char *path, struct str s)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(s.p, 1, s.n, f), s.n);
	assert_int_equal(fclose(f), 0);
}

static void
save_capture(const char *path, char mark, const char *times)
{
	struct buf b;

	capture(&b, mark, times);
	save(path, buf_str(&b));
	buf_fini(&b);
}

static struct source *
open_all(const char *const *paths)
{
	struct source *s = source_new();
	struct errmsg em;

	for (; *paths; paths++)
		if (source_add(s, *paths, &em) != 0)
			fail_msg("%s", em.text);
	return s;
}

/* The packets' bytes, with a blank between; checks that they are numbered. */
static void
drain(struct source *s, struct buf *out)
{
	struct packet p;
	uint32_t n = 0;

	buf_init(out, 1 << 20);
	while (source_next(s, &p)) {
		struct packet all[8] = { p };
		unsigned k = 1 + source_more(s, all + 1, n % 8);

		/* All that came together must still be there. */
		for (unsigned i = 0; i < k; i++) {
			assert_int_equal(all[i].pkt, ++n);
			if (n > 1)
				assert_int_equal(buf_addc(out, ' '), 0);
			assert_int_equal(buf_add(out, all[i].data, all[i].len), 0);
		}
	}
	assert_null(p.data);
	assert_int_equal(source_next(s, &p), 0);
	assert_int_equal(buf_addc(out, '\0'), 0);
}

static void
wants(const char *const *paths, const char *want)
{
	struct source *s = open_all(paths);
	struct buf got;

	drain(s, &got);
	assert_string_equal(got.p, want);
	buf_fini(&got);
	source_free(s);
}

#define PATHS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct {
	const char *what, *a, *b, *c, *want;
} merges[] = {
	{ "one after the other", "123", "456", "789",
	    "a1 a2 a3 b4 b5 b6 c7 c8 c9" },
	{ "added in the wrong order", "789", "456", "123",
	    "c1 c2 c3 b4 b5 b6 a7 a8 a9" },
	{ "interleaved", "147", "258", "369", "a1 b2 c3 a4 b5 c6 a7 b8 c9" },
	{ "equal times: as they were added", "112", "12", "12",
	    "a1 a1 b1 c1 a2 b2 c2" },
	{ "a file whose times go back keeps its order", "153", "246", "7",
	    "a1 b2 b4 a5 a3 b6 c7" },
	{ "files without packets", "", "12", "", "b1 b2" },
	{ "nothing at all", "", "", "", "" },
	{ "one inside another", "19", "5", "456", "a1 c4 b5 c5 c6 a9" },
};

static void
test_merge(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(merges); i++) {
		save_capture("a", 'a', merges[i].a);
		save_capture("b", 'b', merges[i].b);
		save_capture("c", 'c', merges[i].c);
		print_message("%s\n", merges[i].what);
		wants(PATHS("a", "b", "c"), merges[i].want);
	}
}

/* More files than may be open at once. */
static void
test_ring(void **state)
{
	enum { N = 200 };
	struct rlimit was, few;
	struct source *s = source_new();
	struct errmsg em;
	struct packet p;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 16;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < N; i++) {
		int turn = i * 77 % N;	/* not in the order of time */
		char path[32];
		struct buf b;

		pcap_header(&b, 1);
		pcap_packet(&b, (uint32_t)turn * 2, STR("x"));
		pcap_packet(&b, (uint32_t)turn * 2 + 1, STR("y"));
		(void)snprintf(path, sizeof path, "ring%d", turn);
		save(path, buf_str(&b));
		buf_fini(&b);
		assert_int_equal(source_add(s, path, &em), 0);
	}
	for (; source_next(s, &p); n++) {
		assert_int_equal(p.t / NS_S, n);
		assert_int_equal(p.data[0], n % 2 ? 'y' : 'x');
	}
	assert_int_equal(n, 2 * N);
	source_free(s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void
gzip(struct buf *out, struct str s)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, 0), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)s.p;
	z.avail_in = (uInt)s.n;
	z.avail_out = (uInt)deflateBound(&z, s.n);
	z.next_out = (Bytef *)buf_room(out, z.avail_out);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->n += z.total_out;
	deflateEnd(&z);
}

static void
zstd(struct buf *out, struct str s)
{
	size_t room = ZSTD_compressBound(s.n), n;

	n = ZSTD_compress(buf_room(out, room), room, s.p, s.n, 1);
	assert_false(ZSTD_isError(n));
	out->n += n;
}

/* Packets of all lengths, so that some lie across the pieces a file is read
 * in, and many pieces; plain, packed, and packed in several parts. */
static void
test_packed(void **state)
{
	static const char *const names[] = { "plain", "gz", "zst", "gz2" };
	struct buf plain, packed[4];
	uint8_t data[4000];

	(void)state;
	pcap_header(&plain, 1);
	for (uint32_t i = 0; i < 1000; i++) {
		for (size_t k = 0; k < sizeof data; k++)
			data[k] = (uint8_t)(i * 7 + k * k * k / 31);
		pcap_packet(&plain, i + 1, str_of(data, i * 37 % sizeof data));
	}
	for (int i = 0; i < 4; i++)
		buf_init(&packed[i], 64 << 20);
	assert_int_equal(buf_adds(&packed[0], buf_str(&plain)), 0);
	gzip(&packed[1], buf_str(&plain));
	zstd(&packed[2], buf_str(&plain));
	gzip(&packed[3], str_of(plain.p, 100001));
	gzip(&packed[3], str_of(plain.p + 100001, plain.n - 100001));
	for (int i = 0; i < 4; i++) {
		struct source *s;
		struct packet p;
		struct source_file f;
		uint32_t n = 0;
		size_t at = 24;

		save(names[i], buf_str(&packed[i]));
		s = open_all(PATHS(names[i]));
		for (; source_next(s, &p); n++) {
			assert_int_equal(p.pkt, n + 1);
			assert_int_equal(p.len, n * 37 % sizeof data);
			assert_memory_equal(p.data, plain.p + at + 16, p.len);
			at += 16 + p.len;
		}
		assert_int_equal(n, 1000);
		assert_true(source_file(s, 0, &f));
		assert_string_equal(f.format, "pcap");
		assert_int_equal(f.stats.packets, 1000);
		assert_false(f.stats.cut);
		assert_null(f.error);
		if (i == 0)
			assert_null(f.packing);
		else
			assert_string_equal(f.packing, i == 2 ? "zstd" :
			    "gzip");
		source_free(s);
	}
	for (int i = 0; i < 4; i++)
		buf_fini(&packed[i]);
	buf_fini(&plain);
}

/* 64 MiB of one packet after another, in 63 kB. */
static void
test_well_packed(void **state)
{
	struct buf plain, packed;
	struct source *s;
	struct packet p;
	uint32_t n = 0;

	(void)state;
	pcap_header(&plain, 1);
	while (plain.n < 60U << 20) {
		char none[60000] = { 0 };
		pcap_packet(&plain, 1, str_of(none, sizeof none));
	}
	buf_init(&packed, 64 << 20);
	zstd(&packed, buf_str(&plain));
	assert_true(packed.n < 65536);
	save("well", buf_str(&packed));
	s = open_all(PATHS("well"));
	while (source_next(s, &p))
		n++;
	assert_int_equal(n, plain.n / 60016);
	source_free(s);
	buf_fini(&packed);
	buf_fini(&plain);
}

/* A packed file that is cut where its last byte stands for 128 KiB, of which
 * only a part fits in the piece that is unpacked first. */
static void
test_cut_run(void **state)
{
	static const char frame[] =
	    "\x28\xb5\x2f\xfd\x00\x58"
	    "\x40\x01\x00"		/* 40 bytes as they are */
	    "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0"
	    "\1\0\0\0\0\0\0\0\0\0\4\0\0\0\4\0"
	    "\x02\x00\x10x" "\x02\x00\x10x";	/* 131072 x's each */
	struct source *s;
	struct source_file f;
	struct packet p;

	(void)state;
	save("run", str_of(frame, sizeof frame - 1));
	s = open_all(PATHS("run"));
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(p.len, 262144);
	assert_int_equal(p.data[262143], 'x');
	assert_int_equal(source_next(s, &p), 0);
	assert_true(source_file(s, 0, &f));
	assert_true(f.stats.cut);
	source_free(s);
}

static const struct refusal {
	const char *what;
	struct str file;
	int rc;
	const char *want;
} refusals[] = {
	{ "empty", { "", 0 }, -E_FORMAT,
	    "f: empty; want a pcap or pcapng file" },
	{ "short", { "ab", 2 }, -E_FORMAT, "f: not a capture file: ends "
	    "inside the file header, after 2 bytes" },
	{ "text", { "hello, world", 12 }, -E_FORMAT, "f: not a capture file "
	    "(starts with 68 65 6c 6c); want pcap or pcapng, gzip or zstd "
	    "around it" },
	{ "text in gzip", { "\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9"
	    "\xe7\x02\0\x20\x30\x3a\x36\x06\0\0\0", 26 }, -E_FORMAT,
	    "f: inside gzip: not a capture file (starts with 68 65 6c 6c); "
	    "want pcap or pcapng, gzip or zstd around it" },
	{ "nothing in gzip", { "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0"
	    "\0\0\0", 20 }, -E_FORMAT,
	    "f: inside gzip: empty; want a pcap or pcapng file" },
	{ "gzip by chance", { "\x1f\x8b\xff\xff\xff", 5 }, -E_FORMAT,
	    "f: damaged: cannot be unpacked as gzip from about byte 4 on" },
	{ "a capture without a sound packet",
	    { "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0"
	    "\0\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 40 }, -E_FORMAT,
	    "f: damaged: the packet at byte 24 claims 4294967295 bytes, and "
	    "262144 is the most" },
};

static void
refused(const char *path, int rc, const char *want)
{
	struct source *s = source_new();
	struct source_file f;
	struct packet p;
	struct errmsg em;

	assert_int_equal(source_add(s, path, &em), rc);
	assert_string_equal(em.text, want);
	assert_int_equal(source_next(s, &p), 0);
	assert_false(source_file(s, 0, &f));
	assert_null(f.path);
	source_free(s);
}

static void
test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(refusals); i++) {
		save("f", refusals[i].file);
		refused("f", refusals[i].rc, refusals[i].want);
	}
	refused("absent", -E_IO, "absent: No such file or directory");
	refused(".", -E_IO, ".: Is a directory");
	/* 4 GB without a byte on the disk */
	save("zeros", STR(""));
	assert_int_equal(truncate("zeros", 1LL << 32), 0);
	refused("zeros", -E_FORMAT, "zeros: not a capture file (starts with "
	    "00 00 00 00); want pcap or pcapng, gzip or zstd around it");
}

/* What is wrong behind the start ends the file, not the run. */
static void
test_damaged(void **state)
{
	struct buf b, gz;
	struct source *s;
	struct source_file f;
	struct packet p;

	(void)state;
	save_capture("good", 'g', "159");

	capture(&b, 'x', "24");
	le32(&b, 1);
	le32(&b, 1);
	le32(&b, 0x7fffffff);
	le32(&b, 1);
	save("bad", buf_str(&b));
	s = open_all(PATHS("good", "bad"));
	for (int i = 0; i < 5; i++)
		assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_next(s, &p), 0);
	assert_true(source_file(s, 0, &f));
	assert_null(f.error);
	assert_int_equal(f.stats.packets, 3);
	assert_true(source_file(s, 1, &f));
	assert_string_equal(f.path, "bad");
	assert_string_equal(f.error, "damaged: the packet at byte 60 claims "
	    "2147483647 bytes, and 262144 is the most");
	assert_int_equal(f.stats.packets, 2);
	assert_false(source_file(s, 2, &f));
	source_free(s);

	save("bad", str_of(b.p, 50));
	s = open_all(PATHS("bad"));
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_next(s, &p), 0);
	assert_true(source_file(s, 0, &f));
	assert_true(f.stats.cut);
	assert_null(f.error);
	source_free(s);
	buf_fini(&b);

	capture(&b, 'x', "24");
	buf_init(&gz, 4096);
	gzip(&gz, buf_str(&b));
	save("bad", str_of(gz.p, gz.n - 6));
	s = open_all(PATHS("bad"));
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_next(s, &p), 0);
	assert_true(source_file(s, 0, &f));
	assert_true(f.stats.cut);
	assert_null(f.error);
	source_free(s);

	assert_int_equal(buf_adds(&gz, STR("more")), 0);
	save("bad", buf_str(&gz));
	s = open_all(PATHS("bad"));
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_next(s, &p), 0);
	assert_true(source_file(s, 0, &f));
	assert_false(f.stats.cut);
	assert_non_null(strstr(f.error, "cannot be unpacked as gzip"));
	source_free(s);
	buf_fini(&gz);
	buf_fini(&b);
}

/* Removed after it was added and before its turn. */
static void
test_vanished(void **state)
{
	struct source *s;
	struct source_file f;
	struct buf got;

	(void)state;
	save_capture("a", 'a', "15");
	save_capture("b", 'b', "24");
	s = open_all(PATHS("a", "b"));
	assert_int_equal(unlink("b"), 0);
	drain(s, &got);
	assert_string_equal(got.p, "a1 a5");
	buf_fini(&got);
	assert_true(source_file(s, 1, &f));
	assert_string_equal(f.error, "No such file or directory");
	assert_int_equal(f.stats.packets, 0);
	source_free(s);
}

static void
test_facts(void **state)
{
	struct source *s;
	struct source_file f;
	struct packet p;
	uint64_t done, total;
	struct buf b;

	(void)state;
	save_capture("a", 'a', "123");
	pcap_header(&b, 101);
	pcap_packet(&b, 9, STR("abc"));
	save("b", buf_str(&b));
	buf_fini(&b);
	s = open_all(PATHS("a", "b"));
	source_progress(s, &done, &total);
	assert_int_equal(done, 0);
	assert_int_equal(total, 24 + 3 * 18 + 24 + 19);
	assert_true(source_file(s, 1, &f));
	assert_string_equal(f.format, "pcap");
	assert_int_equal(f.stats.packets, 0);
	assert_int_equal(f.n_linktypes, 0);
	assert_int_equal(source_next(s, &p), 1);
	source_progress(s, &done, &total);
	assert_int_equal(done, 24 + 3 * 18);
	assert_true(source_file(s, 0, &f));
	assert_int_equal(f.stats.packets, 1);
	while (source_next(s, &p))
		continue;
	source_progress(s, &done, &total);
	assert_int_equal(done, total);
	assert_true(source_file(s, 0, &f));
	assert_int_equal(f.stats.packets, 3);
	assert_int_equal(f.stats.snaplen, 262144);
	assert_int_equal(f.n_linktypes, 1);
	assert_int_equal(f.linktypes[0], 1);
	assert_true(source_file(s, 1, &f));
	assert_int_equal(f.n_linktypes, 1);
	assert_int_equal(f.linktypes[0], 101);
	source_free(s);
	source_free(NULL);
}

/* A file added while another is being read. */
static void
test_late(void **state)
{
	struct source *s;
	struct packet p;
	struct errmsg em;
	struct buf got;

	(void)state;
	save_capture("a", 'a', "359");
	save_capture("b", 'b', "267");
	s = open_all(PATHS("a"));
	assert_int_equal(source_next(s, &p), 1);
	assert_int_equal(source_add(s, "b", &em), 0);
	assert_int_equal(source_next(s, &p), 1);
	assert_memory_equal(p.data, "b2", 2);
	assert_int_equal(p.pkt, 2);
	assert_int_equal(source_next(s, &p), 1);
	assert_memory_equal(p.data, "a5", 2);
	source_free(s);

	save_capture("c", 'c', "1");
	s = open_all(PATHS("c"));
	drain(s, &got);
	buf_fini(&got);
	assert_int_equal(source_add(s, "b", &em), 0);
	assert_int_equal(source_next(s, &p), 1);
	assert_memory_equal(p.data, "b2", 2);
	source_free(s);
}

static volatile sig_atomic_t n_alarms;
static int slow_fd;
static const char *slow_p;
static size_t slow_n;

/* Writes a byte every second time, so that reads are interrupted. */
static void
on_alarm(int sig)
{
	(void)sig;
	if (n_alarms++ % 2 == 0)
		return;
	if (slow_n && write(slow_fd, slow_p, 1) == 1) {
		slow_p++;
		slow_n--;
	} else
		(void)close(slow_fd);
}

/* Puts `fd` in the place of standard input; the old one, to be put back. */
static int
stdin_from(int fd)
{
	int old = dup(STDIN_FILENO);

	assert_true(dup2(fd, STDIN_FILENO) >= 0);
	(void)close(fd);
	return old;
}

static void
stdin_back(int old)
{
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);	/* left open */
	if (old >= 0) {
		assert_true(dup2(old, STDIN_FILENO) >= 0);
		(void)close(old);
	}
}

/* Standard input, a byte at a time and with a signal between, beside a
 * regular file. */
static void
slowly(const struct buf *in)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	struct sigaction act = { .sa_handler = on_alarm }, was;
	struct source *s;
	struct errmsg em;
	struct buf got;
	uint64_t done, total;
	int fds[2], old;

	save_capture("a", 'a', "2468");
	assert_int_equal(pipe(fds), 0);
	old = stdin_from(fds[0]);
	slow_fd = fds[1];
	slow_p = in->p;
	slow_n = in->n;
	n_alarms = 0;
	assert_int_equal(sigaction(SIGALRM, &act, &was), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
	s = open_all(PATHS("a", "-"));
	assert_int_equal(source_add(s, "-", &em), -E_USAGE);
	drain(s, &got);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &was, NULL), 0);
	assert_string_equal(got.p, "s1 a2 s3 a4 s5 a6 s7 a8 s9");
	source_progress(s, &done, &total);
	assert_int_equal(total, 0);
	assert_int_equal(done, in->n + 24 + 4 * 18);
	source_free(s);
	stdin_back(old);
	buf_fini(&got);
}

static void
test_stdin(void **state)
{
	struct buf in, packed;
	int fd, old;

	(void)state;
	capture(&in, 's', "13579");
	slowly(&in);
	buf_init(&packed, 4096);
	gzip(&packed, buf_str(&in));
	slowly(&packed);

	/* Not a pipe, but it cannot be opened again either. */
	save("redirected", buf_str(&in));
	fd = open("redirected", O_RDONLY);
	assert_true(fd >= 0);
	old = stdin_from(fd);
	wants(PATHS("a", "-"), "s1 a2 s3 a4 s5 a6 s7 a8 s9");
	stdin_back(old);
	buf_fini(&packed);
	buf_fini(&in);
}

/* A named pipe cannot be opened twice either. */
static void
test_fifo(void **state)
{
	struct buf b;
	int fd;

	(void)state;
	capture(&b, 'f', "14");
	save_capture("a", 'a', "23");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.p, b.n), b.n);
	{
		struct source *s = open_all(PATHS("fifo", "a"));
		struct buf got;

		(void)close(fd);
		drain(s, &got);
		assert_string_equal(got.p, "f1 a2 a3 f4");
		buf_fini(&got);
		source_free(s);
	}
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_well_packed),
		cmocka_unit_test(test_cut_run),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_fifo),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
