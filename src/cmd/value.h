/* value: arguments of options that several commands have.
 * Each of these returns 0, or complains "mcpdiag COMMAND: OPTION VALUE: WANT"
 * and returns STATUS_USAGE. */
#ifndef VALUE_H
#define VALUE_H

#include "mcpdiag/buf.h"
#include "mcpdiag/finding.h"
#include "mcpdiag/where.h"

int value_bad(const char *command, const char *option, const char *value, const char *want);
/* One of the words, ended by NULL: its index.  The likely one is suggested. */
int value_word(const char *command, const char *option, const char *word,
    const char *const *words, const char *want, int *index);
/* A decimal number from min to max. */
int value_number(const char *command, const char *option, const char *value, uint64_t min,
    uint64_t max, uint64_t *);
/* --fail-on: whether findings fail, and from which severity on. */
int value_fail_on(const char *command, const char *value, bool *fail, enum severity *);
/* --color: what report_color() takes. */
int value_color(const char *command, const char *value, const char **when);
/* --where: the expression, in place of what *out was.  The message points at
 * what is wrong with it. */
int value_where(const char *command, const char *value, struct where **out);

/* Adds the text of a file: 0, or an errno; EFBIG: the buffer may not hold it. */
int value_text(const char *path, struct buf *);
/* The same of a file that an option names.  0, or STATUS_INPUT with a message. */
int value_file(const char *option, const char *path, struct buf *);

#endif
