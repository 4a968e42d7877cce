(class_declaration name: (name) @name body: (_) @body) @class
(interface_declaration name: (name) @name body: (_) @body) @interface
(trait_declaration name: (name) @name body: (_) @body) @trait
(enum_declaration name: (name) @name body: (_) @body) @enum
(function_definition name: (name) @name body: (_) @body) @func
(method_declaration name: (name) @name body: (_)? @body) @method
(function_call_expression function: (name) @call)
(member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression (name) @call)
(named_type (name) @use)
(ERROR) @error
