package shares

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// takes counts how often an owner finds room for one, of so many tries.
func takes(s *Shares, tries int, owners ...string) (n int) {
	for range tries {
		if s.Take(1, owners...) {
			n++
		}
	}
	return n
}

func TestNobodyTakesTheLast(t *testing.T) {
	s := New(64, 4)
	if n := takes(s, 1000, "contoso", "contoso ann"); n != 32 {
		t.Errorf("a person alone has %d of 64", n)
	}
	for i := range 20 {
		takes(s, 1000, "contoso", fmt.Sprint("contoso ", i))
	}
	if used := s.Used(); used != 48 {
		t.Errorf("a tenant alone has %d of 64", used)
	}
	for i := range 4 {
		if n := takes(s, 1000, fmt.Sprint(i), fmt.Sprint(i, " ann")); n != 4 {
			t.Errorf("then another tenant has %d", n)
		}
	}
	if s.Take(1, "4", "4 ann") {
		t.Error("there is more than there is")
	}
	s.Give(32, "contoso", "contoso ann")
	if n := takes(s, 1000, "contoso", "contoso ann"); n != 4 {
		t.Errorf("while others have half of it, one gets %d again", n)
	}
}

// TestRoomIsCountedExactly takes and gives at random, and compares with a count that knows no owners.
func TestRoomIsCountedExactly(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	s := New(100, 6)
	type taken struct {
		n      int64
		owners []string
	}
	var all []taken
	var sum int64
	for range 10_000 {
		if i := random.IntN(len(all) + 2); i < len(all) {
			s.Give(all[i].n, all[i].owners...)
			sum -= all[i].n
			all = append(all[:i], all[i+1:]...)
			continue
		}
		x := taken{random.Int64N(30), []string{fmt.Sprint(random.IntN(3)), fmt.Sprint("p", random.IntN(9))}}
		if s.Take(x.n, x.owners...) {
			all, sum = append(all, x), sum+x.n
		}
		if used := s.Used(); used != sum || used > 100 {
			t.Fatalf("seed %d: %d are taken, it counts %d", seed, sum, used)
		}
	}
	for _, x := range all {
		s.Give(x.n, x.owners...)
	}
	if used := s.Used(); used != 0 || len(s.by) != 0 {
		t.Errorf("seed %d: in the end it counts %d of %v", seed, used, s.by)
	}
}

func TestWhoWaitsGetsRoomThatIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1, 1)
		s.Take(1, "a")
		got := make(chan bool)
		go func() { got <- s.Wait(t.Context(), 1, "b") }()
		synctest.Wait()
		s.Give(1, "a")
		if !<-got {
			t.Error("it does not get it")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if s.Wait(ctx, 1, "c") {
			t.Error("it gets what another has")
		}
	})
}
