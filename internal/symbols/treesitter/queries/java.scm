(class_declaration name: (identifier) @name body: (_) @body) @class
(record_declaration name: (identifier) @name body: (_) @body) @class
(interface_declaration name: (identifier) @name body: (_) @body) @interface
(annotation_type_declaration name: (identifier) @name body: (_) @body) @interface
(enum_declaration name: (identifier) @name body: (_) @body) @enum
(method_declaration name: (identifier) @name body: (_)? @body) @method
(constructor_declaration name: (identifier) @name body: (_) @body) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(type_identifier) @use
(ERROR) @error
