#include "mcpdiag/err.h"

#include <stdarg.h>
#include <stdio.h>

int
err_set(struct errmsg *em, int code, const char *fmt, ...)
{
	va_list ap;

	if (em) {
		va_start(ap, fmt);
		(void)vsnprintf(em->text, sizeof em->text, fmt, ap);
		va_end(ap);
	}
	return -code;
}
