package sandbox

// grant is a host path that commands may use.
type grant struct {
	path     string
	readOnly bool
	owned    bool // the host named it: its owner's rights are the command's
	pinned   bool // a part of the workspace, mounted over itself
}
