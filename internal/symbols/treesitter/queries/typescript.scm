(function_declaration name: (identifier) @name body: (_) @body) @func
(generator_function_declaration name: (identifier) @name body: (_) @body) @func
(function_signature name: (identifier) @name) @func
(class_declaration name: (type_identifier) @name body: (_) @body) @class
(abstract_class_declaration name: (type_identifier) @name body: (_) @body) @class
(interface_declaration name: (type_identifier) @name body: (_) @body) @interface
(enum_declaration name: (identifier) @name body: (_) @body) @enum
(type_alias_declaration name: (type_identifier) @name) @type
(module name: (_) @name body: (_) @body) @module
(internal_module name: (_) @name body: (_) @body) @module
(class_body (method_definition name: (property_identifier) @name body: (_) @body) @method)
(object (method_definition name: (property_identifier) @name body: (_) @body) @member)
(class_body (method_definition name: (private_property_identifier) @name body: (_) @body) @method)
(object (method_definition name: (private_property_identifier) @name body: (_) @body) @member)
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(class_body (public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @method)
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
(extends_clause value: (identifier) @use)
(type_identifier) @use
(arrow_function body: (statement_block) @scope)
(function_expression body: (_) @scope)
(ERROR) @error
