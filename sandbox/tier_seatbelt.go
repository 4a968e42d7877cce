package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// seatbeltRules are the accesses that a profile for macOS's sandbox-exec allows. All paths are
// absolute and free of symbolic links, since rules are matched after links are resolved.
type seatbeltRules struct {
	read  []string
	write []string
}

// seatbeltSystem lists what programs of macOS need to start: the system itself, the developer
// tools, and the places package managers install to.
var seatbeltSystem = []string{
	"/System", "/usr", "/bin", "/sbin", "/opt", "/Library/Apple", "/Library/Developer", "/Library/Frameworks",
	"/Library/Java", "/Applications/Xcode.app", "/private/etc", "/private/var/db/dyld", "/private/var/db/timezone",
	"/private/var/select", "/nix/store",
}

// seatbeltServices lists the launchd services that the C library calls. Others are refused: some
// act for their caller without checking who it is.
var seatbeltServices = []string{
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
	"com.apple.system.logger", "com.apple.system.notification_center",
	"com.apple.cfprefsd.agent", "com.apple.cfprefsd.daemon",
	"com.apple.trustd", "com.apple.trustd.agent",
}

// seatbeltProfile writes the profile. Its order matters: the last matching rule decides. It fails
// for paths that a profile cannot express.
func seatbeltProfile(r seatbeltRules) (string, error) {
	var b strings.Builder
	b.WriteString("(version 1)\n(deny default)\n")
	b.WriteString("(allow process-fork)\n(allow process-exec)\n(allow signal (target same-sandbox))\n")
	b.WriteString("(allow process-info* (target same-sandbox))\n(allow sysctl-read)\n(allow system-fsctl)\n")
	b.WriteString("(allow pseudo-tty)\n(allow ipc-posix-sem)\n(allow ipc-posix-shm)\n")
	for _, s := range seatbeltServices {
		fmt.Fprintf(&b, "(allow mach-lookup (global-name %q))\n", s)
	}
	// Resolving a path needs the attributes of every directory on the way.
	b.WriteString("(allow file-read-metadata)\n")
	b.WriteString("(allow file-read* (literal \"/\"))\n")
	for _, section := range []struct {
		rule  string
		paths []string
	}{
		{"file-read*", append(slices.Clone(seatbeltSystem), r.read...)},
		{"file-read* file-write*", r.write},
	} {
		for _, p := range section.paths {
			if err := seatbeltPath(p); err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "(allow %s (subpath %s))\n", section.rule, seatbeltString(p))
		}
	}
	for _, d := range []string{"null", "zero", "random", "urandom", "tty", "ptmx", "dtracehelper"} {
		fmt.Fprintf(&b, "(allow file-read* file-write-data file-ioctl (literal \"/dev/%s\"))\n", d)
	}
	b.WriteString("(allow file-read* file-write* file-ioctl (regex #\"^/dev/ttys[0-9]+$\"))\n")
	b.WriteString("(allow file-read* (subpath \"/dev/fd\"))\n")
	// Loopback is the host's own, with all services that listen there, so it is denied too.
	b.WriteString("(deny network*)\n")
	b.WriteString("(deny file-write-setugid)\n")
	return b.String(), nil
}

// seatbeltPath rejects paths that the profile language cannot express, and the root, since a rule
// for it would undo all others.
func seatbeltPath(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
		return fmt.Errorf("seatbelt: path %q is not a clean absolute one below the root", p)
	}
	if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return fmt.Errorf("seatbelt: path %q has characters that a profile cannot hold", p)
	}
	return nil
}

// seatbeltString quotes a string for the profile's Scheme, whose strings know only these two
// escapes.
func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
