package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"furrow/tables"
)

// A Role says what somebody may do. Each role may do what those before it may.
type Role string

// All roles.
const (
	Viewer   Role = "viewer"   // looks
	Operator Role = "operator" // acts on devices and poison messages
	Admin    Role = "admin"    // also revokes where that locks out other devices
)

// Roles returns all roles, the least first.
func Roles() []Role { return []Role{Viewer, Operator, Admin} }

// May reports whether r may do what the role needed may do.
func (r Role) May(needed Role) bool {
	return slices.Contains(Roles(), r) && slices.Index(Roles(), r) >= slices.Index(Roles(), needed)
}

// ParseRole returns s as a Role, or why it is invalid.
func ParseRole(s string) (Role, error) {
	if !slices.Contains(Roles(), Role(s)) {
		return "", fmt.Errorf("role %s: want viewer, operator or admin", tables.Quote(s))
	}
	return Role(s), nil
}

// ParseAccessName returns s as the name of an Access, or why it is invalid. It follows the rules of a Site, so
// an e-mail address is valid.
func ParseAccessName(s string) (string, error) { return s, checkText("name", s) }

// An Access is a row of the table access: somebody who may look at the fleet, or act on it, with a token.
type Access struct {
	Name    string       `row:"Name"` // of a person or a program
	Role    Role         `row:"Role"`
	Tenant  Tenant       `row:"Tenant,omitzero"` // that it may see; empty: all
	Hash    string       `row:"Hash"`            // TokenHash of its token
	By      string       `row:"By"`              // who added it
	Created tables.Ticks `row:"Created"`
	ETag    tables.ETag  // of the version that was read
}

const accessPartition = "access"

// TokenHash returns the SHA-256 of a token in hexadecimal digits. Tokens are random, so their hashes reveal nothing.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// AccessKeys returns the keys of the Access with a name.
func AccessKeys(name string) (pk, rk string) { return accessPartition, escape(name) }

// AllAccess returns the range of all rows of the table access.
func AllAccess() tables.Range { return tables.Partition(accessPartition) }

// Entity returns the row of a.
func (a Access) Entity() (tables.Entity, error) {
	var e tables.Entity
	e.PartitionKey, e.RowKey = AccessKeys(a.Name)
	err := e.Encode(&a)
	return e, cmp.Or(a.check(), err)
}

// AccessOf decodes a row of the table access.
func AccessOf(e tables.Entity) (Access, error) {
	a := Access{ETag: e.ETag}
	f := decode(&e, &a)
	f.Fail("access", a.check())
	if _, rk := AccessKeys(a.Name); rk != e.RowKey {
		f.Fail("Name", fmt.Errorf("it is %s, which is not the one of the row key", tables.Quote(a.Name)))
	}
	return a, f.Err()
}

func (a Access) check() error {
	_, errName := ParseAccessName(a.Name)
	_, errRole := ParseRole(string(a.Role))
	var errTenant, errHash error
	if a.Tenant != "" {
		_, errTenant = ParseTenant(string(a.Tenant))
	}
	if len(a.Hash) != hex.EncodedLen(sha256.Size) {
		errHash = fmt.Errorf("access %s: its token's hash has %d digits", tables.Quote(a.Name), len(a.Hash))
	}
	return cmp.Or(errName, errRole, errTenant, errHash)
}
