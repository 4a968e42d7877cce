//go:build !race

package sandboxtest

// RaceDetector reports whether the tests run under the race detector.
const RaceDetector = false
