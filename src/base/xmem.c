#include "mcpdiag/xmem.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SMALL 1024

static void *
check(void *p)
{
	static const char msg[] = "mcpdiag: out of memory: "
	    "lower --limit memory=, or analyze a smaller capture\n";

	if (p == NULL) {
		if (write(STDERR_FILENO, msg, sizeof msg - 1) < 0) {
			/* nothing left to do */
		}
		_exit(4);
	}
	return p;
}

void *
xmalloc(size_t n)
{
	return check(malloc(n ? n : 1));
}

void *
xcalloc(size_t count, size_t size)
{
	size_t n = size && count <= SMALL / size ? count * size : 0;
	void *p;

	/* glibc before 2.41 keeps freed small blocks ready for malloc() only. */
	if (n) {
		p = xmalloc(n);
		__asm__("" : "+r"(p));		/* else compilers make it calloc() */
		return memset(p, 0, n);
	}
	return check(calloc(count ? count : 1, size ? size : 1));
}

void *
xrealloc(void *p, size_t n)
{
	return check(realloc(p, n ? n : 1));
}

size_t
xmem_peak(void)
{
	struct rusage ru;

	return getrusage(RUSAGE_SELF, &ru) == 0 ? (size_t)ru.ru_maxrss << 10 : 0;
}

size_t
xmem_used(void)
{
#ifdef __GLIBC__
	struct mallinfo2 mi = mallinfo2();

	return mi.uordblks + mi.hblkhd;
#else
	return 0;
#endif
}

void
xmem_give_back(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

void *
xgrow(void *p, size_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap ? *cap * 2 : 2;
	return xrealloc(p, *cap * size);
}

char *
xmemdup0(const void *p, size_t n)
{
	char *s = xmalloc(n + 1);

	if (n)
		memcpy(s, p, n);
	s[n] = '\0';
	return s;
}
