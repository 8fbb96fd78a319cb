package wire

import (
	"net/http"
	"time"
)

// answerTime is how long a client may take to read what is written at a time: mostly an answer, or 32 KiB of a blob. A
// backup keeps deleted files on disk.
const answerTime = time.Minute

// timeAnswer returns w with a deadline for each write. Without one, clients that read nothing would hold connections,
// bodies and what they asked for without an end.
func timeAnswer(w http.ResponseWriter) http.ResponseWriter {
	return &timedAnswer{w, http.NewResponseController(w)}
}

type timedAnswer struct {
	http.ResponseWriter
	connection *http.ResponseController
}

func (a *timedAnswer) WriteHeader(status int) {
	a.prolong(0)
	a.ResponseWriter.WriteHeader(status)
}

func (a *timedAnswer) Write(p []byte) (int, error) {
	a.prolong(len(p))
	return a.ResponseWriter.Write(p)
}

// prolong gives a client time for so many bytes more: as long again for each 256 KiB.
func (a *timedAnswer) prolong(n int) {
	until := time.Now().Add(answerTime * time.Duration(1+n/bodyStep))
	_ = a.connection.SetWriteDeadline(until) // a client in the same process has none
}

// Unwrap serves http.ResponseController.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
