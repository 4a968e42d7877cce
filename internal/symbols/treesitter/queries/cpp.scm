(function_definition declarator: (function_declarator declarator: (_) @name) body: (_) @body) @func
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)) body: (_) @body) @func
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name)) body: (_) @body) @func
(declaration declarator: (function_declarator declarator: (identifier) @name)) @decl
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @decl
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @method
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @method
(class_specifier name: (_) @name body: (_) @body) @class
(struct_specifier name: (_) @name body: (_) @body) @struct
(union_specifier name: (_) @name body: (_) @body) @struct
(enum_specifier name: (_) @name body: (_) @body) @enum
(namespace_definition name: (_) @name body: (_) @body) @module
(type_definition declarator: (type_identifier) @name) @type
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (_) @name) @type
(preproc_def name: (identifier) @name value: (_)) @macro
(preproc_function_def name: (identifier) @name) @macro
(template_declaration) @wrap
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (qualified_identifier name: (identifier) @call))
(type_identifier) @use
(ERROR) @error
