/*
 * mkload - deterministic generator of MCP-over-HTTP captures for benchmarks and scale tests.
 *
 * Writes a classic pcap (microseconds, Ethernet, IPv4/IPv6, TCP with timestamps) plus, on request, the ground truth
 * as JSON. Same flags + same seed = same bytes. Needs only libc:   cc -O2 -o mkload mkload.c
 *
 * How it works: a discrete-event simulation. Every session, standalone stream, leapfrogging pair, ... is an "actor", a
 * protothread (BEGIN/WAIT/SEND macros below) resumed from a binary heap ordered by simulated time. Actors queue one
 * message at a time; pump() cuts it into segments, a congestion-window's worth per turn, so that long bodies of different
 * connections interleave. Counters for the truth file are bumped when the last byte of a message has been emitted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EPOCH 1790000000ull		/* first second of every capture (2026-09-21) */
#define SEC 1000000ull
enum { C2S = 0, S2C = 1 };
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
enum style { TS, PY, RM, NSTYLE };	/* header/framing flavour: TypeScript SDK, python-sdk (uvicorn), rmcp */
static const char *style_name[] = {"ts", "py", "rmcp"};

/* ------------------------------------------------------------------------------------------------ truth counters */
#define COUNTERS(X) \
	X(http_req_post) X(http_req_get) X(http_req_delete) X(http_resp_200) X(http_resp_202) X(http_resp_complete) \
	X(sse_post) X(sse_standalone) X(sse_resumed) X(sse_ended) X(sse_events) X(sse_primes) X(sse_comments) \
	X(c2s_request) X(c2s_response) X(c2s_notification) X(s2c_request) X(s2c_response) X(s2c_notification) \
	X(m_initialize) X(m_initialized) X(m_tools_list) X(m_tools_call) X(m_resources_read) X(m_ping) X(m_cancelled) \
	X(m_progress) X(m_list_changed) X(m_message) X(m_roots_list) \
	X(json_bodies) X(session_opened) X(session_deleted) X(evictions)
enum cnt {
#define X(n) c_##n,
	COUNTERS(X)
#undef X
	NCNT
};
static uint64_t cnt[NCNT], partial_msgs, damaged_msgs;
static uint64_t n_conn, n_conn_syn, n_fin, n_rst, n_data, n_retr, n_reord, n_dup, n_drop, n_payload;
static uint64_t z_tcp_conn, z_tcp_pkt, z_udp_pkt, z_http_req, z_http_resp, z_bytes;	/* noise */
static uint64_t open_sse, peak_sse, open_sess, peak_sess;

/* ------------------------------------------------------------------------------------------------ configuration */
enum profile { P_CHAT, P_BULK, P_IDLE, P_LEAP, P_NOISE };
static const char *prof_name[] = {"chat", "bulk", "idle", "leapfrog", "noise"};
static struct {
	enum profile prof;
	uint64_t seed, bytes, packets, midstream;
	uint32_t sessions, streams, leap, decoys, retry, keepalive, ramp, mss, snaplen, port;
	uint32_t loss, reorder, dup, drop, split, v6, noise, churn;	/* in 1/100 000 */
	bool csum, cut, cut_set, detail;
	const char *out, *truth;
} cfg = {.seed = 1, .bytes = 100000000, .sessions = 0, .streams = 5000, .leap = 20, .decoys = 20, .retry = 3000,
	 .keepalive = 15000, .ramp = ~0u, .mss = 1448, .snaplen = 262144, .port = 8931, .churn = 10000, .csum = true};

/* ------------------------------------------------------------------------------------------------ random numbers */
static inline uint64_t rnd(uint64_t *s)
{
	*s ^= *s >> 12, *s ^= *s << 25, *s ^= *s >> 27;
	return *s * 0x2545F4914F6CDD1Dull;
}
static inline uint32_t upto(uint64_t *s, uint32_t n) { return (uint32_t)(((rnd(s) >> 32) * n) >> 32); }
static inline uint32_t range(uint64_t *s, uint32_t lo, uint32_t hi) { return lo + upto(s, hi - lo + 1); }
static inline bool chance(uint64_t *s, uint32_t per100k) { return per100k && upto(s, 100000) < per100k; }
static uint32_t logrange(uint64_t *s, uint32_t lo, uint32_t hi)	/* roughly log-uniform, integers only */
{
	uint32_t k = 0, v;
	while ((uint64_t)lo << (k + 1) <= hi) k++;
	v = lo << upto(s, k + 1);
	v += upto(s, v);
	return v > hi ? hi : v;
}
static uint64_t mix(uint64_t x)
{
	x += 0x9E3779B97F4A7C15ull, x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull, x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
	return (x ^ (x >> 31)) | 1;
}
static uint64_t wrng, xrng;	/* impairments; noise */

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("mkload: ", stderr), vfprintf(stderr, fmt, ap), fputc('\n', stderr);
	exit(2);
}
static void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (!p) die("out of memory");
	return p;
}

/* ------------------------------------------------------------------------------------------------ output */
static int ofd = 1;
static uint8_t *ob;
static size_t on;
static const size_t OCAP = 1 << 20, ORES = 70000;
static uint64_t now, last_ts, first_ts, tot_bytes = 24, tot_pkts;
static bool stopping;

static void oflush(void)
{
	for (size_t o = 0; o < on;) {
		ssize_t w = write(ofd, ob + o, on - o);
		if (w < 0 && errno == EINTR) continue;
		if (w < 0) die("write: %s", strerror(errno));
		o += (size_t)w;
	}
	on = 0;
}
static inline void st32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void be16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 8), p[1] = (uint8_t)v; }
static inline void be32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline bool rec(void) { return now >= cfg.midstream; }
static uint64_t tick(void)	/* timestamp of the next packet: never goes back */
{
	uint64_t t = now > last_ts ? now : last_ts + 1;
	return last_ts = t;
}
/* finish the packet that starts at p (16 bytes of record header, then `len` bytes) and append it to the output */
static void pkt_commit(uint8_t *p, uint32_t len)
{
	uint64_t t = tick();
	uint32_t cap = len > cfg.snaplen ? cfg.snaplen : len;
	if (!rec()) return;
	st32(p, (uint32_t)(EPOCH + t / SEC)), st32(p + 4, (uint32_t)(t % SEC)), st32(p + 8, cap), st32(p + 12, len);
	if (p != ob + on) memmove(ob + on, p, 16 + cap);
	if (!tot_pkts) first_ts = t;
	on += 16 + cap, tot_bytes += 16 + cap, tot_pkts++;
	if (on + 2 * ORES > OCAP) oflush();
}
static uint64_t csum_add(uint64_t s, const uint8_t *p, size_t n)
{
	uint32_t w;
	uint64_t a = 0, b = 0;
	for (; n >= 8; p += 8, n -= 8) memcpy(&w, p, 4), a += w, memcpy(&w, p + 4, 4), b += w;
	s += a + b;
	if (n >= 4) memcpy(&w, p, 4), s += w, p += 4, n -= 4;
	if (n) w = 0, memcpy(&w, p, n), s += w;
	return s;
}
static uint16_t csum_fold(uint64_t s)
{
	while (s >> 16) s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

/* ------------------------------------------------------------------------------------------------ text pools */
#define POOL (8u << 20)
static uint8_t *pool, *rows, *junk;	/* 16-byte cells of JSON string text; 128-byte JSON records; random bytes */
static void mkpools(void)
{
	static const char *w[] = {"the ", "server ", "tool ", "result ", "of ", "file ", "index ", "query ", "row ", "and ", "to ",
				  "stream ", "value ", "42 ", "0.5 ", "path/to ", "error ", "ok ", "client ", "a ", "in "};
	static const char *odd[] = {"end of line.\\n  ", "\\\"quoted\\\" word ", "caf\xc3\xa9 na\xc3\xafve txt", "\\u00e9 \\u4e2d ok",
				    "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e text  ", "tab\\there \\/ esc", "C:\\\\dir\\\\file   ", "x=1; y=\\\"2\\\"   "};
	uint64_t s = mix(cfg.seed ^ 77);
	pool = xmalloc(POOL + 64), rows = xmalloc(POOL + 256), junk = xmalloc(1 << 20);
	for (uint32_t o = 0; o < POOL; o += 16) {
		if (upto(&s, 9) == 0) {
			const char *q = odd[upto(&s, 8)];
			memset(pool + o, ' ', 16), memcpy(pool + o, q, strlen(q) > 16 ? 16 : strlen(q));
			if (strlen(q) > 16) die("bad cell: %s", q);
			continue;
		}
		uint32_t k = 0;
		for (int i = 0; i < 6; i++) {
			const char *q = w[upto(&s, 21)];
			uint32_t l = (uint32_t)strlen(q);
			if (k + l <= 16) memcpy(pool + o + k, q, l), k += l;
		}
		while (k < 16) pool[o + k++] = '.';
	}
	for (uint32_t o = 0; o < POOL; o += 128) {
		char b[256];
		uint32_t v[5];	/* drawn one by one: argument evaluation order is not defined in C */
		v[0] = range(&s, 10000000, 99999999), v[1] = upto(&s, 10), v[2] = range(&s, 100, 999), v[3] = upto(&s, 2), v[4] = upto(&s, 100);
		int k = snprintf(b, sizeof b, "{\"id\":%u,\"name\":\"%.16s\",\"score\":0.%u,\"ok\":%s,\"tags\":[\"t%u\",null],\"note\":\"",
				 v[0], &"abcdefghijklmnopqrstuvwxyz"[v[1]], v[2], v[3] ? "true" : "false", v[4]);
		while (k < 125) b[k++] = (char)('a' + upto(&s, 26));
		memcpy(b + 125, "\"},", 3), memcpy(rows + o, b, 128);
	}
	for (uint32_t o = 0; o < 1 << 20; o += 8) { uint64_t v = rnd(&s); memcpy(junk + o, &v, 8); }
}

/* ------------------------------------------------------------------------------------------------ TCP flows */
typedef struct { uint8_t *p; uint32_t len; int left; bool retr, passed; } held;
typedef struct flow {
	uint8_t tm[2][100];		/* header templates: Ethernet + IP + TCP incl. timestamps */
	uint32_t hl, ipl, seq[2], rcv[2], tsv[2], psum[2];	/* rcv[d]: what the receiver of direction d has got in order */
	uint16_t id[2];
	uint8_t v6, unacked[2], noise, syn_seen;
	held h[2];
	struct flow *next;
} flow;
static flow *ffree;

static void addr(uint8_t *p, bool v6, uint32_t host, bool server)
{
	if (v6) {
		static const uint8_t pre[8] = {0xfd, 0x00, 0x12, 0x34, 0, 0, 0, 1};
		memcpy(p, pre, 8), memset(p + 8, 0, 4), p[8] = server, be32(p + 12, host + 1);
	} else be32(p, (server ? 0x0A000001u : 0x0A100001u) + host);
}
static flow *flow_new(bool v6, uint32_t client, uint16_t cport, uint32_t server, uint16_t sport, uint64_t *r)
{
	flow *f = ffree;
	if (f) ffree = f->next; else f = xmalloc(sizeof *f);
	memset(f, 0, sizeof *f);
	f->v6 = v6, f->ipl = v6 ? 40 : 20, f->hl = 14 + f->ipl + 32;
	for (int d = 0; d < 2; d++) {
		uint8_t *p = f->tm[d], *ip = p + 14, *t = ip + f->ipl;
		static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
		memcpy(p, mac[!d], 6), memcpy(p + 6, mac[d], 6), be16(p + 12, v6 ? 0x86dd : 0x0800);
		uint8_t *sa = v6 ? ip + 8 : ip + 12, *da = v6 ? ip + 24 : ip + 16;
		if (v6) ip[0] = 0x60, ip[6] = 6, ip[7] = 64;
		else ip[0] = 0x45, ip[6] = 0x40, ip[8] = 64, ip[9] = 6;
		addr(d == C2S ? sa : da, v6, client, false), addr(d == C2S ? da : sa, v6, server, true);
		be16(t, d == C2S ? cport : sport), be16(t + 2, d == C2S ? sport : cport);
		t[12] = 0x80, be16(t + 14, 32767), t[20] = t[21] = 1, t[22] = 8, t[23] = 10;
		uint64_t s = csum_add(0, sa, v6 ? 32 : 8);
		f->psum[d] = (uint16_t)~csum_fold(s);
		f->seq[d] = (uint32_t)rnd(r), f->id[d] = (uint16_t)rnd(r);
	}
	f->rcv[C2S] = f->seq[C2S], f->rcv[S2C] = f->seq[S2C];
	return f;
}
static void ip_tcp_finish(flow *f, int d, uint8_t *p, uint32_t tlen)	/* p: Ethernet header; tlen: TCP header + payload */
{
	uint8_t *ip = p + 14, *t = ip + f->ipl;
	if (f->v6) be16(ip + 4, tlen);
	else {
		be16(ip + 2, 20 + tlen), be16(ip + 4, f->id[d]++), ip[10] = ip[11] = 0;
		uint16_t c = csum_fold(csum_add(0, ip, 20));
		memcpy(ip + 10, &c, 2);
	}
	t[16] = t[17] = 0;
	if (cfg.csum) {
		uint8_t ps[4] = {0, 6, (uint8_t)(tlen >> 8), (uint8_t)tlen};
		uint16_t c = csum_fold(csum_add(csum_add(f->psum[d], ps, 4), t, tlen));
		memcpy(t + 16, &c, 2);
	}
}
static void commit(flow *f, uint8_t *p, uint32_t len)
{
	uint64_t b = tot_bytes;
	pkt_commit(p, len);
	if (f->noise) z_tcp_pkt += tot_bytes != b, z_bytes += tot_bytes - b;
}
static void tcp_head(flow *f, int d, uint8_t *p, int flags, uint32_t seq)
{
	uint8_t *t = p + 14 + f->ipl;
	f->tsv[d] = (uint32_t)(now / 1000) + 1000000u + (uint32_t)d * 777777u;
	be32(t + 4, seq), be32(t + 8, flags & ACK ? f->rcv[!d] : 0), t[13] = (uint8_t)flags;
	be32(t + 24, f->tsv[d]), be32(t + 28, flags & ACK ? f->tsv[!d] : 0);
}
static void ctl(flow *f, int d, int flags)	/* SYN, pure ACK, FIN, RST */
{
	uint8_t *p = ob + on;
	if (flags & SYN) {	/* 20 bytes of options */
		uint8_t *t = p + 16 + 14 + f->ipl;
		memcpy(p + 16, f->tm[d], 14 + f->ipl + 20);
		t[12] = 0xa0, be16(t + 14, 64240), be32(t + 4, f->seq[d]), be32(t + 8, flags & ACK ? f->rcv[!d] : 0), t[13] = (uint8_t)flags;
		f->tsv[d] = (uint32_t)(now / 1000) + 1000000u + (uint32_t)d * 777777u;
		t[20] = 2, t[21] = 4, be16(t + 22, cfg.mss + 12 > 65535 ? 65535 : cfg.mss + 12), t[24] = 4, t[25] = 2, t[26] = 8, t[27] = 10;
		be32(t + 28, f->tsv[d]), be32(t + 32, flags & ACK ? f->tsv[!d] : 0), t[36] = 1, t[37] = 3, t[38] = 3, t[39] = 7;
		ip_tcp_finish(f, d, p + 16, 40);
		f->seq[d]++, f->rcv[d] = f->seq[d];
		if (flags == SYN && rec() && !f->noise) n_conn_syn++, f->syn_seen = 1;
		commit(f, p, 14 + f->ipl + 40);
		return;
	}
	memcpy(p + 16, f->tm[d], f->hl), tcp_head(f, d, p + 16, flags, f->seq[d]), ip_tcp_finish(f, d, p + 16, 32);
	if (flags & FIN) f->seq[d]++, f->rcv[d] = f->seq[d];
	if (rec() && !f->noise) n_fin += !!(flags & FIN), n_rst += !!(flags & RST);
	if (flags & ACK) f->unacked[!d] = 0;
	if (rec() && !f->noise && chance(&wrng, cfg.drop) && flags == ACK) { n_drop++, tick(); return; }
	commit(f, p, f->hl);
}
static void release(flow *f, int d)
{
	held *h = &f->h[d];
	if (!h->p) return;
	f->rcv[d] = f->seq[d];
	memcpy(ob + on, h->p, 16 + h->len), commit(f, ob + on, h->len);
	if (rec() && h->passed) h->retr ? n_retr++ : n_reord++;	/* nothing passed it: an RTO, invisible in the capture */
	free(h->p), h->p = NULL;
}
static void flow_open(flow *f) { ctl(f, C2S, SYN), ctl(f, S2C, SYN | ACK), ctl(f, C2S, ACK); if (!f->noise) n_conn += rec(); else z_tcp_conn += rec(); }
static void flow_free(flow *f) { f->next = ffree, ffree = f; }
static void flow_close(flow *f, int who, bool rst)
{
	if (rst) ctl(f, who, RST | ACK);
	else ctl(f, who, FIN | ACK), ctl(f, !who, FIN | ACK), ctl(f, who, ACK);
	flow_free(f);
}

/* ------------------------------------------------------------------------------------------------ messages */
typedef struct {
	uint8_t *buf;
	struct { const uint8_t *p; uint32_t n; } pc[4];
	const uint8_t *cp;		/* current span */
	uint32_t cn, chunk, body_left, ch_left, po;
	uint8_t np, ip, phase, dir, ntag, on, vis, damaged;
	char line[12];
	uint8_t tag[14];
} msg;

static bool next_span(msg *m)
{
	if (!m->chunk) {
		if (m->ip >= m->np) return false;
		m->cp = m->pc[m->ip].p, m->cn = m->pc[m->ip++].n;
		return m->cn ? true : next_span(m);
	}
	switch (m->phase) {
	case 0: m->cp = m->pc[0].p, m->cn = m->pc[0].n, m->ip = 1, m->po = 0, m->phase = 1; return true;
	case 1:
		if (!m->body_left) { m->cp = (const uint8_t *)"0\r\n\r\n", m->cn = 5, m->phase = 4; return true; }
		m->ch_left = m->body_left < m->chunk ? m->body_left : m->chunk, m->body_left -= m->ch_left;
		m->cn = (uint32_t)snprintf(m->line, sizeof m->line, "%x\r\n", m->ch_left), m->cp = (uint8_t *)m->line, m->phase = 2;
		return true;
	case 2:
		if (!m->ch_left) { m->cp = (const uint8_t *)"\r\n", m->cn = 2, m->phase = 1; return true; }
		while (m->po == m->pc[m->ip].n) m->ip++, m->po = 0;
		m->cn = m->pc[m->ip].n - m->po;
		if (m->cn > m->ch_left) m->cn = m->ch_left;
		m->cp = m->pc[m->ip].p + m->po, m->po += m->cn, m->ch_left -= m->cn;
		return true;
	default: return false;
	}
}
static uint32_t msg_read(msg *m, uint8_t *dst, uint32_t want)	/* afterwards m->cn == 0 means: finished */
{
	uint32_t got = 0;
	while (got < want && (m->cn || next_span(m))) {
		uint32_t k = want - got < m->cn ? want - got : m->cn;
		memcpy(dst + got, m->cp, k), m->cp += k, m->cn -= k, got += k;
	}
	if (!m->cn) next_span(m);
	return got;
}
static void data(flow *f, int d, msg *m)	/* emit one segment of m */
{
	uint8_t *p = ob + on, *pl = p + 16 + f->hl;
	uint32_t want = cfg.mss, n, seq = f->seq[d];
	if (chance(&wrng, cfg.split) && !f->noise) {	/* cut at an awkward place */
		msg save = *m;
		uint32_t cut = 0, kind = upto(&wrng, 4);
		n = msg_read(m, pl, want);
		if (kind < 2) for (cut = n; cut > 1 && pl[cut - 1] != '\r'; cut--) ;	/* between CR and LF */
		if (kind == 2) cut = 1;
		if (kind == 3 || cut <= (kind < 2)) cut = 1 + upto(&wrng, n);
		if (cut < n) *m = save, n = msg_read(m, pl, want = cut);
	} else n = msg_read(m, pl, want);
	memcpy(p + 16, f->tm[d], f->hl);
	tcp_head(f, d, p + 16, ACK | (m->cn ? 0 : PSH), seq), ip_tcp_finish(f, d, p + 16, 32 + n);
	f->seq[d] += n, f->unacked[!d] = 0;
	if (!f->h[d].p) f->rcv[d] = f->seq[d];
	if (f->noise) { commit(f, p, f->hl + n); return; }
	if (rec()) n_data++, n_payload += n;
	if (cfg.drop | cfg.loss | cfg.reorder | cfg.dup) {
		if (chance(&wrng, cfg.drop)) { n_drop += rec(), m->damaged = 1, tick(); return; }
		bool lo = chance(&wrng, cfg.loss), re = !lo && chance(&wrng, cfg.reorder);
		if ((lo || re) && !f->h[d].p) {
			f->h[d] = (held){.p = xmalloc(16 + f->hl + n), .len = f->hl + n, .left = lo ? 4 + (int)upto(&wrng, 6) : 1 + (int)upto(&wrng, 2), .retr = lo};
			memcpy(f->h[d].p, p, 16 + f->hl + n), f->rcv[d] = seq;
			return;
		}
		if (chance(&wrng, cfg.dup)) {	/* the same bytes once more (spurious retransmission: new IP id) */
			memcpy(ob + on + ORES, p, 16 + f->hl + n);
			commit(f, p, f->hl + n);
			memmove(ob + on, p + ORES, 16 + f->hl + n), ip_tcp_finish(f, d, ob + on + 16, 32 + n), commit(f, ob + on, f->hl + n);
			n_dup += rec();
			goto held;
		}
	}
	commit(f, p, f->hl + n);
held:
	if (f->h[d].p && (f->h[d].passed = true, --f->h[d].left <= 0)) release(f, d);
}

/* ------------------------------------------------------------------------------------------------ actors */
typedef struct sess {
	char id[40], owner[8];
	uint32_t host, next_id, rtt, workers, push, roots, rootid, evid, gets, evict, calls;
	uint16_t cport;
	uint8_t style, v6, closing, deleted, kind;
	uint64_t t0, t1;
	struct actor *main, *stream;
	flow *fret;
	struct sess *next;
} sess;
typedef struct actor {
	void (*fn)(struct actor *);
	uint32_t pc, gen, n, k, id, x;
	uint64_t r, t, dl;
	sess *s;
	flow *f, *f2, *f3;
	msg m;
	struct actor *next;
} actor;
static struct { uint64_t t; actor *a; uint32_t gen, no; } *heap;
static uint32_t hn, hcap, hno;
static actor *afree;
static uint32_t actor_no, sess_no;
static sess *kept;	/* sessions listed in the truth file */
static uint32_t live;

static bool before(uint32_t i, uint32_t j) { return heap[i].t != heap[j].t ? heap[i].t < heap[j].t : (int32_t)(heap[i].no - heap[j].no) < 0; }
#define SWAP(i, j) do { __typeof__(heap[0]) x_ = heap[i]; heap[i] = heap[j]; heap[j] = x_; } while (0)
static void sched(actor *a, uint64_t t)
{
	if (hn == hcap && !(heap = realloc(heap, (hcap = hcap ? 2 * hcap : 1024) * sizeof *heap))) die("out of memory");
	uint32_t i = hn++;
	heap[i].t = t, heap[i].a = a, heap[i].gen = ++a->gen, heap[i].no = hno++;
	for (; i && before(i, (i - 1) / 2); i = (i - 1) / 2) SWAP(i, (i - 1) / 2);
}
static void heap_pop(void)
{
	heap[0] = heap[--hn];
	for (uint32_t i = 0, c; (c = 2 * i + 1) < hn; i = c) {
		if (c + 1 < hn && before(c + 1, c)) c++;
		if (!before(c, i)) break;
		SWAP(i, c);
	}
}
static actor *spawn(void (*fn)(actor *), sess *s, flow *f, uint64_t when)
{
	actor *a = afree;
	uint32_t g = 0;
	if (a) afree = a->next, g = a->gen; else a = xmalloc(sizeof *a);
	memset(a, 0, sizeof *a);
	a->fn = fn, a->s = s, a->f = f, a->gen = g, a->id = actor_no++, a->r = mix(cfg.seed * 1000003 + a->id);
	live++, sched(a, when);
	return a;
}
static void end(actor *a) { a->gen++, a->next = afree, afree = a, live--; }

#define BEGIN switch (a->pc) { case 0:
#define END }
#define PARK() do { a->pc = __LINE__; a->gen++; return; case __LINE__:; } while (0)
#define WAIT(us) do { a->pc = __LINE__; sched(a, now + (us)); return; case __LINE__:; } while (0)
#define SEND(fl, d) do { msg_go(a, d); a->pc = __LINE__; /* fallthrough */ case __LINE__: if (!pump(a, fl)) return; } while (0)

static bool pump(actor *a, flow *f)
{
	msg *m = &a->m;
	int d = m->dir;
	for (uint32_t k = 0; ; k++) {
		if (k >= 12 + (a->id & 31)) { sched(a, now + 20 + upto(&a->r, 200)); return false; }
		data(f, d, m);
		if (++f->unacked[d] >= 2) ctl(f, !d, ACK);
		if (!m->cn) break;
	}
	release(f, d);
	if (f->unacked[d] && (d == S2C || (a->id + now) % 2)) ctl(f, !d, ACK);
	if (m->vis) { for (int i = 0; i < m->ntag; i++) cnt[m->tag[i]]++; damaged_msgs += m->damaged; }
	else if (rec()) partial_msgs++;
	free(m->buf), memset(m, 0, sizeof *m);
	return true;
}

/* message building: text goes to sb; bodies are built first in bb */
static char sb[1 << 16], bb[1 << 16];
static uint32_t sn, bn, headlen, sufoff, bigchunk, bign;
static const uint8_t *big;
static inline void S(const char *s) { uint32_t l = (uint32_t)strlen(s); memcpy(sb + sn, s, l), sn += l; }
static inline void B(const char *s) { uint32_t l = (uint32_t)strlen(s); memcpy(bb + bn, s, l), bn += l; }
static inline void Bn(const void *s, uint32_t l) { memcpy(bb + bn, s, l), bn += l; }
static char *dec(char *e, uint32_t v) { *e = 0; do *--e = (char)('0' + v % 10); while (v /= 10); return e; }
static void Su(uint32_t v) { char t[12]; S(dec(t + 11, v)); }
static void Bu(uint32_t v) { char t[12]; B(dec(t + 11, v)); }
static void Shex(uint32_t v)
{
	char t[10], *e = t + 9;
	*e = 0;
	do *--e = "0123456789abcdef"[v & 15]; while (v >>= 4);
	S(e);
}
static void Btext(actor *a, uint32_t n) { n = (n + 15) / 16 * 16; Bn(pool + upto(&a->r, (POOL - (1u << 16)) / 16) * 16, n > 60000 ? 60000 / 16 * 16 : n); }
static inline void tag(actor *a, int t) { a->m.tag[a->m.ntag++] = (uint8_t)t; }
static void msg_go(actor *a, int dir)
{
	msg *m = &a->m;
	m->buf = xmalloc(sn), memcpy(m->buf, sb, sn), m->dir = (uint8_t)dir, m->vis = rec();
	if (big) {
		m->pc[0].p = m->buf, m->pc[0].n = headlen, m->pc[1].p = m->buf + headlen, m->pc[1].n = sufoff - headlen;
		m->pc[2].p = big, m->pc[2].n = bign, m->pc[3].p = m->buf + sufoff, m->pc[3].n = sn - sufoff, m->np = 4;
		m->chunk = bigchunk, m->body_left = sn - headlen + bign;
	} else m->pc[0].p = m->buf, m->pc[0].n = sn, m->np = 1;
	m->cn = 0, next_span(m);
	sn = bn = 0, big = NULL, bigchunk = 0;
}
static const char *date(void)
{
	static uint64_t last = ~0ull;
	static char d[40];
	if (now / SEC != last) {
		time_t t = (time_t)(EPOCH + (last = now / SEC));
		struct tm g;
		gmtime_r(&t, &g), strftime(d, sizeof d, "%a, %d %b %Y %H:%M:%S GMT", &g);
	}
	return d;
}
static void host(sess *s) { S(s->v6 ? "[fd00:1234:0:1:100::1]:" : "10.0.0.1:"), Su(cfg.port); }
/* request head; for POST the body is bb (plus `extra` bytes that follow as the big piece) */
static void req(actor *a, const char *method, const char *leid, uint32_t extra)
{
	sess *s = a->s;
	bool post = method[0] == 'P', get = method[0] == 'G', sid = s->deleted != 2;	/* deleted == 2: no session yet */
	S(method), S(" /mcp HTTP/1.1\r\n");
	switch (s->style) {
	case TS:
		S("host: "), host(s), S("\r\nconnection: keep-alive\r\n");
		if (sid) S("mcp-session-id: "), S(s->id), S("\r\nmcp-protocol-version: 2025-11-25\r\n");
		if (post) S("content-type: application/json\r\n");
		if (leid) S("last-event-id: "), S(leid), S("\r\n");
		S(post ? "accept: application/json, text/event-stream\r\n" : get ? "Accept: text/event-stream\r\n" : "accept: */*\r\n");
		S("accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\n");
		break;
	case PY:
		S("Host: "), host(s), S("\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nUser-Agent: python-httpx/0.28.1\r\n");
		S(get ? "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n" : "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n");
		if (sid) S("mcp-session-id: "), S(s->id), S("\r\nmcp-protocol-version: 2025-11-25\r\n");
		if (get) S("Accept: text/event-stream\r\nCache-Control: no-store\r\n");
		if (leid) S("last-event-id: "), S(leid), S("\r\n");
		break;
	default:
		S("accept: "), S(get ? "text/event-stream, application/json\r\n" : "text/event-stream, application/json\r\n");
		if (post) S("content-type: application/json\r\n");
		if (leid) S("last-event-id: "), S(leid), S("\r\n");
		if (sid) S("mcp-session-id: "), S(s->id), S("\r\nmcp-protocol-version: 2025-11-25\r\n");
		S("host: "), host(s), S("\r\n");
	}
	if (post) S(s->style == PY ? "Content-Length: " : "content-length: "), Su(bn + extra), S("\r\n");
	S("\r\n"), headlen = sn;
	if (post) memcpy(sb + sn, bb, bn), sn += bn, tag(a, c_json_bodies);
	bn = 0;
	tag(a, post ? c_http_req_post : get ? c_http_req_get : c_http_req_delete);
}
enum ctype { CT_NONE, CT_SSE, CT_JSON };
static void resp(actor *a, int code, enum ctype ct, int64_t clen)	/* clen < 0: chunked */
{
	sess *s = a->s;
	S(code == 200 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 202 Accepted\r\n");
	const char *type = ct == CT_SSE ? "text/event-stream" : "application/json";
	switch (s->style) {
	case TS:
		if (ct == CT_SSE) S("cache-control: no-cache, no-transform\r\n");
		if (ct) S("connection: keep-alive\r\ncontent-type: "), S(type), S("\r\nmcp-session-id: "), S(s->id), S("\r\n");
		if (ct == CT_SSE) S("x-accel-buffering: no\r\n");
		if (clen >= 0) S("content-length: "), Su((uint32_t)clen), S("\r\n");
		S("Date: "), S(date()), S("\r\n");
		if (!ct) S("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n");
		break;
	case PY:
		S("date: "), S(date()), S("\r\nserver: uvicorn\r\n");
		if (ct == CT_SSE) S("cache-control: no-cache, no-transform\r\nconnection: keep-alive\r\nx-accel-buffering: no\r\n");
		if (ct) S("content-type: "), S(type), S("\r\n");
		S("mcp-session-id: "), S(s->id), S("\r\n");
		if (clen >= 0) S("content-length: "), Su((uint32_t)clen), S("\r\n");
		break;
	default:
		if (ct) S("content-type: "), S(type), S("\r\n");
		if (ct == CT_SSE) S("cache-control: no-cache\r\nx-accel-buffering: no\r\n");
		S("mcp-session-id: "), S(s->id), S("\r\n");
		if (clen >= 0) S("content-length: "), Su((uint32_t)clen), S("\r\n");
		S("date: "), S(date()), S("\r\n");
	}
	if (clen < 0) S(s->style == RM ? "transfer-encoding: chunked\r\n" : "Transfer-Encoding: chunked\r\n");
	S("\r\n"), headlen = sn;
	tag(a, code == 200 ? c_http_resp_200 : c_http_resp_202);
}
/* one SSE event in a chunk of its own around the JSON text in bb */
static void ev_head(actor *a, const char *id)
{
	if (a->s->style != RM) S(a->s->style == PY ? "event: message\r\n" : "event: message\n");
	if (id && a->s->style != RM) S("id: "), S(id), S(a->s->style == PY ? "\r\n" : "\n");
	S("data: ");
}
static void ev_tail(actor *a, const char *id)
{
	if (a->s->style == PY) { S("\r\n\r\n"); return; }
	S("\n");
	if (id && a->s->style == RM) S("id: "), S(id), S("\n");
	S("\n");
}
static uint32_t ev_len(actor *a, const char *id)
{
	uint32_t k = a->s->style == PY ? 16 + 6 + 4 : a->s->style == TS ? 15 + 6 + 2 : 6 + 2;
	return k + (id ? (uint32_t)strlen(id) + (a->s->style == PY ? 6 : 5) : 0);
}
static void event(actor *a, const char *id, bool chunked)
{
	uint32_t n = bn + ev_len(a, id);
	if (chunked) Shex(n), S("\r\n");
	ev_head(a, id), memcpy(sb + sn, bb, bn), sn += bn, bn = 0, ev_tail(a, id);
	if (chunked) S("\r\n");
	tag(a, c_sse_events);
}
static void prime(actor *a, const char *id, uint32_t retry)
{
	char t[80];
	int n = snprintf(t, sizeof t, a->s->style == RM ? "data: \nid: %s\nretry: %u\n\n" : "id: %s\nretry: %u\ndata: \n\n", id, retry);
	Shex((uint32_t)n), S("\r\n"), S(t), S("\r\n"), tag(a, c_sse_primes);
}
static void comment(actor *a)
{
	char t[96];
	if (a->s->style == PY) {
		time_t tt = (time_t)(EPOCH + now / SEC);
		struct tm g;
		gmtime_r(&tt, &g);
		char d[40];
		strftime(d, sizeof d, "%Y-%m-%d %H:%M:%S", &g);
		snprintf(t, sizeof t, ": ping - %s.%06u+00:00\r\n\r\n", d, (unsigned)(now % SEC));
	} else snprintf(t, sizeof t, "%s", a->s->style == TS ? ": keepalive\n\n" : ":\n\n");
	Shex((uint32_t)strlen(t)), S("\r\n"), S(t), S("\r\n"), tag(a, c_sse_comments);
}
static void last_chunk(void) { S("0\r\n\r\n"); }
static void rpc(sess *s, const char *method, const char *params, int64_t id)	/* into bb; id < 0: notification */
{
	if (s->style == RM) {
		B("{\"jsonrpc\":\"2.0\",");
		if (id >= 0) B("\"id\":"), Bu((uint32_t)id), B(",");
		B("\"method\":\""), B(method), B("\"");
		if (params) B(",\"params\":"), B(params);
		B("}");
		return;
	}
	B("{\"method\":\""), B(method), B("\"");
	if (params) B(",\"params\":"), B(params);
	B(",\"jsonrpc\":\"2.0\"");
	if (id >= 0) B(",\"id\":"), Bu((uint32_t)id);
	B("}");
}
static void res_open(sess *s, uint32_t id) { if (s->style == TS) B("{\"result\":"); else B("{\"jsonrpc\":\"2.0\",\"id\":"), Bu(id), B(",\"result\":"); }
static void res_close(sess *s, uint32_t id) { if (s->style == TS) B(",\"jsonrpc\":\"2.0\",\"id\":"), Bu(id), B("}"); else B("}"); }
static void res_text(actor *a, uint32_t id, uint32_t n) { res_open(a->s, id), B("{\"content\":[{\"type\":\"text\",\"text\":\""), Btext(a, n), B("\"}]}"), res_close(a->s, id); }

static sess *sess_new(actor *a, uint32_t hostno, int kind)
{
	sess *s = xmalloc(sizeof *s);
	memset(s, 0, sizeof *s);
	uint64_t u = rnd(&a->r), v = rnd(&a->r);
	sess_no++;
	s->style = (uint8_t)(kind == 'l' || kind == 's' ? RM : upto(&a->r, 100) < 50 ? TS : upto(&a->r, 100) < 60 ? PY : RM);
	snprintf(s->id, sizeof s->id, s->style == PY ? "%08x%04x4%03x%04x%012" PRIx64 : "%08x-%04x-4%03x-%04x-%012" PRIx64, (uint32_t)(u >> 32),
		 (unsigned)(u >> 16) & 0xffff, (unsigned)u & 0xfff, 0x8000 | ((unsigned)(v >> 48) & 0x3fff), (uint64_t)(v & 0xffffffffffffull));
	s->host = hostno, s->v6 = chance(&a->r, cfg.v6), s->rtt = range(&a->r, 40, 400), s->main = a, s->deleted = 2, s->kind = (uint8_t)kind, s->t0 = now;
	s->cport = (uint16_t)range(&a->r, 32768, 60000), s->next_id = s->style == RM;
	open_sess++;
	if (open_sess > peak_sess) peak_sess = open_sess;
	return s;
}
static void sess_end(sess *s)
{
	open_sess--, s->t1 = now;
	if (cfg.detail || strchr("lps", s->kind)) s->next = kept, kept = s;
	else free(s);
}
static flow *conn(actor *a)
{
	sess *s = a->s;
	s->cport = s->cport >= 60999 ? 32768 : (uint16_t)(s->cport + 1);
	flow *f = flow_new(s->v6, s->host, s->cport, 0, (uint16_t)cfg.port, &a->r);
	flow_open(f);
	return f;
}
static void sse_opened(actor *a, int kind) { tag(a, kind); if (++open_sse > peak_sse) peak_sse = open_sse; }

/* message macros shared by the actors; each leaves one complete message in sb */
static void m_initialize(actor *a)
{
	rpc(a->s, "initialize", a->s->style == TS ? "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"load-client\",\"version\":\"1.0.0\"}}"
	    : "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{\"listChanged\":true}},\"clientInfo\":{\"name\":\"mcp\",\"version\":\"0.1.0\"}}", a->s->next_id++);
	req(a, "POST", NULL, 0), tag(a, c_c2s_request), tag(a, c_m_initialize);
}
static void m_initialize_result(actor *a, uint32_t retry)
{
	uint32_t id = a->s->next_id - 1;
	a->s->deleted = 0;
	res_open(a->s, id), B("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true},\"logging\":{},\"resources\":{\"listChanged\":true}},\"serverInfo\":{\"name\":\"load-server\",\"version\":\"1.0.0\"}}"), res_close(a->s, id);
	if (a->s->style == TS) resp(a, 200, CT_SSE, bn + ev_len(a, NULL)), event(a, NULL, false);
	else {
		resp(a, 200, CT_SSE, -1);
		if (a->s->style == RM) prime(a, "0", retry);
		event(a, a->s->style == RM ? "1" : NULL, true), last_chunk();
	}
	tag(a, c_sse_post), tag(a, c_sse_ended), tag(a, c_s2c_response), tag(a, c_http_resp_complete), tag(a, c_session_opened);
}
static void m_initialized(actor *a) { rpc(a->s, "notifications/initialized", NULL, -1), req(a, "POST", NULL, 0), tag(a, c_c2s_notification), tag(a, c_m_initialized); }
static void m_202(actor *a)
{
	if (a->s->style == TS) resp(a, 202, CT_NONE, -1), last_chunk(); else resp(a, 202, CT_NONE, 0);
	tag(a, c_http_resp_complete);
}
static void m_delete(actor *a) { req(a, "DELETE", NULL, 0); }
static void m_delete_ok(actor *a)
{
	if (a->s->style == TS) resp(a, 200, CT_NONE, -1), last_chunk(); else resp(a, 200, CT_NONE, 0);
	a->s->deleted = 1, tag(a, c_http_resp_complete), tag(a, c_session_deleted);
}
static void m_tools_result(actor *a, uint32_t id)
{
	uint32_t n = range(&a->r, 4, 12);
	char t[32];
	res_open(a->s, id), B("{\"tools\":[");
	for (uint32_t i = 0; i < n; i++) {
		snprintf(t, sizeof t, "%stool_%u", i ? "," : "", i);
		B(i ? ",{\"name\":\"" : "{\"name\":\""), B(t + !!i), B("\",\"description\":\""), Btext(a, 48 + upto(&a->r, 100));
		B("\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"limit\":{\"type\":\"number\"}},\"required\":[\"path\"]}}");
	}
	B("]}"), res_close(a->s, id);
}
/* complete quick SSE answer to a POST around bb */
static void m_sse_quick(actor *a)
{
	sess *s = a->s;
	if (s->style == TS) resp(a, 200, CT_SSE, bn + ev_len(a, NULL)), event(a, NULL, false);
	else {
		char id[32];
		snprintf(id, sizeof id, "1/%u", a->x);
		resp(a, 200, CT_SSE, -1);
		if (s->style == RM) { char p[32]; snprintf(p, sizeof p, "0/%u", a->x), prime(a, p, cfg.retry); }
		event(a, s->style == RM ? id : NULL, true), last_chunk();
	}
	tag(a, c_sse_post), tag(a, c_sse_ended), tag(a, c_s2c_response), tag(a, c_http_resp_complete);
}
static void call_req(actor *a)	/* tools/call with a progress token */
{
	sess *s = a->s;
	char p[64];
	a->x = s->next_id++, s->calls++;
	snprintf(p, sizeof p, "\"},\"_meta\":{\"progressToken\":%u}}", a->x);
	if (s->style == RM) B("{\"jsonrpc\":\"2.0\",\"id\":"), Bu(a->x), B(",\"method\":\"tools/call\",\"params\":");
	else B("{\"method\":\"tools/call\",\"params\":");
	B("{\"name\":\"tool_"), Bu(upto(&a->r, 12)), B("\",\"arguments\":{\"path\":\""), Btext(a, logrange(&a->r, 16, 600)), B(p);
	if (s->style == RM) B("}"); else B(",\"jsonrpc\":\"2.0\",\"id\":"), Bu(a->x), B("}");
	req(a, "POST", NULL, 0), tag(a, c_c2s_request), tag(a, c_m_tools_call);
}
static void progress(actor *a, uint32_t i, uint32_t n)
{
	char p[120], id[32];
	snprintf(p, sizeof p, "{\"progressToken\":%u,\"progress\":%u,\"total\":%u}", a->x, i, n);
	snprintf(id, sizeof id, "%u/%u", i, a->x);
	rpc(a->s, "notifications/progress", p, -1), event(a, a->s->style == RM ? id : NULL, true);
	tag(a, c_s2c_notification), tag(a, c_m_progress);
}
static void notif(actor *a)	/* something on the standalone stream */
{
	sess *s = a->s;
	char id[16];
	snprintf(id, sizeof id, "%u", ++s->evid);
	if (upto(&a->r, 3)) rpc(s, "notifications/tools/list_changed", NULL, -1), tag(a, c_m_list_changed);
	else rpc(s, "notifications/message", "{\"level\":\"info\",\"logger\":\"load\",\"data\":\"synthetic log line\"}", -1), tag(a, c_m_message);
	event(a, s->style == RM ? id : NULL, true), tag(a, c_s2c_notification);
}

static void stream(actor *a)	/* the standalone GET of a chat session */
{
	sess *s = a->s;
	BEGIN
	req(a, "GET", NULL, 0); s->gets++;
	SEND(a->f, C2S);
	WAIT(s->rtt + upto(&a->r, 1500));
	resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_standalone);
	SEND(a->f, S2C);
	if (s->style == RM) { prime(a, "0", cfg.retry); SEND(a->f, S2C); }
	a->dl = now + cfg.keepalive * 1000ull;
	while (!s->closing) {
		if (s->roots) {
			s->roots = 0;
			rpc(s, "roots/list", NULL, s->rootid++), event(a, NULL, true), tag(a, c_s2c_request), tag(a, c_m_roots_list);
			SEND(a->f, S2C);
		} else if (s->push) {
			s->push--, notif(a);
			SEND(a->f, S2C);
		} else if (now >= a->dl) {
			a->dl += cfg.keepalive * 1000ull, comment(a);
			SEND(a->f, S2C);
		}
		if (!s->push && !s->roots && !s->closing) WAIT(a->dl > now ? a->dl - now : 0);
	}
	open_sse--;
	if (s->closing == 1) {
		last_chunk(), tag(a, c_sse_ended), tag(a, c_http_resp_complete);
		SEND(a->f, S2C);
	}
	flow_close(a->f, s->closing == 1 ? S2C : C2S, s->closing == 2);
	s->stream = NULL, s->main->pc ? sched(s->main, now) : (void)0;
	end(a);
	END
}
static void poke(actor *a) { if (a) sched(a, now); }

static void bulk_body(actor *a)	/* big tools/call result: JSON or SSE, text or rows */
{
	sess *s = a->s;
	uint32_t n = logrange(&a->r, 64 << 10, 4 << 20), sse = upto(&a->r, 2), isrows = upto(&a->r, 2), chunked = s->style != TS || upto(&a->r, 2);
	static const uint32_t cs[] = {1u << 30, 65536, 16384, 4096};
	const uint8_t *src = isrows ? rows : pool;
	uint32_t unit = isrows ? 128 : 16, off = upto(&a->r, (POOL - (4u << 20)) / unit) * unit;
	n = n / unit * unit - isrows;
	res_open(s, a->x), B(isrows ? "{\"content\":[],\"structuredContent\":{\"rows\":[" : "{\"content\":[{\"type\":\"text\",\"text\":\"");
	uint32_t pre = bn;
	B(isrows ? "]}}" : "\"}]}"), res_close(s, a->x);
	uint32_t tot = bn + n + (sse ? ev_len(a, NULL) : 0);
	resp(a, 200, sse ? CT_SSE : CT_JSON, chunked ? -1 : (int64_t)tot);
	if (sse) ev_head(a, NULL);
	memcpy(sb + sn, bb, pre), sn += pre, sufoff = sn;
	memcpy(sb + sn, bb + pre, bn - pre), sn += bn - pre;
	if (sse) ev_tail(a, NULL);
	big = src + off, bign = n, bigchunk = chunked ? cs[upto(&a->r, 4)] : 0, bn = 0;
	tag(a, c_s2c_response), tag(a, c_http_resp_complete);
	if (sse) tag(a, c_sse_post), tag(a, c_sse_ended), tag(a, c_sse_events); else tag(a, c_json_bodies);
}

static void worker(actor *a)	/* sequential calls on one keep-alive connection */
{
	sess *s = a->s;
	BEGIN
	while (a->n-- > 0 && !stopping) {
		WAIT(cfg.prof == P_BULK ? range(&a->r, 500, 20000) : logrange(&a->r, 4000, 1500000));
		if (chance(&a->r, cfg.churn)) { flow_close(a->f, C2S, false), a->f = conn(a); WAIT(s->rtt); }
		a->k = cfg.prof == P_BULK ? 200 : upto(&a->r, 100);
		if (a->k == 200) {
			call_req(a);
			SEND(a->f, C2S);
			WAIT(range(&a->r, 1000, 30000));
			bulk_body(a);
			SEND(a->f, S2C);
		} else if (a->k < 40) {
			call_req(a);
			SEND(a->f, C2S);
			WAIT(logrange(&a->r, 300, 80000));
			res_text(a, a->x, logrange(&a->r, 64, 4096)), m_sse_quick(a);
			SEND(a->f, S2C);
		} else if (a->k < 70) {
			call_req(a);
			SEND(a->f, C2S);
			WAIT(logrange(&a->r, 300, 20000));
			resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_post);
			if (s->style == RM) { char p[32]; snprintf(p, sizeof p, "0/%u", a->x), prime(a, p, cfg.retry); }
			SEND(a->f, S2C);
			for (a->t = 1, a->dl = range(&a->r, 2, 12); a->t <= a->dl; a->t++) {
				WAIT(logrange(&a->r, 2000, 150000));
				progress(a, (uint32_t)a->t, (uint32_t)a->dl);
				if (a->t == a->dl && s->style == TS) break;	/* the last one travels with the result */
				SEND(a->f, S2C);
			}
			if (s->style != TS) WAIT(range(&a->r, 200, 3000));
			res_text(a, a->x, logrange(&a->r, 64, 4096)), event(a, NULL, true), last_chunk();
			tag(a, c_s2c_response), tag(a, c_sse_ended), tag(a, c_http_resp_complete), open_sse--;
			SEND(a->f, S2C);
		} else if (a->k < 85) {
			call_req(a);
			SEND(a->f, C2S);
			WAIT(logrange(&a->r, 300, 80000));
			res_text(a, a->x, logrange(&a->r, 64, 4096)), resp(a, 200, CT_JSON, bn), memcpy(sb + sn, bb, bn), sn += bn, bn = 0;
			tag(a, c_json_bodies), tag(a, c_s2c_response), tag(a, c_http_resp_complete);
			SEND(a->f, S2C);
		} else if (a->k < 92) {
			a->x = s->next_id++, rpc(s, "resources/read", "{\"uri\":\"file:///data/report-2026.txt\"}", a->x);
			req(a, "POST", NULL, 0), tag(a, c_c2s_request), tag(a, c_m_resources_read);
			SEND(a->f, C2S);
			WAIT(logrange(&a->r, 300, 30000));
			res_text(a, a->x, logrange(&a->r, 512, 4096)), m_sse_quick(a);
			SEND(a->f, S2C);
		} else if (a->k < 96) {
			a->x = s->next_id++, rpc(s, "ping", NULL, a->x), req(a, "POST", NULL, 0), tag(a, c_c2s_request), tag(a, c_m_ping);
			SEND(a->f, C2S);
			WAIT(s->rtt + upto(&a->r, 500));
			res_open(s, a->x), B("{}"), res_close(s, a->x), m_sse_quick(a);
			SEND(a->f, S2C);
		} else if (a->k < 98) {
			s->push++, poke(s->stream);
		} else if (a->k < 99) {
			if (!s->stream || s->roots) continue;
			s->roots = 1, poke(s->stream);
			WAIT(range(&a->r, 3000, 9000));
			if (s->roots) continue;	/* stream was not open yet */
			res_open(s, s->rootid - 1), B("{\"roots\":[{\"uri\":\"file:///home/u/project\",\"name\":\"project\"}]}"), res_close(s, s->rootid - 1);
			req(a, "POST", NULL, 0), tag(a, c_c2s_response);
			SEND(a->f, C2S);
			WAIT(s->rtt + upto(&a->r, 400));
			m_202(a);
			SEND(a->f, S2C);
		} else {
			rpc(s, "notifications/cancelled", "{\"requestId\":0,\"reason\":\"user\"}", -1), req(a, "POST", NULL, 0), tag(a, c_c2s_notification), tag(a, c_m_cancelled);
			SEND(a->f, C2S);
			WAIT(s->rtt + upto(&a->r, 400));
			m_202(a);
			SEND(a->f, S2C);
		}
	}
	if (s->fret) flow_close(a->f, C2S, false); else s->fret = a->f;
	if (!--s->workers) poke(s->main);
	end(a);
	END
}
static void chat(actor *a)	/* one client slot: session after session */
{
	sess *s = a->s;
	BEGIN
	while (!stopping) {
		WAIT(upto(&a->r, a->k++ ? 400000 : cfg.ramp * 1000));
		if (stopping) break;
		a->s = s = sess_new(a, a->n, 'c'), a->f2 = conn(a);
		WAIT(s->rtt);
		m_initialize(a);
		SEND(a->f2, C2S);
		WAIT(range(&a->r, 500, 15000));
		m_initialize_result(a, cfg.retry);
		SEND(a->f2, S2C);
		WAIT(range(&a->r, 1000, 8000));
		a->f = conn(a);
		WAIT(s->rtt);
		m_initialized(a);
		SEND(a->f, C2S);
		WAIT(s->rtt + upto(&a->r, 2000));
		m_202(a);
		SEND(a->f, S2C);
		WAIT(range(&a->r, 300, 5000));
		s->stream = spawn(stream, s, a->f2, now), a->f2 = NULL;
		WAIT(range(&a->r, 1000, 100000));
		a->x = s->next_id++, rpc(s, "tools/list", NULL, a->x), req(a, "POST", NULL, 0), tag(a, c_c2s_request), tag(a, c_m_tools_list);
		SEND(a->f, C2S);
		WAIT(range(&a->r, 300, 4000));
		m_tools_result(a, a->x), m_sse_quick(a);
		SEND(a->f, S2C);
		s->workers = 1;
		if (cfg.prof != P_BULK && upto(&a->r, 100) < 30) {
			s->workers++;
			actor *w = spawn(worker, s, conn(a), now + s->rtt);
			w->n = range(&a->r, 4, 30);
		}
		spawn(worker, s, a->f, now)->n = cfg.prof == P_BULK ? range(&a->r, 20, 60) : range(&a->r, 8, 60), a->f = NULL;
		PARK();
		while (s->workers) PARK();
		a->f = s->fret;
		if (upto(&a->r, 100) < 4) {	/* the client just dies */
			s->closing = 2, flow_close(a->f, C2S, true), poke(s->stream);
			while (s->stream) PARK();
		} else {
			WAIT(range(&a->r, 1000, 200000));
			m_delete(a);
			SEND(a->f, C2S);
			WAIT(s->rtt + upto(&a->r, 1000));
			m_delete_ok(a);
			SEND(a->f, S2C);
			s->closing = 1, poke(s->stream);
			while (s->stream) PARK();
			WAIT(range(&a->r, 50, 3000));
			flow_close(a->f, C2S, false);
		}
		sess_end(s), a->s = NULL;
	}
	end(a);
	END
}
static void idle(actor *a)	/* one session that only listens */
{
	sess *s = a->s;
	BEGIN
	WAIT(upto(&a->r, cfg.ramp * 1000));
	a->s = s = sess_new(a, a->n, 'i'), a->f = conn(a);
	WAIT(s->rtt);
	m_initialize(a);
	SEND(a->f, C2S);
	WAIT(range(&a->r, 500, 15000));
	m_initialize_result(a, cfg.retry);
	SEND(a->f, S2C);
	a->f2 = conn(a);
	WAIT(s->rtt);
	m_initialized(a);
	SEND(a->f2, C2S);
	WAIT(s->rtt + upto(&a->r, 2000));
	m_202(a);
	SEND(a->f2, S2C);
	WAIT(range(&a->r, 300, 5000));
	req(a, "GET", NULL, 0), s->gets++;
	SEND(a->f, C2S);
	WAIT(s->rtt + upto(&a->r, 500));
	resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_standalone);
	SEND(a->f, S2C);
	if (s->style == RM) { prime(a, "0", cfg.retry); SEND(a->f, S2C); }
	WAIT(5 * SEC);
	flow_close(a->f2, S2C, false);	/* the POST connection idles out */
	while (!stopping) {
		WAIT(cfg.keepalive * 1000ull - 2000 + upto(&a->r, 4000));
		if (upto(&a->r, 200)) comment(a); else notif(a);
		SEND(a->f, S2C);
	}
	open_sse--, last_chunk(), tag(a, c_sse_ended), tag(a, c_http_resp_complete);
	SEND(a->f, S2C);
	flow_close(a->f, S2C, false), sess_end(s), end(a);
	END
}
/* listeners on one session: 'l' two that evict each other, 's' two that coexist (shadow), 'p' one that is polled (closed by the server) */
static void listeners(actor *a)
{
	sess *s = a->s;
	BEGIN
	WAIT(upto(&a->r, cfg.ramp * 1000));
	a->s = s = sess_new(a, a->n, (int)a->k), a->f3 = conn(a);
	WAIT(s->rtt);
	m_initialize(a);
	SEND(a->f3, C2S);
	WAIT(range(&a->r, 500, 15000));
	m_initialize_result(a, cfg.retry);
	SEND(a->f3, S2C);
	WAIT(s->rtt);
	m_initialized(a);
	SEND(a->f3, C2S);
	WAIT(s->rtt + upto(&a->r, 2000));
	m_202(a);
	SEND(a->f3, S2C);
	WAIT(range(&a->r, 3000, 60000));
	a->f = conn(a);
	WAIT(s->rtt);
	req(a, "GET", NULL, 0), s->gets++;
	SEND(a->f, C2S);
	WAIT(s->rtt + upto(&a->r, 500));
	resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_standalone);
	SEND(a->f, S2C);
	prime(a, "0", cfg.retry);
	SEND(a->f, S2C);
	if (a->k != 'p') {
		WAIT(cfg.retry * 1000ull);	/* the initialize POST stream is resumed with its cursor "0": it lands on the common channel */
		a->f2 = conn(a);
		WAIT(s->rtt);
	}
	a->x = upto(&a->r, 10) < 3;	/* 30 %: a fresh connection for every GET */
	while (!stopping) {	/* in each turn f2 (the evicted side) takes over from f; 'p': f alone */
		if (a->k == 's') {
			if (!s->gets--) break;
			s->gets += 2, req(a, "GET", "0", 0);
			SEND(a->f2, C2S);
			WAIT(s->rtt + upto(&a->r, 500));
			resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_resumed);
			SEND(a->f2, S2C);
			while (!stopping) {
				WAIT(cfg.keepalive * 1000ull);
				comment(a);
				SEND(a->f, S2C);
				comment(a);
				SEND(a->f2, S2C);
				if (!upto(&a->r, 10)) { notif(a); SEND(a->f, S2C); }
			}
			break;
		}
		if (a->k == 'p') {
			WAIT(range(&a->r, 2000000, 9000000));
			last_chunk(), tag(a, c_sse_ended), tag(a, c_http_resp_complete), open_sse--;
			SEND(a->f, S2C);
			WAIT(cfg.retry * 1000ull + upto(&a->r, 3000));
			req(a, "GET", "0", 0), s->gets++;
			SEND(a->f, C2S);
			WAIT(s->rtt + upto(&a->r, 500));
			resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_resumed);
			SEND(a->f, S2C);
			continue;
		}
		req(a, "GET", "0", 0), s->gets++;
		SEND(a->f2, C2S);
		WAIT(s->rtt + upto(&a->r, 500));
		resp(a, 200, CT_SSE, -1), sse_opened(a, c_sse_resumed);
		SEND(a->f2, S2C);
		WAIT(range(&a->r, 50, 300));
		last_chunk(), tag(a, c_sse_ended), tag(a, c_http_resp_complete), tag(a, c_evictions), open_sse--, s->evict += rec();
		SEND(a->f, S2C);
		a->dl = now + cfg.retry * 1000ull + upto(&a->r, 2500);
		if (a->x) flow_close(a->f, S2C, false), a->f = NULL;
		{ flow *t = a->f; a->f = a->f2, a->f2 = t; }
		if (upto(&a->r, 4) == 0) {	/* some ordinary work in between */
			WAIT(cfg.retry * 300ull);
			a->t = a->x, call_req(a);
			SEND(a->f3, C2S);
			WAIT(range(&a->r, 300, 4000));
			res_text(a, a->x, logrange(&a->r, 64, 4096)), m_sse_quick(a), a->x = (uint32_t)a->t;
			SEND(a->f3, S2C);
		}
		WAIT(a->dl > now ? a->dl - now : 0);
		if (!a->f2) { a->f2 = conn(a); WAIT(s->rtt); }
	}
	m_delete(a);
	SEND(a->f3, C2S);
	WAIT(s->rtt + upto(&a->r, 1000));
	m_delete_ok(a);
	SEND(a->f3, S2C);
	last_chunk(), tag(a, c_sse_ended), tag(a, c_http_resp_complete), open_sse--;
	SEND(a->f, S2C);
	if (a->k == 's' && s->gets > 1) {	/* else the end came before the second one opened */
		last_chunk(), tag(a, c_sse_ended), tag(a, c_http_resp_complete), open_sse--;
		SEND(a->f2, S2C);
	}
	flow_close(a->f, S2C, false), flow_close(a->f3, C2S, false);
	if (a->f2) flow_close(a->f2, S2C, false);
	sess_end(s), end(a);
	END
}

/* ------------------------------------------------------------------------------------------------ noise */
enum { Z_TLS, Z_RAND, Z_HTTP };
static struct { flow *f; uint32_t left, kind, stage; } zf[64];
static void znoise_bytes(flow *f, int d, const void *p, uint32_t n)
{
	msg m = {.np = 1, .dir = (uint8_t)d};
	m.pc[0].p = p, m.pc[0].n = n, next_span(&m);
	while (m.cn) {
		data(f, d, &m);
		if (++f->unacked[d] >= 2) ctl(f, !d, ACK);
	}
	if (f->unacked[d]) ctl(f, !d, ACK);
}
static void noise_udp(void)
{
	uint8_t *p = ob + on, *ip = p + 30, *u = ip + 20;
	uint32_t k = upto(&xrng, 3), n = k == 0 ? range(&xrng, 28, 120) : k == 1 ? 1200 : range(&xrng, 20, 1400);
	uint64_t b = tot_bytes;
	static const uint8_t eth[14] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	memcpy(p + 16, eth, 14), memset(ip, 0, 28);
	ip[0] = 0x45, be16(ip + 2, 28 + n), ip[8] = 64, ip[9] = 17, addr(ip + 12, false, 0x8000 + upto(&xrng, 500), false), addr(ip + 16, false, 100 + k, true);
	uint16_t c = csum_fold(csum_add(0, ip, 20));
	memcpy(ip + 10, &c, 2);
	be16(u, range(&xrng, 32768, 60000)), be16(u + 2, k == 0 ? 53 : k == 1 ? 443 : 9999), be16(u + 4, 8 + n);
	memcpy(u + 8, junk + upto(&xrng, 1000000), n);
	if (k == 0) {
		static const uint8_t q[28] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 'w', 'w', 'w', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};
		memcpy(u + 8, q, 26), be16(ip + 2, 28 + 26), be16(u + 4, 8 + 26), n = 26, ip[10] = ip[11] = 0;
		c = csum_fold(csum_add(0, ip, 20)), memcpy(ip + 10, &c, 2);
	}
	pkt_commit(p, 14 + 28 + n);
	z_udp_pkt += tot_bytes != b, z_bytes += tot_bytes - b;
}
static void noise(void)	/* one burst */
{
	if (upto(&xrng, 10) < 2) { noise_udp(); return; }
	uint32_t i = upto(&xrng, 64);
	if (!zf[i].f) {
		static const uint16_t rp[] = {22, 5432, 6379, 9092, 3306};
		static uint32_t no;
		zf[i].kind = upto(&xrng, 10) < 6 ? Z_TLS : upto(&xrng, 2) ? Z_RAND : Z_HTTP, zf[i].left = logrange(&xrng, 2000, 2000000), zf[i].stage = 0;
		no++;
		bool v6 = chance(&xrng, cfg.v6);
		uint32_t srv = 200 + upto(&xrng, 20), rport = upto(&xrng, 5);
		zf[i].f = flow_new(v6, 0x9000 + no % 3000, (uint16_t)(32768 + no / 3000 % 28000), srv, zf[i].kind == Z_TLS ? 443 : zf[i].kind == Z_HTTP ? 80 : rp[rport], &xrng);
		zf[i].f->noise = 1, flow_open(zf[i].f);
	}
	flow *f = zf[i].f;
	uint32_t n = logrange(&xrng, 200, 16384), o = upto(&xrng, (1 << 20) - 20000);
	static uint8_t t[20000];
	if (zf[i].kind == Z_TLS) {
		if (zf[i].stage == 0) {
			memcpy(t, junk + o, 517), memcpy(t, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
			znoise_bytes(f, C2S, t, 517);
			memcpy(t, junk + o + 600, 127), memcpy(t, "\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", 11), memcpy(t + 127, "\x14\x03\x03\x00\x01\x01", 6);
			memcpy(t + 133, junk + o, 2600), memcpy(t + 133, "\x17\x03\x03", 3), be16(t + 136, 2595);
			znoise_bytes(f, S2C, t, 133 + 2600);
		} else {
			memcpy(t, "\x17\x03\x03", 3), be16(t + 3, n), memcpy(t + 5, junk + o, n);
			znoise_bytes(f, upto(&xrng, 4) == 0 ? C2S : S2C, t, n + 5);
		}
	} else if (zf[i].kind == Z_RAND) znoise_bytes(f, (int)upto(&xrng, 2), junk + o, n);
	else {
		int k = snprintf((char *)t, sizeof t, "GET /static/img-%u.png HTTP/1.1\r\nHost: cdn.example.test\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n", upto(&xrng, 5000));
		znoise_bytes(f, C2S, t, (uint32_t)k), z_http_req += rec();
		k = snprintf((char *)t, sizeof t, "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: image/png\r\nContent-Length: %u\r\nConnection: keep-alive\r\n\r\n", n);
		memcpy(t + k, junk + o, n), znoise_bytes(f, S2C, t, (uint32_t)k + n), z_http_resp += rec();
	}
	zf[i].stage = 1;
	if (zf[i].left <= n) flow_close(f, C2S, upto(&xrng, 20) == 0), zf[i].f = NULL; else zf[i].left -= n;
}

/* ------------------------------------------------------------------------------------------------ truth */
static void truth(void)
{
	FILE *o = strcmp(cfg.truth, "-") ? fopen(cfg.truth, "w") : stderr;
	static const char *cn[] = {
#define X(n) #n,
		COUNTERS(X)
#undef X
	};
	if (!o) die("%s: %s", cfg.truth, strerror(errno));
	fprintf(o, "{\n \"generator\": {\"profile\": \"%s\", \"seed\": %" PRIu64 ", \"mss\": %u, \"retry_ms\": %u, \"keepalive_ms\": %u, \"loss_pct\": %g, \"reorder_pct\": %g, \"dup_pct\": %g, \"drop_pct\": %g, \"split_pct\": %g, \"ipv6_pct\": %g, \"noise_pct\": %g, \"midstream_s\": %g, \"end\": \"%s\", \"tcp_checksums\": \"%s\", \"port\": %u},\n",
		prof_name[cfg.prof], cfg.seed, cfg.mss, cfg.retry, cfg.keepalive, cfg.loss / 1e3, cfg.reorder / 1e3, cfg.dup / 1e3, cfg.drop / 1e3, cfg.split / 1e3, cfg.v6 / 1e3, cfg.noise / 1e3, (double)cfg.midstream / 1e6, cfg.cut ? "cut" : "drain", cfg.csum ? "correct" : "zero", cfg.port);
	fprintf(o, " \"file\": {\"bytes\": %" PRIu64 ", \"packets\": %" PRIu64 ", \"seconds\": %.6f, \"first_epoch\": %.6f},\n", tot_bytes, tot_pkts, (double)(last_ts - first_ts) / 1e6, (double)EPOCH + (double)first_ts / 1e6);
	fprintf(o, " \"tcp\": {\"connections\": %" PRIu64 ", \"syn\": %" PRIu64 ", \"fin\": %" PRIu64 ", \"rst\": %" PRIu64 ", \"data_segments\": %" PRIu64 ", \"payload_bytes\": %" PRIu64 ", \"late_copies_after_loss\": %" PRIu64 ", \"reordered\": %" PRIu64 ", \"duplicated\": %" PRIu64 ", \"dropped_by_capture\": %" PRIu64 "},\n",
		n_conn, n_conn_syn, n_fin, n_rst, n_data, n_payload, n_retr, n_reord, n_dup, n_drop);
	fprintf(o, " \"noise\": {\"tcp_connections\": %" PRIu64 ", \"tcp_packets\": %" PRIu64 ", \"udp_packets\": %" PRIu64 ", \"http_requests\": %" PRIu64 ", \"http_responses\": %" PRIu64 ", \"file_bytes\": %" PRIu64 "},\n", z_tcp_conn, z_tcp_pkt, z_udp_pkt, z_http_req, z_http_resp, z_bytes);
	fprintf(o, " \"counts\": {");
	for (int i = 0; i < NCNT; i++) fprintf(o, "%s\"%s\": %" PRIu64, i ? ", " : "", cn[i], cnt[i]);
	fprintf(o, "},\n \"partial_messages\": %" PRIu64 ", \"messages_damaged_by_drop\": %" PRIu64 ", \"peak_open_sse\": %" PRIu64 ", \"open_sse_at_end\": %" PRIu64 ", \"peak_sessions\": %" PRIu64 ", \"open_sessions_at_end\": %" PRIu64 ",\n", partial_msgs, damaged_msgs, peak_sse, open_sse, peak_sess, open_sess);
	static const struct { int k; const char *n; } lists[] = {{'l', "leapfrog"}, {'s', "shadow"}, {'p', "polling"}, {'c', "chat"}, {'i', "idle"}};
	for (int i = 0; i < 5; i++) {
		const char *sep = "";
		if (lists[i].k == 'c' && !cfg.detail) break;
		fprintf(o, " \"%s\": [", lists[i].n);
		for (sess *s = kept; s; s = s->next)
			if (s->kind == lists[i].k) {
				fprintf(o, "%s\n  {\"id\": \"%s\", \"style\": \"%s\", \"gets\": %u, \"calls\": %u, \"evictions\": %u, \"deleted\": %s, \"from\": %.3f, \"to\": %.3f}", sep, s->id, style_name[s->style], s->gets, s->calls, s->evict, s->deleted == 1 ? "true" : "false", (double)s->t0 / 1e6, (double)(s->t1 ? s->t1 : now) / 1e6);
				sep = ",";
			}
		fprintf(o, "],\n");
	}
	fprintf(o, " \"format\": 1\n}\n");
	if (o != stderr && fclose(o)) die("%s: %s", cfg.truth, strerror(errno));
}

/* ------------------------------------------------------------------------------------------------ command line */
static uint64_t size(const char *s)
{
	char *e;
	double v = strtod(s, &e);
	uint64_t m = *e == 'k' || *e == 'K' ? 1000 : *e == 'm' || *e == 'M' ? 1000000 : *e == 'g' || *e == 'G' ? 1000000000 : 1;
	if (e == s || v < 0) die("bad size: %s", s);
	return (uint64_t)(v * (double)m);
}
static uint32_t pct(const char *s)
{
	char *e;
	double v = strtod(s, &e);
	if (e == s || v < 0 || v > 100) die("bad percentage: %s", s);
	return (uint32_t)(v * 1000 + 0.5);
}
static const char usage[] =
	"usage: mkload --profile chat|bulk|idle|leapfrog|noise [options] [-o FILE] [--truth FILE]\n"
	"  --seed N          default 1; same flags and seed give the same bytes\n"
	"  --bytes SIZE      stop at about this file size (k, M, G = powers of ten; default 100M)\n"
	"  --packets N       stop at about this many packets instead\n"
	"  --sessions N      concurrent chat/bulk clients (default chat 256, bulk 16, leapfrog 200, noise 64)\n"
	"  --streams N       idle profile: listening sessions (default 5000)\n"
	"  --leap K          leapfrog profile: sessions with two listeners that evict each other (default 20)\n"
	"  --decoys N        leapfrog profile: look-alikes, half polling (one listener, closed and reopened), half shadow\n"
	"                    (two listeners that coexist) (default 20)\n"
	"  --retry MS        SSE retry (default 3000)      --keepalive MS  comment interval (default 15000)\n"
	"  --ramp MS         actors start spread over this time (default 30000, bulk 100)\n"
	"  --loss PCT        lost before the tap: the segment is seen late, after duplicate ACKs\n"
	"  --reorder PCT     segment swapped with the next one or two       --dup PCT  segment seen twice\n"
	"  --drop PCT        lost by the capture: never seen although acknowledged (data and pure ACKs)\n"
	"  --split PCT       cut segments at awkward places (between CR and LF, one byte, random)\n"
	"  --mss N           payload per segment (default 1448; 32768 resembles loopback; at most 65000)\n"
	"  --ipv6 PCT        share of sessions over IPv6   --churn PCT     calls that open a new connection (default 10)\n"
	"  --noise PCT       share of the file that is unrelated TLS-like, random, plain-HTTP TCP and UDP (noise: 70)\n"
	"  --midstream SEC   do not record the first SEC seconds\n"
	"  --end cut|drain   at the limit stop at once, or let every session finish (default: idle cut, others drain)\n"
	"  --snaplen N       truncate records              --port N        server port (default 8931)\n"
	"  --no-csum         TCP checksums zero (IPv4 header checksums are always correct, UDP always zero)\n"
	"  --truth FILE      ground truth as JSON          --truth-sessions  list every session in it\n";

int main(int argc, char **argv)
{
	enum { O_SEED = 256, O_BYTES, O_PACKETS, O_SESSIONS, O_STREAMS, O_LEAP, O_DECOYS, O_RETRY, O_KEEP, O_RAMP, O_LOSS, O_REORDER, O_DUP, O_DROP, O_SPLIT, O_MSS, O_V6, O_CHURN, O_NOISE, O_MID, O_END, O_SNAP, O_PORT, O_NOCSUM, O_TRUTH, O_DETAIL, O_PROFILE };
	static const struct option lo[] = {{"profile", 1, 0, O_PROFILE}, {"seed", 1, 0, O_SEED}, {"bytes", 1, 0, O_BYTES}, {"packets", 1, 0, O_PACKETS}, {"sessions", 1, 0, O_SESSIONS}, {"streams", 1, 0, O_STREAMS}, {"leap", 1, 0, O_LEAP}, {"decoys", 1, 0, O_DECOYS}, {"retry", 1, 0, O_RETRY}, {"keepalive", 1, 0, O_KEEP}, {"ramp", 1, 0, O_RAMP}, {"loss", 1, 0, O_LOSS}, {"reorder", 1, 0, O_REORDER}, {"dup", 1, 0, O_DUP}, {"drop", 1, 0, O_DROP}, {"split", 1, 0, O_SPLIT}, {"mss", 1, 0, O_MSS}, {"ipv6", 1, 0, O_V6}, {"churn", 1, 0, O_CHURN}, {"noise", 1, 0, O_NOISE}, {"midstream", 1, 0, O_MID}, {"end", 1, 0, O_END}, {"snaplen", 1, 0, O_SNAP}, {"port", 1, 0, O_PORT}, {"no-csum", 0, 0, O_NOCSUM}, {"truth", 1, 0, O_TRUTH}, {"truth-sessions", 0, 0, O_DETAIL}, {"output", 1, 0, 'o'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
	bool have = false, noise_set = false;
	for (int c; (c = getopt_long(argc, argv, "o:h", lo, NULL)) != -1;)
		switch (c) {
		case O_PROFILE:
			for (int i = 0; i < 5; i++) if (!strcmp(optarg, prof_name[i])) cfg.prof = (enum profile)i, have = true;
			if (!have) die("unknown profile: %s", optarg);
			break;
		case O_SEED: cfg.seed = strtoull(optarg, NULL, 0); break;
		case O_BYTES: cfg.bytes = size(optarg); break;
		case O_PACKETS: cfg.packets = size(optarg); break;
		case O_SESSIONS: cfg.sessions = (uint32_t)size(optarg); break;
		case O_STREAMS: cfg.streams = (uint32_t)size(optarg); break;
		case O_LEAP: cfg.leap = (uint32_t)size(optarg); break;
		case O_DECOYS: cfg.decoys = (uint32_t)size(optarg); break;
		case O_RETRY: cfg.retry = (uint32_t)size(optarg); break;
		case O_KEEP: cfg.keepalive = (uint32_t)size(optarg); break;
		case O_RAMP: cfg.ramp = (uint32_t)size(optarg); break;
		case O_LOSS: cfg.loss = pct(optarg); break;
		case O_REORDER: cfg.reorder = pct(optarg); break;
		case O_DUP: cfg.dup = pct(optarg); break;
		case O_DROP: cfg.drop = pct(optarg); break;
		case O_SPLIT: cfg.split = pct(optarg); break;
		case O_MSS: cfg.mss = (uint32_t)size(optarg); break;
		case O_V6: cfg.v6 = pct(optarg); break;
		case O_CHURN: cfg.churn = pct(optarg); break;
		case O_NOISE: cfg.noise = pct(optarg), noise_set = true; break;
		case O_MID: cfg.midstream = (uint64_t)(strtod(optarg, NULL) * 1e6); break;
		case O_END: cfg.cut = !strcmp(optarg, "cut"), cfg.cut_set = true; if (!cfg.cut && strcmp(optarg, "drain")) die("--end cut or drain"); break;
		case O_SNAP: cfg.snaplen = (uint32_t)size(optarg); break;
		case O_PORT: cfg.port = (uint32_t)size(optarg); break;
		case O_NOCSUM: cfg.csum = false; break;
		case O_TRUTH: cfg.truth = optarg; break;
		case O_DETAIL: cfg.detail = true; break;
		case 'o': cfg.out = optarg; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	if (!have || optind != argc) { fputs(usage, stderr); return 2; }
	if (cfg.mss < 1 || cfg.mss > 65000) die("--mss 1..65000");
	if (cfg.keepalive < 10 || cfg.retry < 1 || !cfg.port || cfg.port > 65535) die("bad --keepalive, --retry or --port");
	if (cfg.noise > 99000) die("--noise at most 99");
	if (cfg.prof == P_NOISE && !noise_set) cfg.noise = 70000;
	if (cfg.ramp == ~0u) cfg.ramp = cfg.prof == P_BULK ? 100 : 30000;
	if (!cfg.cut_set) cfg.cut = cfg.prof == P_IDLE;
	if (!cfg.sessions) cfg.sessions = cfg.prof == P_BULK ? 16 : cfg.prof == P_LEAP ? 200 : cfg.prof == P_NOISE ? 64 : 256;
	if (cfg.prof == P_LEAP && cfg.leap + cfg.decoys > cfg.sessions) die("--leap + --decoys must not exceed --sessions");
	if (cfg.out && strcmp(cfg.out, "-") && (ofd = open(cfg.out, O_WRONLY | O_CREAT | O_TRUNC, 0644)) < 0) die("%s: %s", cfg.out, strerror(errno));
	if (ofd == 1 && isatty(1)) die("will not write a capture to a terminal; use -o FILE");

	ob = xmalloc(OCAP + ORES), wrng = mix(cfg.seed ^ 0xabcdef), xrng = mix(cfg.seed ^ 0x123456);
	mkpools();
	uint32_t gh[6] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, cfg.snaplen, 1};
	memcpy(ob, gh, 24), on = 24;

	uint32_t nact = cfg.prof == P_IDLE ? cfg.streams : cfg.sessions;
	for (uint32_t i = 0; i < nact; i++) {
		bool lst = cfg.prof == P_LEAP && i < cfg.leap + cfg.decoys;
		actor *a = spawn(cfg.prof == P_IDLE ? idle : lst ? listeners : chat, NULL, NULL, 0);
		a->n = i;
		if (lst) a->k = i < cfg.leap ? 'l' : (i - cfg.leap) % 2 ? 's' : 'p';
	}
	while (hn) {
		actor *a = heap[0].a;
		uint32_t g = heap[0].gen;
		uint64_t t = heap[0].t;
		heap_pop();
		if (g != a->gen) continue;
		now = t, a->fn(a);
		if (cfg.noise && rec())
			while ((tot_bytes - z_bytes) * (uint64_t)cfg.noise > z_bytes * (uint64_t)(100000 - cfg.noise)) noise();
		if (!stopping && (cfg.packets ? tot_pkts >= cfg.packets : tot_bytes >= cfg.bytes)) {
			if (cfg.cut) break;
			stopping = true;
		}
	}
	for (int i = 0; i < 64; i++) if (zf[i].f && !cfg.cut) flow_close(zf[i].f, C2S, false);
	oflush();
	if (ofd != 1 && close(ofd)) die("close: %s", strerror(errno));
	if (cfg.truth) {
		if (cfg.cut)	/* sessions still open are listed too */
			for (uint32_t i = 0; i < hn; i++) {
				sess *s = heap[i].gen == heap[i].a->gen ? heap[i].a->s : NULL;
				if (s && heap[i].a == s->main && (cfg.detail || strchr("lps", s->kind))) s->next = kept, kept = s;
			}
		truth();
	}
	return 0;
}
