// Package codestore keeps an index of a work tree on disk, in immutable segments whose content the
// caller defines.
//
// The caller gives a [Format]: a name, a version and a function that turns documents into named
// sections of bytes. The store decides which documents have to be built, in which groups, and when
// a group is built again; [Store.View] shows a consistent set of segments, with the documents of
// each that are alive.
//
// On disk a store is a directory:
//
//	manifest   which segments count, and which of their documents are dead; replaced as a whole by a rename
//	*.seg      segments: header, document table, sections; never changed, named by what they hold
//	*.stat     newer file times of a segment's documents whose content is the same
//	lock       held by the one process that writes; the system frees it when that process dies
//	tmp-*      files not finished; the next writer removes them
//
// The index can be built again from the tree at any time, and the store relies on that: whatever is
// torn, unknown, newer than this code or damaged is left out, appears in the next report, and is
// built again. A killed process leaves the old state or the new one; segments that it had finished
// are found again and used, since a segment names its documents and their content. The same holds
// after a loss of power: Sync waits for the disk; Update does not, but its small segments are
// checked whole.
//
// Large segments are mapped into memory. This package never shortens a segment. If another program
// does, a mapped page is gone and touching it would end the process. So code that reads sections
// runs within [Guard], which turns the fault into an error. Document tables and small segments are
// read into memory and need no guard.
package codestore
