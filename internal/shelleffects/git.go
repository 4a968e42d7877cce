package shelleffects

import (
	"strings"
)

// gitPrograms are the table rows of git and go. Left out on purpose: --output, --ext-diff,
// --textconv, --no-index, -O, every form that creates, moves or removes a ref, and everything that
// talks to a remote.
const gitPrograms = `
@diff | -abBCDmMpqRuwzW -U=text -S=text -G=text -l=text -C?text -M?text -B?text --stat?text --numstat --shortstat --dirstat?text --summary --compact-summary --name-only --name-status --patch --no-patch --patch-with-stat --raw --unified=text --color?text --no-color --color-words?text --color-moved?text --word-diff?text --word-diff-regex=text --diff-filter=text --no-ext-diff --no-textconv --check --exit-code --quiet --minimal --patience --histogram --diff-algorithm=text --anchored=text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-matching-lines=text --inter-hunk-context=text --function-context --pickaxe-all --pickaxe-regex --relative?text --no-relative --no-renames --find-renames?text --find-copies?text --find-copies-harder --irreversible-delete --text --binary --full-index --abbrev?text --no-abbrev --src-prefix=text --dst-prefix=text --no-prefix --submodule?text --ignore-submodules?text --indent-heuristic --find-object=text --line-prefix=text |
@walk | -giEFPcsLn -NUM -n=text -L=rev --oneline --graph --no-graph --decorate?text --no-decorate --decorate-refs=text --all --branches?text --tags?text --remotes?text --glob=text --exclude=text --max-count=text --skip=text --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --grep-reflog=text --invert-grep --all-match --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --first-parent --min-parents=text --max-parents=text --reverse --date=text --relative-date --pretty?format --format=format --abbrev-commit --no-abbrev-commit --follow --full-history --simplify-merges --simplify-by-decoration --dense --sparse --ancestry-path --left-right --cherry-mark --cherry-pick --cherry --left-only --right-only --topo-order --date-order --author-date-order --source --mailmap --use-mailmap --no-mailmap --boundary --walk-reflogs --no-walk?text --do-walk --parents --children --notes?text --no-notes --log-size --full-diff --cc --count --remove-empty --encoding=text --expand-tabs?text --no-expand-tabs --diff-merges=text --no-diff-merges --reflog --not |
git | --version | none
git version | --build-options | none
git status | -svbzu -u?text --short --branch --show-stash --porcelain?text --long --verbose --untracked-files?text --ignore-submodules?text --ignored?text --column?text --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?text | rev* repo
git diff | @diff --cached --staged --merge-base --ours --theirs --base -123 | rev* repo
git diff-tree | @diff -rtsv --root --stdin --no-commit-id --pretty?format --always --cc | rev* repo
git log, git whatchanged | @diff @walk | rev* repo
git show | @diff @walk | rev* repo
git rev-list | @walk --objects --no-object-names --disk-usage?text --header --timestamp | rev* repo
git shortlog | -snec -w?text --numbered --summary --email --committer --group=format --since=text --until=text --after=text --before=text --author=text --all --no-merges --merges --first-parent --format=format --max-count=text | rev* repo
git blame, git annotate | -wlstefnpbcM -L=text -C -C?text -M?text --porcelain --line-porcelain --incremental --date=text --since=text --show-name --show-number --show-email --show-stats --root --reverse --ignore-rev=text --abbrev=text --color-lines --color-by-age --progress --no-progress | rev* repo
git grep | -aiIvwLlchHnopqrEFGPWz -A=text -B=text -C=text -e=text -m=text -NUM --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --only-matching --files-with-matches --name-only --files-without-match --count --color?text --no-color --break --heading --show-function --context=text --after-context=text --before-context=text --function-context --threads=text --and --or --not --all-match --quiet --cached --untracked --exclude-standard --no-exclude-standard --max-depth=text --recursive --no-recursive --null --max-count=text | text rev* repo instead:-e
git branch | -arvqi --list --all --remotes --verbose --show-current --contains?text --no-contains?text --merged?text --no-merged?text --points-at=text --sort=format --format=format --color?text --no-color --column?text --no-column --abbrev?text --no-abbrev --ignore-case --quiet | text* repo needs:--list,--contains,--no-contains,--merged,--no-merged,--points-at
git tag | -li -n?text --list --contains?text --no-contains?text --merged?text --no-merged?text --points-at=text --sort=format --format=format --color?text --column?text --no-column --ignore-case | text* repo needs:-l,--list,--contains,--no-contains,--merged,--no-merged,--points-at
git remote | -v --verbose | none repo
git remote get-url | --push --all | text repo
git stash list | @diff @walk | rev* repo
git stash show | @diff --include-untracked --only-untracked | rev repo
git reflog, git reflog show | @diff @walk | rev* repo
git notes list, git notes show | | rev repo
git bisect log | | none repo
git worktree list | -vz --porcelain --verbose | none repo
git rev-parse | -q --verify --quiet --abbrev-ref?text --short?text --show-toplevel --show-cdup --show-prefix --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --symbolic --symbolic-full-name --all --branches?text --tags?text --remotes?text --sq --revs-only --no-revs --flags --no-flags --path-format=text --git-path=text --show-object-format?text --local-env-vars | rev* repo
git ls-files | -cdmoiskutvfz -x=text --cached --deleted --modified --others --ignored --stage --killed --directory --no-empty-directory --unmerged --exclude=text --exclude-standard --error-unmatch --with-tree=text --full-name --abbrev?text --debug --deduplicate --eol --format=format | rev* repo
git ls-tree | -rdtlz --name-only --name-status --object-only --long --full-name --full-tree --abbrev?text --format=format | rev* repo
git cat-file | -tsep | rev* repo
git describe | --tags --all --always --long --abbrev?text --dirty?text --broken?text --match=text --exclude=text --contains --exact-match --first-parent --candidates=text --debug | rev* repo
git merge-base | -a --all --is-ancestor --fork-point --octopus --independent | rev* repo
git name-rev | --tags --name-only --refs=text --exclude=text --all --no-undefined --always | rev* repo
git for-each-ref | --format=format --sort=format --count=text --points-at=text --contains?text --no-contains?text --merged?text --no-merged?text --ignore-case --shell --color?text | text* repo
git show-ref | -qds --head --heads --branches --tags --verify --quiet --dereference --hash?text --abbrev?text | text* repo
git show-branch | -ar --all --remotes --current --list --topo-order --date-order --sparse --sha1-name --no-name --more=text --merge-base --independent | rev* repo
git symbolic-ref | -q --short --quiet --no-recurse | text repo
git count-objects | -vH --verbose --human-readable | none repo
git check-ignore | -qvnz --quiet --verbose --non-matching --no-index | name* repo
git check-attr | -az --all --cached | name* repo
git cherry | -v --verbose --abbrev?text | rev* repo
git range-diff | @diff --left-only --right-only --creation-factor=text --no-dual-color | rev* repo
git config | -z --get --get-all --null --name-only --show-origin --show-scope --local --bool --int --type=text --default=text | text repo
git config get | -z --all --null --show-origin --show-scope --local --bool --int --type=text --default=text | text repo
go version | --m --v | name* go
go env | --json --changed | text* go
`

// gitGlobals are the options before git's subcommand that affect only the output.
var gitGlobals = set("--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-advice", "--no-lazy-fetch")

var gitNetwork = set("fetch", "pull", "push", "clone", "ls-remote", "submodule", "send-email", "request-pull", "archive", "lfs", "svn", "p4", "daemon")

var gitDeletes = set("clean", "rm", "reset", "checkout", "restore", "gc", "prune", "switch", "rebase", "filter-branch", "filter-repo", "update-ref", "reflog", "branch", "tag", "stash", "worktree")

// git analyses a git command. It must run in the script's initial directory, the workspace: a
// subdirectory may itself be a repository whose configuration names programs to run.
func git(c *call) outcome {
	w, args := c.w, c.args
	for len(args) > 0 && gitGlobals[args[0]] {
		args = args[1:]
	}
	if len(c.st.dirs) != 1 || c.st.dirs[0] != "." {
		w.fx.unknown("runs git in a directory whose configuration is not known to be the workspace's")
	}
	for len(args) > 1 && args[0] == "-C" {
		if paths := w.resolve(args[1], c.st); len(paths) != 1 || paths[0] != "." {
			w.fx.unknown("runs git in another directory: " + show(args[1]))
		}
		args = args[2:]
	}
	if len(args) == 0 {
		w.fx.unknown("git has no command")
		return stay(c.st)
	}
	if r, rest := lookup("git", args); r != nil {
		c.name = "git"
		c.apply(r, rest)
	} else {
		w.fx.unknown("git " + show(args[0]) + " is not known to only read")
	}
	if !w.fx.Known {
		if gitNetwork[args[0]] || args[0] == "remote" && len(args) > 1 {
			w.fx.Flags |= Network
		}
		if gitDeletes[args[0]] {
			w.fx.Flags |= Deletes
		}
	}
	return stay(c.st)
}

// revision records what an operand of git reads: a revision, a path, or both joined by a colon.
func (c *call) revision(word string) {
	w := c.w
	if !static(word) && strings.ContainsAny(word, string([]rune{markAny, markSplit, markHome})) {
		w.readName(word, c.st)
		return
	}
	path := word
	if i := strings.LastIndexByte(word, ':'); i >= 0 {
		path = word[i+1:]
	}
	path = path[strings.LastIndexByte(path, ')')+1:] // pathspec magic, :(glob)x
	path = strings.TrimLeft(path, "!^")
	if secretPath(asGlob(path)) {
		w.fx.flag(Secret, "reads a file that usually holds credentials: "+show(word))
	}
	if strings.HasPrefix(word, ":/") || strings.HasPrefix(path, "/") || strings.Contains(word, "..") && strings.Contains(word, "/") {
		w.readName(path, c.st)
	}
}

// checkGitConfig allows reading a single setting that is not a credential.
func checkGitConfig(c *call, p *parsed) {
	if len(p.operands) != 1 || !static(p.operands[0]) || !p.has("--get", "--get-all") && !strings.Contains(p.operands[0], ".") {
		c.w.fx.unknown("git config may set a value")
		return
	}
	key := strings.ToLower(p.operands[0])
	for _, s := range []string{"credential", "extraheader", "token", "password", "pass", "secret", "helper", "proxy", "cookie", "key", "sendemail", "insteadof"} {
		if strings.Contains(key, s) {
			c.w.fx.flag(Secret, "shows the setting "+key)
		}
	}
}

func checkReflog(c *call, p *parsed) {
	if len(p.operands) > 0 {
		switch p.operands[0] {
		case "expire", "delete", "drop", "write", "exists", "list":
			c.w.fx.flag(Deletes, "git reflog "+p.operands[0])
			c.w.fx.unknown("git reflog " + p.operands[0] + " is not known to only read")
		}
	}
}
