/* The first byte is the size of the pieces; the rest is read whole and in
 * pieces, and must give the same packets and the same end. */
#include "mcpdiag/capfile.h"

#include <stdlib.h>

#include "mcpdiag/map.h"

struct seen {
	uint64_t packets, bytes, digest;
	enum capfile_rc end;
	char error[sizeof(struct errmsg)];
};

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
need(bool ok)
{
	if (!ok)
		abort();
}

static void
more(struct seen *s, const void *p, size_t n)
{
	const uint64_t key[2] = { s->digest, s->packets };

	s->digest = map_sip13(key, p, n);
}

/* True when the file goes on behind the piece. */
static bool
drain(struct capfile *c, struct seen *s)
{
	struct packet p;

	while ((s->end = capfile_next(c, &p)) == CAPFILE_PACKET) {
		uint64_t head[3] = { (uint64_t)p.t,
		    (uint64_t)p.linktype << 32 | p.ifindex,
		    (uint64_t)p.len << 32 | p.wire_len };

		need(p.t >= 0 && p.t < 1LL << 62);
		need(p.len <= p.wire_len && p.linktype < 1 << 16);
		need(p.ifindex < capfile_stats(c)->interfaces);
		s->packets++;
		s->bytes += p.len;
		more(s, head, sizeof head);
		more(s, p.data, p.len);
	}
	return s->end == CAPFILE_MORE;
}

static struct seen
run(const uint8_t *p, size_t n, size_t piece)
{
	struct capfile *c = capfile_new();
	const struct capfile_stats *st = capfile_stats(c);
	struct seen s = { 0 };
	const char *why;
	bool goes_on = true;

	for (size_t at = 0; goes_on && at < n; at += piece) {
		size_t len = n - at < piece ? n - at : piece;
		uint8_t *own = xmalloc(len);

		memcpy(own, p + at, len);
		capfile_feed(c, own, len);
		goes_on = drain(c, &s);
		free(own);
	}
	if (goes_on) {
		capfile_eof(c);
		need(!drain(c, &s));
	}
	why = capfile_error(c);
	need((s.end == CAPFILE_BAD) == (why != NULL));
	if (why)
		memcpy(s.error, why, strlen(why) + 1);
	need(s.packets == st->packets && s.bytes == st->bytes);
	need(st->truncated <= s.packets);
	more(&s, (uint64_t[]){ st->dropped, st->truncated, st->interfaces,
	    st->secrets, st->snaplen, st->cut }, 6 * sizeof(uint64_t));
	capfile_free(c);
	return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct seen whole, pieces;

	if (n < 1)
		return 0;
	whole = run(p + 1, n - 1, n);
	pieces = run(p + 1, n - 1, p[0] % 64U + 1);
	need(whole.end == pieces.end && whole.packets == pieces.packets &&
	    whole.digest == pieces.digest &&
	    strcmp(whole.error, pieces.error) == 0);
	return 0;
}
