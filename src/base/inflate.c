#include "mcpdiag/inflate.h"

#include <stdlib.h>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "mcpdiag/err.h"
#include "mcpdiag/xmem.h"

/* Decoded bytes before the ratio counts: small bodies of few distinct bytes
 * are honest. */
#define RATIO_FROM (1ULL << 20)
/* A window of 8 MiB: all that RFC 9659 lets a zstd content coding use. */
#define ZSTD_WINDOW_LOG 23

enum zwrap {
	ZWRAP_UNDECIDED,	/* deflate: zlib or raw is not known yet */
	ZWRAP_MEMBER,		/* inside a gzip member or a deflate stream */
	ZWRAP_BETWEEN,		/* behind the end of one */
};

struct inflate {
	enum inflate_kind kind;
	uint64_t max, ratio, n_in, n_out;
	uint64_t n_alloc;	/* bytes asked for by zlib or brotli */
	inflate_out_fn *fn;
	void *arg;
	int err;
	bool ended;		/* at a point where the stream may end */
	enum zwrap wrap;
	uint8_t head;		/* first byte of an undecided deflate stream */
	bool has_head;
	z_stream z;		/* gzip, deflate */
	bool z_open;
	BrotliDecoderState *br;
	ZSTD_DStream *zstd;
	size_t zstd_want;	/* input bytes it asked for */
	unsigned n_magic;	/* bytes seen of a frame's magic number, 0..4 */
	bool skippable, zstd_full;
};

/* What one call into a library may read and write. */
struct io {
	const uint8_t *in;
	size_t n_in;
	uint8_t *out;
	size_t n_out;
};

static const struct {
	const char *name;
	enum inflate_kind kind;
} codings[] = {
	{ "gzip", INFLATE_GZIP }, { "x-gzip", INFLATE_GZIP },
	{ "deflate", INFLATE_DEFLATE }, { "br", INFLATE_BR },
	{ "zstd", INFLATE_ZSTD }, { "identity", INFLATE_NONE },
};

static void *
zlib_alloc(void *arg, uInt count, uInt size)
{
	struct inflate *f = arg;

	f->n_alloc += (uint64_t)count * size;
	return xcalloc(count, size);
}

static void
zlib_free(void *arg, void *p)
{
	(void)arg;
	free(p);
}

static void *
brotli_alloc(void *arg, size_t n)
{
	struct inflate *f = arg;

	f->n_alloc += n;
	return xmalloc(n);
}

static void
zlib_open(struct inflate *f, int window_bits)
{
	f->z.zalloc = zlib_alloc;
	f->z.zfree = zlib_free;
	f->z.opaque = f;
	f->z_open = inflateInit2(&f->z, window_bits) == Z_OK;
	if (!f->z_open)
		f->err = -E_SYNTAX;
	f->wrap = ZWRAP_MEMBER;
}

/* RFC 9110 8.4.1.2 means the zlib format by "deflate", and notes that some
 * send RFC 1951 without it.  A zlib header has CM 8, a window of at most
 * 2^15 and is a multiple of 31 (RFC 1950 2.2); a raw stream whose first byte
 * looks like CM 8 would be a stored block with set padding bits, which no
 * encoder writes. */
static void
deflate_open(struct inflate *f, struct io *io)
{
	uint8_t b = io->in[0], held;

	if (!f->has_head && (b & 15) == 8 && b >> 4 <= 7) {
		f->head = b;
		f->has_head = true;
		io->in++;
		io->n_in--;
		return;
	}
	if (!f->has_head) {
		zlib_open(f, -15);
		return;
	}
	zlib_open(f, (f->head << 8 | b) % 31 == 0 ? 15 : -15);
	/* The held byte alone holds no output: either the half of a header
	 * or the start of a stored block. */
	f->z.next_in = &f->head;
	f->z.avail_in = 1;
	f->z.next_out = &held;
	f->z.avail_out = 1;
	if (inflate(&f->z, Z_NO_FLUSH) != Z_OK || f->z.avail_in)
		f->err = -E_SYNTAX;
}

/* Behind a gzip member come another one (RFC 1952 2.2), or zeros that fill
 * up a block of a tape or disk, or nothing. */
static void
member_open(struct inflate *f, struct io *io)
{
	while (f->kind == INFLATE_GZIP && io->n_in && io->in[0] == 0) {
		io->in++;
		io->n_in--;
	}
	if (io->n_in == 0)
		return;
	if (f->kind != INFLATE_GZIP || io->in[0] != 0x1f ||
	    inflateReset(&f->z) != Z_OK) {
		f->err = -E_SYNTAX;
		return;
	}
	f->wrap = ZWRAP_MEMBER;
	f->ended = false;
}

static void
zlib_run(struct inflate *f, struct io *io)
{
	uInt n_in = io->n_in < 1U << 30 ? (uInt)io->n_in : 1U << 30;
	uInt n_out = io->n_out < 1U << 30 ? (uInt)io->n_out : 1U << 30;
	int rc;

	/* zlib's next_in is const only on request; it is never written. */
	f->z.next_in = (Bytef *)(uintptr_t)io->in;
	f->z.avail_in = n_in;
	f->z.next_out = io->out;
	f->z.avail_out = n_out;
	rc = inflate(&f->z, Z_NO_FLUSH);
	io->in += n_in - f->z.avail_in;
	io->n_in -= n_in - f->z.avail_in;
	io->out += n_out - f->z.avail_out;
	io->n_out -= n_out - f->z.avail_out;
	if (rc == Z_STREAM_END) {
		f->wrap = ZWRAP_BETWEEN;
		f->ended = true;
	} else if (rc != Z_OK && rc != Z_BUF_ERROR)
		f->err = -E_SYNTAX;
}

static void
zlib_step(struct inflate *f, struct io *io)
{
	switch (f->wrap) {
	case ZWRAP_UNDECIDED:
		if (io->n_in)
			deflate_open(f, io);
		return;
	case ZWRAP_MEMBER:
		zlib_run(f, io);
		return;
	case ZWRAP_BETWEEN:
		member_open(f, io);
		return;
	}
}

static void
brotli_step(struct inflate *f, struct io *io)
{
	BrotliDecoderResult rc;

	if (f->ended) {
		if (io->n_in)
			f->err = -E_SYNTAX;
		return;
	}
	rc = BrotliDecoderDecompressStream(f->br, &io->n_in, &io->in,
	    &io->n_out, &io->out, NULL);
	if (rc == BROTLI_DECODER_RESULT_ERROR)
		f->err = -E_SYNTAX;
	f->ended = rc == BROTLI_DECODER_RESULT_SUCCESS;
}

/* Looks at the magic number of a frame, however it is cut up; the number of
 * bytes looked at.  Only RFC 8878 frames and skippable ones get through: the
 * library may also know formats from before the RFC. */
static size_t
zstd_magic(struct inflate *f, const struct io *io)
{
	static const uint8_t frame[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	static const uint8_t skip[4] = { 0x50, 0x2a, 0x4d, 0x18 };
	size_t n = 0;

	for (; f->n_magic < 4 && n < io->n_in; n++, f->n_magic++) {
		uint8_t b = io->in[n];

		if (f->n_magic == 0) {
			f->skippable = b >> 4 == 5;
			if (f->skippable)
				b &= 0xf0;
		}
		if (b != (f->skippable ? skip : frame)[f->n_magic]) {
			f->err = -E_SYNTAX;
			break;
		}
	}
	return n;
}

/* The library is given one block at a time, because an error takes with it
 * what was decoded in the same call.  What it asks for includes the header of
 * the next block, 3 bytes. */
static void
zstd_step(struct inflate *f, struct io *io)
{
	ZSTD_inBuffer in = { io->in, io->n_in, 0 };
	ZSTD_outBuffer out = { io->out, io->n_out, 0 };
	size_t rc;

	/* Called without input between two frames it would ask for one. */
	if (f->ended && io->n_in == 0)
		return;
	if (f->zstd_full)
		in.size = 0;		/* the rest of the block first */
	else if (f->n_magic < 4) {
		in.size = zstd_magic(f, io);
		if (f->err)
			return;
	} else {
		size_t most = f->zstd_want > 3 ? f->zstd_want - 3 :
		    f->zstd_want;
		if (in.size > most)
			in.size = most;
	}
	rc = ZSTD_decompressStream(f->zstd, &out, &in);
	io->in += in.pos;
	io->n_in -= in.pos;
	io->out += out.pos;
	io->n_out -= out.pos;
	if (ZSTD_isError(rc)) {
		f->err = ZSTD_getErrorCode(rc) ==
		    ZSTD_error_frameParameter_windowTooLarge ?
		    -E_LIMIT : -E_SYNTAX;
		return;
	}
	f->ended = rc == 0;
	f->zstd_want = rc;
	f->zstd_full = !f->ended && out.pos == out.size;
	if (f->ended)
		f->n_magic = 0;
}

static void
plain_step(struct io *io)
{
	size_t n = io->n_in < io->n_out ? io->n_in : io->n_out;

	if (n)
		memcpy(io->out, io->in, n);
	io->in += n;
	io->n_in -= n;
	io->out += n;
	io->n_out -= n;
}

static void
step(struct inflate *f, struct io *io)
{
	switch (f->kind) {
	case INFLATE_NONE:
		plain_step(io);
		return;
	case INFLATE_GZIP: case INFLATE_DEFLATE:
		zlib_step(f, io);
		return;
	case INFLATE_BR:
		brotli_step(f, io);
		return;
	case INFLATE_ZSTD:
		zstd_step(f, io);
		return;
	case INFLATE_UNKNOWN:
		f->err = -E_SYNTAX;
		return;
	}
}

enum inflate_kind
inflate_kind_of(struct str coding)
{
	coding = str_trim(coding);
	if (coding.n == 0)
		return INFLATE_NONE;
	for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++)
		if (str_ieq(coding, str_c(codings[i].name)))
			return codings[i].kind;
	return INFLATE_UNKNOWN;
}

enum inflate_kind
inflate_sniff(const void *p, size_t n)
{
	const uint8_t *b = p;

	if (n >= 2 && b[0] == 0x1f && b[1] == 0x8b)
		return INFLATE_GZIP;
	if (n < 4)
		return INFLATE_NONE;
	if (memcmp(b, "\x28\xb5\x2f\xfd", 4) == 0)
		return INFLATE_ZSTD;
	/* A skippable frame may come first: RFC 8878 3.1.2. */
	if (b[0] >> 4 == 5 && memcmp(b + 1, "\x2a\x4d\x18", 3) == 0)
		return INFLATE_ZSTD;
	return INFLATE_NONE;
}

const char *
inflate_name(enum inflate_kind kind)
{
	switch (kind) {
	case INFLATE_NONE: return "identity";
	case INFLATE_GZIP: return "gzip";
	case INFLATE_DEFLATE: return "deflate";
	case INFLATE_BR: return "br";
	case INFLATE_ZSTD: return "zstd";
	case INFLATE_UNKNOWN: break;
	}
	return "unknown";
}

struct inflate *
inflate_new(enum inflate_kind kind, uint64_t max, uint64_t ratio,
    inflate_out_fn *fn, void *arg)
{
	struct inflate *f = xcalloc(1, sizeof *f);

	f->kind = kind;
	f->max = max;
	f->ratio = ratio;
	f->fn = fn;
	f->arg = arg;
	switch (kind) {
	case INFLATE_NONE:
		f->ended = true;
		break;
	case INFLATE_GZIP:
		zlib_open(f, 15 + 16);
		break;
	case INFLATE_DEFLATE:
		f->wrap = ZWRAP_UNDECIDED;
		break;
	case INFLATE_BR:
		f->br = BrotliDecoderCreateInstance(brotli_alloc, zlib_free,
		    f);
		break;
	case INFLATE_ZSTD:
		f->zstd = ZSTD_createDStream();
		if (f->zstd == NULL)
			f->err = -E_LIMIT;
		else if (max != UINT64_MAX)
			(void)ZSTD_DCtx_setParameter(f->zstd,
			    ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
		break;
	case INFLATE_UNKNOWN:
		f->err = -E_SYNTAX;
		break;
	}
	return f;
}

int
inflate_some(struct inflate *f, struct str *in, void *out, size_t room,
    size_t *n)
{
	/* An absent string has no address to which 0 could be added. */
	struct io io = { (const uint8_t *)(in->p ? in->p : ""), in->n, NULL, 0 };

	*n = 0;
	while (f->err == 0 && *n < room) {
		uint8_t over;	/* shows whether there is more than max */
		size_t can = room - *n, had = io.n_in;

		if (can > f->max - f->n_out)
			can = (size_t)(f->max - f->n_out);
		io.out = can ? (uint8_t *)out + *n : &over;
		io.n_out = can ? can : 1;
		step(f, &io);
		f->n_in += had - io.n_in;
		if (can == 0 && io.n_out == 0) {
			f->err = -E_LIMIT;
			break;
		}
		if (can) {
			*n += can - io.n_out;
			f->n_out += can - io.n_out;
		}
		if (f->ratio && f->n_out > RATIO_FROM &&
		    f->n_out / f->ratio > f->n_in && f->err == 0)
			f->err = -E_LIMIT;
		if (io.n_in == 0 && io.n_out)
			break;		/* all out that was in */
	}
	*in = str_of(io.in, io.n_in);
	return f->err;
}

int
inflate_feed(struct inflate *f, const void *p, size_t n)
{
	char out[32768];
	struct str in = str_of(p, n);
	size_t got;
	int rc;

	/* zstd takes many calls without input for a caller stuck in a loop. */
	if (n == 0)
		return f->err;
	if (f->kind == INFLATE_NONE && f->err == 0 && n <= f->max - f->n_out) {
		f->n_out += n;
		f->fn(f->arg, p, n);
		return 0;
	}
	do {
		rc = inflate_some(f, &in, out, sizeof out, &got);
		if (got)
			f->fn(f->arg, out, got);
	} while (rc == 0 && (in.n || got == sizeof out));
	return rc;
}

uint64_t
inflate_cost(const struct inflate *f)
{
	return f->n_out + f->n_alloc +
	    (f->zstd ? ZSTD_sizeof_DStream(f->zstd) : 0);
}

bool
inflate_done(const struct inflate *f)
{
	return f->ended && f->err == 0;
}

void
inflate_free(struct inflate *f)
{
	if (f == NULL)
		return;
	if (f->z_open)
		(void)inflateEnd(&f->z);
	if (f->br)
		BrotliDecoderDestroyInstance(f->br);
	if (f->zstd)
		(void)ZSTD_freeDStream(f->zstd);
	free(f);
}
