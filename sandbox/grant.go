package sandbox

// grant is a host path that commands may use.
type grant struct {
	path     string
	readOnly bool
	owned    bool   // named by the host: commands get the rights of its owner
	pinned   bool   // a part of the workspace, mounted over itself
	ownerOf  string // commands get the rights of this path's owner instead
}
