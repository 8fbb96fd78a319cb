package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"furrow/cmd/internal/history"
)

func TestImportedRowsAreFoldedAndTheirGapsReported(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	writeFile(t, "past.csv", "device,time,temp,fCnt\n"+
		"pump-7,2026-01-01T23:00:00Z,1,1\npump-7,2026-01-02T01:00:00Z,2,5\npump-7,2026-01-02T02:00:00Z,3,5\n"+
		"pump-7,never,3,6\npump-8,2026-01-02T02:00:00Z,9,0\n")
	span := " --from 2026-01-01 --to 2026-01-03"
	code, out, errs := f.run("import past.csv --json --errors bad.jsonl")
	var sum historyLine
	must(t, json.Unmarshal([]byte(out), &sum))
	if code != exitFailed || !strings.Contains(errs, `line 5: "never" is not a time`) || sum.Written != 4 ||
		sum.Wrong != 1 || sum.Added != 2 || sum.Enrollment != "plant1" {
		t.Errorf("exit %d, %+v, %s", code, sum, errs)
	}
	bad, err := os.ReadFile("bad.jsonl")
	must(t, err)
	if found := jsonOf[history.Problem](t, string(bad)); len(found) != 1 || found[0].Line != 5 {
		t.Errorf("the problems are %s", bad)
	}
	f.must("schedule --once")
	f.work()
	if out := f.must("query pump-7 --window 1d --sensors temp --format csv" + span); !strings.Contains(out,
		"pump-7,2026-01-02T00:00:00Z,temp,2,5,") {
		t.Errorf("the rollups are\n%s", out)
	}
	if _, errs := f.both("query pump-7 --gaps" + span); !strings.Contains(errs, "has no numbered readings") {
		t.Errorf("without a sequence: %s", errs)
	}
	writeFile(t, "site.yaml", "pipelines: [{name: live, processors: [latest, rollup]}]\nsequence: fCnt\n")
	f.must("config apply site.yaml")
	want := "device,day,readings,missing,repeated,resets,wraps,first,last,made,by_key,unnumbered,unsure\n" +
		"pump-7,2026-01-01,1,0,0,0,0,1,1,1,0,0,false\npump-7,2026-01-02,2,3,1,0,0,5,5,4,0,0,false\n" +
		"pump-8,2026-01-02,1,0,0,0,0,0,0,1,0,0,false\n"
	if out := f.must("query --tenant acme --gaps --format csv" + span); out != want {
		t.Errorf("the gaps are\n%s", out)
	}
	writeFile(t, "late.jsonl", `{"device":"pump-7","time":"2026-01-01T23:30:00Z","temp":7,"fCnt":3}`)
	f.must("import late.jsonl")
	out = f.must("query pump-7 --gaps --format csv" + span)
	if !strings.Contains(out, "01-01,2,1,0,0,0,1,3,3,0,0,false\n") ||
		!strings.Contains(out, "01-02,2,1,1,0,0,5,5,2,0,0,false\n") {
		t.Errorf("with a late row the gaps are\n%s", out)
	}
	f.refused(exitUsage, "name the FILE", "import")
	writeFile(t, "nobody.csv", "time,temp\n2026-01-01,1\n")
	f.refused(exitUsage, "no column names the device", "import", "nobody.csv")
}

// TestAnImportAsksOrRefusesAndCanBeTakenBack imports a column that may or may not name devices.
func TestEmptyLinesOfAnImportAreCountedInPlainEnglish(t *testing.T) {
	for n, want := range map[int]string{1: "\n1 line without a value", 2: "\n2 lines without a value"} {
		if text := (historyLine{Summary: history.Summary{Empty: n}}).text(); !strings.HasSuffix(text, want) {
			t.Errorf("%d: %s", n, text)
		}
	}
}

func TestAnImportAsksOrRefusesAndCanBeTakenBack(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	writeFile(t, "ids.csv", "id,time,temp\n1,2026-01-01T00:00:00Z,1\n2,2026-01-01T00:01:00Z,2\n")
	f.refused(exitUsage, `decide with --device-column "id" (its values never repeat)`, "import", "ids.csv")
	code, _, errs := f.run("import ids.csv --dry-run --device-column id")
	for _, want := range []string{"device: column id\n", "time: column time, read as iso\n",
		"earliest 2026-01-01T00:00:00Z", "line 2: 1 2026-01-01T00:00:00Z temp=1\n"} {
		if code != exitOK || !strings.Contains(errs, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, errs)
		}
	}
	var sum historyLine
	must(t, json.Unmarshal([]byte(f.must("import ids.csv --device-column id --registered new.txt --json")), &sum))
	list, err := os.ReadFile("new.txt")
	must(t, err)
	if sum.Plan.TimeForm != "iso" || len(sum.Registered) != 2 || len(strings.Fields(string(list))) != 2 {
		t.Errorf("%+v, %q", sum, list)
	}
	f.refused(exitUsage, "not both", "device", "remove", "1", "--file", "new.txt")
	f.must("device remove --data --file new.txt --yes")
	f.refused(exitFailed, `no device "1": the fleet has no devices`, "query", "1", "--raw", "--last", "1d")
}

// TestFileThatIsImportedIsNotOverwritten by a flag that names it, too.
func TestFileThatIsImportedIsNotOverwritten(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	text := "device,time,temp\nd1,2025-03-01T00:00:00Z,1\n"
	writeFile(t, "a.csv", text)
	must(t, os.Symlink("a.csv", "b.csv"))
	for _, line := range []string{"import a.csv --errors", "import a.csv --conflicts", "import a.csv --registered",
		"device import a.csv --errors"} {
		for _, name := range []string{"a.csv", "./a.csv", "b.csv"} {
			f.refused(exitUsage, name+" is the file that is read", line, name)
		}
	}
	if got, err := os.ReadFile("a.csv"); err != nil || string(got) != text {
		t.Errorf("it has %q, %v", got, err)
	}
}

// TestRepeatedImportKeepsTheListOfRegisteredDevices, or what an import that was stopped has registered could not be
// taken back.
func TestRepeatedImportKeepsTheListOfRegisteredDevices(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	writeFile(t, "a.csv", "device,time,temp\nd1,2025-03-01T00:00:00Z,1\n")
	writeFile(t, "b.csv", "device,time,temp\nd1,2025-03-01T00:00:00Z,1\nd2,2025-03-01T00:00:00Z,2\n")
	for _, line := range []string{"import a.csv", "import b.csv", "import b.csv", "import b.csv --dry-run"} {
		f.must(line + " --registered new.txt")
	}
	if got, err := os.ReadFile("new.txt"); err != nil || string(got) != "d1\nd2\n" {
		t.Errorf("it has %q, %v", got, err)
	}
}

// TestConflictsAreListedAndNotWritten imports a row with its key twice, with other values.
func TestConflictsAreListedAndNotWritten(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	line := `{"device":"d1","row":"0638763840000000000-b","time":"2025-03-01T00:00:00Z","values":{"temp":%d}}`
	writeFile(t, "a.jsonl", fmt.Sprintf(line, 1))
	writeFile(t, "b.jsonl", fmt.Sprintf(line, 2))
	f.must("import a.jsonl")
	out := f.must("import b.jsonl --conflicts conflicts.jsonl")
	found, err := os.ReadFile("conflicts.jsonl")
	must(t, err)
	if want := `{"line":1,"device":"d1","row":"0638763840000000000-b","stored":{"temp":"1"},"file":{"temp":"2"}}`; !strings.Contains(
		out, "1 conflict with what is stored") || strings.TrimSpace(string(found)) != want {
		t.Errorf("%s%s", out, found)
	}
}

// TestFilesOfAnImportAreDifferentOnes: a list of registered devices stays, which takes an earlier import back.
func TestFilesOfAnImportAreDifferentOnes(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	writeFile(t, "past.csv", "device,time,temp\npump-7,2026-01-01T23:00:00Z,1\npump-8,never,2\n")
	writeFile(t, "list.txt", "pump-1\n")
	f.refused(exitUsage, "--errors and --registered name the same file",
		"import past.csv --registered list.txt --errors ./list.txt")
	f.refused(exitUsage, "--errors and --conflicts name the same file",
		"import past.csv --errors new.jsonl --conflicts ./new.jsonl")
	if list := text(t, "list.txt"); list != "pump-1\n" {
		t.Errorf("the list of devices is %q", list)
	}
	if code, _, errs := f.run("import past.csv --errors /dev/null --conflicts /dev/null"); code != exitFailed ||
		!strings.Contains(errs, "1 of 2 lines are invalid") {
		t.Errorf("with a stream for both: exit %d, %s", code, errs)
	}
}
