// Package proctree ends process trees. A process group is not enough: a descendant
// may have left it by setsid and lost its parent by a double fork, so a tree is
// found by ancestry and by a marker in the environment, stopped first so that it
// cannot grow while it is being found, and only then killed.
package proctree
