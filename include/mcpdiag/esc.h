/* esc: wire bytes made safe to print.
 * All output of captured bytes goes through one of these two: control bytes,
 * DEL, C1, bidirectional and zero-width format characters, and invalid UTF-8
 * never reach a terminal or a document as themselves. */
#ifndef MCPDIAG_ESC_H
#define MCPDIAG_ESC_H

#include "mcpdiag/buf.h"

/* For a person: unsafe bytes and characters as \xNN or \u{NNNN}; at most
 * `max` output bytes, then "…". */
void esc_text(struct buf *, struct str, size_t max);
/* Inside a JSON string, without the quotes: RFC 8259 escapes; a byte that is
 * not UTF-8 becomes \ufffd. */
void esc_json(struct buf *, struct str);
/* Length of the valid UTF-8 sequence at p (1..4), or 0. */
unsigned esc_utf8(const uint8_t *p, size_t n, uint32_t *cp);

#endif
