/* event: the tables agree with the union, with the man page, and with copies. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/event.h"
#include "util.h"

/* Every field of every type gets a value of its own; names end before that. */
static void
fill(struct ev *e, enum ev_type type)
{
	static const char texts[] = "abcdefghijklmnopqrstuvwxyz";
	const struct ev_field *f = ev_fields(type);

	memset(e, 0, sizeof *e);
	e->type = type;
	for (unsigned i = 0; f[i].name; i++) {
		void *at = (char *)e + f[i].offset;

		switch ((enum ev_field_type)f[i].type) {
		case EVT_STR:
			*(struct str *)at = str_of(texts + i, 1 + i % 3);
			break;
		case EVT_BOOL:
			*(bool *)at = true;
			break;
		case EVT_U32: case EVT_FLAGS:
			*(uint32_t *)at = 1000 + i;
			break;
		case EVT_U64: case EVT_HASH:
			*(uint64_t *)at = 1ULL << 40 | i;
			break;
		case EVT_I64: case EVT_NS:
			*(int64_t *)at = (1LL << 41) + i;
			break;
		case EVT_ENUM:
			*(unsigned *)at = 1;
			break;
		}
	}
}

/* Fields neither overlap nor leave the union. */
static void
fields_lie_apart(void **state)
{
	static const size_t sizes[] = {
		[EVT_STR] = sizeof(struct str), [EVT_BOOL] = sizeof(bool),
		[EVT_U32] = 4, [EVT_U64] = 8, [EVT_I64] = 8, [EVT_NS] = 8,
		[EVT_HASH] = 8, [EVT_ENUM] = sizeof(enum ev_end), [EVT_FLAGS] = 4,
	};

	(void)state;
	for (unsigned t = 0; t < EV_N_TYPES; t++) {
		const struct ev_field *f = ev_fields((enum ev_type)t);
		bool taken[sizeof(struct ev)] = { false };

		for (; f->name; f++) {
			assert_true(f->offset >= offsetof(struct ev, u));
			assert_true(f->offset + sizes[f->type] <= sizeof(struct ev));
			assert_true((f->type == EVT_ENUM) == (f->names != NULL));
			for (size_t k = 0; k < sizes[f->type]; k++) {
				if (taken[f->offset + k])
					fail_msg("%s.%s overlaps",
					    ev_type_name((enum ev_type)t), f->name);
				taken[f->offset + k] = true;
			}
		}
	}
}

static void
names_come_back(void **state)
{
	static const struct {
		const char *const *names;
		unsigned n;
	} lists[] = {
		{ ev_dir_names, EV_S2C + 1 },
		{ ev_transport_names, EV_MODERN + 1 },
		{ ev_kind_names, EV_UNKNOWN_KIND + 1 },
		{ ev_end_names, EV_OPEN + 1 }, { ev_role_names, EV_CLOSED + 1 },
		{ ev_by_names, EV_BY_RESPONSE + 1 },
		{ ev_msg_names, EV_MSG_INVALID + 1 },
		{ ev_channel_names, EV_CH_COMMON + 1 }, { ev_flag_names, 9 },
	};

	(void)state;
	for (unsigned t = 0; t < EV_N_TYPES; t++)
		assert_int_equal(ev_type_of(str_c(ev_type_name((enum ev_type)t))), t);
	assert_int_equal(ev_type_of(STR("requests")), EV_N_TYPES);
	assert_int_equal(ev_type_of(STR("")), EV_N_TYPES);
	for (size_t i = 0; i < N_ROWS(lists); i++) {
		for (unsigned k = 0; k < lists[i].n; k++)
			assert_non_null(lists[i].names[k]);
		assert_null(lists[i].names[lists[i].n]);
	}
	assert_string_equal(ev_flag_names[8], "final");
	assert_int_equal(EVF_FINAL, 1 << 8);
	assert_string_equal(severity_name(SEV_ERROR), "error");
	assert_string_equal(confidence_name(CONF_LOW), "low");
}

static void
clone_owns_its_strings(void **state)
{
	(void)state;
	for (unsigned t = 0; t < EV_N_TYPES; t++) {
		const struct ev_field *f;
		struct ev e, *copy;

		if (t == EV_FINDING)
			continue;
		fill(&e, (enum ev_type)t);
		copy = ev_clone(&e);
		for (f = ev_fields((enum ev_type)t); f->name; f++) {
			const struct str *a, *b;

			if (f->type != EVT_STR)
				continue;
			a = (const void *)((const char *)&e + f->offset);
			b = (const void *)((const char *)copy + f->offset);
			assert_true(str_eq(*a, *b));
			assert_true(a->p != b->p);
		}
		ev_free(copy);
	}
}

static void
clone_keeps_empty_and_absent_apart(void **state)
{
	struct ev e = { .type = EV_REQUEST }, *copy;

	(void)state;
	e.u.req.method = STR("");
	copy = ev_clone(&e);
	assert_non_null(copy->u.req.method.p);
	assert_int_equal(copy->u.req.method.n, 0);
	assert_null(copy->u.req.cursor.p);
	ev_free(copy);
	ev_free(NULL);
}

static char *
slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 18);
	size_t n;

	if (f == NULL) {
		free(text);
		return NULL;
	}
	n = fread(text, 1, (1 << 18) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

/* mcpdiag-events(5) tells of every type, field, flag and word. */
static void
the_man_page_is_complete(void **state)
{
	const char *path = getenv("MCPDIAG_EVENTS_MAN");
	char *text = slurp(path ? path : "man/mcpdiag-events.5");
	char want[80];
	const struct ev_field *f;
	const char *section;

	(void)state;
	if (text == NULL)
		skip();
	for (unsigned t = 0; t < EV_N_TYPES; t++) {
		(void)snprintf(want, sizeof want, ".Ss %s\n",
		    ev_type_name((enum ev_type)t));
		section = strstr(text, want);
		if (section == NULL)
			fail_msg("no section %s", want);
		for (f = ev_fields((enum ev_type)t); f->name; f++) {
			const char *next = strstr(section + 4, "\n.S"), *hit;

			(void)snprintf(want, sizeof want, "\n.It Cm %s ", f->name);
			hit = strstr(section, want);
			if (hit == NULL || (next && hit > next))
				fail_msg("%s: no member %s",
				    ev_type_name((enum ev_type)t), f->name);
			for (int k = 0; f->names && f->names[k]; k++)
				if (strstr(text, f->names[k]) == NULL)
					fail_msg("no word %s", f->names[k]);
		}
	}
	for (int k = 0; ev_flag_names[k]; k++) {
		(void)snprintf(want, sizeof want, "\n.It Cm %s\n", ev_flag_names[k]);
		if (strstr(text, want) == NULL)
			fail_msg("no flag %s", ev_flag_names[k]);
	}
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_lie_apart),
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(clone_owns_its_strings),
		cmocka_unit_test(clone_keeps_empty_and_absent_apart),
		cmocka_unit_test(the_man_page_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
