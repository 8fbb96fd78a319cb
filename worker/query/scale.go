package query

import "furrow/worker"

// A pipeline that is this many cadences late does not keep pace. It gets as many times the workers that its messages
// need, at most four times: more would only meet limits of storage.
const (
	lateFrom  = 2
	lateTimes = 4
)

// WorkersWanted returns how many workers the pipeline needs if each does at most this number of its jobs at a time.
// Messages that workers hold count, so none of these workers is too many before its jobs end.
func (s Status) WorkersWanted(jobs int) int {
	atCatchup := max(1, jobs/2) // as worker.Pool shares its jobs
	n := max(divideUp(s.Queue+s.Catchup, jobs), divideUp(s.Catchup, atCatchup))
	done, known := worker.LastDone(s.Runs)
	if !known {
		return n
	}
	if late := int(s.At.Sub(done.Run.Slot.Time()) / s.Cadence); late >= lateFrom {
		times := min(late, lateTimes)
		n = max(n, min(divideUp(s.Queue, jobs)*times, s.Queue)) // one without a message has nothing to do
	}
	return n
}

func divideUp(n, by int) int { return (n + by - 1) / by }
