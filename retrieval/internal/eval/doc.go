// Package eval measures how well a search finds the files and lines of a tree
// that a query is about.
//
// [Load] reads queries with their truth: issues and commit messages, whose truth are the
// files and lines that the fix changed, asked of the commit before it; and questions of
// which somebody wrote down the answer. [Trees] gives a commit as a directory. [Score]
// and [Place] compare a ranking with the truth, [Table] prints the means, and the
// baselines are what a search has to beat.
package eval
