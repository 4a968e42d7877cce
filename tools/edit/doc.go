// Package edit replaces text in files the way language models ask for it.
package edit
