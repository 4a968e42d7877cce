//go:build !unix

package history_test

func limitFileSize() {}
