package words

// keyword is the kind of definition that a word before a name announces.
type keyword uint8

const (
	variable keyword = 1 + iota
	function
	typeWord
	controlWord // if, for, while: begins a block but no definition
)

// modifies reports whether a keyword may be combined with another one.
func (k keyword) modifies() bool { return k != controlWord }

// keywordOf returns the meaning of a word at the beginning of a definition. For most words it is 0.
func keywordOf(l Lang, w []byte) keyword {
	if len(w) < 2 || len(w) > 11 {
		return 0
	}
	switch string(w) {
	case "if", "for", "while", "switch", "catch", "return", "else", "do", "new", "throw", "sizeof", "await", "foreach", "elif", "with", "match", "assert", "synchronized", "using", "lock", "try", "finally", "loop", "unsafe", "case":
		if l == Python || l == Ruby {
			return 0
		}
		return controlWord
	case "class", "interface", "enum", "trait", "module", "record", "protocol", "extension", "object", "namespace":
		switch l {
		case Go, C, Rust, Shell, Lua, SQL, Data, Plain, Proto:
			if l == C && (w[0] == 'c' || string(w) == "enum" || w[0] == 'n') || l == Rust && (string(w) == "enum" || w[0] == 't') || l == Proto && string(w) == "enum" {
				return typeWord
			}
			return 0
		case Python:
			if w[0] != 'c' {
				return 0
			}
		case JavaScript:
			if w[0] == 'o' || w[0] == 'r' || w[0] == 'p' || w[0] == 't' || string(w) == "extension" {
				return 0
			}
		case Java:
			if w[0] == 'm' || w[0] == 'p' || w[0] == 'n' {
				return 0
			}
		}
		return typeWord
	case "struct", "union":
		if l == Go || l == Python || l == JavaScript || l == Java || l == Ruby {
			return 0
		}
		return typeWord
	case "impl", "mod":
		if l == Rust {
			return typeWord
		}
	case "message", "service":
		if l == Proto {
			return typeWord
		}
	case "macro_rules", "fn":
		if l == Rust || l == C {
			return function
		}
	case "func":
		if l == Go || l == Swift {
			return function
		}
	case "fun":
		if l == Java || l == Haskell {
			return function
		}
	case "function":
		switch l {
		case JavaScript, PHP, Lua, Shell, SQL:
			return function
		}
	case "def", "defp", "defmodule", "defmacro", "defn", "defun":
		switch l {
		case Python, Ruby, Java, Elixir, Lisp:
			return function
		}
	case "table", "view", "procedure":
		if l == SQL {
			return typeWord
		}
	case "rpc":
		if l == Proto {
			return function
		}
	case "type":
		switch l {
		case Go, Rust, JavaScript, Haskell, Proto:
			return typeWord
		}
	case "const", "var", "let", "val":
		switch l {
		case Go, JavaScript, Rust, Swift, Java, PHP:
			return variable
		}
	case "static":
		if l == Rust {
			return variable
		}
	case "define":
		if l == C || l == Lisp {
			return variable
		}
	case "mut", "async", "local":
		// "static mut NAME", "let mut name"
	}
	return 0
}
