#include "mcpd_priv.h"

/* A PNG of one orange pixel; a WAV of eight samples of silence. */
#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP438AAAAQBAYD718vxAAAAAElFTkSuQmCC"
#define WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define NOTHING "{\"type\":\"object\"}"
#define OBJECT(p) "{\"type\":\"object\",\"properties\":{" p "}}"
#define TEXT_FIELD(n, d) "\"" n "\":{\"type\":\"string\",\"description\":\"" d "\"}"
#define NUMBER(n, d) "\"" n "\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"" d "\"}"

/* In the order of enum tool. */
static const struct tool_row {
	const char *name, *what, *schema;
	const char *content;		/* of its result, always the same */
	const char *form;		/* what the client is asked to fill in */
} tools[] = {
	{ "echo", "Returns the text", "{\"type\":\"object\",\"properties\":{"
	  TEXT_FIELD("text", "what to return") "},\"required\":[\"text\"]}", NULL, NULL },
	{ "slow", "Takes a while, reporting progress", OBJECT(NUMBER("ms",
	  "how long, milliseconds") "," NUMBER("steps", "progress notifications")),
	  NULL, NULL },
	{ "emit", "Sends notifications/tools/list_changed on the session's common channel",
	  OBJECT(NUMBER("n", "how many") "," NUMBER("interval_ms", "between two of them") ","
	  "\"all\":{\"type\":\"boolean\",\"description\":\"to every session\"},"
	  TEXT_FIELD("uri", "send resources/updated for it instead")), NULL, NULL },
	{ "big", "Returns a long text", OBJECT(NUMBER("bytes", "how long")), NULL, NULL },
	{ "fail", "A result that is an error", OBJECT("\"rpc\":{\"type\":\"boolean\","
	  "\"description\":\"answer with a JSON-RPC error instead\"}"), NULL, NULL },
	{ "ask", "Asks the client's model (sampling)",
	  OBJECT(TEXT_FIELD("prompt", "the question")), NULL, NULL },
	{ "confirm", "Asks the user (elicitation)",
	  OBJECT(TEXT_FIELD("message", "the question")), NULL,
	  "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},"
	  "\"required\":[\"ok\"]}" },
	{ "test_simple_text", "A text", NOTHING,
	  "[" TEXT("This is a simple text response for testing.") "]", NULL },
	{ "test_image_content", "An image", NOTHING, "[" IMAGE "]", NULL },
	{ "test_audio_content", "A sound", NOTHING, "[{\"type\":\"audio\",\"data\":\"" WAV
	  "\",\"mimeType\":\"audio/wav\"}]", NULL },
	{ "test_embedded_resource", "A resource", NOTHING,
	  "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
	  "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]",
	  NULL },
	{ "test_multiple_content_types", "Text, image and resource", NOTHING,
	  "[" TEXT("Multiple content types test:") "," IMAGE ",{\"type\":\"resource\","
	  "\"resource\":{\"uri\":\"test://mixed-content-resource\","
	  "\"mimeType\":\"application/json\","
	  "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]", NULL },
	{ "test_tool_with_logging", "Sends log messages", NOTHING, NULL, NULL },
	{ "test_error_handling", "A result that is an error", NOTHING, NULL, NULL },
	{ "test_tool_with_progress", "Reports progress", NOTHING, NULL, NULL },
	{ "test_sampling", "Asks the client's model",
	  OBJECT(TEXT_FIELD("prompt", "the question")), NULL, NULL },
	{ "test_elicitation", "Asks the user",
	  OBJECT(TEXT_FIELD("message", "the question")), NULL,
	  OBJECT(TEXT_FIELD("username", "User's response") ","
	  TEXT_FIELD("email", "User's email address")) },
	{ "test_elicitation_sep1034_defaults", "Asks with defaults", NOTHING, NULL,
	  "{\"type\":\"object\",\"properties\":{"
	  "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
	  "\"age\":{\"type\":\"integer\",\"default\":30},"
	  "\"score\":{\"type\":\"number\",\"default\":95.5},"
	  "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
	  "\"default\":\"active\"},"
	  "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}" },
	{ "test_elicitation_sep1330_enums", "Asks for choices", NOTHING, NULL,
	  "{\"type\":\"object\",\"properties\":{"
	  "\"untitledSingle\":{\"type\":\"string\","
	  "\"enum\":[\"option1\",\"option2\",\"option3\"]},"
	  "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
	  "{\"const\":\"value1\",\"title\":\"First Option\"},"
	  "{\"const\":\"value2\",\"title\":\"Second Option\"},"
	  "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
	  "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
	  "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
	  "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
	  "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
	  "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
	  "{\"const\":\"value1\",\"title\":\"First Choice\"},"
	  "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
	  "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}}}" },
	{ "test_reconnection", "Closes its stream; the answer comes on the resumed one",
	  NOTHING, NULL, NULL },
	{ "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
	  "\"$defs\":{\"address\":{\"type\":\"object\",\"properties\":{"
	  "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
	  "\"properties\":{\"name\":{\"type\":\"string\"},"
	  "\"address\":{\"$ref\":\"#/$defs/address\"}},\"additionalProperties\":false}",
	  "[" TEXT("done") "]", NULL },
};

_Static_assert(sizeof tools / sizeof *tools == TOOL_N, "a row for each");

static const struct resource_row {
	const char *uri, *name, *type;
	const char *key, *content;	/* text or blob, the inside of a string */
	bool fixture;
} resources[] = {
	{ "mcpdiag://readme", "readme", "text/plain", "text",
	  "The reference server of mcpdiag.", false },
	{ "test://static-text", "static-text", "text/plain", "text",
	  "This is the content of the static text resource.", true },
	{ "test://static-binary", "static-binary", "image/png", "blob", PNG, true },
	{ "test://watched-resource", "watched-resource", "text/plain", "text",
	  "This resource can be subscribed to.", true },
};

#define N_RESOURCES (sizeof resources / sizeof *resources)

/* test://template/{id}/data */
#define TEMPLATE_BEFORE "test://template/"
#define TEMPLATE_AFTER "/data"

static const struct prompt_row {
	const char *name, *what, *arguments;
	bool fixture;
} prompts[] = {
	{ "greet", "A greeting", "", false },
	{ "test_simple_prompt", "A prompt", "", true },
	{ "test_prompt_with_arguments", "A prompt with arguments",
	  "{\"name\":\"arg1\",\"required\":true},{\"name\":\"arg2\",\"required\":true}", true },
	{ "test_prompt_with_embedded_resource", "A prompt with a resource",
	  "{\"name\":\"resourceUri\",\"required\":true}", true },
	{ "test_prompt_with_image", "A prompt with an image", "", true },
};

#define N_PROMPTS (sizeof prompts / sizeof *prompts)

static bool
shown(const struct mcpd *m, bool fixture)
{
	return !fixture || m->o.conformance;
}

enum tool
tool_named(const struct mcpd *m, struct str name)
{
	int n = m->o.conformance ? TOOL_N : TOOL_FIXTURES;

	for (int i = 0; i < n; i++)
		if (str_eq(name, str_c(tools[i].name)))
			return (enum tool)i;
	return TOOL_N;
}

const char *
tool_content(enum tool tool)
{
	return tools[tool].content;
}

const char *
tool_form(enum tool tool)
{
	return tools[tool].form;
}

/* Before each element but the first. */
static void
comma(struct buf *b)
{
	if (b->p[b->n - 1] != '[')
		(void)buf_addc(b, ',');
}

void
say_tools(const struct mcpd *m, struct buf *b)
{
	(void)buf_addc(b, '[');
	for (int i = 0; i < TOOL_N; i++) {
		if (!shown(m, i >= TOOL_FIXTURES))
			continue;
		comma(b);
		(void)buf_fmt(b, "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":%s}",
		    tools[i].name, tools[i].what, tools[i].schema);
	}
	(void)buf_addc(b, ']');
}

void
say_resources(const struct mcpd *m, struct buf *b)
{
	(void)buf_addc(b, '[');
	for (size_t i = 0; i < N_RESOURCES; i++) {
		const struct resource_row *r = &resources[i];

		if (!shown(m, r->fixture))
			continue;
		comma(b);
		(void)buf_fmt(b, "{\"uri\":\"%s\",\"name\":\"%s\",\"mimeType\":\"%s\"}",
		    r->uri, r->name, r->type);
	}
	(void)buf_addc(b, ']');
}

void
say_templates(const struct mcpd *m, struct buf *b)
{
	(void)buf_addc(b, '[');
	if (m->o.conformance)
		(void)buf_adds(b, STR("{\"uriTemplate\":\"" TEMPLATE_BEFORE "{id}" TEMPLATE_AFTER
		    "\",\"name\":\"template\",\"mimeType\":\"application/json\"}"));
	(void)buf_addc(b, ']');
}

void
say_prompts(const struct mcpd *m, struct buf *b)
{
	(void)buf_addc(b, '[');
	for (size_t i = 0; i < N_PROMPTS; i++) {
		if (!shown(m, prompts[i].fixture))
			continue;
		comma(b);
		(void)buf_fmt(b, "{\"name\":\"%s\",\"description\":\"%s\",\"arguments\":[%s]}",
		    prompts[i].name, prompts[i].what, prompts[i].arguments);
	}
	(void)buf_addc(b, ']');
}

/* The id in a URI of the template; absent when it is none. */
static struct str
template_id(struct str uri)
{
	size_t a = sizeof TEMPLATE_BEFORE - 1, z = sizeof TEMPLATE_AFTER - 1;

	if (uri.n <= a + z || !str_pre(uri, STR(TEMPLATE_BEFORE)) ||
	    memcmp(uri.p + uri.n - z, TEMPLATE_AFTER, z) != 0)
		return STR_NONE;
	return str_of(uri.p + a, uri.n - a - z);
}

bool
say_contents(const struct mcpd *m, struct buf *b, struct str uri)
{
	struct str id = m->o.conformance ? template_id(uri) : STR_NONE;

	for (size_t i = 0; i < N_RESOURCES; i++) {
		const struct resource_row *r = &resources[i];

		if (!shown(m, r->fixture) || !str_eq(uri, str_c(r->uri)))
			continue;
		(void)buf_fmt(b, "{\"uri\":\"%s\",\"mimeType\":\"%s\",\"%s\":\"%s\"}",
		    r->uri, r->type, r->key, r->content);
		return true;
	}
	if (id.p == NULL)
		return false;
	/* The id is the inside of a JSON string; inside another one its
	 * escapes would have to be escaped: none are served. */
	if (memchr(id.p, '\\', id.n))
		return false;
	(void)buf_fmt(b, "{\"uri\":\"%.*s\",\"mimeType\":\"application/json\",\"text\":"
	    "\"{\\\"id\\\":\\\"%.*s\\\",\\\"templateTest\\\":true,"
	    "\\\"data\\\":\\\"Data for ID: %.*s\\\"}\"}",
	    STR_ARG(uri), STR_ARG(id), STR_ARG(id));
	return true;
}

static void
user_says(struct buf *b, const char *content)
{
	comma(b);
	(void)buf_fmt(b, "{\"role\":\"user\",\"content\":%s}", content);
}

bool
say_messages(const struct mcpd *m, struct buf *b, const struct call *c)
{
	struct str name = arg_str(c, ARG_NAME), uri = arg_str(c, ARG_RESOURCE_URI);
	struct str arg1 = arg_str(c, ARG_ARG1), arg2 = arg_str(c, ARG_ARG2);

	if (str_eq(name, STR("greet"))) {
		user_says(b, TEXT("Say hello."));
		return true;
	}
	if (!m->o.conformance)
		return false;
	if (str_eq(name, STR("test_simple_prompt"))) {
		user_says(b, TEXT("This is a simple prompt for testing."));
	} else if (str_eq(name, STR("test_prompt_with_arguments")) && arg1.p && arg2.p) {
		(void)buf_fmt(b, "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
		    "\"Prompt with arguments: arg1='%.*s', arg2='%.*s'\"}}",
		    STR_ARG(arg1), STR_ARG(arg2));
	} else if (str_eq(name, STR("test_prompt_with_embedded_resource")) && uri.p) {
		(void)buf_fmt(b, "{\"role\":\"user\",\"content\":{\"type\":\"resource\","
		    "\"resource\":{\"uri\":\"%.*s\",\"mimeType\":\"text/plain\","
		    "\"text\":\"Embedded resource content for testing.\"}}}", STR_ARG(uri));
		user_says(b, TEXT("Please process the embedded resource above."));
	} else if (str_eq(name, STR("test_prompt_with_image"))) {
		user_says(b, IMAGE);
		user_says(b, TEXT("Please analyze the image above."));
	} else {
		return false;
	}
	return true;
}
