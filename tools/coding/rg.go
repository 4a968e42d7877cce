package coding

import (
	"os/exec"
)

// completeRipgrep finds the rg program.
func (c *Config) completeRipgrep() error {
	switch c.Ripgrep {
	case "none":
		return nil
	case "":
		c.Ripgrep = "none"
		// LookPath refuses programs that only "." in PATH would find, which may be files of the workspace.
		if p, err := exec.LookPath("rg"); err == nil {
			c.Ripgrep = p
		}
		return nil
	}
	p, err := exec.LookPath(c.Ripgrep)
	if err != nil {
		return err
	}
	c.Ripgrep = p
	return nil
}
