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

// Format is the version of a directory's layout: of the files in it, the keys and
// records in the database, and Pebble's own files. It grows with every change
// that an older program would misread or damage. A new directory gets this one;
// opening an older directory leaves it in its format, which every later program reads.
const Format = 1

const formatFile = "format"

// ErrNewer is returned by Open for a directory in a format newer than Format.
var ErrNewer = errors.New("a newer version of furrow is needed")

// checkFormat refuses a directory in an unknown format before anything in it is
// opened. A directory without a format file is new.
func checkFormat(dir string) error {
	name := filepath.Join(dir, formatFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("%s does not contain a format number: restore it, or write %d to it if no newer version of "+
			"furrow has used the directory", name, Format)
	case n > Format:
		return fmt.Errorf("it has format %d, and this program reads formats up to %d: %w", n, Format, ErrNewer)
	}
	return nil
}

// markFormat writes the format of a new directory. The directory is locked, and
// the file is on disk when markFormat returns.
func markFormat(dir string) error {
	name := filepath.Join(dir, formatFile)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	return WriteSecret(name, strconv.Itoa(Format)+"\n")
}
