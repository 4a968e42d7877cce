package sandbox

import (
	"path"
	"strings"
)

// known is a path that some program of the host acts on by itself.
type known struct {
	pattern  string // as path.Match; a trailing /** is everything below; without a slash in any directory
	rule     Rule
	severity Severity
	why      string
}

const (
	whyTasks   = "editors run the tasks and commands in it, some as soon as the folder is opened"
	whyServers = "names programs that coding agents start"
	whyAgent   = "tells coding agents what to run or what to allow"
	whyAdvice  = "is instructions that a coding agent follows"
	whyShell   = "a shell runs it when it starts or enters the directory"
	whyUser    = "belongs in a home directory, where programs act on it"
	whyManager = "tells a package manager what to run or where to get packages from"
	whyCI      = "a build service or hook manager runs what it says"
)

// knownPaths is compared without regard to case. What people run knowingly, such
// as a Makefile or the program itself, is not in it.
var knownPaths = []known{
	{".vscode/extensions.json", RuleEditor, Notice, "suggests extensions to install"},
	{".vscode/**", RuleEditor, Refuse, whyTasks},
	{"*.code-workspace", RuleEditor, Refuse, whyTasks},
	{".idea/**", RuleEditor, Refuse, whyTasks},
	{".run/**", RuleEditor, Refuse, whyTasks},
	{".fleet/**", RuleEditor, Refuse, whyTasks},
	{".zed/**", RuleEditor, Refuse, whyTasks},
	{".vs/**", RuleEditor, Refuse, whyTasks},
	{".settings/**", RuleEditor, Refuse, whyTasks},
	{"*.sublime-project", RuleEditor, Refuse, whyTasks},
	{"*.sublime-workspace", RuleEditor, Refuse, whyTasks},
	{".devcontainer/**", RuleEditor, Refuse, "its initializeCommand runs on the host"},
	{".devcontainer.json", RuleEditor, Refuse, "its initializeCommand runs on the host"},
	{".exrc", RuleEditor, Refuse, whyTasks},
	{".vimrc", RuleEditor, Refuse, whyTasks},
	{"_vimrc", RuleEditor, Refuse, whyTasks},
	{".lvimrc", RuleEditor, Refuse, whyTasks},
	{".nvimrc", RuleEditor, Refuse, whyTasks},
	{".nvim.lua", RuleEditor, Refuse, whyTasks},
	{".vim/**", RuleEditor, Refuse, whyTasks},
	{".nvim/**", RuleEditor, Refuse, whyTasks},
	{".helix/**", RuleEditor, Refuse, whyTasks},
	{".dir-locals.el", RuleEditor, Refuse, whyTasks},
	{".dir-locals-2.el", RuleEditor, Refuse, whyTasks},
	{".emacs", RuleEditor, Refuse, whyTasks},
	{".emacs.d/**", RuleEditor, Refuse, whyTasks},
	{".gdbinit", RuleEditor, Refuse, "a debugger runs it"},
	{".lldbinit", RuleEditor, Refuse, "a debugger runs it"},
	{".pdbrc", RuleEditor, Refuse, "a debugger runs it"},

	{".mcp.json", RuleAgent, Refuse, whyServers},
	{"mcp.json", RuleAgent, Refuse, whyServers},
	{".claude.json", RuleAgent, Refuse, whyAgent},
	{".claude/**", RuleAgent, Refuse, whyAgent},
	{".cursor/**", RuleAgent, Refuse, whyAgent},
	{".windsurf/**", RuleAgent, Refuse, whyAgent},
	{".codeium/**", RuleAgent, Refuse, whyAgent},
	{".gemini/**", RuleAgent, Refuse, whyAgent},
	{".codex/**", RuleAgent, Refuse, whyAgent},
	{".continue/**", RuleAgent, Refuse, whyAgent},
	{".roo/**", RuleAgent, Refuse, whyAgent},
	{".cline/**", RuleAgent, Refuse, whyAgent},
	{".clinerules/**", RuleAgent, Refuse, whyAgent},
	{".kiro/**", RuleAgent, Refuse, whyAgent},
	{".amazonq/**", RuleAgent, Refuse, whyAgent},
	{".junie/**", RuleAgent, Refuse, whyAgent},
	{".opencode/**", RuleAgent, Refuse, whyAgent},
	{"opencode.json", RuleAgent, Refuse, whyAgent},
	{"opencode.jsonc", RuleAgent, Refuse, whyAgent},
	{".goose/**", RuleAgent, Refuse, whyAgent},
	{".aider.conf.yml", RuleAgent, Refuse, whyAgent},
	{".luthier/**", RuleAgent, Refuse, whyAgent},
	{".cursorrules", RuleAgent, Notice, whyAdvice},
	{".windsurfrules", RuleAgent, Notice, whyAdvice},
	{".clinerules", RuleAgent, Notice, whyAdvice},
	{".goosehints", RuleAgent, Notice, whyAdvice},
	{"agents.md", RuleAgent, Notice, whyAdvice},
	{"agents.override.md", RuleAgent, Notice, whyAdvice},
	{"claude.md", RuleAgent, Notice, whyAdvice},
	{"claude.local.md", RuleAgent, Notice, whyAdvice},
	{"gemini.md", RuleAgent, Notice, whyAdvice},
	{".github/copilot-instructions.md", RuleAgent, Notice, whyAdvice},
	{".github/instructions/**", RuleAgent, Notice, whyAdvice},

	{".envrc", RuleShell, Refuse, whyShell},
	{".env", RuleShell, Notice, "programs, and some shells, take their environment from it"},
	{".env.local", RuleShell, Notice, "programs take their environment from it"},
	{".autoenv", RuleShell, Refuse, whyShell},
	{".autoenv.zsh", RuleShell, Refuse, whyShell},
	{".mise.toml", RuleShell, Refuse, whyShell},
	{"mise.toml", RuleShell, Refuse, whyShell},
	{".mise.local.toml", RuleShell, Refuse, whyShell},
	{"mise.local.toml", RuleShell, Refuse, whyShell},
	{".mise/**", RuleShell, Refuse, whyShell},
	{".rtx.toml", RuleShell, Refuse, whyShell},
	{".tool-versions", RuleShell, Notice, "chooses which programs a shell finds"},
	{".bashrc", RuleShell, Refuse, whyShell},
	{".bash_*", RuleShell, Refuse, whyShell},
	{".profile", RuleShell, Refuse, whyShell},
	{".login", RuleShell, Refuse, whyShell},
	{".logout", RuleShell, Refuse, whyShell},
	{".zshrc", RuleShell, Refuse, whyShell},
	{".zshenv", RuleShell, Refuse, whyShell},
	{".zprofile", RuleShell, Refuse, whyShell},
	{".zlogin", RuleShell, Refuse, whyShell},
	{".zlogout", RuleShell, Refuse, whyShell},
	{".kshrc", RuleShell, Refuse, whyShell},
	{".mkshrc", RuleShell, Refuse, whyShell},
	{".shrc", RuleShell, Refuse, whyShell},
	{".cshrc", RuleShell, Refuse, whyShell},
	{".tcshrc", RuleShell, Refuse, whyShell},
	{".inputrc", RuleShell, Refuse, whyShell},
	{".xprofile", RuleShell, Refuse, whyShell},
	{".xinitrc", RuleShell, Refuse, whyShell},
	{".xsession", RuleShell, Refuse, whyShell},
	{".xsessionrc", RuleShell, Refuse, whyShell},
	{".pam_environment", RuleShell, Refuse, whyShell},
	{".tmux.conf", RuleShell, Refuse, whyShell},
	{".screenrc", RuleShell, Refuse, whyShell},

	{".gitconfig", RuleUser, Refuse, whyUser},
	{".config/**", RuleUser, Refuse, whyUser},
	{".local/share/applications/**", RuleUser, Refuse, whyUser},
	{".local/share/systemd/**", RuleUser, Refuse, whyUser},
	{".local/bin/**", RuleUser, Refuse, whyUser},
	{"library/launchagents/**", RuleUser, Refuse, whyUser},
	{".ssh/**", RuleUser, Refuse, whyUser},
	{".gnupg/**", RuleUser, Refuse, whyUser},
	{".netrc", RuleUser, Refuse, whyUser},
	{".docker/config.json", RuleUser, Refuse, whyUser},
	{".kube/config", RuleUser, Refuse, whyUser},
	{".aws/**", RuleUser, Refuse, whyUser},
	{".pypirc", RuleUser, Notice, whyUser},
	{"*.desktop", RuleUser, Refuse, "file managers start programs by it"},
	{"desktop.ini", RuleUser, Notice, "file managers load what it names"},
	{"autorun.inf", RuleUser, Refuse, "file managers start programs by it"},

	{".npmrc", RuleInstall, Notice, whyManager},
	{".yarnrc", RuleInstall, Notice, whyManager},
	{".yarnrc.yml", RuleInstall, Notice, whyManager},
	{".yarn/**", RuleInstall, Notice, whyManager},
	{".pnpmfile.cjs", RuleInstall, Notice, whyManager},
	{".pnpmfile.mjs", RuleInstall, Notice, whyManager},
	{"bunfig.toml", RuleInstall, Notice, whyManager},
	{"binding.gyp", RuleInstall, Notice, whyManager},
	{".cargo/**", RuleInstall, Notice, whyManager},
	{"pip.conf", RuleInstall, Notice, whyManager},
	{"sitecustomize.py", RuleInstall, Notice, "python runs it when it starts"},
	{"usercustomize.py", RuleInstall, Notice, "python runs it when it starts"},
	{"*.pth", RuleInstall, Notice, "python runs it when it starts, in a directory of packages"},
	{".bundle/**", RuleInstall, Notice, whyManager},
	{".mvn/**", RuleInstall, Notice, whyManager},
	{"gradle/wrapper/**", RuleInstall, Notice, whyManager},
	{"init.gradle", RuleInstall, Notice, whyManager},

	{".husky/**", RuleContinuous, Refuse, "git runs it as a hook where husky is set up"},
	{".githooks/**", RuleContinuous, Refuse, "git runs it as a hook where core.hooksPath names it"},
	{".pre-commit-config.yaml", RuleContinuous, Notice, whyCI},
	{"lefthook.yml", RuleContinuous, Notice, whyCI},
	{".lefthook/**", RuleContinuous, Notice, whyCI},
	{".github/workflows/**", RuleContinuous, Notice, whyCI},
	{".github/actions/**", RuleContinuous, Notice, whyCI},
	{".gitlab-ci.yml", RuleContinuous, Notice, whyCI},
	{".circleci/**", RuleContinuous, Notice, whyCI},
	{".travis.yml", RuleContinuous, Notice, whyCI},
	{".drone.yml", RuleContinuous, Notice, whyCI},
	{".buildkite/**", RuleContinuous, Notice, whyCI},
	{"azure-pipelines.yml", RuleContinuous, Notice, whyCI},
	{"jenkinsfile", RuleContinuous, Notice, whyCI},
}

// knownPath returns the first entry that a path matches, at any depth.
func knownPath(rel string) *known {
	parts := strings.Split(rel, "/")
	for i := range parts {
		parts[i] = fold(parts[i])
	}
	for i := range knownPaths {
		if knownPaths[i].match(parts) {
			return &knownPaths[i]
		}
	}
	return nil
}

func (k *known) match(parts []string) bool {
	pattern, below := strings.CutSuffix(k.pattern, "/**")
	want := strings.Split(pattern, "/")
	last := len(parts) - len(want) // a file is the end of the path
	if below {
		last-- // something must lie below
	}
	for at := 0; at <= last; at++ {
		if !below && at != last {
			continue
		}
		if matchAll(want, parts[at:]) {
			return true
		}
	}
	return false
}

func matchAll(want, parts []string) bool {
	for i, w := range want {
		if ok, _ := path.Match(w, parts[i]); !ok {
			return false
		}
	}
	return true
}
