package tabular

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"unicode/utf8"
)

const utf8Name = "UTF-8"

// decoded returns a text as UTF-8 without a byte order mark, and the name of its encoding. Without a name, the mark
// tells the encoding.
func decoded(in *bufio.Reader, name string) (*bufio.Reader, string, error) {
	start, _ := in.Peek(512)
	for mark, of := range map[string]string{"\xef\xbb\xbf": utf8Name, "\xff\xfe": "UTF-16LE", "\xfe\xff": "UTF-16BE"} {
		if strings.HasPrefix(string(start), mark) {
			_, _ = in.Discard(len(mark)) // peeked at before
			name = of
		}
	}
	if name == "" && bytes.IndexByte(start, 0) >= 0 {
		return nil, "", &UnclearError{What: "the file has bytes of zero: it is UTF-16 without a byte order mark, or no text",
			Flag: "encoding", Choices: []Choice{{"utf-16le", ""}, {"utf-16be", ""}}}
	}
	found, name, err := named(name)
	if err != nil || found == nil {
		return in, utf8Name, err
	}
	return bufio.NewReaderSize(transform.NewReader(in, found.NewDecoder()), 64<<10), name, nil
}

// named returns an encoding by a name in any spelling; nil for UTF-8.
func named(name string) (encoding.Encoding, string, error) {
	plain := func(name string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	}
	wanted := plain(name)
	for alias, of := range map[string]string{"latin1": "iso88591", "cp1252": "windows1252", "latin2": "iso88592",
		"latin9": "iso885915", "cp1250": "windows1250", "cp1251": "windows1251", "cp437": "ibmcodepage437",
		"cp850": "ibmcodepage850"} {
		if wanted == alias {
			wanted = of
		}
	}
	switch wanted {
	case "", "utf8", "utf8sig", "ascii":
		return nil, utf8Name, nil
	case "utf16le", "utf16":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16LE", nil
	case "utf16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16BE", nil
	}
	for _, e := range charmap.All {
		if said := fmt.Sprint(e); plain(said) == wanted {
			return e, said, nil
		}
	}
	return nil, "", fmt.Errorf("encoding %q is not known: write utf-8, utf-16le, utf-16be, windows-1252, iso-8859-1 or "+
		"another one of these families", name)
}

// Printable returns a text of a file for a terminal: without control characters, and not longer than most bytes.
func Printable(text string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError || r >= 0x202a && r <= 0x202e {
			return '·'
		}
		return r
	}, text)
	if len(clean) > most {
		for most > 0 && !utf8.RuneStart(clean[most]) {
			most--
		}
		clean = clean[:most] + "…"
	}
	return clean
}
