package review

import (
	"slices"
	"strings"
)

// known is a pattern of paths that some program of the host acts on by itself.
type known struct {
	pattern  string // as for path.Match; a trailing /** matches everything below; without a slash it matches in any directory
	rule     Rule
	severity Severity
	why      string
}

const (
	whyTasks       = "editors run the tasks and commands in it, some as soon as the folder is opened"
	whyLinter      = "editors run it, or the programs it names, when they check a file"
	whyServers     = "names programs that coding agents start"
	whyAgent       = "tells coding agents what to run or what to allow"
	whyAdvice      = "is instructions that a coding agent follows"
	whyShell       = "a shell runs it when it starts or enters the directory"
	whyInterpreter = "an interpreter runs it when it starts in the directory"
	whyUser        = "belongs in a home directory, where programs act on it"
	whyManager     = "tells a package manager what to run or where to get packages from"
	whyBuild       = "package managers and editors run it by themselves to install or load the project"
	whyRun         = "a build or test runs it"
	whyCI          = "a build service or hook manager runs what it says"
	whyHookManager = "git runs it, or what it says, as a hook where a hook manager is set up"
)

// knownPaths is the one table of files that are later obeyed or executed; the review of changes,
// the walls of a workspace in place and the file tools use it. Patterns are compared with folded
// names. What people run knowingly, such as a Makefile or the program itself, is not included.
var knownPaths = slices.Concat(editorPaths, agentPaths, shellPaths, userPaths, installPaths, continuousPaths, builtPaths)

// quiet reports whether only a review of changes reports the path: changing it in place is ordinary
// work.
func (k *known) quiet() bool { return k.why == whyRun }

// whole returns the pattern of a known path without the suffix /**, and whether it had that suffix,
// which matches everything below a directory.
func (k *known) whole() (pattern string, below bool) { return strings.CutSuffix(k.pattern, "/**") }

// parts returns the names of the pattern.
func (k *known) parts() []string {
	pattern, _ := k.whole()
	return strings.Split(pattern, "/")
}
