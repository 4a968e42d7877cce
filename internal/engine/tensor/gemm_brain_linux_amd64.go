package tensor

import "golang.org/x/sys/unix"

// allowTiles asks the operating system to enable the tile registers for this process (Linux,
// Documentation/arch/x86/xstate.rst).
func allowTiles() bool {
	const requestPermission, tileData = 0x1023, 18
	_, _, err := unix.Syscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return err == 0
}
