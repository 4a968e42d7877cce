// Package initproc makes the init process of a set of namespaces by a fork without an exec.
//
// A Go program takes milliseconds and megabytes to start, most of which has nothing to do with it:
// runtime, package variables, and whatever the program that embeds us does before main. The init
// process of a sandbox needs none of that. The program forks a fork server once, which drops all
// memory except a few pages; the fork server forks init processes. Each carries out a script of
// system calls that ordinary code prepared, and then serves requests in a loop (start, signal,
// reset, listen) that allocates nothing, grows no stack and calls nothing but the kernel. The fork
// has no Go runtime: what runs after it must be nosplit, free of write barriers and of race
// instrumentation, and must not panic. The file raw_linux.go is all of it.
//
// gVisor's systrap platform makes its stub processes in the same way, and the hooks of the runtime
// that a fork needs are kept for it (go.dev/issue/67401).
package initproc
