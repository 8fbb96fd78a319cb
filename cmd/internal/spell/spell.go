// Package spell finds the word that was meant by one that is misspelt.
package spell

import "strings"

// Nearest returns the name that is the fewest edits away from word, and "" when
// even that would change more than half of it.
func Nearest(word string, names []string) string {
	best, fewest := "", max(len(word), 2)/2+1
	for _, name := range names {
		if d := edits(strings.ToLower(word), strings.ToLower(name)); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// edits counts the insertions, deletions and changes of one byte that lead from a to b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
