package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
)

// YAML formats c as a file with all keys.
func (c *Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c.shown(), yaml.IndentSequence(true))
}

// JSON formats c as JSON, which is also YAML. It always has models.
func (c *Config) JSON() ([]byte, error) {
	all := c.shown()
	if len(c.Models) == 1 {
		all = slices.Insert(all, 1, yaml.MapItem{Key: "models", Value: ordered{}})
	}
	return json.Marshal(all)
}

func (c *Config) shown() ordered {
	inFile, last := *c, len(c.Models)-1
	inFile.Pipelines, inFile.Models = c.InFile(), c.Models[:last]
	return shown(&contents{&inFile, c.Models[last].Meaning})
}

// ShownBlock returns a model or a rule by its name for JSON, as in a file.
func ShownBlock[T Model | rules.Rule](block *T) any { return shownByName(reflect.ValueOf([]T{*block})) }

// BlockYAML formats what ShownBlock returns as in a file, below the key of models or rules.
func BlockYAML(key string, shown any) ([]byte, error) {
	return yaml.MarshalWithOptions(map[string]any{key: shown}, yaml.IndentSequence(true))
}

// MatchText describes which devices are of the model, in one line; empty: those that state it, or no other.
func (m *Model) MatchText() string { return matchText(&m.Match, nil) }

// RuleMatch describes which devices a rule is for, in one line; empty: all.
func RuleMatch(r *rules.Rule) string { return matchText(&r.Match.Match, &r.Match.Model) }

// ordered is a map that keeps its order, in YAML and JSON.
type ordered yaml.MapSlice

func (o ordered) MarshalYAML() (any, error) { return yaml.MapSlice(o), nil }

func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, item := range o {
		text, err := json.Marshal(item.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", item.Key, text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// shown returns a block as in a file, without the keys whose values are zero.
func shown(block any) (all ordered) {
	for _, k := range keysOf(nil, block) {
		if !k.zero() {
			all = append(all, yaml.MapItem{Key: k.name, Value: k.shown()})
		}
	}
	return all
}

// shownByName returns blocks by their names, which are their first fields.
func shownByName(blocks reflect.Value) (all ordered) {
	for i := range blocks.Len() {
		of := blocks.Index(i).Addr()
		all = append(all, yaml.MapItem{Key: of.Elem().Field(0).String(), Value: shown(of.Interface())})
	}
	return all
}

// quoted is a user's text, which may look like anything: the encoder does not quote all texts that need it.
type quoted string

func (q quoted) MarshalYAML() ([]byte, error) { return []byte(strconv.Quote(string(q))), nil }

func allQuoted(texts []string) (all []quoted) {
	for _, text := range texts {
		all = append(all, quoted(text))
	}
	return all
}

// flowed is a list in one line.
type flowed []string

func (f flowed) MarshalYAML() ([]byte, error) {
	return yaml.MarshalWithOptions([]string(f), yaml.Flow(true))
}

// String describes a pipeline in a few words.
func (p Pipeline) String() string {
	if p.Retains() {
		return fmt.Sprintf("%s (every %s)", p.Name, schema.FormatDuration(p.Cadence))
	}
	var names []string
	for _, processor := range p.Processors {
		names = append(names, processor.Name)
	}
	return fmt.Sprintf("%s (%s; every %s)", p.Name, strings.Join(names, ", "), schema.FormatDuration(p.Cadence))
}
