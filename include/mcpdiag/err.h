/* err: error codes and the sentence that goes with them.
 * Set-up errors are a negative code plus a message a person can act on.
 * Wire errors are not errors: they are reported as anomalies. */
#ifndef MCPDIAG_ERR_H
#define MCPDIAG_ERR_H

enum {
	E_SYNTAX = 1,	/* bytes that do not follow the format */
	E_LIMIT,	/* a bound was reached */
	E_IO,		/* a system call failed */
	E_FORMAT,	/* not a format we know */
	E_USAGE,	/* the caller asked for something impossible */
	E_MORE,		/* more input is needed */
};

struct errmsg {
	char text[256];
};

/* Formats the sentence into *em (which may be NULL) and returns -code. */
int err_set(struct errmsg *em, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
