package web_test

import (
	"io"
	"testing"

	"furrow/worker/dashboard/web"
)

// BenchmarkRender renders each page with its usual data.
func BenchmarkRender(b *testing.B) {
	s, err := web.New(web.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range usualPages() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Render(io.Discard, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
