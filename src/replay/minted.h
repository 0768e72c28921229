/* minted: values that a server mints and a client sends back, captured -> live.
 * Knows them by the names of their members: requestState, taskId,
 * subscriptionId, nextCursor and the cursor it becomes, progressToken.  Works
 * on texts that may be no JSON: what cannot be read is left as it is. */
#ifndef MINTED_H
#define MINTED_H

#include "mcpdiag/buf.h"

#define MINTED_MAX 65536U	/* pairs that are kept */

struct minted;

struct minted *minted_new(void);
void minted_free(struct minted *);
/* A message of the capture, and the one that came in its place: the k-th
 * member of a name goes with the k-th of the same name. */
void minted_learn(struct minted *, struct str captured, struct str live);
/* The body with live values in place of captured ones. */
void minted_apply(const struct minted *, struct str body, struct buf *out);
/* A message with another id, JSON as it stands, at its top; a text without such
 * an id is left as it is. */
void minted_set_id(struct str body, struct str id, struct buf *out);

/* A tools/call with the tool `from` under the name `to`: both without quotes, as
 * they stand in JSON. */
void minted_rename_tool(struct str body, struct str from, struct str to,
    struct buf *out);

#endif
