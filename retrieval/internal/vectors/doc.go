// Package vectors keeps the embeddings of texts in one file and finds those nearest to a query,
// exactly.
//
// A vector is kept under its Key, the hash of its text, so that a text is embedded only once, even
// if it stays unchanged over time or occurs in several files. A search usually covers only a part
// of the store, the texts of the current tree; a Set selects it:
//
//	store, err := vectors.Open(path, vectors.Config{Model: embedder.Name()})
//	set := store.Select(keys)                  // of the current texts
//	progress, err := set.Fill(ctx, text, cfg)  // embeds the missing ones
//	found, err := set.Search(ctx, query, 10)   // nearest first, by the cosine
//
// # How a search is both exact and fast
//
// Vectors are scaled to length 1 and kept twice: as float32, and rounded to 8 bits with a scale for
// each row. A search reads only the rounded rows, a quarter of the bytes, as fast as the memory
// delivers them. The length of each row's rounding error is stored with the row; by the
// Cauchy-Schwarz inequality, it bounds the difference between the true cosine and the rounded one.
// So each row has a highest and a lowest possible cosine. The cosines of the few rows that could be
// among the best are then computed in float32, best first, until no other row can be among the
// best. The result is always exactly that of a search over the float32 vectors.
//
// # The file
//
// The file has a header that names the model, followed by blocks of rows or of deleted keys, which
// are only ever appended (see format.go). A block is on the disk before Append returns. A block
// that was cut off by a crash has no valid checksum and is overwritten by the next one. Header and
// tables are checked when the file is opened, the rounded rows when they are first searched, and a
// float32 row each time it is read; damaged rows count as missing and are embedded again.
//
// The file is mapped into memory if the system can do so, and read otherwise. If another program
// truncates the mapped file, searches fail with an error, but the process survives.
//
// One process writes at a time, enforced by a lock file; others read and see new rows after
// Refresh.
package vectors
