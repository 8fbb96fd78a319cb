package generations

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDiffShowsWhatDiffers(t *testing.T) {
	const was = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
	is := strings.NewReplacer("b\n", "B\n", "j\n", "j\nk").Replace(was)
	const want = `--- one
+++ two
@@ -1,5 +1,5 @@
 a
-b
+B
 c
 d
 e
@@ -8,3 +8,4 @@
 h
 i
 j
+k
\ No newline at end of file
`
	if got := Diff("one", was, "two", is); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Diff("one", was, "two", was); got != "" {
		t.Errorf("of the same: %s", got)
	}
}

// TestDiffIsWhatPatchTakes has patch make one random text of another.
func TestDiffIsWhatPatchTakes(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("patch is not on this machine")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	text := func() string {
		var b strings.Builder
		for range random.IntN(30) {
			fmt.Fprintf(&b, "line %d\n", random.IntN(8))
		}
		return strings.TrimRight(b.String(), "\n"[:random.IntN(2)])
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	for range 50 {
		was, is := text(), text()
		if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
		diff := Diff("f", was, "f", is)
		if diff == "" || is == "" { // patch takes an empty text for none
			continue
		}
		run := exec.CommandContext(t.Context(), patch, "-d", dir, "-p0", "f")
		run.Stdin = strings.NewReader(diff)
		out, err := run.CombinedOutput()
		got, wrong := os.ReadFile(file)
		if err != nil || wrong != nil || string(got) != is {
			t.Fatalf("%v, %v, %s\n%q\nwith\n%s\nis %q, want %q", err, wrong, out, was, diff, got, is)
		}
	}
}

// TestDiffOfLargeTextsIsShort: in memory and in time.
func TestDiffOfLargeTextsIsShort(t *testing.T) {
	big := strings.Repeat("# a comment\n", 80_000)
	if got := Diff("a", big+"x\n"+big, "b", big+"y\n"+big); strings.Count(got, "\n") != 11 {
		t.Errorf("got %.500s", got)
	}
	if got := Diff("a", strings.Repeat("a\n", 40_000), "b", strings.Repeat("b\n", 40_000)); strings.Count(got,
		"\n") != 80_003 {
		t.Errorf("it has %d lines", strings.Count(got, "\n"))
	}
}
