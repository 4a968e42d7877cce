(class_declaration name: (identifier) @name body: (_)? @body) @class
(record_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name body: (_)? @body) @interface
(enum_declaration name: (identifier) @name body: (_)? @body) @enum
(namespace_declaration name: (_) @name body: (_) @body) @module
(method_declaration name: (identifier) @name body: (_)? @body) @method
(constructor_declaration name: (identifier) @name body: (_)? @body) @method
(property_declaration name: (identifier) @name accessors: (_)? @body) @property
(delegate_declaration name: (identifier) @name) @type
(invocation_expression function: (identifier) @call)
(invocation_expression function: (member_access_expression name: (identifier) @call))
(object_creation_expression type: (identifier) @call)
(base_list (identifier) @use)
(ERROR) @error
