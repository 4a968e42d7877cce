// Package vectors keeps the embeddings of texts in one file and finds those nearest to a query,
// exactly.
//
// A vector is kept under the hash of its text, its Key, so that a text which did not change is
// never embedded twice, nor one that stands in several files. What is searched is usually a part of
// the store, the texts of today's tree; a Set names it:
//
//	store, err := vectors.Open(path, vectors.Config{Model: embedder.Name()})
//	set := store.Select(keys)                  // of today's texts
//	progress, err := set.Fill(ctx, text, cfg)  // embeds what is missing
//	found, err := set.Search(ctx, query, 10)   // nearest first, by the cosine
//
// # How a search is both exact and fast
//
// Vectors are scaled to length 1 and kept twice: as float32, and rounded to 8 bits with a scale for
// each row. A search reads only the rounded ones, a quarter of the bytes, and that is as fast as
// the memory. The length of a row's rounding error is kept with it, and by the inequality of Cauchy
// and Schwarz the true cosine lies no further than that from the rounded one. So each row has a
// highest and a lowest possible cosine; the few rows that could be among the best are then computed
// from float32, best first, until no other can enter. The result is that of a search over the
// float32 vectors, not nearly but always.
//
// # The file
//
// A header that names the model, then blocks that are only ever appended: rows, or keys that were
// deleted (format.go). A block is on the disk before Append returns. One that was cut off by a
// crash has no valid checksum and is overwritten by the next. Header and tables are checked when
// the file is opened, the rounded rows when they are first searched, and a float32 row each time it
// is read; what is damaged is missing afterwards and is embedded again.
//
// The file is mapped into memory if the system can do so, and read otherwise. If another program
// cuts it short under the mapping, searches fail with an error, and the process lives on.
//
// One process writes at a time, enforced by a lock file; others read and see new rows after
// Refresh.
package vectors
