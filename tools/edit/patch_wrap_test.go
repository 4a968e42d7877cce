package edit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatchInCommand puts a patch into the shell commands that models put around it. The directory
// that a command changes to counts; nothing but applying the patch may be asked for.
//
// Evidence: edit · A patch inside a shell command changes files of the directory that the command
// names, or none
func TestPatchInCommand(t *testing.T) {
	const sub, top = "sub", ""
	for _, tc := range []struct {
		name, before, after string
		dir                 string // where the patch applies, or "refused"
	}{
		{"nothing", "", "", top},
		{"here-document", "apply_patch <<EOF\n", "EOF\n", top},
		{"quoted delimiter", "apply_patch << 'PATCH'\n", "PATCH\n", top},
		{"other delimiter", "applypatch <<\"END_OF_IT\"\n", "END_OF_IT\n", top},
		{"bare here-document", "<<EOF\n", "EOF", top},
		{"cat", "cat <<'EOF' | apply_patch\n", "EOF\n", top},
		{"variable", "LANG=C apply_patch <<EOF\n", "EOF\n", top},
		{"env", "env LANG=C apply_patch <<EOF\n", "EOF\n", top},
		{"comment", "# repair it\napply_patch <<EOF\n", "EOF\n", top},
		{"code fence", "```bash\napply_patch <<EOF\n", "EOF\n```\n", top},
		{"bash -c", "bash -lc \"apply_patch <<'EOF'\n", "EOF\"\n", top},
		{"bash -c, end on its own line", "bash -c 'apply_patch <<EOF\n", "EOF\n'\n", top},
		{"argument of a here-document", "apply_patch \"$(cat <<'EOF'\n", "EOF\n)\"\n", top},

		{"cd", "cd sub && apply_patch <<EOF\n", "EOF\n", sub},
		{"cd with ;", "cd sub; apply_patch <<EOF\n", "EOF\n", sub},
		{"cd on its own line", "cd sub\napply_patch <<EOF\n", "EOF\n", sub},
		{"cd and a continued line", "cd sub && \\\napply_patch <<'EOF'\n", "EOF\n", sub},
		{"cd in quotes", "cd \"sub\" && apply_patch <<EOF\n", "EOF\n", sub},
		{"cd in single quotes", "cd './sub/' && apply_patch <<EOF\n", "EOF\n", sub},
		{"cd --", "cd -- sub && apply_patch <<EOF\n", "EOF\n", sub},
		{"cd or exit", "cd sub || exit 1; apply_patch <<EOF\n", "EOF\n", sub},
		{"cd quietly", "cd sub >/dev/null 2>&1 && apply_patch <<EOF\n", "EOF\n", sub},
		{"pushd", "pushd sub && apply_patch <<EOF\n", "EOF\npopd\n", sub},
		{"pushd quietly", "pushd sub > /dev/null && apply_patch <<EOF\n", "EOF\n", sub},
		{"subshell", "(cd sub && apply_patch <<EOF\n", "EOF\n)\n", sub},
		{"group", "{ cd sub; apply_patch <<EOF\n", "EOF\n}\n", sub},
		{"set -e", "set -euo pipefail\ncd sub\napply_patch <<EOF\n", "EOF\n", sub},
		{"bash -c and cd", "bash -lc \"cd sub && apply_patch <<'EOF'\n", "EOF\"\n", sub},
		{"bash -c in single quotes and cd", "bash -lc 'cd sub && apply_patch <<\"EOF\"\n", "EOF\n'", sub},
		{"there and back", "cd other && cd .. && cd sub && apply_patch <<EOF\n", "EOF\n", sub},
		{"two steps", "cd sub; cd deep; apply_patch <<EOF\n", "EOF\n", "sub/deep"},
		{"two steps on lines", "cd sub\ncd deep\napply_patch <<EOF\n", "EOF\n", "sub/deep"},
		{"back to the top", "cd sub && cd .. && apply_patch <<EOF\n", "EOF\n", top},
		{"a space", "cd 'sub dir' && apply_patch <<EOF\n", "EOF\n", "sub dir"},
		{"an escaped space", "cd sub\\ dir && apply_patch <<EOF\n", "EOF\n", "sub dir"},
		{"tabs removed", "cd sub && apply_patch <<-EOF\n", "\tEOF\n", sub},

		{"cd to a variable", "cd $DIR && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd to a quoted variable", "cd \"$DIR\" && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd to what a command prints", "cd \"$(git rev-parse --show-toplevel)\" && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd home", "cd ~/sub && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd without a directory", "cd && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd -", "cd - && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd outside", "cd .. && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd to an absolute directory", "cd /srv/sub && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd to a pattern", "cd su* && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd unless", "cd sub || apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd in a subshell of its own", "(cd sub) && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd in the background", "cd sub & apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd in a pipe", "cd sub | apply_patch <<EOF\n", "EOF\n", "refused"},
		{"cd with CDPATH", "CDPATH=other cd sub && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"popd", "pushd sub; popd; apply_patch <<EOF\n", "EOF\n", "refused"},
		{"-C", "apply_patch -C sub <<EOF\n", "EOF\n", "refused"},
		{"env -C", "env -C sub apply_patch <<EOF\n", "EOF\n", "refused"},
		{"git -C", "git -C sub apply <<EOF\n", "EOF\n", "refused"},
		{"another command first", "mkdir -p sub && cd sub && apply_patch <<EOF\n", "EOF\n", "refused"},
		{"another command after", "apply_patch <<EOF\n", "EOF\nrm -rf sub\n", "refused"},
		{"another command on the last line", "apply_patch <<EOF && make\n", "EOF\n", "refused"},
		{"another program", "patch -p1 <<EOF\n", "EOF\n", "refused"},
		{"sudo", "sudo apply_patch <<EOF\n", "EOF\n", "refused"},
		{"ssh", "ssh host apply_patch <<EOF\n", "EOF\n", "refused"},
		{"prose", "This changes the file:\n", "", "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			was := files{"a": "1\n", "sub/a": "1\n", "sub/deep/a": "1\n", "sub dir/a": "1\n", "other/a": "1\n"}
			patch := tc.before + envelope("*** Update File: a", "@@", "-1", "+2") + tc.after
			cs, err := ApplyPatch(was.read, patch)
			if tc.dir == "refused" {
				if err == nil {
					t.Fatalf("applied: %v", cs)
				}
				if k := KindOf(err); k != Malformed && k != BadPath {
					t.Errorf("kind %q: %v", k, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := was.after(nil)
			want[strings.TrimPrefix(tc.dir+"/a", "/")] = "2\n"
			if d := cmp.Diff(want, was.after(cs)); d != "" {
				t.Errorf("files after the patch (-want +got):\n%s", d)
			}
		})
	}
}

// TestPatchInQuotes refuses a patch whose text the quotes around it would change, and takes one
// whose text they leave alone.
func TestPatchInQuotes(t *testing.T) {
	for _, tc := range []struct {
		name, quote, line string
		ok                bool
	}{
		{"plain", `"`, "2", true},
		{"single quotes", "'", `"2" $x`, true},
		{"quote in single quotes", "'", "it's", false},
		{"quote in double quotes", `"`, `"2"`, false},
		{"variable in double quotes", `"`, "$x", false},
		{"escape in double quotes", `"`, `\"2\"`, false},
	} {
		for _, form := range []string{"apply_patch %", "cd sub && apply_patch %"} {
			was := files{"a": "1\n", "sub/a": "1\n"}
			patch := strings.ReplaceAll(form, "%", tc.quote) + strings.TrimSuffix(envelope("*** Update File: a", "@@", "-1", "+"+tc.line), "\n") + tc.quote + "\n"
			cs, err := ApplyPatch(was.read, patch)
			if (err == nil) != tc.ok {
				t.Errorf("%s: %v", tc.name, err)
				continue
			}
			name := "a"
			if strings.HasPrefix(form, "cd") {
				name = "sub/a"
			}
			if tc.ok && (len(cs) != 1 || cs[0].Path != name || string(cs[0].Content) != tc.line+"\n") {
				t.Errorf("%s: %+v", tc.name, cs)
			}
		}
	}
}
