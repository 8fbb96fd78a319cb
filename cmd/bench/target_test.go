package main

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
		got, err := parseTarget(text)
		if err != nil || got.embedded || got.name != want.name ||
			got.local != (want.table == "") || got.account.Table != want.table {
			t.Errorf("%s is parsed as %+v, %v", text, got, err)
		}
	}
}

func TestEmbeddedStorageIsATarget(t *testing.T) {
	want := target{name: "embedded", embedded: true}
	if got, err := parseTarget("embedded"); err != nil || got != want {
		t.Errorf("it is parsed as %+v, %v", got, err)
	}
}

func TestEntitiesHaveOneSizeAndDiffer(t *testing.T) {
	fill := newFiller()
	seen := map[string]bool{}
	for _, n := range []int64{0, 1, 99, 1<<63 - 1} {
		e := fill.entity(partition(999_999), n)
		text := e.Get("text").String()
		if len(text)+overhead != entitySize {
			t.Errorf("the text has %d bytes", len(text))
		}
		seen[text] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d of 4 texts differ", len(seen))
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
