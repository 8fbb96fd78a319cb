package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A choice is the value of a flag that takes one of several words. Completion offers them.
type choice struct {
	value string
	words []string
}

// choiceFlag returns a flag that takes one of the words.
func choiceFlag(name, defaultText string, words []string, usage string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, DefaultText: defaultText, Value: &choice{words: words}, Usage: usage}
}

// String returns the chosen word; empty where none is.
func (c *choice) String() string { return c.value }

// Set chooses a word.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return fmt.Errorf("it takes %s%s", strings.Join(c.words, ", "), didYouMean(text, c.words, ""))
	}
	c.value = text
	return nil
}
