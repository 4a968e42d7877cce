// This file lets hooks_linux.go declare functions without a body.
