/* complain: a line on standard error.
 * It may quote names of files and other words of the command line, which may
 * come from anywhere (mcpdiag analyze *): what a terminal would obey is
 * escaped. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

/* Without the line end. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
