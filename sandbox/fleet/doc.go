// Package fleet runs sandboxed commands on many hosts.
package fleet
