package worktree

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// TestClassifyPath classifies real paths: from the named repositories, from Go's source, and from
// well-known conventions.
func TestClassifyPath(t *testing.T) {
	for want, list := range map[Class]string{
		0: `astropy/table/info.py modules/caddyhttp/reverseproxy/selectionpolicies.go src/unix/core.c lib/axios.js
			mockito-core/src/main/java/org/mockito/internal/MockitoCore.java gson/src/main/java/com/google/gson/annotations/SerializedName.java
			packages/svelte/src/internal/client/dom/elements/bindings/universal.js tracing-core/src/lib.rs pylint/testutils/functional/lint_module_output_update.py
			astropy/io/fits/scripts/fitsdiff.py src/go/doc/comment.go src/testing/testing.go src/net/http/httptest/server.go Latest.java
			app/models/contest.rb contest.py attest.go AUDIT.java Audit.java protest.rs src/os/exec/exec.go latest.ts Tester.kt`,
		Test: `binding/json_test.go astropy/modeling/tests/data/__init__.py tests/lint/test_run_pylint.py test/specs/core/mergeConfig.spec.js
			mockito-core/src/test/java/org/mockitousage/bugs/AIOOBExceptionWithAtLeastTest.java mockito-core/src/testFixtures/java/org/mockitoutil/ThrowableAssert.java
			crates/ignore/tests/gitignore_matched_path_or_any_parents_tests.rs test/test-shutdown-eof.c conftest.py pkg/conftest.py
			packages/svelte/tests/css/samples/has-with-render-tag/input.svelte src/__tests__/a.ts a/b.test.tsx c.spec.ts spec/models/user_spec.rb FooTest.kt FooTests.cs
			FooIT.java FooSpec.scala TestFoo.java FooTestCase.php internal/mocks/db.go store_mock.go mock_store.go src/__mocks__/fs.js
			test/fixtures/blog/post/index.tmpl cmd/testdata/script/a.star api/e2e/run.ts lib/foo_test.exs foo_unittest.cc
			mockito-integration-tests/module-tests/Module.java test-shrinker/src/main/java/com/example/Main.java tests.py app/tests.py`,
		Test | Example: `example_test.go errors/example_as_test.go`,
		Test | Bench:   `upstreams_bench_test.go test/benchmark-spawn.c test/benchmark.h tests/benchmark/test_baseline_benchmarks.py`,
		Bench: `crates/globset/benches/bench.rs asv_bench/benchmarks/alignment.py benchmarking/benchmarks/ssr/wrapper/wrapper_bench.js
			metrics/src/main/java/com/google/gson/metrics/CollectionsDeserializationBenchmark.java bench_io.py parse.bench.ts`,
		Example: `examples/server.js crates/grep/examples/simplegrep.rs playgrounds/sandbox/run.js demo/app.py samples/a.cs _examples/chat/main.go`,
		Doc: `README README.md docs/uncertainty/index.rst CHANGES.rst LICENSE LICENSE-MIT COPYING docs/conf.py doc/gallery.py src/pkg/doc/intro.rst
			documentation/docs/02-runes/01-what-are-runes.md NEWS ChangeLog`,
		Config:         `.editorconfig codecov.yml config.ini deny.toml gradle.properties .pre-commit-config.yaml .prettierrc`,
		Config | Build: `Cargo.toml .github/workflows/ci.yml pyproject.toml tox.ini setup.cfg requirements.txt requirements-dev.txt vite.config.ts`,
		Data:           `a.json astropy/cosmology/data/WMAP3.ecsv table.csv logo.svg caddytest/caddy.localhost.key messages.po x/data.xml`,
		Generated | Data: `go.sum Cargo.lock package-lock.json yarn.lock flake.lock poetry.lock uv.lock composer.lock Gemfile.lock
			Package.resolved sub/dir/Pipfile.lock`,
		Generated | Config | Data:              `pnpm-lock.yaml`,
		Generated:                              `api/v1/a.pb.go a_pb2.py a_pb2_grpc.py a_pb2.pyi a.pb.cc a.pb.h zz_generated.deepcopy.go types.generated.ts ent_gen.go model.g.dart Form1.Designer.cs`,
		Generated | Minified | Vendored:        `dist/axios.min.js vendor/jquery.min.js node_modules/a/b-min.js dist/app.bundle.js`,
		Generated | Minified | Vendored | Data: `dist/axios.js.map dist/esm/axios.min.js.map`,
		Vendored:                               `astropy/extern/ply/ctokens.py cextern/expat/lib/xmlparse.c vendor/golang.org/x/net/http2/frame.go third_party/zlib/inflate.c dist/esm/axios.js deps/lua/src/lapi.c`,
		Vendored | Doc:                         `astropy/extern/README.rst`,
		Script:                                 `install.sh scripts/update-latest-whatsnew-stats.py run.bat tools/vswhere_usability_wrapper.cmd a.ps1`,
		Script | Build:                         `gradlew ci/miri.sh`,
		Build:                                  `Makefile CMakeLists.txt src/CMakeLists.txt setup.py go.mod build.rs Dockerfile Dockerfile.alpine m4/as_case.m4 Rakefile BUILD.bazel defs.bzl build.gradle.kts`,
		Data | Build:                           `pom.xml gson/pom.xml`,
		Config | Data | Build:                  `package.json packages/svelte/package.json`,
		Config | Data:                          `tsconfig.json tsconfig.base.json`,
		Binary:                                 `assets/banner.png a.jar lib/native.so src/x.pyc assets/themes.bin a.wasm font.woff2`,
		Binary | Test:                          `astropy/io/fits/tests/data/blank.fits tests/data/sherlock.bz2`,
		Test | Config | Build:                  `test/module/Cargo.toml`,
		Test | Data:                            `tests/pyreverse/data/classes_No_Name.puml src/test/resources/data.json`,
		Doc | Build:                            `docs/Makefile`,
		Example | Config | Build:               `examples/Cargo.toml`,
	} {
		for path := range strings.FieldsSeq(list) {
			if got := Classify(path, nil); got != want {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
	}
}

func TestClassifyContent(t *testing.T) {
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("// Zażółć\r\nint main() {}\r\n")) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	line := strings.Repeat("a.b(c),", 400)
	for name, c := range map[string]struct {
		path, head string
		want       Class
	}{
		"plain":               {"a.go", "package a\n", 0},
		"empty":               {"a.go", "", 0},
		"nul":                 {"a.go", "package a\x00", Binary},
		"pdf":                 {"a", "%PDF-1.4\n", Binary},
		"control characters":  {"a", strings.Repeat("\x01\x02ab", 50), Binary},
		"colours":             {"a.txt", strings.Repeat("\x1b[1mbold\x1b[0m\n", 50), Doc},
		"utf-16":              {"a.c", string(utf16le), 0},
		"utf-32":              {"a.c", "\xff\xfe\x00\x00a\x00\x00\x00", Binary},
		"latin-1":             {"a.c", "/* caf\xe9 */\n", 0},
		"one long line":       {"a.js", line, Minified},
		"licence and a line":  {"a.js", "/*! a\n * b\n */\n" + line, Minified},
		"long line in code":   {"a.js", "var x = '" + line + "'\n" + strings.Repeat("f(x)\n", 600), 0},
		"long lines":          {"a.js", strings.Repeat(strings.Repeat("f(x) ", 80)+"\n", 20), 0},
		"long json":           {"a.json", "{" + line + "}", Data | Minified},
		"long prose":          {"a.md", line, Doc},
		"wide table":          {"a.csv", strings.Repeat(strings.Repeat("1,", 100)+"\n", 50), Data},
		"go generated":        {"a.go", "// Copyright\n\n// Code generated by stringer; DO NOT EDIT.\n\npackage a\n", Generated},
		"go generated crlf":   {"a.go", "// Code generated by x. DO NOT EDIT.\r\npackage a\r\n", Generated},
		"go, indented":        {"a.go", "package a\n\n\t// Code generated by x; DO NOT EDIT\n", Generated}, // as in other languages
		"go, late":            {"a.go", "package a\n" + strings.Repeat("// x\n", 1000) + "// Code generated by x. DO NOT EDIT.\n", Generated},
		"at generated":        {"a.php", "<?php\n/**\n * @" + "generated SignedSource<<x>>\n */\n", Generated},
		"protobuf":            {"a.py", "# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", Generated},
		"two lines":           {"a.ts", "// This file was generated by openapi.\n// Do not edit it by hand.\n", Generated},
		"autogenerated":       {"a.rb", "# This file is auto-generated from the current state of the database.\n", Generated},
		"speaks of it":        {"a.py", `"""Look at generated files. They are listed below."""` + "\n", 0},
		"speaks of editing":   {"a.md", "This is generated. Do not edit.\n", Doc},
		"says it in a string": {"gen.go", "package a\n\nconst header = \"// Code generated by x. DO NOT EDIT.\"\n", 0},
	} {
		if got := Classify(c.path, []byte(c.head)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		raw, want string
		enc       Encoding
	}{
		"utf-8":          {"é\n", "é\n", UTF8},
		"mark":           {"\xef\xbb\xbfé", "é", UTF8},
		"utf-16le":       {"\xff\xfeA\x00\xe9\x00\n\x00", "Aé\n", UTF16LE},
		"utf-16be":       {"\xfe\xff\x00A\x00\xe9", "Aé", UTF16BE},
		"surrogates":     {"\xff\xfe\x3d\xd8\x00\xde", "\U0001f600", UTF16LE},
		"half a pair":    {"\xff\xfe\x3d\xd8A\x00", "\ufffdA", UTF16LE},
		"odd length":     {"\xff\xfeA\x00B", "A", UTF16LE},
		"latin-1":        {"caf\xe9 na\xefve", "café naïve", Latin1},
		"windows quotes": {"\x93x\x94 \x80", "“x” €", Latin1},
		"one bad byte":   {"zażółć \xff\n", "zażółć \ufffd\n", UTF8},
		"empty":          {"", "", UTF8},
	} {
		got, enc := Text([]byte(c.raw))
		if string(got) != c.want || enc != c.enc {
			t.Errorf("%s: %q in %v, want %q in %v", name, got, enc, c.want, c.enc)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("a/b_test.go", []byte("// Code generated by x. DO NOT EDIT.\n"))
	f.Add("docs/x.min.js", []byte("\xff\xfea\x00"))
	f.Add("", []byte(strings.Repeat("x", 2000)))
	f.Fuzz(func(t *testing.T, path string, head []byte) {
		c := Classify(path, head)
		if c >= classes {
			t.Errorf("class %d", c)
		}
		text, enc := Text(head)
		if !strings.Contains("UTF-8 UTF-16LE UTF-16BE Latin-1", enc.String()) || string(text) != strings.ToValidUTF8(string(text), "") {
			t.Errorf("%q in %v", text, enc)
		}
		if enc == UTF8 || enc == Latin1 {
			if a, b := strings.Count(string(text), "\n"), strings.Count(string(head), "\n"); a != b {
				t.Errorf("%d lines became %d", b, a)
			}
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	head := []byte(strings.Repeat("func f() { return g(x, y) } // an ordinary line\n", 340))
	b.SetBytes(int64(len(head)))
	b.ReportAllocs()
	for b.Loop() {
		Classify("modules/caddyhttp/reverseproxy/selectionpolicies.go", head)
	}
}
