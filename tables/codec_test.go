package tables

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

type word string

type place struct{ X, Y int }

func (p place) MarshalText() ([]byte, error) { return []byte(strings.Repeat("x", p.X)), nil }

func (p *place) UnmarshalText(text []byte) error {
	p.X = len(text)
	return nil
}

type codedRow struct {
	Key    string            // has no tag
	Word   word              `row:"Word"`
	Place  place             `row:"Place"`
	Yes    bool              `row:"Yes,omitzero"`
	Count  int               `row:"Count"`
	Life   time.Duration     `row:"Life,omitzero"`
	Share  float64           `row:"Share"`
	At     Ticks             `row:"At,omitzero"`
	Number Ticks             `row:"Number,int64"`
	Slot   Ticks             `row:"Slot,text"`
	Bytes  []byte            `row:"Bytes,omitzero"`
	Labels map[string]string `row:"Labels,omitzero"`
}

func TestRowsAreStoredAsTheirTagsSay(t *testing.T) {
	row := codedRow{"k", "w", place{X: 3}, true, 7, 90 * time.Second, 0.5, 5, 6, 7, []byte{1},
		map[string]string{"b": "2", "a": "<"}}
	var e Entity
	if err := e.Encode(&row); err != nil {
		t.Fatal(err)
	}
	want := []Property{{"Word", String("w")}, {"Place", String("xxx")}, {"Yes", Boolean(true)}, {"Count", Int64(7)},
		{"Life", Int64(90)}, {"Share", Double(0.5)}, {"At", DateTime(5)}, {"Number", Int64(6)},
		{"Slot", String("0000000000000000007")}, {"Bytes", Binary([]byte{1})}, {"Labels", String(`{"a":"<","b":"2"}`)}}
	if !slices.Equal(e.Properties, want) {
		t.Errorf("got  %v\nwant %v", e.Properties, want)
	}
	slices.Reverse(e.Properties)
	e.Set("New", String("of a later version"))
	got, f := codedRow{Key: "k"}, e.Fields()
	if f.Decode(&got); f.Err() != nil || !reflect.DeepEqual(got, row) {
		t.Errorf("got  %+v, %v\nwant %+v", got, f.Err(), row)
	}
}

func TestZeroIsLeftOutOnlyWhereTheTagSaysSo(t *testing.T) {
	var e Entity
	row := codedRow{Life: time.Second - 1, Bytes: []byte{}, Labels: map[string]string{}}
	if err := e.Encode(&row); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range e.Properties {
		names = append(names, p.Name)
	}
	if want := []string{"Word", "Place", "Count", "Share", "Number", "Slot"}; !slices.Equal(names, want) {
		t.Errorf("%q are stored; want %q", names, want)
	}
}

func TestNumbersOfOtherClientsAreRead(t *testing.T) {
	e := Entity{Properties: []Property{{"Share", Int32(21)}, {"Count", Int32(3)}, {"Word", GUID("g")}}}
	var row codedRow
	f := e.Fields()
	if f.Decode(&row); f.Err() != nil || row.Share != 21 || row.Count != 3 || row.Word != "g" {
		t.Errorf("%+v, %v", row, f.Err())
	}
}

func TestUnreadablePropertiesAreNamed(t *testing.T) {
	for want, p := range map[string]Property{
		`entity "p" "r": property Count: it is Edm.String, not Edm.Int64`: {"Count", String("7")},
		`entity "p" "r": property Labels: json:`:                          {"Labels", String("[")},
		`entity "p" "r": property Slot: ticks "x"`:                        {"Slot", String("x")},
	} {
		e := Entity{PartitionKey: "p", RowKey: "r", Properties: []Property{p}}
		f := e.Fields()
		if f.Decode(new(codedRow)); f.Err() == nil || !strings.HasPrefix(f.Err().Error(), want) {
			t.Errorf("%v\nwant %s", f.Err(), want)
		}
	}
	var e Entity
	if err := e.Encode(&codedRow{Labels: map[string]string{"a": "\xff"}}); err == nil ||
		!strings.HasPrefix(err.Error(), "property Labels: ") {
		t.Errorf("text that is not UTF-8: %v", err)
	}
}

func TestWrongTagsPanic(t *testing.T) {
	for _, row := range []any{
		&struct {
			A string `row:"A,omitempty"`
		}{}, &struct {
			A bool `row:"A,text"`
		}{}, &struct {
			A int `row:"a b"`
		}{}, &struct {
			A int `row:"A"`
			B int `row:"A"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T is encoded", row)
				}
			}()
			_ = new(Entity).Encode(row)
		}()
	}
}
