package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// installScripts lists the scripts that npm and similar programs run by themselves.
var installScripts = []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare",
	"prepublish", "prepublishOnly", "prepack", "postpack", "dependencies", "pnpm:devPreinstall"}

// hookKeys lists the parts of a package.json by which hook managers and others run programs.
var hookKeys = []string{"husky", "lint-staged", "simple-git-hooks", "pre-commit", "pre-push", "gitHooks", "gypfile", "binary", "trustedDependencies",
	"onlyBuiltDependencies", "dangerouslyAllowAllBuilds", "configDependencies", "executionEnv"}

// dependencyKeys lists the parts of a package.json that name packages.
var dependencyKeys = []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions"}

// reviewPackage reports scripts in a package.json that run by themselves, and packages that come
// from a new address.
func reviewPackage(before, after []byte) []Finding {
	now, was, bad := bothObjects(before, after)
	if bad != nil {
		return bad
	}
	var out []Finding
	notice := func(format string, args ...any) {
		out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf(format, args...)})
	}
	scripts, had := texts(now["scripts"]), texts(was["scripts"])
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if runsByItself(name, scripts) && scripts[name] != had[name] {
			notice("a package manager runs the script %s by itself: %q", name, scripts[name])
		}
	}
	for _, key := range hookKeys {
		for _, in := range []string{"", "pnpm"} {
			v, had := within(now, in)[key], within(was, in)[key]
			if v != nil && !sameJSON(v, had) {
				notice("%s names programs or settings that tools run by themselves: %s", key, v)
			}
		}
	}
	return append(out, newOrigins(now, was)...)
}

// within returns the members of a part of an object; of the object itself if part is empty.
func within(all map[string]json.RawMessage, part string) map[string]json.RawMessage {
	if part == "" {
		return all
	}
	inner, _ := object(all[part])
	return inner
}

// repository matches a dependency that is a repository of a forge.
var repository = regexp.MustCompile(`^(?:(?:github|gitlab|bitbucket|gist):.*|[\w.-]+/[\w.-]+(?:#.*)?)$`)

// newOrigins reports packages that come from an address whose host the file did not name before.
func newOrigins(now, was map[string]json.RawMessage) []Finding {
	hosts, had := map[string]bool{}, map[string]bool{}
	for _, key := range append([]string{"packageManager"}, dependencyKeys...) {
		for _, h := range hostsIn(string(was[key])) {
			hosts[h] = true
		}
		for _, v := range texts(was[key]) {
			had[v] = true
		}
	}
	var out []Finding
	for _, key := range dependencyKeys {
		packages := texts(now[key])
		for _, name := range slices.Sorted(maps.Keys(packages)) {
			if v := packages[name]; newHost(v, hosts) || repository.MatchString(v) && !had[v] {
				out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf("the package %s comes from %q", name, v)})
			}
		}
	}
	if v := string(now["packageManager"]); newHost(v, hosts) {
		out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf("the package manager comes from %s", v)})
	}
	return out
}

// installed reports only what a package manager runs in a package that it has unpacked itself.
func installed(before, after []byte) []Finding {
	now, was, bad := bothObjects(before, after)
	if bad != nil {
		return bad
	}
	var out []Finding
	scripts, had := texts(now["scripts"]), texts(was["scripts"])
	for _, name := range installScripts {
		if text, ok := scripts[name]; ok && text != had[name] {
			out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf("a package manager runs the script %s by itself: %q", name, text)})
		}
	}
	return out
}

// packageScripts reports the scripts of a package.json that are new or changed, also those that run
// only when somebody asks for them.
func packageScripts(before, after []byte) []Finding {
	now, was, bad := bothObjects(before, after)
	if bad != nil {
		return nil // reviewPackage reports it
	}
	var out []Finding
	scripts, had := texts(now["scripts"]), texts(was["scripts"])
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if !runsByItself(name, scripts) && scripts[name] != had[name] {
			out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf("sets the script %s to %q", name, scripts[name])})
		}
	}
	return out
}

// runsByItself reports whether a package manager runs a script although nobody named it: scripts of
// an installation, and those before and after another script.
func runsByItself(name string, scripts map[string]string) bool {
	if slices.Contains(installScripts, name) {
		return true
	}
	for _, prefix := range []string{"pre", "post"} {
		if of, ok := strings.CutPrefix(name, prefix); ok && (scripts[of] != "" || slices.Contains(builtinScripts, of)) {
			return true
		}
	}
	return false
}

// builtinScripts lists commands of npm that run scripts before and after them.
var builtinScripts = []string{"install", "uninstall", "publish", "pack", "version", "restart", "start", "stop", "test", "rebuild", "update", "shrinkwrap"}

// reviewComposer reports what composer runs by itself.
func reviewComposer(before, after []byte) []Finding {
	now, was, bad := bothObjects(before, after)
	if bad != nil {
		return bad
	}
	var out []Finding
	for _, key := range []string{"scripts", "repositories", "config", "bin"} {
		if v, ok := now[key]; ok && !sameJSON(v, was[key]) {
			out = append(out, Finding{Rule: RuleInstall, Severity: Notice, Why: fmt.Sprintf("composer obeys %s: %s", key, v)})
		}
	}
	return out
}

// bothObjects parses two states of a JSON file. If the new state cannot be parsed, bad says so.
func bothObjects(before, after []byte) (now, was map[string]json.RawMessage, bad []Finding) {
	now, err := object(after)
	if err != nil {
		return nil, nil, []Finding{{Rule: RuleInstall, Severity: Notice, Why: "cannot be understood: " + err.Error()}}
	}
	was, _ = object(before)
	return now, was, nil
}

// object parses a JSON object; of equal keys the last one counts, as for the programs that read the
// file.
func object(b []byte) (map[string]json.RawMessage, error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	var all map[string]json.RawMessage
	err := json.Unmarshal(b, &all)
	return all, err
}

// texts returns the members of a JSON object as texts; anything else has none.
func texts(raw json.RawMessage) map[string]string {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	out := make(map[string]string, len(all))
	for name, v := range all {
		out[name] = fmt.Sprint(v)
	}
	return out
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
