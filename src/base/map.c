#include "mcpdiag/map.h"

#include <stdlib.h>
#include <sys/random.h>

#define ROTL(x, b) ((x) << (b) | (x) >> (64 - (b)))
#define ROUND(v) do { \
	v[0] += v[1]; v[1] = ROTL(v[1], 13); v[1] ^= v[0]; v[0] = ROTL(v[0], 32); \
	v[2] += v[3]; v[3] = ROTL(v[3], 16); v[3] ^= v[2]; \
	v[0] += v[3]; v[3] = ROTL(v[3], 21); v[3] ^= v[0]; \
	v[2] += v[1]; v[1] = ROTL(v[1], 17); v[1] ^= v[2]; v[2] = ROTL(v[2], 32); \
} while (0)

static void
sip_init(uint64_t v[4], uint64_t k0, uint64_t k1)
{
	v[0] = k0 ^ 0x736f6d6570736575ULL;
	v[1] = k1 ^ 0x646f72616e646f6dULL;
	v[2] = k0 ^ 0x6c7967656e657261ULL;
	v[3] = k1 ^ 0x7465646279746573ULL;
}

static inline void
sip_word(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	ROUND(v);
	v[0] ^= m;
}

static uint64_t
sip_end(uint64_t v[4])
{
	v[2] ^= 0xff;
	ROUND(v);
	ROUND(v);
	ROUND(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t
map_sip13(const uint64_t key[2], const void *p, size_t n)
{
	const unsigned char *q = p;
	uint64_t v[4], last = (uint64_t)n << 56, m;

	sip_init(v, key[0], key[1]);
	for (; n >= 8; n -= 8, q += 8) {
		memcpy(&m, q, 8);
		sip_word(v, m);
	}
	if (n & 4) {			/* little-endian, as the words above */
		uint32_t half;

		memcpy(&half, q, 4);
		last |= half;
		for (size_t i = 4; i < n; i++)
			last |= (uint64_t)q[i] << (8 * i);
	} else
		for (size_t i = 0; i < n; i++)
			last |= (uint64_t)q[i] << (8 * i);
	sip_word(v, last);
	return sip_end(v);
}

/* The only state of the program outside its objects: a key that must be the
 * same for all tables and unknown to whoever made the input, and the odd number
 * that follows from it. */
struct secret {
	uint64_t key[2], odd;
};

static const struct secret *
secret(void)
{
	static struct secret s;

	if (s.odd == 0) {
		const char *seed = getenv("MCPDIAG_HASH_SEED");
		if (seed)
			s.key[1] = strtoull(seed, NULL, 0);
		else if (getrandom(s.key, sizeof s.key, 0) != sizeof s.key)
			s.key[1] = (uintptr_t)&s;
		s.key[0] |= 1;
		s.odd = map_sip13(s.key, "odd", 3) | 1;
	}
	return &s;
}

uint32_t
map_hash(const void *p, size_t n)
{
	return (uint32_t)map_sip13(secret()->key, p, n);
}

uint64_t
map_odd(void)
{
	return secret()->odd;
}

/* Both halves of a 128-bit product, folded: each bit of the result depends on
 * all bits of both factors. */
static inline uint64_t
fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;
	wide p = (wide)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
#else
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t low = al * bl, mid = ah * bl + (low >> 32);
	uint64_t mid2 = al * bh + (uint32_t)mid;

	return ((mid2 << 32) | (uint32_t)low) ^ (ah * bh + (mid >> 32) + (mid2 >> 32));
#endif
}

/* Odd constants with as many bits set as not: the fractional parts of the
 * square roots of 2, 3 and 5. */
#define K0 0x6a09e667f3bcc909ULL
#define K1 0xbb67ae8584caa73bULL
#define K2 0x3c6ef372fe94f82bULL

static inline uint64_t
digest_block(uint64_t h, const unsigned char *p)
{
	uint64_t a, b;

	memcpy(&a, p, 8);
	memcpy(&b, p + 8, 8);
	return fold(a ^ h ^ K0, b ^ K1) ^ (h << 23 | h >> 41);
}

void
digest_init(struct digest *d)
{
	*d = (struct digest){ .h = K2 };
}

void
digest_add(struct digest *d, const void *p, size_t n)
{
	const unsigned char *q = p;
	size_t had = d->n % 16, room = 16 - had;
	uint64_t h = d->h;

	if (n == 0)			/* an absent string has no address */
		return;
	d->n += n;
	if (had) {
		if (n < room) {
			memcpy(d->part + had, q, n);
			return;
		}
		memcpy(d->part + had, q, room);
		h = digest_block(h, d->part);
		q += room;
		n -= room;
	}
	for (; n >= 16; n -= 16, q += 16)
		h = digest_block(h, q);
	d->h = h;
	if (n)
		memcpy(d->part, q, n);
}

uint64_t
digest_end(const struct digest *d)
{
	unsigned char last[16] = { 0 };
	uint64_t h = d->h;

	if (d->n % 16) {
		memcpy(last, d->part, d->n % 16);
		h = digest_block(h, last);
	}
	return fold(h ^ K1, d->n ^ K2);
}

uint64_t
map_digest(const void *p, size_t n)
{
	unsigned char last[16] = { 0 };
	const unsigned char *q = p;
	uint64_t h = K2;

	for (size_t left = n; left; left -= left < 16 ? left : 16, q += 16) {
		if (left < 16)
			memcpy(last, q, left);
		h = digest_block(h, left < 16 ? last : q);
	}
	return fold(h ^ K1, n ^ K2);
}
