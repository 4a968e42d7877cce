// Package eval measures how well a search finds the files and lines that a query is about.
//
// [Load] reads queries with their truth: issues and commit messages, whose truth is the files and
// lines that the fix changed, asked of the commit before it; and questions with a written answer.
// [Trees] provides a commit as a directory. [Score] and [Place] compare a ranking with the truth,
// [Table] prints the means, and a search has to beat the baselines.
package eval
