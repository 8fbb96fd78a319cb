package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"furrow/tables"
)

// A Configuration is a row of the table config: one generation of a fleet's configuration.
// Generations are counted from 1. Each is inserted once and never changed. The newest one
// is in force.
//
// Row keys count down, so that the first row of the partition is the newest generation, and
// one query of one row finds it.
type Configuration struct {
	Generation int64        `row:"Generation"`
	Text       string       // as its author wrote it, at most MaxConfiguration bytes
	Hash       string       `row:"Hash"`   // ConfigurationHash of the text; set by Entity
	ID         string       `row:"ID"`     // random: shows its writer that a write with a lost answer succeeded
	By         string       `row:"By"`     // who stored it
	Change     string       `row:"Change"` // differences from the previous generation, for people
	Stored     tables.Ticks // by storage's clock; ignored in writes

	// Format is the format in which workers write from this generation on. All processes
	// of the fleet could read it when the generation was stored. It never decreases.
	Format int64
	// Edition is that of what the text leaves out: the fleet's, from its first generation on.
	Edition int64 `row:"Edition,omitzero"`
}

const (
	configurationPartition = "config"
	configurationDigits    = 10

	// MaxGeneration is the largest generation that a row key can have.
	MaxGeneration = 9_999_999_999

	configurationPiece  = 60 << 10 // a property holds 64 KiB, an entity 1 MiB
	configurationPieces = 16

	// MaxConfiguration is the maximum size of a Configuration's text, in bytes.
	MaxConfiguration = configurationPieces * configurationPiece
)

// ConfigurationHash returns the SHA-256 of a text in hexadecimal digits.
func ConfigurationHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ConfigurationKeys returns the keys of a generation.
func ConfigurationKeys(generation int64) (pk, rk string) {
	return configurationPartition, fmt.Sprintf("%0*d", configurationDigits, MaxGeneration-generation)
}

// ConfigurationsAfter returns the range of the generations newer than the given one, the
// newest first; after 0 these are all.
func ConfigurationsAfter(generation int64) tables.Range {
	pk, rk := ConfigurationKeys(generation)
	return tables.Range{Partitions: tables.Is(pk), Rows: tables.Keys{Before: rk}}
}

// Entity returns the row of c.
func (c Configuration) Entity() (tables.Entity, error) {
	if c.Generation < 1 || c.Generation > MaxGeneration {
		return tables.Entity{}, fmt.Errorf("generation %d of a configuration; want 1 to %d", c.Generation, MaxGeneration)
	}
	if len(c.Text) > MaxConfiguration {
		return tables.Entity{}, fmt.Errorf("a configuration of %d bytes; at most %d are kept", len(c.Text), MaxConfiguration)
	}
	var e tables.Entity
	e.PartitionKey, e.RowKey = ConfigurationKeys(c.Generation)
	c.Hash, c.Change = ConfigurationHash(c.Text), shortened(c.Change)
	err := e.Encode(&c)
	e.Set("Bytes", tables.Int64(int64(len(c.Text))))
	if c.Format > 1 {
		e.Set(FormatProperty, tables.Int64(c.Format))
	}
	for i, text := 0, c.Text; text != ""; i++ {
		n := min(len(text), configurationPiece)
		e.Set(configurationText(i), tables.Binary([]byte(text[:n])))
		text = text[n:]
	}
	return e, err
}

func configurationText(piece int) string { return fmt.Sprintf("Text%02d", piece) }

// shortened returns the first 1,000 characters of a text for people.
func shortened(s string) string {
	const most = 1000
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// ConfigurationHead returns the properties of a Configuration except its text.
func ConfigurationHead() []string {
	return append(tables.Columns[Configuration](), "Timestamp", "Bytes", FormatProperty)
}

// ConfigurationHeadOf decodes a row of the table config that was read without its text. It
// is the same in every format.
func ConfigurationHeadOf(e tables.Entity) (Configuration, error) {
	f := e.Fields()
	c := Configuration{Stored: e.Timestamp, Format: FormatOf(&e)}
	f.Decode(&c)
	if n, err := strconv.ParseInt(e.RowKey, 10, 64); err != nil || MaxGeneration-n != c.Generation {
		f.Fail("Generation", cmp.Or(err, fmt.Errorf("it is %d, which is not the one of the row key", c.Generation)))
	}
	return c, f.Err()
}

// ConfigurationOf decodes a row of the table config.
func ConfigurationOf(e tables.Entity) (Configuration, error) {
	c, err := ConfigurationHeadOf(e)
	if err != nil {
		return c, err
	}
	var text strings.Builder
	f := e.Fields()
	for i := range configurationPieces {
		text.Write(f.Binary(configurationText(i)))
	}
	c.Text = text.String()
	if int64(len(c.Text)) != f.Int("Bytes") || ConfigurationHash(c.Text) != c.Hash {
		f.Fail("Hash", errors.New("the text is not the one that was stored"))
	}
	return c, f.Err()
}
