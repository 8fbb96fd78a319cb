package api

import (
	"sync"
	"time"
)

// Limits of expensive questions that are answered at a time. Each holds a few pages of storage and a part of its
// answer.
const (
	maxQuestions = 16
	ownQuestions = 3 // of one person
)

// questions counts the expensive questions that are being answered.
type questions struct {
	mu  sync.Mutex
	all int
	by  map[string]int // by the name of a person
}

// begin returns what to call at the end of a question, or a problem where there are too many.
func (q *questions) begin(p Person) (end func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.by[p.Name] >= ownQuestions:
		return nil, NewProblem(TooManyRequests, "Too many questions at once", "Several of your questions for many rows are "+
			"still being answered. Ask the next one when one of them is complete.").RetryIn(5 * time.Second)
	case q.all >= maxQuestions:
		return nil, NewProblem(TooManyRequests, "Too many questions at once", "This dashboard already answers as many "+
			"questions for many rows as it can. Try again in a moment.").RetryIn(5 * time.Second)
	}
	q.all++
	q.by[p.Name]++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.all--
		if q.by[p.Name]--; q.by[p.Name] == 0 {
			delete(q.by, p.Name)
		}
	}, nil
}
