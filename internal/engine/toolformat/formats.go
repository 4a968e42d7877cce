package toolformat

// thinkTags holds the markers that most models put around their reasoning.
var thinkTags = Think{Open: []string{"<think>"}, Close: []string{"</think>"}}

// thinkTagsOrCall holds the same markers, for models that may write a call directly after their
// thinking, without closing it.
var thinkTagsOrCall = Think{Open: thinkTags.Open, Close: thinkTags.Close, CallEnds: true}

// deepseekSections lists the spellings of the section markers that DeepSeek models have written.
var deepseekSections = []Wrap{
	{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
	{"<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"},
	{"<｜tool calls begin｜>", "<｜tool calls end｜>"},
	{`<｜tool\_calls\_begin｜>`, `<｜tool\_calls\_end｜>`},
	{"<｜tool▁calls｜>", "<｜tool▁calls▁end｜>"},
}

// harmonyCalls returns the headers of calls that gpt-oss models write: the recipient before or
// after the channel, either channel, and the type of the arguments in several ways or not at all.
func harmonyCalls() []string {
	var all []string
	for _, channel := range []string{"commentary", "analysis"} {
		for _, kind := range []string{" <|constrain|>json", "<|constrain|>json", " json", " code", ""} {
			all = append(all, "<|channel|>"+channel+" to=functions.$"+kind, " to=functions.$<|channel|>"+channel+kind)
		}
	}
	return all
}

// hermesExample is an example of a call as in many templates, most of them of the hermes-json
// format.
const hermesExample = `{\"name\": <function-name>, \"arguments\": <args-json-object>}`

// formats is the table of all formats. The order does not matter.
var formats = []*Format{
	{
		Name: "hermes-json",
		Templates: [][]string{
			{"<tool_call>"},
			{`<tool_call>\n{"name"`},
			{`<tool_call>\n{\"name\"`},
			{`{"name": <function-name>, "arguments": <args-json-object>}`},
			{hermesExample},
		},
		Think:  thinkTags,
		Calls:  []Wrap{{"<tool_call>", "</tool_call>"}},
		Syntax: Object,
		Layout: Layout{Lead: "\n", Tail: "\n", Sep: "\n", One: true},
	},
	{
		Name:      "reka",
		Templates: [][]string{{"<tool_call>", "<sep>", "assistant:"}, {"<tool_call>", "<sep>", "human:"}, {"<sep>", hermesExample}},
		Think:     thinkTags,
		Drop:      []string{"<sep>"},
		Calls:     []Wrap{{"<tool_call>", "</tool_call>"}, {"\n<tool_call>", "</tool_call>"}},
		Syntax:    Object,
		Layout:    Layout{Lead: "\n", Tail: "\n", Sep: "\n", One: true},
	},
	{
		Name:      "qwen3-coder-xml",
		Templates: [][]string{{"<function=", "<parameter="}, {"<tool_call>", "<function=", "<parameter="}},
		Think:     thinkTagsOrCall,
		Sections:  []Wrap{{"<tool_call>", "</tool_call>"}},
		Calls:     []Wrap{{"<function=", "</function>"}}, LooseCalls: true,
		Syntax: Params,
		Head:   Head{End: []string{">"}},
		Param:  Param{Open: "<parameter=", End: ">", Close: "</parameter>", Lines: true},
		Layout: Layout{Begin: " ", Lead: "\n", Tail: "\n", Sep: "\n", One: true, Args: "\n", ArgsEnd: "\n"},
	},
	{
		Name:      "seed-oss-xml",
		Templates: [][]string{{"<seed:tool_call>"}, {"<seed:tool_call>", "<function=", "<parameter="}},
		Think:     Think{Open: []string{"<seed:think>"}, Close: []string{"</seed:think>"}},
		Sections:  []Wrap{{"<seed:tool_call>", "</seed:tool_call>"}},
		Calls:     []Wrap{{"<function=", "</function>"}},
		Syntax:    Params,
		Head:      Head{End: []string{">"}},
		Param:     Param{Open: "<parameter=", End: ">", Close: "</parameter>"},
		Layout:    Layout{Lead: "\n", Tail: "\n", Sep: "\n", One: true, Args: "\n", ArgsEnd: "\n"},
	},
	{
		Name:      "glm4-xml",
		Templates: [][]string{{"<arg_key>", "<arg_value>"}, {"<tool_call>", "<arg_key>", "<arg_value>"}},
		Think:     thinkTagsOrCall,
		Calls:     []Wrap{{"<tool_call>", "</tool_call>"}},
		Syntax:    Params,
		Head:      Head{End: []string{"\n"}, Peek: []string{"<arg_key>", "</tool_call>"}},
		Param:     Param{Open: "<arg_key>", End: "<arg_value>", Cut: "</arg_key>", Close: "</arg_value>"},
		Layout:    Layout{Begin: "\n", Sep: "\n", Key: "\n", ArgsEnd: "\n"},
	},
	{
		Name:      "minimax-m2-xml",
		Templates: [][]string{{"<minimax:tool_call>"}},
		Think:     thinkTagsOrCall,
		Sections:  []Wrap{{"<minimax:tool_call>", "</minimax:tool_call>"}},
		Calls:     []Wrap{{`<invoke name="`, "</invoke>"}},
		Syntax:    Params,
		Head:      Head{End: []string{">"}, Cut: `"`},
		Param:     Param{Open: `<parameter name="`, End: ">", Cut: `"`, Close: "</parameter>"},
		Layout:    Layout{Begin: "\n", Lead: "\n", Tail: "\n", Sep: "\n", Args: "\n", ArgsEnd: "\n"},
	},
	{
		Name:      "minimax-m3",
		Templates: [][]string{{"]<]minimax[>["}},
		Think:     Think{Open: []string{"<mm:think>"}, Close: []string{"</mm:think>"}, CallEnds: true},
		Sections:  []Wrap{{"]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>"}},
		Calls:     []Wrap{{`]<]minimax[>[<invoke name="`, "]<]minimax[>[</invoke>"}},
		Syntax:    Params,
		Head:      Head{End: []string{">"}, Cut: `"`},
		Param: Param{
			Open: "]<]minimax[>[<", End: ">", Close: "]<]minimax[>[</$>",
			Nested: "]<]minimax[>[<",
		},
		Layout: Layout{Lead: "\n", Tail: "\n", Sep: "\n"},
	},
	{
		Name:      "minimax-m1",
		Templates: [][]string{{"<tool_calls>", "<beginning_of_sentence>"}},
		Think:     thinkTags,
		Drop:      []string{"<end_of_sentence>"},
		Sections:  []Wrap{{"<tool_calls>", "</tool_calls>"}},
		Syntax:    Object,
		Layout:    Layout{Lead: "\n", Tail: "\n", Sep: "\n"},
	},
	{
		Name:      "minicpm5",
		Templates: [][]string{{`<function name="`, `<param name="`}},
		Think:     thinkTagsOrCall,
		Calls:     []Wrap{{`<function name="`, "</function>"}},
		Syntax:    Params,
		Head:      Head{End: []string{">"}, Cut: `"`},
		Param:     Param{Open: `<param name="`, End: ">", Cut: `"`, Close: "</param>", CDATA: true},
	},
	{
		Name:      "step3",
		Templates: [][]string{{"<steptml:invoke"}, {"steptml:"}},
		Think:     thinkTags,
		Sections:  []Wrap{{"<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"}},
		Calls: []Wrap{
			{`<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="`, "</steptml:invoke>"},
			{`<steptml:invoke name="`, "</steptml:invoke>"},
		},
		Junk:   []string{"<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>"},
		Syntax: Params,
		Head:   Head{End: []string{">"}, Cut: `"`},
		Param:  Param{Open: `<steptml:parameter name="`, End: ">", Cut: `"`, Close: "</steptml:parameter>"},
		Layout: Layout{Lead: "\n", Tail: "\n", Sep: "\n", Args: "\n", ArgsEnd: "\n", CallEnd: "<｜tool_call_end｜>"},
	},
	{
		Name:      "deepseek-dsml",
		Templates: [][]string{{"｜DSML｜"}},
		Think:     thinkTagsOrCall,
		Sections: []Wrap{
			{"\n\n<｜DSML｜function_calls>", "</｜DSML｜function_calls>"},
			{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>"},
			{"\n\n<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"},
			{"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"},
		},
		Calls:  []Wrap{{`<｜DSML｜invoke name="`, "</｜DSML｜invoke>"}},
		Syntax: Params,
		Head:   Head{End: []string{">"}, Cut: `"`},
		Param: Param{
			Open: `<｜DSML｜parameter name="`, End: ">", Cut: `"`, Close: "</｜DSML｜parameter>",
			IsString: `string="true"`, Attr: `string="false"`,
		},
		Layout: Layout{Lead: "\n", Tail: "\n", Sep: "\n", Args: "\n", ArgsEnd: "\n"},
	},
	{
		Name:      "kimi-k3",
		Templates: [][]string{{"<|open|>", "<|close|>", "<|sep|>"}},
		Think: Think{
			Open: []string{"<|open|>think<|sep|>"}, Close: []string{"<|close|>think<|sep|>"},
			CallEnds: true, Ends: []string{"<|open|>response<|sep|>"},
		},
		Drop: []string{
			"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
			`<|open|>message role="assistant"<|sep|>`,
		},
		Sections: []Wrap{{"<|open|>tools<|sep|>", "<|close|>tools<|sep|>"}},
		Calls:    []Wrap{{`<|open|>call tool="`, "<|close|>call<|sep|>"}},
		Syntax:   Params,
		Head:     Head{End: []string{"<|sep|>"}, Cut: `"`},
		Param: Param{
			Open: `<|open|>argument key="`, End: "<|sep|>", Cut: `"`, Close: "<|close|>argument<|sep|>",
			IsString: `type="string"`, Attr: `type="$"`,
		},
		Layout: Layout{Attrs: ` index="#"`},
	},
	{
		Name:      "muse-glimmer",
		Templates: [][]string{{"<atem:function_calls>"}, {"atem:invoke"}},
		Channels: &Channels{
			Start: "<|start|>assistant", Message: "<|message|>", End: []string{"<|eot|>", "<|eom|>"},
			To: "to=", Users: []string{"user", "assistant"}, Self: "self",
			Answer: " to=user", Thought: " to=self", ToCall: []string{" to=$"}, Next: "<|eom|><|start|>assistant",
		},
		Stops:     []string{"<|eot|>"},
		Sections:  []Wrap{{"<atem:function_calls>", "</atem:function_calls>"}},
		Calls:     []Wrap{{`<atem:invoke name="`, "</atem:invoke>"}},
		Syntax:    Params,
		Head:      Head{End: []string{">"}, Cut: `"`},
		Param:     Param{Open: `<atem:parameter name="`, End: ">", Cut: `"`, Close: "</atem:parameter>"},
		TextAfter: true,
		Layout:    Layout{Lead: "\n", Tail: "\n", Sep: "\n", Args: "\n", ArgsEnd: "\n"},
	},
	{
		Name:      "harmony",
		Templates: [][]string{{"<|channel|>", "<|message|>", "<|start|>assistant"}, {"<|channel|>analysis"}},
		Channels: &Channels{
			Start: "<|start|>assistant", Channel: "<|channel|>", Message: "<|message|>",
			End:      []string{"<|end|>", "<|call|>", "<|return|>"},
			Thinking: "analysis", To: "to=", Users: []string{"user", "assistant"}, Prefix: "functions.",
			Answer: "<|channel|>final", Thought: "<|channel|>analysis", Preamble: "<|channel|>commentary",
			ToCall: harmonyCalls(),
			Next:   "<|end|><|start|>assistant",
		},
		Stops:     []string{"<|call|>", "<|return|>"},
		Syntax:    JSON,
		TextAfter: true,
	},
	{
		Name:      "deepseek-v3",
		Templates: [][]string{{"<｜tool▁calls▁begin｜>", "```json"}},
		Think:     thinkTagsOrCall,
		Sections:  deepseekSections,
		Calls: []Wrap{
			{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
			{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"},
			{"function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
		},
		Drop:   []string{"<｜end▁of▁sentence｜>"},
		Syntax: JSON,
		Head:   Head{End: []string{"\n", "<｜tool▁sep｜>"}, Peek: []string{"```", "{"}},
		Fence:  true,
		Layout: Layout{Sep: "\n", Args: "```json\n", ArgsEnd: "\n```"},
	},
	{
		Name:      "deepseek-r1",
		Templates: [][]string{{"<｜tool▁calls▁begin｜>", "```json", "</think>"}},
		Think:     thinkTagsOrCall,
		Sections:  deepseekSections,
		Calls: []Wrap{
			{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
			{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"},
			{"function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
		},
		Drop:   []string{"<｜end▁of▁sentence｜>"},
		Syntax: JSON,
		Head:   Head{End: []string{"\n", "<｜tool▁sep｜>"}, Peek: []string{"```", "{"}},
		Fence:  true,
		Layout: Layout{Sep: "\n", Args: "```json\n", ArgsEnd: "\n```"},
	},
	{
		Name: "deepseek-v3.1",
		Templates: [][]string{
			{"<｜tool▁calls▁begin｜>"},
			{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>' + tool['function']['name'] + '<｜tool▁sep｜>"},
		},
		Think:    thinkTagsOrCall,
		Sections: deepseekSections,
		Calls: []Wrap{
			{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"},
			{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
		},
		Drop:   []string{"<｜end▁of▁sentence｜>"},
		Syntax: JSON,
		Head:   Head{End: []string{"<｜tool▁sep｜>", "\n"}, Peek: []string{"```", "{"}},
	},
	{
		Name:      "kimi-k2",
		Templates: [][]string{{"<|tool_calls_section_begin|>"}},
		Think:     thinkTagsOrCall,
		Sections: []Wrap{
			{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
			// Line breaks that the model wrote as an escape sequence belong to the marker.
			{`\n<|tool_calls_section_begin|>`, "<|tool_calls_section_end|>"},
		},
		Calls: []Wrap{{"<|tool_call_begin|>", "<|tool_call_end|>"}}, LooseCalls: true,
		Junk:   []string{`\n`},
		Syntax: JSON,
		Head: Head{
			End: []string{"<|tool_call_argument_begin|>"}, Prefix: "functions.", Index: ":", IsID: true,
		},
	},
	{
		Name:      "mistral-args",
		Templates: [][]string{{"[TOOL_CALLS]", "[ARGS]"}},
		Think:     Think{Open: []string{"[THINK]"}, Close: []string{"[/THINK]"}, CallEnds: true, UnlessClosed: true},
		Calls:     []Wrap{{"[TOOL_CALLS]", ""}},
		Syntax:    JSON,
		Head:      Head{End: []string{"[ARGS]"}, Peek: []string{"{"}, Cut: "[CALL_ID]", CutID: true},
	},
	{
		Name:      "mistral-json",
		Templates: [][]string{{"[TOOL_CALLS]"}},
		Think:     Think{Open: []string{"[THINK]", "<think>"}, Close: []string{"[/THINK]", "</think>"}},
		Sections:  []Wrap{{"[TOOL_CALLS]", ""}},
		Syntax:    Object,
		Layout:    Layout{List: true, Sep: ", ", ID: "id"},
	},
	{
		Name:      "functionary-31",
		Stops:     []string{"<|eom_id|>", "<|eot_id|>"},
		Templates: [][]string{{"<function="}, {"<function=", "<|python_tag|>"}, {"<function=", "</function>", "<|python_tag|>", "<|start_header_id|>"}},
		Calls:     []Wrap{{"<function=", "</function>"}},
		Syntax:    JSON,
		Head:      Head{End: []string{">"}},
	},
	{
		Name:      "functionary-32",
		Templates: [][]string{{">>>all"}, {">>>", "recipient"}},
		Calls:     []Wrap{{">>>", ""}}, LooseCalls: true,
		Syntax:    JSON,
		Head:      Head{End: []string{"\n"}, Answer: "all"},
		Code:      "code",
		TextAfter: true,
	},
	{
		Name:      "llama3-json",
		Templates: [][]string{{"<|start_header_id|>", "<|eom_id|>"}, {"<|start_header_id|>", `"parameters": `}, {"<|start_header_id|>", "Environment: ipython"}},
		Stops:     []string{"<|eom_id|>", "<|eot_id|>"},
		Drop:      []string{"<|eom_id|>", "<|eot_id|>"},
		Sections:  []Wrap{{"<|python_tag|>", ""}},
		Syntax:    Object,
		Bare:      Whole,
		Layout:    Layout{Sep: "; ", Arguments: "parameters"},
	},
	{
		Name:      "json",
		Templates: [][]string{},
		Think:     thinkTags,
		Syntax:    Object,
		Bare:      Anywhere,
		TextAfter: true,
		Layout:    Layout{Sep: "\n"},
	},
	{
		Name:      "cohere-action",
		Templates: [][]string{{"<|START_ACTION|>"}, {"<|CHATBOT_TOKEN|>", "Action:"}},
		Think: Think{
			Open: []string{"<|START_THINKING|>"}, Close: []string{"<|END_THINKING|>"}, CallEnds: true,
			Ends: []string{"<|START_RESPONSE|>", "<|START_TEXT|>"},
		},
		Drop: []string{
			"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
			"<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>",
		},
		Sections: []Wrap{
			{"<|START_ACTION|>", "<|END_ACTION|>"},
			{"Action: ```json\n", "```"},
			{"Action:\n```json\n", "```"},
			{"Action:```json\n", "```"},
		},
		Syntax:    Object,
		TextAfter: true,
		Layout:    Layout{Lead: "\n    ", Tail: "\n", List: true, Sep: ",\n    ", ID: "tool_call_id", IDFirst: true, IDs: `[0-9]{1,2}`, Name: "tool_name", Arguments: "parameters"},
	},
	{
		Name:      "granite-json",
		Templates: [][]string{{"<|start_of_role|>"}, {"<|start_of_role|>", "<|tool_call|>"}, {"<|start_of_role|>", "<tool_call>", "<function-name>"}, {"<|start_of_role|>", hermesExample}},
		Think:     thinkTags,
		Drop:      []string{"<response>", "</response>", "<|end_of_text|>"},
		Sections:  []Wrap{{"<|tool_call|>", ""}, {"<tool_call>", "</tool_call>"}},
		Syntax:    Object,
		Layout:    Layout{List: true, Sep: ", "},
	},
	{
		Name:      "nemotron-v2",
		Templates: [][]string{{"<TOOLCALL>"}},
		Think:     thinkTags,
		Sections:  []Wrap{{"<TOOLCALL>", "</TOOLCALL>"}},
		Syntax:    Object,
		Layout:    Layout{List: true, Sep: ", "},
	},
	{
		Name:      "apertus",
		Templates: [][]string{{"<|tools_prefix|>"}},
		Think:     Think{Open: []string{"<|inner_prefix|>"}, Close: []string{"<|inner_suffix|>"}, CallEnds: true, Anywhere: true},
		Drop:      []string{"<|assistant_end|>"},
		Sections:  []Wrap{{"<|tools_prefix|>", "<|tools_suffix|>"}},
		Syntax:    Object,
		NameIsKey: true,
		Layout:    Layout{List: true, Sep: ", "},
	},
	{
		Name:      "apriel",
		Templates: [][]string{{"[BEGIN FINAL RESPONSE]"}, {"[BEGIN FINAL RESPONSE]", "<tool_calls>"}, {"<|begin_assistant|>"}},
		Think: Think{
			Open: []string{
				"Here are my reasoning steps:", "<|begin_assistant|>",
				"<|begin_assistant|>\nHere are my reasoning steps:",
			},
			Words: "Here are my reasoning steps:",
			Close: []string{"[BEGIN FINAL RESPONSE]"}, CallEnds: true,
		},
		Drop:     []string{"[END FINAL RESPONSE]", "<|end|>"},
		Sections: []Wrap{{"<tool_calls>", "</tool_calls>"}},
		Syntax:   Object,
		Layout:   Layout{List: true, Sep: ", "},
	},
	{
		Name:      "gigachat",
		Templates: [][]string{{"<|function_call|>"}, {"role_sep", "function_call", "message_sep"}},
		Drop:      []string{"<|message_sep|>"},
		Sections: []Wrap{
			{"<|function_call|>", ""},
			{"<|message_sep|>\n\nfunction call<|role_sep|>\n", ""},
			{"function call<|role_sep|>\n", ""},
		},
		Syntax: Object,
		Layout: Layout{Sep: "\n"},
	},
	{
		Name:      "firefunction",
		Templates: [][]string{{"functools["}},
		Sections:  []Wrap{{" functools", ""}, {"functools", ""}},
		Syntax:    Object,
		Layout:    Layout{List: true, Sep: ", "},
	},
	{
		Name:      "lfm2-pythonic",
		Templates: [][]string{{"<|tool_call_start|>"}, {"<|tool_list_start|>"}, {"keep_past_thinking", "List of tools: ["}},
		Think:     thinkTags,
		Sections:  []Wrap{{"<|tool_call_start|>", "<|tool_call_end|>"}},
		Syntax:    Python,
		Remarks:   true,
		Layout:    Layout{List: true, Sep: ", "},
	},
	{
		Name:      "pythonic",
		Templates: [][]string{{"<|python_start|>"}, {"[func_name1(params_name1=params_value1"}, {"<|start_header_id|>", "[func_name1(params_name1=params_value1"}, {"[func_name1(param1=value1"}},
		Sections:  []Wrap{{"<|python_start|>", "<|python_end|>"}},
		Syntax:    Python,
		Bare:      Anywhere,
		TextAfter: true,
		Layout:    Layout{List: true, Sep: ", "},
	},
	{
		Name:      "gemma4",
		Templates: [][]string{{"<|tool_call>call:"}},
		Think: Think{
			Open: []string{"<|channel>thought"}, Close: []string{"<channel|>"}, Anywhere: true, CallEnds: true,
		},
		Drop:   []string{"<|channel>", "<channel|>", "<turn|>", "<|tool_response>"},
		Calls:  []Wrap{{"<|tool_call>call:", "<tool_call|>"}},
		Syntax: Loose,
		Head:   Head{Peek: []string{"{"}},
		Quote:  `<|"|>`,
	},
}

// Formats returns the names of all formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}

// Lookup returns the format of a name, or nil.
func Lookup(name string) *Format {
	for _, f := range formats {
		if f.Name == name {
			return f
		}
	}
	return nil
}
