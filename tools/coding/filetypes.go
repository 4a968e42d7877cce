package coding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fileTypes returns the languages that grep can be restricted to, with their file name extensions.
func fileTypes() map[string]string {
	return map[string]string{
		"c": "*.{c,h}", "cpp": "*.{cc,cpp,cxx,c++,hh,hpp,hxx,h++,h,inl}", "csharp": "*.{cs,csx}", "css": "*.{css,scss,sass,less}",
		"dart": "*.dart", "docker": "{Dockerfile,Dockerfile.*,*.dockerfile,Containerfile}", "elixir": "*.{ex,exs,eex,heex,leex}",
		"erlang": "*.{erl,hrl}", "go": "*.go", "haskell": "*.{hs,lhs}", "html": "*.{html,htm,xhtml}", "java": "*.java",
		"js": "*.{js,jsx,mjs,cjs,vue}", "json": "*.{json,jsonc,json5,jsonl}", "julia": "*.jl", "kotlin": "*.{kt,kts}", "lua": "*.lua",
		"make": "{Makefile,makefile,GNUmakefile,*.mk,*.mak}", "md": "*.{md,markdown,mdx,mdown}", "nix": "*.nix", "ocaml": "*.{ml,mli}",
		"php": "*.{php,phtml}", "proto": "*.proto", "py": "*.{py,pyi,pyx}", "r": "*.{r,R,Rmd}", "ruby": "{*.rb,*.rake,*.gemspec,Gemfile,Rakefile}",
		"rust": "*.rs", "scala": "*.{scala,sbt,sc}", "sh": "*.{sh,bash,zsh,fish,ksh}", "sql": "*.sql", "swift": "*.swift",
		"tf": "*.{tf,tfvars}", "toml": "*.toml", "ts": "*.{ts,tsx,mts,cts}", "txt": "*.txt", "xml": "*.{xml,xsd,xsl,xslt,svg}",
		"yaml": "*.{yaml,yml}", "zig": "*.zig",
	}
}

// otherTypeNames returns aliases of the types.
func otherTypeNames() map[string]string {
	return map[string]string{
		"golang": "go", "python": "py", "javascript": "js", "typescript": "ts", "tsx": "ts", "jsx": "js", "rs": "rust", "rb": "ruby",
		"c++": "cpp", "cs": "csharp", "c#": "csharp", "shell": "sh", "bash": "sh", "markdown": "md", "yml": "yaml", "kt": "kotlin",
		"terraform": "tf", "makefile": "make", "dockerfile": "docker", "protobuf": "proto", "hs": "haskell", "ex": "elixir",
	}
}

func typeFilter(name string) (nameFilter, error) {
	if name == "" {
		return nameFilter{}, nil
	}
	types := fileTypes()
	key := strings.ToLower(strings.TrimPrefix(name, "."))
	if other, ok := otherTypeNames()[key]; ok {
		key = other
	}
	glob, ok := types[key]
	if !ok {
		return nameFilter{}, fmt.Errorf("the type %q is not known; use glob instead, or one of %s", name, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
	}
	return newNameFilter(".", glob)
}
