package delta

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Folder returns a name for a folder that readers of all kinds find: letters, digits, - _ and . stay, and every other
// byte is @ and two hexadecimal digits. So are - . and _ at the beginning, since readers pass over such folders or
// take them for options, and a dot at the end. A percent sign breaks delta-rs, polars and DuckDB, and an equals sign
// polars. What would be longer than 200 bytes ends with @- and a hash. Two texts have the same folder only by such a
// hash.
func Folder(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		first, last := i == 0, i == len(text)-1
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z',
			(c == '-' || c == '_') && !first, c == '.' && !first && !last:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "@%02X", c)
		}
	}
	name := b.String()
	const most, hashed = 200, 32
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(text))
	cut := most - hashed - len("@-")
	if at := strings.LastIndexByte(name[:cut], '@'); at > cut-3 { // not within a byte
		cut = at
	}
	return name[:cut] + "@-" + hex.EncodeToString(sum[:hashed/2])
}

// LogFolder is that of a table's log, below the table's folder.
const LogFolder = "_delta_log/"

// VersionFile returns the name of a version's file below the table's folder.
func VersionFile(version int64) string { return fmt.Sprintf("%s%020d.json", LogFolder, version) }

// CheckpointFile returns the name of a checkpoint below the table's folder.
func CheckpointFile(version int64) string {
	return fmt.Sprintf("%s%020d.checkpoint.parquet", LogFolder, version)
}

// LastCheckpoint is the file that says where readers begin.
const LastCheckpoint = LogFolder + "_last_checkpoint"

// VersionOf returns the version of a file of the log, also of a checkpoint or of what other writers keep beside it.
func VersionOf(name string) (version int64, is bool) {
	base, is := strings.CutPrefix(name, LogFolder)
	digits, _, named := strings.Cut(base, ".")
	if !is || !named || len(digits) != 20 {
		return 0, false
	}
	version, err := strconv.ParseInt(digits, 10, 64)
	return version, err == nil && version >= 0
}
