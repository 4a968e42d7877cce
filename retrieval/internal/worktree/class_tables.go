package worktree

import "strings"

// The tables below hold names in lower case. They are read-only.

func table(rows map[Class]string) map[string]Class {
	t := map[string]Class{}
	for class, names := range rows {
		for name := range strings.FieldsSeq(names) {
			t[name] |= class
		}
	}
	return t
}

var byDir = table(map[Class]string{
	Vendored: `vendor vendored _vendor third_party third-party thirdparty 3rdparty node_modules bower_components
		jspm_packages extern cextern dist pods carthage site-packages`,
	Test: `test tests __tests__ spec specs __spec__ testdata test-data test_data testsuite testsuites testlib fixtures fixture
		__fixtures__ __mocks__ mocks mock __snapshots__ snapshots e2e androidtest unittests unittest integrationtest
		integration-tests integration_tests functional-tests testcases golden`,
	Example: `example examples demo demos sample samples playground playgrounds tutorial tutorials _examples`,
	Bench:   `bench benches benchmark benchmarks benchmarking asv_bench`,
	Doc:     `docs documentation javadoc`,
	Build:   `.circleci .buildkite .ci`,
})

// byTopDir are names with a special meaning only at the top of a tree: deeper they are just as
// often packages, such as go/doc.
var byTopDir = table(map[Class]string{
	Vendored: `external deps`,
	Bench:    `perf`,
	Doc:      `doc man`,
	Script:   `scripts`,
	Build:    `ci`,
})

var byExt = table(map[Class]string{
	Doc: `md markdown mdx rst txt adoc asciidoc textile rdoc pod tex texi texinfo org changelog`,
	Config: `yaml yml toml ini cfg conf properties env editorconfig plist gitignore gitattributes gitmodules dockerignore
		npmrc nvmrc`,
	Data: `json jsonl ndjson json5 jsonc geojson csv tsv xml svg lock sum po pot snap golden sql map ipynb drawio puml
		dot diff patch log pem crt key pub out xsd hdr ecsv vot`,
	Script: `sh bash zsh fish ps1 psm1 bat cmd ksh csh`,
	Build: `cmake mk mak gradle bzl bazel csproj vcxproj fsproj sln ninja gyp gypi gemspec podspec cabal nix ac am m4
		podfile dockerfile`,
	// Never opened: files with these extensions are not text.
	Binary: `png jpg jpeg gif bmp ico icns webp tif tiff psd avif heic pdf zip gz tgz bz2 xz zst lz4 7z rar tar jar war ear
		class pyc pyo pyd so dylib dll exe o a lib pdb wasm bin woff woff2 ttf otf eot mp3 mp4 m4a ogg oga flac wav
		avi mov mkv webm docx xls xlsx ppt pptx odt ods sqlite sqlite3 db mdb parquet feather arrow npy npz pkl
		pickle h5 hdf5 nc fits fit onnx pt pth gguf safetensors tflite keystore jks p12 pfx der rlib rmeta nupkg whl egg
		deb rpm dmg iso img apk ipa swf blend glb fbx mo pack`,
})

var byName = table(map[Class]string{
	Generated | Data: `package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock
		cargo.lock poetry.lock uv.lock pdm.lock pixi.lock pipfile.lock gemfile.lock composer.lock mix.lock flake.lock
		pubspec.lock podfile.lock package.resolved packages.lock.json gradle.lockfile conan.lock go.sum go.work.sum`,
	Build: `makefile gnumakefile cmakelists.txt meson.build build.gradle settings.gradle build.gradle.kts
		settings.gradle.kts pom.xml build.xml build.sbt build workspace module.bazel rakefile gemfile procfile justfile vagrantfile
		taskfile.yml taskfile.yaml setup.py setup.cfg pyproject.toml tox.ini noxfile.py manifest.in package.json cargo.toml go.mod
		go.work build.rs build.zig configure configure.ac configure.in jenkinsfile dockerfile docker-compose.yml
		docker-compose.yaml compose.yaml gulpfile.js gruntfile.js rollup.config.js webpack.config.js vite.config.js vite.config.ts
		package.swift composer.json mix.exs rebar.config dune-project stack.yaml .travis.yml .gitlab-ci.yml azure-pipelines.yml
		appveyor.yml .appveyor.yml .goreleaser.yml wscript sconstruct gradlew mvnw`,
	Config: `package.json tslint.json jsconfig.json composer.json .eslintrc.json .prettierrc .babelrc .editorconfig .gitattributes .gitignore
		.gitmodules .dockerignore .npmrc .nvmrc .clang-format .clang-tidy .pylintrc codeowners`,
	Script: `gradlew mvnw configure`,
})

var docNames = set(`readme license licence copying changelog changes news authors contributors contributing notice patents
	maintainers history todo install thanks credits security copyright unlicense version`)

// camelTests are the extensions of languages that name a test FooTest.
var camelTests = set(`java kt kts scala groovy cs vb fs php swift m mm hs cpp cc h hpp`)

func set(names string) map[string]bool {
	t := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		t[name] = true
	}
	return t
}

// generatedStems are endings of file names, before the extension, that only programs write.
var generatedStems = []struct {
	suffix string
	exts   []string // nil means any
	class  Class
}{
	{".pb", nil, Generated},
	{".pb.gw", nil, Generated},
	{"_pb2", []string{"py", "pyi"}, Generated},
	{"_pb2_grpc", []string{"py", "pyi"}, Generated},
	{"_grpc.pb", nil, Generated},
	{".connect", []string{"go"}, Generated},
	{"_generated", nil, Generated},
	{".generated", nil, Generated},
	{".gen", nil, Generated},
	{"_gen", []string{"go"}, Generated},
	{".g", []string{"dart", "cs"}, Generated},
	{".freezed", []string{"dart"}, Generated},
	{".designer", []string{"cs", "vb"}, Generated},
	{".min", []string{"js", "mjs", "cjs", "css", "html", "json"}, Generated | Minified},
	{"-min", []string{"js", "css"}, Generated | Minified},
	{".js", []string{"map"}, Generated | Minified},
	{".mjs", []string{"map"}, Generated | Minified},
	{".cjs", []string{"map"}, Generated | Minified},
	{".css", []string{"map"}, Generated | Minified},
	{".ts", []string{"map"}, Generated | Minified},
	{".bundle", []string{"js", "css"}, Generated | Minified},
	{".chunk", []string{"js", "css"}, Generated | Minified},
}
