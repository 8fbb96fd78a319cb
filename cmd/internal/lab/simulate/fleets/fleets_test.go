package fleets

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var until = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// sent returns what every device of a new fleet sends in the time before until.
func sent(t *testing.T, c Config, history time.Duration) (*Fleet, map[schema.DeviceID][]simulate.Sending) {
	t.Helper()
	c.Until = until
	f := must.Have(New(c))(t)
	all := map[schema.DeviceID][]simulate.Sending{}
	for _, m := range f.Members() {
		for s := range f.Sendings(m, until.Add(-history)) {
			if !s.Due.Before(until) {
				break
			}
			all[m.ID] = append(all[m.ID], s)
		}
	}
	return f, all
}

func TestSameSeedGivesTheSameDocumentsAndFaults(t *testing.T) {
	for _, kind := range Names() {
		history := kinds()[kind].history
		one, first := sent(t, Config{Kind: kind, Seed: 7}, history)
		two, second := sent(t, Config{Kind: kind, Seed: 7}, history)
		_, other := sent(t, Config{Kind: kind, Seed: 8}, history)
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(one.Members(), two.Members()) ||
			!reflect.DeepEqual(one.Faults(until), two.Faults(until)) {
			t.Errorf("%s: another run with this seed differs", kind)
		}
		if reflect.DeepEqual(first, other) {
			t.Errorf("%s: another seed does not differ", kind)
		}
		if len(one.Members()) != kinds()[kind].devices || len(first) != len(one.Members()) {
			t.Errorf("%s: %d devices, %d of them send", kind, len(one.Members()), len(first))
		}
	}
}

// shape returns the paths of a document with the types of what is there.
func shape(path string, v any, into map[string]string) map[string]string {
	if inner, is := v.(map[string]any); is {
		for name, v := range inner {
			shape(path+"."+name, v, into)
		}
	} else if v != nil {
		into[path] = strings.Replace(fmt.Sprintf("%T", v), "int", "float64", 1)
	}
	return into
}

func TestDocumentsHaveTheShapeOfRealOnes(t *testing.T) {
	for _, kind := range Names() {
		real := must.Have(Documents(kind))(t)
		all, shapes := map[string]string{}, []map[string]string{}
		for _, d := range real {
			shapes = append(shapes, shape("", d, map[string]string{}))
			shape("", d, all)
		}
		_, fleet := sent(t, Config{Kind: kind, Seed: 1, Devices: 10}, kinds()[kind].history)
		seen := map[int]bool{}
		for _, m := range slices.Sorted(maps.Keys(fleet)) {
			for _, s := range fleet[m] {
				got := shape("", s.Reading.Values, map[string]string{})
				i := slices.IndexFunc(shapes, func(real map[string]string) bool { return maps.Equal(got, real) })
				if i < 0 {
					t.Fatalf("%s: %v has the shape\n%v\nand no real document has it:\n%v", kind, s.Reading.Values, got, shapes)
				}
				seen[i] = true
			}
		}
		for i, s := range shapes {
			if !seen[i] && slices.IndexFunc(shapes[:i], func(o map[string]string) bool { return maps.Equal(o, s) }) < 0 {
				t.Errorf("%s: no document looks like %v", kind, real[i])
			}
		}
	}
}

// TestMembersSayWhoTheyAreLikeTheirDocuments: tenant, site, labels and the ID are those that documents have.
func TestMembersSayWhoTheyAreLikeTheirDocuments(t *testing.T) {
	of := map[string]func(d map[string]any) []any{
		"temperatures": func(d map[string]any) []any { return []any{d["DeviceId"], d["CustomerId"]} },
		"kitchens": func(d map[string]any) []any {
			h := d["headers"].(map[string]any)
			_, class, _ := strings.Cut(d["siteClassId"].(string), "$$$")
			return []any{fmt.Sprintf("%v:%v:%v", h["tenant-id"], h["site-id"], d["deviceId"]), h["tenant-id"], h["site-id"],
				class}
		},
		"oil": func(d map[string]any) []any { return []any{d["deviceId"]} },
		"bottles": func(d map[string]any) []any {
			return []any{d["bottle_id"], d["user_id"], d["medication"]}
		},
		"ground": func(d map[string]any) []any { return []any{d["device"]} },
	}
	for kind, identity := range of {
		f, all := sent(t, Config{Kind: kind, Seed: 3, Devices: 9}, kinds()[kind].history)
		for _, m := range f.Members() {
			l, who := m.Labels, []any{string(m.ID)}
			switch kind {
			case "temperatures":
				who = append(who, string(m.Tenant))
			case "kitchens":
				who = append(who, string(m.Tenant), string(m.Site), l["class"])
			case "bottles":
				who = append(who, l["user_id"], l["medication"])
			}
			if m.Position == nil || m.Site == "" || len(l) < 2 {
				t.Errorf("%s: %+v", kind, m)
			}
			for _, s := range all[m.ID] {
				if got := identity(s.Reading.Values); !slices.Equal(got, who) {
					t.Fatalf("%s: the document of %v is from %v", kind, who, got)
				}
			}
		}
	}
}
