package bench

import "testing"

const contoso = "DefaultEndpointsProtocol=http;AccountName=contoso;AccountKey=a2V5;" +
	"TableEndpoint=http://127.0.0.1:2/contoso"

func TestTargetsCanBeNamed(t *testing.T) {
	t.Setenv("FURROW_TEST_TARGET", contoso)
	for text, want := range map[string]struct{ name, table string }{
		"local":                              {"local", ""},
		"other=local":                        {"other", ""},
		"UseDevelopmentStorage=true":         {"devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1"},
		"azurite=UseDevelopmentStorage=true": {"azurite", "http://127.0.0.1:10002/devstoreaccount1"},
		contoso:                              {"contoso", "http://127.0.0.1:2/contoso"},
		"a-1=" + contoso:                     {"a-1", "http://127.0.0.1:2/contoso"},
		"env:FURROW_TEST_TARGET":             {"contoso", "http://127.0.0.1:2/contoso"},
		"x=env:FURROW_TEST_TARGET":           {"x", "http://127.0.0.1:2/contoso"},
	} {
		got, err := ParseTarget(text)
		if err != nil || got.Null || got.Name != want.name ||
			got.Local != (want.table == "") || got.Account.Table != want.table {
			t.Errorf("%s is parsed as %+v, %v", text, got, err)
		}
	}
}

func TestPeersAreTargets(t *testing.T) {
	for text, want := range map[string]Target{
		"embedded":  {Name: "embedded", Embedded: true},
		"null":      {Name: "null", Null: true},
		"none=null": {Name: "none", Null: true},
	} {
		if got, err := ParseTarget(text); err != nil || got != want {
			t.Errorf("%s is parsed as %+v, %v", text, got, err)
		}
	}
}

func TestEntitiesHaveTheRequestedSize(t *testing.T) {
	fill := newFiller()
	seen := map[string]bool{}
	for _, size := range []int{MinSize, 250, 1000, MaxSize} {
		for _, n := range []int64{0, 1, 99, 1<<63 - 1} {
			e := fill.entity(partition(999_999), n, size)
			text := e.Get("text").String()
			if len(text)+overhead != size {
				t.Errorf("size %d: the text has %d bytes", size, len(text))
			}
			seen[text] = true
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d of 16 texts differ", len(seen))
	}
}

func TestEveryRangeIsFull(t *testing.T) {
	for _, rows := range []int{100, 1000, 1100, 10_000} {
		d := &dataset{rows: rows}
		for range 10_000 {
			device, row := d.somewhere(perRange)
			there := min(rowsPerDevice, rows-device*rowsPerDevice)
			if device < 0 || row < 0 || row+perRange > there {
				t.Fatalf("of %d rows, it reads device %d from row %d, which has %d", rows, device, row, there)
			}
		}
	}
}
