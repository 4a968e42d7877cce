package main

import _ "embed"

//go:embed broken/go.mod.txt
var goMod string

//go:embed broken/stats.go.txt
var statsGo string

//go:embed broken/stats_test.go.txt
var statsTestGo string

// files holds the repository with the fault.
var files = map[string]string{"go.mod": goMod, "stats.go": statsGo, "stats_test.go": statsTestGo}
