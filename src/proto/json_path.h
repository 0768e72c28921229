/* json_path: the paths a scanner was asked for, made ready for comparing.
 *
 * A set of paths is a bit set.  Each object being read has the set of paths
 * that lead into it; comparing its keys, piece by piece, against the nodes of
 * its level gives the paths that end at this key and those that go on below.
 * `level` counts objects and arrays from 0, the message object. */
#ifndef MCPDIAG_JSON_PATH_H
#define MCPDIAG_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_PATH_LEVELS 8	/* components in one path */

struct json_paths;

/* Keeps the table by reference; paths that do not follow the syntax of
 * json.h, or need more than 64 nodes, are our own mistake and assert. */
struct json_paths *json_paths_new(const char *const *paths, unsigned n);
void json_paths_free(struct json_paths *);
/* The paths that match any number of levels and have begun to at `level`. */
uint64_t json_paths_deep(const struct json_paths *, unsigned level);
/* The paths that may end at several keys of one message. */
uint64_t json_paths_multi(const struct json_paths *);

/* What a key of an object at `level` means, when `act` leads into that object:
 * the paths that end here and those that go on below. */
void json_key(const struct json_paths *, unsigned level, uint64_t act,
    const void *key, size_t n, uint64_t *ends, uint64_t *below);

/* The same for a key that comes in pieces.  First the nodes (a bit set) to
 * compare it with; */
uint64_t json_key_begin(const struct json_paths *, unsigned level, uint64_t act);
/* then those of them that are left after n bytes at offset `at` of the key
 * (`last`: it ends there); */
uint64_t json_key_part(const struct json_paths *, uint64_t nodes, size_t at,
    const void *, size_t n, bool last);
/* at last, what the nodes that are left mean. */
void json_key_end(const struct json_paths *, unsigned level, uint64_t act,
    uint64_t nodes, uint64_t *ends, uint64_t *below);

#endif
