// Package proctree ends process trees. A process group is not enough: a descendant may have left it
// by setsid and lost its parent by a double fork. So a tree is found by ancestry and by a marker in
// the environment, is stopped first so that it cannot grow during the search, and is killed only
// then.
//
// The environment of a process in the middle of an exec is empty for a moment; it is read again
// until it is there.
package proctree
