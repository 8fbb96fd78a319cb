package faults

import (
	"net/http"
	"time"
)

// Later has storage say that it is so much later. What it writes into rows stays as it is.
func Later(by time.Duration) Func {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		at, err := http.ParseTime(answer.Header.Get("Date"))
		answer.Header.Set("Date", at.Add(by).Format(http.TimeFormat))
		return answer, err
	}
}
