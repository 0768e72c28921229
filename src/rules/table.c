#include "mcpdiag/rule.h"

extern const struct rule rule_leapfrog, rule_orphan, rule_replay, rule_empty,
    rule_refused, rule_stale, rule_idle_cut, rule_dead, rule_lost,
    rule_buffered, rule_collision, rule_contract, rule_cursor, rule_duplicate,
    rule_half_open, rule_kills, rule_leak, rule_pile, rule_reinit,
    rule_shutdown, rule_split, rule_storm, rule_wrong;

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
	&rule_buffered,
	&rule_collision,
	&rule_contract,
	&rule_cursor,
	&rule_duplicate,
	&rule_half_open,
	&rule_kills,
	&rule_leak,
	&rule_pile,
	&rule_reinit,
	&rule_shutdown,
	&rule_split,
	&rule_storm,
	&rule_wrong,
	NULL,
};
