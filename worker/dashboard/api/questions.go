package api

import "time"

// Room that everybody shares: a tenant has at most three quarters of it, and a person half. See package shares.
const (
	// maxQuestions limits the questions for many rows that are answered at a time. Each holds a few pages of storage and a
	// part of its answer.
	maxQuestions = 16
	// maxStreams limits the open streams: each holds what it has sent, and a compressor.
	maxStreams = 64
)

// owners returns whose share a person's requests take.
func (p Person) owners() []string {
	return []string{string(p.Tenant), string(p.Tenant) + "\x00" + p.Name}
}

// Question returns what to call at the end of a question, or a problem where there are too many.
func (a *API) Question(p Person) (end func(), err error) {
	if !a.questions.Take(1, p.owners()...) {
		return nil, NewProblem(TooManyRequests, "Too many questions at once", "Several questions for many rows are still "+
			"being answered. Ask the next one when one of them is complete.").RetryIn(5 * time.Second)
	}
	return func() { a.questions.Give(1, p.owners()...) }, nil
}
