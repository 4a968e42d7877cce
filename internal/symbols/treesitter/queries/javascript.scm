(function_declaration name: (identifier) @name body: (_) @body) @func
(generator_function_declaration name: (identifier) @name body: (_) @body) @func
(class_declaration name: (identifier) @name body: (_) @body) @class
(class_body (method_definition name: (property_identifier) @name body: (_) @body) @method)
(object (method_definition name: (property_identifier) @name body: (_) @body) @member)
(class_body (method_definition name: (private_property_identifier) @name body: (_) @body) @method)
(object (method_definition name: (private_property_identifier) @name body: (_) @body) @member)
(class_body (field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @method)
(pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @member
(lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @value
(variable_declaration (variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @value
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (_)? @body)) @const)
(program (variable_declaration (variable_declarator name: (identifier) @name value: (_)? @body)) @const)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (_)? @body)) @const)
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @value
(export_statement) @wrap
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (property_identifier) @call))
(call_expression function: (member_expression property: (private_property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression property: (property_identifier) @call))
(class_heritage (identifier) @use)
(arrow_function body: (statement_block) @scope)
(function_expression body: (_) @scope)
(ERROR) @error
