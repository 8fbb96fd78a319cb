package endpoint

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// A twoTenants is an issuer for devices of two enrollments. A proof is the name of one of them.
type twoTenants struct {
	fakeIssuer
	issued func(schema.Tenant) // is called before a token of it is issued; nil: nothing is
}

func (i twoTenants) Authenticate(_ context.Context, _ schema.DeviceID, header string) (schema.Enrollment, error) {
	return schema.Enrollment{ID: schema.EnrollmentID(header), Tenant: schema.Tenant(header)}, nil
}

// Issue knows devices by the tenant before the colon.
func (i twoTenants) Ring(context.Context, schema.DeviceID, tables.Ticks) error { return nil }

func (i twoTenants) Issue(ctx context.Context, device schema.DeviceID, e schema.Enrollment) (sas.Answer, error) {
	if !strings.HasPrefix(string(device), string(e.Tenant)+":") {
		return sas.Answer{}, sas.ErrOtherEnrollment
	}
	if i.issued != nil {
		i.issued(e.Tenant)
	}
	return i.fakeIssuer.Issue(ctx, device, e)
}

// TestProofOfAnotherEnrollmentUsesUpNothingOfADevice has the key of fabrikam ask for a device of contoso, without end.
func TestProofOfAnotherEnrollmentUsesUpNothingOfADevice(t *testing.T) {
	h, _ := mustNew(t, Config{Issuer: twoTenants{}})
	for range 10 * DeviceBurst {
		if w := askToken(h, "contoso:p1", "fabrikam"); w.Code == 200 {
			t.Fatal("it got a token")
		}
	}
	if w := askToken(h, "contoso:p1", "contoso"); w.Code != 200 {
		t.Errorf("the device itself: %s", w.Body)
	}
}

// TestNoTenantKeepsOthersFromTokens has the devices of fabrikam ask for tokens at many times the rate.
func TestNoTenantKeepsOthersFromTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := mustNew(t, Config{Issuer: twoTenants{}})
		passed := 0
		for i := range 20_000 {
			if w := askToken(h, fmt.Sprint("fabrikam:", i), "fabrikam"); w.Code == 200 {
				passed++
			}
			if i%1000 == 999 {
				if w := askToken(h, fmt.Sprint("contoso:", i), "contoso"); w.Code != 200 {
					t.Errorf("after %d requests of fabrikam, contoso gets %s", i, w.Body)
				}
				time.Sleep(100 * time.Millisecond) // so it is ten times the rate
			}
		}
		if passed < 1500+1000 { // of a burst of 2000, and two seconds at 1000
			t.Errorf("fabrikam got %d tokens", passed)
		}
	})
}

// TestNoTenantTakesEverySlot has storage hang for the devices of one tenant.
func TestNoTenantTakesEverySlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		h, _ := mustNew(t, Config{Limits: Limits{Slots: 32}, Issuer: twoTenants{issued: func(of schema.Tenant) {
			if of == "fabrikam" {
				<-free
			}
		}}})
		var hanging sync.WaitGroup
		for i := range 100 {
			hanging.Go(func() { askToken(h, fmt.Sprint("fabrikam:", i), "fabrikam") })
		}
		synctest.Wait()
		if w := askToken(h, "contoso:p1", "contoso"); w.Code != 200 {
			t.Errorf("contoso gets %s", w.Body)
		}
		close(free)
		hanging.Wait()
	})
}
