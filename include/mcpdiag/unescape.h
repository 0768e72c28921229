/* unescape: text that was escaped for a document, back to bytes. */
#ifndef MCPDIAG_UNESCAPE_H
#define MCPDIAG_UNESCAPE_H

#include "mcpdiag/str.h"

/* The inside of a JSON string (RFC 8259 section 7) as UTF-8 into out, *n bytes
 * of it.  False when it does not fit into `max`, is no such string, or has half
 * a surrogate pair. */
bool unescape_json(struct str raw, char *out, size_t max, size_t *n);
/* Standard base64 with its padding, RFC 4648 section 4; false as above. */
bool unescape_base64(struct str text, char *out, size_t max, size_t *n);

#endif
