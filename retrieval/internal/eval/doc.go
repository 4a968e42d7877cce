// Package eval measures how well a search finds the files and lines that a query is about.
//
// [Load] reads queries with their correct answers. For an issue or a commit message, the answer is
// the set of files and lines that the fix changed, and the search runs in the commit before the
// fix. A question comes with a written answer. [Trees] provides a commit as a directory. [Score]
// and [Place] compare a ranking with the correct answers, and [Table] prints the means. A search
// has to beat the baselines.
package eval
