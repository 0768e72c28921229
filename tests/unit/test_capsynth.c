#include "mcpdiag/capsynth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/flow.h"
#include "mcpdiag/xmem.h"
#include "read_fix.h"

#define T0 (1700000000 * NS_S)
#define C4 "127.0.0.1:40001"
#define S4 "127.0.0.1:3000"
#define C6 "[::1]:40001"
#define S6 "[::1]:3000"

static char path[64];
static struct capwrite *out;
static struct capsynth *cs;

static int
setup(void **state)
{
	static const struct capwrite_opts o = { .linktype = CAPSYNTH_LINKTYPE,
	    .application = "mcpdiag", .comment = CAPSYNTH_COMMENT };
	struct errmsg em = { "" };
	int fd;

	(void)state;
	(void)snprintf(path, sizeof path, "/tmp/test_capsynth.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	out = capwrite_new(path, &o, &em);
	if (out == NULL)
		fail_msg("%s", em.text);
	cs = capsynth_new(out, 1000);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	capsynth_free(cs);
	capwrite_free(out);
	(void)unlink(path);
	return 0;
}

/* What the flow tracker makes of the file. */
struct seen {
	struct buf dir[2];
	struct buf trace;
	unsigned opened, ended, odd;
	uint32_t sent[2], acked[2];	/* of one connection */
};

static void *
on_open(void *arg, const struct flow_conn *c, struct at at)
{
	struct seen *s = arg;
	char a[64], b[64];

	(void)at;
	s->opened++;
	(void)addr_print(&c->addr[0], a);
	(void)addr_print(&c->addr[1], b);
	(void)buf_fmt(&s->trace, "%s %s > %s; ",
	    c->start == FLOW_SYN ? "open" : "mid", a, b);
	return s;
}

static bool
on_data(void *conn, int dir, const uint8_t *p, size_t n, struct at at)
{
	struct seen *s = conn;

	(void)at;
	assert_int_equal(buf_add(&s->dir[dir], p, n), 0);
	if (n < 100)
		(void)buf_fmt(&s->trace, "%d:%.*s; ", dir, (int)n, (const char *)p);
	return true;
}

static void
on_gap(void *conn, int dir, uint64_t n, struct at at)
{
	struct seen *s = conn;

	(void)n;
	(void)at;
	s->odd++;
	(void)buf_fmt(&s->trace, "%d:gap; ", dir);
}

static void
on_close(void *conn, int dir, enum flow_close how, int by, struct at at)
{
	static const char *const names[] = { "fin", "rst", "evicted", "eof", "reused" };
	struct seen *s = conn;

	(void)at;
	(void)buf_fmt(&s->trace, "%d:%s by %d; ", dir, names[how], by);
}

static void
on_stall(void *conn, int dir, uint64_t bytes, bool zero, struct at since, struct at now)
{
	struct seen *s = conn;

	(void)dir;
	(void)bytes;
	(void)zero;
	(void)since;
	(void)now;
	s->odd++;
}

static void
on_odd(void *conn, int dir, enum flow_odd odd, struct at at)
{
	struct seen *s = conn;

	(void)dir;
	(void)odd;
	(void)at;
	s->odd++;
}

static void
on_end(void *conn, struct at at)
{
	(void)at;
	((struct seen *)conn)->ended++;
}

static const struct flow_ops ops = {
	.open = on_open, .data = on_data, .gap = on_gap, .close = on_close,
	.stall = on_stall, .odd = on_odd, .end = on_end,
};

static uint16_t
folded(uint32_t s, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)s;
}

/* A receiver's check: with the checksum in it, everything adds up to ffff. */
static void
check_sums(const struct packet *k)
{
	const uint8_t *p = k->data;
	uint32_t addrs, head, len;

	if (p[0] >> 4 == 4) {
		head = 20;
		len = (uint32_t)(p[2] << 8 | p[3]) - head;
		addrs = folded(0, p + 12, 8);
		assert_int_equal(folded(0, p, head), 0xffff);
	} else {
		head = 40;
		len = (uint32_t)(p[4] << 8 | p[5]);
		addrs = folded(0, p + 8, 32);
	}
	assert_true(k->len <= 1500);
	assert_int_equal(k->len, head + len);
	assert_int_equal(folded(addrs + 6 + len, p + head, len), 0xffff);
}

/* What is not acknowledged stays within the window, and nothing is left so at
 * the end of a write.  Of one connection only. */
static void
check_window(struct seen *s, const struct seg *g)
{
	int dir = g->src.port == 3000;

	if (g->flags & TCP_SYN)
		s->acked[dir] = g->seq;
	if (g->flags & TCP_FIN)
		assert_int_equal(g->seq, s->acked[dir]);
	s->sent[dir] = g->seq + g->len + !!(g->flags & (TCP_SYN | TCP_FIN));
	if (g->flags & TCP_ACK)
		s->acked[!dir] = g->ack;
	assert_true(s->sent[dir] - s->acked[dir] <= g->win);
}

/* Reads the file: every packet must be sound and whole. */
static void
read_back(struct seen *seen)
{
	struct limits limits;
	struct source *src = source_new();
	struct flows *flows;
	struct decode *decode;
	struct packet k;
	struct seg seg;
	struct at last = { 0 };

	limits_init(&limits);
	*seen = (struct seen){ 0 };
	buf_init(&seen->dir[0], 64 << 20);
	buf_init(&seen->dir[1], 64 << 20);
	buf_init(&seen->trace, 64 << 20);
	assert_int_equal(capwrite_flush(out), 0);
	assert_int_equal(source_add(src, path, NULL), 0);
	decode = decode_new(&limits);
	flows = flows_new(&limits, &ops, seen);
	while (source_next(src, &k)) {
		check_sums(&k);
		assert_int_equal(decode_packet(decode, &k, &seg), DECODE_TCP);
		if (seen->opened <= 1)
			check_window(seen, &seg);
		flows_seg(flows, &seg);
		flows_tick(flows, seg.at.t);
		last = seg.at;
	}
	/* long after: what was not acknowledged would show */
	last.t += 100 * NS_S;
	flows_tick(flows, last.t);
	flows_eof(flows, last);
	assert_int_equal(flows_stats(flows)->gaps, 0);
	assert_int_equal(flows_stats(flows)->retransmits, 0);
	assert_int_equal(flows_stats(flows)->out_of_order, 0);
	assert_int_equal(flows_stats(flows)->duplicates, 0);
	assert_int_equal(seen->odd, 0);
	assert_int_equal(seen->opened, seen->ended);
	flows_free(flows);
	decode_free(decode);
	source_free(src);
}

static void
seen_free(struct seen *s)
{
	buf_fini(&s->dir[0]);
	buf_fini(&s->dir[1]);
	buf_fini(&s->trace);
}

static void
expect(const char *want)
{
	struct seen seen;

	read_back(&seen);
	(void)buf_addc(&seen.trace, '\0');
	assert_string_equal(seen.trace.p, want);
	seen_free(&seen);
}

static void
say(uint32_t id, bool server, const char *s, ns_t t)
{
	assert_int_equal(capsynth_data(cs, id, server, s, strlen(s), t), 0);
}

static const struct row {
	const char *client, *server;
	bool by_client, reset;
	const char *want;
} rows[] = {
	{ C4, S4, true, false, "open " C4 " > " S4 "; 0:ask; 1:answer; 0:fin by 0; 1:fin by 1; " },
	{ C4, S4, false, false, "open " C4 " > " S4 "; 0:ask; 1:answer; 1:fin by 1; 0:fin by 0; " },
	{ C4, S4, true, true, "open " C4 " > " S4 "; 0:ask; 1:answer; 0:rst by 0; 1:rst by 0; " },
	{ C4, S4, false, true, "open " C4 " > " S4 "; 0:ask; 1:answer; 1:rst by 1; 0:rst by 1; " },
	{ C6, S6, true, false, "open " C6 " > " S6 "; 0:ask; 1:answer; 0:fin by 0; 1:fin by 1; " },
	{ C6, S6, false, true, "open " C6 " > " S6 "; 0:ask; 1:answer; 1:rst by 1; 0:rst by 1; " },
	{ "[fe80::1:2%eth0]:65535", "[fe80::3%eth0]:3000", true, false,
	    "open [fe80::1:2]:65535 > [fe80::3]:3000; 0:ask; 1:answer; 0:fin by 0; 1:fin by 1; " },
};

static void
conversations(void **state)
{
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct row *r = &rows[i];
		uint32_t id = 7 + (uint32_t)i;

		assert_int_equal(setup(state), 0);
		assert_int_equal(capsynth_open(cs, id, r->client, r->server, T0), 0);
		assert_int_equal(capsynth_conns(cs), 1);
		say(id, false, "ask", T0 + 1);
		say(id, true, "answer", T0 + 2);
		say(id, true, "", T0 + 2);
		assert_int_equal(capsynth_close(cs, id, r->by_client, r->reset, T0 + 3), 0);
		assert_int_equal(capsynth_conns(cs), 0);
		expect(r->want);
		assert_int_equal(teardown(state), 0);
	}
}

static void
the_same_ports_again(void **state)
{
	(void)state;
	for (uint32_t id = 1; id <= 2; id++) {
		assert_int_equal(capsynth_open(cs, id, C4, S4, T0 + id), 0);
		say(id, false, id == 1 ? "one" : "two", T0 + id);
		assert_int_equal(capsynth_close(cs, id, true, false, T0 + id), 0);
	}
	expect("open " C4 " > " S4 "; 0:one; 0:fin by 0; 1:fin by 1; "
	    "open " C4 " > " S4 "; 0:two; 0:fin by 0; 1:fin by 1; ");
}

/* More than a window, and past the wrap of the sequence numbers of the client
 * (the first id) and of the server (the second), a million bytes on. */
static void
big_data(void **state)
{
	enum { N = 3000001 };
	static const uint32_t ids[] = { 3041020352U, 1253946944U };
	static const char *const ends[][2] = { { C4, S4 }, { C6, S6 } };
	uint8_t *data = xmalloc(N);

	for (size_t i = 0; i < N; i++)
		data[i] = (uint8_t)(i * 2654435761U >> 24);
	for (size_t k = 0; k < N_ROWS(ends) * N_ROWS(ids); k++) {
		const char *const *end = ends[k / 2];
		uint32_t id = ids[k % 2];
		struct seen seen;

		assert_int_equal(setup(state), 0);
		assert_int_equal(capsynth_open(cs, id, end[0], end[1], T0), 0);
		assert_int_equal(capsynth_data(cs, id, false, data, N, T0 + 1), 0);
		assert_int_equal(capsynth_data(cs, id, true, data, N, T0 + 2), 0);
		assert_int_equal(capsynth_data(cs, id, true, data, 1460, T0 + 3), 0);
		assert_int_equal(capsynth_close(cs, id, true, false, T0 + 4), 0);
		read_back(&seen);
		assert_int_equal(seen.opened, 1);
		assert_int_equal(seen.sent[0], seen.acked[0]);
		assert_int_equal(seen.sent[1], seen.acked[1]);
		assert_int_equal(seen.dir[0].n, N);
		assert_int_equal(seen.dir[1].n, N + 1460);
		assert_memory_equal(seen.dir[0].p, data, N);
		assert_memory_equal(seen.dir[1].p, data, N);
		seen_free(&seen);
		assert_int_equal(teardown(state), 0);
	}
	free(data);
}

static void
many_at_once(void **state)
{
	struct seen seen;
	char client[32];

	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			(void)snprintf(client, sizeof client, "10.0.%u.%u:%u", round,
			    i % 250, 1024 + i);
			assert_int_equal(capsynth_open(cs, i, client, S4, T0 + round), 0);
		}
		assert_int_equal(capsynth_open(cs, 5000, C4, S4, T0), -E_LIMIT);
		for (uint32_t i = 0; i < 1000; i++)
			say(i, i & 1, "x", T0 + round);
		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(capsynth_close(cs, i, i & 1, i & 2, T0 + round), 0);
		assert_int_equal(capsynth_conns(cs), 0);
	}
	read_back(&seen);
	assert_int_equal(seen.opened, 5000);
	assert_int_equal(seen.dir[0].n, 2500);
	assert_int_equal(seen.dir[1].n, 2500);
	seen_free(&seen);
}

static void
what_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "127.0.0.1", S4 }, { "127.0.0.1:", S4 }, { ":80", S4 },
		{ "127.0.0.1:65536", S4 }, { "127.0.0.1:-1", S4 }, { "", S4 },
		{ "localhost:80", S4 }, { C4, S6 }, { C6, S4 }, { "[::1:80", S6 },
		{ "::1:80", S6 }, { "[]:80", S6 }, { "[127.0.0.1]:80", S6 },
		{ C4, "1.2.3:4" },
		{ "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc]:1", S6 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(bad); i++)
		assert_int_equal(capsynth_open(cs, 1, bad[i][0], bad[i][1], T0), -E_USAGE);
	assert_int_equal(capsynth_conns(cs), 0);
	assert_int_equal(capsynth_data(cs, 1, true, "x", 1, T0), -E_USAGE);
	assert_int_equal(capsynth_close(cs, 1, true, false, T0), -E_USAGE);
	assert_int_equal(capsynth_open(cs, 1, C4, S4, T0), 0);
	assert_int_equal(capsynth_open(cs, 1, "127.0.0.1:1", S4, T0), -E_USAGE);
	expect("open " C4 " > " S4 "; 0:eof by -1; 1:eof by -1; ");
}

static void
a_full_disk_is_told(void **state)
{
	static uint8_t big[200000];
	struct rlimit was, small;

	(void)state;
	assert_int_equal(capsynth_open(cs, 1, C4, S4, T0), 0);
	assert_int_equal(capsynth_open(cs, 2, C6, S6, T0), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 100000;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(capsynth_data(cs, 1, true, big, sizeof big, T0), -E_IO);
	assert_int_equal(capsynth_data(cs, 2, true, big, 1, T0), -E_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_non_null(capwrite_error(out));
	/* the book-keeping goes on */
	assert_int_equal(capsynth_close(cs, 1, true, false, T0), -E_IO);
	assert_int_equal(capsynth_open(cs, 3, C4, S4, T0), -E_IO);
	assert_int_equal(capsynth_close(cs, 3, true, true, T0), -E_IO);
	assert_int_equal(capsynth_close(cs, 3, true, true, T0), -E_USAGE);
	assert_int_equal(capsynth_conns(cs), 1);
}

/* A message of one side, with its length. */
static void
http(uint32_t id, bool server, const char *head, const char *body, ns_t t)
{
	char text[1000];

	(void)snprintf(text, sizeof text, "%s\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n\r\n%s", head, strlen(body), body);
	say(id, server, text, t);
}

static void
the_pipeline_sees_the_session(void **state)
{
	struct pipeline_opts opts = { 0 };
	const struct timeline *tl;
	struct pipeline *p;

	(void)state;
	assert_int_equal(capsynth_open(cs, 1, C4, S4, T0), 0);
	http(1, false, "POST /mcp HTTP/1.1\r\nHost: x\r\n"
	    "Accept: application/json, text/event-stream",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
	    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":"
	    "{\"name\":\"test\",\"version\":\"1\"}}}", T0 + 1 * NS_MS);
	http(1, true, "HTTP/1.1 200 OK\r\nMcp-Session-Id: s1",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
	    "\"2025-06-18\",\"capabilities\":{},\"serverInfo\":"
	    "{\"name\":\"srv\",\"version\":\"1\"}}}", T0 + 2 * NS_MS);
	assert_int_equal(capsynth_open(cs, 2, "127.0.0.1:40002", S4, T0 + 3 * NS_MS), 0);
	say(2, false, "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
	    "Mcp-Session-Id: s1\r\n\r\n", T0 + 4 * NS_MS);
	say(2, true, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n"
	    "10\r\nid: 1\ndata: {}\n\n\r\n", T0 + 5 * NS_MS);
	assert_int_equal(capsynth_close(cs, 2, true, false, T0 + 9 * NS_S), 0);
	assert_int_equal(capwrite_flush(out), 0);

	limits_init(&opts.limits);
	p = pipeline_new(&opts);
	read_packets_of(p, path);
	tl = pipeline_timeline(p);
	assert_non_null(timeline_session(tl, 0));
	assert_null(timeline_session(tl, 1));
	assert_non_null(timeline_stream(tl, 0));
	assert_null(timeline_stream(tl, 1));
	assert_int_equal(timeline_total(tl)->u.total.tcp_connections, 2);
	assert_int_equal(timeline_counts(tl)->sse_events, 1);
	pipeline_free(p);
}

/* A second opinion, where there is one. */
static void
tshark_finds_no_fault(void **state)
{
	static uint8_t big[100000];
	char cmd[400], line[400];
	unsigned lines = 0;
	FILE *f;

	(void)state;
	if (system("command -v tshark >/dev/null 2>&1 && "
	    "command -v capinfos >/dev/null 2>&1") != 0)
		skip();
	for (uint32_t id = 1; id <= 4; id++) {
		assert_int_equal(capsynth_open(cs, id, id & 1 ? C4 : C6, id & 1 ? S4 : S6,
		    T0 + id * NS_S), 0);
		assert_int_equal(capsynth_data(cs, id, false, big, sizeof big,
		    T0 + id * NS_S + 1), 0);
		assert_int_equal(capsynth_data(cs, id, true, big, 10, T0 + id * NS_S + 2), 0);
		assert_int_equal(capsynth_close(cs, id, id & 1, id & 2,
		    T0 + id * NS_S + 3), 0);
	}
	assert_int_equal(capwrite_flush(out), 0);
	(void)snprintf(cmd, sizeof cmd, "tshark -r %s -o tcp.check_checksum:TRUE "
	    "-o ip.check_checksum:TRUE -Y 'tcp.checksum.status != 1 || "
	    "(ip && ip.checksum.status != 1) || _ws.malformed || "
	    "(tcp.analysis.flags && !tcp.analysis.reused_ports) || "
	    "!tcp' 2>&1 | grep -v ^Running; "
	    "capinfos -k -E %s 2>&1", path, path);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL) {
		if (strstr(line, "synthesised by mcpdiag") || strstr(line, "Raw IP"))
			lines++;
		else if (strstr(line, "File name") == NULL)
			fail_msg("%s", line);
	}
	assert_int_equal(pclose(f), 0);
	assert_int_equal(lines, 2);
}

int
main(void)
{
#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversations),
		FILE_TEST(the_same_ports_again),
		cmocka_unit_test(big_data),
		FILE_TEST(many_at_once),
		FILE_TEST(what_is_refused),
		FILE_TEST(a_full_disk_is_told),
		FILE_TEST(the_pipeline_sees_the_session),
		FILE_TEST(tshark_finds_no_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
