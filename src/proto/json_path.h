/* json_path: the paths a scanner was asked for, made ready for comparing.
 *
 * A set of paths is a bit set.  Each object being read has the set of paths
 * that lead into it; comparing its keys, whole or piece by piece, against the
 * nodes of its level gives the paths that end at this key and those that go on
 * below.  A level counts objects and arrays from 0, the message object. */
#ifndef MCPDIAG_JSON_PATH_H
#define MCPDIAG_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_PATH_LEVELS 8	/* components in one path */
#define JSON_PATH_BUCKETS 64
#define JSON_PATH_NODES 64	/* a set of them is 64 bits */

/* One component, shared by all paths that have it at the same level. */
struct json_node {
	const char *text;
	uint64_t ends, below;	/* the paths that end here; that go on */
	uint8_t len;
	uint8_t next;		/* the next of its list, or 0 */
	bool prefix;		/* keys that start so */
};

struct json_paths {
	struct json_level {
		/* The first of a list, or 0: components by their length and
		 * first byte; prefixes. */
		uint8_t exact[JSON_PATH_BUCKETS], prefix;
		uint8_t first, n;	/* all of them */
		bool more;		/* prefixes, or "**" has begun */
		uint64_t deep;		/* paths whose "**" has begun */
		const struct json_paths *paths;
	} level[JSON_PATH_LEVELS + 1];
	uint64_t multi;			/* may end at several keys of a message */
	struct json_node node[];	/* from 1 on */
};

/* Keeps the table by reference; paths that do not follow the syntax of
 * json.h, or need more than 63 nodes, are our own mistake and assert. */
struct json_paths *json_paths_new(const char *const *paths, unsigned n);
void json_paths_free(struct json_paths *);

struct json_sets {
	uint64_t ends, below;	/* paths that end at a key; that go on below */
};

/* What a key of an object at a level means, when `act` leads into that object.
 * Reads one byte even of an empty key. */
struct json_sets json_key(const struct json_level *, uint64_t act,
    const uint8_t *key, size_t n);

/* The same for a key that comes in pieces.  First the nodes (a bit set) to
 * compare it with; */
uint64_t json_key_begin(const struct json_level *, uint64_t act);
/* then those of them that are left after n bytes at offset `at` of the key
 * (`last`: it ends there); */
uint64_t json_key_part(const struct json_level *, uint64_t nodes, size_t at,
    const void *, size_t n, bool last);
/* at last, what the nodes that are left mean. */
struct json_sets json_key_end(const struct json_level *, uint64_t act,
    uint64_t nodes);

#endif
