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

// A Configuration is a row of the table config: one generation of a fleet's
// configuration. Generations are counted from 1 on, each is inserted once and never
// changed, and the newest one holds.
//
// Row keys count down, so that the first row of the partition is the newest one:
// whoever knows a generation learns with one query of one row whether there is a
// newer one, however many there are.
type Configuration struct {
	Generation int64
	Text       string       // as its author wrote it, at most MaxConfiguration bytes
	Hash       string       // of the text, as ConfigurationHash; filled in by Entity
	ID         string       // random: tells its writer that a lost answer was a success
	By         string       // who stored it
	Change     string       // what differs from the generation before, for people
	Stored     tables.Ticks // by storage's clock; ignored in what is written

	// Format is the one that all of the fleet's processes can read when the generation
	// is stored, and in which its workers write from then on. It never goes back.
	Format int64
}

const (
	configurationPartition = "config"
	configurationDigits    = 10

	// MaxGeneration is the last one that a row key can count down from.
	MaxGeneration = 9_999_999_999

	configurationPiece  = 60 << 10 // a property holds 64 KiB, an entity 1 MiB
	configurationPieces = 16

	// MaxConfiguration is how many bytes the text of a Configuration can have.
	MaxConfiguration = configurationPieces * configurationPiece
	maxChange        = 1000 // characters that are kept of a Configuration's Change
)

// ConfigurationHash tells texts apart: their SHA-256, in hexadecimal digits.
func ConfigurationHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ConfigurationKeys are the keys of a generation.
func ConfigurationKeys(generation int64) (pk, rk string) {
	return configurationPartition, fmt.Sprintf("%0*d", configurationDigits, MaxGeneration-generation)
}

// ConfigurationsAfter are the generations that are newer than one, the newest
// first; after 0 that is all of them.
func ConfigurationsAfter(generation int64) tables.Range {
	pk, rk := ConfigurationKeys(generation)
	return tables.Range{Partitions: tables.Is(pk), Rows: tables.Keys{Before: rk}}
}

// Entity is c as it is stored.
func (c Configuration) Entity() (tables.Entity, error) {
	if c.Generation < 1 || c.Generation > MaxGeneration {
		return tables.Entity{}, fmt.Errorf("generation %d of a configuration; want 1 to %d", c.Generation, MaxGeneration)
	}
	if len(c.Text) > MaxConfiguration {
		return tables.Entity{}, fmt.Errorf("a configuration of %d bytes; at most %d are kept", len(c.Text), MaxConfiguration)
	}
	var e tables.Entity
	e.PartitionKey, e.RowKey = ConfigurationKeys(c.Generation)
	e.Set("Generation", tables.Int64(c.Generation))
	e.Set("Bytes", tables.Int64(int64(len(c.Text))))
	e.Set("Hash", tables.String(ConfigurationHash(c.Text)))
	e.Set("ID", tables.String(c.ID))
	e.Set("By", tables.String(c.By))
	e.Set("Change", tables.String(shortened(c.Change, maxChange)))
	SetFormat(&e, c.Format)
	for i, text := 0, c.Text; text != ""; i++ {
		n := min(len(text), configurationPiece)
		e.Set(configurationText(i), tables.Binary([]byte(text[:n])))
		text = text[n:]
	}
	return e, nil
}

func configurationText(piece int) string { return fmt.Sprintf("Text%02d", piece) }

// shortened is at most so many characters of s.
func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// ConfigurationHead are the properties of a Configuration but for its text.
func ConfigurationHead() []string {
	return []string{"Timestamp", "Generation", "Bytes", "Hash", "ID", "By", "Change", FormatProperty}
}

// ConfigurationHeadOf is a row of the table config that was read without the text. It
// means the same in every format.
func ConfigurationHeadOf(e tables.Entity) (Configuration, error) {
	f := e.Fields()
	c := Configuration{Generation: f.Int("Generation"), Hash: f.String("Hash"), ID: f.String("ID"), By: f.String("By"),
		Change: f.String("Change"), Stored: e.Timestamp, Format: FormatOf(&e)}
	if n, err := strconv.ParseInt(e.RowKey, 10, 64); err != nil || MaxGeneration-n != c.Generation {
		f.Fail("Generation", cmp.Or(err, fmt.Errorf("it is %d, and the row key says otherwise", c.Generation)))
	}
	return c, f.Err()
}

// ConfigurationOf is a row of the table config.
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
