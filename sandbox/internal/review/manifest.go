package review

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// look returns how to review the contents of a path, or nil if its name alone decides.
func (p *Paths) look(rel string) look {
	base := fold(tree.BaseName(rel))
	for name := range names(tree.BaseName(rel)) {
		base = name
	}
	l := lookAt(base)
	switch {
	case l == nil || !p.about(tree.DirName(rel)).deps:
		return l
	case base == "package.json":
		return installed
	case base == ".gitattributes" || base == ".gitmodules":
		return l
	}
	return nil
}

// A look reviews both contents of a file of which only some contents matter.
type look func(before, after []byte) []Finding

// lookAt returns how to review the contents of a file with a folded name, or nil if the name alone
// decides.
func lookAt(base string) look {
	switch base {
	case ".gitattributes":
		return reviewAttributes
	case ".gitmodules":
		return reviewModules
	case "package.json":
		return reviewPackage
	case "composer.json":
		return reviewComposer
	}
	for _, m := range manifests {
		if slices.ContainsFunc(m.names, func(pattern string) bool { return same(pattern, base) }) {
			return m.review
		}
	}
	return nil
}

// manifest is a file with dependencies that also can hold what a package manager runs. Changed
// dependencies are ordinary work; lines of the other kind are findings.
type manifest struct {
	names []string
	// line matches lines that matter wherever they are.
	line *regexp.Regexp
	// sections matches headers of sections of which every line matters.
	sections *regexp.Regexp
	// usual matches lines that are so common that they do not matter.
	usual *regexp.Regexp
	// origin matches lines that say where a package comes from: a host that the file did not name
	// before matters.
	origin *regexp.Regexp
	why    string
}

var manifests = []manifest{
	{names: []string{"go.mod", "go.work"}, line: regexp.MustCompile(`^\s*(?:toolchain|replace)\b|=>`),
		why: "chooses the tool chain, or replaces a module by other code"},
	{names: []string{"pyproject.toml", "setup.cfg"},
		line:     regexp.MustCompile(`(?i)build-?_?backend|backend-path|cmdclass|build\.hooks|build-script|setup_hooks|^\s*build\s*=|index-?url|extra-index|find-links|\\[uUx]|addopts.*-p`),
		sections: regexp.MustCompile(`^\[+\s*["']?(?:build-system|tool\W+(?:hatch\W+build\W+hooks|hatch\W+build\W+targets\W+\w+\W+hooks|pdm\W+build|poetry\W+build|uv\W+index|uv\W+sources|poetry\W+source|setuptools\W+cmdclass|cibuildwheel))`),
		usual:    usualBackend, origin: regexp.MustCompile(`://`), why: "says how the project is built or where packages come from"},
	{names: []string{"cargo.toml"}, line: regexp.MustCompile(`(?i)^\s*["']?(?:build|links|rustc-wrapper|runner|linker)["']?\s*=|\\[uUx]`),
		sections: regexp.MustCompile(`^\[+\s*["']?(?:patch|replace|source|registries|registry)\b`),
		origin:   regexp.MustCompile(`(?i)\b(?:git|registry|registry-index|index)["']?\s*=`), why: "names a build script, or replaces a package by other code"},
	{names: []string{"requirements*.txt", "requirements*.in", "constraints*.txt", "dev-requirements*.txt"},
		line:   regexp.MustCompile(`(?i)^\s*-(?:i|f|e)\b|^\s*--?(?:index-url|extra-index-url|find-links|trusted-host|editable|pre-hook|config-settings?|global-option|install-option)`),
		origin: regexp.MustCompile(`://`), why: "says where packages come from, or installs code by path"},
	{names: []string{"gemfile", "gems.rb"}, line: regexp.MustCompile("`|%x|#\\{|\\b(?:system|exec|spawn|eval|eval_gemfile|instance_eval|require|require_relative|load|open|plugin|send)\\s*[(\"']|\\b(?:File|IO|Kernel|Dir|Process|Open3)\\b|\\b(?:github|gist|bitbucket):"),
		origin: regexp.MustCompile(`://`), why: "bundler runs it as a program"},
	{names: []string{"pnpm-workspace.yaml"}, line: regexp.MustCompile(`(?i)onlybuilt|allowbuild|configdependencies|pnpmfile|patched|scripts?|registr|dangerously`),
		origin: regexp.MustCompile(`://`), why: "says which install scripts run"},
	{names: []string{"pipfile"}, line: regexp.MustCompile(`^\s*\[scripts\]`), origin: regexp.MustCompile(`://`), why: "says where packages come from"},
	{names: []string{"package-lock.json", "npm-shrinkwrap.json", "yarn.lock"}, origin: regexp.MustCompile(`(?i)"?resol(?:ved|ution)\b`), why: whyOrigin},
	{names: []string{"pnpm-lock.yaml"}, origin: regexp.MustCompile(`(?i)\b(?:tarball|repo|registry|resolution)\b|@https?:`), why: whyOrigin},
	{names: []string{"poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "pylock*.toml", "cargo.lock", "gemfile.lock", "gems.locked", "podfile.lock"},
		origin: regexp.MustCompile(`(?i)\b(?:url|git|registry|index|source|remote|reference)\b["']?\s*[=:]`), why: whyOrigin},
	{names: []string{"composer.lock"}, origin: regexp.MustCompile(`(?i)"url".*(?:zip|tar|\.git)`), why: whyOrigin},
	{names: []string{"flake.lock", "deno.lock", "bun.lock"}, origin: regexp.MustCompile(`://`), why: whyOrigin},
}

const whyOrigin = "takes packages from another place than before"

// usualBackend matches lines of a [build-system] section that only name well-known build tools.
var usualBackend = regexp.MustCompile(`^\s*(?:\[build-system\]|` +
	`build-backend\s*=\s*["'](?:setuptools\.build_meta|hatchling\.build|flit_core\.buildapi|poetry\.core\.masonry\.api|pdm\.backend|maturin|mesonpy|scikit_build_core\.build|uv_build)["']|` +
	`requires\s*=\s*\[\s*(?:` + usualTool + `\s*,?\s*)*\]|requires\s*=\s*\[|` + usualTool + `\s*,?|\]|)\s*(?:#.*)?$`)

const usualTool = `["'](?:setuptools|setuptools[-_]scm|wheel|hatchling|hatch-vcs|flit[-_]core|poetry-core|pdm-backend|maturin|meson-python|scikit-build-core|uv_build|cython|Cython|numpy|pybind11)(?:\[\w+\])?[^"'@:/]*["']`

// review reports the new lines that matter.
func (m *manifest) review(before, after []byte) []Finding {
	had, hosts := lineSet(before), m.hosts(before)
	var out []Finding
	add := func(line string) {
		out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf("%s: %q", m.why, line)})
	}
	inside := false
	for raw := range bytes.Lines(after) {
		line := strings.TrimSpace(string(raw))
		if m.sections != nil && strings.HasPrefix(line, "[") {
			inside = m.sections.MatchString(line)
		}
		if line == "" || had[line] || isComment(line) || m.usual != nil && m.usual.MatchString(line) {
			continue
		}
		if inside || m.line != nil && m.line.MatchString(line) || m.origin != nil && m.origin.MatchString(line) && newHost(line, hosts) {
			add(line)
		}
	}
	return out
}

func isComment(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//")
}

func lineSet(b []byte) map[string]bool {
	had := map[string]bool{}
	for line := range bytes.Lines(b) {
		had[strings.TrimSpace(string(line))] = true
	}
	return had
}

// hostOf matches the host of an address.
var hostOf = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*:)+//(?:[^/\s"'@]*@)?([^/\s"'#?]*)|\b(?:git@|ssh:)([a-z0-9.-]+):`)

// knownHosts serve packages of public registries.
var knownHosts = []string{"registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "jsr.io", "pypi.org", "files.pythonhosted.org", "pypi.python.org",
	"crates.io", "index.crates.io", "static.crates.io", "github.com/rust-lang/crates.io-index", "rubygems.org", "repo.packagist.org", "packagist.org", "proxy.golang.org", "deno.land", "cdn.cocoapods.org", "trunk.cocoapods.org"}

// publicIndex is the address under which Cargo's lock files name the public registry.
const publicIndex = "https://github.com/rust-lang/crates.io-index"

// hosts returns the hosts that the lines about origins name.
func (m *manifest) hosts(b []byte) map[string]bool {
	out := map[string]bool{}
	if m.origin == nil {
		return out
	}
	for line := range bytes.Lines(b) {
		if m.origin.Match(line) {
			for _, h := range hostsIn(string(line)) {
				out[h] = true
			}
		}
	}
	return out
}

func hostsIn(line string) []string {
	line = strings.ReplaceAll(line, `\/`, "/")
	line = strings.ReplaceAll(line, publicIndex, "")
	var out []string
	for _, match := range hostOf.FindAllStringSubmatch(line, -1) {
		out = append(out, strings.ToLower(match[1]+match[2]))
	}
	return out
}

// newHost reports whether a line names a host that is neither known nor among the hosts given.
func newHost(line string, hosts map[string]bool) bool {
	return slices.ContainsFunc(hostsIn(line), func(h string) bool { return !hosts[h] && !slices.Contains(knownHosts, h) })
}
