package fleet

import (
	"errors"
	"io/fs"
	"os/exec"
	"slices"

	"github.com/luthier-dev/luthier/sandbox"
)

// causes lists the errors that a caller may look for in a host's error, in addition to those that
// the answer's code reports.
func causes() map[string]error {
	return map[string]error{
		"not found": exec.ErrNotFound, "permission": fs.ErrPermission, "not exist": fs.ErrNotExist,
		"closed": sandbox.ErrClosed, "floor": sandbox.ErrFloor,
	}
}

// causesOf returns the names of err's causes, in order.
func causesOf(err error) []string {
	var out []string
	for name, cause := range causes() {
		if errors.Is(err, cause) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// caused is an error received from another machine, with its original causes.
type caused struct {
	error
	names []string
}

func (c *caused) Unwrap() error { return c.error }

// Is implements errors.Is.
func (c *caused) Is(target error) bool {
	known := causes()
	return slices.ContainsFunc(c.names, func(n string) bool { return known[n] == target && target != nil })
}
