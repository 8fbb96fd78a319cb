package setup

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// ReadSecret reads a file that only its owner may read, without white space around its text.
func ReadSecret(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" { // which has no such modes
		return "", fmt.Errorf("%s holds a secret, and users other than its owner may read it (mode %04o): chmod 600 %s", file,
			mode, file)
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}
