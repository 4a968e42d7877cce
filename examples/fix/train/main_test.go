package main

import (
	"os"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}
