package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// findProgram checks a command's directory and looks up its program, so that the error says which
// of the two is wrong.
func findProgram(name, dir string, env []string) (string, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("working directory: %w", &os.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR})
	}
	return lookPath(name, dir, env)
}

// lookPath finds a program as execvp would in the command's own environment and directory.
func lookPath(name, dir string, env []string) (string, error) {
	if runtime.GOOS == "windows" {
		return exec.LookPath(name)
	}
	paths := programPaths(name, dir, env)
	if strings.Contains(name, "/") {
		return paths[0], executable(paths[0])
	}
	var denied error
	for _, path := range paths {
		err := executable(path)
		if err == nil {
			return path, nil
		}
		var pe *os.PathError
		if errors.As(err, &pe) && pe.Op == "exec" { // it exists but cannot be executed
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", exec.ErrNotFound
}

func executable(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	if fi.IsDir() || fi.Mode().Perm()&0o111 == 0 {
		return &os.PathError{Op: "exec", Path: path, Err: os.ErrPermission}
	}
	return nil
}

func envValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// programPaths lists the possible paths of a program, as execvp would search in the command's own
// environment and directory.
func programPaths(name, dir string, env []string) (paths []string) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return []string{name}
	}
	for _, d := range filepath.SplitList(envValue(env, "PATH")) {
		// A relative entry would make the program depend on the directory, which a
		// workspace may control.
		if filepath.IsAbs(d) {
			paths = append(paths, filepath.Join(d, name))
		}
	}
	return paths
}
