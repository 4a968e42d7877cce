//go:build !unix

package agent_test

const canLimitFileSize = false

func limitFileSize(string) {}
