package schema

import (
	"fmt"
	"slices"

	"furrow/tables"
)

// PoliciesRow is the RowKey of the policies of a readings table.
const PoliciesRow = "policies"

// Cohorts is how many cohorts the devices of a readings table fall into: as many
// as a table can have stored access policies, less a spare one.
const Cohorts = tables.MaxStoredPolicies - 1

// MaxChanges bounds the changes that are kept with the policies of a table, so that
// they fit one property.
const MaxChanges = 100

// Policies is a row of the table policies: the truth about the stored access
// policies of a readings table, which the table's own list is derived from.
type Policies struct {
	Readings string // the table's name
	Cohorts  [Cohorts]Policy
	Spare    Policy      // set already, for the next cohort that needs another
	Number   int64       // of the last change
	Changes  []Change    // that are open, oldest first; at most one of a device
	ETag     tables.ETag // of what was read
}

// A Policy is a stored access policy by its id, which is never used twice.
type Policy struct {
	ID string `json:"id"`
	// Since is when storage was first seen to have it; zero means that it is not known
	// to have it. Azure needs a while from then on until it holds everywhere.
	Since tables.Ticks `json:"since,omitzero"`
}

// A Change is that of a device's status. It is open until it is done and what
// was set has lasted.
type Change struct {
	Number int64        `json:"number"` // changes of one device are ordered by it
	Device DeviceID     `json:"device"`
	To     Status       `json:"to"`
	Rotate bool         `json:"rotate,omitzero"` // the policy of the device's cohort is to be replaced, too
	Done   bool         `json:"done,omitzero"`   // the device's record is marked, and the policy replaced
	At     tables.Ticks `json:"at"`              // when it was recorded
}

// All are the policies that the table shall have.
func (p *Policies) All() []*Policy {
	all := make([]*Policy, 0, tables.MaxStoredPolicies)
	for i := range p.Cohorts {
		all = append(all, &p.Cohorts[i])
	}
	return append(all, &p.Spare)
}

// Ended reports whether a revocation has ended a token, expired or not: the policy that the token
// names is no longer one of the table's.
func (p *Policies) Ended(t Token) bool {
	return !slices.ContainsFunc(p.All(), func(q *Policy) bool { return q.ID == t.Policy })
}

// Clone is a copy that shares nothing with p.
func (p *Policies) Clone() Policies {
	c := *p
	c.Changes = slices.Clone(p.Changes)
	return c
}

// Entity is p as it is stored.
func (p *Policies) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: p.Readings, RowKey: PoliciesRow}
	cohorts, err := packed(p.Cohorts, Cohorts)
	if err != nil {
		return e, err
	}
	spare, err := packed(p.Spare, 1)
	if err != nil {
		return e, err
	}
	changes, err := packed(p.Changes, len(p.Changes))
	e.Set("Cohorts", cohorts)
	e.Set("Spare", spare)
	e.Set("Number", tables.Int64(p.Number))
	e.Set("Changes", changes)
	if err == nil {
		err = p.check()
	}
	return e, err
}

// PoliciesOf is a row of the table policies.
func PoliciesOf(e tables.Entity) (Policies, error) {
	f := fieldsOf(&e)
	p := Policies{Readings: e.PartitionKey, Number: f.Int("Number"), ETag: e.ETag}
	var cohorts []Policy
	unpack(f, "Cohorts", &cohorts)
	unpack(f, "Spare", &p.Spare)
	unpack(f, "Changes", &p.Changes)
	if len(cohorts) != Cohorts {
		f.Fail("property Cohorts", fmt.Errorf("it has %d policies, not %d", len(cohorts), Cohorts))
	}
	copy(p.Cohorts[:], cohorts)
	f.Fail("policies", p.check())
	return p, f.Err()
}

// check holds what a table could not have, or what would let a token outlive
// its policy: two cohorts under one.
func (p *Policies) check() error {
	seen := map[string]bool{}
	for _, q := range p.All() {
		if q.ID == "" || len(q.ID) > 64 || seen[q.ID] {
			return fmt.Errorf("the id %s of a policy is empty, too long, or there twice", tables.Quote(q.ID))
		}
		seen[q.ID] = true
	}
	if len(p.Changes) > MaxChanges {
		return fmt.Errorf("%d changes are more than the %d that are kept", len(p.Changes), MaxChanges)
	}
	return tables.CheckTable(p.Readings)
}
