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

uint64_t
map_sip13(const uint64_t key[2], const void *p, size_t n)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL,
	};
	const unsigned char *q = p;
	uint64_t last = (uint64_t)n << 56, m;

	for (; n >= 8; n -= 8, q += 8) {
		memcpy(&m, q, 8);
		v[3] ^= m;
		ROUND(v);
		v[0] ^= m;
	}
	for (size_t i = 0; i < n; i++)
		last |= (uint64_t)q[i] << (8 * i);
	v[3] ^= last;
	ROUND(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	ROUND(v);
	ROUND(v);
	ROUND(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
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

uint64_t
map_digest_more(uint64_t h, const void *p, size_t n)
{
	const uint64_t key[2] = { h ^ 0x6d63706469616731ULL, 0x70726f746f636f6cULL };

	return map_sip13(key, p, n);
}

uint64_t
map_digest(const void *p, size_t n)
{
	return map_digest_more(0, p, n);
}
