//go:build !unix

package gitlog_test

func limitFileSize() {}
