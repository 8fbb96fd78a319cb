package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/setup"
)

// printLine prints the result of a command: a line as JSON, or text, which may lack the end of its last line.
func printLine(c *cli.Context, line any, text string) error {
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, line)
	}
	_, err := io.WriteString(c.App.Writer, strings.TrimSuffix(text, "\n")+"\n")
	return err
}

// printSecret prints a secret alone, for scripts, or as JSON. For people it says on standard error what it is.
func printSecret(c *cli.Context, line any, secret, about string) error {
	if !c.Bool("json") {
		fmt.Fprint(c.App.ErrWriter, about)
	}
	return printLine(c, line, secret)
}

// printScreen prints what a server says when it has started: a screen as JSON, or text.
func printScreen(c *cli.Context, screen any, text string) error {
	return printLine(c, screen, text+"\nStop it with Ctrl-C.")
}

// Text for people takes at most screenWidth columns, or those of a narrower terminal down to leastWidth.
const (
	screenWidth = 100
	leastWidth  = 40
)

// columnsOfScreen returns the number of columns that text for people takes.
func columnsOfScreen() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return screenWidth // standard output is no terminal
	}
	return min(screenWidth, max(leastWidth, width))
}

// fieldLines formats names and values as indented lines, and leaves out empty values. Long values take several lines.
func fieldLines(width int, fields [][2]string) string {
	var b strings.Builder
	for _, f := range fields {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %-*s%s\n", width, f[0], wrapped(f[1], width+2))
		}
	}
	return b.String()
}

// wrapped breaks text between words so that it fits on the screen beside an indentation.
func wrapped(text string, indent int) string { return wrappedTo(columnsOfScreen(), text, indent) }

// wrappedTo breaks text between words so that it fits into columns beside an indentation. Words that are too long stay
// whole.
func wrappedTo(width int, text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// A tlsScreen describes the certificate of a server.
type tlsScreen struct {
	Fingerprint   string   `json:"sha256"`             // of the server's certificate; empty with ACME
	CAFile        string   `json:"caFile,omitempty"`   // absent if the certificate was given
	CAFingerprint string   `json:"caSha256,omitempty"` //
	Hosts         []string `json:"acme,omitempty"`     // whose certificates an ACME authority issues
}

func tlsScreenOf(t *setup.TLS) *tlsScreen {
	if t == nil {
		return nil
	}
	return &tlsScreen{t.Fingerprint, t.CAFile, t.CAFingerprint, t.Hosts}
}

// text describes the certificate to those who connect, such as "Devices".
func (t *tlsScreen) text(who string) string {
	if t == nil {
		return ""
	}
	if len(t.Hosts) > 0 {
		return "\nTLS certificates by ACME\n  " + strings.Join(t.Hosts, "\n  ") + "\n"
	}
	text := "\nTLS certificate, SHA-256\n  " + t.Fingerprint + "\n"
	if t.CAFile != "" {
		text += fmt.Sprintf("%s have to trust %s, SHA-256\n  %s\n", who, t.CAFile, t.CAFingerprint)
	}
	return text
}

// quoted quotes a word for a POSIX shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// grouped formats a number as 1,234,567.
func grouped(n int64) string { return humanize.Comma(n) }

// many counts things: "1 device", "1,234 devices".
func many(n int64, one string) string { return grouped(n) + " " + english.PluralWord(int(n), one, "") }
