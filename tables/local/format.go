package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Format numbers how a directory is laid out. It grows with every change that
// an older program would take for damage, or damage itself.
const Format = 1

const formatFile = "format"

// ErrNewer is returned by Open for a directory that a newer program has made.
var ErrNewer = errors.New("it was made by a newer version of this program")

// checkFormat refuses a directory whose layout this program does not know, before
// anything in it is opened. One without a number is new, or from before there
// were numbers.
func checkFormat(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("%s does not hold the number of a format: restore it, or put %d in it where no newer version has served the directory", filepath.Join(dir, formatFile), Format)
	case n > Format:
		return fmt.Errorf("%w: its format is %d, and this program knows those up to %d", ErrNewer, n, Format)
	}
	return nil
}

// markFormat leaves word of the layout. It is called while the directory is
// locked; the word is on disk when it returns.
func markFormat(dir string) error {
	name := filepath.Join(dir, formatFile)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	return writeWhole(name, strconv.Itoa(Format)+"\n")
}
