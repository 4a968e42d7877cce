//go:build !linux

package fleet_test

func setUpLink(string) error { return nil }
