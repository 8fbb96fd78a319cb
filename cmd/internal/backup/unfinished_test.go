package backup

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestKilledRestoreLeavesNothingBehindTheNext whose directory is removed only when its process has ended.
func TestKilledRestoreLeavesNothingBehindTheNext(t *testing.T) {
	const as = "FURROW_TEST_RESTORES"
	dir, _ := take(t)
	if from := os.Getenv(as); from != "" { // a process that restores until it is killed
		_, err := Restore(dir, from, asItIs, func(dir string) error {
			_, err := os.Stdout.WriteString("restoring\n")
			must.Succeed(t, err)
			select {}
		})
		t.Fatal(err)
	}
	in := t.TempDir()
	other := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), as+"="+filepath.Join(in, "killed"))
	printed := must.Have(other.StdoutPipe())(t)
	must.Succeed(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill() })
	must.Have(bufio.NewReader(printed).ReadString('\n'))(t)
	must.Have(Restore(dir, filepath.Join(in, "first"), asItIs, noPreparation))(t)
	if all := must.Have(filepath.Glob(filepath.Join(in, unfinished+"*")))(t); len(all) != 2 {
		t.Errorf("while another process restores: %q", all)
	}
	must.Succeed(t, other.Process.Kill())
	_ = other.Wait() // it was killed
	must.Have(Restore(dir, filepath.Join(in, "second"), asItIs, noPreparation))(t)
	if all := must.Have(filepath.Glob(filepath.Join(in, "*")))(t); len(all) != 2 {
		t.Errorf("after it was killed: %q", all)
	}
	if all := must.Have(filepath.Glob(filepath.Join(in, unfinished+"*")))(t); len(all) != 0 {
		t.Errorf("after it was killed: %q", all)
	}
}
