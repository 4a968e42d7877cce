// Package codestore keeps an index of a work tree on disk, in immutable segments whose content the
// caller defines.
//
// The caller gives a [Format]: a name, a version and a function that turns documents into named
// sections of bytes. The store decides which documents have to be built, in which groups, and when
// a group is built again; [Store.View] returns a consistent set of segments, each with its live
// documents.
//
// On disk a store is a directory:
//
//	manifest   lists the current segments and their dead documents; replaced as a whole by a rename
//	*.seg      segments: header, document table, sections; never changed, named by their content
//	*.stat     newer file times of a segment's documents whose content is the same
//	lock       held by the one process that writes; the system frees it when that process dies
//	tmp-*      files not finished; the next writer removes them
//
// The index can be built again from the tree at any time, and the store relies on that: any part
// that is incomplete, unknown, newer than this code or damaged is left out, appears in the next
// report, and is built again. A killed process leaves either the old state or the new one; the
// segments that it had finished are found and used later, since a segment lists its documents and
// their hashes. The same holds after a loss of power: Sync waits for the disk; Update does not, but
// its small segments are checked completely when they are opened.
//
// Large segments are mapped into memory. This package never truncates a segment. If another program
// does, a mapped page may be gone, and accessing it would end the process. Code that reads sections
// therefore runs within [Guard], which turns the fault into an error. Document tables and small
// segments are read into memory and need no guard.
package codestore
