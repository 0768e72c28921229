/* map: hash tables.
 * The tables are uthash's, used through its own macros; this header only sets
 * its hash to SipHash-1-3 under a random key, so that a crafted capture cannot
 * choose collisions (the default is a fixed function).  Nothing printed may
 * depend on the order of a table. */
#ifndef MCPDIAG_MAP_H
#define MCPDIAG_MAP_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-1-3 (Aumasson and Bernstein) of n bytes under `key`. */
uint64_t map_sip13(const uint64_t key[2], const void *p, size_t n);
/* The same under this process's key: random, or from MCPDIAG_HASH_SEED. */
uint32_t map_hash(const void *p, size_t n);
/* An odd number under that key: for tables that multiply by one. */
uint64_t map_odd(void);
/* A 64-bit digest under no key: the same in every run, for fingerprints that
 * are printed and compared.  Fast, and not proof against an adversary: nothing
 * worse than a wrong "equal" may hang on it. */
uint64_t map_digest(const void *p, size_t n);

/* The same digest over bytes that come in pieces, however they are cut. */
struct digest {
	uint64_t h, n;
	unsigned char part[16];		/* n % 16 bytes not yet in h */
};

void digest_init(struct digest *);
void digest_add(struct digest *, const void *p, size_t n);
uint64_t digest_end(const struct digest *);

#define HASH_FUNCTION(keyptr, keylen, hashv) \
	((hashv) = map_hash((keyptr), (keylen)))
#include "mcpdiag/xmem.h"
#define uthash_malloc(sz) xmalloc(sz)
#include <uthash.h>
#include <utlist.h>

#endif
