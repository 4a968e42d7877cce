package attacks_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls through the other interface that an amd64 kernel accepts: that of 32-bit programs, with
// different numbers and arguments.

const (
	archIOPL  = unix.SYS_IOPL
	archLDT   = unix.SYS_MODIFY_LDT
	archCreat = unix.SYS_CREAT
)

// needs386 returns the reason if this kernel runs no 32-bit programs.
func needs386() string {
	f, err := os.CreateTemp("", "luthier-32-*")
	if err != nil {
		return err.Error()
	}
	defer os.Remove(f.Name())
	_, err = f.Write(elf32(exit32))
	if err := errors.Join(err, f.Chmod(0o700), f.Close()); err != nil {
		return err.Error()
	}
	if err := exec.Command(f.Name()).Run(); err != nil {
		return "this kernel runs no 32-bit programs: " + err.Error()
	}
	return ""
}

// exit32 is the machine code of exit(0).
var exit32 = []byte{0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80}

// elf32 returns a 32-bit program: a header, one segment, the code.
func elf32(code []byte) []byte {
	const base, start = 0x08048000, 52 + 32
	e := binary.LittleEndian
	b := append([]byte{0x7f, 'E', 'L', 'F', 1, 1, 1}, make([]byte, 9)...)
	b = e.AppendUint16(b, 2) // executable
	b = e.AppendUint16(b, 3) // 386
	b = e.AppendUint32(b, 1)
	b = e.AppendUint32(b, base+start)
	b = e.AppendUint32(b, 52) // segments follow
	b = e.AppendUint32(b, 0)
	b = e.AppendUint32(b, 0)
	for _, v := range []uint16{52, 32, 1, 0, 0, 0} {
		b = e.AppendUint16(b, v)
	}
	size := uint32(start + len(code))
	for _, v := range []uint32{1, 0, base, base, size, size, 7, 0x1000} {
		b = e.AppendUint32(b, v)
	}
	return append(b, code...)
}

// runELF32 executes a 32-bit program that makes a file called by32.
func runELF32([]string) error {
	code := []byte{
		0xb8, 8, 0, 0, 0, // creat
		0xbb, 0, 0, 0, 0, // the name, filled in below
		0xb9, 0xa4, 1, 0, 0, // 0644
		0xcd, 0x80,
	}
	code = append(code, exit32...)
	binary.LittleEndian.PutUint32(code[6:], 0x08048000+52+32+uint32(len(code)))
	code = append(code, "by32\x00"...)
	if err := os.WriteFile("elf32", elf32(code), 0o755); err != nil {
		return err
	}
	return syscall.Exec("./elf32", []string{"elf32"}, nil)
}

// int80 calls getpid through the 32-bit entry from 64-bit code.
func int80([]string) error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	copy(page, []byte{0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3}) // push rbx; getpid; pop rbx; ret
	code := uintptr(unsafe.Pointer(&page[0]))
	ref := &code
	call := *(*func())(unsafe.Pointer(&ref))
	call()
	return nil
}
