(function_definition name: (identifier) @name body: (_) @body) @func
(class_definition name: (identifier) @name body: (_) @body) @class
(module (expression_statement (assignment left: (identifier) @name) @var))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @var)))
(type_alias_statement . (type (_) @name)) @type
(decorated_definition) @wrap
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute attribute: (identifier) @call))
(type (identifier) @use)
(type (attribute attribute: (identifier) @use))
(type (subscript value: (identifier) @use))
(class_definition superclasses: (argument_list (identifier) @use))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @use)))
(ERROR) @error
