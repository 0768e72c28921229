/* finding: a named fault with its evidence.
 * Owned by the engine; borrowed by whoever is shown one.  All text is made of
 * our own words and of wire strings that are still unescaped: sinks escape. */
#ifndef MCPDIAG_FINDING_H
#define MCPDIAG_FINDING_H

#include "mcpdiag/ns.h"
#include "mcpdiag/str.h"

enum severity { SEV_INFO, SEV_WARNING, SEV_ERROR };
enum confidence { CONF_LOW, CONF_MEDIUM, CONF_HIGH };

struct evidence {
	struct at at;
	struct str what;
};

enum fact_type { FACT_NUM, FACT_MS, FACT_TEXT, FACT_BOOL };

struct fact {
	const char *name;	/* snake_case, static */
	enum fact_type type;
	double num;		/* count, milliseconds, or 0/1 */
	struct str text;
};

#define FINDING_MAX_EVIDENCE 64
#define FINDING_MAX_FACTS 32

struct finding {
	uint32_t n;		/* from 1, in printed order */
	const char *detector;	/* static, as in DETECTORS */
	const char *variant;	/* static, or NULL */
	enum severity severity;
	enum confidence confidence;
	bool remark;		/* of a rule of that kind, and no error:
				 * what is shown on request only */
	uint32_t session;
	const uint32_t *streams;	/* those concerned, in order */
	uint32_t n_streams;
	struct at first, last;
	uint64_t count;		/* what happened so many times */
	ns_t period, spread;	/* median and widest deviation; 0 none */
	struct str title;	/* one line: the verdict */
	struct str why;		/* what was seen, in a sentence or three */
	struct str fix;		/* what to change, and at which end */
	const char *reference;	/* man page or specification section */
	struct evidence evidence[FINDING_MAX_EVIDENCE];
	uint32_t n_evidence;
	struct fact facts[FINDING_MAX_FACTS];
	uint32_t n_facts;
	uint32_t consequence_of;	/* n of the root, 0 none */
	uint32_t sessions_alike;	/* further sessions with the same, */
	const uint32_t *alike;		/* and which */
};

const char *severity_name(enum severity);
const char *confidence_name(enum confidence);

#endif
