package generations

import (
	"fmt"
	"strings"
)

// Diff is what makes one text of another, as a unified diff with names for both;
// empty where they are the same.
func Diff(fromName, from, toName, to string) string {
	if from == to {
		return ""
	}
	edits := editsOf(linesOf(from), linesOf(to))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", fromName, toName)
	for _, h := range hunksOf(edits) {
		h.write(&b, edits)
	}
	return b.String()
}

// linesOf are the lines of a text. The last one says so if it has no end.
func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	lines[last] += "\n\\ No newline at end of file\n"
	return lines
}

// An edit is a line that stays, goes or comes.
type edit struct {
	sign byte // ' ', '-' or '+'
	line string
}

// maxTable bounds the table of a comparison. Texts that differ in more than that are
// shown as one whole that goes and another that comes.
const maxTable = 4_000_000

// editsOf makes b of a with as few edits as there can be.
func editsOf(a, b []string) (edits []edit) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	keep := func(lines []string) {
		for _, l := range lines {
			edits = append(edits, edit{' ', l})
		}
	}
	keep(a[:head])
	edits = append(edits, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	keep(a[len(a)-tail:])
	return edits
}

// middle compares lines by the longest sequence that both have.
func middle(a, b []string) (edits []edit) {
	var common [][]int32 // of a[i:] and b[j:]
	if (len(a)+1)*(len(b)+1) <= maxTable {
		common = commonOf(a, b)
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case common != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common == nil || common[i+1][j] >= common[i][j+1]):
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}

func commonOf(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// A hunk is the edits in [from, to), with lines around them that stay.
type hunk struct{ from, to int }

// around is how many lines that stay are shown before and after those that do not.
const around = 3

func hunksOf(edits []edit) (all []hunk) {
	for i, e := range edits {
		if e.sign == ' ' {
			continue
		}
		from, to := max(0, i-around), min(len(edits), i+1+around)
		if n := len(all); n > 0 && all[n-1].to >= from {
			all[n-1].to = to
		} else {
			all = append(all, hunk{from, to})
		}
	}
	return all
}

func (h hunk) write(b *strings.Builder, edits []edit) {
	was, is := span(edits[:h.from], edits[h.from:h.to], '-'), span(edits[:h.from], edits[h.from:h.to], '+')
	fmt.Fprintf(b, "@@ -%s +%s @@\n", was, is)
	for _, e := range edits[h.from:h.to] {
		b.WriteByte(e.sign)
		b.WriteString(e.line)
	}
}

// span is where a hunk lies in the text that has the lines that stay and those of a
// sign: its first line, and how many there are.
func span(before, within []edit, sign byte) string {
	count := func(edits []edit) (n int) {
		for _, e := range edits {
			if e.sign == ' ' || e.sign == sign {
				n++
			}
		}
		return n
	}
	first, n := count(before), count(within)
	if n > 0 {
		first++
	}
	return fmt.Sprintf("%d,%d", first, n)
}
