package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"furrow/tables/azuretest/faults"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A beside is a furrow verify that looks while things happen in a life. Each request of these lets it make some of its
// own, so what it sees of a device lies before, between and after what happens to that.
type beside struct {
	mu    sync.Mutex
	looks *rand.Rand
	most  int                // requests of verify for one of the life
	next  chan chan struct{} // lets verify make a request, which closes the channel when it is done
	alone chan struct{}      // closed when nothing happens any more
	ended chan struct{}      // closed when verify has ended
}

// step lets verify make some requests. On a nil receiver it does nothing.
func (b *beside) step() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.looks.IntN(b.most + 1) {
		done := make(chan struct{})
		select {
		case b.next <- done:
			<-done
		case <-b.ended:
			return
		}
	}
}

// wait waits until verify may make a request, and returns what says that it is done.
func (b *beside) wait() (done func()) {
	select {
	case next := <-b.next:
		return func() { close(next) }
	case <-b.alone:
		return func() {}
	}
}

// looking has the requests of verify wait.
func (b *beside) looking(inner policy.Transporter) policy.Transporter {
	return faults.Func(func(r *http.Request) (*http.Response, error) {
		defer b.wait()()
		return inner.Do(r)
	})
}

// pause lets things happen for as long as some requests of verify would take.
func (b *beside) pause() {
	for range 1 + b.most {
		b.wait()()
	}
}

// verifyBeside verifies a pipeline while things happen.
func (l *weeks) verifyBeside(happen func()) {
	b := &beside{looks: l.looks, most: 1 + l.looks.IntN(30), next: make(chan chan struct{}),
		alone: make(chan struct{}), ended: make(chan struct{})}
	all := l.verifications(b.looking(l.clocked(nil)))
	c := all[l.looks.IntN(len(all))]
	c.Pause = b.pause
	l.withoutFutureArchive(&c)
	l.beside = b
	go func() {
		defer close(b.ended)
		verified(l.t, c, fmt.Sprintf("beside work at %s, %s", l.now, c.Pipelines[0].Name))
	}()
	defer func() {
		close(b.alone)
		<-b.ended
		l.beside = nil
	}()
	happen()
}
