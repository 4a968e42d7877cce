package sandbox

import (
	"os"
	"slices"
	"strings"
)

// passedEnv lists the host variables that every command sees: what programs need to find their
// tools and to use the user's language. Everything else, above all credentials, is withheld unless
// Config.PassEnv names it.
var passedEnv = []string{
	"PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "NO_COLOR", "TZ", "SHELL",
	"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH",
	"JAVA_HOME", "VIRTUAL_ENV", "NODE_PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"SystemRoot", "ComSpec", "PATHEXT", "windir", "ProgramFiles", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// hostOnlyEnv lists the variables that are passed only if commands live in the user's own home.
var hostOnlyEnv = []string{
	"HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "XDG_*", "GO*", "CGO_*", "CARGO_HOME", "RUSTUP_HOME",
	"NVM_DIR", "PYENV_ROOT", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "HOMEDRIVE", "HOMEPATH",
}

// noPtraceEnv keeps the leak check of the address sanitizer and of LeakSanitizer from failing where
// ptrace is refused: it stops the program's threads by ptrace, and ends a sound program with an
// error if it cannot. Both read this variable, whatever ASAN_OPTIONS says.
var noPtraceEnv = []string{"LSAN_OPTIONS=detect_leaks=0"}

// filterEnv returns the entries of environ whose names one of the patterns allows.
func filterEnv(environ []string, patterns ...[]string) []string {
	var out []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		for _, list := range patterns {
			if slices.ContainsFunc(list, func(p string) bool { return matchName(p, name) }) {
				out = append(out, kv)
				break
			}
		}
	}
	return out
}

func matchName(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// mergeEnv joins lists of KEY=value; a later entry replaces an earlier one.
func mergeEnv(lists ...[]string) []string {
	var out []string
	at := map[string]int{}
	for _, list := range lists {
		for _, kv := range list {
			name, _, _ := strings.Cut(kv, "=")
			if i, ok := at[name]; ok {
				out[i] = kv
				continue
			}
			at[name] = len(out)
			out = append(out, kv)
		}
	}
	return out
}

// hostEnv returns the environment of commands that run in the user's own view of the system.
func hostEnv(cfg *Config) []string {
	return mergeEnv(filterEnv(os.Environ(), passedEnv, hostOnlyEnv, cfg.PassEnv), cfg.Env)
}
