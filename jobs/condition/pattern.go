package condition

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxPatterns bounds the instructions of all patterns of a condition. To match one takes a time in proportion to its
// instructions and to the length of the text. Without a bound, `a{0,1000}` a hundred times in a pattern of 963 bytes
// has 200,000 of them, takes 80 MB, and a tenth of a second for each row.
const maxPatterns = 1000

// matches takes a constant pattern, so that a wrong one is an error when the condition is read.
func (c *Condition) matches(left eval, pattern string) (eval, error) {
	err := checkClasses(pattern)
	var tree *syntax.Regexp
	if err == nil {
		tree, err = syntax.Parse(pattern, syntax.Perl)
	}
	if err != nil {
		return nil, fmt.Errorf("matches %q: %w", pattern, err)
	}
	if c.patterns += size(tree); c.patterns > maxPatterns {
		return nil, fmt.Errorf("matches %q: the patterns of the condition stand for more than %d characters, with "+
			"repeated ones each time; repeat less, as in a* instead of a{0,1000}", pattern, maxPatterns)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("matches %q: %w", pattern, err)
	}
	return func(r Row) Value {
		v := left(r)
		return truth(v.is == text && r.matches(re, v.text))
	}, nil
}

// maxClasses bounds the classes of Unicode characters, such as \pL. Each may have hundreds of ranges.
const maxClasses = 20

// checkClasses refuses what takes long to parse. To ignore the case in a range, the parser looks at each of its
// characters, and `(?i)[b-𞥂b-𞥂…]` has 125,000 for every six bytes.
func checkClasses(pattern string) error {
	wide, classes := false, 0 // wide: a range may end beyond ASCII
	for i := 1; i < len(pattern); i++ {
		escaped := pattern[i-1] == '\\'
		if escaped && (pattern[i] == 'p' || pattern[i] == 'P') {
			classes++
		}
		wide = wide || pattern[i-1] == '-' && (pattern[i] >= utf8.RuneSelf || pattern[i] == '\\')
	}
	if wide && strings.Contains(pattern, "[") && foldsCase(pattern) {
		return errors.New("(?i) is not for ranges beyond ASCII: compare lower(…) without it")
	}
	if classes > maxClasses {
		return fmt.Errorf(`it has more than %d classes such as \pL`, maxClasses)
	}
	return nil
}

// foldsCase reports whether a pattern may have the flag i.
func foldsCase(pattern string) bool {
	for _, group := range strings.Split(pattern, "(?")[1:] {
		if flags := group[:len(group)-len(strings.TrimLeft(group, "imsU-"))]; strings.Contains(flags, "i") {
			return true
		}
	}
	return false
}

// size returns how many instructions a regular expression has at most, without compiling it.
func size(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(n+size(sub)+1, maxPatterns+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/32 // its ranges are copied
	case syntax.OpRepeat:
		return min(n*max(re.Min+1, re.Max), maxPatterns+1)
	}
	return n + 1
}

// interruptible is a length in bytes below which a match takes less than a few hundredths of a second.
const interruptible = 2 << 10

// matches reports whether a pattern matches a text. Its answer is worthless if the row's Context has ended.
func (r Row) matches(re *regexp.Regexp, s string) bool {
	if r.Context == nil || len(s) < interruptible {
		return re.MatchString(s)
	}
	return re.MatchReader(&untilDone{strings.NewReader(s), r.Context, 0})
}

// untilDone ends a text early when its context ends.
type untilDone struct {
	*strings.Reader
	ctx  context.Context
	read int
}

func (u *untilDone) ReadRune() (r rune, size int, err error) {
	if u.read++; u.read%256 == 0 && u.ctx.Err() != nil {
		return 0, 0, u.ctx.Err()
	}
	return u.Reader.ReadRune()
}
