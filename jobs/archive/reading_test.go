package archive_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"testing"

	"furrow/jobs/archive/columnar"
	"furrow/tables/azuretest/must"
)

// storedIn yields the readings of a file.
func storedIn(t testing.TB, content []byte) iter.Seq[columnar.StoredReading] {
	t.Helper()
	r := must.Have(columnar.OpenReadings(bytes.NewReader(content), int64(len(content))))(t)
	return func(yield func(columnar.StoredReading) bool) {
		for {
			one, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			must.Succeed(t, err)
			if !yield(one) {
				return
			}
		}
	}
}

// collected returns all that a sequence yields, or its error.
func collected[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for one, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}
