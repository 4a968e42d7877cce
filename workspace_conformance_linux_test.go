package luthier_test

import (
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/workspacetest"
)

// TestWorkspaceConformanceAsOrdinaryUser: the sessions of TestWorkspaceConformance come out the
// same for an ordinary user, whose sandboxes are made without privileges. A part of the
// arrangements runs outside the long tier.
//
// Evidence: luthier · The sessions of the conformance script are the same for an ordinary user
func TestWorkspaceConformanceAsOrdinaryUser(t *testing.T) {
	tier.Normal(t)
	out := workspacetest.AsUser(t, tier.Pick("", "^TestWorkspaceConformance$/^fork_of_a_fork$", "^TestWorkspaceConformance$"))
	passed := strings.Count(out, "    --- PASS")
	if passed == 0 {
		t.Skipf("no arrangement works for an ordinary user here:\n%s", out)
	}
	t.Logf("%d passed, %d skipped", passed, strings.Count(out, "    --- SKIP"))
}
