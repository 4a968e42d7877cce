// Package attacks has no code but tests: hostile programs that run in a sandbox, and without one as
// their control, lives of sandboxes by the thousand, and what people do all day, which a sandbox
// must not break. They use sandboxes as any program does.
//
//	go test -v -run Attack ./sandbox/attacks
//
// lists every attack with what it does. A third of them run with -short.
package attacks
