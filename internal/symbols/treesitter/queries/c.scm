(function_definition declarator: (function_declarator declarator: (identifier) @name) body: (_) @body) @func
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)) body: (_) @body) @func
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) body: (_) @body) @func
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name value: (_) @body)) @var)
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name) value: (_) @body)) @var)
(struct_specifier name: (type_identifier) @name body: (_) @body) @struct
(union_specifier name: (type_identifier) @name body: (_) @body) @struct
(enum_specifier name: (type_identifier) @name body: (_) @body) @enum
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @type
(preproc_def name: (identifier) @name value: (_)) @macro
(preproc_function_def name: (identifier) @name) @macro
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(type_identifier) @use
(ERROR) @error
