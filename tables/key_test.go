package tables

import (
	"strings"
	"testing"
)

func TestCheckKeySaysWhyAKeyIsRefused(t *testing.T) {
	for key, want := range map[string]string{
		"":                          "empty",
		"a/b":                       `'/' at position 2`,
		`a\b`:                       `'\\' at position 2`,
		"#":                         `'#' at position 1`,
		"é?":                        `'?' at position 2`,
		"50%":                       `'%' at position 3`,
		"a\x00":                     `'\x00' at position 2`,
		"a\u0085":                   `'\u0085' at position 2`,
		"a\xff":                     "not UTF-8",
		strings.Repeat("a", 1025):   "1025 characters",
		strings.Repeat("😀", 513):    "1026 characters",
		"it's":                      "",
		"contoso!1h!2026-11-20":     "",
		"\ufffd":                    "",
		strings.Repeat("é", maxKey): "",
	} {
		err := CheckKey(key)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckKey(%.40q) = %v, want %q", key, err, want)
		}
	}
}
