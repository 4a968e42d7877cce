// Package attacks contains only tests: hostile programs that run in a sandbox, and without one as
// their control; thousands of random lives of sandboxes; and everyday work, which a sandbox must
// not break. They use sandboxes as any program does.
//
//	go test -v -run Attack ./sandbox/attacks
//
// lists every attack with a description. A third of them run with -short.
package attacks
