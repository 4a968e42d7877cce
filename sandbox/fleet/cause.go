package fleet

import (
	"errors"
	"io/fs"
	"os/exec"
	"slices"

	"github.com/luthier-dev/luthier/sandbox"
)

// causes are what a caller may test a host's error for, besides what a code says.
func causes() map[string]error {
	return map[string]error{
		"not found": exec.ErrNotFound, "permission": fs.ErrPermission, "not exist": fs.ErrNotExist,
		"closed": sandbox.ErrClosed, "floor": sandbox.ErrFloor,
	}
}

// causesOf names the causes that err has, in order.
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

// caused is an error with the causes that it had where it arose.
type caused struct {
	error
	names []string
}

func (c *caused) Unwrap() error { return c.error }

// Is serves errors.Is.
func (c *caused) Is(target error) bool {
	known := causes()
	return slices.ContainsFunc(c.names, func(n string) bool { return known[n] == target && target != nil })
}
