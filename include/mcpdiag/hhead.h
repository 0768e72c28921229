/* hhead: words of a response head: the date, the reason. */
#ifndef MCPDIAG_HHEAD_H
#define MCPDIAG_HHEAD_H

#include "mcpdiag/ns.h"

enum { HHEAD_DATE = 30 };	/* with its NUL */

/* "Sun, 06 Nov 1994 08:49:37 GMT": RFC 9110 5.6.7, years 1970 to 9999. */
void hhead_date(char out[HHEAD_DATE], ns_t);
/* RFC 9110 15; "" for a status that has no name there. */
const char *hhead_reason(unsigned status);

#endif
