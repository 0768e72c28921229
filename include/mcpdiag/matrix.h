/* matrix: what a server's answers do to the clients of the field.
 * A row for each client (clients.h), a column for each answer that a probe has
 * seen; a cell is what that client makes of it. */
#ifndef MCPDIAG_MATRIX_H
#define MCPDIAG_MATRIX_H

#include "mcpdiag/clients.h"
#include "mcpdiag/probe.h"

enum matrix_column {
	MATRIX_FIRST,		/* its first GET */
	MATRIX_SECOND,		/* a GET while another one is open, or seems so */
	MATRIX_EARLY,		/* a resume of a stream that the server thinks alive */
	MATRIX_RESUME,		/* of a stream that was dropped */
	MATRIX_ANSWERED,	/* of a POST's stream that was answered */
	MATRIX_DEAD,		/* a GET of a session that is not */
	MATRIX_N
};

struct matrix_cell {
	bool known;		/* else: the answer was not seen, or this client
				 * never asks so */
	bool bad;		/* it loops, is deaf, or loses its session */
	char text[24];
};

const char *matrix_title(enum matrix_column);
/* The answer the column is about, or NULL. */
const char *matrix_answer(enum matrix_column, const struct probe_seen *all);
/* all: of every scenario, by enum probe_id. */
struct matrix_cell matrix_cell(const struct client_row *, enum matrix_column,
    const struct probe_seen *all);

#endif
