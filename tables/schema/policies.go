package schema

import (
	"cmp"
	"fmt"
	"slices"

	"furrow/tables"
)

// PoliciesRow is the RowKey of the policies of a readings table.
const PoliciesRow = "policies"

// Cohorts is the number of cohorts of a readings table: the number of stored access policies
// that a table can have, minus a spare one.
const Cohorts = tables.MaxStoredPolicies - 1

// MaxChanges is the maximum number of changes in Policies, so that they fit a property.
const MaxChanges = 100

// Policies is a row of the table policies: the stored access policies that a readings table
// must have.
type Policies struct {
	Readings string          // the table's name
	Cohorts  [Cohorts]Policy `row:"Cohorts"`
	Spare    Policy          `row:"Spare"`            // for the next cohort that needs a new one
	Number   int64           `row:"Number"`           // of the last change
	Changes  []Change        `row:"Changes,omitzero"` // open ones, oldest first; at most one for each device
	ETag     tables.ETag     // of the version that was read
}

// A Policy is a stored access policy. Its ID is never reused.
type Policy struct {
	ID string `json:"id"`
	// Since is when storage was first seen to have the policy, or zero. On Azure it takes a
	// while from then on until the policy is in force.
	Since tables.Ticks `json:"since,omitzero"`
}

// A Change is a change of a device's status. It is open until it is done and in force.
type Change struct {
	Number int64        `json:"number"` // changes of one device are ordered by it
	Device DeviceID     `json:"device"`
	To     Status       `json:"to"`
	Rotate bool         `json:"rotate,omitzero"` // also replace the policy of the device's cohort
	Done   bool         `json:"done,omitzero"`   // the device's record is set, and the policy replaced
	At     tables.Ticks `json:"at"`              // when it was recorded
}

// All returns the policies that the table must have.
func (p *Policies) All() []*Policy {
	all := make([]*Policy, 0, tables.MaxStoredPolicies)
	for i := range p.Cohorts {
		all = append(all, &p.Cohorts[i])
	}
	return append(all, &p.Spare)
}

// Ended reports whether a revocation has ended a token, expired or not: the policy that the token
// names is no longer one of the table's. No revocation ends a token without a policy.
func (p *Policies) Ended(t Token) bool {
	return t.Policy != "" && !slices.ContainsFunc(p.All(), func(q *Policy) bool { return q.ID == t.Policy })
}

// Clone returns a deep copy of p.
func (p *Policies) Clone() Policies {
	c := *p
	c.Changes = slices.Clone(p.Changes)
	return c
}

// Entity returns the row of p.
func (p *Policies) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: p.Readings, RowKey: PoliciesRow}
	err := e.Encode(p)
	return e, cmp.Or(err, p.check())
}

// PoliciesOf decodes a row of the table policies.
func PoliciesOf(e tables.Entity) (Policies, error) {
	p := Policies{Readings: e.PartitionKey, ETag: e.ETag}
	f := decode(&e, &p)
	f.Fail("policies", p.check())
	return p, f.Err()
}

// check refuses policies that a table cannot have, and two cohorts with one policy, because
// a token could then outlive its policy.
func (p *Policies) check() error {
	seen := map[string]bool{}
	for _, q := range p.All() {
		if q.ID == "" || len(q.ID) > 64 || seen[q.ID] {
			return fmt.Errorf("the ID %s of a policy is empty, too long, or used twice", tables.Quote(q.ID))
		}
		seen[q.ID] = true
	}
	if len(p.Changes) > MaxChanges {
		return fmt.Errorf("%d changes; at most %d are allowed", len(p.Changes), MaxChanges)
	}
	return tables.CheckTable(p.Readings)
}
