package local

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/store"
)

// An Inspection is what a directory has, and what is wrong with it.
type Inspection struct {
	Tables     []Usage  `json:"tables"`
	Queues     []Usage  `json:"queues"`
	Containers []Usage  `json:"containers"`
	Disk       uint64   `json:"disk"`     // bytes of the database's files, which are compressed
	Problems   []string `json:"problems"` // the first hundred
	More       int64    `json:"more"`     // problems beyond those
}

// A Usage is what a table, queue or container has.
type Usage struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`  // rows, messages or blobs
	Bytes int64  `json:"bytes"` // of keys and values before compression, and of blobs
}

// mostProblems are told one by one.
const mostProblems = 100

// Inspect reads everything that the directory had at one moment, while the server goes on. Every record must be
// readable and belong to something that exists, and every content of a blob must be there in full. It returns an error
// if it could not read to the end for another reason than damage.
func (s *Server) Inspect(ctx context.Context) (Inspection, error) {
	release := s.blob.Hold() // before the snapshot: it refers to files
	defer release()
	at := s.store.Snapshot()
	n := &inspector{ctx: ctx, server: s, at: at, owners: map[byte]map[store.ID]*Usage{}}
	err := n.inspect()
	return n.found, errors.Join(err, at.Close())
}

// An inspector reads a snapshot once for the names of what there is, and once for what belongs to them.
type inspector struct {
	ctx    context.Context
	server *Server
	at     *store.Snapshot
	owners map[byte]map[store.ID]*Usage // by the prefix of their records
	found  Inspection
	read   int
}

func (n *inspector) problem(format string, args ...any) {
	if len(n.found.Problems) == mostProblems {
		n.found.More++
		return
	}
	n.found.Problems = append(n.found.Problems, fmt.Sprintf(format, args...))
}

func (n *inspector) inspect() error {
	n.found.Disk = n.server.store.Size()
	if err := n.server.store.Check(); err != nil {
		n.problem("the database: %s", store.FirstLine(err))
	}
	for _, prefix := range []byte{store.PrefixTable, store.PrefixQueue, store.PrefixContainer} {
		n.owners[prefix] = map[store.ID]*Usage{}
		if err := n.walk([]byte{prefix}, []byte{prefix + 1}, func(e store.Entry) { n.owner(prefix, e) }); err != nil {
			return err
		}
	}
	if err := n.walk([]byte{0}, []byte{0xff}, n.entry); err != nil {
		return err
	}
	n.found.Tables = n.usages(store.PrefixTable)
	n.found.Queues = n.usages(store.PrefixQueue)
	n.found.Containers = n.usages(store.PrefixContainer)
	return nil
}

// walk calls do for each entry. Damage that Pebble finds ends it, and is a problem.
func (n *inspector) walk(from, upto []byte, do func(store.Entry)) error {
	for e, err := range n.at.Walk(from, upto) {
		if err != nil {
			n.problem("the database cannot be read further: %s", store.FirstLine(err))
			return nil
		}
		if n.read++; n.read%1000 == 0 && n.ctx.Err() != nil {
			return context.Cause(n.ctx)
		}
		do(e)
	}
	return nil
}

// owner remembers a table, queue or container.
func (n *inspector) owner(prefix byte, e store.Entry) {
	var record struct {
		ID   store.ID
		Name string
	}
	if err := json.Unmarshal(e.Value, &record); err != nil || record.ID == 0 {
		n.problem("the record of %q cannot be read: %v", e.Key[1:], err)
		return
	}
	n.owners[prefix][record.ID] = &Usage{Name: record.Name}
}

// ownerOf returns the prefix of the records to whom records with a prefix belong, and whether they are what Usage.Rows
// counts.
func ownerOf(prefix byte) (owner byte, counted, known bool) {
	switch prefix {
	case store.PrefixEntity:
		return store.PrefixTable, true, true
	case store.PrefixMessage:
		return store.PrefixQueue, true, true
	case store.PrefixText, store.PrefixVisible, store.PrefixTally:
		return store.PrefixQueue, false, true
	case store.PrefixBlob:
		return store.PrefixContainer, true, true
	case store.PrefixBlocks, store.PrefixStaged, store.PrefixFile, store.PrefixBytes:
		return store.PrefixContainer, false, true
	}
	return 0, false, false
}

func (n *inspector) entry(e store.Entry) {
	prefix := e.Key[0]
	if n.owners[prefix] != nil || prefix == store.PrefixNextID || prefix == store.PrefixProperties {
		return
	}
	kind, counted, known := ownerOf(prefix)
	if !known || len(e.Key) < 9 {
		n.problem("the key %q is not known to this program", e.Key)
		return
	}
	of := n.owners[kind][store.ID(binary.BigEndian.Uint64(e.Key[1:]))]
	if of == nil {
		n.problem("the key %q belongs to nothing that exists", e.Key)
		return
	}
	of.Bytes += int64(len(e.Key) + len(e.Value))
	if counted {
		of.Rows++
	}
	switch prefix {
	case store.PrefixEntity:
		if err := entity.Stored(e.Value).Check(); err != nil {
			n.problem("table %s: the row %q: %v", of.Name, e.Key[9:], err)
		}
	case store.PrefixBlob, store.PrefixBlocks, store.PrefixStaged:
		if err := n.server.blob.Check(n.at, e); err != nil {
			n.problem("container %s: %v", of.Name, err)
		}
	case store.PrefixFile:
		n.file(of, e.Key)
	}
}

// file looks for the file of a blob.
func (n *inspector) file(of *Usage, marker []byte) {
	name := content.Files([][]byte{marker})[0]
	info, err := n.server.fs.Stat(filepath.Join(n.server.config.Dir, "blobs", name))
	if err != nil {
		n.problem("container %s: the file of a blob: %v", of.Name, err)
		return
	}
	of.Bytes += info.Size()
}

// usages returns what there is of a kind by name.
func (n *inspector) usages(prefix byte) []Usage {
	all := []Usage{}
	for _, u := range n.owners[prefix] {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Usage) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// FetchInspection has the server that serves the account's blobs at url inspect its directory, as Server.Inspect does.
func FetchInspection(ctx context.Context, client *http.Client, account, key, url string) (i Inspection, err error) {
	body, err := fetch(ctx, client, account, key, url, "inspection")
	if err != nil {
		return i, fmt.Errorf("no inspection: %w", err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if err := json.NewDecoder(body).Decode(&i); err != nil {
		return i, fmt.Errorf("the inspection was interrupted: %w", err)
	}
	return i, nil
}

// writeInspection inspects the directory for a client.
func (s *Server) writeInspection(ctx context.Context, w io.Writer) error {
	found, err := s.Inspect(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(found)
}
