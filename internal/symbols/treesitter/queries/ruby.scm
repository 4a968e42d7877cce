(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @func
(singleton_method name: (_) @name) @func
(call method: (identifier) @call)
(superclass (constant) @use)
(ERROR) @error
