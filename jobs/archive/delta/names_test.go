package delta_test

import (
	"regexp"
	"strings"
	"testing"

	"furrow/jobs/archive/delta"
)

func TestFoldersHaveNamesThatReadersFind(t *testing.T) {
	for text, want := range map[string]string{
		"acme":                   "acme",
		"Acme-2.north_x":         "Acme-2.north_x",
		"a b=c%d":                "a@20b@3Dc@25d",
		"-x":                     "@2Dx",
		"_delta_log":             "@5Fdelta_log",
		".x.":                    "@2Ex@2E",
		"é":                      "@C3@A9",
		"a@41":                   "a@4041",
		"~":                      "@7E",
		strings.Repeat("x", 200): strings.Repeat("x", 200),
		"":                       "",
	} {
		if got := delta.Folder(text); got != want {
			t.Errorf("%q is in %q, want %q", text, got, want)
		}
	}
}

// FuzzFolder: names are short, of letters that no reader takes for something else, and different for different texts.
func FuzzFolder(f *testing.F) {
	f.Add("a b", "a@20b")
	f.Add(strings.Repeat("é", 100), strings.Repeat("é", 101))
	allowed := regexp.MustCompile(`^([A-Za-z0-9@][A-Za-z0-9@_.-]*)?$`)
	f.Fuzz(func(t *testing.T, one, other string) {
		a, b := delta.Folder(one), delta.Folder(other)
		if !allowed.MatchString(a) || len(a) > 200 || strings.HasSuffix(a, ".") {
			t.Errorf("%q is in %q", one, a)
		}
		if one != other && a == b {
			t.Errorf("%q and %q are both in %q", one, other, a)
		}
	})
}

func TestColumnNamesAreTakenByEveryReader(t *testing.T) {
	for text, want := range map[string]string{"temp": "temp", "a b;c": "a_b_c", "2nd": "_2nd", "": "_", "größe": "gr__e",
		"x.y=z": "x_y_z", strings.Repeat("x", 300): strings.Repeat("x", 120)} {
		if got := delta.ColumnName(text); got != want {
			t.Errorf("%q has the column %q, want %q", text, got, want)
		}
	}
}
