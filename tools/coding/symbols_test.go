package coding

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutline(t *testing.T) {
	w := openWith(t, Config{}, files{
		"a.go":   "package a\n\nconst Max = 3\n\nvar x, y int\n\n// S is.\ntype S[T any] struct {\n\tA int\n}\n\ntype I interface {\n\tDo(n int) error\n}\n\nfunc (s *S[T]) Run(a, b int) error {\n\treturn nil\n}\n\nfunc main() {}\n",
		"a.py":   "import os\n\nclass A(Base):\n    def run(self):\n        if x:\n            pass\n\n    class Inner:\n        async def go(self): ...\n\ndef main():\n    pass\n",
		"a.ts":   "export class Server {\n  private x = 1;\n  async listen(port: number): Promise<void> {\n    if (port) {\n    }\n  }\n}\nexport const handler = async (req: Request) => {\n};\ninterface Opts {\n}\nfunction helper() {}\n",
		"a.rs":   "pub mod net {\n    pub struct Conn;\n    impl Conn {\n        pub async fn open() {}\n    }\n}\nfn main() {}\n",
		"A.java": "public class A {\n  private int x;\n  public static void main(String[] args) {\n    foo(1);\n    return;\n  }\n}\n",
		"a.c":    "#define MAX 3\nstatic int add(int a, int b)\n{\n  return a + b;\n}\nstruct point {\n  int x;\n};\nint main(void) {\n  add(1, 2);\n}\n",
		"bad.go": "package a\nfunc One() {\n", "a.md": "# Top\ntext\n## Part one\n", "a.xyz": "what\n", "empty.go": "package a\n",
	})
	for name, want := range map[string]string{
		"a.go":   "a.go (20 lines)\n3\tconst Max\n5\tvar x int\n5\tvar y int\n8-10\ttype S[T any] struct\n12-14\ttype I interface\n  13\tDo(n int) error\n16-18\tfunc (s *S[T]) Run(a, b int) error\n20\tfunc main()",
		"a.py":   "3-9\tclass A(Base):\n  4-6\tdef run(self):\n  8-9\tclass Inner:\n    9\tasync def go(self):\n11-12\tdef main():",
		"a.ts":   "1-7\texport class Server\n  3-6\tasync listen(port: number): Promise<void>\n8-9\texport const handler = async (req: Request) =>\n10-11\tinterface Opts\n12\tfunction helper()",
		"a.rs":   "1-6\tpub mod net\n  2\tpub struct Conn\n  3-5\timpl Conn\n    4\tpub async fn open()\n7\tfn main()",
		"A.java": "1-7\tpublic class A\n  3-6\tpublic static void main(String[] args)",
		"a.c":    "1\t#define MAX 3\n2-5\tstatic int add(int a, int b)\n6-8\tstruct point\n9-11\tint main(void)",
		"bad.go": "2\tfunc One()",
		"a.md":   "1-3\t# Top\n  3\t## Part one",
	} {
		got := do(t, w, "symbols", args{"path": name})
		if name != "a.go" {
			_, got, _ = strings.Cut(got, "\n")
			want += "\n(" + approximate + ")"
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	refused(t, w, "symbols", args{"path": "a.xyz"}, "no outline", "grep")
	refused(t, w, "symbols", args{"path": "."}, "directory")
	refused(t, w, "symbols", args{})
	contains(t, do(t, w, "symbols", args{"path": "empty.go"}), "declares nothing")
}

func TestFindSymbol(t *testing.T) {
	w := openWith(t, Config{}, files{
		"a.go": "package a\n\ntype Server struct{}\n\nfunc (s *Server) Close() {}\n\ntype Client struct{}\n\nfunc (c Client) Close() {}\n", "b/b.go": "package b\n\nfunc Close() { a.Close() }\n",
		"c.py": "class Server:\n    def close(self):\n        pass\n", "vendor/v.go": "package v\nfunc Close() {}\n", ".gitignore": "vendor/\n", "bin.go": "\x00Close",
	})
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"name": "Close"}, "a.go:5\tfunc (s *Server) Close()\na.go:9\tfunc (c Client) Close()\nb/b.go:3\tfunc Close()"},
		{args{"name": "Server.Close"}, "a.go:5\tfunc (s *Server) Close()\nb/b.go:3\tfunc Close()"},
		{args{"name": "Server"}, "a.go:3\ttype Server struct\nc.py:1-3\tclass Server:\n(other languages than Go are " + approximate + ")"},
		{args{"name": "Close", "path": "b"}, "b/b.go:3\tfunc Close()"},
		{args{"name": "Close", "path": "b/b.go"}, "b/b.go:3\tfunc Close()"},
	} {
		if d := cmp.Diff(c.want, do(t, w, "symbols", c.in)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.in, d)
		}
	}
	contains(t, do(t, w, "symbols", args{"name": "Nowhere"}), "No declaration", "grep")
	refused(t, w, "symbols", args{"name": "Close", "path": "nope"}, "does not exist")
}
