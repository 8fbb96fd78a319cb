package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

func fullPolicies() Policies {
	p := Policies{Readings: "readings", Number: 7, Spare: Policy{ID: "spare"}}
	for i := range p.Cohorts {
		p.Cohorts[i] = Policy{ID: fmt.Sprint("policy", i), Since: tables.Ticks(i) * 1e15}
	}
	p.Changes = []Change{
		{Number: 6, Device: "pump-7", To: Revoked, Rotate: true, Done: true, At: 639307630201234567},
		{Number: 7, Device: "pump-8", To: Active, At: 639307630201234568},
	}
	return p
}

func TestPoliciesAreReadAsWritten(t *testing.T) {
	want := fullPolicies()
	e := must.Have(want.Entity())(t)
	got, err := PoliciesOf(e)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestMaxChangesFitAProperty(t *testing.T) {
	p := fullPolicies()
	p.Changes = nil
	for range MaxChanges {
		p.Changes = append(p.Changes, Change{Number: -1 << 63, Device: DeviceID(strings.Repeat("d", 128)), To: Revoked,
			Rotate: true, Done: true, At: tables.MaxTicks})
	}
	e, err := p.Entity()
	if err == nil {
		err = e.Check()
	}
	if err != nil {
		t.Error(err)
	}
}

func TestInvalidPoliciesAreRefused(t *testing.T) {
	for what, spoil := range map[string]func(*Policies){
		"two cohorts with one policy": func(p *Policies) { p.Cohorts[1] = p.Cohorts[3] },
		"a spare that a cohort has":   func(p *Policies) { p.Spare = p.Cohorts[0] },
		"a cohort without a policy":   func(p *Policies) { p.Cohorts[2].ID = "" },
		"an id that is too long":      func(p *Policies) { p.Spare.ID = strings.Repeat("x", 65) },
		"too many changes":            func(p *Policies) { p.Changes = make([]Change, MaxChanges+1) },
		"an invalid table name":       func(p *Policies) { p.Readings = "r" },
	} {
		p := fullPolicies()
		spoil(&p)
		if _, err := p.Entity(); err == nil {
			t.Errorf("%s: it is stored", what)
		}
	}
	p := fullPolicies()
	e := must.Have(p.Entity())(t)
	e.Set("Cohorts", tables.String(`[{"id":"a"}]`))
	if _, err := PoliciesOf(e); err == nil || !strings.Contains(err.Error(), "[4]schema.Policy") {
		t.Errorf("one cohort is read: %v", err)
	}
}
