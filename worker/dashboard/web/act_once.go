package web

import (
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxSent is how many forms are remembered.
const maxSent = 1000

// sent are the forms that were sent. A form that arrives again gets the outcome of the first time.
type sent struct {
	mu  sync.Mutex
	all *simplelru.LRU[string, *performed]
}

// A performed act has an outcome when ended is closed.
type performed struct {
	ended chan struct{}
	did   []string
	err   error
}

func newSent() *sent {
	all, _ := simplelru.NewLRU[string, *performed](maxSent, nil) // fails only for a size below 1
	return &sent{all: all}
}

// begin starts do for the first form with a key, and returns what to wait for.
func (s *sent) begin(key string, do func() ([]string, error)) (p *performed, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, known := s.all.Get(key); known {
		return p, false
	}
	p = &performed{ended: make(chan struct{})}
	s.all.Add(key, p)
	go func() {
		defer close(p.ended)
		defer func() {
			if cause := recover(); cause != nil {
				p.err = fmt.Errorf("it panicked: %v", cause)
			}
		}()
		p.did, p.err = do()
	}()
	return p, true
}
