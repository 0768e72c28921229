/* report: how a report looks where it goes. */
#ifndef REPORT_H
#define REPORT_H

#include "output.h"

/* when: "always", "never", NULL or "auto": then NO_COLOR, FORCE_COLOR, and
 * what the output is decide. */
bool report_color(const char *when, const struct output *);
/* Columns to wrap at. */
unsigned report_width(const struct output *);

#endif
