/* util: what several unit tests share. */
#ifndef MCPDIAG_TEST_UTIL_H
#define MCPDIAG_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

/* Bytes that end where an unreadable page begins: a read past them dies. */
struct guard {
	uint8_t *p;
	size_t n, mapped;
	void *map;
};

static inline struct guard
guard_of(const void *bytes, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (n / page + 1) * page;
	struct guard g = { .n = n, .mapped = room + page };

	g.map = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	assert_int_equal(mprotect((uint8_t *)g.map + room, page, PROT_NONE),
	    0);
	g.p = (uint8_t *)g.map + room - n;
	if (n)
		memcpy(g.p, bytes, n);
	return g;
}

static inline void
guard_free(struct guard *g)
{
	(void)munmap(g->map, g->mapped);
	g->p = NULL;
}

#endif
