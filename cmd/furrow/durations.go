package main

import (
	"fmt"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A duration is the value of a flag, in the notation of [schema.ParseDuration].
type duration struct {
	value, least, most time.Duration
}

// durationFlag returns a flag whose value is at least least.
func durationFlag(name string, value, least time.Duration, usage string) *cli.GenericFlag {
	return durationFlagUpTo(name, value, least, math.MaxInt64, usage)
}

// durationFlagUpTo returns a flag with both bounds.
func durationFlagUpTo(name string, value, least, most time.Duration, usage string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, Value: &duration{value, least, most}, Usage: usage}
}

// durationOf returns the value of a flag, and zero if the command does not have it.
func durationOf(c *cli.Context, name string) time.Duration {
	if d, ok := c.Generic(name).(*duration); ok {
		return d.value
	}
	return 0
}

// String returns the value, and nothing for zero, which flags have without a default.
func (d *duration) String() string {
	if d.value == 0 {
		return ""
	}
	return schema.FormatDuration(d.value)
}

// Set parses text.
func (d *duration) Set(text string) error {
	value, err := schema.ParseDuration(text)
	switch {
	case err != nil:
		return err
	case value < d.least:
		return fmt.Errorf("it must be at least %s", schema.FormatDuration(d.least))
	case value > d.most:
		return fmt.Errorf("it must be at most %s", schema.FormatDuration(d.most))
	}
	d.value = value
	return nil
}

// lengthText formats seconds.
func lengthText(seconds int64) string {
	return schema.FormatDuration(time.Duration(seconds) * time.Second)
}

// withDefaultText describes the default of a flag in its help.
func withDefaultText(text string, f *cli.GenericFlag) *cli.GenericFlag {
	f.DefaultText = text
	return f
}

// spanOf is parseSpan for the flags of a command.
func spanOf(c *cli.Context, from, to string, last time.Duration) (query.Span, error) {
	for _, flag := range []string{"from", "to"} {
		if c.IsSet(flag) && c.String(flag) == "" {
			return query.Span{}, usagef(c, "--%s is empty", flag)
		}
	}
	span, err := parseSpan(from, to, last, time.Now())
	if err != nil {
		err = usagef(c, "%v", err)
	}
	return span, err
}

// parseSpan parses the values of --from and --to. Without from, the span begins last
// before its end; without to, it ends now.
func parseSpan(from, to string, last time.Duration, now time.Time) (query.Span, error) {
	s := query.Span{To: tables.TicksOf(now)}
	var err error
	if to != "" {
		if s.To, err = query.ParseMoment(to, now); err != nil {
			return s, fmt.Errorf("--to: %w", err)
		}
	}
	s.From = max(0, s.To.Add(-last))
	if from != "" {
		if s.From, err = query.ParseMoment(from, now); err != nil {
			return s, fmt.Errorf("--from: %w", err)
		}
	}
	if s.From >= s.To {
		return s, fmt.Errorf("--from, %s, is not before --to, %s", s.From.Time().Format(time.RFC3339),
			s.To.Time().Format(time.RFC3339))
	}
	return s, nil
}
