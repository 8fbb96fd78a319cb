package sas

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestKeyCannotRegisterUnderAnotherPrefix(t *testing.T) {
	n, _ := newEnrollments(t)
	for id, prefix := range map[schema.EnrollmentID]string{"any": "", "wide": "contoso:", "narrow": "contoso:us:",
		"same": "contoso:us:"} {
		e := plant(id)
		e.Prefix = prefix
		must.Have(n.Add(t.Context(), e, nil, nil))(t)
	}
	for _, c := range []struct {
		enrollment schema.EnrollmentID
		device     schema.DeviceID
		want       error
	}{
		{"any", "pump-7", nil}, {"any", "contoso:7", ErrOtherPrefix}, {"any", "contoso:us:7", ErrOtherPrefix},
		{"wide", "pump-7", ErrPrefix}, {"wide", "contoso:7", nil}, {"wide", "contoso:us:7", ErrOtherPrefix},
		{"narrow", "contoso:7", ErrPrefix}, {"narrow", "contoso:us:7", nil}, {"same", "contoso:us:7", nil},
		{"wide", "Contoso:7", ErrPrefix},
	} {
		e := must.Have(n.Find(t.Context(), c.enrollment))(t)
		if err := n.CheckPrefix(t.Context(), e, c.device); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s in %s: %v, want %v", c.device, c.enrollment, err, c.want)
		}
	}
}

func TestPrefixesOfTenantsDoNotOverlap(t *testing.T) {
	n, _ := newEnrollments(t)
	with := func(id schema.EnrollmentID, tenant schema.Tenant, prefix string) schema.Enrollment {
		e := plant(id)
		e.Tenant, e.Prefix = tenant, prefix
		return e
	}
	for _, c := range []struct {
		enrollment schema.Enrollment
		fits       bool
	}{
		{with("a", "contoso", "contoso:"), true}, {with("b", "fabrikam", "contoso:"), false},
		{with("c", "fabrikam", "contoso:us:"), false}, {with("d", "fabrikam", "con"), false},
		{with("e", "contoso", "contoso:us:"), true}, {with("f", "fabrikam", "fabrikam:"), true},
		{with("g", "fabrikam", ""), true},
	} {
		e := c.enrollment
		_, err := n.Add(t.Context(), e, nil, nil)
		if (err == nil) != c.fits || err != nil && !strings.Contains(err.Error(), "two tenants") {
			t.Errorf("%s of %s: %v", e.Prefix, e.Tenant, err)
		}
	}
	_, err := n.Change(t.Context(), "g", func(e *schema.Enrollment) error { e.Prefix = "contoso:x"; return nil })
	if err == nil {
		t.Error("a change made prefixes of two tenants overlap")
	}
	must.Have(n.Change(t.Context(), "f", func(e *schema.Enrollment) error { e.Prefix = "fabrikam:x"; return nil }))(t)
}

// TestConcurrentEnrollmentsDoNotOverlap adds two with overlapping prefixes at once; at most one may stay.
func TestConcurrentEnrollmentsDoNotOverlap(t *testing.T) {
	n, _ := newEnrollments(t)
	for i := range 10 {
		var both sync.WaitGroup
		var errs [2]error
		for j, tenant := range []schema.Tenant{"contoso", "fabrikam"} {
			both.Go(func() {
				e := plant(schema.EnrollmentID(fmt.Sprintf("e%d%d", i, j)))
				e.Tenant, e.Prefix = tenant, fmt.Sprintf("p%d:%s", i, strings.Repeat("x", j))
				_, errs[j] = n.Add(t.Context(), e, nil, nil)
			})
		}
		both.Wait()
		all, err := n.All(t.Context())
		must.Succeed(t, err)
		stored := 0
		for _, e := range all {
			if strings.HasPrefix(e.Prefix, fmt.Sprintf("p%d:", i)) {
				stored++
			}
		}
		added := 0
		for _, err := range errs {
			if err == nil {
				added++
			}
		}
		if stored > 1 || stored != added {
			t.Fatalf("%d enrollments are stored, and the errors are %v", stored, errs)
		}
	}
}

// TestConcurrentChangesDoNotOverlap gives two enrollments overlapping prefixes at once; at most one may get it.
func TestConcurrentChangesDoNotOverlap(t *testing.T) {
	n, _ := newEnrollments(t)
	for i := range 10 {
		var both sync.WaitGroup
		var errs [2]error
		var ids [2]schema.EnrollmentID
		for j, tenant := range []schema.Tenant{"contoso", "fabrikam"} {
			e := plant(schema.EnrollmentID(fmt.Sprintf("e%d%d", i, j)))
			e.Tenant, e.Prefix, ids[j] = tenant, fmt.Sprintf("old%d%d:", i, j), e.ID
			must.Have(n.Add(t.Context(), e, nil, nil))(t)
		}
		for j, id := range ids {
			both.Go(func() {
				_, errs[j] = n.Change(t.Context(), id, func(e *schema.Enrollment) error {
					e.Prefix = fmt.Sprintf("p%d:%s", i, strings.Repeat("x", j))
					return nil
				})
			})
		}
		both.Wait()
		changed := 0
		for j, id := range ids {
			e := must.Have(n.Get(t.Context(), id))(t)
			if had := strings.HasPrefix(e.Prefix, "old"); had != (errs[j] != nil) {
				t.Fatalf("enrollment %s has the prefix %s after %v", id, e.Prefix, errs[j])
			} else if !had {
				changed++
			}
		}
		if changed > 1 {
			t.Fatalf("both prefixes changed: %v", errs)
		}
	}
}

// TestConcurrentEnrollmentsShareNoTableWithLongTokens adds two to one table at once, or changes one while the other is
// added; at most one of the two may succeed.
func TestConcurrentEnrollmentsShareNoTableWithLongTokens(t *testing.T) {
	n, _ := newEnrollments(t)
	for i := range 20 {
		long, short := plant("long"), plant("short")
		for _, e := range []*schema.Enrollment{&long, &short} {
			e.ID, e.Readings = schema.EnrollmentID(fmt.Sprint(e.ID, i)), fmt.Sprint("own", i)
		}
		lengthen := func(e *schema.Enrollment) error { e.Life = 30 * LongLife; return nil }
		act := func() error { _, err := n.Change(t.Context(), long.ID, lengthen); return err }
		if i%2 == 0 {
			must.Have(n.Add(t.Context(), long, nil, nil))(t)
		} else {
			must.Succeed(t, lengthen(&long))
			act = func() error { _, err := n.Add(t.Context(), long, nil, nil); return err }
		}
		var both sync.WaitGroup
		var errs [2]error
		both.Go(func() { errs[0] = act() })
		both.Go(func() { _, errs[1] = n.Add(t.Context(), short, nil, nil) })
		both.Wait()
		_, err := n.Get(t.Context(), short.ID)
		e, errLong := n.Get(t.Context(), long.ID)
		if err == nil && errLong == nil && e.Life > LongLife || (err == nil) != (errs[1] == nil) {
			t.Fatalf("round %d: %s is beside one with tokens for %v after %v", i, short.ID, e.Life, errs)
		}
	}
}
