//go:build race

package sandbox

// raceDetector tells that the tests run under it.
const raceDetector = true
