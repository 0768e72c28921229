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

uint32_t
map_hash(const void *p, size_t n)
{
	/* The only state of the program outside its objects: a key that must
	 * be the same for all tables and unknown to whoever made the input. */
	static uint64_t key[2];

	if (key[0] == 0) {
		const char *seed = getenv("MCPDIAG_HASH_SEED");
		if (seed)
			key[1] = strtoull(seed, NULL, 0);
		else if (getrandom(key, sizeof key, 0) != sizeof key)
			key[1] = (uintptr_t)&key;
		key[0] |= 1;
	}
	return (uint32_t)map_sip13(key, p, n);
}

void
digest_init(struct digest *d)
{
	/* A fixed key: these values are printed, compared and stored. */
	sip_init(d->v, 0x6d63706469616731ULL, 0x70726f746f636f6cULL);
	d->tail = d->n = 0;
}

void
digest_add(struct digest *d, const void *p, size_t n)
{
	const unsigned char *q = p;
	uint64_t m;

	for (; n && d->n % 8; n--, d->n++) {
		d->tail |= (uint64_t)*q++ << (8 * (d->n % 8));
		if (d->n % 8 == 7) {
			sip_word(d->v, d->tail);
			d->tail = 0;
		}
	}
	d->n += n;
	for (; n >= 8; n -= 8, q += 8) {
		memcpy(&m, q, 8);
		sip_word(d->v, m);
	}
	for (size_t i = 0; i < n; i++)
		d->tail |= (uint64_t)q[i] << (8 * i);
}

uint64_t
digest_end(const struct digest *d)
{
	struct digest e = *d;

	sip_word(e.v, e.tail | e.n << 56);
	return sip_end(e.v);
}

uint64_t
map_digest(const void *p, size_t n)
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, p, n);
	return digest_end(&d);
}
