package model

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// TestListHasEachDeviceOnceWhileDevicesAreAdded reads all pages in every order.
func TestListHasEachDeviceOnceWhileDevicesAreAdded(t *testing.T) {
	r := seeded(t)
	for _, sort := range []string{"", SortDevice, SortTime, SortValue} {
		for _, sensor := range []string{"temperature", "door"} {
			n := 300 + r.IntN(300)
			s := crowd(r, n)
			before := map[string]bool{}
			for i := range s.Accounts.index.devices {
				before[s.Accounts.index.devices[i].id] = true
			}
			ask := ListQuery{Sort: sort, Sensor: sensor, Limit: 1 + r.IntN(60)}
			seen := map[string]bool{}
			for pages := 0; ; pages++ {
				list := must.Have(s.Lists.list(ask))(t)
				for _, d := range list.Devices {
					if seen[d.Device] {
						t.Fatalf("by %s, %s comes twice", sort, d.Device)
					}
					seen[d.Device] = true
				}
				if list.Total != n {
					t.Errorf("a total of %d, want %d", list.Total, n)
				}
				if len(list.Devices) > ask.Limit || pages > n {
					t.Fatalf("a page of %d", len(list.Devices))
				}
				if ask.After = list.Next; ask.After == "" {
					break
				}
				for range min(r.IntN(5), 1500-n) { // limited, so that the list ends
					s.arrive(r, n, time.Now())
					n++
				}
			}
			for id := range before {
				if !seen[id] {
					t.Errorf("by %s, %s is missing", sort, id)
				}
			}
		}
	}
}

func TestListsAreInOrderAndFiltered(t *testing.T) {
	r := seeded(t)
	s := crowd(r, 800)
	box := Box{0, 40, 20, 60}
	for range 50 {
		ask := ListQuery{Limit: MaxListed, Filter: someFilter(r), Prefix: pick(r, "", "d0001", "x"),
			Sort: pick(r, SortDevice, SortTime, SortValue, SortState), Sensor: "temperature"}
		if r.IntN(2) == 0 {
			ask.Box = &box
		}
		asked := s.Accounts.now()
		list := must.Have(s.Lists.list(ask))(t)
		want := 0
		for i := range s.Accounts.index.devices {
			if d := &s.Accounts.index.devices[i]; meets(s, d, ask) {
				want++
			}
		}
		if s.Accounts.now() != asked {
			continue // some have become silent meanwhile
		}
		if list.Total != want || len(list.Devices) != want {
			t.Errorf("%+v: %d of %d, want %d", ask, len(list.Devices), list.Total, want)
		}
		if !slices.IsSortedFunc(list.Devices, func(a, b Row) int { return order(ask.Sort, a, b) }) {
			t.Errorf("%+v is not in order", ask)
		}
	}
}

func pick(r *rand.Rand, all ...string) string { return all[r.IntN(len(all))] }

func meets(s *Store, d *device, ask ListQuery) bool {
	x := s.Accounts.index
	return (ask.Tenant == "" || x.tenants.text(d.tenant) == ask.Tenant) &&
		(ask.Site == "" || x.sites.text(d.site) == ask.Site) && hasLabel(d, ask.Label) &&
		strings.Contains(d.id, strings.ToLower(ask.Text)) &&
		(len(d.id) >= len(ask.Prefix) && d.id[:len(ask.Prefix)] == ask.Prefix) &&
		(ask.State == "" || d.state(s.Accounts.now()) == ask.State) && (ask.Box == nil || d.in(*ask.Box))
}

func hasLabel(d *device, label string) bool {
	name, want, hasText := strings.Cut(label, "=")
	text, has := labelsOf(d.labels)[name]
	return label == "" || has && (!hasText || text == want)
}

func order(by string, a, b Row) int {
	switch by {
	case SortTime:
		return newestOf(b).Compare(newestOf(a))
	case SortValue:
		x, isX := a.Value.(float64)
		y, isY := b.Value.(float64)
		if isX != isY { // numbers come first
			return cmp.Compare(fmt.Sprint(isY), fmt.Sprint(isX))
		}
		return cmp.Compare(y, x)
	case SortState:
		return slices.Index(worstFirst, a.State) - slices.Index(worstFirst, b.State)
	}
	return cmp.Compare(a.Device, b.Device)
}

var worstFirst = []State{Held, Silent, Revoked, Unheard, OK}

func newestOf(r Row) (t time.Time) {
	if r.Time != nil {
		t = *r.Time
	}
	return t
}

func TestCursorOfAnotherOrderIsRefused(t *testing.T) {
	s := crowd(seeded(t), 10)
	list, err := s.Lists.list(ListQuery{Sort: SortTime, Limit: 2})
	if err != nil || list.Next == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, after := range []string{list.Next, "!", "bm90IEpTT04", "e30"} {
		if _, err := s.Lists.list(ListQuery{Sort: SortValue, After: after}); err == nil {
			t.Errorf("after %q is accepted", after)
		}
	}
}

// FuzzCursor proves that only cursors that the list gave are taken, for the order that they are of.
func FuzzCursor(f *testing.F) {
	// Another process gives the seeds: all have to give the same cursors at any time.
	s := crowdAt(rand.New(rand.NewPCG(1, 1)), 20, time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	given := map[[2]string]bool{}
	for _, sort := range []string{SortDevice, SortTime, SortValue} {
		list, _ := s.Lists.list(ListQuery{Sort: sort, Limit: 3})
		given[[2]string{list.Next, sort}] = true
		f.Add(list.Next, sort)
		f.Add(list.Next+"A", sort)
		f.Add(list.Next[:5]+"\n"+list.Next[5:], sort)
	}
	f.Add("e30", SortDevice)
	f.Fuzz(func(t *testing.T, after, sort string) {
		list, err := s.Lists.list(ListQuery{Sort: sort, After: after, Limit: 3})
		if err == nil && len(list.Devices) > 3 || err != nil && fmt.Sprint(err) == "" ||
			(err == nil) != (after == "" || given[[2]string{after, sort}]) && sort != "" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
