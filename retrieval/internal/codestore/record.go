package codestore

import (
	"encoding/binary"
	"io/fs"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A document's record, 64 bytes:
//
//	 0  path offset in the table u32, path length u32
//	 8  content hash
//	24  size
//	32  state: see appendState
const (
	recordSize = 64
	stateAt    = 32
	stateSize  = 32
)

// The state of a file, 32 bytes: modified, changed and inode as u64, class u32 with racyBit, mode
// u32.
const racyBit = 1 << 31

func appendRecord(b []byte, d *Doc, path int) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(path))
	b = le.AppendUint32(b, uint32(len(d.Path)))
	b = append(b, d.Hash[:]...)
	b = le.AppendUint64(b, uint64(d.Size))
	return appendState(b, &d.File)
}

func appendState(b []byte, f *worktree.File) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(f.ModTime))
	b = le.AppendUint64(b, uint64(f.Changed))
	b = le.AppendUint64(b, f.Inode)
	class := uint32(f.Class) &^ racyBit
	if f.Racy {
		class |= racyBit
	}
	b = le.AppendUint32(b, class)
	return le.AppendUint32(b, uint32(f.Mode))
}

func readState(b []byte, f *worktree.File) {
	le := binary.LittleEndian
	f.ModTime = int64(le.Uint64(b))
	f.Changed = int64(le.Uint64(b[8:]))
	f.Inode = le.Uint64(b[16:])
	class := le.Uint32(b[24:])
	f.Class, f.Racy = worktree.Class(class&^racyBit), class&racyBit != 0
	f.Mode = fs.FileMode(le.Uint32(b[28:]))
}
