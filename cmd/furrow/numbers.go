package main

import (
	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// grouped formats a number as 1,234,567.
func grouped(n int64) string { return humanize.Comma(n) }

// many counts things: "1 device", "1,234 devices".
func many(n int64, one string) string { return grouped(n) + " " + english.PluralWord(int(n), one, "") }
