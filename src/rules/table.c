#include <string.h>

#include "mcpdiag/rule.h"

extern const struct rule rule_leapfrog, rule_orphan, rule_replay, rule_empty,
    rule_refused, rule_stale, rule_idle_cut, rule_dead, rule_lost,
    rule_auth_churn, rule_buffered, rule_collateral, rule_collision,
    rule_contract, rule_cursor, rule_duplicate, rule_fanout, rule_half_open,
    rule_hol, rule_kills, rule_leak, rule_pile, rule_ping, rule_reinit,
    rule_retry, rule_shutdown, rule_split, rule_storm, rule_wedge, rule_wrong;

const struct rule *const rules_table[] = {
	&rule_leapfrog,
	&rule_orphan,
	&rule_replay,
	&rule_empty,
	&rule_refused,
	&rule_stale,
	&rule_idle_cut,
	&rule_dead,
	&rule_lost,
	&rule_auth_churn,
	&rule_buffered,
	&rule_collateral,
	&rule_collision,
	&rule_contract,
	&rule_cursor,
	&rule_duplicate,
	&rule_fanout,
	&rule_half_open,
	&rule_hol,
	&rule_kills,
	&rule_leak,
	&rule_pile,
	&rule_ping,
	&rule_reinit,
	&rule_retry,
	&rule_shutdown,
	&rule_split,
	&rule_storm,
	&rule_wedge,
	&rule_wrong,
	NULL,
};

const struct rule *
rule_find(const char *name)
{
	for (size_t i = 0; rules_table[i]; i++)
		if (strcmp(rules_table[i]->name, name) == 0)
			return rules_table[i];
	return NULL;
}
