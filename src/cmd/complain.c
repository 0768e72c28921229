#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

#include "mcpdiag/esc.h"

void
complain(const char *fmt, ...)
{
	char text[8192];
	struct buf b;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	buf_init(&b, 8 * sizeof text);
	esc_text(&b, str_c(text), 7 * sizeof text);
	(void)buf_addc(&b, '\n');
	(void)fwrite(b.p, 1, b.n, stderr);
	buf_fini(&b);
}
