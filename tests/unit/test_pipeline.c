/* pipeline: the notes and totals that only the wiring knows. */
#include "mcpdiag/pipeline.h"
#include "mcpdiag/verdict.h"
#include "mcpdiag/xmem.h"
#include "util.h"

#define ETHERNET 1
#define RAW 101
#define T0 (1700000000 * NS_S)

/* SYN from 10.0.0.1:4000 to 10.0.0.2:80, raw IP. */
static const uint8_t syn[] = {
	0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	0x0f, 0xa0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0,
};
static const uint8_t udp[] = {
	0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	0x0f, 0xa0, 0, 53, 0, 8, 0, 0,
};

static struct pipeline *
new(struct bpf *filter)
{
	struct pipeline_opts opts = { .filter = filter };

	limits_init(&opts.limits);
	return pipeline_new(&opts);
}

static bool
give(struct pipeline *p, uint32_t n, uint32_t linktype, const void *bytes, size_t len,
    size_t wire_len)
{
	struct packet pk = { .t = T0 + n * NS_S, .pkt = n, .linktype = linktype,
	    .len = (uint32_t)len, .wire_len = (uint32_t)wire_len, .data = bytes };

	return pipeline_packets(p, &pk, 1) == 1;
}

static bool
noted(const struct pipeline *p, const char *name, const char *text)
{
	const struct tl_note *n;

	for (uint32_t i = 0; (n = timeline_note(pipeline_timeline(p), i)) != NULL; i++)
		if (strcmp(n->name, name) == 0 && strstr(n->text, text))
			return true;
	return false;
}

static enum verdict_kind
verdict(const struct pipeline *p)
{
	struct verdict *v = verdict_new(pipeline_timeline(p));
	enum verdict_kind kind = v->kind;

	verdict_free(v);
	return kind;
}

static void
nothing_at_all(void **state)
{
	struct pipeline *p = new(NULL);

	(void)state;
	pipeline_end(p);
	assert_int_equal(timeline_total(pipeline_timeline(p))->u.total.packets, 0);
	assert_int_equal(verdict(p), VERDICT_EMPTY);
	pipeline_free(p);
	pipeline_free(NULL);
}

static void
totals(void **state)
{
	struct pipeline *p = new(NULL);
	const struct ev *t;

	(void)state;
	(void)give(p, 1, RAW, syn, sizeof syn, sizeof syn);
	(void)give(p, 3, RAW, udp, sizeof udp, 1000);
	(void)give(p, 2, RAW, udp, sizeof udp, sizeof udp);
	pipeline_end(p);
	t = timeline_total(pipeline_timeline(p));
	assert_int_equal(t->u.total.packets, 3);
	assert_int_equal(t->u.total.tcp_connections, 1);
	assert_int_equal(t->u.total.truncated, 1);
	assert_true(t->u.total.first == T0 + NS_S);
	assert_true(t->u.total.last == T0 + 3 * NS_S);
	pipeline_free(p);
}

static void
what_cannot_be_read_is_said(void **state)
{
	struct pipeline *p = new(NULL);

	(void)state;
	(void)give(p, 1, 9999, syn, sizeof syn, sizeof syn);
	(void)give(p, 2, 9999, syn, sizeof syn, sizeof syn);
	for (uint32_t i = 0; i < 20; i++)	/* more kinds than are told apart */
		(void)give(p, 3 + i, 8000 + i, syn, sizeof syn, sizeof syn);
	(void)give(p, 30, RAW, syn, 10, sizeof syn);
	pipeline_end(p);
	assert_true(noted(p, "linktype", "2 packets are of link type 9999, "));
	assert_true(noted(p, "linktype", "1 packet is of link type 8000, "));
	assert_true(noted(p, "undecodable", "1 packet has "));
	assert_int_equal(verdict(p), VERDICT_UNKNOWN);
	pipeline_free(p);
}

/* First fragments of 64 kB each, of which 1 MiB is kept. */
static void
fragments_are_bounded(void **state)
{
	struct pipeline *p = new(NULL);
	static uint8_t in[20 + 65504];

	(void)state;
	memcpy(in, syn, 20);
	in[2] = (uint8_t)(sizeof in >> 8);
	in[3] = (uint8_t)sizeof in;
	in[6] = 0x20;			/* more fragments */
	for (uint32_t i = 0; i < 40; i++) {
		in[5] = (uint8_t)i;	/* identification */
		(void)give(p, 1, RAW, in, sizeof in, sizeof in);
	}
	pipeline_end(p);
	assert_true(noted(p, "fragments", "40 IP fragments were never completed"));
	assert_true(noted(p, "fragments", "given up at --limit fragments="));
	pipeline_free(p);
}

static void
no_tcp_is_said(void **state)
{
	struct pipeline *p = new(NULL);

	(void)state;
	(void)give(p, 1, RAW, udp, sizeof udp, sizeof udp);
	pipeline_end(p);
	assert_int_equal(verdict(p), VERDICT_NO_TCP);
	pipeline_free(p);
}

static void
a_filter_keeps_out(void **state)
{
	struct errmsg em;
	struct bpf *filter = bpf_new("tcp", &em);
	struct pipeline *p = new(filter);

	(void)state;
	assert_non_null(filter);
	assert_false(give(p, 1, RAW, udp, sizeof udp, sizeof udp));
	assert_true(give(p, 2, RAW, syn, sizeof syn, sizeof syn));
	pipeline_end(p);
	assert_int_equal(timeline_total(pipeline_timeline(p))->u.total.packets, 1);
	assert_true(noted(p, "filter", "let 1 of 2 packets pass"));
	pipeline_free(p);
	bpf_free(filter);
}

static void
files_are_told(void **state)
{
	struct source_file f = { .path = "x.pcap", .format = "pcap",
	    .stats = { .packets = 2, .dropped = 3, .cut = true },
	    .linktypes = { ETHERNET, 9999 }, .n_linktypes = 2 };
	struct pipeline *p = new(NULL);
	const struct timeline *tl = pipeline_timeline(p);

	(void)state;
	pipeline_file(p, &f);
	f.error = "bad block";
	pipeline_file(p, &f);
	pipeline_end(p);
	assert_string_equal(timeline_file(tl, 0)->linktypes, "Ethernet, LINKTYPE_9999");
	assert_null(timeline_file(tl, 0)->error);
	assert_string_equal(timeline_file(tl, 1)->error, "bad block");
	assert_int_equal(timeline_total(tl)->u.total.dropped, 6);
	assert_true(noted(p, "cut-file", "x.pcap ends inside a record"));
	assert_int_equal(timeline_note(tl, 0)->count, 1);
	pipeline_free(p);
}

static void
tap(void *arg, const struct ev *e)
{
	(void)buf_fmt(arg, "%s ", ev_type_name(e->type));
}

/* The end comes last, also when the reader has something to add to it. */
static void
events_in_place_of_packets(void **state)
{
	struct buf trace;
	struct pipeline_opts opts = { .tap = tap, .arg = &trace };
	struct ev conn = { .type = EV_CONN, .conn = 1, .t = T0, .pkt = 7 };
	struct ev end = { .type = EV_END, .t = T0 + 5, .pkt = 9 };
	struct pipeline *p;

	(void)state;
	buf_init(&trace, 256);
	limits_init(&opts.limits);
	end.u.total.packets = 9;
	p = pipeline_new(&opts);
	pipeline_event(p, &conn);
	pipeline_event(p, &end);
	pipeline_note(p, "events", "a bad line");
	pipeline_end(p);
	assert_true(str_eq(buf_str(&trace), STR("conn note end ")));
	assert_int_equal(timeline_total(pipeline_timeline(p))->u.total.packets, 9);
	pipeline_free(p);

	buf_clear(&trace);
	p = pipeline_new(&opts);		/* without its end */
	pipeline_event(p, &conn);
	conn.pkt = 8;
	conn.t += 3;
	pipeline_event(p, &conn);
	pipeline_end(p);
	assert_true(str_eq(buf_str(&trace), STR("conn conn end ")));
	assert_int_equal(timeline_total(pipeline_timeline(p))->u.total.packets, 8);
	assert_int_equal(timeline_total(pipeline_timeline(p))->u.total.tcp_connections, 2);
	assert_true(timeline_total(pipeline_timeline(p))->u.total.last == T0 + 3);
	pipeline_free(p);
	buf_fini(&trace);
}

/* 40,000 connections at once, with room for a few thousand of them. */
static void
memory_is_bounded(void **state)
{
	struct pipeline_opts opts = { .filter = NULL };
	struct pipeline *p;
	size_t before = xmem_used(), most = 0;
	uint8_t in[sizeof syn];

	(void)state;
	limits_init(&opts.limits);
	opts.limits.memory = before + (3 << 20);
	p = pipeline_new(&opts);
	memcpy(in, syn, sizeof in);
	for (uint32_t i = 1; i <= 40000; i++) {
		struct packet pk = { .t = T0 + i * NS_US, .pkt = i, .linktype = RAW,
		    .len = sizeof in, .wire_len = sizeof in, .data = in };

		in[14] = (uint8_t)(i >> 16);	/* 10.0.x.1, and the port */
		in[20] = (uint8_t)(i >> 8);
		in[21] = (uint8_t)i;
		assert_int_equal(pipeline_packets(p, &pk, 1), 1);
		most = xmem_used() > most ? xmem_used() : most;
	}
	pipeline_end(p);
	assert_int_equal(timeline_total(pipeline_timeline(p))->u.total.tcp_connections,
	    40000);
	if (before) {			/* 0: the system cannot tell */
		assert_true(noted(p, "limit", "--limit memory="));
		assert_true(most < before + (6 << 20));
	}
	pipeline_free(p);
}

/* A segment of the n-th connection, picked up in mid-stream, to a server of
 * its own. */
static void
segment(struct pipeline *p, uint32_t n, bool response, uint32_t seq, uint32_t ack,
    struct str data)
{
	uint8_t in[1024];
	size_t len = sizeof syn + data.n;
	struct packet pk = { .t = T0 + n * NS_US, .pkt = n, .linktype = RAW,
	    .len = (uint32_t)len, .wire_len = (uint32_t)len, .data = in };

	assert_true(len <= sizeof in);
	memcpy(in, syn, sizeof syn);
	memcpy(in + sizeof syn, data.p, data.n);
	in[2] = (uint8_t)(len >> 8);
	in[3] = (uint8_t)len;
	in[13] = in[17] = (uint8_t)(n >> 8);	/* 10.n.n.1 and .2 */
	in[14] = in[18] = (uint8_t)n;
	if (response) {
		in[15] = syn[19];
		in[19] = syn[15];
		memcpy(in + 20, syn + 22, 2);
		memcpy(in + 22, syn + 20, 2);
	}
	in[26] = (uint8_t)(seq >> 8);
	in[27] = (uint8_t)seq;
	in[30] = (uint8_t)(ack >> 8);
	in[31] = (uint8_t)ack;
	in[33] = 0x18;				/* PSH, ACK */
	(void)pipeline_packets(p, &pk, 1);
}

/* A few hundred bytes on each of 400 connections, which unpack to a megabyte
 * each: in the window of the decoder, or as ids of events of a server not known
 * to be MCP; as they come, or all in one tick when the holes before them are
 * given up. */
static void
unpacked_memory_is_bounded(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Content-Encoding: zstd\r\n\r\n\x28\xb5\x2f\xfd\x00\x68";
	static const char block[] = "\x02\x00\x10" "a";
	static const char id[] = "\x18\x00\x00" "id:" "\x02\x53\x07" "a"
	    "\x10\x00\x00" "\n\n";
	static const char get[] = "GET / HTTP/1.1\r\n\r\n";
	static const char first[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
	struct pipeline_opts opts = { .filter = NULL };
	size_t before = xmem_used(), peak = xmem_peak();
	struct buf body;

	(void)state;
	limits_init(&opts.limits);
	opts.limits.memory = peak + (32 << 20);
	buf_init(&body, 900);
	for (int kind = 0; kind < 4; kind++) {
		struct pipeline *p = pipeline_new(&opts);

		buf_clear(&body);
		(void)buf_adds(&body, str_of(head, sizeof head - 1));
		for (int i = 0; i < (kind & 1 ? 17 : 7); i++)
			(void)buf_adds(&body, kind & 1 ? str_of(id, sizeof id - 1) :
			    str_of(block, sizeof block - 1));
		for (uint32_t i = 1; i <= 400; i++) {
			uint32_t seq = 1, ack = sizeof get;

			segment(p, i, false, 1, 1, str_of(get, sizeof get - 1));
			if (kind > 1) {
				segment(p, i, false, ack, 1, str_of(get, sizeof get - 1));
				ack += sizeof get - 1;
				segment(p, i, true, 1, ack, str_of(first, sizeof first - 1));
				seq += sizeof first - 1 + 5;
			}
			segment(p, i, true, seq, ack, buf_str(&body));
			segment(p, i, false, ack, seq + (uint32_t)body.n, STR(""));
		}
		segment(p, 60000, false, 1, 1, STR(""));	/* 60 ms later */
		pipeline_end(p);
		if (before)
			assert_true(noted(p, "limit", "--limit memory="));
		pipeline_free(p);
	}
	if (before)			/* 0: the system cannot tell */
		assert_true(xmem_peak() < peak + (64 << 20));
	buf_fini(&body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(totals),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(no_tcp_is_said),
		cmocka_unit_test(fragments_are_bounded),
		cmocka_unit_test(a_filter_keeps_out),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(unpacked_memory_is_bounded),
		cmocka_unit_test(files_are_told),
		cmocka_unit_test(events_in_place_of_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
