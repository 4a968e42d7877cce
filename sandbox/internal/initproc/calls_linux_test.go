package initproc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// mayBeCalled matches the functions that code running without the Go runtime may call, besides its
// own: system calls, functions that need neither stack nor runtime, and panics, which end the
// process.
var mayBeCalled = regexp.MustCompile(`^(` + strings.Join([]string{
	`syscall\.RawSyscall6`,
	`(internal/)?runtime/(internal/)?syscall(/linux)?\.(Raw)?Syscall6`,
	`runtime\.duff(zero|copy)(\+\d+)?`,
	`runtime\.panic(Index|Slice\w*|Bounds|shift|divide)(U)?`,
	`runtime\.(go)?panic(Index|Slice\w*)(U)?`,
}, "|") + `)$`)

// TestCodeAfterForkCallsOnlyTheKernel checks that nothing after the fork calls the runtime, however
// the program is built. It examines the compiled code, including the compiler's instrumentation.
// With all optimizations off, the linker also checks that the stack is deep enough.
func TestCodeAfterForkCallsOnlyTheKernel(t *testing.T) {
	tier.Normal(t)
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go tool")
	}
	own := declared(t, "raw_linux.go")
	// Each of these except the first and -cover compiles the standard library again.
	flags := []string{"-v=false", "-cover", "-gcflags=all=-N -l", "-race", "-buildmode=pie"}
	for _, flag := range tier.Pick(flags[:1], flags[:3], flags) {
		t.Run(flag, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "test")
			if out, err := exec.Command(tool, "test", "-c", flag, "-o", exe, ".").CombinedOutput(); err != nil {
				if strings.Contains(string(out), "nosplit") {
					t.Fatalf("%s", out)
				}
				t.Skipf("cannot be built so here: %v: %.300s", err, out)
			}
			checkCalls(t, disassemble(t, tool, exe, own), own)
		})
	}
}

func checkCalls(t *testing.T, code map[string][]string, own []string) {
	for name, lines := range code {
		for _, line := range lines {
			if called := callIn(line); called != "" && !allowed(called, own) {
				t.Errorf("%s calls %s: %s", name, called, strings.TrimSpace(line))
			}
			if strings.Contains(line, "riteBarrier") || strings.Contains(line, "morestack") {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
	// These functions are too large to be inlined: if they are missing, nothing was examined.
	for _, name := range []string{"forkServer", "firstProcess", "run", "reap", "send", "receive", "start", "become"} {
		if len(code[name]) < 20 {
			t.Errorf("%s has %d instructions", name, len(code[name]))
		}
	}
}

// allowed reports whether a function may be called.
func allowed(called string, own []string) bool {
	name, local := strings.CutPrefix(called, "github.com/luthier-dev/luthier/sandbox/internal/initproc.")
	return local && slices.Contains(own, name) || mayBeCalled.MatchString(called)
}

// declared lists the functions of a file.
func declared(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		names = append(names, fn.Name.Name)
		for _, need := range []string{"//go:nosplit", "//go:norace", "//go:nocheckptr"} {
			if fn.Doc == nil || !slices.ContainsFunc(fn.Doc.List, func(c *ast.Comment) bool { return c.Text == need }) {
				t.Errorf("%s lacks %s", fn.Name.Name, need)
			}
		}
	}
	return names
}

// disassemble returns the instructions of functions of this package, by name.
func disassemble(t *testing.T, tool, exe string, names []string) map[string][]string {
	t.Helper()
	out, err := exec.Command(tool, "tool", "objdump", "-s", `sandbox/internal/initproc\.(`+strings.Join(names, "|")+`)$`, exe).CombinedOutput()
	if err != nil {
		t.Fatalf("go tool objdump: %v: %.300s", err, out)
	}
	found, name := map[string][]string{}, ""
	for line := range strings.Lines(string(out)) {
		if head, ok := strings.CutPrefix(line, "TEXT "); ok {
			head, _, _ = strings.Cut(head, "(SB)")
			name = head[strings.LastIndex(head, ".")+1:]
		} else if name != "" && strings.TrimSpace(line) != "" {
			found[name] = append(found[name], line)
		}
	}
	return found
}

var callPattern = regexp.MustCompile(`\s(?:CALL|JMP|BL|B)\s+([^\s(]*)\(([^)]*)\)|\s(?:CALL|BL)\s+(\S+)`)

// callIn returns what an instruction calls, or "" if it is not a call.
func callIn(line string) string {
	m := callPattern.FindStringSubmatch(line)
	switch {
	case m == nil:
		return ""
	case m[3] != "":
		return m[3] // through a register
	case m[2] != "SB":
		return m[1] + "(" + m[2] + ")"
	}
	return m[1]
}
