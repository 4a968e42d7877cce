// Package workspacetest checks that an agent works the same wherever its workspace is.
//
// A scripted session works on a small repository in an arrangement: in place, on a snapshot, on a
// fork, on another machine. What the model reads, the files at the end, their modes and links, and
// the commit that the session makes must be those of the session in place, byte for byte. The
// directory of the host must stay as it was, except in place.
//
// The package imports no room: what it drives is a [Workspace], which a test of package luthier
// makes for each arrangement.
package workspacetest
