/* xmem: allocation that does not fail.
 * Limits keep memory bounded; if the system refuses all the same, these print
 * one line on stderr and exit with status 4.  The result is freed by free(). */
#ifndef MCPDIAG_XMEM_H
#define MCPDIAG_XMEM_H

#include <stddef.h>
#include <stdint.h>

void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);	/* zeroed */
void *xrealloc(void *p, size_t n);
/* p, an array of *cap elements of which n are used, with room for one more. */
void *xgrow(void *p, size_t n, uint32_t *cap, size_t size);
/* The most memory the program has had resident so far, bytes: cheap. */
size_t xmem_peak(void);
/* Bytes of heap in use by the whole program; 0 where the system cannot tell.
 * glibc walks its free lists for this: not to be asked often. */
size_t xmem_used(void);
/* A NUL-terminated copy of n bytes. */
char *xmemdup0(const void *p, size_t n);

/* From now on a block of 256 KiB or more goes back to the system when it is
 * freed.  glibc else keeps what is no larger than what it has freed before:
 * mallopt(3), M_MMAP_THRESHOLD. */
void xmem_give_back(void);

#endif
