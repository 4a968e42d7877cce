package sandbox

import (
	"slices"
	"testing"
)

// TestRepositoriesAmongPackages checks that a repository among unpacked packages is protected in
// place like any other: git, run there by the host's user or an editor, executes what its
// configuration and hooks name.
//
// Evidence: sandbox · Repositories inside node_modules are protected in place, too
func TestRepositoriesAmongPackages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"node_modules/a/.git/config", "node_modules/@s/b/node_modules/c/.git/hooks/pre-commit", "web/node_modules/d/.git/HEAD",
		"node_modules/bare/HEAD", "node_modules/bare/objects/x", "node_modules/bare/refs/x", "node_modules/bare/config"} {
		write(t, dir, name, "x")
	}
	write(t, dir, "node_modules/linked/.git", "gitdir: ../a/.git")
	got := protectedIn(dir)
	for _, want := range []string{"node_modules/a/.git", "node_modules/@s/b/node_modules/c/.git", "web/node_modules/d/.git", "node_modules/linked/.git",
		"node_modules/bare/config"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not protected; protected are %q", want, got)
		}
	}
}
