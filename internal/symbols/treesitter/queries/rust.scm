(function_item name: (identifier) @name body: (_) @body) @func
(function_signature_item name: (identifier) @name) @func
(struct_item name: (type_identifier) @name body: (field_declaration_list)? @body) @struct
(union_item name: (type_identifier) @name body: (_) @body) @struct
(enum_item name: (type_identifier) @name body: (_) @body) @enum
(trait_item name: (type_identifier) @name body: (_) @body) @trait
(impl_item type: (_) @name body: (_) @body) @impl
(mod_item name: (identifier) @name body: (_)? @body) @module
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(source_file [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @const)
(declaration_list [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @const)
(macro_definition name: (identifier) @name) @macro
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (scoped_identifier name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @call)))
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier name: (identifier) @call))
(type_identifier) @use
(ERROR) @error
